package review

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"
)

// none is a batch never merged.
func none() *Earlier { return &Earlier{Decided: map[string][]string{}} }

func faultText(faults []*Fault) string {
	var lines []string
	for _, f := range faults {
		lines = append(lines, f.Error())
	}
	return strings.Join(lines, "\n")
}

// at gives answers places, so that messages can name them.
func at(file string, answers ...Answer) []Answer {
	for i := range answers {
		answers[i].Place = Place{File: file, Line: i + 1}
	}
	return answers
}

func skip(a Answer) Answer {
	a.Labels, a.Skipped = []string{}, true
	return a
}

// Two reviewers: they agree on the first item, differ on the second, and one skips the third.
func twoReviewers(f *Frozen) []Answer {
	return append(at("anna.csv", f.answer(0, "anna", "Vague"), f.answer(1, "anna", "No Error"),
		f.answer(2, "anna", "Off Topic"), f.answer(3, "anna", "No Error")),
		at("ben.csv", f.answer(0, "ben", "Vague"), f.answer(1, "ben", "Spell Error", "Vague"), skip(f.answer(2, "ben")),
			f.answer(3, "ben", "Vague"))...)
}

func TestMerge(t *testing.T) {
	f := wallBatch(t)
	out, faults := f.Merge(none(), twoReviewers(f), MergeOptions{})
	if len(faults) > 0 {
		t.Fatal(faultText(faults))
	}
	if out.Items != 3 || out.Train != 2 || out.Random != 0 || out.Number != 1 || len(out.Missing)+len(out.Skipped) != 0 {
		t.Errorf("%+v", out.Merge)
	}
	if want := map[string][]string{"B001-0001": {"Vague"}, "B001-0003": {"Off Topic"}}; !reflect.DeepEqual(out.Decided,
		want) {
		t.Errorf("decided %v", out.Decided)
	}
	if want := []Conflict{{"B001-0002", map[string][]string{"anna": {"No Error"}, "ben": {"Spell Error",
		"Vague"}}}}; !reflect.DeepEqual(out.Conflicts, want) {
		t.Errorf("conflicts %v", out.Conflicts)
	}
	if want := []Reviewer{{Name: "anna", Answered: 4, Control: 1, Differ: []string{"B001-0004"}},
		{Name: "ben", Answered: 3, Skipped: 1, Control: 1, Same: 1}}; !reflect.DeepEqual(out.Reviewers, want) {
		t.Errorf("reviewers %+v", out.Reviewers)
	}
	if by := out.Decisions[0].By; !reflect.DeepEqual(by, []string{"anna", "ben"}) ||
		!reflect.DeepEqual(out.Decisions[1].By, []string{"anna"}) {
		t.Errorf("by %v, %v", by, out.Decisions[1].By)
	}
}

// TestSecondAnswer: what a reviewer says of a row that is shown twice counts where the first was skipped, or left open.
func TestSecondAnswer(t *testing.T) {
	f := wallBatch(t)
	all := twoReviewers(f)
	for name, given := range map[string][]Answer{"left open": append(all[:4:4], all[5:]...),
		"skipped": append(all[:4:4], append(at("ben.csv", skip(f.answer(0, "ben"))), all[5:]...)...)} {
		out, faults := f.Merge(none(), given, MergeOptions{})
		if len(faults) > 0 {
			t.Fatal(faultText(faults))
		}
		if by := out.Decisions[0].By; !reflect.DeepEqual(by, []string{"anna", "ben"}) || out.Agreement.Items != 2 {
			t.Errorf("%s: by %v, agreement on %d", name, by, out.Agreement.Items)
		}
		if len(out.Answers) != len(given) {
			t.Errorf("%s: %d answers kept", name, len(out.Answers))
		}
	}
}

