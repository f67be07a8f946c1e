package review

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/erreval/erreval/internal/plainjson"
)

func openLog(t testing.TB, f *Frozen, reviewer string) *Log {
	t.Helper()
	l, err := f.OpenLog(reviewer)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func answer(item string, labels ...string) Answer {
	return Answer{ItemID: item, Labels: labels, Skipped: len(labels) == 0, Time: time.Date(2026, 1, 2, 3, 4,
		5, 0, time.UTC)}
}

func add(t testing.TB, l *Log, answers ...Answer) {
	t.Helper()
	for _, a := range answers {
		if err := l.Add(a); err != nil {
			t.Fatal(err)
		}
	}
}

// short is "0001 Vague; 0002 skipped".
func short(answers []Answer) string {
	var words []string
	for _, a := range answers {
		what := strings.Join(a.Labels, "+")
		if a.Skipped {
			what = "skipped"
		}
		words = append(words, a.ItemID[len(a.ItemID)-4:]+" "+what)
	}
	return strings.Join(words, "; ")
}

func content(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestLog: the last answer counts, undo goes back one by one, and both outlast the process.
func TestLog(t *testing.T) {
	f := wallBatch(t)
	path := AnswersPath(f.Dir, "anna")
	l := openLog(t, f, "anna")
	add(t, l, answer("B001-0002", "Vague", "Incomplete"), answer("B001-0001"), answer("B001-0002", "No Error"))
	// An answer is on the disk before Add returns, as a killed process leaves it.
	const first = `{"item_id":"B001-0002","reviewer":"anna","labels":["Incomplete","Vague"],"notes":"","skipped":false,"time":"2026-01-02T03:04:05Z","text_sha256":"`
	if got := content(t, path); !strings.HasPrefix(got, first) || strings.Count(got, "\n") != 3 {
		t.Errorf("the file is %s", got)
	}
	loaded, err := f.Answers()
	if err != nil || short(loaded) != "0002 No Error; 0001 skipped" {
		t.Errorf("loaded %s, %v", short(loaded), err)
	}
	for _, want := range []struct{ taken, left string }{{"0002 No Error", "0001 skipped; 0002 Incomplete+Vague"},
		{"0001 skipped", "0002 Incomplete+Vague"}} {
		last, ok, err := l.Undo()
		if err != nil || !ok || short([]Answer{last}) != want.taken || short(l.Answers()) != want.left {
			t.Errorf("undo took %s, left %s, %v", short([]Answer{last}), short(l.Answers()), err)
		}
	}
	add(t, l, answer("B001-0002", "Off Topic"), answer("B001-0001", "Vague"))
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if got := content(t, path); strings.Count(got, "\n") != 2 || !strings.Contains(got, "Off Topic") {
		t.Errorf("closed, the file is %s", got)
	}
	l = openLog(t, f, "anna")
	for _, want := range []string{"0001 Vague", "0002 Off Topic"} { // the last first, as if there had been one start
		if last, ok, err := l.Undo(); err != nil || !ok || short([]Answer{last}) != want {
			t.Errorf("undo after a second start: %v, %v, %v", last, ok, err)
		}
	}
	if _, ok, err := l.Undo(); ok || err != nil {
		t.Errorf("undo of nothing: %v, %v", ok, err)
	}
	if got := content(t, path); got != "" {
		t.Errorf("left: %q", got)
	}
}

// twoAnswers is a batch with the file of a reviewer who answered twice, and what it holds.
func twoAnswers(t *testing.T) (f *Frozen, path, whole string) {
	t.Helper()
	f = wallBatch(t)
	l := openLog(t, f, "anna")
	add(t, l, answer("B001-0001", "Vague"), answer("B001-0002", "No Error"))
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	path = AnswersPath(f.Dir, "anna")
	return f, path, content(t, path)
}

// TestLogTorn: a last line that was cut off anywhere is no answer, and the next one stands on a line of its own.
func TestLogTorn(t *testing.T) {
	f, path, whole := twoAnswers(t)
	first := strings.Index(whole, "\n") + 1
	for cut := first; cut <= len(whole); cut++ {
		if err := os.WriteFile(path, []byte(whole[:cut]), 0o644); err != nil {
			t.Fatal(err)
		}
		want := "0001 Vague"
		if cut >= len(whole)-1 { // only the newline is missing
			want += "; 0002 No Error"
		}
		loaded, err := f.Answers()
		if err != nil || short(loaded) != want {
			t.Fatalf("cut at %d: loaded %s, %v", cut, short(loaded), err)
		}
		if cut%7 > 0 && cut < len(whole)-2 { // each start waits for the disk
			continue
		}
		l := openLog(t, f, "anna")
		add(t, l, answer("B001-0003"))
		if got := short(l.Answers()); got != want+"; 0003 skipped" {
			t.Errorf("cut at %d: %s", cut, got)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if loaded, err := f.Answers(); err != nil || short(loaded) != want+"; 0003 skipped" {
			t.Errorf("cut at %d, read again: %s, %v", cut, short(loaded), err)
		}
	}
}

func TestLogRefuses(t *testing.T) {
	f := wallBatch(t)
	l := openLog(t, f, "anna")
	for _, c := range []struct {
		answer Answer
		want   string
	}{
		{answer("B001-0009", "Vague"), "item B001-0009: the batch B001 has no such item"},
		{answer("B001-0001", "Vague", "No Error"), "No Error"},
		{answer("B001-0001", "Wrong"), "Wrong"},
		{Answer{ItemID: "B001-0001"}, "item B001-0001: "},
		{Answer{ItemID: "B001-0001", Labels: []string{"Vague"}, Skipped: true}, "is skipped and has labels"},
	} {
		if err := l.Add(c.answer); err == nil || !Refused(err) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.answer, err, c.want)
		}
	}
	if got := content(t, AnswersPath(f.Dir, "anna")); got != "" {
		t.Errorf("written: %s", got)
	}
	for _, name := range []string{"", " a", "a\x00", strings.Repeat("a", 101)} {
		if _, err := f.OpenLog(name); err == nil || !strings.Contains(err.Error(), "reviewer") {
			t.Errorf("reviewer %q: %v", name, err)
		}
	}
}

// TestAnswersPath: each name has a file of its own, in the folder, also where file systems do not tell capitals apart.
func TestAnswersPath(t *testing.T) {
	seen := map[string]string{}
	for _, name := range []string{"anna", "Anna", "ANNA", "../anna", "..-anna", "a/b", "a b", "a-b", "a\\b", ".", "..",
		"con", "Änne", "Ånne", "anna.jsonl", strings.Repeat("x", 99), strings.Repeat("x", 100)} {
		path := AnswersPath("batch", name)
		base := filepath.Base(path)
		if filepath.Dir(path) != filepath.Join("batch", AnswersDir) ||
			strings.Trim(base, "abcdefghijklmnopqrstuvwxyz0123456789-_.") != "" || base[0] == '.' || len(base) > 60 {
			t.Errorf("%q has %s", name, path)
		}
		if other, taken := seen[strings.ToLower(base)]; taken {
			t.Errorf("%q and %q share %s", name, other, path)
		}
		seen[strings.ToLower(base)] = name
	}
	if got := AnswersPath("b", "anna_2"); got != filepath.Join("b", "answers", "anna_2.jsonl") {
		t.Errorf("a plain name has %s", got)
	}
}

// TestLogSpoilt: what a person broke in the middle is said with its place, and left alone.
func TestLogSpoilt(t *testing.T) {
	f, path, whole := twoAnswers(t)
	for _, c := range []struct{ from, to, want string }{
		{`{"item_id":"B001-0001"`, `{"item_id":"B001-0001`, "anna.jsonl:1: "},
		{"B001-0002", "B001-0007", "anna.jsonl:2: item B001-0007: the batch B001 has no such item"},
		{`["Vague"]`, `["Vauge"]`, "anna.jsonl:1: item B001-0001: "},
		{`"reviewer":"anna"`, `"reviewer":"bob"`, `anna.jsonl:1: item B001-0001: an answer of "bob" in the file of "anna"`},
		{`"text_sha256":"`, `"text_sha256":"0`, "anna.jsonl:1: item B001-0001: the reviewer saw another text"},
	} {
		spoilt := strings.Replace(whole, c.from, c.to, 1)
		if err := os.WriteFile(path, []byte(spoilt), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := f.OpenLog("anna"); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.to, err, c.want)
		}
		if content(t, path) != spoilt {
			t.Errorf("%s: the file was changed", c.to)
		}
	}
}

