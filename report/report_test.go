package report

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/erreval/erreval/dataset"
)

// witness is testdata/make_witness.py's: figures in the order without error, then every label.
type witness struct {
	Labels  []string
	Systems map[string]struct {
		Rows, Groups      int
		Counts            []int
		Wilson, Bootstrap [][2]float64
	}
	Diff struct {
		A, B         []float64
		Interval     [][2]float64
		Gained, Lost []int
		Changed      int
	}
	Rows []struct {
		ID, Group, System string
		A, B              []bool
	}
}

func readWitness(t *testing.T) (*witness, Scheme) {
	t.Helper()
	data, err := os.ReadFile("testdata/witness.json")
	if err != nil {
		t.Fatal(err)
	}
	w := &witness{}
	if err := json.Unmarshal(data, w); err != nil {
		t.Fatal(err)
	}
	s := Scheme{Taxonomy: "toy@1", NoError: "No Error"}
	for _, l := range w.Labels {
		s.Labels = append(s.Labels, Label{Name: l, Code: l[:1]})
	}
	return w, s
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

// near tolerates the error of resampling.
func near(got Number, want, tolerance float64) bool {
	return math.Abs(float64(got)-want) <= tolerance
}

func tally(t *testing.T, w *witness, s Scheme, o IntervalOptions) *Stats {
	t.Helper()
	tally := NewTally(s, o)
	for _, r := range w.Rows {
		if err := tally.Add(r.System, r.Group, w.diagnosis("m@1", r.A)); err != nil {
			t.Fatal(err)
		}
	}
	stats, err := tally.Stats(t.Context())
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
	w, scheme := readWitness(t)
	for _, method := range []string{Wilson, Bootstrap, None} {
		o := IntervalOptions{Method: method, Group: "group", Resamples: 20000, Seed: 1}
		for _, sys := range tally(t, w, scheme, o).Systems {
			want := w.Systems[sys.Name]
			if sys.Rows != want.Rows || sys.Tagged != want.Rows {
				t.Errorf("%s: %d rows, %d tagged, want %d", sys.Name, sys.Rows, sys.Tagged, want.Rows)
			}
			for k, got := range sys.shares() {
				interval, tolerance := want.Bootstrap[k], 0.006
				if method == Wilson {
					interval, tolerance = want.Wilson[k], 1e-9
				}
				if got.Rows != want.Counts[k] || !near(got.Share, float64(want.Counts[k])/float64(want.Rows), 1e-12) {
					t.Errorf("%s %d: %+v, want %d rows", sys.Name, k, got, want.Counts[k])
				}
				switch {
				case method == None:
					if got.Low == got.Low || got.High == got.High {
						t.Errorf("%s %d: an interval that nobody asked for: %+v", sys.Name, k, got)
					}
				case method == Bootstrap && got.Rows == 0:
					// scipy.stats.binomtest(0, groups).proportion_ci(method="wilson").high is z²/(groups+z²).
					z2, n := 1.959963984540054*1.959963984540054, float64(want.Groups)
					if got.Low != 0 || !near(got.High, z2/(n+z2), 1e-9) {
						t.Errorf("%s %d: %+v, want Wilson's interval of 0 in %d", sys.Name, k, got, want.Groups)
					}
				case !near(got.Low, interval[0], tolerance) || !near(got.High, interval[1], tolerance):
					t.Errorf("%s %s %d: [%.4f, %.4f], want %.4f", method, sys.Name, k, got.Low, got.High, interval)
				}
			}
		}
	}
}

func compared(t *testing.T, w *witness, s Scheme, o DiffOptions) *Diff {
	t.Helper()
	c := NewComparison(s, o)
	for _, r := range w.Rows {
		if err := c.AddA(DiffRow{ID: r.ID, Group: r.Group, Diagnosis: w.diagnosis("m@1", r.A)}); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range w.Rows {
		if err := c.AddB(DiffRow{ID: r.ID, Group: r.Group, Diagnosis: w.diagnosis("m@2", r.B)}); err != nil {
			t.Fatal(err)
		}
	}
	d, err := c.Diff(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestDiffOfWitness(t *testing.T) {
	w, scheme := readWitness(t)
	d := compared(t, w, scheme, DiffOptions{Intervals: IntervalOptions{Method: Bootstrap, Resamples: 20000, Seed: 1}})
	want := w.Diff
	if d.Both != len(w.Rows) || d.Compared != len(w.Rows) || d.ChangedLabels != want.Changed {
		t.Errorf("both %d, compared %d, changed %d; want %d, %d, %d", d.Both, d.Compared, d.ChangedLabels, len(w.Rows), len(w.Rows), want.Changed)
	}
	d.each(func(k int, l *LabelDiff) {
		if !near(l.A.Share, want.A[k], 1e-12) || !near(l.B.Share, want.B[k], 1e-12) || !near(l.Difference, want.B[k]-want.A[k], 1e-12) {
			t.Errorf("%s: %+v, want %v, %v", l.Label, l, want.A[k], want.B[k])
		}
		if l.Gained != want.Gained[k] || l.Lost != want.Lost[k] {
			t.Errorf("%s: gained %d, lost %d; want %d, %d", l.Label, l.Gained, l.Lost, want.Gained[k], want.Lost[k])
		}
		if !near(l.Low, want.Interval[k][0], 0.006) || !near(l.High, want.Interval[k][1], 0.006) {
			t.Errorf("%s: [%.4f, %.4f], want %.4f", l.Label, l.Low, l.High, want.Interval[k])
		}
	})
}

// What A against B gains, B against A loses, and the interval turns around.
func TestDiffTurnsAround(t *testing.T) {
	w, scheme := readWitness(t)
	o := DiffOptions{Intervals: DefaultIntervals()}
	forth := compared(t, w, scheme, o)
	for i := range w.Rows {
		w.Rows[i].A, w.Rows[i].B = w.Rows[i].B, w.Rows[i].A
	}
	back := compared(t, w, scheme, o)
	back.each(func(k int, l *LabelDiff) {
		f := &forth.WithoutError
		if k > 0 {
			f = &forth.Labels[k-1]
		}
		if l.Difference != -f.Difference || l.Gained != f.Lost || !reflect.DeepEqual(l.GainedIDs, f.LostIDs) || !near(l.Low, float64(-f.High), 1e-12) {
			t.Errorf("%s: %+v is not the opposite of %+v", l.Label, l, f)
		}
	})
}

func TestDiffOfOtherRows(t *testing.T) {
	w, scheme := readWitness(t)
	tagged := w.diagnosis("m@1", []bool{true, false, false})
	text := [32]byte{1}
	for _, sameText := range []bool{false, true} {
		c := NewComparison(scheme, DiffOptions{Intervals: IntervalOptions{Method: None}, SameTextOnly: sameText})
		rowsA := []DiffRow{{ID: "only a", Diagnosis: tagged}, {ID: "changed", Diagnosis: tagged}, {ID: "untagged in a"},
			{ID: "untagged in b", Diagnosis: tagged}, {ID: "same", Diagnosis: tagged}}
		rowsB := []DiffRow{{ID: "same", Diagnosis: tagged}, {ID: "only b", Diagnosis: tagged}, {ID: "untagged in a", Diagnosis: tagged},
			{ID: "changed", Text: text, Diagnosis: tagged}, {ID: "untagged in b", Diagnosis: &dataset.Diagnosis{Status: dataset.StatusUntagged}}}
		for _, r := range rowsA {
			if err := c.AddA(r); err != nil {
				t.Fatal(err)
			}
		}
		for _, r := range rowsB {
			if err := c.AddB(r); err != nil {
				t.Fatal(err)
			}
		}
		d, err := c.Diff(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		want := 2
		if sameText {
			want = 1
		}
		if d.Compared != want || d.Both != 4 || d.ChangedText != 1 || d.A.Untagged != 1 || d.B.Untagged != 1 ||
			!reflect.DeepEqual(d.A.OnlyExamples, []string{"only a"}) || !reflect.DeepEqual(d.B.OnlyExamples, []string{"only b"}) {
			t.Errorf("same text only %v: %+v", sameText, d)
		}
	}
}

func TestUnfit(t *testing.T) {
	_, scheme := readWitness(t)
	for text, d := range map[string]*dataset.Diagnosis{
		`toy@1 has no label "Odd"`:            {Labels: []string{"Odd"}},
		"it was made with other@2, not toy@1": {Labels: []string{"Vague"}, Taxonomy: "other@2"},
	} {
		err := NewTally(scheme, DefaultIntervals()).Add("s", "g", d)
		if !errors.Is(err, ErrUnfit) || !strings.Contains(err.Error(), text) {
			t.Errorf("got %v, want %s", err, text)
		}
		if err := NewComparison(scheme, DiffOptions{}).AddA(DiffRow{Diagnosis: d}); !errors.Is(err, ErrUnfit) {
			t.Errorf("got %v", err)
		}
	}
}

// Unknown is not zero: without tagged rows there is no share, and JSON says null.
func TestUntaggedOnly(t *testing.T) {
	_, scheme := readWitness(t)
	tally := NewTally(scheme, DefaultIntervals())
	if err := tally.Add("s", "g", nil); err != nil {
		t.Fatal(err)
	}
	s, err := tally.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(s.Systems[0].WithoutError)
	if err != nil || string(data) != `{"rows":0,"share":null,"low":null,"high":null}` {
		t.Errorf("%s, %v", data, err)
	}
	if s.Systems[0].Untagged != 1 || tally.Tagged() != 0 {
		t.Errorf("%+v", s.Systems[0])
	}
}

func TestIntervalOptions(t *testing.T) {
	o := DefaultIntervals()
	if err := o.Validate(); err != nil {
		t.Error(err)
	}
	o.Resamples = 0
	if err := o.Validate(); err == nil || !strings.Contains(err.Error(), "0 resamples") {
		t.Errorf("got %v", err)
	}
	o.Method = "jackknife"
	if err := o.Validate(); err == nil || !strings.Contains(err.Error(), `interval "jackknife": it is bootstrap, wilson or none`) {
		t.Errorf("got %v", err)
	}
}

// Users' texts reach every renderer: none may reach the terminal or the page as a command.
func TestRenderersNeutralise(t *testing.T) {
	r := &Report{Title: "a\x1b[31mb", Facts: []string{"c\u202ed <script> ![x](http://y)"},
		Sections: []Section{{Title: "e", Notes: []string{"f\u009b2J"}, Table: Table{
			Columns: []Column{{Title: "name"}, {Title: "rows", Right: true}}, Rows: [][]string{{"g|h\ni", "1"}, {"漢字", "23"}}}}}}
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
	if err := errors.Join(r.Text(&text), r.Markdown(&markdown)); err != nil {
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
