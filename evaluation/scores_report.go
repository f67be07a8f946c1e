package evaluation

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/erreval/erreval/internal/stats"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/report"
)

// ScoreReport compares scores with people's. Its JSON keys are stable.
type ScoreReport struct {
	Taxonomy   string              `json:"taxonomy"` // name@version
	Where      map[string]string   `json:"where,omitempty"`
	Human      map[string][]string `json:"human"`           // dimension to columns
	Group      string              `json:"group,omitempty"` // by which intervals resample; "" is by row
	Groups     int                 `json:"groups"`          // of the rows that figures use
	Resamples  int                 `json:"resamples"`
	Seed       uint64              `json:"seed"`
	Level      float64             `json:"level"` // of the intervals
	Low        float64             `json:"low"`   // see ScoreOptions
	High       float64             `json:"high"`
	Systems    int                 `json:"systems"`
	Rows       int                 `json:"rows"`                // of the first file
	Used       int                 `json:"used"`                // of these, by figures
	By         string              `json:"by,omitempty"`        // "mode": Files are the modes of one file
	Agreement  []Agreement         `json:"agreement,omitempty"` // of people, in dimensions in which several rated a row
	Lift       []LiftRow           `json:"lift,omitempty"`      // by mode
	Files      []ScoredFile        `json:"files"`
	Difference *ScoreDifference    `json:"difference,omitempty"` // second minus first; only with two

	input   string   // the first file
	remarks []string // on scores that say little, or do not fit the limits of overestimation
	data    *scoreData
}

// ScoredFile are the figures of one file, or of one mode.
type ScoredFile struct {
	File string `json:"file"`
	Mode string `json:"mode,omitempty"` // of the judgements that make the values
	// rows of the first file that it lacks, or has with another text
	Missing     int                      `json:"missing"`
	Rejected    int                      `json:"rejected"` // lines that are no rows
	Dimensions  []DimensionFigures       `json:"dimensions"`
	Average     map[string]report.Figure `json:"average"`     // over the dimensions in which the figure is defined
	AveragedBy  map[string]int           `json:"averaged_by"` // figure to the number of those dimensions
	Reliability []Reliability            `json:"reliability"` // of judges that judged rows more than once
}

// DimensionFigures are those of one dimension.
type DimensionFigures struct {
	Dimension     string                   `json:"dimension"`
	Human         int                      `json:"human"`          // rows with a human score
	Unscored      int                      `json:"unscored"`       // of them, without a value in this file
	UnscoredShare report.Number            `json:"unscored_share"` // of Human
	Rows          int                      `json:"rows"`           // that figures use: with values in every file too
	LowRows       int                      `json:"low_rows"`       // of those, with a low human score
	Mean          report.Number            `json:"mean"`           // of the values, on the dimension's scale
	HumanMean     report.Number            `json:"human_mean"`
	Metrics       map[string]report.Figure `json:"metrics"`
}

// Agreement is that of people with each other: where they hardly agree, no score agrees with them.
type Agreement struct {
	Dimension string        `json:"dimension"`
	Rows      int           `json:"rows"`    // that several people rated
	Ratings   int           `json:"ratings"` // of these rows
	Alpha     report.Number `json:"alpha"`   // Krippendorff's, for interval data
}

// Reliability is the agreement of a judge with itself.
type Reliability struct {
	Dimension     string        `json:"dimension"`
	Judge         string        `json:"judge"`
	Mode          string        `json:"mode"`
	Rows          int           `json:"rows"` // judged more than once
	Alpha         report.Number `json:"alpha"`
	StandardError report.Number `json:"standard_error"` // of a row's mean over its repeats, in units of the scale
}

// ScoreDifference is second minus first, with the p-value of the paired test.
type ScoreDifference struct {
	Dimensions []DimensionDifference        `json:"dimensions"`
	Average    map[string]report.Difference `json:"average"`
}

// DimensionDifference is that of one dimension.
type DimensionDifference struct {
	Dimension string                       `json:"dimension"`
	Metrics   map[string]report.Difference `json:"metrics"`
}

