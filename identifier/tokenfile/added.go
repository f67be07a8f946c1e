package tokenfile

import (
	"bytes"
	"fmt"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/erreval/erreval/identifier/internal/pieces"
)

// matcher finds added tokens in text: leftmost, of those the longest.
type matcher struct {
	trie   *pieces.Trie
	tokens map[int32]addedToken
	first  [256]bool // bytes that a token begins with
	only   int       // the one byte that all begin with, -1 if they differ
}

// newMatcher builds a matcher of the tokens with Normalized unset if normalize is nil, else of the others in their
// normalised form. It is nil if there are none.
func newMatcher(added map[int32]addedToken, normalize func([]byte) []byte) (*matcher, error) {
	patterns := map[string]int32{}
	m := &matcher{tokens: map[int32]addedToken{}, only: -1}
	for id, a := range added {
		if a.Normalized != (normalize != nil) {
			continue
		}
		pattern := a.Content
		if normalize != nil {
			pattern = string(normalize([]byte(pattern)))
		}
		if pattern == "" {
			return nil, fmt.Errorf("added token %q is empty once normalised; set its normalized to false", a.Content)
		}
		if _, ok := patterns[pattern]; ok {
			return nil, fmt.Errorf("two added tokens look alike once normalised (%q); remove one", pattern)
		}
		patterns[pattern] = id
		m.tokens[id] = a
		m.first[pattern[0]] = true
		m.only = int(pattern[0])
	}
	if len(patterns) == 0 {
		return nil, nil
	}
	for b, is := range m.first {
		if is && b != m.only {
			m.only = -1
			break
		}
	}
	var err error
	m.trie, err = pieces.NewTrie(patterns)
	return m, err
}

// search goes through one text.
type search struct {
	matcher  *matcher
	text     []byte
	specials bool
	done     int // text up to here was returned
	at       int // text up to here was searched
}

func (m *matcher) over(text []byte, specials bool) search {
	return search{matcher: m, text: text, specials: specials}
}

// next returns the next added token and the text before it; found is false when only text is left.
func (s *search) next() (id int32, before []byte, found bool) {
	for {
		id, start, stop := s.find()
		if id == pieces.None {
			before, s.done = s.text[min(s.done, len(s.text)):], len(s.text)
			return id, before, false
		}
		s.at = stop
		token := s.matcher.tokens[id]
		if token.Special && !s.specials || token.SingleWord && s.touched(start, stop) {
			continue // passed over, and what it covers holds no other token
		}
		if token.LStrip {
			start = max(spaceBefore(s.text[:start]), s.done)
		}
		if token.RStrip {
			stop += spaceBehind(s.text[stop:])
		}
		before, s.done = s.text[min(s.done, start):start], stop
		return id, before, true
	}
}

// find returns the leftmost longest token at or behind s.at.
func (s *search) find() (id int32, start, stop int) {
	m := s.matcher
	if m == nil {
		return pieces.None, 0, 0
	}
	for i := s.at; i < len(s.text); i++ {
		if m.only >= 0 {
			n := bytes.IndexByte(s.text[i:], byte(m.only)) // #nosec G115 -- only is a byte or -1
			if n < 0 {
				break
			}
			i += n
		} else if !m.first[s.text[i]] {
			continue
		}
		if id, size := m.trie.Longest(pieces.Root, s.text[i:]); size > 0 {
			return id, i, i + size
		}
	}
	return pieces.None, 0, 0
}

// touched reports whether a word character stands right before start or right behind stop.
func (s *search) touched(start, stop int) bool {
	before, n := utf8.DecodeLastRune(s.text[:start])
	behind, k := utf8.DecodeRune(s.text[stop:])
	return n > 0 && isWord(before) || k > 0 && isWord(behind)
}

func isWord(r rune) bool { return words().Of(r) != 0 }

var words = sync.OnceValue(func() *pieces.Classes { return pieces.NewClasses().Or(1, "words") })

// spaceBefore returns where the white space (\s of Rust's regex) at the end of text begins.
func spaceBefore(text []byte) int { return len(bytes.TrimRightFunc(text, unicode.IsSpace)) }

// spaceBehind returns where the white space at the beginning of text ends.
func spaceBehind(text []byte) int { return len(text) - len(bytes.TrimLeftFunc(text, unicode.IsSpace)) }
