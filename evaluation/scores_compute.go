package evaluation

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/erreval/erreval/internal/stats"
	"github.com/erreval/erreval/report"
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

// scoreFrame holds what is resampled: for each set and dimension, rows with a human score and values in every set.
type scoreFrame struct {
	*Scores
	chosen   [][]int // by dimension: rows
	group    []int   // by row
	system   []int
	groups   int
	systems  int
	subjects [][]scoreSubject // by set and dimension
	averaged [][]int          // by metric: the dimensions that averages stand on
}

// scoreSubject is one set in one dimension.
type scoreSubject struct {
	pairs *stats.Pairs
	means *stats.Means // nil with one system
	low   []bool       // human score is low
	over  []bool       // and the value is high nevertheless
	group []int
}

// values are those of scoreMetrics.
func (s *scoreSubject) values(weight []int32) []float64 {
	c := s.pairs.Correlations(weight)
	m := stats.Correlations{Pearson: math.NaN(), Spearman: math.NaN(), Kendall: math.NaN()}
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

func newScoreFrame(s *Scores) *scoreFrame {
	f := &scoreFrame{Scores: s}
	groups, systems := numbering{}, numbering{}
	for _, r := range s.rows {
		f.group, f.system = append(f.group, groups.of(r.group)), append(f.system, systems.of(r.system))
	}
	f.groups, f.systems = len(groups), len(systems)
	for d := range s.o.Human {
		f.chosen = append(f.chosen, f.choose(d))
	}
	for _, set := range s.sets {
		var subjects []scoreSubject
		for d := range s.o.Human {
			subjects = append(subjects, f.newSubject(set, d))
		}
		f.subjects = append(f.subjects, subjects)
	}
	f.chooseAveraged()
	return f
}

// choose lists the rows with a human score in a dimension, and values in every set.
func (f *scoreFrame) choose(d int) (rows []int) {
	for i := range f.rows {
		ok := !math.IsNaN(f.rows[i].human[d])
		for _, set := range f.sets {
			ok = ok && !math.IsNaN(set.values[d][i])
		}
		if ok {
			rows = append(rows, i)
		}
	}
	return rows
}

func (f *scoreFrame) newSubject(set *scoreSet, d int) scoreSubject {
	s := scoreSubject{group: pick(f.group, f.chosen[d])}
	x, y := pick(set.values[d], f.chosen[d]), f.humanScores(d)
	for i := range x {
		s.low = append(s.low, y[i] <= f.o.Low)
		s.over = append(s.over, y[i] <= f.o.Low && x[i] >= f.o.High)
	}
	s.pairs = stats.NewPairs(x, y, s.group)
	if f.systems > 1 {
		s.means = stats.NewMeans(x, y, pick(f.system, f.chosen[d]), f.systems, s.group)
	}
	return s
}

func (f *scoreFrame) humanScores(d int) []float64 {
	out := make([]float64, len(f.chosen[d]))
	for j, i := range f.chosen[d] {
		out[j] = f.rows[i].human[d]
	}
	return out
}

// misfits says where human scores, or the default limits of overestimation, belong to another scale than the
// dimension's.
func (f *scoreFrame) misfits(d int) (lines []string) {
	top, key, human := 0, f.o.Human[d].Dimension, f.humanScores(d)
	for _, dimension := range f.o.Taxonomy.Dimensions {
		if dimension.Key == key {
			top = len(dimension.Criteria) // they run 1, 2, 3 …
		}
	}
	if len(human) == 0 || f.o.Low != DefaultLow || f.o.High != DefaultHigh {
		return nil
	}
	if least, most := slices.Min(human), slices.Max(human); least < 1 || most > float64(top) {
		lines = append(lines, fmt.Sprintf("human scores of %s are %g to %g, its scale is 1 to %d: correlations hold, "+
			"for overestimated set --low and --high", key, least, most, top))
	} else if top != defaultTopScore {
		lines = append(lines, fmt.Sprintf("the scale of %s is 1 to %d, the limits of overestimated are made for 1 to %d: "+
			"set --low and --high", key, top, defaultTopScore))
	}
	return lines
}

// chooseAveraged chooses for each figure the dimensions in which it is defined in every set.
func (f *scoreFrame) chooseAveraged() {
	f.averaged = make([][]int, len(scoreMetrics))
	for d := range f.o.Human {
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

// values are those of every set: of each dimension, then the averages. Each counts as a subject of resampled: see
// place.
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

// place is that of a set's dimension among the subjects; the averages stand behind the last dimension.
func (f *scoreFrame) place(set, d int) int { return set*(len(f.o.Human)+1) + d }

func (f *scoreFrame) newReport() *ScoreReport {
	o := &f.o
	return &ScoreReport{Taxonomy: o.Taxonomy.ID(), Where: o.Where, Human: map[string][]string{}, Group: o.Intervals.Group,
		Groups: f.groups, Resamples: resamples(&o.Intervals), Seed: o.Intervals.Seed, Level: stats.Level,
		Low: o.Low, High: o.High, Systems: f.systems, Rows: len(f.rows), Files: []ScoredFile{},
		input: f.sets[0].file, frame: f}
}

func (f *scoreFrame) measureFile(at int, figures *resampled) ScoredFile {
	set := f.sets[at]
	r := ScoredFile{File: set.file, Mode: set.mode, Missing: set.missing, Rejected: len(set.faults),
		AveragedBy: map[string]int{}, Reliability: []Reliability{}}
	for d, h := range f.o.Human {
		one := f.countRows(set, d)
		one.Metrics = figures.figures(f.place(at, d))
		one.LowRows = len(slices.DeleteFunc(slices.Clone(f.subjects[at][d].low), func(low bool) bool { return !low }))
		r.Dimensions = append(r.Dimensions, one)
		r.Reliability = append(r.Reliability, reliabilities(h.Dimension, set.repeats[d])...)
	}
	r.Average = figures.figures(f.place(at, len(f.o.Human)))
	for m, over := range f.averaged {
		r.AveragedBy[scoreMetrics[m].Key] = len(over)
	}
	return r
}

// countRows counts the rows of a set in one dimension, and gives their means.
func (f *scoreFrame) countRows(set *scoreSet, d int) DimensionFigures {
	one := DimensionFigures{Dimension: f.o.Human[d].Dimension, Rows: len(f.chosen[d]),
		Mean: meanOf(pick(set.values[d], f.chosen[d])), HumanMean: meanOf(f.humanScores(d))}
	for i := range f.rows {
		if math.IsNaN(f.rows[i].human[d]) {
			continue
		}
		one.Human++
		if math.IsNaN(set.values[d][i]) {
			one.Unscored++
		}
	}
	one.UnscoredShare = report.Number(float64(one.Unscored) / float64(one.Human))
	return one
}

func (f *scoreFrame) measureDifference(figures *resampled) *ScoreDifference {
	of := func(d int) map[string]report.Difference {
		return figures.minus(f.place(1, d), f.place(0, d)).differences()
	}
	r := &ScoreDifference{Average: of(len(f.o.Human))}
	for d, h := range f.o.Human {
		r.Dimensions = append(r.Dimensions, DimensionDifference{h.Dimension, of(d)})
	}
	return r
}

func meanOf(v []float64) report.Number {
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return report.Number(sum / float64(len(v)))
}

// reliabilities are those of judges with rows that were judged more than once.
func reliabilities(dimension string, repeats map[judgeMode][][]float64) []Reliability {
	var out []Reliability
	keys := slices.SortedFunc(maps.Keys(repeats), func(a, b judgeMode) int {
		return cmp.Or(cmp.Compare(a.judge, b.judge), cmp.Compare(a.mode, b.mode))
	})
	for _, key := range keys {
		units := slices.DeleteFunc(slices.Clone(repeats[key]), func(v []float64) bool { return len(v) < 2 })
		if len(units) > 0 {
			out = append(out, Reliability{dimension, key.judge, key.mode, len(units),
				report.Number(stats.Alpha(units)), report.Number(stats.RepeatError(units))})
		}
	}
	return out
}

// draw draws every dimension's rows: human score to the right, value upwards, one colour a set.
func (f *scoreFrame) draw(format string) ([]byte, error) {
	var panels []chart.Panel
	for d, h := range f.o.Human {
		p := chart.Panel{Name: h.Dimension, X: f.humanScores(d)}
		for _, set := range f.sets {
			p.Series = append(p.Series, chart.Series{Name: nameFile(set.file, set.mode), Y: pick(set.values[d], f.chosen[d])})
		}
		panels = append(panels, p)
	}
	return chart.Scatter("Score and human score", "human score", "score", panels, format)
}