// Warnings are one for each file that was read, in order.
func (r *ScoreReport) Warnings() []report.FileWarning {
	var all []report.FileWarning
	for i, set := range r.data.sets {
		if i == 0 || set.mode == "" { // the second mode is of the same file
			all = append(all, report.FileWarning{Faults: set.faults})
		}
	}
	return all
}

// IsIncomplete tells whether a row has no value in a file or mode, or a line is no row.
func (r *ScoreReport) IsIncomplete() bool {
	unscored := func(d DimensionFigures) bool { return d.Unscored > 0 }
	for _, f := range r.Files {
		if slices.ContainsFunc(f.Dimensions, unscored) {
			return true
		}
	}
	return slices.ContainsFunc(r.Lift, func(l LiftRow) bool { return l.Unscored > 0 }) ||
		slices.ContainsFunc(r.data.sets, func(s *scoreSet) bool { return s.missing > 0 || len(s.faults) > 0 })
}

// DrawScores draws the values of each dimension against the human scores, as "svg" or "png". It is an error if there
// are no human scores.
func (r *ScoreReport) DrawScores(format string) ([]byte, error) { return r.data.drawScatter(format) }

// DrawLift is DrawLift of the lift.
func (r *ScoreReport) DrawLift(format string) ([]byte, error) { return DrawLift(r.Lift, format) }

// Report puts the figures into words and tables.
func (r *ScoreReport) Report() *report.Report {
	out := &report.Report{Facts: r.facts(),
		Title: "Scores against human scores: " + r.input + describeWhere(r.Where) + ", taxonomy " + r.Taxonomy}
	if r.Lift != nil {
		lift := report.Section{Title: "lift: error-aware minus vanilla in " + r.input, Table: liftTable(r.Lift)}
		out.Sections = append(out.Sections, lift)
	}
	for i := range r.Files {
		out.Sections = append(out.Sections, r.sections(&r.Files[i])...)
	}
	if r.Difference != nil {
		out.Sections = append(out.Sections, r.difference())
	}
	return out
}

func (r *ScoreReport) facts() []string {
	rows := words.Plural(r.Rows, "row", "rows")
	if r.Used < r.Rows {
		rows += fmt.Sprintf(", of which figures use %d,", r.Used)
	}
	lines := []string{fmt.Sprintf("%s in %s (%s), %s", rows, words.Plural(r.Groups, "group", "groups"),
		describeGroup(r.Group), words.Plural(r.Systems, "system", "systems"))}
	for _, d := range slices.Sorted(maps.Keys(r.Human)) {
		lines = append(lines, fmt.Sprintf("human score of %s: %s", d, strings.Join(r.Human[d], ", ")))
	}
	for _, a := range r.Agreement {
		lines = append(lines, fmt.Sprintf("people agree with each other on %s: Krippendorff's alpha for interval data "+
			"%s (%s that several rated)", a.Dimension, a.Alpha.Text("%.3f"), words.Plural(a.Rows, "row", "rows")))
	}
	if len(r.Human) > 0 {
		lines = append(lines, fmt.Sprintf("overestimated: share of the rows with a human score of at most %g "+
			"whose value is at least %g", r.Low, r.High))
	}
	lines = append(lines, r.remarks...)
	return append(lines, describeIntervals(r.Groups, r.Resamples, r.Seed)...)
}

func (r *ScoreReport) sections(f *ScoredFile) []report.Section {
	name := nameFile(f.File, f.Mode)
	sections := []report.Section{{Title: "rows of " + name, Notes: f.notes(), Table: f.counts()},
		{Title: "instances in " + name, Table: f.table(0, firstSystemMetric)}}
	if r.Systems >= fewestSystems {
		sections = append(sections, report.Section{Title: fmt.Sprintf("means of %d systems in %s", r.Systems, name),
			Notes: fewSystems(r.Systems), Table: f.table(firstSystemMetric, len(scoreMetrics))})
	}
	if len(f.Reliability) > 0 {
		sections = append(sections, report.Section{Title: "repeats in " + name, Table: repeatTable(f.Reliability)})
	}
	return sections
}

