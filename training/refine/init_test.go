package refine

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/wholefile"
	"github.com/erreval/erreval/taxonomy"
)

const notes = `
name: notes
version: "1.0"
title: Notes
fields:
  - {name: note, definition: the text}
  - {name: page, definition: where it stands}
types:
  - {name: Wrong, code: W, category: Content, definition: It is wrong.}
  - {name: Long, code: L, category: Form, definition: It is long.}
  - {name: Fine, code: F, category: None, definition: Nothing is wrong., no_error: true}
dimensions:
  - name: Use
    definition: Is it of use?
    criteria: [{score: 1, text: "No."}, {score: 2, text: "Yes."}]
    steps: [Look.]
    types: [Wrong, Fine]
`

const pool = `{"id":"p1","note":"n1","page":"A"}
{"id":"p2","note":"n2","page":"D"}
`

const labelledRows = `{"id":"a1","note":"a1","page":"A","labels":["W"]}
{"id":"a2","note":"a2","page":"A","labels":["Fine"]}
{"id":"b1","note":"b1","page":"B","labels":["Fine"]}
{"id":"b2","note":"b2","page":"B","labels":["L","W"]}
{"id":"c1","note":"c1","page":"C","labels":["Wrong"]}
{"id":"c2","note":"c2","page":"C","labels":["F"]}
`

