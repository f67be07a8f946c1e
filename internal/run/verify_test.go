package run_test

import (
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/internal/runrecord"
)

// TestFlippedBytes changes one bit of an output or its record at a time: each change is found.
func TestFlippedBytes(t *testing.T) {
	dir := writeRows(t)
	if code, said := shout(t, dir, in("out.jsonl")); code != exit.Incomplete {
		t.Fatal(said)
	}
	if _, err := run.VerifyOutput("out.jsonl"); err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for _, file := range []string{"out.jsonl", runrecord.Path("out.jsonl")} {
		whole, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for range 1000 {
			at, bit := random.IntN(len(whole)), byte(1)<<random.IntN(8)
			changed := slices.Clone(whole)
			changed[at] ^= bit
			if err := os.WriteFile(file, changed, 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := run.VerifyOutput("out.jsonl"); err == nil {
				t.Errorf("%s: bit %#x of byte %d was flipped, and nothing is said: %.40q", file, bit, at, changed[max(0, at-20):])
			}
		}
		if err := os.WriteFile(file, whole, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