// TestUnmerged: answers on the page that no merge used are counted, those that one used are not.
func TestUnmerged(t *testing.T) {
	f := wallBatch(t)
	out, faults := f.Merge(none(), twoReviewers(f), MergeOptions{})
	if len(faults) > 0 {
		t.Fatal(faultText(faults))
	}
	keep(t, f, out)
	page, err := Lines([]Answer{f.answer(0, "ben", "Vague"), f.answer(1, "ben", "No Error"), f.answer(0, "carl", "Vague")})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(f.Dir, AnswersDir), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(f.Dir, AnswersDir, "x.jsonl"), page, 0o600); err != nil {
		t.Fatal(err)
	}
	e, err := f.Earlier()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := f.Unmerged(e), map[string]int{"ben": 1, "carl": 1}; !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// Worked out by hand for the items 1 and 2, which both decided. Vague: (yes, yes), (no, yes). n = 4, of which yes 3:
// observed disagreement 2 of 4 values, expected 2·3·1 ÷ 3 = 2 of 4: α = 0. κ: same 1/2, chance 1/2·1 + 1/2·0 = 1/2: 0.
// Sets overlap 1 and 0.
func TestAgreement(t *testing.T) {
	f := wallBatch(t)
	out, _ := f.Merge(none(), twoReviewers(f), MergeOptions{})
	a := out.Agreement
	if a.Items != 2 || a.Exact != 0.5 || *a.Jaccard != 0.5 {
		t.Errorf("%+v", a)
	}
	for _, l := range a.Labels {
		switch l.Label {
		case "Vague":
			if l.Given != 2 || l.Both != 1 || math.Abs(*l.Alpha) > 1e-12 || math.Abs(*l.Kappa) > 1e-12 {
				t.Errorf("%+v: α %v, κ %v", l, *l.Alpha, *l.Kappa)
			}
		case "Off Topic": // ben skipped that item
			if l.Given != 0 || l.Alpha != nil || l.Kappa != nil {
				t.Errorf("%+v", l)
			}
		}
	}
	if data, err := json.Marshal(out.Merge); err != nil || strings.Contains(string(data), "NaN") {
		t.Errorf("%s, %v", data, err)
	}
	if out, _ := f.Merge(none(), twoReviewers(f)[:4], MergeOptions{}); out.Agreement != nil {
		t.Errorf("agreement of one: %+v", out.Agreement)
	}
}