func notesTaxonomy(t testing.TB) *taxonomy.Taxonomy {
	t.Helper()
	y, err := taxonomy.Parse([]byte(notes), "notes.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return y
}

func source(t testing.TB, y *taxonomy.Taxonomy, name, text string) dataset.Source {
	t.Helper()
	return dataset.NewReader(strings.NewReader(text), name, dataset.Options{Taxonomy: y})
}

// initOptions are those of rows as JSON Lines; no labelled rows is "".
func initOptions(t testing.TB, pool, train string) InitOptions {
	y := notesTaxonomy(t)
	o := InitOptions{Taxonomy: y, YAML: []byte(notes), Group: DefaultGroup(y), Start: StartNone,
		Pool: source(t, y, "pool.jsonl", pool), DevShare: 0.34, Seed: 1,
		Command: "erreval refine init"}
	if train != "" {
		o.Train = source(t, y, "train.jsonl", train)
	}
	return o
}

// groupsIn are the pages of the rows of a file.
func groupsIn(t *testing.T, w *Workspace, path string) (groups []string) {
	t.Helper()
	if err := w.EachRow(path, func(row *dataset.Row) error {
		groups = addOnce(groups,
			w.GroupOf(row))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return groups
}

func addOnce(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

// TestSplit: whatever the seed, one of three equal groups is a third of the rows; nothing of it is trained on or in the
// pool.
func TestSplit(t *testing.T) {
	chosen := map[string]bool{}
	for seed := range uint64(12) {
		dir := filepath.Join(t.TempDir(), "w")
		o := initOptions(t, pool, labelledRows)
		o.Seed = seed
		made, err := Init(t.Context(), dir, o)
		if err != nil {
			t.Fatal(err)
		}
		w, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		dev := groupsIn(t, w, w.Path(DevFile))
		if made.Dev != 2 || made.Train != 4 || made.Groups != 1 || len(dev) != 1 {
			t.Fatalf("seed %d: %+v, %q", seed, made, dev)
		}
		chosen[dev[0]] = true
		for _, path := range []string{w.Path(TrainDir, StartRows), w.Path(PoolFile)} {
			if slices.Contains(groupsIn(t, w, path), dev[0]) {
				t.Errorf("seed %d: group %s is in %s and among the development rows", seed, dev[0], path)
			}
		}
		if want := map[bool]int{true: 1}[dev[0] == "A"]; made.Held != want || made.Pool != 2-want {
			t.Errorf("seed %d: %d held, %d in the pool", seed, made.Held, made.Pool)
		}
	}
	if len(chosen) != 3 {
		t.Errorf("twelve seeds chose %v of three groups", chosen)
	}
}

// TestSimulatedStayOut: planted rows measure nothing where there are real ones, and those of a development group are
// put aside.
func TestSimulatedStayOut(t *testing.T) {
	rows := labelledRows + `{"id":"s1","note":"s1","page":"A","labels":["L"],"mechanism":"stretched"}
{"id":"s2","note":"s2","page":"B","labels":["L"],"mechanism":"stretched"}
{"id":"s3","note":"s3","page":"C","labels":["L"],"provenance":{"kind":"simulated"}}
`
	dir := filepath.Join(t.TempDir(), "w")
	made, err := Init(t.Context(), dir, initOptions(t, pool, rows))
	if err != nil {
		t.Fatal(err)
	}
	w, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if made.Dev != 2 || made.Train != 6 || made.Held < 1 {
		t.Errorf("%+v", made)
	}
	s, err := w.Status()
	if err != nil {
		t.Fatal(err)
	}
	if s.Training.Kinds[KindSimulated] != 2 || s.Training.Kinds[KindStart] != 4 || s.Training.Labels["Long"] < 2 {
		t.Errorf("%+v", s.Training)
	}
	err = w.EachTraining(func(_ string, row *dataset.Row) error {
		p, err := ProvenanceOf(row)
		if _, planted := row.Get("mechanism"); planted && !slices.Equal(p.By, []string{"stretched"}) {
			t.Errorf("row %s was made by %q", row.ID, p.By)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestGivenDev: rows of --dev are taken as they are; training rows of their groups are put aside, equal texts are
// rejected.
func TestGivenDev(t *testing.T) {
	o := initOptions(t, pool+`{"id":"p3","note":"b1","page":"B"}`+"\n", labelledRows)
	o.Dev = source(t, o.Taxonomy, "dev.jsonl", `{"id":"d","note":"d","page":"A","labels":["F"]}
{"id":"d2","note":"c1","page":"C","labels":["W"]}
{"id":"d3","note":" ","page":"C","labels":["W"]}
{"id":"d4","note":"d4","page":"C","labels":[]}
`)
	dir := filepath.Join(t.TempDir(), "w")
	made, err := Init(t.Context(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	// Of the training rows a1, a2 and c2 are in the groups of d and d2, and c1 is d2 itself; of the pool p1 is in d's, and
	// p3 is b1.
	if made.Dev != 2 || made.Train != 2 || made.Held != 4 || made.Pool != 1 || made.Rejected != 4 || made.Duplicates != 2 {
		t.Errorf("%+v", made)
	}
	data, err := os.ReadFile(filepath.Join(dir, "dev.jsonl.rejected.jsonl"))
	for _, want := range []string{"the note is empty", "no label; write"} {
		if err != nil || !strings.Contains(string(data), want) {
			t.Errorf("no %q in %s, %v", want, data, err)
		}
	}
}

// TestInitRefused: nothing is left of a workspace that could not be made.
func TestInitRefused(t *testing.T) {
	parent := t.TempDir()
	for _, bad := range []string{"no row\n", `{"note":"x","page":"y","labels":["W"]}` + "\n"} {
		if _, err := Init(t.Context(), filepath.Join(parent, "w"), initOptions(t, bad, "")); err == nil ||
			!strings.Contains(err.Error(), "no row of the pool can be used") {
			t.Errorf("%q: %v", bad, err)
		}
	}
	broken := initOptions(t, pool, "")
	broken.Pool = failing{}
	if _, err := Init(t.Context(), filepath.Join(parent, "w"), broken); err == nil || !strings.Contains(err.Error(),
		"the disk is gone") {
		t.Error(err)
	}
	broken.Train = failing{} // after which the pool is not read
	if _, err := Init(t.Context(), filepath.Join(parent, "w"), broken); err == nil || strings.Count(err.Error(),
		"the disk is gone") != 1 {
		t.Error(err)
	}
	if left, err := os.ReadDir(parent); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

type failing struct{}

func (failing) Read() (*dataset.Row, error) { return nil, fmt.Errorf("the disk is gone") }
func (failing) Close() error                { return nil }

func TestDefaultGroup(t *testing.T) {
	y := notesTaxonomy(t)
	if got := DefaultGroup(y); got != "page" {
		t.Errorf("without a group field: %q, want the last one", got)
	}
	y.Fields[0].Group = true
	if got := DefaultGroup(y); got != "note" {
		t.Errorf("with a group field: %q", got)
	}
	y.Fields = y.Fields[1:]
	if got := DefaultGroup(y); got != "" {
		t.Errorf("one field: %q", got)
	}
}

func TestConfigText(t *testing.T) {
	want := DefaultConfig()
	want.Group = "passage"
	got, err := ParseConfig([]byte(ConfigText(want, "select: {size: 3}")), "refine.yaml")
	if err != nil || got.Select == nil {
		t.Fatal(err)
	}
	got.Select = nil
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the defaults as shown are %+v, not %+v", got, want)
	}
}

func FuzzParseConfig(f *testing.F) {
	f.Add([]byte(ConfigText(DefaultConfig())))
	f.Add([]byte("train: {epochs: 0}\ntrainer: [a, b]\nselect: 3"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := ParseConfig(data, "refine.yaml")
		if err == nil && (c.Train.Epochs < 1 || c.Taxonomy == "") {
			t.Errorf("%q became %+v", data, c)
		}
	})
}

// TestInitPool: an empty cell is no label, and a pool without a row is no pool.
func TestInitPool(t *testing.T) {
	made, err := Init(t.Context(), filepath.Join(t.TempDir(), "w"),
		initOptions(t, `{"note":"n1","page":"A","labels":""}`+"\n"+`{"note":"n2","page":"A","labels":"W"}`, ""))
	if err != nil || made.Pool != 1 || made.Rejected != 1 {
		t.Errorf("%+v, %v", made, err)
	}
	if _, err := Init(t.Context(), filepath.Join(t.TempDir(), "w"), initOptions(t, "", labelledRows)); err == nil ||
		!strings.Contains(err.Error(), "there are no rows in the pool") {
		t.Error(err)
	}
}

// TestGroupOfNothing: rows without a value share nothing.
func TestGroupOfNothing(t *testing.T) {
	made, err := Init(t.Context(), filepath.Join(t.TempDir(), "w"), initOptions(t, strings.ReplaceAll(pool, `"D"`, `""`),
		strings.ReplaceAll(labelledRows, `"C"`, `""`)))
	if err != nil || made.Pool < 1 || made.Dev+made.Train != 6 || made.Dev > 3 {
		t.Fatalf("%+v, %v", made, err)
	}
	w := newWorkspace(t)
	row := func(note string) *dataset.Row { return &dataset.Row{Values: []string{note, ""}} }
	if w.GroupOf(row("a")) == w.GroupOf(row("b")) {
		t.Error("two rows without a page are of one group")
	}
}

// TestOwnIDs: an id of the pool that a labelled row of another text has becomes another one, and not one that is taken.
func TestOwnIDs(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "w")
	made, err := Init(t.Context(), dir, initOptions(t, `{"id":"pool:1","note":"x","page":"X","labels":[]}
{"id":"1","note":"y","page":"Y"}
{"id":"3","note":"z","page":"Z"}
`, `{"id":1,"note":"a","page":"A","labels":["W"]}
{"id":2,"note":"b","page":"B","labels":["F"]}
`))
	if err != nil || made.Renamed != 1 || made.Rejected != 0 {
		t.Fatalf("%+v, %v; want one renamed row, and none rejected", made, err)
	}
	w, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	if err := w.EachRow(w.Path(PoolFile), func(row *dataset.Row) error {
		ids = append(ids,
			row.ID)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if want := []string{"pool:1", "pool:pool:1", "3"}; !slices.Equal(ids, want) {
		t.Errorf("the pool's ids are %q, want %q", ids, want)
	}
}

// TestInitKilled: the next init removes what a killed one had begun, and leaves alone what a living one is at.
func TestInitKilled(t *testing.T) {
	parent := t.TempDir()
	if err := os.MkdirAll(filepath.Join(parent, ".w.new-killed", TrainDir), 0o777); err != nil {
		t.Fatal(err)
	}
	living, err := wholefile.NewFolder(filepath.Join(parent, "w"), ".w.new-")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := living.Discard(); err != nil {
			t.Error(err)
		}
	}()
	if _, err := Init(t.Context(), filepath.Join(parent, "w"), initOptions(t, pool, "")); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(parent)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if want := []string{filepath.Base(filepath.Dir(living.Dir)), "w"}; err != nil || !slices.Equal(names, want) {
		t.Errorf("%q are left, %v; want %q", names, err, want)
	}
}
