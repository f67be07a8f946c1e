package journal

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// Prompts are recovered as they are, with the numbers of their parts, and out of the log too; further ones are kept
// beside them.
func TestRecoverPrompts(t *testing.T) {
	path, to := file(t), filepath.Join(t.TempDir(), "new")
	writtenPrompts(t, path)
	j := open(t, path) // and a log
	complete(t, keeping(t, j, &counting{}), asked("in the log", strings.Repeat("Long. ", 2000), "When?"))
	found, err := Recover(path, to)
	if err != nil || found.Fault != "" || found.Prompts != promptRows+1 || found.LostPrompts != 0 {
		t.Fatalf("%+v %v", found, err)
	}
	if c, err := Verify(to); err != nil || c.Prompts != promptRows+1 {
		t.Fatalf("%+v %v", c, err)
	}
	if was, is := partsOf(t, path), partsOf(t, to); !reflect.DeepEqual(was, is) {
		t.Errorf("parts %v, want %v", is, was)
	}
	recovered := open(t, to)
	complete(t, keeping(t, recovered, &counting{}), asked("new", "Wall 1.", "Where?"))
	for _, row := range []string{"0", "8", "in the log", "new"} {
		is, err := recovered.Prompts(row)
		if err != nil || len(is) != 1 {
			t.Fatal(row, is, err)
		}
		if was, err := j.Prompts(row); row != "new" && (err != nil || !reflect.DeepEqual(is, was)) {
			t.Errorf("%s: %+v, want %+v %v", row, is, was, err)
		}
	}
}

// partsOf are the hashes of the parts in a journal, by their numbers.
func partsOf(t *testing.T, path string) map[int64]string {
	t.Helper()
	j := open(t, path)
	rows, err := j.store.conn.QueryContext(background, "SELECT number, hash FROM part")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	all := map[int64]string{}
	for rows.Next() {
		var number int64
		var hash string
		if err := rows.Scan(&number, &hash); err != nil {
			t.Fatal(err)
		}
		all[number] = hash
	}
	return all
}

// A prompt is copied whole or not at all: where a part of it is damaged, it is lost, and that is said.
func TestRecoverPromptsOfDamage(t *testing.T) {
	for change, lost := range map[string]int{
		"UPDATE part SET text = zeroblob(length(text)) WHERE number = 2": promptRows,
		"DELETE FROM part": promptRows,
		"UPDATE part SET number = 9999 WHERE number = 4":                  promptRows,
		"UPDATE prompt SET about = 'x' WHERE row_id = '7'":                1,
		"UPDATE prompt SET messages = x'ffffffff01' WHERE row_id = '7'":   1,
		"UPDATE prompt SET call = zeroblob(32) WHERE row_id IN ('7','8')": 2,
		"UPDATE reply SET text = 'x' WHERE rowid > 1":                     0,
	} {
		path := file(t)
		writtenPrompts(t, path)
		execute(t, path, change)
		found, err := Recover(path, path+".new")
		if err != nil || found.LostPrompts != lost || found.Prompts != promptRows-lost || found.Fault == "" {
			t.Errorf("%s: %+v %v", change, found, err)
			continue
		}
		if c, err := Verify(path + ".new"); err != nil || c.Prompts != found.Prompts {
			t.Errorf("%s: %+v %v", change, c, err)
		}
	}
}

// Whatever bytes are changed, what is recovered of prompts is what was written.
func TestRecoverChangedPrompts(t *testing.T) {
	t.Parallel()
	path := file(t)
	writtenPrompts(t, path)
	all, err := readPrompts(path)
	whole, readErr := os.ReadFile(path)
	if err != nil || readErr != nil {
		t.Fatal(err, readErr)
	}
	want := map[string]Prompt{}
	for _, p := range all {
		want[p.Row] = p
	}
	random := rand.New(rand.NewPCG(9, 9))
	kept, lost, nothing := 0, 0, 0
	for n := range rounds(100) {
		changed := []byte(string(whole))
		for range 1 + n%20 {
			changed[random.IntN(len(whole))] ^= byte(1 + random.IntN(255))
		}
		from, to := filepath.Join(t.TempDir(), "damaged"), filepath.Join(t.TempDir(), "new")
		if err := os.WriteFile(from, changed, 0o600); err != nil {
			t.Fatal(err)
		}
		found, err := Recover(from, to)
		if err != nil {
			if nothing++; !strings.Contains(err.Error(), "nothing in it is a reply") {
				t.Errorf("%d: %v", n, err)
			}
			continue
		}
		c, err := Verify(to)
		got, readErr := readPrompts(to)
		if err != nil || readErr != nil || c.Prompts != found.Prompts || len(got) > found.Prompts {
			t.Errorf("%d: %+v of %+v: %v %v", n, c, found, err, readErr)
		}
		for _, p := range got {
			p.Replies = want[p.Row].Replies // one may be lost
			if !reflect.DeepEqual(p, want[p.Row]) {
				t.Errorf("%d: %+v was never written", n, p)
			}
		}
		if len(got) < promptRows && found.Fault == "" {
			t.Errorf("%d: %d prompts are lost, and nothing is said", n, promptRows-len(got))
		}
		kept, lost = kept+len(got), lost+promptRows-len(got)
	}
	t.Logf("%d damaged journals: %d prompts recovered, %d lost; %d had nothing left", rounds(100), kept, lost, nothing)
	if kept < lost || nothing > rounds(100)/4 {
		t.Errorf("%d prompts are recovered, %d lost; %d journals had nothing left", kept, lost, nothing)
	}
}
