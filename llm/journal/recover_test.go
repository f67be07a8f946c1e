package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/erreval/erreval/llm"
)

// longReply is a text of up to 9,000 letters: many go on on pages of their own.
func longReply(n int64) string { return strings.Repeat(string(rune('a'+n%26)), int(n*n%9000)) }

// filled makes a journal of replies, short and long, some of them rejected. It gives all that is to be read, by text.
func filled(t *testing.T, path string, calls int) map[string]int64 {
	t.Helper()
	j := open(t, path)
	n, texts := int64(0), map[string]int64{}
	endpoint := llm.ClientFunc(func(context.Context, *llm.Request) (*llm.Reply, error) {
		n++
		text := fmt.Sprintf("reply %d %s", n, longReply(n))
		texts[text] = 0
		return &llm.Reply{Text: text, Finish: llm.FinishStop, Model: "m-1", Usage: llm.Usage{Input: 7, Output: 3}}, nil
	})
	c := j.Client(meter(t, j, endpoint, Budget{}, prices("USD", Price{1, 2})), "")
	for i := range calls {
		r := request(fmt.Sprint(i))
		reply := complete(t, c, r)
		if i%5 == 0 {
			if err := c.Reject(r, reply); err != nil {
				t.Fatal(err)
			}
			texts[reply.Text] = 1
			r.Attempt = 1
			complete(t, c, r)
		}
	}
	closed(t, j)
	return texts
}

// texts are the replies of a journal, and whether they are rejected.
func texts(t *testing.T, path string) map[string]int64 {
	t.Helper()
	j := open(t, path)
	defer j.Close()
	rows, err := j.store.conn.QueryContext(background, "SELECT "+replyColumns+", checksum FROM reply")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	all := map[string]int64{}
	for rows.Next() {
		s, err := scanReply(rows, true)
		if err != nil {
			t.Fatal(err)
		}
		all[s.reply.Text] = s.rejected
	}
	return all
}

// A journal is recovered whatever became of its bytes: what comes out opens, verifies, and holds only what was written;
// what is lost is said. Nothing comes out where the schema, or the tables' first pages, are damaged.
func TestRecover(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "whole.journal")
	want := filled(t, path, 60)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(3, 3))
	kept, lost, nothing := 0, 0, 0
	for n := range rounds(200) {
		changed := []byte(string(whole))
		switch n % 4 {
		case 0: // one byte
			changed[random.IntN(len(whole))] ^= byte(1 + random.IntN(255))
		case 1: // a few bytes everywhere
			for range 1 + random.IntN(50) {
				changed[random.IntN(len(whole))] ^= byte(1 + random.IntN(255))
			}
		case 2: // whole pages
			for range 1 + random.IntN(5) {
				at := random.IntN(len(whole) / pageBytes)
				copy(changed[at*pageBytes:], strings.Repeat("\xa5", pageBytes))
			}
		case 3: // cut off
			changed = changed[:random.IntN(len(whole))]
		}
		from, to := filepath.Join(dir, "damaged.journal"), filepath.Join(dir, fmt.Sprintf("%d.journal", n))
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
		if err != nil {
			t.Fatalf("%d: what was recovered is refused: %v", n, err)
		}
		got := texts(t, to)
		for text, rejected := range got {
			if was, ok := want[text]; !ok || was != rejected {
				t.Errorf("%d: %.20q was never written so, rejected %d", n, text, rejected)
			}
		}
		if found.Replies != len(got) || c.Replies != len(got) || c.Spent != found.Spent {
			t.Errorf("%d: %+v of %d replies, in the file %+v", n, found, len(got), c)
		}
		if len(got) < len(want) && found.Fault == "" {
			t.Errorf("%d: %d of %d replies are lost, and nothing is said: %+v", n, len(want)-len(got), len(want), found)
		}
		if s := found.Spent; s.Calls < int64(len(got)) || s.Input < 7*int64(len(got)) || s.Output < 3*int64(len(got)) {
			t.Errorf("%d: the replies sum to more than %+v", n, s)
		}
		kept, lost = kept+len(got), lost+len(want)-len(got)
		if err := os.Remove(to); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d damaged journals: %d replies recovered, %d lost; %d had nothing left", rounds(200), kept, lost, nothing)
	if kept < lost {
		t.Errorf("only %d replies are recovered, %d are lost", kept, lost)
	}
}

