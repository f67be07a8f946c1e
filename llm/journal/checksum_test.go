package journal

import (
	"bytes"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/erreval/erreval/llm"
)

// written makes a journal of replies, some rejected, and of what they cost.
func written(t *testing.T, path string) {
	t.Helper()
	j := open(t, path)
	endpoint := &counting{}
	m := meter(t, j, endpoint, Budget{}, prices("USD", Price{1, 2}))
	for i := range flipRows {
		c := j.Client(m, "")
		r := request(fmt.Sprint(i))
		reply := complete(t, c, r)
		if i%5 == 0 {
			if err := c.Reject(r, reply); err != nil {
				t.Fatal(err)
			}
			r.Attempt = 1
			complete(t, c, r)
		}
	}
	closed(t, j)
}

const (
	flipRows = 60
	all      = flipRows + flipRows/5 // replies
)

// contents is all that is read of a journal.
type contents struct {
	Replies []*llm.Reply
	Spent   Spent
}

func readAll(path string) (all contents, err error) {
	j, err := Open(path)
	if err != nil {
		return contents{}, err
	}
	defer j.Close()
	for i := range flipRows {
		for attempt := range 3 {
			r := request(fmt.Sprint(i))
			r.Attempt = attempt
			reply, err := j.Client(nil, "").Lookup(r)
			if err != nil {
				return contents{}, err
			}
			all.Replies = append(all.Replies, reply)
		}
	}
	all.Spent, err = j.Spent()
	return all, err
}

// A journal in which a byte was changed is refused by name, or reads as before; Verify says so too, and leaves it.
func TestChangedBytes(t *testing.T) {
	t.Parallel()
	path := file(t)
	written(t, path)
	want, err := readAll(path)
	if err != nil || want.Spent.Calls == 0 || want.Replies[0] == nil {
		t.Fatal(want, err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(7, 7))
	refused, flips := 0, rounds(1000)
	for range flips {
		at := random.IntN(len(whole))
		changed := []byte(string(whole))
		changed[at] ^= byte(1 + random.IntN(255))
		for _, beside := range []string{"-wal", "-shm"} {
			_ = os.Remove(path + beside)
		}
		if err := os.WriteFile(path, changed, 0o600); err != nil {
			t.Fatal(err)
		}
		c, verified := Verify(path)
		if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, changed) {
			t.Fatalf("byte %d: Verify changes the file: %v", at, err)
		}
		got, err := readAll(path)
		for _, err := range []error{verified, err} {
			if err != nil && !strings.Contains(err.Error(), path) {
				t.Errorf("byte %d: the journal is not named: %v", at, err)
			}
		}
		if err != nil {
			refused++
		}
		if verified == nil && (err != nil || !reflect.DeepEqual(got, want) || c.Spent != want.Spent || c.Replies != all) {
			t.Errorf("byte %d from %#x to %#x: Verify says nothing, and it reads otherwise: %v", at, whole[at], changed[at], err)
		}
		if err == nil && !reflect.DeepEqual(got, want) {
			t.Errorf("byte %d from %#x to %#x: the journal reads otherwise", at, whole[at], changed[at])
		}
	}
	t.Logf("%d of %d changes are refused, the others change nothing; %d bytes", refused, flips, len(whole))
	if refused < flips/5 {
		t.Errorf("only %d of %d changes are refused", refused, flips)
	}
}

// A changed value is refused with the name of what it belongs to.
func TestChangedValues(t *testing.T) {
	for change, want := range map[string]string{
		"UPDATE reply SET text = text || ' ' WHERE rowid = 3":      "the reply to call ",
		"UPDATE reply SET finish = 'length' WHERE rowid = 3":       "the reply to call ",
		"UPDATE reply SET model = 'other' WHERE rowid = 3":         "the reply to call ",
		"UPDATE reply SET input = input + 1 WHERE rowid = 3":       "the reply to call ",
		"UPDATE reply SET output = 'x' WHERE rowid = 3":            "a reply cannot be read",
		"UPDATE reply SET rejected = 1 - rejected WHERE rowid = 3": "the reply to call ",
		"UPDATE reply SET attempt = attempt + 1 WHERE rowid = 3":   "the reply to call ",
		"UPDATE reply SET checksum = NULL WHERE rowid = 3":         "the reply to call ",
		"UPDATE account SET calls = 1":                             `what was spent on model "m"`,
		"UPDATE account SET cost = 'much'":                         "what was spent cannot be read",
		"UPDATE account SET model = 'n'":                           `what was spent on model "n"`,
		"UPDATE setting SET value = 'EUR'":                         `setting "currency"`,
	} {
		path := file(t)
		written(t, path)
		execute(t, path, change)
		_, err := readAll(path)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: got %v, want %q", change, err, want)
		}
	}
}

func execute(t *testing.T, path string, statements ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", dataSource(path))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// A journal from before there were checksums reads as it did, and has them from then on.
func TestWithoutChecksums(t *testing.T) {
	path := file(t)
	written(t, path)
	want, err := readAll(path)
	if err != nil {
		t.Fatal(err)
	}
	drop := []string{fmt.Sprintf("PRAGMA user_version = %d", unchecked)}
	drop = append(drop, "DROP TABLE claim")
	for _, table := range []string{"reply", "account", "setting"} {
		drop = append(drop, "ALTER TABLE "+table+" DROP COLUMN checksum")
	}
	execute(t, path, drop...)
	if _, err := Verify(path); err == nil || !strings.Contains(err.Error(), "of format 2, which has no checksums") {
		t.Errorf("got %v", err)
	}
	if _, err := Recover(path, path+".new"); err == nil || !strings.Contains(err.Error(), "its 72 replies of an older") {
		t.Errorf("got %v", err)
	}
	for range 2 {
		if got, err := readAll(path); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("it reads otherwise: %v", err)
		}
	}
	execute(t, path, "UPDATE reply SET text = 'x' WHERE rowid = 3")
	if _, err := readAll(path); err == nil {
		t.Error("a change after the first opening is not noticed")
	}
}
