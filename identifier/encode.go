package identifier

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/identifier/tokenfile"
	"github.com/erreval/erreval/identifier/window"
	"github.com/erreval/erreval/models"
	"github.com/erreval/erreval/taxonomy"
)

// layout is how a model wants its input. Read-only, shared by encoders.
type layout struct {
	tokenizer       *tokenfile.Tokenizer
	text            bool     // one string with special tokens recognised, not fields apart
	fields          []string // the model's
	columns         []int    // the model's field to its place in Row.Values
	separatorText   string
	start, sep, end int64
	segments        []int64 // one a field
	highlight       int     // the model's field that is marked in the last one, or -1
	lastTurn        int     // the model's field of which the last turn of a conversation is read, or -1
	max             int     // tokens, special ones included
	windowed        int     // the model's field of which a window is read, or -1
	window          models.Window
}

func newLayout(m *models.Model, t *taxonomy.Taxonomy) (*layout, error) {
	tok, err := tokenfile.Load(m.FS)
	if err != nil {
		return nil, fmt.Errorf("model %s: %w", m.Source, err)
	}
	f := &m.Manifest
	l := &layout{tokenizer: tok, text: f.Join == models.JoinText, fields: f.Fields, separatorText: f.Separator,
		max:      f.MaxTokens,
		segments: f.Segments, highlight: slices.Index(f.Fields, f.Highlight), windowed: -1,
		lastTurn: slices.Index(f.Fields, f.LastTurn)}
	if f.Window != nil {
		l.windowed, l.window = slices.Index(f.Fields, f.Window.Field), *f.Window
	}
	if len(l.segments) == 0 {
		l.segments = make([]int64, len(f.Fields))
	}
	for _, field := range f.Fields {
		l.columns = append(l.columns, slices.Index(t.FieldNames(), field))
	}
	return l, findTokens(m, tok, "start, separator and end",
		map[*int64]string{&l.start: f.Start, &l.sep: f.Separator, &l.end: f.End})
}

// findTokens sets the ids of tokens; keys are those of the manifest that name them.
func findTokens(m *models.Model, tok *tokenfile.Tokenizer, keys string, tokens map[*int64]string) error {
	for to, token := range tokens {
		id, ok := tok.ID(token)
		if !ok {
			return fmt.Errorf("model %s does not fit: its tokenizer has no token %q; correct %s in %s", m.Source, token, keys,
				models.ManifestFile)
		}
		*to = int64(id)
	}
	return nil
}

// setWindow changes how much is read, as Options.ReadWords says.
func (l *layout) setWindow(words int) error {
	switch {
	case words == WholeField:
		l.windowed = -1
	case words > 0 && l.windowed < 0:
		return errors.New("its manifest names no window, so nothing says of which field; leave --window out")
	case words > 0:
		l.window.Words, l.window.Ends = words, min(l.window.Ends, words/2)
	}
	return nil
}

// Encoding is a row as the model sees it.
type Encoding struct {
	IDs   []int64 // special tokens included
	Types []int64 // segment ids
	Extent
}

// Extent is how much of a row the model sees.
type Extent struct {
	Cut  []int // tokens cut from each of the model's fields
	Read []int // of the field with a window: from, to, from, to… in characters; empty where all of it is read
}

func (e Extent) clone() Extent { return Extent{slices.Clone(e.Cut), slices.Clone(e.Read)} }

func (l *layout) truncated(e Extent) map[string]int {
	var m map[string]int
	for i, n := range e.Cut {
		if n > 0 {
			if m == nil {
				m = map[string]int{}
			}
			m[l.fields[i]] = n
		}
	}
	return m
}

func (l *layout) read(e Extent) map[string][]int {
	if len(e.Read) == 0 {
		return nil
	}
	return map[string][]int{l.fields[l.windowed]: slices.Clone(e.Read)}
}

// Encoder turns rows into encodings. Each goroutine needs its own.
type Encoder struct {
	layout  *layout
	encoder *tokenfile.Encoder
	ids     []int32
	ends    []int // end of each field in ids
	parts   []string
	out     Encoding
}

