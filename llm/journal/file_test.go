package journal

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/erreval/erreval/llm"
)

func TestMode(t *testing.T) {
	path := file(t)
	j := open(t, path)
	complete(t, j.Client(&counting{}, ""), request("x"))
	for _, name := range []string{path, path + "-wal", path + "-shm"} {
		checkMode(t, name)
	}
	closed(t, j)
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	open(t, path)
	checkMode(t, path)
	checkMode(t, path+"-wal")
}

func checkMode(t *testing.T, name string) {
	t.Helper()
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	if mode := info.Mode().Perm(); mode != 0o600 {
		t.Errorf("%s has the mode %o, want 600", filepath.Base(name), mode)
	}
}

// Nothing that came in is in the file but replies.
func TestNoSecrets(t *testing.T) {
	path := file(t)
	j := open(t, path)
	complete(t, j.Client(&counting{}, "https://user:sk-secret@host/?api-key=sk-secret"), request("prompt-secret"))
	closed(t, j)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"sk-secret", "host", "prompt-secret"} {
		if strings.Contains(string(data), word) {
			t.Errorf("the file holds %q", word)
		}
	}
	if !strings.Contains(string(data), "reply 1") {
		t.Error("the reply is not in the file: this test reads the wrong one")
	}
}

func TestOddNames(t *testing.T) {
	for _, name := range []string{"a b?c#d%20e", "ü:1", "x&_pragma=y"} {
		path := filepath.Join(t.TempDir(), name)
		complete(t, open(t, path).Client(&counting{}, ""), request("x"))
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
		if got := complete(t, open(t, path).Client(&counting{}, ""), request("x")); !got.Cached {
			t.Errorf("%q does not open twice", name)
		}
	}
}

func TestRefusedFiles(t *testing.T) {
	execute := func(query string) func(t *testing.T, path string) {
		return func(t *testing.T, path string) {
			db, err := sql.Open("sqlite", path)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			if _, err := db.Exec(query); err != nil {
				t.Fatal(err)
			}
		}
	}
	write := func(data string) func(t *testing.T, path string) {
		return func(t *testing.T, path string) {
			if err := os.WriteFile(path, []byte(data), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, c := range []struct {
		name string
		make func(t *testing.T, path string)
		want string
	}{
		{"newer", func(t *testing.T, path string) {
			closed(t, open(t, path))
			execute("PRAGMA user_version = 4")(t, path)
		}, "written by a newer erreval (format 4, this one reads 3); upgrade erreval, or give another name"},
		{"other database", execute("CREATE TABLE a (b)"), "an SQLite file, but not a journal of erreval"},
		{"text", write(strings.Repeat("id,question\n", 1000)), "damaged, or not a journal; copy what is whole with: erreval journal recover "},
		{"folder", func(t *testing.T, path string) {
			if err := os.Mkdir(path, 0o700); err != nil {
				t.Fatal(err)
			}
		}, "is a directory"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := file(t)
			c.make(t, path)
			before, _ := os.ReadFile(path)
			_, err := Open(path)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("got %v, want %q and the path", err, c.want)
			}
			if after, _ := os.ReadFile(path); string(after) != string(before) {
				t.Error("the refused file was changed")
			}
		})
	}
	if _, err := Open(filepath.Join(t.TempDir(), "none", "x")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v for a folder that is not there", err)
	}
}

// A journal with any page overwritten or cut off opens or says that it is damaged; replies that come are right.
func TestDamage(t *testing.T) {
	path := file(t)
	j := open(t, path)
	var endpoint counting
	const rows = 40
	for i := range rows {
		complete(t, j.Client(&endpoint, ""), request(strings.Repeat(fmt.Sprint(i), 100)))
	}
	closed(t, j)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const page = 4096
	detected := 0
	for at := 0; at < len(whole); at += page {
		overwritten := []byte(string(whole))
		copy(overwritten[at:], strings.Repeat("\xa5", page))
		for _, data := range [][]byte{overwritten, whole[:at+page/2]} {
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := use(path, rows); err != nil {
				detected++
				if !strings.Contains(err.Error(), "damaged, or not a journal; copy what is whole with: erreval journal recover ") {
					t.Errorf("damage at %d: %v", at, err)
				}
			}
		}
	}
	if pages := len(whole) / page; detected < pages {
		t.Errorf("damage was noticed %d times for %d pages", detected, pages)
	}
}

func use(path string, rows int) error {
	j, err := Open(path)
	if err != nil {
		return err
	}
	defer j.Close()
	for i := range rows {
		reply, err := j.Client(nil, "").Lookup(request(strings.Repeat(fmt.Sprint(i), 100)))
		if err != nil {
			return err
		}
		if want := fmt.Sprintf("reply %d", i+1); reply != nil && reply.Text != want {
			return fmt.Errorf("row %d is %q", i, reply.Text)
		}
	}
	_, err = j.Spent()
	return err
}

// A journal whose disk fails stops the run and does not call.
func TestBroken(t *testing.T) {
	var endpoint counting
	j := open(t, file(t))
	m, err := j.Meter(&endpoint, Budget{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = j.store.begin.Close()
	if _, err := j.Client(m, "").Complete(t.Context(), request("x")); llm.KindOf(err) != llm.Broken {
		t.Errorf("got %v, want a broken journal", err)
	}
	if n := endpoint.calls.Load(); n != 0 {
		t.Errorf("%d calls without a journal", n)
	}
	closed(t, j)
	if _, err := j.Client(m, "").Complete(t.Context(), request("x")); llm.KindOf(err) != llm.Broken {
		t.Errorf("got %v, want a broken journal", err)
	}
}

// Where the journal's files would be, somebody else has put links to a file of the user's.
func TestPlantedLinks(t *testing.T) {
	for _, kind := range []string{"", "-wal", "-shm", "-journal"} {
		path := file(t)
		mine := filepath.Join(filepath.Dir(path), "mine")
		for _, target := range []string{mine, mine + "-absent"} {
			if err := errors.Join(os.WriteFile(mine, nil, 0o644), os.Symlink(target, path+kind)); err != nil {
				t.Fatal(err)
			}
			if _, err := Open(path); err == nil || !strings.Contains(err.Error(), path+kind+" is a symbolic link") {
				t.Errorf("%q: got %v", kind, err)
			}
			info, err := os.Stat(mine)
			if err != nil || info.Size() != 0 || info.Mode() != 0o644 {
				t.Errorf("%q: the file behind the link was changed: %v %v", kind, info, err)
			}
			if _, err := os.Lstat(mine + "-absent"); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("%q: a file was made behind the link", kind)
			}
			if err := os.Remove(path + kind); err != nil {
				t.Fatal(err)
			}
		}
	}
}
