package review

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/taxonomy"
)

func open(t testing.TB, name string) *taxonomy.Taxonomy {
	t.Helper()
	tax, err := taxonomy.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	return tax
}

func questions(t testing.TB) *taxonomy.Taxonomy { return open(t, "question-generation") }

// item makes an item whose fields have the given values.
func item(t testing.TB, tax *taxonomy.Taxonomy, id, reason string, values ...string) Item {
	t.Helper()
	row := map[string]any{"id": "row-" + id, "system": "s1"}
	for i, f := range tax.FieldNames() {
		row[f] = values[i]
	}
	data, err := json.Marshal(row)
	if err != nil {
		t.Fatal(err)
	}
	return Item{ItemID: id, RowID: "row-" + id, Reason: reason, Why: "uncertainty 0.9 is over 0.8", Row: data,
		TextSHA256: dataset.TextSHA256(values),
		Proposed: &Proposed{Labels: []string{tax.Types[0].Name},
			Probabilities: dataset.Probabilities{{Label: tax.Types[0].Name, P: 0.6}}}}
}

// freeze makes a batch of the items and opens it.
func freeze(t testing.TB, tax *taxonomy.Taxonomy, id string, items ...Item) *Frozen {
	t.Helper()
	dir := filepath.Join(t.TempDir(), id)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	b := &Batch{ID: id, Seed: 7, Taxonomy: tax.ID(), TaxonomySHA256: tax.Hash(), Made: time.Date(2026, 1, 2, 3, 4,
		5, 0, time.UTC)}
	if err := Freeze(dir, b, items); err != nil {
		t.Fatal(err)
	}
	f, err := Open(dir, tax)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// wallBatch has four questions on one passage, the fourth a repetition of the first.
func wallBatch(t testing.TB) *Frozen {
	tax, passage := questions(t), "The wall was built by Ines Caldwell in 1802.\nIt \"leans\", <they> say; Ines "+
		"Caldwell knew."
	first := item(t, tax, "B001-0001", Uncertain, "Who built the wall?", "Ines Caldwell", passage)
	again := first
	again.ItemID, again.Reason, again.ControlOf = "B001-0004", Control, first.ItemID
	return freeze(t, tax, "B001", first,
		item(t, tax, "B001-0002", Random, "When was it built?", "1802", passage),
		item(t, tax, "B001-0003", Inconsistent, "=1+1; what, \"then\"?", "It \"leans\"", passage), again)
}

func TestFreeze(t *testing.T) {
	f := wallBatch(t)
	if f.Items != 4 || !reflect.DeepEqual(f.Counts, map[string]int{Uncertain: 1, Random: 1, Inconsistent: 1, Control: 1}) {
		t.Errorf("%d items, %v", f.Items, f.Counts)
	}
	if i, ok := f.Find("B001-0003"); i != 2 || !ok || f.Values[2][1] != `It "leans"` {
		t.Errorf("item 3 is at %d, with %q", i, f.Values[2])
	}
	if got := f.All[3]; got.ControlOf != "B001-0001" || got.Proposed.Probabilities[0].P != 0.6 {
		t.Errorf("read back: %+v", got)
	}
}

// replace changes a file's text in one place.
func replace(t *testing.T, path, from, to string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(data), from) {
		t.Fatalf("%s has no %q (%v)", path, from, err)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(data), from, to, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestOpenRefuses(t *testing.T) {
	for _, c := range []struct{ file, from, to, want string }{
		{BatchFile, `"id"`, `"ident"`, `unknown field "ident"`},
		{BatchFile, `"id": "B001"`, `"id": ""`, `no "id"`},
		{BatchFile, `"taxonomy_sha256": "`, `"taxonomy_sha256": "0`, "labels would not mean the same"},
		{BatchFile, `"items": 4`, `"items": 5`, "has 4 items; batch.json says 5"},
		{ItemsFile, "Who built", "Who made", "was changed since the batch was made"},
	} {
		f := wallBatch(t)
		replace(t, filepath.Join(f.Dir, c.file), c.from, c.to)
		if _, err := Open(f.Dir, f.Taxonomy); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %q for %q: %v, want %q", c.file, c.to, c.from, err, c.want)
		}
	}
	if _, err := Open(t.TempDir(), questions(t)); err == nil || !strings.Contains(err.Error(), "no batch in") {
		t.Errorf("an empty folder: %v", err)
	}
}

func TestReadItemsRefuses(t *testing.T) {
	const good = `{"item_id":"a","row_id":"r","reason":"random","why":"","row":{},"text_sha256":"00"}`
	for _, c := range []struct{ from, to, want string }{
		{`"why"`, `"wy"`, `i.jsonl:1: unknown key "wy"; there may be control_of,`},
		{`"random"`, `"chance"`, `i.jsonl:1: unknown reason "chance"; there are ["uncertain"`},
		{`"random"`, `"control"`, `i.jsonl:1: item a: "control_of" belongs to the reason "control"`},
		{`"row":{},`, ``, `i.jsonl:1: "item_id", "row_id", "row" and "text_sha256" must be there`},
		{`"a"`, `7`, `i.jsonl:1: "item_id": json: cannot unmarshal number`},
		{`}`, ``, `i.jsonl:1: not JSON`},
		{good, good + "\n" + good, "i.jsonl:2: item a is already on line 1"},
	} {
		_, err := ReadItems([]byte(strings.Replace(good, c.from, c.to, 1)), "i.jsonl")
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
	if items, err := ReadItems([]byte(good), "i.jsonl"); err != nil || len(items) != 1 {
		t.Errorf("%v, %v", items, err)
	}
}

// save writes lines as the review page's file of a reviewer.
func save(t testing.TB, f *Frozen, name string, answers ...Answer) {
	t.Helper()
	data, err := Lines(answers)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(f.Dir, AnswersDir)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// answer is one of anna's, unless the reviewer is another.
func (f *Frozen) answer(i int, reviewer string, labels ...string) Answer {
	return Answer{ItemID: f.All[i].ItemID, Reviewer: reviewer, Labels: labels, TextSHA256: f.All[i].TextSHA256}
}

func TestAnswers(t *testing.T) {
	f := wallBatch(t)
	if none, err := f.Answers(); err != nil || none != nil {
		t.Errorf("before any answer: %v, %v", none, err)
	}
	last := f.answer(2, "anna", "spell", "Vague")
	last.Notes, last.Time = "<two>", time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)
	skipped := f.answer(0, "anna")
	skipped.Skipped = true
	save(t, f, "anna.jsonl", f.answer(2, "anna", "No Error"), skipped, last)
	save(t, f, "ben.jsonl", f.answer(2, "ben", "No Error"))
	// A line without its end was cut off in writing.
	file, err := os.OpenFile(filepath.Join(f.Dir, AnswersDir, "ben.jsonl"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteString(`{"item_id":"B001`); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := f.Answers()
	if err != nil || len(got) != 3 {
		t.Fatal(got, err)
	}
	want := last
	want.onPage = true
	want.Labels, want.Place = []string{"Spell Error", "Vague"}, Place{File: filepath.Join(f.Dir, AnswersDir,
		"anna.jsonl"), Line: 3}
	if !reflect.DeepEqual(got[0], want) || !got[1].Skipped || got[2].Reviewer != "ben" {
		t.Errorf("got %+v", got)
	}
}

func TestReadAnswersRefuses(t *testing.T) {
	const good = `{"item_id":"a","reviewer":"anna","labels":["Vague"],"notes":"","skipped":false,"text_sha256":"00"}` +
		"\n"
	for _, c := range []struct{ from, to, want string }{
		{`"notes"`, `"note"`, `a.jsonl:1: unknown key "note"`},
		{`["Vague"]`, `["Vagu"]`, "a.jsonl:1: item a: " + questions(t).ID() + ` has no label "Vagu"; did you mean "Vague"`},
		{`["Vague"]`, `["Vague","No Error"]`, `a.jsonl:1: item a: "No Error" stands beside other labels`},
		{`["Vague"]`, `[]`, `a.jsonl:1: item a: no label; write "No Error"`},
		{`false`, `true`, `a.jsonl:1: item a: it is skipped and has labels (Vague)`},
		{`"anna"`, `"anna "`, `a.jsonl:1: item a: "anna " is no reviewer's name`},
		{`"anna"`, `""`, `a.jsonl:1: item a: no reviewer is named`},
	} {
		t.Run(c.to, func(t *testing.T) {
			_, err := ReadAnswers([]byte(strings.Replace(good, c.from, c.to, 1)), "a.jsonl", questions(t))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
	// A taxonomy without a label for "nothing wrong" takes an empty list for just that.
	recipes := open(t, "testdata/recipes.yaml")
	got, err := ReadAnswers([]byte(strings.Replace(good, `["Vague"]`, `[]`, 1)), "a.jsonl", recipes)
	if err != nil || len(got) != 1 || len(got[0].Labels) != 0 {
		t.Errorf("%+v, %v", got, err)
	}
}

func FuzzReadAnswers(f *testing.F) {
	f.Add([]byte(`{"item_id":"a","reviewer":"anna","labels":["Vague"],"notes":"","skipped":false,"text_sha256":"00"}`))
	f.Add([]byte(`{"labels":null}`))
	tax := questions(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		answers, err := ReadAnswers(data, "f", tax)
		for _, a := range answers {
			if e := a.Check(tax); e != nil {
				t.Errorf("%v passed, with %v: %v", a, err, e)
			}
		}
	})
}

func FuzzReadItems(f *testing.F) {
	f.Add([]byte(`{"item_id":"a","row_id":"r","reason":"random","why":"","row":{},"text_sha256":"00"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		items, err := ReadItems(data, "f")
		for _, it := range items {
			if e := it.check(); e != nil {
				t.Errorf("%v passed, with %v: %v", it, err, e)
			}
		}
	})
}
