package jsontext

import (
	"bytes"
	"testing"
	"unicode/utf8"
)

// FuzzQuote: a text is quoted as an encoder does it, and is the same when it is read.
func FuzzQuote(f *testing.F) {
	for c := range rune(0x100) {
		f.Add("a" + string(c))
	}
	f.Add("\u2028 <&>")
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) {
			return
		}
		want, err := Marshal(text)
		if got := Quote(text); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%q: %s, want %s, %v", text, got, want, err)
		}
		if got, ok := Unquote(want); !ok || got != text {
			t.Fatalf("%q is read as %q", text, got)
		}
		if err := Check(want); err != nil {
			t.Fatal(err)
		}
	})
}
