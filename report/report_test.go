package report

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/gate"
	"github.com/erreval/erreval/taxonomy"
)

// witness is testdata/make_witness.py's: figures in the order without error, then every label.
type witness struct {
	Labels  []string
	Systems map[string]struct {
		Rows, Groups int
		Counts       []int
		Intervals    [][2]float64
	}
	Diff struct {
		A, B         []float64
		Interval     [][2]float64
		P            []float64
		Gained, Lost []int
		Changed      int
	}
	Contrast struct { // of the two systems, large minus small
		Interval [][2]float64
		P        []float64
	}
	Rows []struct {
		ID, Group, System string
		A, B              []bool
	}
}

func readWitness(t *testing.T) (*witness, *taxonomy.Taxonomy) {
	t.Helper()
	data, err := os.ReadFile("testdata/witness.json")
	if err != nil {
		t.Fatal(err)
	}
	w := &witness{}
	if err := json.Unmarshal(data, w); err != nil {
		t.Fatal(err)
	}
	toy := &taxonomy.Taxonomy{Name: "toy", Version: "1", Fields: []taxonomy.Field{{Name: "text"}}}
	for _, l := range w.Labels {
		toy.Types = append(toy.Types, taxonomy.Type{Name: l, Code: l[:1]})
	}
	toy.Types = append(toy.Types, taxonomy.Type{Name: "No Error", Code: "NoEr", NoError: true})
	return w, toy
}

func (w *witness) diagnosis(model string, has []bool) *dataset.Diagnosis {
	d := &dataset.Diagnosis{Model: model, Taxonomy: "toy@1"}
	for k, yes := range has {
		if yes {
			d.Labels = append(d.Labels, w.Labels[k])
		}
	}
	if d.Labels == nil {
		d.Labels = []string{"No Error"}
	}
	return d
}

func near(got Number, want, tolerance float64) bool {
	return math.Abs(float64(got)-want) <= tolerance
}

func tally(t *testing.T, w *witness, toy *taxonomy.Taxonomy) *Stats {
	t.Helper()
	tally := NewTally(StatsOptions{Taxonomy: toy, Group: "group"})
	for _, r := range w.Rows {
		if _, err := tally.addRow(r.System, newGroupHash(r.Group), w.diagnosis("m@1", r.A), nil); err != nil {
			t.Fatal(err)
		}
	}
	stats, err := tally.ComputeStats()
	if err != nil {
		t.Fatal(err)
	}
	return stats
}

func (s *SystemStats) shares() []Share {
	out := []Share{s.WithoutError}
	for _, l := range s.Labels {
		out = append(out, l.Share)
	}
	return out
}

func TestStatsOfWitness(t *testing.T) {
	w, toy := readWitness(t)
	for _, sys := range tally(t, w, toy).Systems {
		want := w.Systems[sys.Name]
		if sys.Rows != want.Rows || sys.Tagged != want.Rows {
			t.Errorf("%s: %d rows, %d tagged, want %d", sys.Name, sys.Rows, sys.Tagged, want.Rows)
		}
		for k, got := range sys.shares() {
			if got.Rows != want.Counts[k] || !near(got.Share, float64(want.Counts[k])/float64(want.Rows), 1e-12) {
				t.Errorf("%s %d: %+v, want %d rows", sys.Name, k, got, want.Counts[k])
			}
			if !near(got.Low, want.Intervals[k][0], 1e-9) || !near(got.High, want.Intervals[k][1], 1e-9) {
				t.Errorf("%s %d: [%.4f, %.4f], want %.4f", sys.Name, k, got.Low, got.High, want.Intervals[k])
			}
		}
	}
}

