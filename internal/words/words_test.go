package words

import (
	"testing"
	"unicode"
)

func TestPrintable(t *testing.T) {
	for in, want := range map[string]string{
		"plain, naïve, 漢字, 👍🏽":      "plain, naïve, 漢字, 👍🏽",
		"tab\tnew\r\nline\u00a0end": "tab new line end",
		"\x1b]0;title\x07":          `\x1b]0;title\x07`,
		"\x1b[2J\u009bA\x7f\u0085":  `\x1b[2J\x9bA\x7f\x85`,
		"\u202egnp.exe\u2066":       `\u202egnp.exe\u2066`,
		"می\u200cخواهم":             "می\u200cخواهم",
		"\U000e0041\xff":            `\U000e0041` + "\ufffd",
	} {
		if got := Printable(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
	if got := PrintableLines("a\r\nb\n\x1bc"); got != "a\nb\n\\x1bc" {
		t.Errorf("lines: %q", got)
	}
}

// FuzzPrintable: what is printed is one line without a control or an invisible character, but joiners.
func FuzzPrintable(f *testing.F) {
	for _, s := range []string{"a\x1b[31mb\n\r\nc", "\u202eabc\u2066", "\u200c\u200d", "\xff\xc2\x9b", "\U000e0041"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, r := range Printable(s) {
			if !unicode.IsPrint(r) && r != '\u200c' && r != '\u200d' {
				t.Fatalf("%q stays in %q", r, Printable(s))
			}
		}
	})
}

func TestClip(t *testing.T) {
	for text, want := range map[string]string{"": "", "a\n\x1b[31m b": "a [31m b", "0123456789ab": "… 23456789ab",
		"xéa23456789": "… a23456789"} {
		if got := Clip(text, 10); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

func TestOr(t *testing.T) {
	for want, choices := range map[string][]string{"": nil, "a": {"a"}, "a or b": {"a", "b"},
		"a, b or c": {"a", "b", "c"}} {
		if got := Or(choices); got != want {
			t.Errorf("%q is %q, want %q", choices, got, want)
		}
	}
}

func TestParseSize(t *testing.T) {
	for text, want := range map[string]int64{"": 0, "1024": 1024, "1KiB": 1024, "2 kb": 2000, "1.5MB": 1.5e6,
		"16MiB": 16 << 20, "8GB": 8e9} {
		if got, err := ParseSize(text); got != want || err != nil {
			t.Errorf("%q is %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"0", "-1KB", "KiB", "1TB", "much"} {
		if got, err := ParseSize(text); err == nil {
			t.Errorf("%q is %d", text, got)
		}
	}
}
