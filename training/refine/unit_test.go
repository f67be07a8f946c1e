package refine

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/training/review"
)

// newWorkspace is one with two pool rows and six labelled ones in three groups.
func newWorkspace(t *testing.T) *Workspace {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "work")
	if _, err := Init(t.Context(), dir, initOptions(t, pool, labelledRows)); err != nil {
		t.Fatal(err)
	}
	w, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// put begins a step that makes files, given as names and texts in turn.
func put(t *testing.T, w *Workspace, step string, files ...string) *Unit {
	t.Helper()
	u, err := w.Begin(step)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(files); i += 2 {
		path, err := u.Path(files[i])
		if err != nil {
			t.Fatal(err)
		}
		write(t, path, files[i+1])
	}
	return u
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
}

// tree is what stands in a workspace but for the lock: names and contents.
func tree(t *testing.T, w *Workspace) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(w.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == lockFile {
			return err
		}
		data, err := os.ReadFile(path)
		rel, _ := filepath.Rel(w.Dir, path)
		if rel == LogFile {
			data = nil // it has the time in it
		}
		b.WriteString(rel + ": " + string(data) + "\n")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func steps(t *testing.T, w *Workspace) (names []string) {
	t.Helper()
	log, err := w.Log()
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range log {
		names = append(names, entry.Step)
	}
	return names
}

// mergeFiles are those of a step that puts files into several folders.
var mergeFiles = []string{"batches/B001/merge.json", "{}", "train/B001.jsonl", "1\n", "random/B001.jsonl", "2\n"}

func TestUnit(t *testing.T) {
	w := newWorkspace(t)
	before := tree(t, w)
	if err := put(t, w, StepBatch+"B001", "batches/B001/items.jsonl", "item\n").Discard(); err != nil {
		t.Fatal(err)
	}
	if got := tree(t, w); got != before {
		t.Errorf("a discarded step left\n%s", got)
	}
	u := put(t, w, StepBatch+"B001", "batches/B001/items.jsonl", "item\n")
	if _, err := w.Begin("other"); !errors.Is(err, ErrBusy) {
		t.Errorf("a second step beside the first: %v", err)
	}
	if err := u.Commit("erreval refine select"); err != nil {
		t.Fatal(err)
	}
	if err := put(t, w, StepMerge+"B001", mergeFiles...).Commit("erreval refine merge"); err != nil {
		t.Fatal(err)
	}
	log, err := w.Log()
	if err != nil || len(log) != 3 {
		t.Fatal(log, err)
	}
	if want := []string{"batches/B001/merge.json", "random/B001.jsonl", "train/B001.jsonl"}; !slices.Equal(log[2].Made,
		want) {
		t.Errorf("made %q, want %q", log[2].Made, want)
	}
	u = put(t, w, "again", "train/B001.jsonl", "3\n")
	if err := u.Commit(""); err == nil || !strings.Contains(err.Error(), "is there already") ||
		!strings.Contains(err.Error(), "run the line again") || strings.Contains(err.Error(), "undo") {
		t.Errorf("a file that is there: %v", err)
	}
	if err := u.Discard(); err != nil {
		t.Fatal(err)
	}
	u = put(t, w, "nothing")
	if err := u.Commit(""); err == nil || !strings.Contains(err.Error(), "made nothing") {
		t.Errorf("an empty step: %v", err)
	}
	if err := u.Discard(); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{StepMerge + "B001", StepBatch + "B001"} {
		if got, err := w.Undo(); err != nil || got.Step != want {
			t.Errorf("took back %q, %v; want %q", got.Step, err, want)
		}
	}
	if _, err := w.Undo(); err == nil {
		t.Error("init was taken back")
	}
	if data, err := os.ReadFile(w.Path(undoneDir, "1", filesDir, "train", "B001.jsonl")); err != nil ||
		string(data) != "1\n" {
		t.Errorf("what was taken back: %q, %v", data, err)
	}
	if err := os.RemoveAll(w.Path(undoneDir)); err != nil {
		t.Fatal(err)
	}
	if got := tree(t, w); got != before {
		t.Errorf("after taking everything back:\n%s\nwant\n%s", got, before)
	}
}

// TestCutOff: a process may end between any two of the operations by which a decided step or undoing is carried out.
// Whoever opens the workspace next ends up where the undisturbed process does.
func TestCutOff(t *testing.T) {
	whole := newWorkspace(t)
	if err := put(t, whole, StepMerge+"B001", mergeFiles...).Commit("x"); err != nil {
		t.Fatal(err)
	}
	want, wantSteps := tree(t, whole), steps(t, whole)
	moves := []string{"batches/B001", "random/B001.jsonl", "train/B001.jsonl"}
	for done := 0; done <= len(moves)+1; done++ {
		w := newWorkspace(t)
		u := put(t, w, StepMerge+"B001", mergeFiles...)
		entry := Entry{Step: StepMerge + "B001", Command: "x", Made: moves}
		if err := u.decide(entry); err != nil {
			t.Fatal(err)
		}
		for _, path := range moves[:min(done, len(moves))] {
			if err := moveIfThere(w.Path(commitDir, filesDir, path), w.Path(path)); err != nil {
				t.Fatal(err)
			}
		}
		if done > len(moves) {
			log, err := w.Log()
			if err = errors.Join(err, w.writeLog(append(log, entry))); err != nil {
				t.Fatal(err)
			}
		}
		if err := u.lock.Close(); err != nil { // the process ends
			t.Fatal(err)
		}
		w, err := Open(w.Dir)
		if err != nil {
			t.Fatal(err)
		}
		if got := tree(t, w); got != want || !slices.Equal(steps(t, w), wantSteps) {
			t.Errorf("cut off after %d moves:\n%s%v\nwant\n%s%v", done, got, steps(t, w), want, wantSteps)
		}
	}
}

func TestCutOffUndo(t *testing.T) {
	moves := []string{"batches/B001", "random/B001.jsonl", "train/B001.jsonl"}
	want := ""
	for done := 0; done <= len(moves); done++ {
		w := newWorkspace(t)
		if err := put(t, w, StepMerge+"B001", mergeFiles...).Commit("x"); err != nil {
			t.Fatal(err)
		}
		log, err := w.Log()
		if err != nil {
			t.Fatal(err)
		}
		plan, err := review.Lines(log[1:2])
		if err != nil {
			t.Fatal(err)
		}
		write(t, w.Path(undoDir, planFile), string(plan))
		for _, path := range moves[:done] {
			if err := moveIfThere(w.Path(path), w.Path(undoDir, filesDir, path)); err != nil {
				t.Fatal(err)
			}
		}
		if w, err = Open(w.Dir); err != nil {
			t.Fatal(err)
		}
		if got := steps(t, w); len(got) != 1 {
			t.Errorf("cut off after %d moves: steps %v", done, got)
		}
		for _, path := range moves {
			if _, err := os.Stat(w.Path(undoneDir, "1", filesDir, path)); err != nil {
				t.Errorf("cut off after %d moves: %v", done, err)
			}
		}
		if err := os.Remove(w.Path(undoneDir, "1", planFile)); err != nil {
			t.Fatal(err)
		}
		if got := tree(t, w); want == "" {
			want = got
		} else if got != want {
			t.Errorf("cut off after %d moves:\n%s\nwant\n%s", done, got, want)
		}
	}
}

func TestLogFault(t *testing.T) {
	w := newWorkspace(t)
	write(t, w.Path(LogFile), "{\"step\":\"init\"}\nno step\n")
	if _, err := w.Log(); err == nil || !strings.Contains(err.Error(), "log.jsonl:2: no step") {
		t.Error(err)
	}
}

// TestStrangersWorkspace: neither opening a workspace nor taking a step back moves a file that is not in it.
func TestStrangersWorkspace(t *testing.T) {
	entry := "{\"step\":\"x\",\"made\":[\"../mine\"]}\n"
	for file, act := range map[string]func(*Workspace) error{
		undoDir + "/" + planFile:   func(w *Workspace) error { _, err := Open(w.Dir); return err },
		commitDir + "/" + planFile: func(w *Workspace) error { _, err := Open(w.Dir); return err },
		LogFile:                    func(w *Workspace) error { _, err := w.Undo(); return err },
	} {
		w := newWorkspace(t)
		mine := filepath.Join(filepath.Dir(w.Dir), "mine")
		write(t, mine, "precious")
		write(t, w.Path(file), entry)
		if err := act(w); err == nil || !strings.Contains(err.Error(), `"../mine" does not lie in the workspace`) {
			t.Errorf("%s: %v", file, err)
		}
		if data, err := os.ReadFile(mine); err != nil || string(data) != "precious" {
			t.Errorf("%s: the file beside the workspace: %q, %v", file, data, err)
		}
	}
}

// FuzzStrangersWorkspace: whatever stands in the log and the plans of a workspace, nothing beside it is touched.
func FuzzStrangersWorkspace(f *testing.F) {
	for _, made := range []string{`"../mine"`, `"a/../../mine"`, `"refine.yaml"`, `"."`, `"/mine"`, `"log.jsonl"`, `""`} {
		f.Add([]byte(`{"step":"x","made":[` + made + `]}` + "\n"))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, file := range []string{undoDir + "/" + planFile, commitDir + "/" + planFile, LogFile} {
			w := newWorkspace(t)
			mine := filepath.Join(filepath.Dir(w.Dir), "mine")
			write(t, mine, "precious")
			write(t, w.Path(file), string(data))
			if w, err := Open(w.Dir); err == nil {
				_, _ = w.Undo()
			}
			if data, err := os.ReadFile(mine); err != nil || string(data) != "precious" {
				t.Fatalf("%s: the file beside the workspace: %q, %v", file, data, err)
			}
		}
	})
}