// NewEncoder makes the encoder of a model that fits t; no runner is needed.
func NewEncoder(m *models.Model, t *taxonomy.Taxonomy) (*Encoder, error) {
	l, err := newLayout(m, t)
	if err != nil {
		return nil, err
	}
	return l.newEncoder(), nil
}

func (l *layout) newEncoder() *Encoder {
	return &Encoder{layout: l, encoder: l.tokenizer.NewEncoder(), ends: make([]int, len(l.columns)),
		parts: make([]string, len(l.columns)),
		out:   Encoding{Extent: Extent{Cut: make([]int, len(l.columns))}}}
}

// Token is the text of an id.
func (e *Encoder) Token(id int64) string { return e.layout.tokenizer.Token(int32(id)) }

// ID is the id of a token, or -1 if the model has no such token.
func (e *Encoder) ID(token string) int64 {
	if id, ok := e.layout.tokenizer.ID(token); ok {
		return int64(id)
	}
	return -1
}

// Truncated names the fields of which tokens were cut in the last encoding, with their number.
func (e *Encoder) Truncated() map[string]int {
	if m := e.layout.truncated(e.out.Extent); m != nil {
		return m
	}
	return map[string]int{}
}

// Read names the field of which a window was read in the last encoding, with its parts as in dataset.Diagnosis.
func (e *Encoder) Read() map[string][]int { return e.layout.read(e.out.Extent) }

// Encode encodes a row's values, which stand in the taxonomy's order. A text that is not UTF-8 is an error that names
// its field. The encoding is valid until the next call.
func (e *Encoder) Encode(values []string) (*Encoding, error) {
	for i, at := range e.layout.columns {
		e.parts[i] = values[at]
		if i == e.layout.lastTurn {
			e.parts[i] = dataset.LastTurn(values[at])
		}
	}
	e.out.IDs, e.out.Types = e.out.IDs[:0], e.out.Types[:0]
	clear(e.out.Cut)
	e.chooseWindow()
	if e.layout.text {
		return &e.out, e.encodeText()
	}
	return &e.out, e.encodeFields()
}

// chooseWindow leaves of the field with a window what is read of it.
func (e *Encoder) chooseWindow() {
	e.out.Read = e.out.Read[:0]
	at := e.layout.windowed
	if at < 0 {
		return
	}
	text := e.parts[at]
	parts := window.Choose(text, slices.Concat(e.parts[:at], e.parts[at+1:]), e.layout.window)
	if len(parts) == 1 && parts[0] == (window.Span{To: len(text)}) {
		return
	}
	characters, last := 0, 0
	for _, p := range parts {
		for _, to := range [2]int{p.From, p.To} {
			characters += utf8.RuneCountInString(text[last:to])
			e.out.Read, last = append(e.out.Read, characters), to
		}
	}
	e.parts[at] = window.Join(text, parts)
}

// encodeFields encodes each field apart, so that no text can forge a separator.
func (e *Encoder) encodeFields() (err error) {
	e.ids = e.ids[:0]
	for i, part := range e.parts {
		if e.ids, err = e.encoder.Append(e.ids, part, false); err != nil {
			return fmt.Errorf("%s: %w", e.layout.fields[i], err)
		}
		e.ends[i] = len(e.ids)
	}
	// The last field is cut first, then the one before it, and so on.
	over := len(e.ids) + len(e.parts) + 1 - e.layout.max
	for i := len(e.parts) - 1; i >= 0 && over > 0; i-- {
		e.out.Cut[i] = min(over, e.ends[i]-e.fieldStart(i))
		over -= e.out.Cut[i]
	}
	e.appendToken(e.layout.segments[0], e.layout.start)
	for i := range e.parts {
		segment := e.layout.segments[i]
		for _, id := range e.ids[e.fieldStart(i) : e.ends[i]-e.out.Cut[i]] {
			e.appendToken(segment, int64(id))
		}
		if i < len(e.parts)-1 {
			e.appendToken(segment, e.layout.sep)
		}
	}
	e.appendToken(e.layout.segments[len(e.parts)-1], e.layout.end)
	if e.layout.highlight >= 0 {
		e.highlight()
	}
	return nil
}

