package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/erreval/erreval/internal/stats"
	"github.com/erreval/erreval/report/chart"
)

// scoreMetrics are the figures of a dimension, in order.
var scoreMetrics = []stats.Metric{
	{Key: "pearson", Name: "Pearson", HigherIsBetter: true},
	{Key: "spearman", Name: "Spearman", HigherIsBetter: true},
	{Key: "kendall", Name: "Kendall tau-b", HigherIsBetter: true},
	{Key: "overestimation", Name: "overestimated"},
	{Key: "system_pearson", Name: "Pearson", HigherIsBetter: true},
	{Key: "system_spearman", Name: "Spearman", HigherIsBetter: true},
	{Key: "system_kendall", Name: "Kendall tau-b", HigherIsBetter: true},
}

// firstSystemMetric is where the figures over systems' means begin.
const firstSystemMetric = 4

// scoresReport is what "meta scores --json" prints; keys are stable.
type scoresReport struct {
	Taxonomy   string              `json:"taxonomy"`
	Where      map[string]string   `json:"where,omitempty"`
	Human      map[string][]string `json:"human"` // dimension to columns
	Group      string              `json:"group,omitempty"`
	Groups     int                 `json:"groups"`
	Resamples  int                 `json:"resamples"`
	Seed       uint64              `json:"seed"`
	Level      float64             `json:"level"`
	Low        float64             `json:"low"`
	High       float64             `json:"high"`
	Systems    int                 `json:"systems"`
	Rows       int                 `json:"rows"`
	By         string              `json:"by,omitempty"`   // "mode": Files are the modes of one file
	Lift       []liftRow           `json:"lift,omitempty"` // by mode
	Files      []scoresFile        `json:"files"`
	Difference *scoresDifference   `json:"difference,omitempty"` // second minus first; only with two

	input string   // the first file
	scale []string // what the limits of overestimation do not fit
}

// scoresFile are the figures of one file.
type scoresFile struct {
	File        string            `json:"file"`
	Mode        string            `json:"mode,omitempty"` // of the judgements that make the values
	Missing     int               `json:"missing"`        // rows of the first file that are not here with the same text
	Rejected    int               `json:"rejected"`       // lines that are no rows
	Dimensions  []scoresDimension `json:"dimensions"`
	Average     map[string]figure `json:"average"`     // over the dimensions in which the figure is defined
	AveragedBy  map[string]int    `json:"averaged_by"` // figure to the number of those dimensions
	Reliability []reliability     `json:"reliability"` // of judges that judged rows more than once
}

// scoresDimension are the figures of one dimension.
type scoresDimension struct {
	Dimension     string            `json:"dimension"`
	Human         int               `json:"human"`          // rows with a human score
	Unscored      int               `json:"unscored"`       // of them, without a value in this file
	UnscoredShare number            `json:"unscored_share"` // of Human
	Rows          int               `json:"rows"`           // with a human score, and a value in every file: what the figures stand on
	LowRows       int               `json:"low_rows"`       // of those, with a low human score
	Mean          number            `json:"mean"`           // of the values
	HumanMean     number            `json:"human_mean"`
	Metrics       map[string]figure `json:"metrics"`
}

// reliability is the agreement of a judge with itself.
type reliability struct {
	Dimension     string `json:"dimension"`
	Judge         string `json:"judge"`
	Mode          string `json:"mode"`
	Rows          int    `json:"rows"` // judged more than once
	Alpha         number `json:"alpha"`
	StandardError number `json:"standard_error"` // of a row's mean over its repeats, in units of the scale
}

// scoresDifference is second minus first, with the p-value of the paired test.
type scoresDifference struct {
	Dimensions []scoresDelta         `json:"dimensions"`
	Average    map[string]testFigure `json:"average"`
}

type scoresDelta struct {
	Dimension string                `json:"dimension"`
	Metrics   map[string]testFigure `json:"metrics"`
}

type testFigure struct {
	figure
	P number `json:"p"`
}

func (r *scoresReport) incomplete() bool {
	for _, f := range r.Files {
		if slices.ContainsFunc(f.Dimensions, func(d scoresDimension) bool { return d.Unscored > 0 }) {
			return true
		}
	}
	return slices.ContainsFunc(r.Lift, func(l liftRow) bool { return l.Unscored > 0 })
}

