package view

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/erreval/erreval/taxonomy"
)

// write makes files in a folder: name and content in turns.
func write(t testing.TB, dir string, files ...string) {
	t.Helper()
	for i := 0; i < len(files); i += 2 {
		path := filepath.Join(dir, files[i])
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(files[i+1]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

const question = `{"id":"r1","question":"Who?","answer":"Ann","passage":"P"}` + "\n"

// TestFolder: a folder gives its files of rows, and what is none is left out with a note; files of one name are told
// apart by their folders; a file that is given twice is shown once.
func TestFolder(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "one/rows.jsonl", question, "one/rows.jsonl.issues.json", `{"format":1,"issues":[]}`,
		"one/rows.jsonl.rejected.jsonl", "{}\n", "one/rows.jsonl.partial", question, "one/rows.jsonl.marks.jsonl", question,
		"one/.hidden.jsonl", question,
		"one/readme.txt", "text", "one/package.json", `{"name":"x"}`, "one/deeper/rows.jsonl", question,
		"one/broken.parquet", "PAR1 no", "two/rows.jsonl", strings.Replace(question, "Who", "Why", 1), "two/more.csv", "id,question,answer,passage\nr2,Why?,x,P\n")
	if err := os.Symlink(filepath.Join(dir, "one", "rows.jsonl"), filepath.Join(dir, "two", "link.jsonl")); err != nil {
		t.Fatal(err)
	}
	x, err := Open(context.Background(), []string{filepath.Join(dir, "one"), filepath.Join(dir, "two"),
		filepath.Join(dir, "two", "rows.jsonl")}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	var names []string
	for _, r := range x.Catalog().Runs {
		names = append(names, r.Name)
	}
	if want := []string{"one/rows.jsonl", "more.csv", "two/rows.jsonl"}; !slices.Equal(names, want) {
		t.Errorf("runs %q, want %q", names, want)
	}
	notes := strings.Join(x.Catalog().Notes, "\n")
	for _, want := range []string{"rows.jsonl: given twice", "package.json: left out: it has none of the task's columns",
		"broken.parquet: left out: "} {
		if !strings.Contains(notes, want) {
			t.Errorf("no %q in %s", want, notes)
		}
	}
	if f := x.Files(); len(f) != 3 || f[1].Path != filepath.Join(dir, "two", "more.csv") {
		t.Error(f)
	}
	for _, paths := range [][]string{{filepath.Join(dir, "nothing")}, {t.TempDir()}, {},
		{filepath.Join(dir, "one", "broken.parquet")}} {
		if x, err := Open(context.Background(), paths, Options{}); err == nil {
			t.Errorf("%s opened: %v", paths, x.Close())
		}
	}
}

// TestColumns: columns that were mapped, guessed or recorded; a file without the task's columns; a task of one's own.
func TestColumns(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "mapped.jsonl", `{"id":1,"q":"Who was it?","context":"P","answers":{"text":["Ann"]}}`+"\n",
		"record.jsonl", `{"frage":"Wer?","context":"P","kind":"x","size":3,"created":1732100000}`+"\n"+`{"frage":"Wo?","context":"P","kind":"x","size":"4"}`+"\n",
		"record.jsonl.run.json", `{"format":1,"command":"identify","columns":{"question":"frage"},"taxonomy":{"id":"question-generation@1.1"}}`,
		"other.jsonl", `{"a":"x","labels":["Good"]}`+"\n")
	x, err := Open(context.Background(), []string{filepath.Join(dir, "mapped.jsonl"), filepath.Join(dir, "record.jsonl"),
		filepath.Join(dir, "other.jsonl")}, Options{Columns: map[string]string{"question": "q"}})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	page, err := x.Rows(context.Background(), RowsQuery{Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, row := range page.Rows {
		got = append(got, fmt.Sprintf("%d %.12s %q", row.Run, row.ID, row.Text))
	}
	// the second file's ids are made of its texts, the third's, which has none, of its lines
	if len(got) != 4 || got[0] != `0 1 "Who was it?"` || !strings.HasSuffix(got[1], `"Wer?"`) || got[3] != `2 line 1 ""` {
		t.Errorf("%q", got)
	}
	questions, err := taxonomy.Builtin("question-generation")
	if err != nil {
		t.Fatal(err)
	}
	if c := x.Catalog(); c.Runs[0].Columns["passage"] != "context" || c.Runs[1].Columns["question"] != "frage" ||
		c.Task != questions.ID() {
		t.Errorf("runs %v, task %s; want columns context and frage, task %s", c.Runs, c.Task, questions.ID())
	}
	if i, ok := x.measures["column.size"]; !ok || x.Catalog().Measures[i].High != 4 || x.Catalog().Measures[i].Step != 1 {
		t.Error(show(x.Catalog().Measures))
	}
	if _, ok := x.measures["column.created"]; ok {
		t.Error("a point in time is a measure")
	}
	if _, ok := x.facetAt["column.kind"]; !ok {
		t.Error(show(x.Catalog().Facets))
	}

	own, err := taxonomy.Parse([]byte("name: own\nversion: \"1\"\ntitle: Own\nfields:\n  - name: a\n"+
		"    definition: text\ntypes:\n  - name: Bad\n    code: B\n    category: x\n    definition: d\n"), "own.yaml")
	if err != nil {
		t.Fatal(err)
	}
	y, err := Open(context.Background(), []string{filepath.Join(dir, "other.jsonl")}, Options{Taxonomy: own})
	if err != nil {
		t.Fatal(err)
	}
	defer y.Close()
	if c := y.Catalog(); c.Task != "own@1" || len(c.Notes) != 1 || !strings.Contains(c.Notes[0], `no label "Good"`) {
		t.Error(c.Task, c.Notes)
	}
}

// TestCache: an index is found again while its files are as they were, made anew where it is damaged, and the oldest go.
func TestCache(t *testing.T) {
	dir := t.TempDir()
	cache := filepath.Join(dir, "cache")
	write(t, dir, "a.jsonl", question, "b.jsonl", question)
	open := func(name string, size int64) {
		t.Helper()
		x, err := Open(context.Background(), []string{filepath.Join(dir, name)}, Options{CacheDir: cache, memoryRows: -1,
			CacheSize: size, Build: "test"})
		if err != nil {
			t.Fatal(err)
		}
		if page, err := x.Rows(context.Background(), RowsQuery{Limit: 1}); err != nil || page.Rows[0].ID != "r1" {
			t.Error(page, err)
		}
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	}
	files := func() (paths []string) {
		paths, err := filepath.Glob(filepath.Join(cache, "*"))
		if err != nil {
			t.Fatal(err)
		}
		return paths
	}
	sizeOf := func(path string) int64 {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	open("a.jsonl", 0)
	first := files()
	if len(first) != 1 {
		t.Fatal(first)
	}
	open("a.jsonl", 0)
	if again := files(); !slices.Equal(again, first) {
		t.Fatal(again)
	}
	size := sizeOf(first[0])
	if err := os.WriteFile(first[0], []byte("no database"), 0o600); err != nil {
		t.Fatal(err)
	}
	open("a.jsonl", 0)
	if again := files(); !slices.Equal(again, first) || sizeOf(first[0]) != size {
		t.Fatal(again)
	}
	open("b.jsonl", 1) // more than a byte: the other one goes
	if left := files(); len(left) != 1 || left[0] == first[0] {
		t.Fatal(left)
	}
	write(t, dir, "b.jsonl", question+`{"id":"r2","question":"Why?","answer":"","passage":"P"}`+"\n")
	open("b.jsonl", 0)
	if left := files(); len(left) != 2 {
		t.Fatal(left)
	}
}

// TestRowsOfWorkspace: rows that the same model tagged, or that are not tagged yet, count once.
func TestRowsOfWorkspace(t *testing.T) {
	const bare = `{"id":"a","question":"Who?","answer":"Ann","passage":"P"}` + "\n"
	tagged := strings.Replace(bare, "}", `,"diagnosis":{"labels":["Vague"]}}`, 1)
	record := func(model, thresholds string) string {
		return fmt.Sprintf(`{"format":1,"command":"identify","model":{"id":%q},"options":{"thresholds":%s}}`, model, thresholds)
	}
	for name, test := range map[string]struct {
		rows, record string
		want         int
	}{
		"the same model":   {tagged, record("m@1", `{"Vague":0.5}`), 1},
		"another model":    {tagged, record("m@2", `{"Vague":0.5}`), 2},
		"other thresholds": {tagged, record("m@1", `{"Vague":0.6}`), 2},
		"not tagged":       {bare, "", 1},
		"other rows":       {strings.ReplaceAll(bare, "Who?", "Why?"), "", 2},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "tagged.jsonl", tagged, "tagged.jsonl.run.json", record("m@1", `{"Vague":0.5}`), "pool.jsonl", test.rows)
			if test.record != "" {
				write(t, dir, "pool.jsonl.run.json", test.record)
			}
			x, err := Open(t.Context(), []string{filepath.Join(dir, "tagged.jsonl"), filepath.Join(dir, "pool.jsonl")},
				Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer x.Close()
			if c := x.Catalog(); c.Rows != test.want || len(c.Runs) != test.want {
				t.Errorf("%d rows, want %d: %v", c.Rows, test.want, c.Notes)
			}
		})
	}
}

// TestMarked: rows that a person marked are found by run and id, and are a filter; a mark can go again.
func TestMarked(t *testing.T) {
	x, ctx := openHand(t), t.Context()
	for id, want := range map[string][]int{"r8": {7}, "r0": nil, "zz": nil, "": nil} { // r8 and not r8#2
		if rows, err := x.RowsLike(ctx, 0, []string{id}, nil); err != nil || !slices.Equal(rows, want) {
			t.Fatal(id, rows, err)
		}
	}
	e, err := x.entry(ctx, 7)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := x.RowsLike(ctx, 0, []string{"r1"}, []string{e.Text})
	if err != nil || !slices.Contains(rows, 0) || !slices.Contains(rows, 7) || len(rows) == x.Catalog().Runs[0].Rows {
		t.Fatal(rows, err)
	}
	for _, marked := range []bool{true, false} {
		mark := &Marked{Notes: "of what?"}
		if marked {
			mark.Labels = []string{"Vague", "Off Topic"}
		}
		x.SetMarked(7, mark)
		var table strings.Builder
		err := x.Export(ctx, &table, ExportQuery{Filter: Filter{Search: "r8"}, Format: ExportCSV})
		if err != nil || strings.Contains(table.String(), ",marked,marked.notes\n") != marked ||
			strings.Contains(table.String(), ",Vague; Off Topic,of what?\n") != marked {
			t.Error(table.String(), err)
		}
		vague := map[string]Condition{"label": {Any: []string{"Vague"}}}
		page, err := x.Rows(ctx, RowsQuery{Filter: Filter{Marked: true, Facets: vague}, Limit: 9})
		if err != nil || page.Total != btoi(marked) || marked && (page.Rows[0].ID != "r8" || !page.Rows[0].Marked) {
			t.Error(marked, page, err)
		}
	}
}

// TestManyKinds: rows in which every name is another one take no more memory than others.
func TestManyKinds(t *testing.T) {
	var rows strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&rows, `{"id":"r%d","question":"Who?","passage":"P","diagnosis":{"labels":["label %d"],"probabilities":{"type %d":0.5}},`+
			`"verdicts":{"type %d":{"value":"A"}},"scores":{"dimension %d":{"value":1}},"system":"system %d","column %d":1,"text %d":"x"}`+
			"\n", i, i, i, i, i, i, i, i)
	}
	dir := t.TempDir()
	write(t, dir, "rows.jsonl", rows.String())
	x, err := Open(context.Background(), []string{filepath.Join(dir, "rows.jsonl")}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	c := x.Catalog()
	notes := strings.Join(c.Notes, "\n")
	if c.Rows != 1000 || len(c.Facets) > maxKinds || len(c.Measures) > maxKinds || len(x.meta.Facets) > maxKinds ||
		!strings.Contains(notes, "the first 100 other columns") || !strings.Contains(notes, "system: more than 500 values") {
		t.Error(c.Rows, len(c.Facets), len(c.Measures), notes)
	}
	checkWhole(t, x)
}

// TestRepeatedRows: rows that a later stage handed on count once, where nothing about them changed.
func TestRepeatedRows(t *testing.T) {
	row := func(id, more string) string {
		return fmt.Sprintf(`{"id":%q,"question":"Who?","answer":"Ann","passage":"P","diagnosis":{"labels":["Vague"]}%s}`+"\n",
			id, more)
	}
	const scores = `,"scores":{"fluency":{"value":2}}`
	tagged := row("a", "") + row("b", "")
	for name, test := range map[string]struct {
		later, command string
		size           int
		runs, rows     int
		note           string
	}{
		"all":              {row("a", scores) + row("b", scores), "score", len(tagged), 1, 2, "tagged.jsonl: 2 rows are in later.jsonl too"},
		"some":             {row("a", scores), "score", len(tagged), 2, 3, ""},
		"a part":           {row("b", ""), "show", len(tagged), 1, 2, "later.jsonl: 1 row is in tagged.jsonl too"},
		"other diagnosis":  {strings.ReplaceAll(tagged, "Vague", "Off Topic"), "identify", len(tagged), 2, 4, ""},
		"other text":       {strings.ReplaceAll(row("a", scores), "Who?", "Why?"), "score", len(tagged), 2, 3, ""},
		"one other text":   {strings.Replace(tagged, "Who?", "Why?", 1), "identify", len(tagged), 2, 4, ""},
		"a row of its own": {row("a", scores) + row("c", scores), "score", len(tagged), 2, 4, ""},
		"another origin":   {row("a", scores) + row("b", scores), "score", len(tagged) + 1, 2, 4, ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "tagged.jsonl", tagged, "later.jsonl", test.later, "later.jsonl.run.json",
				fmt.Sprintf(`{"format":1,"command":%q,"inputs":[{"file":"tagged.jsonl","size":%d}]}`, test.command, test.size))
			x, err := Open(t.Context(), []string{filepath.Join(dir, "tagged.jsonl"), filepath.Join(dir, "later.jsonl")},
				Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer x.Close()
			c, notes := x.Catalog(), strings.Join(x.Catalog().Notes, "\n")
			if len(c.Runs) != test.runs || c.Rows != test.rows || strings.Contains(notes, "counted once") != (test.note != "") ||
				!strings.Contains(notes, test.note) {
				t.Errorf("%d runs, %d rows, %s", len(c.Runs), c.Rows, notes)
			}
		})
	}
}

// TestCopiesAndDoubts: a copy without a record is left out; rows that two files without a common origin have count in
// both. Emptied labels and two models are said.
func TestCopiesAndDoubts(t *testing.T) {
	row := func(id, labels, model string) string {
		return fmt.Sprintf(`{"id":%q,"question":"Who?","answer":"Ann","passage":"P","diagnosis":{"labels":[%s],"model":%q}}`+"\n",
			id, labels, model)
	}
	dir := t.TempDir()
	tagged := row("a", `"Vague"`, "m@1") + row("b", "", "m@2")
	write(t, dir, "tagged.jsonl", tagged, "copy.jsonl", tagged, "tagged.jsonl.run.json", `{"format":1,"command":"identify"}`,
		"more.jsonl", row("a", `"Vague"`, "m@1")+row("c", `"Vague"`, "m@1"))
	x, err := Open(t.Context(), []string{filepath.Join(dir, "tagged.jsonl"), filepath.Join(dir, "copy.jsonl"),
		filepath.Join(dir, "more.jsonl")}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	notes := strings.Join(x.Catalog().Notes, "\n")
	for _, want := range []string{"copy.jsonl: 2 rows are in tagged.jsonl too, and counted once",
		"more.jsonl: 1 row is in tagged.jsonl too: each counts in both",
		"rows are tagged by different models, and what differs may be theirs: m@1 and m@2",
		"tagged.jsonl: 1 row counts as without error for want of any label"} {
		if !strings.Contains(notes, want) {
			t.Errorf("no %q in %s", want, notes)
		}
	}
	if c := x.Catalog(); len(c.Runs) != 2 || c.Rows != 4 || strings.Contains(notes, "in copy.jsonl") {
		t.Errorf("%d runs, %d rows", len(c.Runs), c.Rows)
	}
	row1 := func(model string) string {
		return strings.Replace(row("a", "", ""), `"id"`, `"model":"`+model+`","id"`, 1)
	}
	write(t, dir, "one.jsonl", row1("m"), "other.jsonl", row1("n"))
	two, err := Open(t.Context(), []string{filepath.Join(dir, "one.jsonl"), filepath.Join(dir, "other.jsonl")}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer two.Close()
	if len(two.Catalog().Runs) != 2 {
		t.Errorf("two systems that write the same: %q", two.Catalog().Notes)
	}
}

// TestRepeatedInTurn: rows of two files that may each be of the other, such as the pool of a workspace which was tagged
// before, are read from one of them.
func TestRepeatedInTurn(t *testing.T) {
	dir := t.TempDir()
	rows := strings.Replace(question, "}", `,"diagnosis":{"labels":["Vague"]}}`, 1)
	record := `{"format":1,"command":"identify","model":{"id":"m@1"},"inputs":[{"file":"pool.jsonl","size":` +
		fmt.Sprint(len(rows)) + `}]}`
	write(t, dir, "tagged.jsonl", rows, "tagged.jsonl.run.json", strings.Replace(record, fmt.Sprint(len(rows)), "1", 1),
		"pool.tagged.jsonl", rows, "pool.tagged.jsonl.run.json", record)
	x, err := Open(t.Context(), []string{filepath.Join(dir, "tagged.jsonl"), filepath.Join(dir, "pool.tagged.jsonl")},
		Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	if c := x.Catalog(); c.Rows != 1 || len(c.Runs) != 1 || len(c.Notes) != 1 {
		t.Errorf("%d rows of %d runs, %q", c.Rows, len(c.Runs), c.Notes)
	}
}

// TestOrigin: beside others, rows that a later stage handed on go by the name of the file that they are of; what
// another system wrote alike is no origin.
func TestOrigin(t *testing.T) {
	rows := func(system, more string) string {
		return fmt.Sprintf(`{"id":"a","system":%q,"question":"Who?","answer":"Ann","passage":"P"%s}`+"\n", system, more)
	}
	record := func(of string) string {
		return fmt.Sprintf(`{"format":1,"command":"discover","inputs":[{"file":"x.jsonl","size":%d}]}`, len(of))
	}
	partial := `{"format":1,"command":"discover","inputs":[{"file":"base.jsonl","size":1,"partial":true}]}`
	base, other := rows("b", ""), rows("c", "")
	found := rows("b", `,"note":1`)
	for name, test := range map[string]struct {
		found, record string
		want          []string
	}{
		"its own":        {found, record(base), []string{"new.jsonl", "base.jsonl"}},
		"of two stages":  {rows("b", `,"note":1,"more":2`), record(found), []string{"new.jsonl", "base.jsonl"}},
		"another's":      {rows("d", `,"note":1`), record(base), []string{"base.jsonl", "new.jsonl", "found.jsonl"}},
		"another system": {rows("d", `,"note":1`), partial, []string{"base.jsonl", "new.jsonl", "found.jsonl"}},
		"rows besides":   {found + rows("d", ""), record(base), []string{"new.jsonl", "found.jsonl"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "base.jsonl", base, "new.jsonl", other, "found.jsonl", test.found,
				"found.jsonl.run.json", test.record)
			files := []string{"base.jsonl", "new.jsonl", "found.jsonl"}
			if test.record == record(found) {
				write(t, dir, "stage.jsonl", found, "stage.jsonl.run.json", record(base))
				files = slices.Insert(files, 1, "stage.jsonl")
			}
			for i := range files {
				files[i] = filepath.Join(dir, files[i])
			}
			x, err := Open(t.Context(), files, Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer x.Close()
			var names []string
			for _, run := range x.Catalog().Runs {
				names = append(names, run.Name)
				if run.Name == "base.jsonl" && run.Command != "" && run.Facts[0] != (Fact{"File", "found.jsonl"}) {
					t.Errorf("facts %v", run.Facts)
				}
			}
			if !slices.Equal(names, test.want) {
				t.Errorf("runs %q, want %q; %q", names, test.want, x.Catalog().Notes)
			}
		})
	}
}

// TestColumnsOfOthers: a file without its record is read as another one's record says.
func TestColumnsOfOthers(t *testing.T) {
	dir := t.TempDir()
	row := func(question string) string {
		return fmt.Sprintf(`{"id":"1","q":%q,"a":"Ann","p":"P","diagnosis":{"labels":["Vague"]}}`+"\n", question)
	}
	write(t, dir, "m.jsonl", row("Who?"), "n.jsonl", row("Why?"), "m.jsonl.run.json",
		`{"format":1,"command":"identify","columns":{"question":"q","answer":"a","passage":"p"}}`)
	x, err := Open(t.Context(), []string{filepath.Join(dir, "m.jsonl"), filepath.Join(dir, "n.jsonl")}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	rows, _, err := x.Columns(t.Context(), 9, 1)
	if err != nil || !slices.Equal(rows.Group, []int{0, 0}) || !slices.Equal(rows.Pair, []int{0, 0}) {
		t.Errorf("groups %v, pairs %v, %v; %q", rows.Group, rows.Pair, err, x.Catalog().Notes)
	}
}
