package refine

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/report"
	"github.com/erreval/erreval/taxonomy"
)

// TestBestThreshold: F1 by hand. Of 0.9 yes, 0.8 no, 0.6 yes, 0.2 no the cuts give 2·1/(1+2) = 0.67, 2·1/(2+2) = 0.5,
// 2·2/(3+2) = 0.8, 2·2/(4+2) = 0.67: the third, between 0.6 and 0.2.
func TestBestThreshold(t *testing.T) {
	for _, c := range []struct {
		p    []float64
		yes  []bool
		want float64
	}{
		{[]float64{0.6, 0.9, 0.2, 0.8}, []bool{true, true, false, false}, 0.4},
		{[]float64{0.9, 0.1}, []bool{true, false}, 0.5},
		// Cuts below 0.9 and below 0.6: 2·1/(1+1) = 1 for the first alone.
		{[]float64{0.9, 0.6, 0.5}, []bool{true, false, false}, 0.75},
		// Equal ones cannot be told apart: all or none.
		{[]float64{0.4, 0.4, 0.4}, []bool{true, false, true}, 0.2},
	} {
		if got := bestThreshold(c.p, c.yes); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%v %v: %v, want %v", c.p, c.yes, got, c.want)
		}
	}
}

func TestChooseThresholds(t *testing.T) {
	y := notesTaxonomy(t)
	gold := &labelled{labels: [][]string{{"Wrong"}, {"Wrong", "Long"}, {"Fine"}}}
	var found []*dataset.Diagnosis
	for _, p := range []float64{0.3, 0.4, 0.1} {
		found = append(found, &dataset.Diagnosis{Probabilities: dataset.Probabilities{{Label: "Wrong", P: p},
			{Label: "Long", P: p}, {Label: "Fine", P: 1 - p}}})
	}
	got := chooseThresholds(y, gold, found, 2)
	// Wrong: all of it between 0.3 and 0.1. Long has one row, fewer than two, and moves down from 0.5 until all
	// labels are right, which they are above 0.3. Fine follows from the others.
	if len(got) != 2 || got["Wrong"] != 0.2 || got["Long"] != 0.32 {
		t.Errorf("%v", got)
	}
}

// TestThresholdsMoveTogether: alone, Wrong is best from 0.4 down (2·3/(4+3) = 6/7; from 0.6 on, 2·2/(2+3) = 4/5), but its
// false one takes Fine from the only row without error. From 0.6 on micro-F1 is as high, 2·3/(5+3) as 2·3/(7+1), and
// macro-F1 higher, (4/5 + 2/3)/2 beside (6/7 + 0)/2.
func TestThresholdsMoveTogether(t *testing.T) {
	gold := &labelled{labels: [][]string{{"Wrong"}, {"Wrong"}, {"Fine"}, {"Wrong"}}}
	var found []*dataset.Diagnosis
	for _, p := range []float64{0.9, 0.8, 0.5, 0.4} {
		found = append(found, &dataset.Diagnosis{Probabilities: dataset.Probabilities{{Label: "Wrong", P: p}}})
	}
	if got := chooseThresholds(notesTaxonomy(t), gold, found, 2)["Wrong"]; !(got > 0.5 && got <= 0.8) {
		t.Errorf("threshold %v, want one between 0.5 and 0.8", got)
	}
}

