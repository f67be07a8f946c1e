package refine

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestFlippedBytes changes one bit of a workspace's files at a time: each is found, or changes nothing that is read.
func TestFlippedBytes(t *testing.T) {
	w := newWorkspace(t)
	if err := put(t, w, StepMerge+"B001", "train/B001.jsonl", `{"id":"x","question":"Who?"}`+"\n").Commit("merge"); err != nil {
		t.Fatal(err)
	}
	steps, err := Verify(w.Dir)
	if err != nil || steps != 2 {
		t.Fatal(steps, err)
	}
	log, err := w.Log()
	if err != nil || len(log[0].Files) < 3 || len(log[1].Files) != 1 {
		t.Fatal(log, err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for _, file := range slices.Concat([]string{LogFile}, log[1].Made, []string{PoolFile, DevFile}) {
		path := w.Path(file)
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for range 1000 {
			at, bit := random.IntN(len(whole)), byte(1)<<random.IntN(8)
			changed := slices.Clone(whole)
			changed[at] ^= bit
			if err := os.WriteFile(path, changed, 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := Verify(w.Dir); err == nil {
				if now, logErr := w.Log(); file != LogFile || logErr != nil || !reflect.DeepEqual(now, log) {
					t.Errorf("%s: bit %#x of byte %d was flipped, and nothing is said: %.40q", file, bit, at, changed[max(0, at-20):])
				}
			}
		}
		if err := os.WriteFile(path, whole, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestVerify: what is missing, and what an older program made, does not pass for verified; settings may be edited, and
// what version control leaves out has hashes elsewhere.
func TestVerify(t *testing.T) {
	w := newWorkspace(t)
	u := put(t, w, StepTrain+"00", "iterations/00/metrics.json", "{}", "iterations/00/pool.tagged.jsonl", "{}")
	path, err := u.Path("iterations", "00", "model", "model.onnx")
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, "weights")
	if err := u.Commit("train"); err != nil {
		t.Fatal(err)
	}
	write(t, w.Path(ConfigFile), "group: passage\n")
	grown, err := os.ReadFile(w.Path(PoolFile))
	if err != nil {
		t.Fatal(err)
	}
	write(t, w.Path(PoolFile), string(grown)+`{"id":"later","question":"Who?"}`+"\n")
	err = errors.Join(os.RemoveAll(w.Path(IterationDir, "00", "model")), os.Remove(w.Path(IterationDir, "00", TaggedFile)))
	if _, verify := Verify(w.Dir); err != nil || verify != nil {
		t.Fatal(err, verify)
	}
	if err := os.Remove(w.Path(IterationDir, "00", "metrics.json")); err != nil {
		t.Fatal(err)
	}
	if _, err := Verify(w.Dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	write(t, w.Path(LogFile), `{"time":"2026-01-02T03:04:05Z","step":"init","command":"x","made":["."]}`+"\n")
	if _, err := Verify(w.Dir); err == nil || !strings.Contains(err.Error(), "of an older program and has no hashes") {
		t.Errorf("got %v", err)
	}
	outside := filepath.ToSlash(filepath.Join("..", "other"))
	write(t, w.Path(LogFile), `{"step":"init","made":["."],"files":{"`+outside+`":{"sha256":"","size":0}}}`+"\n")
	if _, err := Verify(w.Dir); err == nil || !strings.Contains(err.Error(), "does not lie in the workspace") {
		t.Errorf("got %v", err)
	}
}