// TestStatusOfBatches: a skipped item is one that was looked at, and what a merge left open is counted.
func TestStatusOfBatches(t *testing.T) {
	w := newWorkspace(t)
	if err := put(t, w, StepBatch+"B001", "batches/B001/batch.json", `{"iteration":-1}`, "batches/B001/items.jsonl",
		"{}\n{}\n").Commit("x"); err != nil {
		t.Fatal(err)
	}
	status := func() (*Status, BatchStatus) {
		s, err := w.Status()
		if err != nil {
			t.Fatal(err)
		}
		return s, s.Batches[0]
	}
	first, second := `{"item_id":"1","skipped":true}`+"\n", `{"item_id":"2"}`+"\n"
	write(t, w.Path("batches/B001/answers/anna.jsonl"), first)
	if s, b := status(); !strings.HasPrefix(s.Next, "erreval refine review ") || b.Skipped["anna"] != 1 ||
		b.Answers["anna"] != 0 {
		t.Errorf("one of two: %+v, next %s", b, s.Next)
	}
	write(t, w.Path("batches/B001/answers/anna.jsonl"), first+second)
	if s, b := status(); !strings.HasPrefix(s.Next, "erreval refine merge ") || b.Answers["anna"] != 1 {
		t.Errorf("both: %+v, next %s", b, s.Next)
	}
	write(t, w.Path("batches/B001/merge.json"), `{"conflicts":[{"item_id":"1"},{"item_id":"2"}]}`)
	page := Deciding{Page: "erreval refine review " + w.Dir + " B001 --conflicts"}
	if _, b := status(); !b.Merged || b.Conflicts != 2 || b.Missing != 0 || b.Deciding != page {
		t.Errorf("merged, without a workbook: %+v", b)
	}
	book := w.Path("batches/B001/conflicts/review.xlsx")
	write(t, book, "a workbook")
	if _, b := status(); b.File != book || b.Page != page.Page || !strings.HasSuffix(b.words(),
		" but for 2 in conflict, which wait to be decided with: "+page.Page+" (or fill in "+book+", and merge it as NAME=FILE)") {
		t.Errorf("merged: %s", b.words())
	}
	write(t, w.Path("batches/B001/merge-2.json"), `{"missing":["2"]}`)
	if _, b := status(); !b.Merged || b.Conflicts != 0 || b.Missing != 1 || b.Deciding != (Deciding{}) {
		t.Errorf("merged again: %+v", b)
	}
}

