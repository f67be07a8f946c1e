package models_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/erreval/erreval/models"
)

// draft begins a model at dir, with the bert fixture in it.
func draft(t *testing.T, dir string, replace bool) *models.Draft {
	t.Helper()
	d, err := models.NewDraft(dir, replace)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"manifest.json", "model.onnx", "tokenizer.json"} {
		if err := os.WriteFile(filepath.Join(d.Dir, name), read(t, fixtures, "bert", name), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

func entries(t *testing.T, dir string) (names []string) {
	t.Helper()
	found, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range found {
		names = append(names, entry.Name())
	}
	return names
}

// TestStore follows a model from its draft to its removal: what is half made is never seen.
func TestStore(t *testing.T) {
	store := models.Store{Dir: filepath.Join(t.TempDir(), "models")}
	if found, err := store.List(); err != nil || found != nil {
		t.Fatalf("a store that is not there: %v, %v", found, err)
	}
	to := filepath.Join(store.Dir, "mine")
	abandoned := draft(t, to, false)
	d := draft(t, to, false)
	if found, err := store.List(); err != nil || len(found) > 0 || store.Path("mine") != "" {
		t.Errorf("a draft is seen: %v, %v", found, err)
	}
	if err := d.Publish(false); err != nil {
		t.Fatal(err)
	}
	found, err := store.List()
	if err != nil || len(found) != 1 || found[0].Name != "mine" || found[0].Manifest.Name != "tiny-bert" ||
		store.Path("mine") != to {
		t.Errorf("got %+v, %v", found, err)
	}
	// Somebody else was faster: the second one is refused, and takes the place only if it was told to.
	if err := abandoned.Publish(false); err == nil || !strings.Contains(err.Error(), "--overwrite") {
		t.Errorf("a second model of the name: %v", err)
	}
	if err := os.WriteFile(filepath.Join(abandoned.Dir, "new"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := abandoned.Publish(true); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(to, "new")); err != nil {
		t.Error(err)
	}
	draft(t, to, true) // a killed import
	if err := store.Remove("mine"); err != nil {
		t.Fatal(err)
	}
	if left := entries(t, store.Dir); len(left) > 0 {
		t.Errorf("%q are left", left)
	}
	if err := store.Remove("mine"); err == nil || !strings.Contains(err.Error(), "no model") {
		t.Errorf("removed twice: %v", err)
	}
}

// TestDraftOfKilledImport: what an import that was killed left is removed by the next one of that name and named, but
// not what somebody is at, nor the only copy of a model.
func TestDraftOfKilledImport(t *testing.T) {
	parent := t.TempDir()
	at := func(name ...string) string { return filepath.Join(append([]string{parent}, name...)...) }
	for _, dir := range []string{at(".mine.partial-killed"), at(".mine.partial-moved", "old"), at(".other.partial-1")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	living := draft(t, at("mine"), false)
	if want := []string{at(".mine.partial-killed")}; !slices.Equal(living.Left, want) {
		t.Errorf("removed %q, want %q", living.Left, want)
	}
	if err := errors.Join(os.RemoveAll(living.Dir), os.Mkdir(living.Dir, 0o755)); err != nil { // as a conversion does
		t.Fatal(err)
	}
	next := draft(t, at("mine"), false)
	if len(next.Left) > 0 {
		t.Errorf("removed %q, which somebody is at", next.Left)
	}
	if err := errors.Join(next.Publish(false), next.Discard(), living.Discard()); err != nil {
		t.Fatal(err)
	}
	last := draft(t, at("mine"), true)
	if err := last.Discard(); err != nil {
		t.Fatal(err)
	}
	if left, want := entries(t, parent), []string{".other.partial-1", "mine"}; !slices.Equal(left, want) {
		t.Errorf("there are %q, want %q", left, want)
	}
}

func TestDraftIsDiscarded(t *testing.T) {
	parent := t.TempDir()
	d := draft(t, filepath.Join(parent, "mine"), false)
	if err := d.Discard(); err != nil {
		t.Fatal(err)
	}
	if left := entries(t, parent); len(left) > 0 {
		t.Errorf("%q are left", left)
	}
	if err := os.WriteFile(filepath.Join(parent, "thesis.txt"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := models.NewDraft(parent, true); err == nil || !strings.Contains(err.Error(), "holds no model") {
		t.Errorf("a folder of other things may be replaced: %v", err)
	}
}

// TestStoreListsTheGood: a manifest that cannot be read hides no other model.
func TestStoreListsTheGood(t *testing.T) {
	store := models.Store{Dir: t.TempDir()}
	if err := draft(t, filepath.Join(store.Dir, "good"), false).Publish(false); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(store.Dir, "bad"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(store.Dir, "bad", "manifest.json"), []byte("{"), 0o666); err != nil {
		t.Fatal(err)
	}
	found, err := store.List()
	if len(found) != 1 || found[0].Name != "good" || err == nil || !strings.Contains(err.Error(),
		"erreval models rm bad") {
		t.Errorf("got %+v, %v", found, err)
	}
}

func TestCheckName(t *testing.T) {
	for name, ok := range map[string]bool{"mine": true, "roberta-base_v1.0": true, "default": false, "": false,
		".hidden": false, "..": false,
		"a/b": false, `a\b`: false, "a b": false, strings.Repeat("a", 97): false} {
		if err := models.CheckName(name); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// TestSeal: the manifest of a folder holds the hash of every file there, itself left out.
func TestSeal(t *testing.T) {
	d := draft(t, filepath.Join(t.TempDir(), "mine"), false)
	m, err := models.ParseManifest(read(t, d.Dir, "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	want := m.Files
	m.Files = nil
	if err := m.Seal(d.Dir); err != nil {
		t.Fatal(err)
	}
	for name, file := range want {
		if m.Files[name] != file {
			t.Errorf("%s: got %+v, want %+v", name, m.Files[name], file)
		}
	}
	if len(m.Files) != len(want) {
		t.Errorf("got %v", m.Files)
	}
	m.Labels = slices.Clone(m.Labels[:3])
	if err := m.Write(d.Dir); err == nil || !strings.Contains(err.Error(), "logits for 3 labels") {
		t.Errorf("a manifest that does not fit was written: %v", err)
	}
}