// scoreFrame holds what is resampled: for each file and dimension, rows with a human score and values in every file.
type scoreFrame struct {
	o        *metaScoresOptions
	set      *scoredSet
	rows     [][]int // by dimension
	group    []int   // by row
	system   []int
	groups   int
	systems  int
	subjects [][]scoreSubject // by file and dimension
	averaged [][]int          // by metric: the dimensions that averages stand on
}

// scoreSubject is one file in one dimension.
type scoreSubject struct {
	pairs *stats.Pairs
	means *stats.Means
	low   []bool // human score is low
	over  []bool // and the value is high nevertheless
	group []int
}

// values are those of scoreMetrics.
func (s *scoreSubject) values(weight []int32) []float64 {
	c, m := s.pairs.Correlations(weight), stats.Correlations{Pearson: math.NaN(), Spearman: math.NaN(), Kendall: math.NaN()}
	if s.means != nil {
		m = s.means.Correlations(weight)
	}
	low, over := 0.0, 0.0
	for i, g := range s.group {
		w := 1.0
		if weight != nil {
			w = float64(weight[g])
		}
		if s.low[i] {
			low += w
		}
		if s.over[i] {
			over += w
		}
	}
	return []float64{c.Pearson, c.Spearman, c.Kendall, over / low, m.Pearson, m.Spearman, m.Kendall}
}

func newScoreFrame(o *metaScoresOptions, set *scoredSet) *scoreFrame {
	f := &scoreFrame{o: o, set: set}
	groups, systems := map[string]int{}, map[string]int{}
	for _, r := range set.rows {
		f.group, f.system = append(f.group, numbered(groups, r.group)), append(f.system, numbered(systems, r.system))
	}
	f.groups, f.systems = len(groups), len(systems)
	for d := range o.human {
		var rows []int
		for i := range set.rows {
			ok := !math.IsNaN(set.rows[i].human[d])
			for _, file := range set.files {
				ok = ok && !math.IsNaN(file.values[d][i])
			}
			if ok {
				rows = append(rows, i)
			}
		}
		f.rows = append(f.rows, rows)
	}
	for _, file := range set.files {
		var subjects []scoreSubject
		for d := range o.human {
			subjects = append(subjects, f.subject(file, d))
		}
		f.subjects = append(f.subjects, subjects)
	}
	f.average()
	return f
}

func numbered(numbers map[string]int, name string) int {
	if _, ok := numbers[name]; !ok {
		numbers[name] = len(numbers)
	}
	return numbers[name]
}

func (f *scoreFrame) subject(file *scoredFile, d int) scoreSubject {
	s := scoreSubject{group: pick(f.group, f.rows[d])}
	x, y := pick(file.values[d], f.rows[d]), f.humanScores(d)
	for i := range x {
		s.low = append(s.low, y[i] <= f.o.low)
		s.over = append(s.over, y[i] <= f.o.low && x[i] >= f.o.high)
	}
	s.pairs = stats.NewPairs(x, y, s.group)
	if f.systems > 1 {
		s.means = stats.NewMeans(x, y, pick(f.system, f.rows[d]), f.systems, s.group)
	}
	return s
}

func (f *scoreFrame) humanScores(d int) []float64 {
	out := make([]float64, len(f.rows[d]))
	for j, i := range f.rows[d] {
		out[j] = f.set.rows[i].human[d]
	}
	return out
}

// misfits says where human scores, or the default limits of overestimation, belong to another scale than the dimension's.
func (f *scoreFrame) misfits(d int) (lines []string) {
	top, key, human := 0, f.o.human[d].dimension, f.humanScores(d)
	for _, dimension := range f.o.taxonomy.Dimensions {
		if dimension.Key == key {
			top = len(dimension.Criteria) // they run 1, 2, 3 …
		}
	}
	if len(human) == 0 || f.o.low != defaultLow || f.o.high != defaultHigh {
		return nil
	}
	if least, most := slices.Min(human), slices.Max(human); least < 1 || most > float64(top) {
		lines = append(lines, fmt.Sprintf("human scores of %s are %g to %g, its scale is 1 to %d: correlations hold, for overestimated set --low and --high", key, least, most, top))
	} else if top != defaultTopScore {
		lines = append(lines, fmt.Sprintf("the scale of %s is 1 to %d, the limits of overestimated are made for 1 to %d: set --low and --high", key, top, defaultTopScore))
	}
	return lines
}

