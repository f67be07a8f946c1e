package report

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/taxonomy"
)

// Two systems are compared in each column, as Python does.
func TestContrastOfWitness(t *testing.T) {
	w, toy := readWitness(t)
	s := tally(t, w, toy)
	if len(s.Differences) != 3 { // an error that no row has is no test
		t.Fatalf("%d differences", len(s.Differences))
	}
	for k, d := range s.Differences {
		large, small := w.Systems["large"], w.Systems["small"]
		value := float64(small.Counts[k])/float64(small.Rows) - float64(large.Counts[k])/float64(large.Rows)
		interval, p := w.Contrast.Interval[k], w.Contrast.P[k] // of large minus small
		if d.System != "small" || d.Than != "large" || !near(d.Value, value, 1e-9) || !near(d.Low, -interval[1], 1e-9) ||
			!near(d.High, -interval[0], 1e-9) || !near(d.P, p, 1e-9) {
			t.Errorf("%+v, want %v in %v, p %v", d, value, interval, p)
		}
	}
	// Rows without an error by themselves; Holm by hand: twice the smaller p, the other ends above 1.
	if first := s.Differences[0]; first.PHolm != first.P || s.Differences[1].PHolm != 1 {
		t.Errorf("%+v", s.Differences)
	}
	if all := s.All; all.Rows != 132 || all.WithoutError.Rows != 69 || !near(all.WithoutError.Share, 69./132, 1e-12) {
		t.Errorf("all rows: %+v", all)
	}
}

