//go:build unix

package bench

import (
	"os"
	"path/filepath"
	"testing"

	sugarme "github.com/sugarme/tokenizer"
	"github.com/sugarme/tokenizer/pretrained"
)

// sugarmeEncoder encodes with sugarme/tokenizer and the tokenizer.json given.
func sugarmeEncoder(b *testing.B, tokenizerJSON []byte) func(text string) {
	path := filepath.Join(b.TempDir(), "tokenizer.json")
	if err := os.WriteFile(path, tokenizerJSON, 0o600); err != nil {
		b.Fatal(err)
	}
	tok, err := pretrained.FromFile(path)
	if err != nil {
		b.Fatal(err)
	}
	return func(text string) {
		if _, err := tok.Encode(sugarme.NewSingleEncodeInput(sugarme.NewInputSequence(text)), false); err != nil {
			b.Fatal(err)
		}
	}
}
