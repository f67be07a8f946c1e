package words

import "testing"

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
