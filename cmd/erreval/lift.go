package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/stats"
	"github.com/erreval/erreval/report"
	"github.com/erreval/erreval/report/chart"
	"github.com/erreval/erreval/scorer"
	"github.com/erreval/erreval/taxonomy"
)

// liftRow is what showing the errors changes in one dimension, over the rows that have a value in both modes.
type liftRow struct {
	Dimension  string `json:"dimension"`
	Rows       int    `json:"rows"`
	Unscored   int    `json:"unscored"`    // rows with a judgement, but without a value in one of the modes
	Vanilla    number `json:"vanilla"`     // mean
	ErrorAware number `json:"error_aware"` // mean
	Lift       number `json:"lift"`        // ErrorAware − Vanilla
	Low        number `json:"low"`         // end of its interval; undefined where the rows are of a single group
	High       number `json:"high"`        // the other end
	P          number `json:"p"`           // that the lift is not 0
	Changed    int    `json:"changed"`     // rows whose values differ
}

// liftCount sums the values of both modes by group, so that intervals can resample the groups.
type liftCount struct {
	aggregate  string // of scorer.Aggregates
	groups     map[[sha256.Size]byte]int
	dimensions []*liftDimension
}

type liftDimension struct {
	liftRow
	sums []liftSum // by group, up to the last that has a row
}

type liftSum struct{ rows, vanilla, aware float64 }

func newLift(t *taxonomy.Taxonomy, aggregate string) *liftCount {
	l := &liftCount{aggregate: aggregate, groups: map[[sha256.Size]byte]int{}}
	for _, d := range t.Dimensions {
		l.dimensions = append(l.dimensions, &liftDimension{liftRow: liftRow{Dimension: d.Key}})
	}
	return l
}

// modeValue is what the judges' runs of one mode make; planted ones have no part in it.
func modeValue(runs []dataset.Run, mode, aggregate string) (float64, bool) {
	return scorer.Aggregate(slices.DeleteFunc(slices.Clone(runs), func(r dataset.Run) bool {
		return r.Mode != mode || r.Planted != "" || r.Judge == dataset.JudgeOffline
	}), aggregate)
}

// add counts a row.
func (l *liftCount) add(group string, scores map[string]*dataset.Score) {
	key := sha256.Sum256([]byte(group)) // passages are long
	at, ok := l.groups[key]
	if !ok {
		at = len(l.groups)
		l.groups[key] = at
	}
	for _, d := range l.dimensions {
		if s := scores[d.Dimension]; s != nil {
			d.add(at, s.Runs, l.aggregate)
		}
	}
}

func (d *liftDimension) add(group int, runs []dataset.Run, how string) {
	vanilla, okV := modeValue(runs, dataset.ModeVanilla, how)
	aware, okA := modeValue(runs, dataset.ModeErrorAware, how)
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

// means are those of both modes.
func (d *liftDimension) means(weight []int32) (vanilla, aware float64) {
	n := 0.0
	for g, s := range d.sums {
		w := 1.0
		if weight != nil {
			w = float64(weight[g])
		}
		n, vanilla, aware = n+w*s.rows, vanilla+w*s.vanilla, aware+w*s.aware
	}
	return vanilla / n, aware / n
}

// groups counts those with rows.
func (d *liftDimension) groups() int {
	n := 0
	for _, s := range d.sums {
		if s.rows > 0 {
			n++
		}
	}
	return n
}

func (l *liftCount) values(weight []int32) []float64 {
	out := make([]float64, len(l.dimensions))
	for i, d := range l.dimensions {
		vanilla, aware := d.means(weight)
		out[i] = aware - vanilla
	}
	return out
}

// rows computes the figures; an interval needs rows in two groups.
func (l *liftCount) rows(ctx context.Context, resamples int, seed uint64) ([]liftRow, error) {
	samples, err := stats.Bootstrap(ctx, len(l.groups), resamples, seed, l.values)
	if err != nil {
		return nil, err
	}
	out := make([]liftRow, len(l.dimensions))
	for i, d := range l.dimensions {
		vanilla, aware := d.means(nil)
		r := d.liftRow
		r.Vanilla, r.ErrorAware, r.Lift = number(vanilla), number(aware), number(aware-vanilla)
		r.Low, r.High, r.P = number(math.NaN()), number(math.NaN()), number(math.NaN())
		if column := columnOf(samples, i); len(column) > 0 && d.groups() > 1 {
			interval := stats.Intervals(column)[0]
			r.Low, r.High = number(interval.Low), number(interval.High)
			r.P = number(stats.PairedP(slices.Concat(column...)))
		}
		out[i] = r
	}
	return out, nil
}

// text is the lift with its interval and p-value.
func (r *liftRow) text() string {
	return testFigure{figure{Value: r.Lift, Low: r.Low, High: r.High}, r.P}.text("%+.2f")
}

// liftTable shows rows with a line for each dimension.
func liftTable(rows []liftRow) report.Table {
	t := numbers("dimension", "rows", "vanilla", "error-aware", "lift", "changed")
	for _, r := range rows {
		t.Rows = append(t.Rows, []string{r.Dimension, fmt.Sprint(r.Rows), fixed("%.2f", r.Vanilla), fixed("%.2f", r.ErrorAware), r.text(), fmt.Sprint(r.Changed)})
	}
	return t
}

// drawLift draws the lift of each dimension with its interval.
func drawLift(plot *plotOptions, rows []liftRow) error {
	var marks []chart.Mark
	for _, r := range rows {
		if r.Rows > 0 {
			marks = append(marks, chart.Mark{Name: fmt.Sprintf("%s (%s)", strings.ReplaceAll(r.Dimension, "_", " "), plural(r.Rows, "row", "rows")),
				Value: float64(r.Lift), Low: float64(r.Low), High: float64(r.High)})
		}
	}
	title := fmt.Sprintf("Lift: what showing the errors changes, with %.0f %% intervals", 100*stats.Level)
	return plot.write(func(format string) ([]byte, error) {
		return chart.Intervals(title, "error-aware minus vanilla", marks, format)
	})
}
