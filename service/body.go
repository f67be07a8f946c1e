package service

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"time"

	"github.com/erreval/erreval/dataset"
)

// A body comes whole before any row of it is computed: many clients read nothing until they have sent everything. What
// does not fit into inMemory goes into a temporary file.
const (
	inMemory = 256 << 10
	lightRow = 256 << 10
	minRate  = 16 << 10 // bytes a second that a client sends, after Bounds.Stall
)

// body is that of a request.
type body struct {
	reading dataset.Options
	head    bytes.Buffer
	file    *os.File // what follows head, or nil
	size    int64
	s       *Service
	notes   []string // of its reader, after check

	line, longest int64 // bytes of the line that is being read, and of the longest
}

// formats of rows, by media type.
var formats = map[string]dataset.Format{
	"application/x-ndjson": {Name: dataset.JSONL}, "application/jsonl": {Name: dataset.JSONL},
	"application/json": {Name: dataset.JSON},
}

// readBody reads a request's body of rows for t. The caller closes it.
func (s *Service) readBody(w http.ResponseWriter, r *http.Request, t *tagger) (*body, error) {
	given := r.Header.Get("Content-Type")
	kind, _, _ := mime.ParseMediaType(given)
	format, ok := formats[kind]
	if !ok {
		return nil, refuse(http.StatusUnsupportedMediaType, fmt.Errorf("rows come as application/x-ndjson (a JSON object a "+
			"line) or application/json (a list of objects), not as %q; with curl: -H 'Content-Type: application/x-ndjson' "+
			"--data-binary @FILE", given))
	}
	if e := r.Header.Get("Content-Encoding"); e != "" && e != "identity" {
		return nil, refuse(http.StatusUnsupportedMediaType, fmt.Errorf("the body is compressed (%.20q); send it as it is", e))
	}
	if r.ContentLength > s.o.Bounds.Body {
		if r.Header.Get("Expect") == "" { // the client sends, whatever is said; what it sends behind this, the server reads
			_, _ = io.CopyN(io.Discard, r.Body, s.o.Bounds.Body)
		}
		return nil, s.tooLong()
	}
	b := &body{s: s, reading: t.Reading}
	b.reading.Format, b.reading.MapOption = format, "?"+paramMap+"="
	if given := r.URL.Query()[paramMap]; len(given) > 0 {
		named, err := dataset.ParseMap(b.reading.MapOption, given, t.Taxonomy.FieldNames())
		if err != nil {
			return nil, refuse(http.StatusBadRequest, err)
		}
		b.reading.Map = named
	}
	if err := b.fill(http.NewResponseController(w), http.MaxBytesReader(w, r.Body, s.o.Bounds.Body)); err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

func (s *Service) tooLong() error {
	return refuse(http.StatusRequestEntityTooLarge, fmt.Errorf("the body takes more than %d bytes; send the rows in "+
		"several requests", s.o.Bounds.Body))
}

func (b *body) fill(control *http.ResponseController, in io.Reader) error {
	began := time.Now()
	chunk := make([]byte, 32<<10)
	for {
		// A writer for tests knows no deadlines; a connection does.
		_ = control.SetReadDeadline(began.Add(b.s.o.Bounds.Stall + time.Duration(b.size)*time.Second/minRate))
		n, err := in.Read(chunk)
		if n > 0 {
			if err := b.keep(chunk[:n]); err != nil {
				return err
			}
		}
		var long *http.MaxBytesError
		switch {
		case errors.Is(err, io.EOF):
			_ = control.SetReadDeadline(time.Time{}) // net/http reads on, to see the client go
			return b.checkHead()
		case errors.As(err, &long):
			return b.s.tooLong()
		case errors.Is(err, os.ErrDeadlineExceeded):
			return refuse(http.StatusRequestTimeout, fmt.Errorf("the body comes too slowly: %d bytes in %.0f s", b.size,
				time.Since(began).Seconds()))
		case err != nil:
			return refuse(http.StatusBadRequest, fmt.Errorf("the body ends in its middle: %w", err))
		}
	}
}

func (b *body) keep(data []byte) error {
	n := int64(len(data))
	if b.size += n; b.s.held.Add(n) > bodiesHeld*b.s.o.Bounds.Body {
		return refuse(http.StatusTooManyRequests, errors.New("too many large bodies at a time; try again later"))
	}
	b.measure(data)
	if b.file == nil && b.head.Len()+len(data) <= inMemory {
		b.head.Write(data)
		return nil
	}
	if b.file == nil {
		file, err := os.CreateTemp("", "erreval-*")
		if err != nil {
			return err
		}
		b.file = file
		if err := os.Remove(file.Name()); err != nil {
			return err
		}
	}
	_, err := b.file.Write(data)
	return err
}

// measure notes how long lines are.
func (b *body) measure(data []byte) {
	for rest := data; len(rest) > 0; {
		end := bytes.IndexByte(rest, '\n')
		if end < 0 {
			b.line += int64(len(rest))
			b.longest = max(b.longest, b.line)
			return
		}
		b.longest, b.line = max(b.longest, b.line+int64(end)), 0
		rest = rest[end+1:]
	}
}

// longestRecord is how many bytes a record may take, as far as is known before they are read.
func (b *body) longestRecord() int64 {
	if b.reading.Format.Name != dataset.JSONL { // of which nobody knows where an item ends
		return b.size
	}
	return b.longest
}

// checkHead refuses what is compressed without saying so: it would unpack to any size.
func (b *body) checkHead() error {
	for _, magic := range []string{"\x1f\x8b", "\x28\xb5\x2f\xfd"} {
		if bytes.HasPrefix(b.head.Bytes(), []byte(magic)) {
			return refuse(http.StatusUnsupportedMediaType, errors.New("the body is compressed; send it as it is"))
		}
	}
	return nil
}

// rows reads the body from its beginning. The caller closes the result, and uses one at a time.
func (b *body) rows() (*dataset.Reader, error) {
	in := io.Reader(bytes.NewReader(b.head.Bytes()))
	if b.file != nil {
		in = io.MultiReader(in, io.NewSectionReader(b.file, 0, b.size-int64(b.head.Len())))
	}
	return dataset.NewSource(in, "body", b.reading)
}

// check reads all rows once: what is wrong with the body as a whole is said before the first row is answered. It gives
// the size of the largest.
func (b *body) check() (longest int64, err error) {
	rows, err := b.rows()
	if err != nil {
		return 0, refuse(http.StatusBadRequest, err)
	}
	defer rows.Close()
	n := 0
	count := func(size int) error {
		if n == b.s.o.Bounds.Rows {
			return refuse(http.StatusRequestEntityTooLarge,
				fmt.Errorf("more than %d rows; send them in several requests", n))
		}
		n, longest = n+1, max(longest, int64(size))
		return nil
	}
	reject := func(fault *dataset.LineError) error { return count(len(fault.Raw)) }
	err = dataset.Each(context.Background(), rows.Read, reject, func(row *dataset.Row) error { return count(row.Size()) })
	b.notes = rows.Notes()
	if err == nil && n == 0 {
		err = errors.New("there is no row in the body")
	}
	if _, told := errors.AsType[*problem](err); err != nil && !told {
		err = refuse(http.StatusBadRequest, err)
	}
	return longest, err
}

func (b *body) close() {
	b.s.held.Add(-b.size)
	if b.file != nil {
		_ = b.file.Close() // removed already
	}
}
