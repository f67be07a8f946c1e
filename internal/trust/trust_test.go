package trust

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

func environment(values map[string]string) func(string) string {
	return func(name string) string { return values[name] }
}

func TestUserDir(t *testing.T) {
	for want, env := range map[string]map[string]string{
		"/c/erreval":         {"XDG_CONFIG_HOME": "/c", "HOME": "/h"},
		"/h/.config/erreval": {"XDG_CONFIG_HOME": "relative", "HOME": "/h"},
		"":                   {"HOME": "relative"},
	} {
		if got, err := UserDir(environment(env)); got != want || (err == nil) != (want != "") {
			t.Errorf("%v: %q, %v; want %q", env, got, err, want)
		}
	}
}

// TestStore: a file is trusted with the content that it had, at its place, until it is removed.
func TestStore(t *testing.T) {
	home, folder := t.TempDir(), t.TempDir()
	s := NewStore(environment(map[string]string{"XDG_CONFIG_HOME": home}))
	file, link := filepath.Join(folder, "erreval.yaml"), filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(folder, link); err != nil {
		t.Fatal(err)
	}
	want := func(file, data string, want bool) {
		t.Helper()
		if got, err := s.Trusted(file, []byte(data)); got != want || err != nil {
			t.Errorf("%s with %q: %v, %v", file, data, got, err)
		}
	}
	want(file, "a", false)
	if removed, err := s.Remove(file); removed || err != nil {
		t.Errorf("%v, %v", removed, err)
	}
	if err := s.Add(file, []byte("a")); err != nil {
		t.Fatal(err)
	}
	want(file, "a", true)
	want(filepath.Join(link, "erreval.yaml"), "a", true)
	want(file, "b", false)
	want(file, "", false)
	want(filepath.Join(folder, "other.yaml"), "a", false)
	want("erreval.yaml", "a", false)
	if files, err := s.Files(); err != nil || len(files) != 1 || filepath.Base(files[0]) != "erreval.yaml" {
		t.Errorf("%v, %v", files, err)
	}
	for path, mode := range map[string]os.FileMode{"erreval": 0o700, "erreval/trusted.json": 0o600} {
		if info, err := os.Stat(filepath.Join(home, path)); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
	if err := s.Add(file, []byte("b")); err != nil {
		t.Fatal(err)
	}
	want(file, "a", false)
	want(file, "b", true)
	if removed, err := s.Remove(file); !removed || err != nil {
		t.Errorf("%v, %v", removed, err)
	}
	want(file, "b", false)
}

// TestNoStore: without a store that can be read, nothing is trusted.
func TestNoStore(t *testing.T) {
	home := t.TempDir()
	damaged := NewStore(environment(map[string]string{"XDG_CONFIG_HOME": home}))
	if err := damaged.Add("f", nil); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"", "null", "[]", `{"f": 1}`} {
		if err := os.WriteFile(damaged.path(), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for name, s := range map[string]*Store{"trusted.json: it is damaged": damaged,
			"XDG_CONFIG_HOME": NewStore(environment(nil))} {
			ok, err := s.Trusted("f", nil)
			_, removing := s.Remove("f")
			for _, err := range []error{err, s.Add("f", nil), removing} {
				if ok || err == nil || !strings.Contains(err.Error(), name) {
					t.Errorf("%q: %v, %v; want %q", text, ok, err, name)
				}
			}
		}
	}
}

// TestChangesAtOnce: no change is lost.
func TestChangesAtOnce(t *testing.T) {
	env := environment(map[string]string{"XDG_CONFIG_HOME": t.TempDir()})
	var group sync.WaitGroup
	var want []string
	for i := range 20 {
		file := fmt.Sprintf("/nowhere/%02d", i)
		want = append(want, file)
		group.Go(func() {
			if err := NewStore(env).Add(file, nil); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if got, err := NewStore(env).Files(); err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
}

// FuzzStore: whatever the store's file holds, nothing is trusted that it does not have with that content; what is added
// is trusted, and the file can be read again.
func FuzzStore(f *testing.F) {
	for _, s := range []string{`{}`, `null`, `{"/a/erreval.yaml":"00"}`, `{"a":1}`, `[`, `{"a":"b","a":"c"}`} {
		f.Add([]byte(s), []byte("judges:\n"))
	}
	f.Fuzz(func(t *testing.T, stored, content []byte) {
		home := t.TempDir()
		s := NewStore(environment(map[string]string{"XDG_CONFIG_HOME": home}))
		file := filepath.Join(home, "erreval.yaml")
		if err := os.Mkdir(filepath.Dir(s.path()), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(s.path(), stored, 0o600); err != nil {
			t.Fatal(err)
		}
		trusted, err := s.Trusted(file, content)
		if trusted && !strings.Contains(string(stored), hashOf(content)) {
			t.Fatalf("%q says that %q is trusted", stored, content)
		}
		if err != nil && !strings.Contains(err.Error(), s.path()) {
			t.Fatalf("no place in %q", err)
		}
		added := s.Add(file, content)
		if (added == nil) != (err == nil) {
			t.Fatalf("%v when reading, %v when adding", err, added)
		}
		if trusted, err := s.Trusted(file, content); added == nil && (!trusted || err != nil) {
			t.Fatalf("what was added is not trusted: %v", err)
		}
	})
}
