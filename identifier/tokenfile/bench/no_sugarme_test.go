//go:build unix && no_sugarme

package bench

import "testing"

// sugarmeEncoder is nothing where the module proxy does not serve sugarme/tokenizer.
func sugarmeEncoder(*testing.B, []byte) func(text string) { return nil }
