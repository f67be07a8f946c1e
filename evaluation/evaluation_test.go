package evaluation

import (
	"context"
	"encoding/json"
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

func questions(t *testing.T) *taxonomy.Taxonomy {
	t.Helper()
	tax, err := taxonomy.Builtin("question-generation")
	if err != nil {
		t.Fatal(err)
	}
	return tax
}

// rows of a file whose lines have the fields q (question), p (passage) and others. A line that begins with a space goes
// on.
func rows(t *testing.T, lines string) func() (*dataset.Row, error) {
	t.Helper()
	lines = strings.NewReplacer("\n ", "", `"q":`, `"answer":"x","question":`, `"p":`, `"passage":`).Replace(lines)
	return dataset.NewReader(strings.NewReader(lines), "f", dataset.Options{Taxonomy: questions(t)}).Read
}

func numbers(r map[string]report.Figure, keys ...string) string {
	var out []string
	for _, key := range keys {
		out = append(out, r[key].Text("%.3f"))
	}
	return strings.Join(out, " ")
}

// A type that the model judges in no row is left out of gold labels too: b is right, of c the other error counts.
func TestLabelsNotJudged(t *testing.T) {
	o := DefaultLabelOptions(questions(t))
	o.Intervals.Resamples = 0
	labels, err := NewLabels(o)
	if err != nil {
		t.Fatal(err)
	}
	gold := `{"id":"a","q":"1","p":"A","labels":["No Error"]}
{"id":"b","q":"2","p":"A","labels":["Vague"]}
{"id":"c","q":"3","p":"B","labels":["Vague","Spell Error"]}`
	found := `{"id":"a","q":"1","p":"A","diagnosis":{"labels":["No Error"],"not_judged":["Vague"],"model":"m@1"}}
{"id":"b","q":"2","p":"A","diagnosis":{"labels":["No Error"],"not_judged":["Vague"],"model":"m@1"}}
{"id":"c","q":"3","p":"B","diagnosis":{"labels":["No Error"],"not_judged":["Vague"],"model":"m@1"}}`
	if err := labels.ReadGold(t.Context(), "gold", rows(t, gold)); err != nil {
		t.Fatal(err)
	}
	if err := labels.ReadPredictions(t.Context(), "found", rows(t, found)); err != nil {
		t.Fatal(err)
	}
	r, err := labels.ComputeReport(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := numbers(r.Predictions[0].Metrics, "micro_f1", "exact_match"); got != "0.667 0.667" ||
		strings.Join(r.NotJudged, ",") != "Vague" {
		t.Errorf("%s without %q; want 0.667 0.667 without Vague", got, r.NotJudged)
	}
}

// By hand: of a1 (right), a2 (missed: No Error instead) and b1 (untagged) two are scored. Over these, tp 1, fp 1, fn 1;
// with b1 as wrong fn is 2: 2 ÷ (2 + 1 + 2).
func TestLabelsLeavesOutRowsWithoutPrediction(t *testing.T) {
	o := DefaultLabelOptions(questions(t))
	o.Confusion, o.Intervals.Resamples = true, 0
	labels, err := NewLabels(o)
	if err != nil {
		t.Fatal(err)
	}
	gold := `{"id":"a1","q":"1","p":"A","labels":["No Error"]}
{"id":"a2","q":"2","p":"A","labels":["Vague"]}
{"id":"b1","q":"3","p":"B","labels":["Vague"]}
{"id":"b2","q":"4","p":"B"}`
	found := `{"id":"a1","q":"1","p":"A","diagnosis":{"labels":["No Error"],"model":"m@1"}}
{"id":"a2","q":"2","p":"A","diagnosis":{"labels":["No Error"],"model":"m@1"}}
no row
{"id":"b1","q":"3","p":"B","diagnosis":{"status":"untagged","reason":"empty"}}`
	if err := labels.ReadGold(t.Context(), "gold", rows(t, gold)); err != nil {
		t.Fatal(err)
	}
	if err := labels.ReadPredictions(t.Context(), "found", rows(t, found)); err != nil {
		t.Fatal(err)
	}
	r, err := labels.ComputeReport(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	one := r.Predictions[0]
	counts := PredictionCounts{Scored: 2, Untagged: 1, Rejected: 1, NoProbabilities: 2}
	if r.Rows != (GoldCounts{Gold: 3, Unlabelled: 1}) || one.Counts != counts {
		t.Errorf("%+v, %+v", r.Rows, one.Counts)
	}
	if got := numbers(one.Metrics, "micro_f1", "exact_match"); got != "0.500 0.500" {
		t.Error(got)
	}
	if got := one.UnscoredAsWrong["micro_f1"].Text("%.1f"); got != "0.4" {
		t.Error(got)
	}
	if len(r.Warnings()) != 2 || len(r.Warnings()[1].Faults) != 1 || !r.IsIncomplete() ||
		r.Warnings()[1].Notes[0] != "found: 1 of 3 gold rows have no prediction and are left out of the figures" {
		t.Errorf("%+v", r.Warnings())
	}
	var text strings.Builder
	want := "Vague: 1 of 1 missed: No Error 1\n"
	if err := r.Report().Text(&text, 0); err != nil || !strings.Contains(text.String(), want) {
		t.Error(text.String(), err)
	}
}

func TestLabelsErrors(t *testing.T) {
	tagged := `{"id":"a1","q":"1","p":"A","labels":["No Error"],"diagnosis":{"labels":["No Error"]}}`
	for name, c := range map[string]struct {
		gold, found string
		change      func(*LabelOptions)
		want        string
		kind        func(error) bool
	}{
		"a gold label of another taxonomy": {gold: strings.Replace(tagged, "No Error", "Bad", 1),
			want: `f:1: row a1: column "labels": `, kind: isUnfit},
		"a label found of another": {gold: tagged, found: strings.ReplaceAll(tagged, "No Error", "Bad"),
			want: `f:1: row a1: question-generation`, kind: isUnfit},
		"no such group": {gold: tagged, change: func(o *LabelOptions) { o.Intervals.Group = "g" },
			want: `f:1: --group: row a1 has no column "g"`, kind: isOption},
		"no verdict": {gold: tagged, change: func(o *LabelOptions) { o.Verdict = "answer" },
			want: `f:1: --auc: row a1: column "answer" is "x", not true`, kind: isOption},
		"nothing passes": {gold: tagged, change: func(o *LabelOptions) { o.Where = map[string]string{"id": "b"} },
			want: `gold: no row has id=b (values are a1)`},
		"no gold labels": {gold: strings.Replace(tagged, "labels", "other", 1), want: `gold: none of 1 rows has gold labels`},
		"no ids in common": {gold: tagged, found: strings.Replace(tagged, "a1", "b1", 1),
			want: `no gold row has a prediction: gold: 1 gold rows; found: 0 scored, 1 missing`},
		"too few": {change: func(o *LabelOptions) { o.MinSupport = -1 },
			want: "--min-support -1: a number of rows", kind: isOption},
		"too few resamples": {change: func(o *LabelOptions) { o.Intervals.Resamples = -1 },
			want: "--bootstrap -1: a number of resamples", kind: isOption},
	} {
		o := DefaultLabelOptions(questions(t))
		if c.change != nil {
			c.change(&o)
		}
		err := measureLabels(t, o, c.gold, c.found)
		if err == nil || !strings.Contains(err.Error(), c.want) || c.kind != nil && !c.kind(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	var none Labels
	if none.ReadPredictions(t.Context(), "f", rows(t, tagged)) == nil {
		t.Error("predictions without gold labels")
	}
	if _, err := none.ComputeReport(t.Context()); err == nil {
		t.Error("figures of nothing")
	}
}

func measureLabels(t *testing.T, o LabelOptions, gold, found string) error {
	labels, err := NewLabels(o)
	if err != nil {
		return err
	}
	if err := labels.ReadGold(t.Context(), "gold", rows(t, gold)); err != nil {
		return err
	}
	if err := labels.ReadPredictions(t.Context(), "found", rows(t, found)); err != nil {
		return err
	}
	_, err = labels.ComputeReport(t.Context())
	return err
}

func isUnfit(err error) bool { return errors.Is(err, report.ErrUnfit) }

func isOption(err error) bool {
	var option *OptionError
	return errors.As(err, &option)
}

func measureScores(t *testing.T, o ScoreOptions, files ...string) (*ScoreReport, error) {
	scores, err := NewScores(o)
	if err != nil {
		return nil, err
	}
	for i, file := range files {
		if err := scores.ReadScores(t.Context(), fmt.Sprint("file", i), rows(t, file)); err != nil {
			return nil, err
		}
	}
	return scores.ComputeReport(t.Context())
}

const (
	rated = `{"id":"a","q":"1","p":"A","system":"s","h":3,"scores":{"fluency":{"value":3}}}
{"id":"b","q":"2","p":"A","system":"s","h":1,"scores":{"fluency":{"value":1}}}
{"id":"c","q":"3","p":"B","system":"t","h":2,"scores":{"fluency":{"value":2}}}
{"id":"d","q":"4","p":"B","system":"t","h":2,"scores":{"fluency":{"value":3}}}
{"id":"e","q":"5","p":"C","system":"t","h":2,"scores":{"fluency":{"status":"unscored","reason":"untagged"}}}`
	perfect = `{"id":"a","q":"1","p":"A","scores":{"fluency":{"value":3}}}
{"id":"b","q":"2","p":"A","scores":{"fluency":{"value":1}}}
{"id":"c","q":"3","p":"B","scores":{"fluency":{"value":2}}}
{"id":"d","q":"4","p":"B","scores":{"fluency":{"value":2}}}
{"id":"e","q":"another","p":"C","scores":{"fluency":{"value":2}}}`
)

// By hand for the first file: values 3 1 2 3, human 3 1 2 2. Pearson 2/√(2.75·2) = 0.853; Spearman 3.75/4.5; concordant
// pairs 4 of 6, one tied in each: tau-b 4/5. Low are b, c, d, of which d is judged high. The second file agrees with
// people.
func TestScoresByHand(t *testing.T) {
	o := DefaultScoreOptions(questions(t))
	o.Human, o.Intervals.Resamples = []HumanScores{{"fluency", []string{"h"}}}, 0
	r, err := measureScores(t, o, rated, perfect)
	if err != nil {
		t.Fatal(err)
	}
	first := r.Files[0].Dimensions[0]
	got := numbers(first.Metrics, "pearson", "spearman", "kendall", "overestimation")
	if got != "0.853 0.833 0.800 0.333" {
		t.Error(got)
	}
	if first.Human != 5 || first.Unscored != 1 || first.Rows != 4 || first.LowRows != 3 || first.HumanMean != 2 {
		t.Errorf("%+v", first)
	}
	d := r.Difference.Dimensions[0].Metrics["pearson"]
	if d.Text("%+.3f") != "+0.147" || d.Better != report.Higher || d.P.Defined() {
		t.Errorf("%+v", d)
	}
	if r.Files[1].Missing != 1 || !r.IsIncomplete() || len(r.Warnings()) != 2 {
		t.Errorf("%+v", r.Files[1])
	}
	if data, err := r.DrawScores("svg"); err != nil || !strings.Contains(string(data), "fluency (4 rows)") {
		t.Error(string(data), err)
	}
}

// Where all of 20 rows are overestimated, the interval is Wilson's with Student's t of 20 groups, 2.093, and not a point:
// n ÷ (n + t²) = 20 ÷ 24.38. The score has one value, which is said.
func TestScoresThatDoNotVary(t *testing.T) {
	o := DefaultScoreOptions(questions(t))
	o.Human, o.Intervals.Resamples = []HumanScores{{"fluency", []string{"h"}}}, 50
	var lines []string
	for i := range 20 {
		lines = append(lines, fmt.Sprintf(`{"id":"%d","q":"%d","p":"%d","h":%d,"scores":{"fluency":{"value":3}}}`, i, i, i,
			1+i%2))
	}
	r, err := measureScores(t, o, strings.Join(lines, "\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, figures := range []map[string]report.Figure{r.Files[0].Dimensions[0].Metrics, r.Files[0].Average} {
		if f := figures["overestimation"].Text("%.3f"); f != "1.000 [0.820, 1.000]" {
			t.Error(f)
		}
	}
	want := "scores in file0 of fluency are 3 in 100 % of the rows: correlations with scores that hardly vary mean little"
	if !slices.Contains(r.Report().Facts, want) || slices.ContainsFunc(r.Report().Facts, func(fact string) bool {
		return strings.HasPrefix(fact, "human scores of fluency are")
	}) {
		t.Error(r.Report().Facts)
	}
}

func TestScoresErrors(t *testing.T) {
	human := func(dimension string, columns ...string) func(*ScoreOptions) {
		return func(o *ScoreOptions) { o.Human = append(o.Human, HumanScores{dimension, columns}) }
	}
	for name, c := range map[string]struct {
		change func(*ScoreOptions)
		files  []string
		want   string
	}{
		"no human scores": {change: func(o *ScoreOptions) { o.Human = nil }, want: "no people's scores; give --human"},
		"no dimension": {change: human("beauty", "h"),
			want: "--human: " + questions(t).ID() + ` has no dimension "beauty"`},
		"a dimension more": {change: human("fluency", "h"), want: `--human: dimension "fluency" is given twice`},
		"no column": {change: human("clarity", "x"), files: []string{rated},
			want: `--human clarity: no row of file0 has a column "x"`},
		"no number": {change: human("clarity", "answer"), files: []string{rated},
			want: `f:1: --human clarity: row a: column "answer" is "x", not a number`},
		"no system": {change: func(o *ScoreOptions) { o.System = "s" }, files: []string{rated},
			want: `f:1: --by: row a has no column "s"`},
		"limits":       {change: func(o *ScoreOptions) { o.Low = 3 }, want: "--low 3, --high 2.5: a low row"},
		"no aggregate": {change: func(o *ScoreOptions) { o.ByMode = true }, want: "set Aggregate"},
	} {
		t.Run(name, func(t *testing.T) {
			o := DefaultScoreOptions(questions(t))
			o.Human = []HumanScores{{"fluency", []string{"h"}}}
			c.change(&o)
			_, err := measureScores(t, o, c.files...)
			if err == nil || !strings.Contains(err.Error(), c.want) || !isOption(err) {
				t.Errorf("got %v, want an error of options: %s", err, c.want)
			}
		})
	}
	o := DefaultScoreOptions(questions(t))
	o.Human = []HumanScores{{"fluency", []string{"h"}}}
	for _, files := range [][]string{nil, {""}, {rated, rated, rated}} {
		if _, err := measureScores(t, o, files...); err == nil {
			t.Errorf("%d files", len(files))
		}
	}
}

// first takes the first value.
func first(runs []dataset.Run) (float64, bool) {
	for _, r := range runs {
		if r.Value != nil {
			return *r.Value, true
		}
	}
	return 0, false
}

// By hand: vanilla 3 3 2, error-aware 3 1 2, on passages A, A and B: the lift is −2/3. Row d has no verdict in one
// mode, row e none of a judge; planted runs count nowhere.
const judged = `{"id":"a","q":"1","p":"A","scores":{"fluency":{"value":3,"runs":[
  {"judge":"j","mode":"vanilla","value":3},{"judge":"j","mode":"error-aware","planted":"Vague","value":1},
  {"judge":"j","mode":"error-aware","value":3}]}}}
{"id":"b","q":"2","p":"A","scores":{"fluency":{"value":1,"runs":[{"judge":"j","mode":"vanilla","value":3},
  {"judge":"j","mode":"error-aware","value":1}]}}}
{"id":"c","q":"3","p":"B","scores":{"fluency":{"value":2,"runs":[{"judge":"j","mode":"vanilla","value":2},
  {"judge":"j","mode":"error-aware","value":2}]}}}
{"id":"d","q":"4","p":"B","scores":{"fluency":{"status":"unscored","reason":"cut","runs":[
  {"judge":"j","mode":"vanilla","value":2},
  {"judge":"j","mode":"error-aware","status":"unscored","reason":"cut"}]}}}
{"id":"e","q":"5","p":"B","scores":{"fluency":{"value":2,"runs":[{"judge":"offline","mode":"error-aware","value":2}]}}}`

func TestLift(t *testing.T) {
	o := DefaultScoreOptions(questions(t))
	o.ByMode, o.Aggregate = true, first
	r, err := measureScores(t, o, judged)
	if err != nil {
		t.Fatal(err)
	}
	l := r.Lift[0]
	if l.Rows != 3 || l.Unscored != 1 || l.Changed != 1 || math.Abs(float64(l.Lift)+2./3) > 1e-9 || !r.IsIncomplete() {
		t.Errorf("%+v", l)
	}
	if l.Low != -1 || l.High != 0 || !l.P.Defined() { // resamples of A alone and of B alone
		t.Errorf("%+v", l)
	}
	if r.Lift[1].Rows != 0 || r.Lift[1].Lift.Defined() {
		t.Errorf("%+v", r.Lift[1])
	}
	if data, err := r.DrawLift("svg"); err != nil || !strings.Contains(string(data), "fluency (3 rows)") {
		t.Error(string(data), err)
	}
	var text strings.Builder
	if err := WriteLift(&text, r.Lift[:1], 2); err != nil || !strings.Contains(text.String(), "-0.67 [-1.00, +0.00] p=") ||
		!strings.HasSuffix(text.String(), "1 of 3\nlift: 2 groups, too few for an interval to trust\n") {
		t.Errorf("%q, %v", text.String(), err)
	}
	if _, err := measureScores(t, o, judged, judged); err == nil {
		t.Error("the modes of two files")
	}
	if _, err := measureScores(t, o, rated); err == nil || !strings.Contains(err.Error(), "was judged in both modes") {
		t.Error(err)
	}
}

// Rows of one passage tell nothing about others.
func TestLiftOfOneGroup(t *testing.T) {
	l := NewLift(questions(t), first)
	read := rows(t, judged[:strings.Index(judged, `{"id":"c"`)])
	_, err := dataset.EachRow(t.Context(), read, func(row *dataset.Row) error {
		scores, err := row.Scores()
		l.AddRow(row.Values[2], scores)
		return err
	})
	if err != nil || l.CountGroups() != 1 {
		t.Fatal(l.CountGroups(), err)
	}
	got, err := l.ComputeRows(t.Context(), report.DefaultIntervals())
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(got[0])
	want := `{"dimension":"fluency","rows":2,"unscored":0,"vanilla":3,"error_aware":2,"lift":-1,"low":null,"high":null,` +
		`"p":null,"changed":1}`
	if err != nil || string(data) != want {
		t.Errorf("%s, %v", data, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.ComputeRows(ctx, report.DefaultIntervals()); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestScoresOfFewGroups: groups and systems are those of the rows that people rated, in each dimension by itself; rows
// without a rating change no interval.
func TestScoresOfFewGroups(t *testing.T) {
	o := DefaultScoreOptions(questions(t))
	o.Human = []HumanScores{{"fluency", []string{"h"}}, {"clarity", []string{"c"}}}
	var lines, few []string
	for i := range 30 {
		line := fmt.Sprintf(`{"id":"%d","q":"%d","p":"P%d","system":"s%d","scores":{"fluency":{"value":%d},`+
			`"clarity":{"value":%d}}`, i, i, i, i%3, 1+i%3, 1+i%2)
		switch {
		case i < 4:
			line += fmt.Sprintf(`,"h":%d,"c":%d`, 1+i/2, 1+i%2)
		case i < 8:
			line += fmt.Sprintf(`,"h":%d`, 1+i%3)
		}
		if lines = append(lines, line+"}"); i < 8 {
			few = append(few, line+"}")
		}
	}
	all, err := measureScores(t, o, strings.Join(lines, "\n"))
	if err != nil {
		t.Fatal(err)
	}
	some, err := measureScores(t, o, strings.Join(few, "\n"))
	if err != nil {
		t.Fatal(err)
	}
	if all.Rows != 30 || all.Used != 8 || all.Groups != 8 {
		t.Errorf("%d rows, %d used, %d groups", all.Rows, all.Used, all.Groups)
	}
	for d := range o.Human {
		got, want := all.Files[0].Dimensions[d].Metrics, some.Files[0].Dimensions[d].Metrics
		for key := range want {
			if a, b := numbers(got, key), numbers(want, key); a != b {
				t.Errorf("%s of dimension %d: %s among rows that nobody rated, %s alone", key, d, a, b)
			}
		}
	}
	text := strings.Join(all.Report().Facts, "\n")
	for _, want := range []string{"30 rows, of which figures use 8, in 8 groups", "only 8 groups",
		"clarity has only 4 groups"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}

// By hand: 3 systems have 6 orders, of which one is the same and one its reverse; of 5, 2 in 120 are too few to say.
func TestFewSystems(t *testing.T) {
	if got := fewSystems(3); len(got) != 1 || !strings.Contains(got[0], "2 of 6 cases") {
		t.Error(got)
	}
	if got := fewSystems(5); got != nil {
		t.Error(got)
	}
}
