package tokenfile

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/erreval/erreval/identifier/bpe"
	"github.com/erreval/erreval/identifier/unigram"
	"github.com/erreval/erreval/identifier/wordpiece"
)

// Tokenizer turns text into ids, by the pipeline of every kind: added tokens in the raw text, normalisation, added
// tokens in the normalised text, model. It is safe for concurrent use.
type Tokenizer struct {
	ids        map[string]int32
	tokens     []string      // by id
	newBuffer  func() buffer // nil: no normalisation
	raw        *matcher      // added tokens that are looked for before normalisation; nil if there are none
	normalized *matcher      // and after it
	newModel   func() model
}

// buffer normalises text; what it returns is valid until the next call.
type buffer interface{ Normalize(text []byte) []byte }

// model encodes text between added tokens; first: the text begins the input.
type model func(dst []int32, text []byte, first bool) []int32

func newTokenizer(d *description) (*Tokenizer, error) {
	t := &Tokenizer{ids: make(map[string]int32, len(d.vocab)+len(d.added))}
	if n := d.normalize; n != nil {
		t.newBuffer = func() buffer { return n.NewBuffer() }
	}
	if n := d.stages; len(n) > 0 {
		t.newBuffer = func() buffer { return n.NewBuffer() }
	}
	for token, id := range d.vocab {
		t.name(token, id)
	}
	if err := t.setModel(d); err != nil {
		return nil, err
	}
	if err := t.setAdded(d); err != nil {
		return nil, err
	}
	return t, nil
}

func (t *Tokenizer) setModel(d *description) error {
	switch {
	case d.unigram != nil:
		m, err := unigram.New(*d.unigram)
		t.newModel = func() model { return m.NewEncoder().Append }
		return err
	case d.bpe != nil:
		m, err := bpe.New(*d.bpe)
		t.newModel = func() model { return anywhere(m.NewEncoder().Append) }
		return err
	}
	m, err := wordpiece.New(*d.wordpiece)
	t.newModel = func() model { return anywhere(m.NewEncoder().Append) }
	return err
}

// anywhere is the model that encodes text alike wherever it stands.
func anywhere(encode func([]int32, []byte) []int32) model {
	return func(dst []int32, text []byte, _ bool) []int32 { return encode(dst, text) }
}

// setAdded numbers the added tokens as Hugging Face does: by the vocabulary if it has them, else behind its last.
func (t *Tokenizer) setAdded(d *description) error {
	added := map[int32]addedToken{}          // a later entry with the same content replaces an earlier one
	next := int32(max(len(d.vocab), d.size)) // #nosec G115 -- both are numbers of entries read
	for _, a := range d.added {
		if a.Content == "" {
			continue
		}
		id, ok := t.ids[a.Content]
		if !ok {
			id = next
			next++
		}
		if id != a.ID {
			return fmt.Errorf("added token %q has id %d, but Hugging Face would number it %d; save the tokenizer again with "+
				"its own library", a.Content, a.ID, id)
		}
		t.name(a.Content, id)
		added[id] = a
	}
	var err error
	if t.raw, err = newMatcher(added, nil); err != nil {
		return err
	}
	normalize := func(text []byte) []byte { return text }
	if t.newBuffer != nil {
		normalize = t.newBuffer().Normalize
	}
	t.normalized, err = newMatcher(added, normalize)
	return err
}

func (t *Tokenizer) name(token string, id int32) {
	t.ids[token] = id
	for int(id) >= len(t.tokens) {
		t.tokens = append(t.tokens, make([]string, int(id)+1-len(t.tokens))...)
	}
	t.tokens[id] = token
}

// ID returns the id of a token of the vocabulary or of an added one, written as in the file.
func (t *Tokenizer) ID(token string) (int32, bool) {
	id, ok := t.ids[token]
	return id, ok
}

// Token returns the token of an id, "" if there is none.
func (t *Tokenizer) Token(id int32) string {
	if id < 0 || int(id) >= len(t.tokens) {
		return ""
	}
	return t.tokens[id]
}

// VocabSize is the largest id plus one: the rows that an embedding table needs.
func (t *Tokenizer) VocabSize() int { return len(t.tokens) }

// NewEncoder returns an encoder for one goroutine; it holds about 512 KiB of memory.
func (t *Tokenizer) NewEncoder() *Encoder {
	e := &Encoder{tokenizer: t, model: t.newModel()}
	if t.newBuffer != nil {
		e.buffer = t.newBuffer()
	}
	return e
}

// Encoder encodes text; it serves one goroutine.
type Encoder struct {
	tokenizer *Tokenizer
	model     model
	buffer    buffer // nil: no normalisation
	text      []byte
}

// Append appends the ids of text, without start and end tokens, and does not allocate when dst has room. With specials,
// special tokens that stand in the text are recognised (Hugging Face's default); without, they are text like any other
// (encode_special_tokens=True). Added tokens that are not special are recognised either way. Text that is not valid
// UTF-8 gives ErrInvalidUTF8, with the offset, and leaves dst as it was.
func (e *Encoder) Append(dst []int32, text string, specials bool) ([]int32, error) {
	if !utf8.ValidString(text) {
		return dst, fmt.Errorf("byte %d: %w; convert the text to UTF-8", invalidAt(text), ErrInvalidUTF8)
	}
	e.text = append(e.text[:0], text...)
	m := e.tokenizer.raw
	for rest, first := m.over(e.text, specials), true; ; first = false {
		id, before, found := rest.next()
		dst = e.normalized(dst, before, specials, first)
		if !found {
			return dst, nil
		}
		dst = append(dst, id)
	}
}

// normalized encodes text that no added token was found in before normalisation.
func (e *Encoder) normalized(dst []int32, text []byte, specials, first bool) []int32 {
	if len(text) == 0 {
		return dst
	}
	if e.buffer != nil {
		text = e.buffer.Normalize(text)
	}
	for rest := e.tokenizer.normalized.over(text, specials); ; first = false {
		id, before, found := rest.next()
		dst = e.model(dst, before, first)
		if !found {
			return dst
		}
		dst = append(dst, id)
	}
}

// invalidAt returns the offset of the first byte that is not UTF-8.
func invalidAt(text string) int {
	for i, r := range text {
		if r == utf8.RuneError && !strings.HasPrefix(text[i:], "\ufffd") {
			return i
		}
	}
	return len(text)
}