// TestEvaluate: four rows of two pages by hand. Right: W, F, W+L, F. The new model says W, F, W, F; the one before W,
// W, W, W. New: hits 4 of 4 said and 5 right, micro-F1 8/9, exact match 3/4, nothing said too much. Before: hits 2 of 4
// said, 4/9, exact 1/4, over-prediction 1/2.
func TestEvaluate(t *testing.T) {
	w := newWorkspace(t)
	w.Config.Promote.MinSupport, w.Config.Promote.Resamples = 1, 200
	gold := rowsOf(t, w, [][]string{{"Wrong"}, {"Fine"}, {"Wrong", "Long"}, {"Fine"}})
	found := diagnoses([]string{"Wrong"}, []string{"Fine"}, []string{"Wrong"}, []string{"Fine"})
	before := diagnoses([]string{"Wrong"}, []string{"Wrong"}, []string{"Wrong"}, []string{"Wrong"})
	e, err := w.evaluate(t.Context(), gold, found, before, map[string]bool{"page 1": true})
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string][3]float64{
		"micro_f1": {8.0 / 9, 4.0 / 9, 4.0 / 9}, "exact_match": {0.75, 0.25, 0.5}, "over_prediction": {0, 0.5, -0.5},
		// Wrong 1, Long 0, Fine 1; before: Wrong 2·2/(4+2).
		"macro_f1": {2.0 / 3, 2.0 / 9, 4.0 / 9},
	} {
		f := e.Figures[key]
		for i, got := range []report.Number{f.Value, f.Difference.Before, f.Difference.Value} {
			if math.Abs(float64(got)-want[i]) > 1e-12 {
				t.Errorf("%s: figure %d is %v, want %v", key, i, got, want[i])
			}
		}
		if f.Low > f.Value || f.High < f.Value || f.Difference.Low > f.Difference.Value ||
			f.Difference.High < f.Difference.Value {
			t.Errorf("%s lies outside of its interval: %+v", key, f)
		}
	}
	if e.Rows != 4 || e.Groups != 2 || e.Trained != 2 {
		t.Errorf("%d rows, %d groups, %d of trained groups", e.Rows, e.Groups, e.Trained)
	}
	// The most frequent set is Fine: 2 of 4 said right, 2·2/(4+5).
	if got := float64(e.Constant["micro_f1"]); math.Abs(got-4.0/9) > 1e-12 {
		t.Errorf("constant: %v", got)
	}
	if l := e.Labels[1]; l.Label != "Long" || l.Support != 1 || l.Predicted != 0 || l.F1 != 0 {
		t.Errorf("%+v", l)
	}
	found[0] = &dataset.Diagnosis{Labels: []string{"Other"}}
	if _, err := w.evaluate(t.Context(), gold, found, nil, nil); err == nil || !strings.Contains(err.Error(),
		`no label "Other"`) {
		t.Error(err)
	}
}