// average chooses the dimensions in which a figure is defined in every file.
func (f *scoreFrame) average() {
	f.averaged = make([][]int, len(scoreMetrics))
	for d := range f.o.human {
		var all [][]float64
		for _, subjects := range f.subjects {
			all = append(all, subjects[d].values(nil))
		}
		for m := range scoreMetrics {
			if !slices.ContainsFunc(all, func(v []float64) bool { return math.IsNaN(v[m]) }) {
				f.averaged[m] = append(f.averaged[m], d)
			}
		}
	}
}

// values are those of every file: of each dimension, then the averages.
func (f *scoreFrame) values(weight []int32) []float64 {
	var out []float64
	for _, subjects := range f.subjects {
		var dimensions [][]float64
		for d := range subjects {
			dimensions = append(dimensions, subjects[d].values(weight))
			out = append(out, dimensions[d]...)
		}
		for m, over := range f.averaged {
			sum := 0.0
			for _, d := range over {
				sum += dimensions[d][m]
			}
			out = append(out, sum/float64(len(over)))
		}
	}
	return out
}

func computeScores(ctx context.Context, o *metaScoresOptions, set *scoredSet) (*scoresReport, error) {
	f := newScoreFrame(o, set)
	r := &scoresReport{Taxonomy: o.taxonomy.ID(), Where: o.where, Human: map[string][]string{}, Group: o.group, Groups: f.groups, Resamples: o.resamples,
		Seed: o.seed, Level: stats.Level, Low: o.low, High: o.high, Systems: f.systems, Rows: len(set.rows), Files: []scoresFile{}, input: o.preds[0]}
	if set.lift != nil {
		if err := r.addLift(ctx, o, set); err != nil {
			return nil, err
		}
	}
	if len(o.human) == 0 {
		return r, nil
	}
	if !slices.ContainsFunc(f.rows, func(rows []int) bool { return len(rows) > 0 }) {
		return nil, fmt.Errorf("no row has both a human score and a value in every file; score the rows first, as in: erreval score %s -o scored.jsonl", o.preds[0])
	}
	values := f.values(nil)
	samples, err := stats.Bootstrap(ctx, f.groups, o.resamples, o.seed, f.values)
	if err != nil {
		return nil, err
	}
	for d, h := range o.human {
		r.Human[h.dimension] = h.columns
		r.scale = append(r.scale, f.misfits(d)...)
	}
	width := (len(o.human) + 1) * len(scoreMetrics)
	for i, file := range set.files {
		r.Files = append(r.Files, f.fileReport(file, i, values, samples))
	}
	if len(set.files) == 2 {
		delta, deltas := minus(values[width:], values[:width]), make([][]float64, len(samples))
		for i, s := range samples {
			deltas[i] = minus(s[width:], s[:width])
		}
		r.Difference = &scoresDifference{Average: testFigures(delta, deltas, len(o.human))}
		for d, h := range o.human {
			r.Difference.Dimensions = append(r.Difference.Dimensions, scoresDelta{h.dimension, testFigures(delta, deltas, d)})
		}
	}
	return r, nil
}

// addLift adds the difference between the modes of a file.
func (r *scoresReport) addLift(ctx context.Context, o *metaScoresOptions, set *scoredSet) (err error) {
	r.By = "mode"
	if r.Lift, err = set.lift.rows(ctx, o.resamples, o.seed); err != nil {
		return err
	}
	if !slices.ContainsFunc(r.Lift, func(l liftRow) bool { return l.Rows > 0 }) {
		return fmt.Errorf("no row of %s was judged in both modes; judge it so first, as in: erreval score tagged.jsonl -o scored.jsonl --judge gpt-4o-mini --mode both", o.preds[0])
	}
	return nil
}

