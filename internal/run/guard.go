package run

import (
	"io"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/erreval/erreval/internal/words"
)

// guard is a stream that leads to a terminal: texts of others in what is written print as text, and do nothing.
type guard struct {
	to  io.Writer
	mu  sync.Mutex
	cut []byte // the beginning of a character that the next Write goes on with
}

// Guard is w with every control but line breaks and tabs, and every other invisible character, spelt out as \x1b or
// \u202e is. What is printable stays byte for byte.
func Guard(w io.Writer) io.Writer {
	if _, ok := w.(*guard); ok {
		return w
	}
	return &guard{to: w}
}

// Unguarded is the stream below a Guard, for colours and for lines that are written anew; w itself where there is none.
func Unguarded(w io.Writer) io.Writer {
	if g, ok := w.(*guard); ok {
		return g.to
	}
	return w
}

// GuardStreams keeps other people's texts from a terminal: in diagnostics wherever they go, in data where Out is a
// terminal. Call it once, before anything is written.
func (p *Process) GuardStreams() {
	isTerminal := p.IsTerminal
	p.IsTerminal = func(stream any) bool {
		if w, ok := stream.(io.Writer); ok {
			stream = Unguarded(w)
		}
		return isTerminal(stream)
	}
	p.Err = Guard(p.Err)
	if p.IsTerminal(p.Out) {
		p.Out = Guard(p.Out)
	}
}

// Write writes all of data but an incomplete character at its end, which waits for the rest.
func (g *guard) Write(data []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	text := append(g.cut, data...)
	end := len(text)
	for i := end - 1; i >= 0 && i > end-utf8.UTFMax; i-- {
		if utf8.RuneStart(text[i]) {
			if !utf8.FullRune(text[i:]) {
				end = i
			}
			break
		}
	}
	clean := spellControls(string(text[:end]))
	g.cut = append([]byte(nil), text[end:]...)
	if _, err := io.WriteString(g.to, clean); err != nil {
		return 0, err
	}
	return len(data), nil
}

func spellControls(s string) string {
	if utf8.ValidString(s) && !strings.ContainsFunc(s, isControl) { // most often
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if isControl(r) {
			b.WriteString(words.Printable(string(r)))
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// isControl tells what a terminal may execute, or what is there and cannot be seen. Joiners are parts of words.
func isControl(r rune) bool {
	return !unicode.IsGraphic(r) && r != '\n' && r != '\t' && r != '\u200c' && r != '\u200d'
}