// A damaged page costs the replies on it and no others: those before it, behind it, and, with two, between them are
// copied. More hangs on two pages: the schema, and the one with which the table of replies begins.
func TestRecoverAroundPages(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "whole.journal")
	replies := len(filled(t, path, 60))
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	recovered := func(pages ...int) int {
		changed := bytes.Clone(whole)
		for _, n := range pages {
			clear(changed[(n-1)*pageBytes : n*pageBytes])
		}
		from := filepath.Join(dir, fmt.Sprint(pages))
		if err := os.WriteFile(from, changed, 0o600); err != nil {
			t.Fatal(err)
		}
		found, err := Recover(from, from+".new")
		if err != nil {
			return 0
		}
		if found.Fault == "" || found.Replies < replies && found.LostReplies == 0 {
			t.Errorf("pages %v: a loss is not said: %+v", pages, found)
		}
		return found.Replies
	}
	costs, roots, last := map[int]int{}, 0, len(whole)/pageBytes
	for n := 1; n <= last; n++ {
		if costs[n] = replies - recovered(n); costs[n] > 20 { // the shortest replies are about so many on a page
			roots++
		}
	}
	if roots > 2 {
		t.Errorf("%d of %d pages cost more than twenty replies, wanted two: %v", roots, last, costs)
	}
	for first := 20; first+30 <= last; first += 5 {
		second := first + 30
		if got := replies - recovered(first, second); got > costs[first]+costs[second] {
			t.Errorf("pages %d and %d cost %d replies, alone %d and %d", first, second, got, costs[first], costs[second])
		}
	}
}

