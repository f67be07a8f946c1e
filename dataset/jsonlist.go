package dataset

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/erreval/erreval/dataset/internal/bounded"
	"github.com/erreval/erreval/dataset/internal/jsontext"
	"github.com/erreval/erreval/dataset/internal/textfile"
)

// list reads a JSON list of objects, item by item: [ … ], {"data": [ … ]}, or objects one after the
// other. A SQuAD article in it becomes one row a question, a log of an evaluation one row an output.
type list struct {
	in     *bounded.Reader
	dec    *json.Decoder
	item   int
	inside bool     // between [ and ]
	open   int      // braces that are open around what is read, outside a list
	closer string   // what stands behind the list: "}" or ""
	beside []string // keys beside "data"
	rows   []record // of the article or log at hand
	nested bool     // an article was seen
	log    string   // whose log was seen: "promptfoo", "Inspect" or ""
	long   bool     // one expands to more than a record may take
	err    error    // final
	noClose
}

func newList(r *bufio.Reader, o Options) (records, error) {
	in := bounded.NewReader(r, o.maxRecord())
	return &list{in: in, dec: json.NewDecoder(in)}, nil
}

func (l *list) next() (record, error) {
	if l.err == nil && len(l.rows) == 0 {
		l.err = l.fillRows()
	}
	if bounded.IsTooLong(l.err) {
		return l.skipLong()
	}
	if l.err != nil {
		return record{}, l.err
	}
	rec := l.rows[0]
	l.rows = l.rows[1:]
	l.item++
	rec.place = l.item
	if rec.err != nil || rec.columns != nil {
		return rec, nil
	}
	if rec.columns, rec.err = parseObject(rec.raw); rec.err != nil {
		rec.err = relative(rec.err)
	}
	oneLine(rec.columns)
	return rec, nil
}

// skipLong gives an item that is too long, behind which the next call goes on.
func (l *list) skipLong() (record, error) {
	fault := record{place: l.item + 1, raw: []byte{}, err: &bounded.TooLongError{Max: l.in.Max}}
	if l.long { // it was read, and left behind
		l.long, l.err = false, nil
		l.item++
		return fault, nil
	}
	rest := io.MultiReader(l.dec.Buffered(), l.in.In)
	in := bufio.NewReaderSize(rest, 64<<10)
	begin, _ := in.Peek(1 << 10)
	fault.raw = bytes.TrimLeft(bytes.Clone(begin), jsontext.Space+",")
	if err := skipValue(in, l.open); err != nil {
		l.err = l.itemError(err)
		return record{}, l.err
	}
	ahead, _ := in.Peek(in.Buffered())
	l.in.In, l.in.Left = io.MultiReader(bytes.NewReader(bytes.Clone(ahead)), rest), l.in.Max
	l.open, l.err = 0, nil
	l.dec = json.NewDecoder(l.in)
	if l.inside {
		l.dec = json.NewDecoder(io.MultiReader(strings.NewReader("["), l.in))
		if _, l.err = l.dec.Token(); l.err != nil {
			return record{}, l.err
		}
	}
	l.item++
	return fault, nil
}

// skipValue reads on behind a JSON value and the comma that follows it. depth is how many brackets of it are open.
func skipValue(in *bufio.Reader, depth int) error {
	began, quoted, ended := depth > 0, false, false
	for {
		c, err := in.ReadByte()
		if ended && errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		switch {
		case ended && strings.IndexByte(jsontext.Space, c) >= 0:
		case ended && c == ',':
			return nil
		case ended:
			return in.UnreadByte()
		case quoted && c == '\\':
			if _, err := in.Discard(1); err != nil {
				return err
			}
			continue
		case c == '"':
			quoted, began, ended = !quoted, true, quoted && depth == 0
		case quoted || strings.IndexByte(jsontext.Space, c) >= 0:
		case c == '{' || c == '[':
			depth++
			began = true
		case (c == ']' || c == '}') && depth == 0:
			return in.UnreadByte()
		case c == ']' || c == '}':
			depth--
			ended = depth == 0
		case c == ',' && depth == 0 && began:
			return nil
		case c != ',':
			began = true
		}
	}
}