func rowsOf(t *testing.T, w *Workspace, labels [][]string) *labelled {
	t.Helper()
	l := &labelled{}
	for i, names := range labels {
		row, err := dataset.RowOf(map[string]any{"labels": names})
		if err != nil {
			t.Fatal(err)
		}
		row.ID, row.Values = fmt.Sprint(i), []string{fmt.Sprintf("note %d", i), fmt.Sprintf("page %d", i/2)}
		if err := l.add(w.Taxonomy, row); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

func diagnoses(labels ...[]string) (out []*dataset.Diagnosis) {
	for _, names := range labels {
		out = append(out, &dataset.Diagnosis{Labels: names})
	}
	return out
}

func TestDecide(t *testing.T) {
	first := &Figure{Figure: report.Figure{Value: 0.6}}
	figure := func(value, low, high report.Number) *Figure {
		d := report.Difference{Figure: report.Figure{Value: value, Low: low, High: high}}
		return &Figure{Figure: first.Figure, Difference: &Difference{Difference: d}}
	}
	for _, c := range []struct {
		name   string
		rule   string
		figure *Figure
		want   bool
	}{
		{"the first", RuleInterval, first, true},
		{"higher", RuleEstimate, figure(0.1, -0.1, 0.3), true},
		{"higher, by chance", RuleInterval, figure(0.1, -0.1, 0.3), false},
		{"higher for sure", RuleInterval, figure(0.1, 0.01, 0.3), true},
		{"equal", RuleEstimate, figure(0, 0, 0), false},
		{"unknown", RuleInterval, figure(0.1, report.Undefined, report.Undefined), false},
	} {
		w := &Workspace{Config: DefaultConfig()}
		w.Config.Promote.Rule = c.rule
		run := &training{w: w, before: -1,
			metrics: Metrics{Dev: &Evaluation{Figures: map[string]*Figure{"micro_f1": c.figure}}}}
		if run.decide(); c.figure.Difference != nil && !strings.Contains(run.metrics.Why, "which favours it") {
			t.Errorf("%s: the advantage over the model to start from is not told: %s", c.name, run.metrics.Why)
		}
		run.before = 0
		if run.decide(); strings.Contains(run.metrics.Why, "favours") || run.metrics.Promoted != c.want ||
			run.metrics.Why == "" {
			t.Errorf("%s: promoted %v, %s", c.name, run.metrics.Promoted, run.metrics.Why)
		}
	}
}

// TestMeasureVerifier: of four label sets two are right; the verifier says so of one right and one wrong one.
func TestMeasureVerifier(t *testing.T) {
	var rows []*dataset.Row
	for _, right := range []int{1, 1, 0, 0} {
		row, err := dataset.RowOf(map[string]any{"right": right})
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
	o := &TrainOptions{Identify: func(context.Context, string, *taxonomy.Taxonomy, []*dataset.Row) ([]*dataset.Diagnosis,
		string, error) {
		return diagnoses([]string{RightLabels}, nil, []string{RightLabels}, nil), "v@1", nil
	}}
	s, err := measureVerifier(t.Context(), o, "dir", nil, rows)
	if err != nil || *s != (VerifierScores{Model: "v@1", Rows: 4, Right: 2, Accuracy: 0.5, Precision: 0.5,
		Recall: 0.5, F1: 0.5}) {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestVerifierTask(t *testing.T) {
	y := notesTaxonomy(t)
	v := VerifierTask(y)
	if got := v.FieldNames(); !slices.Equal(got, []string{"labels", "note", "page"}) || v.NoErrorIndex() != -1 {
		t.Errorf("%q", got)
	}
	if got := VerifierValues(y, []string{"Long", "Wrong"}, []string{"n", "p"}); !slices.Equal(got,
		[]string{"Wrong, Long", "n", "p"}) {
		t.Errorf("%q", got)
	}
}

// TestCollectKeepsMeasuringRowsOut: whatever stands in train/, no row of a development row's group is trained on, and
// no row of a random slice, not even under another id.
func TestCollectKeepsMeasuringRowsOut(t *testing.T) {
	w := newWorkspace(t)
	page := groupsIn(t, w, w.Path(DevFile))[0]
	row := func(id, note, page string) string {
		return fmt.Sprintf(`{"id":%q,"note":%q,"page":%q,"labels":["Wrong"]}`+"\n", id, note, page)
	}
	write(t, w.Path(RandomDir, "B001.jsonl"), row("r1", "drawn", "Z"))
	write(t, w.Path(TrainDir, "B001.jsonl"), row("x1", "new", "Z")+row("x2", "drawn", "Z")+row("x3",
		"beside a development row", page))
	run := &training{w: w, groups: map[string]bool{}}
	if err := run.collect(); err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, row := range run.train.rows {
		ids = append(ids, row.ID)
	}
	if len(ids) != 5 || !slices.Contains(ids, "x1") || run.metrics.Training.Left != 2 || len(run.random.rows) != 1 {
		t.Errorf("trained on %v, %d left out", ids, run.metrics.Training.Left)
	}
}

// TestBestThresholdOfEqualOnes: three rows have 0.6, one of them the label. They stand or fall together: F1 is
// 2·1/(3+1) with a threshold between 0.6 and 0.2, 2·1/(4+1) below.
func TestBestThresholdOfEqualOnes(t *testing.T) {
	if got := bestThreshold([]float64{0.6, 0.6, 0.6, 0.2}, []bool{true, false, false, false}); math.Abs(got-0.4) > 1e-12 {
		t.Errorf("threshold %v, want 0.4", got)
	}
}

// TestBestThresholdOfTies: F1 is 2/3 from 0.9 on (2·1/(1+2)) and again below 0.1 (2·2/(4+2)). The gap below 0.9 is the
// wider one. In the second case it is the one below the last row, 0.6 to 0.
func TestBestThresholdOfTies(t *testing.T) {
	for _, c := range []struct {
		p    []float64
		yes  []bool
		want float64
	}{
		{[]float64{0.9, 0.4, 0.3, 0.1}, []bool{true, false, false, true}, 0.65},
		{[]float64{0.9, 0.8, 0.7, 0.6}, []bool{true, false, false, true}, 0.3},
	} {
		if got := bestThreshold(c.p, c.yes); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%v: threshold %v, want %v", c.p, got, c.want)
		}
	}
}

// TestVerifierRowsOfTraining: rows that only show the identifier's mistakes are not trained on.
func TestVerifierRowsOfTraining(t *testing.T) {
	w := newWorkspace(t)
	var known, wanted labelled
	add := func(l *labelled) func(*dataset.Row) error {
		return func(row *dataset.Row) error { return l.add(w.Taxonomy, row) }
	}
	if err := errors.Join(w.EachRow(w.Path(DevFile), add(&known)), w.EachRow(w.Path(TrainDir, StartRows),
		add(&wanted))); err != nil {
		t.Fatal(err)
	}
	rows, err := w.verifierRows(judged(&wanted, nil), judged(&known, nil))
	if err != nil || len(rows) < len(wanted.rows) {
		t.Fatal(len(rows), err)
	}
	for _, row := range rows {
		if slices.ContainsFunc(known.rows, func(dev *dataset.Row) bool { return strings.HasPrefix(row.ID, dev.ID+"~") }) {
			t.Errorf("%s is trained on", row.ID)
		}
	}
}
