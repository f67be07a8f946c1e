package refine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/taxonomy"
)

// lettered are rows whose passage is their group: "aab" is two of one and one of another.
func lettered(groups string) (rows []*dataset.Row) {
	for i, g := range groups {
		rows = append(rows, &dataset.Row{ID: fmt.Sprint(i), Values: []string{fmt.Sprint("question ", i),
			"answer", string(g)}})
	}
	return rows
}

func foldWorkspace(t *testing.T, seed int) *Workspace {
	t.Helper()
	y, err := taxonomy.Open("question-generation")
	if err != nil {
		t.Fatal(err)
	}
	w := &Workspace{Taxonomy: y, Config: DefaultConfig()}
	w.Config.Group, w.Config.Train.Seed = "passage", seed
	return w
}

// TestDivide: rows of one group share a fold; groups of 5, 3, 2, 2, 1, 1 and 1 rows make folds of five, largest first:
// 5 | 3+2
// | 2+1+1+1; groups of 4, 3 and 3 rows cannot be divided more evenly than they are.
func TestDivide(t *testing.T) {
	for groups, want := range map[string][]int{"aaaaabbbccddefg": {5, 5, 5}, "abcbacbcaa": {3, 3, 4}, "abc": {1, 1, 1},
		"abcdefg": {2, 2, 3}} {
		rows := lettered(groups)
		of, err := foldWorkspace(t, 1).divide(rows, 3)
		if err != nil {
			t.Fatal(err)
		}
		sizes, fold := make([]int, 3), map[rune]int{}
		for i, g := range groups {
			sizes[of[i]]++
			if first, again := fold[g]; again && first != of[i] {
				t.Errorf("%s: rows of %c are in folds %d and %d", groups, g, first, of[i])
			}
			fold[g] = of[i]
		}
		if slices.Sort(sizes); !slices.Equal(sizes, want) {
			t.Errorf("%s: folds of %v rows, want %v", groups, sizes, want)
		}
	}
}

// TestDivideAgain: the seed decides among equal groups, the order of rows does not.
func TestDivideAgain(t *testing.T) {
	rows := lettered("abcdefgh")
	divided := func(seed int, rows []*dataset.Row) string {
		of, err := foldWorkspace(t, seed).divide(rows, 4)
		if err != nil {
			t.Fatal(err)
		}
		out := make([]string, len(rows))
		for i, row := range rows {
			out[i] = fmt.Sprint(row.Values[2], of[i])
		}
		slices.Sort(out)
		return strings.Join(out, " ")
	}
	first := divided(1, rows)
	other := divided(2, rows)
	slices.Reverse(rows)
	if again := divided(1, rows); again != first {
		t.Errorf("in another order %s, before %s", again, first)
	}
	if other == first {
		t.Errorf("seeds 1 and 2 both give %s", first)
	}
}

func TestDivideTooFew(t *testing.T) {
	if _, err := foldWorkspace(t, 1).divide(lettered("aabb"), 3); err == nil ||
		err.Error() != "the training set has 2 groups, too few for 3 folds; rows of one group stay together" {
		t.Errorf("got %v", err)
	}
}

// copier is a trainer whose model is the rows that it was given.
const copier = `out=$(dirname "$1")/out; mkdir -p "$out"; cp "$(dirname "$1")/../train.jsonl" "$1" "$out/"; touch "$out/tokenizer.json" "$out/result.json"`

// folding trains with copier, and notes in which rows each model was asked to look.
type folding struct {
	w       *Workspace
	trained int
	looked  []string
	t       *testing.T
}

func (f *folding) options() TrainOptions {
	return TrainOptions{Trainer: []string{"sh", "-c", copier, "sh"}, Encoder: "tiny", Say: func(string, ...any) {},
		Progress: func(string, Progress) {},
		Import: func(_ context.Context, checkpoint, to string, _ *taxonomy.Taxonomy, _ string) error {
			f.trained++
			return os.CopyFS(to, os.DirFS(checkpoint))
		},
		Identify: f.identify}
}

