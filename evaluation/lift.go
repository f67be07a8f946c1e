package evaluation

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/stats"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/report"
	"github.com/erreval/erreval/report/chart"
	"github.com/erreval/erreval/taxonomy"
)

// Aggregate makes one value of several judgements, as scorer.Aggregate does; false if none has a value.
type Aggregate func(runs []dataset.Run) (float64, bool)

// ModeValue makes one value of the judges' runs in one mode. Planted runs and those of the offline scorer do not count.
func ModeValue(runs []dataset.Run, mode string, aggregate Aggregate) (float64, bool) {
	return aggregate(slices.DeleteFunc(slices.Clone(runs), func(r dataset.Run) bool {
		return r.Mode != mode || r.Planted != "" || r.Judge == dataset.JudgeOffline
	}))
}

// LiftRow says how the values of one dimension change when judges see the errors, over the rows that have a value in
// both modes. Its JSON keys are stable.
type LiftRow struct {
	Dimension  string        `json:"dimension"`
	Rows       int           `json:"rows"`
	Unscored   int           `json:"unscored"`    // rows with a judgement, but without a value in one of the modes
	Vanilla    report.Number `json:"vanilla"`     // mean of the values without the errors, on the dimension's scale
	ErrorAware report.Number `json:"error_aware"` // mean of those with the errors
	Lift       report.Number `json:"lift"`        // ErrorAware − Vanilla
	Low        report.Number `json:"low"`         // end of its interval; undefined where the rows are of a single group
	High       report.Number `json:"high"`        // the other end
	P          report.Number `json:"p"`           // that the lift is not 0
	Changed    int           `json:"changed"`     // rows whose values differ
}

// Difference is the lift with its interval and p-value.
func (r *LiftRow) Difference() report.Difference {
	return report.Difference{Figure: report.Figure{Value: r.Lift, Low: r.Low, High: r.High}, P: r.P}
}

// Lift counts scored rows for LiftRows. It keeps sums by group: its memory grows with the groups, not with the rows.
type Lift struct {
	aggregate  Aggregate
	groups     map[[sha256.Size]byte]int
	dimensions []*liftDimension
}

type liftDimension struct {
	LiftRow
	sums []liftSum // by group, up to the last that has a row
}

type liftSum struct{ rows, vanilla, aware float64 }

// NewLift starts without rows. aggregate makes one value of several judgements of a row in one mode.
func NewLift(t *taxonomy.Taxonomy, aggregate Aggregate) *Lift {
	l := &Lift{aggregate: aggregate, groups: map[[sha256.Size]byte]int{}}
	for _, d := range t.Dimensions {
		l.dimensions = append(l.dimensions, &liftDimension{LiftRow: LiftRow{Dimension: d.Key}})
	}
	return l
}

// AddRow counts a row: its group (see report.GroupOf), and its scores by dimension.
func (l *Lift) AddRow(group string, scores map[string]*dataset.Score) {
	key := sha256.Sum256([]byte(group)) // passages are long
	at, ok := l.groups[key]
	if !ok {
		at = len(l.groups)
		l.groups[key] = at
	}
	for _, d := range l.dimensions {
		if s := scores[d.Dimension]; s != nil {
			d.addJudgements(at, s.Runs, l.aggregate)
		}
	}
}

func (d *liftDimension) addJudgements(group int, runs []dataset.Run, aggregate Aggregate) {
	vanilla, okV := ModeValue(runs, dataset.ModeVanilla, aggregate)
	aware, okA := ModeValue(runs, dataset.ModeErrorAware, aggregate)
	if !okV || !okA {
		if slices.ContainsFunc(runs, func(r dataset.Run) bool { return r.Judge != dataset.JudgeOffline }) {
			d.Unscored++
		}
		return
	}
	d.Rows++
	if vanilla != aware {
		d.Changed++
	}
	for len(d.sums) <= group {
		d.sums = append(d.sums, liftSum{})
	}
	s := &d.sums[group]
	s.rows, s.vanilla, s.aware = s.rows+1, s.vanilla+vanilla, s.aware+aware
}

