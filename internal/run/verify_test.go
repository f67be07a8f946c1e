package run_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/app/verifying"
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
	if _, err := verifying.Output("out.jsonl"); err != nil {
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
			if _, err := verifying.Output("out.jsonl"); err == nil {
				t.Errorf("%s: bit %#x of byte %d was flipped, and nothing is said: %.40q", file, bit, at, changed[max(0, at-20):])
			}
		}
		if err := os.WriteFile(file, whole, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// FuzzVerify: an output passes only if its bytes are those that its record has the hash of.
func FuzzVerify(f *testing.F) {
	out := []byte("{\"id\":\"a\"}\n")
	sum := sha256.Sum256(out)
	dir := f.TempDir()
	r := runrecord.New("identify", map[string]any{"limit": 0})
	r.Output = &runrecord.Content{SHA256: hex.EncodeToString(sum[:]), Size: int64(len(out))}
	r.Counts[run.CountRejected] = 1
	if err := r.Write(filepath.Join(dir, "seed")); err != nil {
		f.Fatal(err)
	}
	record, err := os.ReadFile(runrecord.Path(filepath.Join(dir, "seed")))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(out, record, []byte("bad\n"))
	f.Add(out, record[:40], []byte{})
	f.Add(out, []byte(`{"output":{"sha256":"","size":-1},"counts":{"rejected":-1},"checksum": ""}`), []byte{})
	f.Add(out, []byte(`{"options":null,"model":{},"counts":null}`), []byte("\n\n"))
	f.Fuzz(func(t *testing.T, out, record, rejected []byte) {
		path := filepath.Join(t.TempDir(), "out.jsonl")
		for file, data := range map[string][]byte{path: out, runrecord.Path(path): record,
			dataset.RejectedPath(path): rejected} {
			if err := os.WriteFile(file, data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		r, err := verifying.Output(path)
		sum := sha256.Sum256(out)
		if err == nil && (r.Output.SHA256 != hex.EncodeToString(sum[:]) || r.Output.Size != int64(len(out)) ||
			r.Counts[run.CountRejected] != bytes.Count(rejected, []byte("\n"))) {
			t.Fatalf("%q passes as what %q says", out, record)
		}
		if r, err := runrecord.Read(path); err == nil {
			var reading runrecord.Reading
			_ = runrecord.ReadOptions(path, &reading) // must not panic
			if all, err := runrecord.Differences(r, r); err != nil || len(all) > 0 {
				t.Fatalf("%q differs from itself: %q, %v", record, all, err)
			}
		}
	})
}