// TestLogAlone: one process a reviewer, as many reviewers as there are.
func TestLogAlone(t *testing.T) {
	f := wallBatch(t)
	anna := openLog(t, f, "anna")
	if _, err := f.OpenLog("anna"); err == nil || !strings.Contains(err.Error(), "in use by another review") {
		t.Errorf("a second one: %v", err)
	}
	bob := openLog(t, f, "bob")
	var both sync.WaitGroup
	for i, l := range []*Log{anna, bob, anna, bob} {
		both.Go(func() {
			for n := range 4 {
				if err := l.Add(answer(f.All[(i+n)%4].ItemID, "Vague")); err != nil {
					t.Error(err)
				}
			}
			if _, ok, err := l.Undo(); !ok || err != nil {
				t.Error(ok, err)
			}
		})
	}
	both.Wait()
	for _, l := range []*Log{anna, bob} {
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		loaded, err := f.readAnswers(AnswersPath(f.Dir, l.reviewer))
		slices.SortFunc(loaded, func(a, b Answer) int { return strings.Compare(a.ItemID, b.ItemID) })
		if err != nil || !reflect.DeepEqual(placeless(loaded), placeless(l.Answers())) {
			t.Errorf("%s: %v; %v", l.reviewer, loaded, err)
		}
	}
	if left, err := filepath.Glob(filepath.Join(f.Dir, AnswersDir, ".*")); err != nil || left != nil {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestLogTakenBack: what undo has moved away takes no answer, and neither does what was selected in its place.
func TestLogTakenBack(t *testing.T) {
	f := wallBatch(t)
	l := openLog(t, f, "anna")
	add(t, l, answer("B001-0001", "Vague"))
	moved := filepath.Join(t.TempDir(), "moved")
	if err := os.Rename(f.Dir, moved); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(f.Dir, AnswersDir), 0o755); err != nil {
		t.Fatal(err)
	}
	for what, err := range map[string]error{"an answer": l.Add(answer("B001-0002", "Vague")), "its end": l.Close()} {
		if err == nil || !strings.Contains(err.Error(), "is there no more") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if left, err := os.ReadDir(filepath.Join(f.Dir, AnswersDir)); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
	before := filepath.Join(moved, AnswersDir, filepath.Base(AnswersPath(f.Dir, "anna")))
	if text := content(t, before); strings.Count(text, "\n") != 1 {
		t.Errorf("what was answered before is %q", text)
	}
}

func placeless(answers []Answer) []string {
	var out []string
	for _, a := range answers {
		out = append(out, fmt.Sprint(a.ItemID, a.Reviewer, a.Labels, a.Skipped, a.Time, a.TextSHA256))
	}
	return out
}

// TestLogKeepsText: what is no beginning of an answer was written by somebody, and is not taken away.
func TestLogKeepsText(t *testing.T) {
	f := wallBatch(t)
	path := AnswersPath(f.Dir, "anna")
	line, err := plainjson.Marshal(f.answer(0, "anna", "Vague"), "")
	if err != nil {
		t.Fatal(err)
	}
	one := strings.TrimSpace(string(line))
	for _, text := range []string{one + "\r" + one + "\r", one + " " + one, string(line) + "to do: the rest",
		"[" + one + "]"} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
		if _, err := f.OpenLog("anna"); err == nil || !strings.Contains(err.Error(), "anna.jsonl:") {
			t.Errorf("%q was read: %v", text, err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != text {
			t.Errorf("%q became %q, %v", text, got, err)
		}
		if _, err := f.Answers(); err == nil {
			t.Errorf("%q was merged", text)
		}
	}
}

// FuzzLog: whatever the file holds, what is read of it is whole answers of the batch, each where it says; cut before
// any of them it still can be read, as after an undo.
func FuzzLog(f *testing.F) {
	batch := wallBatch(f)
	l := openLog(f, batch, "anna")
	add(f, l, answer("B001-0001", "Vague"), answer("B001-0002"), answer("B001-0001", "No Error"))
	whole := content(f, AnswersPath(batch.Dir, "anna"))
	if err := l.Close(); err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(whole))
	f.Add([]byte(whole[:len(whole)-20]))
	f.Add([]byte(strings.TrimSuffix(whole, "\n")))
	f.Add([]byte("\n \n" + whole + "\x00\x00"))
	f.Add([]byte("{}\n"))
	f.Add([]byte("\xef\xbb\xbf" + strings.ReplaceAll(whole, "\n", "\r\n")))
	f.Fuzz(func(t *testing.T, data []byte) {
		lines := wholeLines(data)
		entries, err := batch.readLog("f", "anna", lines)
		if err != nil {
			return
		}
		for i, e := range entries {
			if _, ok := batch.Find(e.ItemID); !ok || e.Skipped == (len(e.Labels) > 0) {
				t.Errorf("an answer %+v", e)
			}
			before, err := batch.readLog("f", "anna", lines[:e.at])
			if err != nil || len(before) != i {
				t.Errorf("before answer %d, at %d: %d answers, %v", i, e.at, len(before), err)
			}
		}
	})
}

// TestLogPlantedLink: answers are not written through a link that somebody has put where they will be.
func TestLogPlantedLink(t *testing.T) {
	f := wallBatch(t)
	path, mine := AnswersPath(f.Dir, "anna"), filepath.Join(t.TempDir(), "mine")
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.Symlink(mine, path)); err != nil {
		t.Fatal(err)
	}
	if _, err := f.OpenLog("anna"); err == nil || !strings.Contains(err.Error(), path+" is a symbolic link") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Lstat(mine); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file behind the link was made: %v", err)
	}
}