// relative changes a message about a line into one about an item.
func relative(err error) error {
	words := strings.NewReplacer("of the line", "of the item", "the line holds", "the item holds",
		`write one {"column": value, …} a line`, "write a list of objects")
	if wrong := (*textfile.EncodingError)(nil); errors.As(err, &wrong) {
		wrong.Place = words.Replace(wrong.Place)
		return wrong
	}
	return errors.New(words.Replace(err.Error()))
}

// oneLine takes line breaks out of values: a row must fit on a line.
func oneLine(columns []column) []column {
	for i, c := range columns {
		columns[i].value = jsontext.OneLine(c.value)
	}
	return columns
}

// fillRows reads the next item into l.rows: itself, or the questions of an article, or the outputs of a log.
func (l *list) fillRows() error {
	for len(l.rows) == 0 {
		raw, err := l.readItem()
		if err != nil {
			return err
		}
		rows, isArticle, err := flattenArticle(raw, l.in.Max)
		var log string
		if err == nil && !isArticle && !l.inside { // a log is no item of a list
			rows, log, err = flattenLog(raw, l.in.Max)
		}
		switch {
		case err != nil:
			l.long = true
			return err
		case isArticle:
			l.rows, l.nested = rows, true
		case log != "":
			l.rows, l.log = rows, log
		default:
			l.rows = []record{{raw: raw}}
		}
	}
	return nil
}

// readItem gives the next item's bytes.
func (l *list) readItem() (json.RawMessage, error) {
	l.in.Left = l.in.Max
	if !l.inside {
		raw, err := l.findFirst()
		if raw != nil || err != nil {
			return raw, err
		}
	}
	if l.dec.More() {
		var raw json.RawMessage
		return raw, l.itemError(l.dec.Decode(&raw))
	}
	return nil, l.checkEnd()
}

// findFirst reads up to the first item of a list. An object that is in no list is given as it is.
func (l *list) findFirst() (json.RawMessage, error) {
	start, err := l.dec.Token()
	if errors.Is(err, io.EOF) {
		return nil, io.EOF
	}
	switch {
	case err != nil:
		return nil, l.itemError(err)
	case start == json.Delim('['):
		l.inside = true
		return nil, nil
	case start == json.Delim('{'):
		return l.readObject()
	}
	return nil, fmt.Errorf("item %d: a value that is no object; write a list of objects", l.item+1)
}

// readObject reads what follows "{": up to the list under "data", or the whole object.
func (l *list) readObject() (json.RawMessage, error) {
	l.open = 1
	raw := []byte{'{'}
	var keys []string
	for l.dec.More() {
		token, err := l.dec.Token()
		key, ok := token.(string)
		if err != nil || !ok {
			return nil, l.itemError(errors.Join(err))
		}
		var value json.RawMessage
		if key == "data" && l.item == 0 {
			if slices.Contains(keys, key) {
				return nil, fmt.Errorf(`beside the list: the column "data" is there twice; keep one of them`)
			}
			if at, err := l.enterList(); err != nil || at {
				l.inside, l.closer, l.beside, l.open = at, "}", keys, 0
				return nil, err
			}
		}
		if err := l.dec.Decode(&value); err != nil {
			return nil, l.itemError(err)
		}
		if len(keys) > 0 {
			raw = append(raw, ',')
		}
		keys = append(keys, key)
		raw = append(append(append(raw, jsontext.Quote(key)...), ':'), value...)
	}
	_, err := l.dec.Token() // the closing brace
	l.open = 0
	return append(raw, '}'), l.itemError(err)
}

// enterList tells whether a list begins here, and if so reads its bracket.
func (l *list) enterList() (bool, error) {
	rest := io.MultiReader(l.dec.Buffered(), l.in)
	var seen []byte
	for one := make([]byte, 1); ; {
		if _, err := io.ReadFull(rest, one); err != nil {
			return false, l.itemError(err)
		}
		seen = append(seen, one[0])
		if !bytes.Contains([]byte(" \t\r\n:"), one) {
			break
		}
	}
	is := seen[len(seen)-1] == '['
	if is {
		// A fresh decoder, because the old one would want the rest of the object around the list.
		l.dec = json.NewDecoder(io.MultiReader(strings.NewReader("["), rest))
		_, err := l.dec.Token()
		return true, err
	}
	before := `{"data"` // the decoder stands behind this key
	l.dec = json.NewDecoder(io.MultiReader(strings.NewReader(before), bytes.NewReader(seen), rest))
	for range 2 {
		if _, err := l.dec.Token(); err != nil {
			return false, l.itemError(err)
		}
	}
	return false, nil
}

