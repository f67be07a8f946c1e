package models_test

import (
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/erreval/erreval/models"
)

// TestFlippedBytes changes one bit of a model's files at a time, 1,000 of each: each is found.
func TestFlippedBytes(t *testing.T) {
	dir := t.TempDir()
	if _, err := models.Export(os.DirFS(filepath.Join(fixtures, "bert")), dir); err != nil {
		t.Fatal(err)
	}
	if m, err := models.VerifyFiles(dir); err != nil || m.ID() != "tiny-bert@1" {
		t.Fatal(m, err)
	}
	random, files := rand.New(rand.NewPCG(1, 2)), 0
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		files++
		whole := read(t, path)
		for range 1000 {
			at, bit := random.IntN(len(whole)), byte(1)<<random.IntN(8)
			changed := slices.Clone(whole)
			changed[at] ^= bit
			if err := os.WriteFile(path, changed, 0o600); err != nil {
				return err
			}
			if _, err := models.VerifyFiles(dir); err == nil {
				t.Errorf("%s: bit %#x of byte %d was flipped, and nothing is said: %.40q", entry.Name(), bit, at,
					changed[max(0, at-20):])
			}
		}
		return os.WriteFile(path, whole, 0o600)
	})
	if err != nil || files < 3 {
		t.Fatalf("%d files, %v", files, err)
	}
}

// TestManifestChecksum: a manifest without a checksum opens and does not pass for verified; one that was changed does
// neither; what Write and Export write has one.
func TestManifestChecksum(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(fixtures, "bert"))); err != nil {
		t.Fatal(err)
	}
	m, err := models.Open(dir, questions(t))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := models.VerifyFiles(dir); err == nil || !strings.Contains(err.Error(), "manifest.json has no checksum") {
		t.Errorf("got %v", err)
	}
	for range 2 { // the second time it has one, which is replaced
		if err := m.Manifest.Write(dir); err != nil {
			t.Fatal(err)
		}
		m, err = models.Open(dir, questions(t))
		if err != nil || m.Manifest.Checksum == "" {
			t.Fatal(err)
		}
	}
	if _, err := models.VerifyFiles(dir); err != nil {
		t.Error(err)
	}
	path := filepath.Join(dir, models.ManifestFile)
	changed := strings.Replace(string(read(t, path)), `"max_tokens": 128`, `"max_tokens": 127`, 1)
	if err := os.WriteFile(path, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	_, open := models.Open(dir, questions(t))
	_, verify := models.VerifyFiles(dir)
	for _, err := range []error{open, verify} {
		if err == nil || !strings.Contains(err.Error(), "manifest.json was changed since it was written") {
			t.Errorf("got %v", err)
		}
	}
}