func (f *scoreFrame) fileReport(file *scoredFile, at int, values []float64, samples [][]float64) scoresFile {
	blocks := len(f.o.human) + 1
	r := scoresFile{File: file.file, Mode: file.mode, Missing: file.missing, Rejected: len(file.faults), AveragedBy: map[string]int{}, Reliability: []reliability{}}
	if at == 0 {
		r.Missing = 0
	}
	for d, h := range f.o.human {
		one := scoresDimension{Dimension: h.dimension, Rows: len(f.rows[d]), Metrics: scoreFigures(values, samples, at*blocks+d)}
		for i := range f.set.rows {
			if math.IsNaN(f.set.rows[i].human[d]) {
				continue
			}
			one.Human++
			if math.IsNaN(file.values[d][i]) {
				one.Unscored++
			}
		}
		one.UnscoredShare = number(float64(one.Unscored) / float64(one.Human))
		one.LowRows = len(slices.DeleteFunc(slices.Clone(f.subjects[at][d].low), func(low bool) bool { return !low }))
		one.Mean, one.HumanMean = meanOf(pick(file.values[d], f.rows[d])), meanOf(f.humanScores(d))
		r.Dimensions = append(r.Dimensions, one)
		r.Reliability = append(r.Reliability, reliabilities(h.dimension, file.repeats[d])...)
	}
	r.Average = scoreFigures(values, samples, at*blocks+blocks-1)
	for m, over := range f.averaged {
		r.AveragedBy[scoreMetrics[m].Key] = len(over)
	}
	return r
}

func meanOf(v []float64) number {
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return number(sum / float64(len(v)))
}

// reliabilities are those of judges with rows that were judged more than once.
func reliabilities(dimension string, repeats map[[2]string][][]float64) []reliability {
	out := []reliability{}
	keys := slices.SortedFunc(maps.Keys(repeats), func(a, b [2]string) int {
		return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1]))
	})
	for _, key := range keys {
		units := slices.DeleteFunc(slices.Clone(repeats[key]), func(v []float64) bool { return len(v) < 2 })
		if len(units) > 0 {
			out = append(out, reliability{dimension, key[0], key[1], len(units), number(stats.Alpha(units)), number(stats.RepeatError(units))})
		}
	}
	return out
}

// scoreFigures are a block of values with the intervals of their samples.
func scoreFigures(values []float64, samples [][]float64, block int) map[string]figure {
	out := map[string]figure{}
	for m, metric := range scoreMetrics {
		out[metric.Key] = scoreFigure(values, samples, block*len(scoreMetrics)+m, metric)
	}
	return out
}

func scoreFigure(values []float64, samples [][]float64, at int, metric stats.Metric) figure {
	f := figure{Value: number(values[at]), Low: number(math.NaN()), High: number(math.NaN()), Better: "lower"}
	if metric.HigherIsBetter {
		f.Better = "higher"
	}
	if column := columnOf(samples, at); len(column) > 0 && !math.IsNaN(values[at]) {
		i := stats.Intervals(column)[0]
		f.Low, f.High = number(i.Low), number(i.High)
	}
	return f
}

func columnOf(samples [][]float64, at int) [][]float64 {
	out := make([][]float64, len(samples))
	for i, s := range samples {
		out[i] = s[at : at+1]
	}
	return out
}

func testFigures(values []float64, samples [][]float64, block int) map[string]testFigure {
	out := map[string]testFigure{}
	for m, metric := range scoreMetrics {
		at := block*len(scoreMetrics) + m
		f := testFigure{scoreFigure(values, samples, at, metric), number(math.NaN())}
		if !math.IsNaN(values[at]) {
			var column []float64
			for _, s := range samples {
				column = append(column, s[at])
			}
			f.P = number(stats.PairedP(column))
		}
		out[metric.Key] = f
	}
	return out
}

// drawScores draws every dimension's rows: human score to the right, value upwards, one colour a file.
func drawScores(o *metaScoresOptions, set *scoredSet) error {
	f := newScoreFrame(o, set)
	var panels []chart.Panel
	for d, h := range o.human {
		p := chart.Panel{Name: h.dimension, X: f.humanScores(d)}
		for _, file := range set.files {
			p.Series = append(p.Series, chart.Series{Name: file.name(), Y: pick(file.values[d], f.rows[d])})
		}
		panels = append(panels, p)
	}
	return o.plot.write(func(format string) ([]byte, error) {
		return chart.Scatter("Score and human score", "human score", "score", panels, format)
	})
}