// highlight gives the places in the last field at which the highlighted one's tokens stand that field's segment.
func (e *Encoder) highlight() {
	at := 1
	for i := range e.layout.highlight {
		at += e.keptTokens(i) + 1
	}
	what := e.out.IDs[at : at+e.keptTokens(e.layout.highlight)]
	end := len(e.out.IDs) - 1
	for i := end - e.keptTokens(len(e.parts)-1); len(what) > 0 && i+len(what) <= end; i++ {
		if !slices.Equal(e.out.IDs[i:i+len(what)], what) {
			continue
		}
		for j := range what {
			e.out.Types[i+j] = e.layout.segments[e.layout.highlight]
		}
		i += len(what) - 1
	}
}

// keptTokens is the number of tokens of a field that were not cut.
func (e *Encoder) keptTokens(field int) int {
	return e.ends[field] - e.fieldStart(field) - e.out.Cut[field]
}

func (e *Encoder) fieldStart(field int) int {
	if field == 0 {
		return 0
	}
	return e.ends[field-1]
}

func (e *Encoder) appendToken(segment, id int64) {
	e.out.IDs = append(e.out.IDs, id)
	e.out.Types = append(e.out.Types, segment)
}

// encodeText encodes the fields as the one string that Hugging Face's tokenizer was given in training, and cuts that
// from its end.
func (e *Encoder) encodeText() (err error) {
	joined := strings.Join(e.parts, e.layout.separatorText)
	if e.ids, err = e.encoder.Append(e.ids[:0], joined, true); err != nil {
		return fmt.Errorf("%s joined by %s: %w", strings.Join(e.layout.fields, ", "), e.layout.separatorText, err)
	}
	keep := min(len(e.ids), e.layout.max-2)
	e.appendToken(e.layout.segments[0], e.layout.start)
	for _, id := range e.ids[:keep] {
		e.appendToken(e.layout.segments[0], int64(id))
	}
	e.appendToken(e.layout.segments[0], e.layout.end)
	if keep < len(e.ids) {
		return e.countCut(joined, keep)
	}
	return nil
}

// countCut finds how many tokens of each field lie behind the first keep ones. Special tokens split a text before
// anything else does, so the tokens up to a separator are those of the text up to it.
func (e *Encoder) countCut(joined string, keep int) (err error) {
	total, begin, length := len(e.ids), 0, 0
	for i, part := range e.parts {
		end := total
		length += len(part) + len(e.layout.separatorText)
		if i < len(e.parts)-1 {
			if e.ids, err = e.encoder.Append(e.ids[:0], joined[:length], true); err != nil {
				return err
			}
			end = len(e.ids) - 1
		}
		e.out.Cut[i] = max(0, end-max(begin, keep))
		begin = end + 1
	}
	return nil
}

// Tokens is what a model sees of a row.
type Tokens struct {
	ID        string         `json:"id"` // of the row
	IDs       []int64        `json:"ids"`
	Tokens    []string       `json:"tokens"`
	Truncated map[string]int `json:"truncated"` // field to tokens cut
	// field to the parts of it that are read, as in dataset.Diagnosis; absent where all of it is
	Read map[string][]int `json:"read,omitempty"`
}

// String is the tokens on one line.
func (t *Tokens) String() string {
	return fmt.Sprintf("%s: %d tokens: %s", t.ID, len(t.IDs), strings.Join(t.Tokens, " "))
}

// Tokens encodes a row and names its tokens. The IDs hold until the encoder's next row.
func (e *Encoder) Tokens(row *dataset.Row) (*Tokens, error) {
	encoded, err := e.Encode(row.Values)
	if err != nil {
		return nil, fmt.Errorf("row %s: %w", row.ID, err)
	}
	out := &Tokens{ID: row.ID, IDs: encoded.IDs, Truncated: e.Truncated(), Read: e.Read()}
	for _, id := range encoded.IDs {
		out.Tokens = append(out.Tokens, e.Token(id))
	}
	return out, nil
}
