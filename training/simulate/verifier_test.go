package simulate

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/taxonomy"
)

// small is a taxonomy of three errors and one label for none; plain has no such label.
const (
	smallYAML = `name: small
version: "1"
title: Small
fields:
  - {name: text, definition: a text}
types:
  - {name: Red, code: R, category: c, definition: r}
  - {name: Green, code: G, category: c, definition: g}
  - {name: Blue, code: B, category: c, definition: b}
  - {name: Clean, code: K, category: c, definition: none, no_error: true}
dimensions:
  - name: Hue
    definition: h
    criteria: [{score: 1, text: low}, {score: 2, text: high}]
    steps: [Look.]
    types: [Red]
`
	plainYAML = `name: plain
version: "1"
title: Plain
fields:
  - {name: text, definition: a text}
types:
  - {name: Red, code: R, category: c, definition: r}
dimensions:
  - name: Hue
    definition: h
    criteria: [{score: 1, text: low}, {score: 2, text: high}]
    steps: [Look.]
    types: [Red]
`
)

func parse(t *testing.T, yaml string) *taxonomy.Taxonomy {
	t.Helper()
	tax, err := taxonomy.Parse([]byte(yaml), "test.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return tax
}

func judged(id string, d *dataset.Diagnosis, labels ...string) Judged {
	return Judged{Row: &dataset.Row{ID: id, Values: []string{"text " + id}}, Labels: labels, Diagnosis: d}
}

func verifier(t *testing.T, rows []Judged, o VerifierOptions) (out []VerifierRow) {
	t.Helper()
	if err := Verifier(rows, o, func(r VerifierRow) error { out = append(out, r); return nil }); err != nil {
		t.Fatal(err)
	}
	return out
}

func manyJudged(n int) (rows []Judged) {
	sets := [][]string{{"Clean"}, {"Red"}, {"G"}, {"Red", "Blue"}, {"Clean"}}
	for i := range n {
		rows = append(rows, judged(fmt.Sprint("r", i), nil, sets[i%len(sets)]...))
	}
	return rows
}

// TestVerifierNegatives states what holds of each wrong set by how it was made.
func TestVerifierNegatives(t *testing.T) {
	tax := parse(t, smallYAML)
	rows := manyJudged(500)
	var right []string
	made := map[string]int{}
	for _, r := range verifier(t, rows, VerifierOptions{tax, 1, 0.75}) {
		if r.Right {
			right = r.Labels
			continue
		}
		made[r.Mechanism]++
		if slices.Equal(r.Labels, right) || len(r.Labels) == 0 || slices.Contains(r.Labels, "Clean") && len(r.Labels) > 1 {
			t.Fatalf("%s: %v is no wrong set for %v", r.Row.ID, r.Labels, right)
		}
		errors := func(s []string) int {
			return len(slices.DeleteFunc(slices.Clone(s), func(l string) bool { return l == "Clean" }))
		}
		if got, want := errors(r.Labels)-errors(right), map[string]int{Dropped: -1, Added: 1,
			Swapped: 0}[r.Mechanism]; got != want {
			t.Errorf("%s made %v of %v", r.Mechanism, r.Labels, right)
		}
	}
	if made[Dropped] == 0 || made[Added] == 0 || made[Swapped] == 0 || made[NearMiss] != 0 {
		t.Errorf("made %v; every edit is expected, and no near miss without an identifier", made)
	}
}

func TestVerifierShareAndRepeatability(t *testing.T) {
	tax := parse(t, smallYAML)
	rows := manyJudged(2000)
	for _, share := range []float64{0.2, 0.5, 0.6} {
		a := verifier(t, rows, VerifierOptions{tax, 7, share})
		wrong := 0
		for _, r := range a {
			if !r.Right {
				wrong++
			}
		}
		if got := float64(wrong) / float64(len(a)); math.Abs(got-share) > 0.02 {
			t.Errorf("%v of the rows are wrong, %v were asked for", got, share)
		}
		if !reflect.DeepEqual(a, verifier(t, rows, VerifierOptions{tax, 7, share})) {
			t.Error("one seed, two results")
		}
	}
	byRow := map[string]string{}
	for _, r := range verifier(t, rows, VerifierOptions{tax, 7, 0.5}) {
		byRow[r.Row.ID] += r.Text() + ";"
	}
	slices.Reverse(rows)
	for _, r := range verifier(t, rows, VerifierOptions{tax, 7, 0.5}) {
		byRow[r.Row.ID] = strings.TrimPrefix(byRow[r.Row.ID], r.Text()+";")
	}
	for id, left := range byRow {
		if left != "" {
			t.Fatalf("row %s: another order of rows gives other sets: %q", id, left)
		}
	}
}

func TestVerifierGivesEverySetOnce(t *testing.T) {
	got := verifier(t, []Judged{judged("a", nil, "Clean")}, VerifierOptions{parse(t, smallYAML), 1, 0.95})
	var texts []string
	for _, r := range got {
		texts = append(texts, r.Text())
	}
	slices.Sort(texts)
	if want := []string{"Blue", "Clean", "Green", "Red"}; !slices.Equal(texts, want) {
		t.Errorf("sets %q, want %q: all that are one edit away, each once", texts, want)
	}
	one := verifier(t, []Judged{judged("a", nil, "R")}, VerifierOptions{parse(t, plainYAML), 1, 0.9})
	if len(one) != 2 || len(one[1].Labels) != 0 || one[1].Right {
		t.Errorf("without a no-error label the set without labels is wrong for Red; got %+v", one)
	}
}

func found(labels []string, red, green, blue float64) *dataset.Diagnosis {
	return &dataset.Diagnosis{Labels: labels, Probabilities: dataset.Probabilities{{Label: "Red", P: red},
		{Label: "Green", P: green}, {Label: "Blue", P: blue}, {Label: "Clean", P: 0}}}
}

// TestVerifierNearMiss: an identifier that gives Green beside each Red, and is sure of it.
func TestVerifierNearMiss(t *testing.T) {
	tax := parse(t, smallYAML)
	var rows []Judged
	for i := range 200 {
		rows = append(rows, judged(fmt.Sprint("p", i), found([]string{"Red", "Green"}, 1, 0.9, 0), "Red"))
	}
	for i := range 200 { // nothing known of these but what holds for the others
		rows = append(rows, judged(fmt.Sprint("t", i), nil, "Red"))
	}
	near := map[string]int{}
	for _, r := range verifier(t, rows, VerifierOptions{tax, 1, 0.5}) {
		if r.Mechanism != NearMiss {
			continue
		}
		near[r.Row.ID[:1]]++
		if want := "Red, Green"; r.Text() != want { // missed is 0 for Red, so it is neither dropped nor swapped
			t.Fatalf("%s: near miss %q, want %q", r.Row.ID, r.Text(), want)
		}
	}
	if near["p"] < 70 || near["t"] < 70 || near["p"] > 130 || near["t"] > 130 {
		t.Errorf("near misses %v; about half of 200 each were expected", near)
	}
}

func TestVerifierErrors(t *testing.T) {
	tax := parse(t, smallYAML)
	for name, c := range map[string]struct {
		row  Judged
		want string
	}{
		"unknown":       {judged("a", nil, "Pink"), `row a: small@1 has no label "Pink"; it has Red, Green, Blue, Clean`},
		"contradiction": {judged("a", nil, "Red", "K"), `row a: "Clean" stands beside other labels`},
		"none":          {judged("a", nil), `row a: no label; write "Clean"`},
		"diagnosis": {judged("a", &dataset.Diagnosis{Labels: []string{"Pink"}}, "Red"),
			`row a: its diagnosis: small@1 has no label "Pink"`},
	} {
		err := Verifier([]Judged{c.row}, VerifierOptions{tax, 1, 0.5}, func(VerifierRow) error { return nil })
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	for _, o := range []VerifierOptions{{tax, 1, 0}, {tax, 1, 1}, {tax, 1, math.NaN()}, {nil, 1, 0.5}} {
		if Verifier(nil, o, nil) == nil {
			t.Errorf("%+v was taken", o)
		}
	}
}

func TestVerifierRecord(t *testing.T) {
	tax := parse(t, smallYAML)
	r := VerifierRow{Row: &dataset.Row{ID: "x", Values: []string{"some text"}}, Labels: []string{"Red", "Blue"},
		Mechanism: Added}
	row, err := r.Record(tax, 2)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range row.Columns() {
		v, _ := row.Get(c)
		got = append(got, c+"="+string(v))
	}
	if want := `id="x~v2" origin="x" text="some text" labels=["Red","Blue"] right=0 mechanism="added-label"`; strings.Join(got, " ") != want {
		t.Errorf("record\n%s, want\n%s", strings.Join(got, " "), want)
	}
}

func FuzzVerifier(f *testing.F) {
	f.Add("Red;Blue", "Clean", 0.5, uint64(1))
	f.Add("", "Red;Red", 0.99, uint64(2))
	f.Fuzz(func(t *testing.T, right, diagnosed string, share float64, seed uint64) {
		share = math.Min(share, 0.99) // more than all sets are not made anyway
		rows := []Judged{judged("a", &dataset.Diagnosis{Labels: strings.Split(diagnosed, ";")}, strings.Split(right, ";")...),
			judged("b", nil, "Red")}
		var was []string
		_ = Verifier(rows, VerifierOptions{parse(t, smallYAML), seed, share}, func(r VerifierRow) error {
			if r.Right {
				was = r.Labels
			} else if slices.Equal(was, r.Labels) {
				t.Errorf("%v is given as wrong and right", was)
			}
			return nil
		})
	})
}