func (d *liftDimension) means(weight []int32) (vanilla, aware float64) {
	n := 0.0
	for g, s := range d.sums {
		w := stats.WeightOf(weight, g)
		n, vanilla, aware = n+w*s.rows, vanilla+w*s.vanilla, aware+w*s.aware
	}
	return vanilla / n, aware / n
}

// countGroups is the number of groups with rows.
func (d *liftDimension) countGroups() int {
	n := 0
	for _, s := range d.sums {
		if s.rows > 0 {
			n++
		}
	}
	return n
}

// CountGroups gives the number of groups, which intervals resample.
func (l *Lift) CountGroups() int { return len(l.groups) }

// ComputeRows gives a LiftRow for every dimension of the taxonomy. The error is the context's.
func (l *Lift) ComputeRows(ctx context.Context, o report.IntervalOptions) ([]LiftRow, error) {
	samples, err := stats.Bootstrap(ctx, len(l.groups), o.Resamples, o.Seed, func(weight []int32) []float64 {
		out := make([]float64, len(l.dimensions))
		for i, d := range l.dimensions {
			vanilla, aware := d.means(weight)
			out[i] = aware - vanilla
		}
		return out
	})
	if err != nil {
		return nil, err
	}
	rows := make([]LiftRow, len(l.dimensions))
	for i, d := range l.dimensions {
		vanilla, aware := d.means(nil)
		f := report.NewDifference(aware-vanilla, stats.Column(samples, i), d.countGroups())
		rows[i] = d.LiftRow
		rows[i].Vanilla, rows[i].ErrorAware = report.Number(vanilla), report.Number(aware)
		rows[i].Lift, rows[i].Low, rows[i].High, rows[i].P = f.Value, f.Low, f.High, f.P
	}
	return rows, nil
}

func liftTable(rows []LiftRow) report.Table {
	t := report.NewTable("dimension", "rows", "vanilla", "error-aware", "lift", "changed")
	for _, r := range rows {
		t.Rows = append(t.Rows, []any{r.Dimension, r.Rows, r.Vanilla.As("%.2f"), r.ErrorAware.As("%.2f"),
			r.Difference().As("%+.2f"), r.Changed})
	}
	return t
}

// WriteLift writes the rows as an aligned table for the summary of a run; groups is CountGroups. Without rows it writes
// nothing.
func WriteLift(w io.Writer, rows []LiftRow, groups int) error {
	if len(rows) == 0 {
		return nil
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "lift\tvanilla\terror-aware\tdifference, %.0f %% interval\tchanged\t\n", 100*stats.Level)
	for _, r := range rows {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%d of %d\t\n", r.Dimension, r.Vanilla.Text("%.2f"), r.ErrorAware.Text("%.2f"),
			r.Difference().Text("%+.2f"), r.Changed, r.Rows)
	}
	err := t.Flush()
	if err == nil && groups < report.FewGroups {
		_, err = fmt.Fprintf(w, "lift: %s, too few for an interval to trust\n", words.Plural(groups, "group", "groups"))
	}
	return err
}

// DrawLift draws the lift of each dimension that has rows, as "svg" or "png". It is an error if none has.
func DrawLift(rows []LiftRow, format string) ([]byte, error) {
	var marks []chart.Mark
	for _, r := range rows {
		if r.Rows > 0 {
			name := strings.ReplaceAll(r.Dimension, "_", " ")
			marks = append(marks, chart.Mark{Name: fmt.Sprintf("%s (%s)", name, words.Plural(r.Rows, "row", "rows")),
				Value: float64(r.Lift), Low: float64(r.Low), High: float64(r.High)})
		}
	}
	title := fmt.Sprintf("Lift: what showing the errors changes, with %.0f %% intervals", 100*stats.Level)
	return chart.Intervals(title, "error-aware minus vanilla", marks, format)
}