// checkEnd reads what follows the list: the end of the object around it, or nothing.
func (l *list) checkEnd() error {
	if _, err := l.dec.Token(); err != nil {
		return l.itemError(err)
	}
	rest := bytes.NewBuffer(nil)
	_, err := io.CopyN(rest, io.MultiReader(l.dec.Buffered(), l.in), 1<<20)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	text := bytes.TrimSpace(rest.Bytes())
	if l.closer == "" && len(text) > 0 {
		return fmt.Errorf("behind the list (after item %d) stands %.20q; write one list a file", l.item, text)
	}
	if l.closer == "" {
		return io.EOF
	}
	object := append([]byte(`{"data":0`), text...)
	if !bytes.HasSuffix(text, []byte(l.closer)) || !json.Valid(object) {
		return fmt.Errorf("after item %d: the file ends in its middle; fetch or write it again", l.item)
	}
	if _, err := parseObject(object); err != nil {
		return fmt.Errorf("after item %d, beside the list: %w", l.item, err)
	}
	return io.EOF
}

// itemError names the item of a syntax error, behind which a list cannot be read on.
func (l *list) itemError(err error) error {
	var syntax *json.SyntaxError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("item %d: the file ends in its middle; fetch or write it again", l.item+1)
	case errors.As(err, &syntax):
		return fmt.Errorf("item %d: not JSON: %w; nothing behind it can be read: mend the file", l.item+1, err)
	}
	return fmt.Errorf("item %d: %w", l.item+1, err)
}

func (l *list) notes() []string {
	var notes []string
	if len(l.beside) > 0 {
		notes = append(notes, fmt.Sprintf(`rows are the list under "data"; beside it stands %s, which is left out`,
			strings.Join(l.beside, ", ")))
	}
	if l.nested {
		notes = append(notes, "SQuAD: one row a question, with its paragraph's and article's columns")
	}
	if l.log != "" {
		notes = append(notes, "results of "+l.log+": one row an output")
	}
	return notes
}

// What a question costs beside its text, and each of its columns, in bytes.
const (
	questionCost = 100
	columnCost   = 40
)

// flattenArticle turns {"title", "paragraphs": [{"context", "qas": [{…}]}]} into one record a question. All of them
// together may take limit bytes.
func flattenArticle(raw []byte, limit int) (rows []record, ok bool, err error) {
	if !bytes.Contains(raw, []byte(`"paragraphs"`)) {
		return nil, false, nil
	}
	left := limit
	if left -= bytes.Count(raw, []byte(",")) * columnCost / 4; left < 0 { // its lists are held whole
		return nil, false, &bounded.TooLongError{Max: limit}
	}
	article, paragraphs, ok := unnest(raw, "paragraphs")
	if !ok {
		return nil, false, nil
	}
	rows = []record{}
	for _, p := range paragraphs {
		paragraph, questions, ok := unnest(p, "qas")
		if !ok {
			return nil, false, nil
		}
		for _, q := range questions {
			left -= len(q) + questionCost + columnCost*(len(paragraph)+len(article))
			if left < 0 {
				return nil, false, &bounded.TooLongError{Max: limit}
			}
			columns, err := parseObject(q)
			if err != nil {
				rows = append(rows, record{raw: q}) // parsed again, and refused, by next
				continue
			}
			columns = appendMissing(appendMissing(columns, paragraph), article)
			rows = append(rows, record{columns: oneLine(columns), raw: nil})
		}
	}
	return rows, true, nil
}

// unnest splits an object into the list under key and its other columns.
func unnest(raw []byte, key string) (others []column, items []json.RawMessage, ok bool) {
	columns, err := parseObject(raw)
	if err != nil {
		return nil, nil, false
	}
	i := indexOf(columns, key)
	if i < 0 || json.Unmarshal(columns[i].value, &items) != nil {
		return nil, nil, false
	}
	return slices.Delete(columns, i, i+1), items, true
}