// TestKilledLeftovers: what a killed step had written is no part of the next one, and an undoing that was killed at its
// very end takes no second step back.
func TestKilledLeftovers(t *testing.T) {
	w := newWorkspace(t)
	write(t, w.Path(tempDir, filesDir, TrainDir, "half.jsonl"), "half")
	write(t, w.Path("."+LogFile+".123"), "half a log")
	for _, name := range []string{"one", "two"} {
		if err := put(t, w, name, name, name).Commit(name); err != nil {
			t.Fatal(err)
		}
	}
	if text := tree(t, w); strings.Contains(text, "half") {
		t.Errorf("a killed step's file is there:\n%s", text)
	}
	undone, err := w.Undo()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(undone.To, w.Path(undoDir)); err != nil { // as it was before the last move
		t.Fatal(err)
	}
	if w, err = Open(w.Dir); err != nil {
		t.Fatal(err)
	}
	if got := steps(t, w); !slices.Equal(got, []string{"init", "one"}) {
		t.Errorf("steps %q", got)
	}
}

// TestEachTraining: a row reviewed again counts once, as the last file has it; the file of the start is the first.
func TestEachTraining(t *testing.T) {
	w := newWorkspace(t)
	row := func(id, note, label string) string {
		return `{"id":"` + id + `","note":"` + note + `","page":"Z","labels":["` + label + `"]}` + "\n"
	}
	write(t, w.Path(TrainDir, StartRows), row("s1", "n1", "Wrong")+row("s2", "n2", "Long"))
	write(t, w.Path(TrainDir, "B001.jsonl"), row("p1", "n3", "Wrong")+row("s1", "n1", "Long"))
	write(t, w.Path(TrainDir, "B002.jsonl"), row("s1", "n1", "Fine"))
	var got []string
	err := w.EachTraining(func(file string, row *dataset.Row) error {
		labels, err := row.Labels(w.Taxonomy)
		got = append(got, filepath.Base(file)+" "+row.ID+" "+strings.Join(labels, ";"))
		return err
	})
	if want := []string{"start.jsonl s2 Long", "B001.jsonl p1 Wrong", "B002.jsonl s1 Fine"}; err != nil ||
		!slices.Equal(got, want) {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
}

// TestTrainFilesUnreadable: a folder that cannot be listed is not one without rows.
func TestTrainFilesUnreadable(t *testing.T) {
	w := newWorkspace(t)
	if err := os.Rename(w.Path(TrainDir), w.Path("elsewhere")); err != nil {
		t.Fatal(err)
	}
	if files, err := w.TrainFiles(); err != nil || files != nil {
		t.Errorf("without the folder: %q, %v", files, err)
	}
	write(t, w.Path(TrainDir), "no folder")
	if _, err := w.TrainFiles(); err == nil {
		t.Error("a file in place of the folder: accepted")
	}
}

// TestPlantedLinks: neither the lock nor the trainer's log is written through a link.
func TestPlantedLinks(t *testing.T) {
	w := newWorkspace(t)
	mine := filepath.Join(t.TempDir(), "mine")
	run := &training{w: w, work: w.Path("work")}
	if err := os.Mkdir(run.work, 0o755); err != nil {
		t.Fatal(err)
	}
	for path, open := range map[string]func() error{
		w.Path(lockFile):                     func() error { _, err := w.Begin(StepBatch + "B001"); return err },
		filepath.Join(run.work, "train.log"): func() error { return run.furnish(nil, nil) },
	} {
		_ = os.Remove(path)
		if err := os.Symlink(mine, path); err != nil {
			t.Fatal(err)
		}
		if err := open(); err == nil || !strings.Contains(err.Error(), path+" is a symbolic link") {
			t.Errorf("%s: got %v", path, err)
		}
		if _, err := os.Lstat(mine); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: the file behind the link was made: %v", path, err)
		}
	}
}

// TestNextOfFewRows: a training is suggested where there are rows enough for one; before, the choice of more of them.
func TestNextOfFewRows(t *testing.T) {
	for _, c := range []struct {
		rows   int
		model  string
		unseen string
		want   string
	}{
		{25, "default", "", "erreval refine select w"},
		{25, "", "", ""},
		{25, "default", "B001", "erreval refine select w"},
		{fewRows, "default", "", "erreval refine train w"},
		{fewRows, "", "B001", "erreval refine train w"},
	} {
		s := &Status{Dev: 10, Current: -1, Model: c.model, unseen: c.unseen}
		s.Training.Rows = c.rows
		if (&Workspace{Dir: "w"}).next(s); s.Next != c.want || s.Why == "" {
			t.Errorf("%+v: %q, %s", c, s.Next, s.Why)
		}
	}
}
