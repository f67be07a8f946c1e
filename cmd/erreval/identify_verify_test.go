package main

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/erreval/erreval/training/selection"
)

const tinyVerifier = "../../identifier/testdata/verifier"

// TestVerifierEqualsTorch: the answers are those that torch gave beside the labels of tiny-bert (make_fixtures.py
// --verifier), with any number of rows under way.
func TestVerifierEqualsTorch(t *testing.T) {
	want, err := os.ReadFile(filepath.Join(tinyVerifier, "verified.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, workers := range []string{"1", "7"} {
		e, _, stderr := testEnv(t, nil, false)
		out := filepath.Join(t.TempDir(), "out.jsonl")
		if code := execute(t.Context(), []string{"erreval", "identify", tinyBERT + "/rows.jsonl", "-o", out, "--model",
			tinyBERT, "--verifier", tinyVerifier, "--workers", workers}, e); code != 0 {
			t.Fatalf("exit code %d: %s", code, stderr)
		}
		got := strings.Split(strings.TrimSpace(contentOf(t, out)), "\n")
		lines := strings.Split(strings.TrimSpace(string(want)), "\n")
		if len(got) != len(lines) {
			t.Fatalf("%d rows, want %d", len(got), len(lines))
		}
		for i, line := range lines {
			var row struct {
				ID           string
				Verification selection.Verification
			}
			var witness struct {
				ID          string
				Probability float64
			}
			if err := json.Unmarshal([]byte(got[i]), &row); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal([]byte(line), &witness); err != nil {
				t.Fatal(err)
			}
			if row.ID != witness.ID || math.Abs(row.Verification.Probability-witness.Probability) > 1e-4 ||
				row.Verification.Model != "tiny-verifier@1" {
				t.Errorf("row %s: %+v, want %+v", row.ID, row.Verification, witness)
			}
		}
	}
}
