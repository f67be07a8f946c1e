package review

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// What reviewers differ on is a batch of its own: it shows what they said, and an answer to it decides.
func TestDiffering(t *testing.T) {
	f := wallBatch(t)
	given := twoReviewers(f)
	given[1].Notes = "a date is clear"
	first, _ := f.Merge(none(), append(given, at("dora.csv", skip(f.answer(1, "dora")))...), MergeOptions{})
	keep(t, f, first)
	e, err := f.Earlier()
	if err != nil {
		t.Fatal(err)
	}
	d := f.Differing(e)
	if len(d.All) != 1 || d.All[0].ItemID != "B001-0002" || len(d.Columns) != len(f.Columns)+1 || len(f.All) != 4 {
		t.Fatalf("%d items, %d columns", len(d.All), len(d.Columns))
	}
	want := "anna: No Error (a date is clear)\nben: Spell Error, Vague\ndora: skipped"
	if got := d.Values[0][3]; got != want {
		t.Errorf("said:\n%s\nwant:\n%s", got, want)
	}

	// One of the two may decide; the answer that stood is kept beside the decision.
	l := openLog(t, d, "anna")
	if err := l.Add(answer("B001-0001", "Vague")); !Refused(err) || !strings.Contains(err.Error(), "no such item") {
		t.Errorf("an item that nobody differs on: %v", err)
	}
	add(t, l, answer("B001-0002", "Vague"))
	if err := os.WriteFile(filepath.Join(f.Dir, "conflicts.jsonl"), []byte("of an older program"), 0o666); err != nil {
		t.Fatal(err)
	}
	all, err := f.Answers()
	if err != nil || len(all) != 1 || !all[0].Resolves || all[0].Place.File != filepath.Join(f.Dir, "conflicts", "answers",
		"anna.jsonl") {
		t.Fatalf("%+v, %v", all, err)
	}
	second, faults := f.Merge(e, all, MergeOptions{})
	if len(faults) > 0 || second.Resolved != 1 || !reflect.DeepEqual(second.Decided, map[string][]string{
		"B001-0002": {"Vague"}}) || !reflect.DeepEqual(second.Agreement, first.Agreement) {
		t.Errorf("%+v %s", second, faultText(faults))
	}

	// What she said first counts in later merges too: it is read beside her decision.
	keep(t, f, second)
	err = l.Add(answer("B001-0002", "No Error"))
	if err == nil || !strings.Contains(err.Error(), "was merged again since") {
		t.Errorf("an answer behind a merge: %v", err)
	}
	if e, err = f.Earlier(); err != nil {
		t.Fatal(err)
	}
	third, faults := f.Merge(e, nil, MergeOptions{})
	if len(faults) > 0 || third.New(e) || !reflect.DeepEqual(third.Agreement, first.Agreement) ||
		!reflect.DeepEqual(third.Reviewers, first.Reviewers) {
		t.Errorf("merged once more: %+v %s", third, faultText(faults))
	}

	// merge.json was changed by hand.
	if d := f.Differing(&Earlier{Number: 2, Conflicts: []Conflict{{ItemID: "B001-0099"}}}); len(d.All) != 0 ||
		filepath.Base(d.Dir) != "conflicts-2" {
		t.Errorf("an item that is not there: %+v in %s", d.All, d.Dir)
	}
}
