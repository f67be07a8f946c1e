package dataset

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/erreval/erreval/dataset/internal/bounded"
	"github.com/erreval/erreval/dataset/internal/textfile"
	"github.com/erreval/erreval/internal/regularfile"
)

// NewSource reads rows of o.Format from r, which may be compressed; file stands in messages and in
// Row.Source. A workbook or a Parquet file that is not a regular, uncompressed *os.File goes into a
// temporary file first. Closing the Reader leaves r open.
func NewSource(r io.Reader, file string, o Options) (*Reader, error) {
	in, err := newRecords(r, &o)
	if err != nil && strings.HasPrefix(filepath.Base(file), "~$") {
		err = errors.New("the file with which Excel locks a workbook while it is open: leave it out, or close Excel")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return newReader(in, file, o), nil
}

// Open reads rows from a file. Its format is o.Format, or where that is zero what the name says.
func Open(path string, o Options) (*Reader, error) {
	if f, ok := FormatOf(path); ok && o.Format == (Format{}) {
		o.Format = f
	}
	f, err := regularfile.Open(path)
	if err != nil {
		return nil, err
	}
	return TakeSource(f, path, o)
}

// TakeSource is NewSource of what closing the Reader closes, too, and so does an error.
func TakeSource(in io.ReadCloser, file string, o Options) (*Reader, error) {
	r, err := NewSource(in, file, o)
	if err != nil {
		return nil, errors.Join(err, in.Close())
	}
	r.in = &closingRecords{r.in, in}
	return r, nil
}

// closingRecords are records that close their file as well.
type closingRecords struct {
	records
	file io.Closer
}

func (o *closingRecords) close() error { return errors.Join(o.records.close(), o.file.Close()) }

// innermost are the records of a format.
func innermost(in records) records {
	for {
		o, ok := in.(*closingRecords)
		if !ok {
			return in
		}
		in = o.records
	}
}

// newRecords opens what o says, or corrects o's format where the content is plainly another one.
func newRecords(r io.Reader, o *Options) (records, error) {
	if o.Format.RandomAccess() {
		return newBinary(r, *o)
	}
	in, packed, err := decompress(r, o.Format)
	if err != nil {
		return nil, err
	}
	head, err := in.Peek(8)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if err := checkContent(head, o.Format); err != nil {
		return nil, err
	}
	in, name, note, err := decode(in, *o)
	if err != nil {
		return nil, errors.Join(err, packed.Close())
	}
	var said []string
	if note != "" && name != "" {
		said = append(said, note)
	}
	if o.Format.is(CSV, TSV) && holdsObjects(in) {
		said = append(said, fmt.Sprintf("the file holds JSON Lines, not %s, and is read as such", o.Format.Name))
		o.Format.Name = JSONL
	}
	out, err := newText(in, *o)
	if err != nil {
		return nil, errors.Join(withEncoding(err, name), packed.Close())
	}
	if name != "" || said != nil {
		out = &decoded{records: out, encoding: name, said: said}
	}
	return &closingRecords{out, packed}, nil
}

// holdsObjects tells whether a text begins with a line that is a JSON object with members.
func holdsObjects(in *bufio.Reader) bool {
	const begin = `{"`
	head, _ := in.Peek(len(textfile.BOM) + len(begin)) // no more: whoever writes a pipe may wait for an answer
	if !bytes.HasPrefix(bytes.TrimPrefix(head, textfile.BOM), []byte(begin)) {
		return false
	}
	head, _ = in.Peek(in.Size()) // less where the text is shorter
	line, _, ended := bytes.Cut(bytes.TrimPrefix(head, textfile.BOM), []byte("\n"))
	return json.Valid(line) || !ended && len(head) == in.Size() && bytes.Contains(line, []byte(`":`))
}

// newText opens a format that is UTF-8 text.
func newText(in *bufio.Reader, o Options) (records, error) {
	head, err := in.Peek(len(textfile.BOM))
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if bytes.Equal(head, textfile.BOM) && !o.Format.is(JSONL) {
		if _, err := in.Discard(len(textfile.BOM)); err != nil {
			return nil, err
		}
	}
	s := o.Format.storage()
	if s == nil {
		return nil, fmt.Errorf("there is no format %q", o.Format)
	}
	return s.openText(in, o)
}

// newBinary opens a format that is read from a file, not from a stream.
func newBinary(r io.Reader, o Options) (records, error) {
	f, size, err := randomAccess(r, o)
	if err != nil {
		return nil, err
	}
	head := make([]byte, 8)
	n, err := f.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, errors.Join(err, f.Close())
	}
	if n == 0 {
		return nil, errors.Join(fmt.Errorf("the file is empty; a %s file is not", o.Format.Name), f.Close())
	}
	err = checkContent(head[:n], o.Format)
	var out records
	if err == nil {
		out, err = o.Format.storage().openFile(f, size, o)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &closingRecords{out, f}, nil
}

type readerAtCloser interface {
	io.ReaderAt
	io.Closer
}

// file is an *os.File, or an object that can be read as one.
type file interface {
	io.ReaderAt
	Stat() (fs.FileInfo, error)
}

// keepOpen is the caller's file, which stays open.
type keepOpen struct{ io.ReaderAt }

func (keepOpen) Close() error { return nil }

// randomAccess gives r itself where it is an uncompressed file, else a copy of what it holds.
func randomAccess(r io.Reader, o Options) (readerAtCloser, int64, error) {
	if f, ok := r.(file); ok {
		info, err := f.Stat()
		if err != nil {
			return nil, 0, err
		}
		head := make([]byte, 8)
		n, _ := f.ReadAt(head, 0)
		kind := sniff(head[:n])
		if info.Mode().IsRegular() && kind != Gzip && kind != Zstd && o.Format.Compression == "" {
			return keepOpen{f}, info.Size(), nil
		}
	}
	in, packed, err := decompress(r, o.Format)
	if err != nil {
		return nil, 0, err
	}
	defer packed.Close()
	f, err := bounded.TempFile(o.TempDir)
	if err != nil {
		return nil, 0, err
	}
	size, err := io.Copy(f, in)
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, size, nil
}