// fewSystems says how often so many systems come in one order, or its reverse, by chance.
func fewSystems(n int) []string {
	orders := 1
	for i := 2; i <= n; i++ {
		if orders *= i; orders > 40 { // 2 / 40 is 5 %
			return nil
		}
	}
	return []string{fmt.Sprintf("%d systems come in the same order, or its reverse, by chance in 2 of %d cases; the "+
		"intervals are of these systems on other rows, not of other systems", n, orders)}
}

func (f *ScoredFile) notes() (notes []string) {
	if f.Missing > 0 {
		notes = append(notes, words.Plural(f.Missing, "row is", "rows are")+
			" not in this file with the same text: left out, as unscored ones")
	}
	if f.Rejected > 0 {
		notes = append(notes, words.Plural(f.Rejected, "line is no row", "lines are no rows"))
	}
	return notes
}

func (f *ScoredFile) counts() report.Table {
	t := report.NewTable("dimension", "human", "unscored", "share", "in figures", "low", "mean", "human mean")
	for _, d := range f.Dimensions {
		t.Rows = append(t.Rows, []any{d.Dimension, d.Human, d.Unscored, d.UnscoredShare.As(report.InPercent), d.Rows,
			d.LowRows, d.Mean.As("%.2f"), d.HumanMean.As("%.2f")})
	}
	return t
}

// table shows the metrics from, …, to-1 of scoreMetrics.
func (f *ScoredFile) table(from, to int) report.Table {
	t := newFigureTable(scoreMetrics[from:to], "")
	for _, d := range f.Dimensions {
		addFigures(&t, d.Dimension, d.Metrics, scoreMetrics[from:to], "%.3f")
	}
	addFigures(&t, "average", f.Average, scoreMetrics[from:to], "%.3f")
	return t
}

func newFigureTable(metrics []stats.Metric, more string) report.Table {
	titles := []string{"dimension"}
	for _, m := range metrics {
		titles = append(titles, m.Name+more)
	}
	return report.NewTable(titles...)
}

// addFigures adds a line to a table of figures by metric.
func addFigures[F interface {
	As(format string) report.Cell
}](t *report.Table, name string, figures map[string]F,
	metrics []stats.Metric, format string) {
	cells := []any{name}
	for _, m := range metrics {
		cells = append(cells, figures[m.Key].As(format))
	}
	t.Rows = append(t.Rows, cells)
}

func repeatTable(rows []Reliability) report.Table {
	t := report.NewTable("dimension", "judge", "mode", "rows", "alpha", "standard error")
	t.Columns[1].Right, t.Columns[2].Right = false, false // texts
	for _, r := range rows {
		t.Rows = append(t.Rows, []any{r.Dimension, r.Judge, r.Mode, r.Rows, r.Alpha.As("%.3f"),
			r.StandardError.As("%.3f")})
	}
	return t
}

func (r *ScoreReport) difference() report.Section {
	metrics := scoreMetrics[:firstSystemMetric]
	t := newFigureTable(metrics, "")
	if r.Systems >= fewestSystems {
		metrics = scoreMetrics
		t.Columns = append(t.Columns, newFigureTable(metrics[firstSystemMetric:], " (systems)").Columns[1:]...)
	}
	for _, d := range r.Difference.Dimensions {
		addFigures(&t, d.Dimension, d.Metrics, metrics, "%+.3f")
	}
	addFigures(&t, "average", r.Difference.Average, metrics, "%+.3f")
	return report.Section{Title: r.describeDifference(), Table: t}
}

// describeDifference is the title of the differences.
func (r *ScoreReport) describeDifference() string {
	if r.By != "" {
		return "did the errors help? error-aware minus vanilla in " + r.input
	}
	return fmt.Sprintf("second (%s) minus first (%s)", r.Files[1].File, r.Files[0].File)
}