func compared(t *testing.T, w *witness, o DiffOptions) *Diff {
	t.Helper()
	c := NewComparison(o)
	for _, r := range w.Rows {
		if err := c.add(0, diffRow{Row: &dataset.Row{ID: r.ID}, group: r.Group,
			diagnosis: w.diagnosis("m@1", r.A)}); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range w.Rows {
		if err := c.add(1, diffRow{Row: &dataset.Row{ID: r.ID}, group: r.Group,
			diagnosis: w.diagnosis("m@2", r.B)}); err != nil {
			t.Fatal(err)
		}
	}
	d, err := c.ComputeDiff()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestDiffOfWitness(t *testing.T) {
	w, toy := readWitness(t)
	d := compared(t, w, DiffOptions{Taxonomy: toy})
	want := w.Diff
	if d.Both != len(w.Rows) || d.Compared != len(w.Rows) || d.ChangedLabels != want.Changed {
		t.Errorf("both %d, compared %d, changed %d; want %d, %d, %d", d.Both, d.Compared, d.ChangedLabels, len(w.Rows),
			len(w.Rows), want.Changed)
	}
	d.eachLabel(func(k int, l *LabelDiff) {
		if !near(l.A.Share, want.A[k], 1e-12) || !near(l.B.Share, want.B[k], 1e-12) ||
			!near(l.Difference, want.B[k]-want.A[k], 1e-12) {
			t.Errorf("%s: %+v, want %v, %v", l.Label, l, want.A[k], want.B[k])
		}
		if l.Gained != want.Gained[k] || l.Lost != want.Lost[k] {
			t.Errorf("%s: gained %d, lost %d; want %d, %d", l.Label, l.Gained, l.Lost, want.Gained[k], want.Lost[k])
		}
		if !near(l.Low, want.Interval[k][0], 1e-9) || !near(l.High, want.Interval[k][1], 1e-9) ||
			!near(l.P, want.P[k], 1e-9) {
			t.Errorf("%s: [%.4f, %.4f], p %v, want %.4f, p %v", l.Label, l.Low, l.High, l.P, want.Interval[k], want.P[k])
		}
	})
	// Holm by hand: the smallest p of the two error types that a row has twice; rows without error by themselves.
	least := slices.MinFunc(d.Labels, func(a, b LabelDiff) int { return cmp.Compare(a.P, b.P) })
	if !near(least.PHolm, min(1, 2*float64(least.P)), 1e-12) || d.WithoutError.PHolm != d.WithoutError.P {
		t.Errorf("%+v", d)
	}
}

// Rows that were not judged for an error, in A or in B, are outside of its share, and change nothing; where one of the
// two was judged, they are outside of the rows without error, too.
func TestDiffOfNotJudged(t *testing.T) {
	w, toy := readWitness(t)
	has, hasNot := w.diagnosis("m@1", []bool{true, false, false}), w.diagnosis("m@1", []bool{false, false, false})
	unjudged := w.diagnosis("m@1", []bool{false, false, false})
	c := NewComparison(DiffOptions{Taxonomy: toy})
	unjudged.NotJudged = []string{c.diff.Labels[0].Label}
	for side, all := range [][]*dataset.Diagnosis{{has, has, hasNot, unjudged, hasNot},
		{has, hasNot, unjudged, hasNot, hasNot}} {
		for i, d := range all {
			id := fmt.Sprint(i)
			if err := c.add(side, diffRow{Row: &dataset.Row{ID: id}, group: id, diagnosis: d}); err != nil {
				t.Fatal(err)
			}
		}
	}
	d, err := c.ComputeDiff()
	if err != nil {
		t.Fatal(err)
	}
	l := d.Labels[0]
	if l.NotJudged != 2 || !near(l.A.Share, 2.0/3, 1e-12) || !near(l.B.Share, 1.0/3, 1e-12) || l.Lost != 1 ||
		l.Gained != 0 {
		t.Errorf("%+v", l)
	}
	if d.Labels[1].NotJudged != 0 || d.ChangedLabels != 1 || d.WithoutError.NotJudged != 2 ||
		!near(d.WithoutError.A.Share, 1.0/3, 1e-12) {
		t.Errorf("%+v", d)
	}
}

// TestAskedGates: a limit on one error is decided without correction for errors that no limit names.
func TestAskedGates(t *testing.T) {
	label := func(name string) LabelDiff { return LabelDiff{Label: name, P: 0.03, PHolm: 0.06, Difference: 0.1} }
	d := &Diff{Both: 9, Compared: 9, Labels: []LabelDiff{label("a"), label("b")}, WithoutError: label("")}
	for subjects, missed := range map[string]bool{"grown": false, "grown:a": true, "grown:a grown:b": false,
		"shrunk:a": false, "grown:a grown": true} {
		var limits []gate.Gate
		for subject := range strings.FieldsSeq(subjects) {
			limits = append(limits, gate.Gate{Subject: subject, Op: ">"})
		}
		if got := d.CheckGates(limits, "Fine")[0]; got.Missed != missed {
			t.Errorf("%s: %+v", subjects, got)
		}
	}
}

// readLines reads rows of the taxonomy of question generation.
func readLines(t *testing.T, lines ...string) (*taxonomy.Taxonomy, func() (*dataset.Row, error)) {
	t.Helper()
	tax, err := taxonomy.Builtin("question-generation")
	if err != nil {
		t.Fatal(err)
	}
	reader := dataset.NewReader(strings.NewReader(strings.Join(lines, "\n")), "f", dataset.Options{Taxonomy: tax})
	return tax, reader.Read
}

// statsOfFiles reads files of lines, called a, b …; o without its taxonomy.
func statsOfFiles(t *testing.T, o StatsOptions, files ...[]string) *Stats {
	t.Helper()
	var tally *Tally
	for i, lines := range files {
		tax, read := readLines(t, lines...)
		if tally == nil {
			o.Taxonomy = tax
			tally = NewTally(o)
		}
		if err := tally.ReadRows(t.Context(), string(rune('a'+i)), read); err != nil {
			t.Fatal(err)
		}
	}
	s, err := tally.ComputeStats()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// line is a row with members besides its texts.
func line(members string) string {
	return `{"passage":"A","answer":"b","question":"c",` + members + `}`
}

func TestUnfit(t *testing.T) {
	tax, _ := readLines(t)
	for text, diagnosis := range map[string]string{
		tax.ID() + ` has no label "Odd"`: `{"labels":["Odd"]}`,
		"row a was tagged with the taxonomy other@2, not " + tax.ID() + "; rows of one taxonomy can be looked at " +
			"together: choose it with --taxonomy FILE": `{"labels":["Vague"],"taxonomy":"other@2"}`,
	} {
		t.Run(text, func(t *testing.T) {
			_, read := readLines(t, line(`"id":"a","diagnosis":`+diagnosis))
			tally := NewTally(StatsOptions{Taxonomy: tax})
			if err := tally.ReadRows(t.Context(), "f", read); !errors.Is(err, ErrUnfit) || !strings.Contains(err.Error(), text) {
				t.Errorf("got %v, want %s", err, text)
			}
			_, read = readLines(t, line(`"id":"a","diagnosis":`+diagnosis))
			c := NewComparison(DiffOptions{Taxonomy: tax})
			if err := c.ReadA(t.Context(), "f", read); !errors.Is(err, ErrUnfit) {
				t.Errorf("got %v, want %v", err, ErrUnfit)
			}
		})
	}
}

// Unknown is not zero: without tagged rows there is no share, and JSON says null.
func TestUntaggedOnly(t *testing.T) {
	tagged := line(`"id":"a","system":"s","diagnosis":{"labels":["Vague"]}`)
	tax, read := readLines(t, line(`"id":"b","system":"t"`), tagged, "no row")
	tally := NewTally(StatsOptions{Taxonomy: tax})
	if err := tally.ReadRows(t.Context(), "f", read); err != nil {
		t.Fatal(err)
	}
	s, err := tally.ComputeStats()
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(s.Systems[0].WithoutError)
	if err != nil || string(data) != `{"rows":0,"share":null,"low":null,"high":null}` {
		t.Errorf("%s, %v", data, err)
	}
	if s.Systems[0].Untagged != 1 || s.By != "system" || s.Rejected != 1 || !s.IsIncomplete() ||
		len(s.Warnings()[0].Faults) != 1 {
		t.Errorf("%+v", s)
	}
}

// Where there is nothing to look at, the error says why.
// TestTaggingNotJudged: it is said what rows without error may have all the same, and shares are of the rows
// that were judged.
func TestTaggingNotJudged(t *testing.T) {
	s := &Tagging{Rows: 4, Tagged: 4, WithoutError: 2, Labels: []LabelCount{{Label: "Vague", Rows: 1},
		{Label: "Off Target Answer", Rows: 1, NotJudged: 2}}}
	var text, page strings.Builder
	if err := errors.Join(s.Text(&text), s.Report([]string{"f"}).Markdown(&page)); err != nil {
		t.Fatal(err)
	}
	suites, err := s.JUnit()
	if err != nil {
		t.Fatal(err)
	}
	for got, want := range map[string]string{text.String(): "Off Target Answer  1  50.0 %  not judged in 2 rows",
		page.String():  "Off Target Answer was not judged in 2 rows, which may have it; its share is of the others",
		string(suites): "1 of 2 tagged rows (50.0 %)"} {
		if !strings.Contains(got, want) {
			t.Errorf("%s: no %q", got, want)
		}
	}
	if row := "| Off Target Answer | 1 | 50.0 % |"; !strings.Contains(page.String(), row) {
		t.Errorf("%s: no %q", page.String(), row)
	}
}

func TestNothingToShow(t *testing.T) {
	for want, c := range map[string]struct{ where, line string }{
		"f: none of 1 row is tagged; tag them first, as in: erreval identify f -o OUT": {"", line(`"id":"a"`)},
		"f: no row could be read; the first fault: f:1: ":                              {"", "no row"},
		"f: no row has id=b (values are a)":                                            {"b", line(`"id":"a"`)},
		"f: there are no rows":                                                         {"", ""},
	} {
		tax, read := readLines(t, c.line)
		o := StatsOptions{Taxonomy: tax}
		if c.where != "" {
			o.Where = map[string]string{"id": c.where}
		}
		tally := NewTally(o)
		if err := tally.ReadRows(t.Context(), "f", read); err != nil {
			t.Fatal(err)
		}
		if _, err := tally.ComputeStats(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestGroupOf(t *testing.T) {
	tax, read := readLines(t, line(`"id":"a","n":7,"blank":" ","null":null`))
	row, err := read()
	if err != nil {
		t.Fatal(err)
	}
	for group, want := range map[string]string{"": "a", "passage": "A", "n": "7", "blank": "a", "null": "a"} {
		if got, err := GroupOf(row, tax, group); got != want || err != nil {
			t.Errorf("%q: %q, %v", group, got, err)
		}
	}
	row.Values[slices.Index(tax.FieldNames(), "passage")] = "\n"
	if got, err := GroupOf(row, tax, "passage"); got != "a" || err != nil {
		t.Errorf("no passage: %q, %v", got, err)
	}
	var option *OptionError
	if _, err := GroupOf(row, tax, "m"); !errors.As(err, &option) {
		t.Error(err)
	}
}

func TestIntervalOptions(t *testing.T) {
	o := DefaultIntervals()
	if err := o.Validate(); err != nil {
		t.Error(err)
	}
	o.Resamples = -1
	if err := o.Validate(); err == nil || !strings.Contains(err.Error(), "--bootstrap -1: a number of resamples") {
		t.Errorf("got %v", err)
	}
}

// Users' texts reach every renderer: none may reach the terminal or the page as a command.
func TestRenderersNeutralise(t *testing.T) {
	r := &Report{Title: "a\x1b[31mb", Facts: []string{"c\u202ed <script> ![x](http://y)"},
		Sections: []Section{{Title: "e", Notes: []string{"f\u009b2J"}, Table: Table{
			Columns: []Column{{Title: "name"}, {Title: "rows", Right: true}}, Rows: [][]any{{"g|h\ni", "1"}, {"漢字", "23"}}}}}}
	const wantText = `a\x1b[31mb
c\u202ed <script> ![x](http://y)

e
f\x9b2J
name   rows
g|h i     1
漢字     23
`
	const wantMarkdown = `## a\\x1b[31mb

- c\\u202ed &lt;script&gt; ![x]\(http://y)

### e

- f\\x9b2J

| name | rows |
| --- | ---:|
| g\|h i | 1 |
| 漢字 | 23 |
`
	var text, markdown strings.Builder
	if err := errors.Join(r.Text(&text, 0), r.Markdown(&markdown)); err != nil {
		t.Fatal(err)
	}
	if text.String() != wantText {
		t.Errorf("text:\n%s\nwant:\n%s", text.String(), wantText)
	}
	if markdown.String() != wantMarkdown {
		t.Errorf("markdown:\n%s\nwant:\n%s", markdown.String(), wantMarkdown)
	}
}

func TestShortID(t *testing.T) {
	for in, want := range map[string]string{"rovers-3": "rovers-3", strings.Repeat("ab", 32): "abababababab…", "": ""} {
		if got := ShortID(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
		if !IsSameID(want, in) || !IsSameID(in, in) || IsSameID(want+"x", in) {
			t.Errorf("%q is not known as %q", in, want)
		}
	}
	if !IsHash(strings.Repeat("ab", 32)) || IsHash(strings.Repeat("ab", 31)) || IsHash(strings.Repeat("xy", 32)) {
		t.Error("64 hex digits, and nothing else, are a hash")
	}
	if !IsSameID("rov*", "rovers-3") || IsSameID("rov", "rovers-3") {
		t.Error("* stands for the rest of an id")
	}
	if hash := strings.Repeat("ab", 32); !IsSameID(hash[:12], hash) || IsSameID(hash[:11], hash) {
		t.Error("what is shown of a hash is enough")
	}
}

func TestLines(t *testing.T) {
	var lines Lines
	lines.Add("model", "%s, %d MB", "größe", 3)
	lines.Add("précis", "50 %%")
	lines.Add("model", "")
	var b strings.Builder
	if err := lines.Text(&b); err != nil || b.String() != "model   größe, 3 MB\nprécis  50 %\nmodel   \n" {
		t.Errorf("got %q, %v", b.String(), err)
	}
}

// A page gets numbers, with a column for each end of an interval; of texts that look like numbers it gets texts.
func TestTableJSON(t *testing.T) {
	f, unknown := Figure{Value: 0.5, Low: 0.25, High: 0.75}, Figure{Value: Undefined, Low: Undefined, High: Undefined}
	d := Difference{Figure: f, P: 0.01}
	data, err := json.Marshal(Table{Columns: []Column{{Title: "name"}, {Title: "n"}, {Title: "iteration"}, {Title: "none"},
		{Title: "share"}, {Title: "f"}, {Title: "d"}, {Title: "mixed"}}, Rows: [][]any{
		{"a", Number(1.23456), "00", "", Number(0.125).As(InPercent), f, d.As("%.1f"), "none"},
		{"b", "", "01", "-", Undefined.As(InPercent), unknown, Undefined, f.As(InPercent)}}})
	want := `{"columns":[{"title":"name","kind":"text"},{"title":"n","kind":"number"},{"title":"iteration","kind":"text"},` +
		`{"title":"none","kind":"text"},{"title":"share","kind":"share"},{"title":"f","kind":"number"},` +
		`{"title":"from","kind":"number"},{"title":"to","kind":"number"},{"title":"d","kind":"number"},` +
		`{"title":"from","kind":"number"},{"title":"to","kind":"number"},{"title":"mixed","kind":"text"}],` +
		`"rows":[["a",1.23456,"00","",0.125,0.5,0.25,0.75,0.5,0.25,0.75,"none"],` +
		`["b",null,"01","-",null,null,null,null,null,null,null,"50.0 [25.0, 75.0] %"]]}`
	if err != nil || string(data) != want {
		t.Errorf("%v: %s, want %s", err, data, want)
	}
}