func (f *folding) identify(_ context.Context, model string, _ *taxonomy.Taxonomy,
	rows []*dataset.Row) (found []*dataset.Diagnosis, _ string, err error) {
	job, err := os.ReadFile(filepath.Join(model, jobFile))
	if err != nil || !strings.Contains(string(job), `"init": ""`) {
		f.t.Errorf("the model began with a checkpoint, or %v:\n%s", err, job)
	}
	trained := groupsIn(f.t, f.w, filepath.Join(model, "train.jsonl"))
	for _, row := range rows {
		if slices.Contains(trained, f.w.GroupOf(row)) {
			f.t.Errorf("the model that looks at %s was trained on %v", f.w.GroupOf(row), trained)
		}
		f.looked = append(f.looked, row.ID)
		found = append(found, &dataset.Diagnosis{Labels: []string{},
			Probabilities: dataset.Probabilities{{Label: "Wrong", P: 1. / 3}}})
	}
	return found, "", nil
}

// TestOutOfFold: every row of the training set, and of those that must not be trained on, is looked at once, by a model
// that has not seen its group. A second call trains nothing; other rows train all anew, and what the first rows left is
// gone.
func TestOutOfFold(t *testing.T) {
	w := newWorkspace(t)
	w.Config.Train.From = FromLast
	page := groupsIn(t, w, w.Path(DevFile))[0]
	row := func(id, note, page string) string {
		return fmt.Sprintf(`{"id":%q,"note":%q,"page":%q,"labels":["Wrong"]}`+"\n", id, note, page)
	}
	write(t, w.Path(TrainDir, "B001.jsonl"), row("x1", "new", "Z")+row("x2", "beside a development row", page))
	write(t, w.Path(IterationDir, "00", checkpointDir, TaskIdentifier, "config.json"), "{}")
	before := tree(t, w)
	want := 0
	if err := w.EachTraining(func(string, *dataset.Row) error { want++; return nil }); err != nil {
		t.Fatal(err)
	}
	run := func(n int) (*folding, map[string]*dataset.Diagnosis) {
		f := &folding{w: w, t: t}
		found, err := w.OutOfFold(t.Context(), n, f.options())
		if err != nil || len(found) != want {
			t.Fatalf("%d of %d rows, %v", len(found), want, err)
		}
		for text, d := range found {
			if p, _ := d.Probabilities.Get("Wrong"); p == 1./3 || p < 0.333 || p > 0.334 {
				t.Errorf("%s has %v, want it as a file gives it back", text, p)
			}
		}
		return f, found
	}
	f, _ := run(2)
	if slices.Sort(f.looked); f.trained != 2 || len(slices.Compact(f.looked)) != want {
		t.Errorf("%d trained, looked at %v", f.trained, f.looked)
	}
	first := foldFolders(t, w)
	if f, _ = run(2); f.trained != 0 || len(first) != 1 {
		t.Errorf("again: %d trained, %v", f.trained, first)
	}
	write(t, w.Path(TrainDir, "B002.jsonl"), row("x3", "newer", "Y"))
	want++
	if f, _ = run(2); f.trained != 2 {
		t.Errorf("with a row more: %d trained", f.trained)
	}
	if second := foldFolders(t, w); len(second) != 1 || second[0] == first[0] {
		t.Errorf("after %v there are %v", first, second)
	}
	if err := errors.Join(os.RemoveAll(w.Path(foldsDir)), os.Remove(w.Path(TrainDir, "B002.jsonl"))); err != nil {
		t.Fatal(err)
	}
	if after := tree(t, w); after != before {
		t.Errorf("the workspace changed:\n%s\nbefore\n%s", after, before)
	}
}

func foldFolders(t *testing.T, w *Workspace) (names []string) {
	t.Helper()
	entries, err := w.entries(foldsDir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

// TestHashFolder: a file's bytes count, and a name on the hub is none of a folder.
func TestHashFolder(t *testing.T) {
	dir := t.TempDir()
	var sums []string
	for _, text := range []string{"a", "b", "a"} {
		write(t, filepath.Join(dir, "weights", "w.bin"), text)
		sum, err := hashFolder(dir)
		if err != nil {
			t.Fatal(err)
		}
		sums = append(sums, sum)
	}
	if hub, err := hashFolder("owner/encoder"); sums[0] == sums[1] || sums[0] != sums[2] || hub != "" || err != nil {
		t.Errorf("%q, %q %v", sums, hub, err)
	}
}
