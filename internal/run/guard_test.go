package run

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"
)

var guarded = map[string]string{
	"plain\ttext\n, naïve, 漢字, 👍🏽, ❤️, a\u00a0b\u2003c": "plain\ttext\n, naïve, 漢字, 👍🏽, ❤️, a\u00a0b\u2003c",
	"می\u200cخواهم":             "می\u200cخواهم",
	"\x1b]0;title\x07\x1b[2J":   `\x1b]0;title\x07\x1b[2J`,
	"over\rwritten\b\x7f":       `over written\x08\x7f`,
	"\u009b2J\u0085":            `\x9b2J\x85`,
	"\u202egnp.exe\u2066\u200f": `\u202egnp.exe\u2066\u200f`,
	"a\u2028b":                  "a b",
	"\x9b2J \xff":               "\ufffd2J \ufffd",
	"\U000e0041":                `\U000e0041`,
}

// TestGuard: the same comes out however the text is cut into writes.
func TestGuard(t *testing.T) {
	for in, want := range guarded {
		for _, r := range []io.Reader{strings.NewReader(in), iotest.OneByteReader(strings.NewReader(in))} {
			var b bytes.Buffer
			g := Guard(Guard(&b))
			if Unguarded(g) != &b || Unguarded(&b) != &b {
				t.Error("the stream below the guard is another")
			}
			if _, err := io.Copy(g, r); err != nil || b.String() != want {
				t.Errorf("%q: got %q, %v, want %q", in, b.String(), err, want)
			}
		}
	}
	broken := errors.New("broken")
	if n, err := Guard(&failing{broken}).Write([]byte("x")); n != 0 || !errors.Is(err, broken) {
		t.Errorf("%d, %v", n, err)
	}
}

type failing struct{ err error }

func (f *failing) Write([]byte) (int, error) { return 0, f.err }

// TestGuardStreams: data that go elsewhere stay as they are.
func TestGuardStreams(t *testing.T) {
	for _, terminal := range []bool{true, false} {
		var out, diagnostics bytes.Buffer
		p := &Process{Out: &out, Err: &diagnostics, IsTerminal: func(stream any) bool { return terminal && stream == &out }}
		p.GuardStreams()
		if p.IsTerminal(p.Out) != terminal || p.IsTerminal(p.Err) || p.IsTerminal(7) {
			t.Error("a guard hides whether there is a terminal")
		}
		p.Warn("%s", "\x1b[2J")
		if _, err := io.WriteString(p.Out, "\x1b[2J"); err != nil {
			t.Fatal(err)
		}
		if want := map[bool]string{true: `\x1b[2J`, false: "\x1b[2J"}[terminal]; out.String() != want ||
			diagnostics.String() != "erreval: \\x1b[2J\n" {
			t.Errorf("%q, %q", out.String(), diagnostics.String())
		}
	}
}

func FuzzGuard(f *testing.F) {
	for in := range guarded {
		f.Add(in, 3)
	}
	f.Fuzz(func(t *testing.T, in string, at int) {
		var b bytes.Buffer
		g := Guard(&b)
		at = max(0, min(at, len(in)))
		for _, part := range []string{in[:at], in[at:], "."} {
			if n, err := io.WriteString(g, part); n != len(part) || err != nil {
				t.Fatal(n, err)
			}
		}
		if got := b.String(); !utf8.ValidString(got) || strings.ContainsFunc(got, isControl) || !strings.HasSuffix(got, ".") {
			t.Errorf("%q: %q", in, got)
		}
	})
}