// keep stores a merge as the command does.
func keep(t *testing.T, f *Frozen, out *Outcome) {
	t.Helper()
	data, err := json.Marshal(out.Merge)
	if err != nil {
		t.Fatal(err)
	}
	answers, err := Lines(out.Answers)
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{MergeName(MergeStem, out.Number, ".json"): data,
		MergeName(UsedStem, out.Number, ".jsonl"): answers} {
		if err := os.WriteFile(filepath.Join(f.Dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestMergeAgain(t *testing.T) {
	f := wallBatch(t)
	merge := func(given []Answer) (*Earlier, *Outcome, string) {
		e, err := f.Earlier()
		if err != nil {
			t.Fatal(err)
		}
		out, faults := f.Merge(e, given, MergeOptions{})
		return e, out, faultText(faults)
	}
	_, first, fault := merge(twoReviewers(f))
	if fault != "" {
		t.Fatal(fault)
	}
	keep(t, f, first)

	e, again, fault := merge(twoReviewers(f))
	if fault != "" || again.New(e) || again.Before != 2 || len(again.Conflicts) != 1 {
		t.Errorf("the same files again: %+v %s", again, fault)
	}
	if _, _, fault = merge(at("new.csv", f.answer(0, "anna", "No Error"))); !strings.Contains(fault,
		"new.csv:1: item B001-0001: anna answers No Error, but it is merged already as Vague by the same reviewer") {
		t.Errorf("another answer to a merged item: %s", fault)
	}
	decision := f.answer(1, "cleo", "Spell Error")
	decision.Resolves = true
	e, second, fault := merge(at("conflicts.jsonl", decision))
	if fault != "" || !second.New(e) {
		t.Fatalf("%+v %s", second, fault)
	}
	keep(t, f, second)
	if second.Number != 2 || second.Random != 1 || second.Resolved != 1 || len(second.Conflicts) != 0 ||
		!reflect.DeepEqual(second.Decided, map[string][]string{"B001-0002": {"Spell Error"}}) {
		t.Errorf("%+v", second.Merge)
	}
	if by := second.Decisions[0].By; !reflect.DeepEqual(by, []string{"cleo"}) {
		t.Errorf("by %v", by)
	}
	if e, third, fault := merge(append(twoReviewers(f), at("conflicts.jsonl", decision)...)); fault != "" ||
		third.New(e) || third.Before != 3 {
		t.Errorf("everything again: %+v %s", third, fault)
	}
}

// mergePartly merges answers with those of the merges that are kept.
func mergePartly(t *testing.T, f *Frozen, given []Answer) (*Earlier, *Outcome) {
	t.Helper()
	e, err := f.Earlier()
	if err != nil {
		t.Fatal(err)
	}
	out, faults := f.Merge(e, given, MergeOptions{Partial: true})
	if len(faults) > 0 {
		t.Fatal(faultText(faults))
	}
	return e, out
}

// TestMergeCorrection: on the review page a reviewer corrects what was merged; where others had said the same, somebody
// decides. What was merged and corrected is not asked about again.
func TestMergeCorrection(t *testing.T) {
	f := wallBatch(t)
	merge := func(given ...Answer) (*Earlier, *Outcome) { t.Helper(); return mergePartly(t, f, given) }
	_, first := merge(twoReviewers(f)...)
	keep(t, f, first) // 1 is of both, 3 of anna alone
	shared, own := f.answer(0, "anna", "No Error"), f.answer(2, "anna", "Vague")
	shared.onPage, own.onPage = true, true
	e, second := merge(shared, own)
	if !second.New(e) || second.Late != 1 || len(second.Conflicts) != 2 || second.Before != 1 ||
		!reflect.DeepEqual(second.Decided, map[string][]string{"B001-0003": {"Vague"}}) {
		t.Errorf("%+v", second.Merge)
	}
	keep(t, f, second)
	if e, third := merge(shared, own); third.New(e) || third.Before != 2 || len(third.Conflicts) != 2 {
		t.Errorf("once more: %+v", third.Merge)
	}
	own.Labels, own.Time = []string{"Off Topic"}, time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)
	for hours, want := range map[int]int{-1: 1, 1: 0} { // after a mark of the row, and before it
		e, err := f.Earlier()
		if err != nil {
			t.Fatal(err)
		}
		e.Marked = map[string]time.Time{f.All[2].TextSHA256: own.Time.Add(time.Duration(hours) * time.Hour)}
		out, faults := f.Merge(e, []Answer{shared, own}, MergeOptions{Partial: true})
		if len(faults) > 0 || len(out.Decisions) != want || out.Marked != 1-want {
			t.Errorf("mark %d hours from it: %+v, %s", hours, out.Merge, faultText(faults))
		}
	}
}

// TestMergeDecisionCorrected: who decided between reviewers corrects that on the page and is no further voice; what
// others say later changes nothing, and is counted.
func TestMergeDecisionCorrected(t *testing.T) {
	f := wallBatch(t)
	merge := func(given ...Answer) (*Earlier, *Outcome) { t.Helper(); return mergePartly(t, f, given) }
	_, first := merge(twoReviewers(f)...)
	keep(t, f, first) // 2 is in conflict
	decision := f.answer(1, "cleo", "Spell Error")
	decision.Resolves = true
	_, second := merge(decision)
	keep(t, f, second)
	decision.onPage, decision.Time = true, time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC) // its page is read again, too
	corrected, other := f.answer(1, "cleo", "Off Topic"), f.answer(1, "anna", "Vague")
	corrected.onPage, other.onPage, corrected.Time = true, true, decision.Time.Add(time.Minute)
	if e, later := merge(other); !later.New(e) || later.Later != 1 || len(later.Decisions)+len(later.Conflicts) != 0 {
		t.Errorf("anna says otherwise: %+v", later.Merge)
	}
	e, third := merge(decision, corrected)
	if !third.New(e) || third.Later != 0 || len(third.Reviewers) != 2 ||
		!reflect.DeepEqual(third.Decided, map[string][]string{"B001-0002": {"Off Topic"}}) ||
		!reflect.DeepEqual(third.Agreement, second.Agreement) {
		t.Errorf("cleo corrects: %+v", third.Merge)
	}
	keep(t, f, third)
	if e, again := merge(decision, corrected); again.New(e) || again.Later != 0 {
		t.Errorf("once more: %+v", again.Merge)
	}
	again := wallBatch(t)
	_, first = mergePartly(t, again, twoReviewers(again))
	keep(t, again, first) // what cleo decided and corrected was taken back
	if _, both := mergePartly(t, again, []Answer{decision, corrected}); len(both.Reviewers) != 2 ||
		!reflect.DeepEqual(both.Decided, map[string][]string{"B001-0002": {"Off Topic"}}) {
		t.Errorf("both after undo: %+v", both.Merge)
	}
	save(t, f, "cleo.jsonl", corrected)
	if e, err := f.Earlier(); err != nil || len(f.Unmerged(e)) != 0 {
		t.Errorf("%v, %v", f.Unmerged(e), err)
	}
}

// TestMergeLate: answers to merged rows count for the agreement; where one differs somebody decides, be it for the
// labels that the row has.
func TestMergeLate(t *testing.T) {
	f := wallBatch(t)
	decision := func(label string) []Answer {
		a := f.answer(0, "cleo", label)
		a.Resolves = true
		return at("conflicts.jsonl", a)
	}
	merge := func(given []Answer) (*Earlier, *Outcome) { t.Helper(); return mergePartly(t, f, given) }
	_, first := merge(at("anna.csv", f.answer(0, "anna", "Vague"), f.answer(1, "anna", "No Error")))
	keep(t, f, first)
	e, late := merge(at("ben.csv", f.answer(0, "ben", "Spell Error"), f.answer(1, "ben", "No Error")))
	if !late.New(e) || late.Before != 2 || late.Late != 1 || len(late.Decisions) != 0 || len(late.Conflicts) != 1 ||
		late.Conflicts[0].ItemID != "B001-0001" || late.Agreement.Items != 2 || late.Agreement.Exact != 0.5 {
		t.Fatalf("%+v", late.Merge)
	}
	keep(t, f, late)
	if e, again := merge(nil); again.New(e) || again.Late != 1 {
		t.Errorf("nothing more: %+v", again.Merge)
	}
	e, err := f.Earlier()
	if err != nil {
		t.Fatal(err)
	}
	e.Marked = map[string]time.Time{f.All[0].TextSHA256: {}}
	if out, faults := f.Merge(e, nil, MergeOptions{Partial: true}); len(faults) > 0 || out.Marked != 1 || out.Late != 0 {
		t.Errorf("marked: %+v, %s", out, faultText(faults))
	}
	if e, same := merge(at("ben.csv", f.answer(0, "ben", "Vague"))); !same.New(e) || len(same.Conflicts) != 0 ||
		len(same.Decisions) != 0 {
		t.Errorf("ben agrees after all: %+v", same.Merge)
	}
	if e, kept := merge(decision("Vague")); !kept.New(e) || len(kept.Conflicts) != 0 || len(kept.Decisions) != 0 {
		t.Errorf("decided as it is: %+v", kept.Merge)
	}
	_, other := merge(decision("Spell Error"))
	if len(other.Conflicts) != 0 || other.Train != 1 || other.Before != 1 || other.Resolved != 1 {
		t.Errorf("decided otherwise: %+v", other.Merge)
	}
	keep(t, f, other)
	if _, more := merge(at("dora.csv", f.answer(0, "dora", "No Error"))); len(more.Conflicts) != 0 || more.Before != 2 {
		t.Errorf("somebody more, who differs from what was decided: %+v", more.Merge)
	}
}

// A reviewer may change an answer that is not merged yet.
func TestMergeChangedAnswer(t *testing.T) {
	f := wallBatch(t)
	first, _ := f.Merge(none(), twoReviewers(f), MergeOptions{})
	keep(t, f, first)
	e, err := f.Earlier()
	if err != nil {
		t.Fatal(err)
	}
	out, faults := f.Merge(e, at("ben2.csv", f.answer(1, "ben", "No Error")), MergeOptions{})
	if len(faults) > 0 || !reflect.DeepEqual(out.Decided, map[string][]string{"B001-0002": {"No Error"}}) ||
		!reflect.DeepEqual(out.Decisions[0].By, []string{"anna", "ben"}) {
		t.Errorf("%+v %s", out, faultText(faults))
	}
}

// Answers that only differ from others decide no row, but are kept, and so is the conflict.
func TestMergeKeepsANewConflict(t *testing.T) {
	f := wallBatch(t)
	first, _ := f.Merge(none(), at("anna.csv", f.answer(0, "anna", "Vague")), MergeOptions{Partial: true})
	keep(t, f, first)
	merge := func() (*Earlier, *Outcome) {
		e, err := f.Earlier()
		if err != nil {
			t.Fatal(err)
		}
		out, faults := f.Merge(e, append(at("anna.csv", f.answer(2, "anna", "Vague")),
			at("ben.csv", f.answer(2, "ben", "No Error"))...), MergeOptions{Partial: true})
		if len(faults) > 0 {
			t.Fatal(faultText(faults))
		}
		return e, out
	}
	e, second := merge()
	if !second.New(e) || len(second.Decisions) != 0 || len(second.Conflicts) != 1 || len(second.Answers) != 3 {
		t.Fatalf("new %v: %+v", second.New(e), second)
	}
	keep(t, f, second)
	if e, third := merge(); third.New(e) {
		t.Errorf("the same again: %+v", third)
	}
}

// Who skips a row that is merged says nothing against it; a repetition of a skipped row measures nothing.
func TestMergeSkips(t *testing.T) {
	f := wallBatch(t)
	first, _ := f.Merge(none(), twoReviewers(f), MergeOptions{})
	keep(t, f, first)
	e, err := f.Earlier()
	if err != nil {
		t.Fatal(err)
	}
	out, faults := f.Merge(e, at("cleo.csv", skip(f.answer(0, "cleo")), f.answer(3, "cleo", "Vague")), MergeOptions{})
	if len(faults) > 0 {
		t.Fatal(faultText(faults))
	}
	if got := out.Reviewers[2]; !reflect.DeepEqual(got, Reviewer{Name: "cleo", Answered: 1, Skipped: 1, Missing: 2}) ||
		len(out.Decided) != 0 {
		t.Errorf("%+v, decided %v", got, out.Decided)
	}
}

func TestMergeFaults(t *testing.T) {
	f := wallBatch(t)
	all := twoReviewers(f)[:4]
	decide := func(reviewer, label string) Answer {
		a := f.answer(1, reviewer, label)
		a.Resolves = true
		return a
	}
	for _, c := range []struct {
		name  string
		given []Answer
		want  string
	}{
		{"two files of one reviewer differ", append(at("two.csv", f.answer(0, "anna", "No Error")), all...),
			"anna.csv:1: item B001-0001: anna answers Vague here and No Error in two.csv:1; keep one of the two"},
		{"a skip and an answer", append(at("two.csv", skip(f.answer(0, "anna"))), all...),
			"anna answers Vague here and skipped in two.csv:1"},
		{"missing", all[:2],
			"item B001-0003: nobody answered it; answer it or skip it, or leave such items out with --partial\nitem " +
				"B001-0004: nobody"},
		{"two decisions", append(at("conflicts.jsonl", decide("cleo", "Vague"), decide("dora", "No Error")), all...),
			"conflicts.jsonl:2: item B001-0002: cleo decides for Vague, and dora for No Error"},
		{"a decision and a skip", append(at("conflicts.jsonl", decide("cleo", "Vague"), skip(decide("dora", ""))), all...),
			"cleo decides for Vague, and dora leaves the row out: one of them decides the row again"},
	} {
		out, faults := f.Merge(none(), c.given, MergeOptions{})
		if out != nil || !strings.Contains(faultText(faults), c.want) {
			t.Errorf("%s: %s, want %s", c.name, faultText(faults), c.want)
		}
	}
	same := append(at("two.csv", f.answer(0, "anna", "Vague")), all...)
	if out, faults := f.Merge(none(), same, MergeOptions{}); len(faults) > 0 || out.Train != 2 {
		t.Errorf("the same answer in two files: %s", faultText(faults))
	}
	out, faults := f.Merge(none(), all[:1], MergeOptions{Partial: true})
	if len(faults) > 0 || out.Train != 1 || !reflect.DeepEqual(out.Missing,
		[]string{"B001-0002", "B001-0003", "B001-0004"}) {
		t.Errorf("partial: %+v %s", out, faultText(faults))
	}
}

type made struct{ By []string }

func TestRows(t *testing.T) {
	f := wallBatch(t)
	all := twoReviewers(f)[:4]
	out, _ := f.Merge(none(), all, MergeOptions{})
	train, random, err := out.Rows(f, func(d *Decision) any { return made{d.By} })
	if err != nil || len(train) != 2 || len(random) != 1 {
		t.Fatal(train, random, err)
	}
	if got := strings.Join(random[0].Columns(), " "); got != "id answer passage question system labels provenance" {
		t.Errorf("columns %s", got)
	}
	labels, err := random[0].Labels(f.Taxonomy)
	raw, _ := random[0].Get("provenance")
	if err != nil || !reflect.DeepEqual(labels, []string{"No Error"}) || string(raw) != `{"By":["anna"]}` ||
		random[0].ID != "row-B001-0002" {
		t.Errorf("%s: %v, %s, %v", random[0].ID, labels, raw, err)
	}
}

func TestAuto(t *testing.T) {
	f := wallBatch(t)
	by := func(by []string) any { return made{by} }
	if rows, err := f.Auto(nil, by); err != nil || rows != nil {
		t.Errorf("without a file: %v, %v", rows, err)
	}
	const fields = `"question":"Who?","answer":"A mason.","passage":"p"`
	lines := `{"row_id":"x1","why":"w","row":{"id":"x1",` + fields + `,"diagnosis":{"labels":["OK"],"model":"m@1"},"verification":{"probability":0.9,"model":"v@1"}},"proposed":{"labels":["No Error"]}}
{"row_id":"x2","row":` + string(f.All[0].Row) + `,"proposed":{"labels":["Vague"]}}
`
	path := filepath.Join(f.Dir, AutoFile)
	if err := os.WriteFile(path, []byte(lines), 0o644); err != nil {
		t.Fatal(err)
	}
	rows, err := f.Auto(nil, by)
	if err != nil || len(rows) != 1 { // the second was reviewed
		t.Fatal(rows, err)
	}
	raw, _ := rows[0].Get("provenance")
	if got := strings.Join(rows[0].Columns(), " "); got != "id question answer passage labels provenance" ||
		string(raw) != `{"By":["m@1","v@1"]}` {
		t.Errorf("columns %s, provenance %s", got, raw)
	}
	if err := os.WriteFile(path, []byte(`{"row_id":"x1","row":{`+fields+`},"proposed":{"labels":["Vagu"]}}`),
		0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Auto(nil, by); err == nil || !strings.Contains(err.Error(),
		"auto.jsonl:1: "+f.Taxonomy.ID()+` has no label "Vagu"`) {
		t.Error(err)
	}
}

func TestConfig(t *testing.T) {
	read := func(text string) (Config, error) {
		var n yaml.Node
		if err := yaml.Unmarshal([]byte(text), &n); err != nil {
			t.Fatal(err)
		}
		return ReadConfig(n.Content[0].Content[1], "refine.yaml")
	}
	if c, err := read(ConfigText); err != nil || c != DefaultConfig() {
		t.Errorf("%+v, %v", c, err)
	}
	if c, err := read("review: {proposals: labels}"); err != nil || c.Proposals != "labels" {
		t.Errorf("%+v, %v", c, err)
	}
	if _, err := read("review:\n  proposals: some\n  more: 1\n"); err == nil || !strings.Contains(err.Error(),
		`refine.yaml:2: proposals: hidden, labels or probabilities is expected, not "some"`) ||
		!strings.Contains(err.Error(), `unknown key "more"`) {
		t.Error(err)
	}
	if c, err := ReadConfig(nil, ""); err != nil || c != DefaultConfig() {
		t.Errorf("%+v, %v", c, err)
	}
}