// A whole journal is copied with its sums, and so is the log of one whose run was killed.
func TestRecoverWhole(t *testing.T) {
	path, dir := file(t), t.TempDir()
	want := filled(t, path, 30)
	j := open(t, path)
	c := j.Client(meter(t, j, &counting{}, Budget{}, prices("USD", Price{1, 2})), "")
	complete(t, c, request("in the log"))
	want["reply 1"] = 0
	before, err := j.Spent()
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(dir, "new")
	found, err := Recover(path, to)
	if err != nil || found.Fault != "" || found.LostReplies != 0 || found.Added.Calls != 0 ||
		found.Spent != before || len(want) != found.Replies || found.Rejected != 6 {
		t.Fatalf("%+v %v, want %+v", found, err, before)
	}
	if got := texts(t, to); len(got) != len(want) {
		t.Errorf("%d replies, want %d", len(got), len(want))
	}
	if reply, err := open(t, to).Client(nil, "").Lookup(request("in the log")); reply == nil || err != nil {
		t.Errorf("%v %v", reply, err)
	}
	if _, err := Recover(path, to); err == nil || !strings.Contains(err.Error(), "exists already") {
		t.Errorf("got %v", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 3 { // and the log of the one that is open
		t.Errorf("%v %v", entries, err)
	}
}

// Where the sums are damaged, spending is counted anew, of what the replies used.
func TestRecoverSums(t *testing.T) {
	for name, c := range map[string]struct {
		damage string
		check  func(*Recovery) bool
	}{
		"sums": {"UPDATE account SET calls = 1", func(r *Recovery) bool {
			return r.LostSums == 1 && r.Sums == 0 && r.Spent.Calls == 36 && r.Spent.UnpricedInput == 7*36 &&
				r.Spent.UnpricedOut == 3*36 && r.Spent.Cost == 0 && r.Added.Calls == 36 && r.Spent.Currency == "USD"
		}},
		"no sums": {"DELETE FROM account", func(r *Recovery) bool { return r.Added.Calls == 36 && r.Spent.Calls == 36 }},
		"currency": {"UPDATE setting SET value = 'EUR'", func(r *Recovery) bool {
			return r.LostCurrency && r.Spent.Cost == 0 && r.Spent.UnpricedInput == 7*36 && r.Spent.Currency == "" &&
				r.Added.Calls == 0
		}},
		"reply": {"UPDATE reply SET text = 'x' WHERE rowid = 9", func(r *Recovery) bool {
			return r.LostReplies == 1 && r.Replies == 35 && r.Sums == 1 && r.Spent.Calls == 36 && r.Spent.Cost > 0
		}},
		"no checksum": {"UPDATE reply SET checksum = NULL WHERE rowid = 9", func(r *Recovery) bool {
			return r.LostReplies == 1 && r.Replies == 35
		}},
	} {
		path := file(t)
		filled(t, path, 30)
		execute(t, path, c.damage)
		found, err := Recover(path, path+".new")
		if err != nil || !c.check(found) || (found.Fault == "") != (name == "no sums") {
			t.Errorf("%s: %+v %v", name, found, err)
			continue
		}
		// A limit of the cost needs a price of what was counted anew, and holds with one.
		j := open(t, path+".new")
		budget := Budget{MaxCost: ptr(1e-9)}
		m := meter(t, j, &counting{}, budget, &Prices{Currency: "USD", Models: map[string]Price{"m": {1, 2}, "m-1": {1, 2}}})
		if _, err := j.Client(m, "").Complete(t.Context(), request("new")); llm.KindOf(err) != llm.Budget {
			t.Errorf("%s: got %v, want a spent budget", name, err)
		}
	}
}

// Anything else is refused, and nothing is left.
func TestRecoverRefuses(t *testing.T) {
	path := file(t)
	dir := filepath.Dir(path)
	if err := os.WriteFile(path, []byte(strings.Repeat("id,question\n", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, from := range []string{path, dir, path + ".none"} {
		if _, err := Recover(from, path+".new"); err == nil || !strings.Contains(err.Error(), from) {
			t.Errorf("%s: got %v", from, err)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("%v %v", entries, err)
	}
}

// FuzzRecover: no bytes of a journal and its log make Recover give a reply or a prompt that was not written, or a journal
// that is refused.
func FuzzRecover(f *testing.F) {
	path := filepath.Join(f.TempDir(), "j")
	j, err := Open(path)
	if err == nil {
		c := j.Client(&counting{}, "")
		err = c.KeepPrompts(unchanged)
		_, asked := c.Complete(f.Context(), asked("a", "A wall.", "Who?"))
		err = errors.Join(err, asked)
	}
	if err == nil {
		err = j.Close()
	}
	whole, readErr := os.ReadFile(path)
	if err != nil || readErr != nil {
		f.Fatal(err, readErr)
	}
	f.Add(whole, []byte{})
	f.Add(whole[:9000], whole)
	f.Fuzz(func(t *testing.T, data, log []byte) {
		path := filepath.Join(t.TempDir(), "damaged")
		if err := errors.Join(os.WriteFile(path, data, 0o600), os.WriteFile(path+"-wal", log, 0o600)); err != nil {
			t.Fatal(err)
		}
		found, err := Recover(path, path+".new")
		if err != nil {
			return
		}
		if c, err := Verify(path + ".new"); err != nil || c.Prompts != found.Prompts || c.Replies != found.Replies {
			t.Errorf("%+v of %+v: %v", c, found, err)
		}
		for text := range texts(t, path+".new") {
			if text != "reply 1" {
				t.Errorf("%q was never written", text)
			}
		}
		var rows int
		j := open(t, path+".new")
		if found.Prompts > 0 {
			err = j.store.conn.QueryRowContext(background, "SELECT count(*) FROM prompt WHERE row_id <> 'a'").Scan(&rows)
		}
		if err != nil || rows > 0 {
			t.Errorf("%d prompts were never written: %v", rows, err)
		}
	})
}

// The log that a killed run left is verified too: a changed byte of it is found, or changes nothing that is read. Verify
// leaves the log as it is, and Recover copies what it holds.
func TestVerifyLog(t *testing.T) {
	t.Parallel()
	path := file(t)
	written(t, path)
	j := open(t, path)
	c := j.Client(meter(t, j, &counting{}, Budget{}, prices("USD", Price{1, 2})), "")
	for i := range 5 {
		complete(t, c, request(fmt.Sprint("in the log ", i)))
	}
	killed := path + "-killed"
	for _, beside := range []string{"", "-wal"} {
		if err := copyWhole(path+beside, killed+beside); err != nil {
			t.Fatal(err)
		}
	}
	want, err := Verify(killed)
	if err != nil || want.Replies != all+5 || want.Spent.Calls != all+5 {
		t.Fatal(want, err)
	}
	kept := texts(t, path)
	log, err := os.ReadFile(killed + "-wal")
	if err != nil || len(log) < 4*pageBytes {
		t.Fatal(len(log), err)
	}
	random := rand.New(rand.NewPCG(5, 5))
	found := 0
	for n := range rounds(1000) {
		at := random.IntN(len(log))
		changed := []byte(string(log))
		changed[at] ^= byte(1 + random.IntN(255))
		if err := os.WriteFile(killed+"-wal", changed, 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := Verify(killed)
		switch {
		case err == nil && *got != *want:
			t.Errorf("byte %d of the log: %+v, want %+v", at, got, want)
		case err != nil && !strings.Contains(err.Error(), killed):
			t.Errorf("byte %d of the log: %v", at, err)
		case err != nil:
			found++
		}
		if after, err := os.ReadFile(killed + "-wal"); err != nil || !bytes.Equal(after, changed) {
			t.Fatalf("Verify changed the log: %v", err)
		}
		if n%100 > 0 {
			continue
		}
		to := fmt.Sprint(killed, n)
		r, err := Recover(killed, to)
		if err != nil || r.Spent.Calls < int64(r.Replies) || r.Replies < len(kept)-5 {
			t.Errorf("byte %d of the log: %+v %v", at, r, err)
		}
	}
	t.Logf("%d of %d changes of the log are found, the others change nothing", found, rounds(1000))
	if found < rounds(1000)*9/10 {
		t.Errorf("only %d are found", found)
	}
}
