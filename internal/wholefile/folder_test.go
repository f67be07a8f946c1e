package wholefile

import (
	"os"
	"path/filepath"
	"testing"
)

// TestFolder: a folder appears whole; an empty one gives way to it, another one only where it is to be replaced.
func TestFolder(t *testing.T) {
	parent := t.TempDir()
	to := filepath.Join(parent, "new", "m")
	publish := func(text string, replace bool) error {
		f, err := NewFolder(to, ".m.partial-")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(f.Dir, "file"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		err = f.Publish(replace)
		if fault := f.Discard(); fault != nil {
			t.Error(fault)
		}
		return err
	}
	check := func(want string) {
		t.Helper()
		data, err := os.ReadFile(filepath.Join(to, "file"))
		entries, _ := os.ReadDir(filepath.Dir(to))
		if err != nil || string(data) != want || len(entries) != 1 {
			t.Errorf("%q, %v, %v; want %q alone", data, err, entries, want)
		}
	}
	if err := os.MkdirAll(to, 0o755); err != nil { // an empty one
		t.Fatal(err)
	}
	if err := publish("one", false); err != nil {
		t.Fatal(err)
	}
	check("one")
	if err := publish("two", false); err == nil {
		t.Error("a folder with files was replaced unasked")
	}
	check("one")
	if err := publish("three", true); err != nil {
		t.Error(err)
	}
	check("three")
	if err := os.RemoveAll(to); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, []byte("a file"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := publish("four", true); err == nil {
		t.Error("a file was replaced by a folder")
	}
}