// statsOf counts rows of made-up systems: of each the shares of groups of one row that have each error.
func statsOf(t *testing.T, tax *taxonomy.Taxonomy, systems []string, groups func(i int) int,
	has func(i, g int, label string) bool) *Stats {
	t.Helper()
	tally := NewTally(StatsOptions{Taxonomy: tax, Group: "group"})
	for i, name := range systems {
		for g := range groups(i) {
			d := &dataset.Diagnosis{Model: "m@1", Taxonomy: tax.ID()}
			for _, y := range tax.Types {
				if !y.NoError && has(i, g, y.Name) {
					d.Labels = append(d.Labels, y.Name)
				}
			}
			if _, err := tally.addRow(name, newGroupHash(fmt.Sprint(g)), d, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	s, err := tally.ComputeStats()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestUneven: a system that was not judged for an error is no better for that, nor is one of two files.
func TestUneven(t *testing.T) {
	_, toy := readWitness(t)
	rare := toy.Types[2].Name
	diagnosis := func(found, judged bool) *dataset.Diagnosis {
		d := &dataset.Diagnosis{Model: "m@1", Taxonomy: toy.ID()}
		if judged && found {
			d.Labels = []string{rare}
		} else if !judged {
			d.NotJudged = []string{rare}
		}
		return d
	}
	for judged, want := range map[int]string{ // rows of the system that has most rows without error
		40: "surely more than full by", 37: "surely more than full by",
		35: ", but that is no comparison with full, as the systems' rows were not judged alike for " + rare,
		0:  "no comparison with full,",
	} {
		tally := NewTally(StatsOptions{Taxonomy: toy, Group: "group", OfErrors: true})
		issue, unfound := tally.columnOf(kindIssue, "x"), tally.columnOf(kindIssue, "")
		c := NewComparison(DiffOptions{Taxonomy: toy})
		for g := range 40 {
			id := fmt.Sprint(g)
			for i, d := range []*dataset.Diagnosis{diagnosis(false, g < judged), diagnosis(g < 20, true)} {
				values := []value{{unfound, indicator(len(d.Labels) == 0)}}
				if len(d.Labels) > 0 {
					values = append(values, value{issue, 1})
				}
				if _, err := tally.addRow([]string{"bare", "full"}[i], newGroupHash(id), d, values); err != nil {
					t.Fatal(err)
				}
				if err := c.add(i, diffRow{Row: &dataset.Row{ID: id}, group: id, diagnosis: d}); err != nil {
					t.Fatal(err)
				}
			}
		}
		s, err := tally.ComputeStats()
		if err != nil {
			t.Fatal(err)
		}
		if text := printed(t, s); !strings.Contains(text, want) || strings.Contains(text, "*100") && judged < 37 {
			t.Errorf("%d judged: no %q in\n%s", judged, want, text)
		}
		for _, of := range []string{"without error", "without issue", "x"} {
			i := slices.IndexFunc(s.Differences, func(d Contrast) bool { return d.Of == of })
			if i < 0 || (s.Differences[i].Uneven == rare) != (judged < 37) {
				t.Errorf("%d judged: rows %s: %+v", judged, of, s.Differences)
			}
		}
		d, err := c.ComputeDiff()
		if err != nil {
			t.Fatal(err)
		}
		if w := &d.WithoutError; w.NotJudged != 40-judged || w.A.Rows != judged || d.cleanB != 20 {
			t.Errorf("%d judged: %+v, %d", judged, w, d.cleanB)
		}
	}
}

// Of systems without a good row none is best.
func TestNoneGood(t *testing.T) {
	_, toy := readWitness(t)
	s := statsOf(t, toy, []string{"a", "b"}, func(int) int { return 15 },
		func(_, _ int, label string) bool { return label == "Vague" })
	if text := printed(t, s); !strings.Contains(text, "\nno system has a row without error; in all rows the commonest") ||
		strings.Contains(text, "has most rows") {
		t.Error(text)
	}
}

// A system of hardly any groups and rows without a system are not the best, nor what the best is compared with.
func TestBestOfNamed(t *testing.T) {
	_, toy := readWitness(t)
	s := statsOf(t, toy, []string{Nameless, "typo", "good", "bad"}, func(i int) int { return []int{15, 1, 15, 15}[i] },
		func(i, _ int, label string) bool { return label == "Vague" && i == 3 })
	if d := s.Differences[0]; d.System != "good" || d.Than != "bad" || s.few != 1 {
		t.Errorf("%d systems of few groups, %+v", s.few, d)
	}
	for _, want := range []string{
		"\n15 rows have no file: not compared with others\n", "\n1 system of fewer than 8 groups",
		"\ngood has most rows without error"} {
		if text := printed(t, s); !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
}

// The best of three is marked where it is better than the second best.
func TestBestOfSeveral(t *testing.T) {
	_, toy := readWitness(t)
	s := statsOf(t, toy, []string{"bad", "tiny", "good", "middle"}, func(i int) int { return []int{40, 5, 40, 40}[i] },
		func(i, g int, label string) bool {
			return label == "Vague" && (i == 0 || i == 3 && g%2 == 0)
		})
	if len(s.Differences) != 2 || s.few != 1 {
		t.Fatalf("%d systems of few groups, %+v", s.few, s.Differences)
	}
	for k, value := range []float64{0.5, -0.5} {
		d := s.Differences[k]
		if d.System != "good" || d.Than != "middle" || !near(d.Value, value, 1e-12) ||
			!near(d.PHolm, float64(d.P), 1e-12) || // each is alone
			!d.isSettled() || d.Low*d.High < 0 {
			t.Errorf("%+v", d)
		}
	}
	for len(s.Differences) <= mostContrasts {
		s.Differences = append(s.Differences, s.Differences[1])
	}
	if c := s.contrastSection(); len(c.Table.Rows) != mostContrasts || len(c.Notes) > 0 {
		t.Errorf("%+v", c)
	}
	s.Differences = append(s.Differences, s.Differences[1])
	if c := s.contrastSection(); len(c.Table.Rows) != mostContrasts || c.Notes[0] != "and 1 more: --json" {
		t.Errorf("%+v", c)
	}
	s.Differences = s.Differences[:2]
	text := printed(t, s)
	const want = `
* better than the second best (p below 0.05 by Holm's correction for 1 test; rows without error by themselves)
file    rows   without error     V
all      125   52.0 [43, 61]  48.0
good      40  *100 [91, 100]    *0
middle    40   50.0 [35, 65]  50.0
bad       40        0 [0, 9]   100
tiny       5   100 [39, 100]     0

The best system of a column minus the second best, in points
                          difference  95 % interval  p, corrected
Vague: good minus middle       -50.0  -65.4 … -32.0        <0.001

good has most rows without error, 100 % (90.7 to 100.0), surely more than middle by the model's labels (+50.0 points, ` +
		`+32.0 … +65.4; p <0.001; rows are not paired); too few groups of tiny to compare; in all rows the commonest error is Vague, 48.0 %.
`
	if !strings.HasSuffix(text, want) {
		t.Errorf("got\n%s\nwant at the end%s", text, want)
	}
	s.Weak = []string{"do not rely on Vague: F1 0.21"}
	if text := printed(t, s); !strings.HasSuffix(text, "is Vague, 48.0 %, for which the model is not to be relied on.\n") {
		t.Errorf("no limit is said: %s", text)
	}
}

// Of errors in as many rows none is the commonest, nor is one that no row has.
func TestCommonest(t *testing.T) {
	_, toy := readWitness(t)
	for _, none := range []bool{false, true} {
		s := statsOf(t, toy, []string{"a", "b"}, func(int) int { return 40 }, func(_, g int, _ string) bool {
			return !none && g == 0
		})
		if text := printed(t, s); strings.Contains(text, "commonest") || !strings.Contains(text, "without error") {
			t.Error(text)
		}
	}
}

// Eleven error types of forty systems fit into 80 columns, with ten letters of each name; where there is no terminal,
// nothing is clipped.
func TestMatrixFits(t *testing.T) {
	wide := &taxonomy.Taxonomy{Name: "wide", Version: "1", Fields: []taxonomy.Field{{Name: "text"}}}
	for k := range 11 {
		wide.Types = append(wide.Types, taxonomy.Type{Name: fmt.Sprintf("Type %d", k), Code: fmt.Sprintf("Ty%02d", k)})
	}
	var names []string
	for i := range 40 {
		names = append(names, fmt.Sprintf("%02d of some organisation with a long name, %02d", i, i))
	}
	s := statsOf(t, wide, names, func(int) int { return 200 }, func(i, g int, label string) bool {
		return (g+i+len(label))%(5+i) == 0
	})
	for width, full := range map[int]bool{80: false, 0: true} {
		var text strings.Builder
		if err := s.Report().Text(&text, width); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(text.String(), "\n")
		for _, line := range lines[len(lines)-43 : len(lines)-3] { // those of systems
			name, _, clipped := strings.Cut(line, "…")
			if n := len([]rune(line)); n > 80 && !full || clipped == full || clipped && len(name) < 5 {
				t.Errorf("width %d: %d letters: %s", width, n, line)
			}
		}
	}
}

// With few groups a large difference is marked, and a small one is not.
func TestFewGroups(t *testing.T) {
	_, toy := readWitness(t)
	for bad, marked := range map[int]bool{8: true, 2: false} {
		s := statsOf(t, toy, []string{"bad", "good"}, func(int) int { return 8 },
			func(i, g int, label string) bool { return i == 0 && label == "Vague" && g < bad })
		for _, d := range s.Differences {
			if d.System != "good" || d.isSettled() != marked || (d.Low*d.High > 0) != (d.P < 0.05) {
				t.Errorf("%d of 8 bad: %+v", bad, d)
			}
		}
	}
}

// foundIssues are those of a column.
func foundIssues(row *dataset.Row) (ids []string, searched bool) {
	raw, _ := row.Get("found")
	return ids, json.Unmarshal(raw, &ids) == nil
}

// By hand: fluency of system a is (1 + 2 + 3) ÷ 3, of b 3 in one row of two; of three rows of a that were searched two
// have issue x, one has y too, and the one of b has none. Unknown is not zero.
func TestScoresAndIssues(t *testing.T) {
	tax, read := readLines(t,
		line(`"id":"1","system":"a","scores":{"fluency":{"value":1}},"found":["x"]`),
		line(`"id":"2","system":"a","scores":{"fluency":{"value":2}},"found":["x","y"]`),
		line(`"id":"3","system":"a","scores":{"fluency":{"value":3}},"found":[]`),
		line(`"id":"4","system":"b","scores":{"fluency":{"value":3}},"found":[]`),
		line(`"id":"5","system":"b","scores":{"fluency":{"status":"unscored","reason":"cut"}}`))
	tally := NewTally(StatsOptions{Taxonomy: tax, Issues: foundIssues, IssueNames: map[string]string{"x": "It is vague."}})
	if err := tally.ReadRows(t.Context(), "f", read); err != nil {
		t.Fatal(err)
	}
	s, err := tally.ComputeStats()
	if err != nil {
		t.Fatal(err)
	}
	a, b := s.Systems[0], s.Systems[1]
	if a.Scores[0].Mean != 2 || a.Scores[0].Rows != 3 || b.Scores[0].Mean != 3 || b.Scores[0].Rows != 1 ||
		s.All.Scores[0].Mean != 2.25 {
		t.Errorf("%+v, %+v, %+v", a.Scores, b.Scores, s.All.Scores)
	}
	if !near(a.WithoutIssue.Share, 1./3, 1e-12) || b.WithoutIssue.Share != 1 || s.All.WithoutIssue.Share != 0.5 ||
		!near(a.Issues[0].Share.Share, 2./3, 1e-12) || s.All.Issues[1].Share.Share != 0.25 || b.Issues[1].Rows != 0 {
		t.Errorf("%+v, %+v", a.Issues, b.Issues)
	}
	text := printed(t, s)
	const want = `Scores in f
not searched for issues, outside of every share: 1 row of b
without a score, outside of means: 1 row of b
3 rows have the texts of one before by the same system (counted all the same)

Mean scores
mean scores: S1 fluency
system  rows    S1
all        4  2.25
b          1  3.00
a          3  2.00

Share of the searched rows without issue [95 % interval], and with each issue, in %
I1 It is vague.
I2 y
system  rows  without issue    I1    I2
all        4   50.0 [6, 94]  50.0  25.0
b          1   100 [0, 100]     0     0
a          3   33.3 [1, 96]  66.7  33.3

b minus a, in points; scores on their own scale
pairs are of rows, or of their means, for the same input, for rows without error judged alike; others are left out
                                 difference  95 % interval  p, corrected
fluency (1 pair of means)             +1.00              –             –
without issue (1 pair of means)       +66.7              –             –
It is vague. (1 pair of means)        -66.7              –             –
y (1 pair of means)                   -33.3              –             –

b has the highest mean of fluency, 3.00, not surely more than a, as 1 of 2 rows of b have no score.
`
	if text != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
}

// TestRefusedRows: the judge refused the bad rows of b, so that the others are no evidence for it.
func TestRefusedRows(t *testing.T) {
	var lines []string
	for k := range 40 {
		a, b := `{"value":3}`, `{"status":"unscored","reason":"refused"}`
		if k%4 == 0 {
			a = `{"value":2}`
		}
		if k%2 == 0 {
			b = `{"value":3}`
		}
		for system, score := range map[string]string{"a": a, "b": b} {
			lines = append(lines, fmt.Sprintf(`{"id":"%s%d","system":%[1]q,"passage":"P%[2]d","answer":"x","question":"q",`+
				`"scores":{"fluency":%[3]s}}`, system, k, score))
		}
	}
	s := figuresOf(t, lines...)
	const want = "b has the highest mean of fluency, 3.00 (3.00 to 3.00), not surely more than a, as 20 of 40 rows of b " +
		"have no score."
	if text := printed(t, s); !strings.Contains(text, want) || strings.Contains(text, "*+0.50") {
		t.Error(text)
	}
}

// TestFewRefusedRows: 8 of 100 rows of b were refused, and it is better by 6 points or less if they all are bad.
func TestFewRefusedRows(t *testing.T) {
	const tagged = `"diagnosis":{"labels":[%q],"model":"m@1","taxonomy":"question-generation@1.1"}`
	for errors, want := range map[int]string{
		14: "b has most rows without error, 100 % (95.9 to 100.0), not surely more than a, as 8 of 100 rows of b " +
			"are untagged",
		40: "b has most rows without error, 100 % (95.9 to 100.0), surely more than a",
	} {
		var lines []string
		for k := range 100 {
			a, b := fmt.Sprintf(tagged, "No Error"), fmt.Sprintf(tagged, "No Error")
			if k >= 100-errors {
				a = fmt.Sprintf(tagged, "Vague")
			}
			if k < 8 {
				b = `"diagnosis":{"status":"untagged","reason":"refused"}`
			}
			for system, diagnosis := range map[string]string{"a": a, "b": b} {
				lines = append(lines, fmt.Sprintf(`{"id":"%s%d","system":%[1]q,"passage":"P%[2]d","answer":"x","question":"q",%s}`,
					system, k, diagnosis))
			}
		}
		if text := printed(t, figuresOf(t, lines...)); !strings.Contains(text, want) {
			t.Error(text)
		}
	}
}

// TestRejectedLines: lines that were rejected may be the better system's, and turn a small difference.
func TestRejectedLines(t *testing.T) {
	var lines []string
	for k := range 100 {
		for system, errors := range map[string]int{"a": 14, "b": 0} {
			label := map[bool]string{true: "Vague", false: "No Error"}[k < errors]
			lines = append(lines, fmt.Sprintf(`{"id":"%s%d","system":%[1]q,"passage":"P%[2]d","answer":"x","question":"q",`+
				`"diagnosis":{"labels":[%[3]q]}}`, system, k, label))
		}
	}
	for lost, want := range map[int]string{0: "surely more than a by", 1: "surely more than a by",
		9: "not surely more than a, as 9 lines were rejected, and may be of b; "} {
		tax, read := readLines(t, lines...)
		tally := NewTally(StatsOptions{Taxonomy: tax, Group: "passage", LeftOut: map[string]Lost{"f": {Lines: lost}}})
		if err := tally.ReadRows(t.Context(), "f", read); err != nil {
			t.Fatal(err)
		}
		s, err := tally.ComputeStats()
		if err != nil {
			t.Fatal(err)
		}
		if text := printed(t, s); !strings.Contains(text, want) {
			t.Errorf("%d lost: %s", lost, text)
		}
	}
}

// A row whose system is null, or missing behind rows that have one, is of no system, also where no column was asked for.
func TestNameless(t *testing.T) {
	row := `{"id":"%d"%s,"passage":"P%[1]d","answer":"a","question":"q","diagnosis":{"labels":["Vague"],` +
		`"model":"m@1","taxonomy":"question-generation@1.1"}}`
	s := figuresOf(t, fmt.Sprintf(row, 1, `,"system":"a"`), fmt.Sprintf(row, 2, `,"system":null`),
		fmt.Sprintf(row, 3, ""), fmt.Sprintf(row, 4, `,"system":"b"`))
	var names []string
	for _, sys := range s.Systems {
		names = append(names, fmt.Sprint(sys.Name, sys.Rows))
	}
	if want := []string{"a1", "(none)2", "b1"}; !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
}

// Space around a system's name, as people leave it in tables, makes no other system.
func TestSystemOf(t *testing.T) {
	for text, want := range map[string]string{"BART": "BART", " BART\u00a0": "BART",
		"Zoe\u0308": "Zo\u00eb", "BART QG ": "BART QG"} {
		row, err := dataset.RowOf(map[string]any{"model": text})
		if err != nil {
			t.Fatal(err)
		}
		if name, known, err := SystemOf(row, "model"); name != want || !known || err != nil {
			t.Errorf("%q: %q, %v, %v", text, name, known, err)
		}
	}
}
