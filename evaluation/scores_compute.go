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

// The figures of a dimension: first those over rows, then those over systems' means.
const (
	pearson = iota
	spearman
	kendall
	overestimation
	systemPearson
	systemSpearman
	systemKendall

	firstSystemMetric = systemPearson
)

var scoreMetrics = []stats.Metric{
	pearson:        {Key: "pearson", Name: "Pearson", HigherIsBetter: true, IsSigned: true},
	spearman:       {Key: "spearman", Name: "Spearman", HigherIsBetter: true, IsSigned: true},
	kendall:        {Key: "kendall", Name: "Kendall tau-b", HigherIsBetter: true, IsSigned: true},
	overestimation: {Key: "overestimation", Name: "overestimated"},
	systemPearson:  {Key: "system_pearson", Name: "Pearson", HigherIsBetter: true, IsSigned: true},
	systemSpearman: {Key: "system_spearman", Name: "Spearman", HigherIsBetter: true, IsSigned: true},
	systemKendall:  {Key: "system_kendall", Name: "Kendall tau-b", HigherIsBetter: true, IsSigned: true},
}

// ScoreMetrics are the figures of a dimension, in the order in which they are shown: those over rows, then those over
// systems' means.
func ScoreMetrics() []stats.Metric { return slices.Clone(scoreMetrics) }

// scoreData holds what is resampled: for each set and dimension, rows with a human score and values in every set.
type scoreData struct {
	*Scores
	chosen   [][]int // by dimension: rows
	used     int     // rows that some dimension has
	group    []int   // by row; of a row that none has nothing is asked
	system   []int
	groups   int   // of the rows that are used
	ofEach   []int // groups by dimension
	systems  int
	subjects [][]scoreSubject // by set and dimension
	averaged [][]int          // by metric: the dimensions that count in averages
}

// scoreSubject is one set in one dimension.
type scoreSubject struct {
	pairs *stats.Pairs
	means *stats.Means // nil with fewer than fewestSystems
	low   []bool       // human score is low
	over  []bool       // human score is low, but the value is high
	group []int
}

// values are in the order of scoreMetrics.
func (s *scoreSubject) values(weight []int32) []float64 {
	c := s.pairs.Correlations(weight)
	m := stats.Correlations{Pearson: math.NaN(), Spearman: math.NaN(), Kendall: math.NaN()}
	if s.means != nil {
		m = s.means.Correlations(weight)
	}
	low, over := 0.0, 0.0
	for i, g := range s.group {
		w := stats.WeightOf(weight, g)
		if s.low[i] {
			low += w
		}
		if s.over[i] {
			over += w
		}
	}
	return []float64{pearson: c.Pearson, spearman: c.Spearman, kendall: c.Kendall, overestimation: over / low,
		systemPearson: m.Pearson, systemSpearman: m.Spearman, systemKendall: m.Kendall}
}

func newScoreData(s *Scores) *scoreData {
	data := &scoreData{Scores: s, group: make([]int, len(s.rows)), system: make([]int, len(s.rows))}
	for d := range s.o.Human {
		data.chosen = append(data.chosen, data.chooseRows(d))
	}
	data.numberRows()
	for _, set := range s.sets {
		var subjects []scoreSubject
		for d := range s.o.Human {
			subjects = append(subjects, data.newSubject(set, d))
		}
		data.subjects = append(data.subjects, subjects)
	}
	data.chooseAveraged()
	return data
}

// chooseRows lists the rows with a human score in a dimension and a value in every set.
func (data *scoreData) chooseRows(d int) (rows []int) {
	for i := range data.rows {
		ok := !math.IsNaN(data.rows[i].human[d])
		for _, set := range data.sets {
			ok = ok && !math.IsNaN(set.values[d][i])
		}
		if ok {
			rows = append(rows, i)
		}
	}
	return rows
}

func (data *scoreData) newSubject(set *scoreSet, d int) scoreSubject {
	s := scoreSubject{group: selectRows(data.group, data.chosen[d])}
	x, y := selectRows(set.values[d], data.chosen[d]), data.humanScores(d, data.chosen[d])
	for i := range x {
		s.low = append(s.low, y[i] <= data.o.Low)
		s.over = append(s.over, y[i] <= data.o.Low && x[i] >= data.o.High)
	}
	s.pairs = stats.NewPairs(x, y, s.group)
	named := slices.DeleteFunc(slices.Clone(data.chosen[d]), func(i int) bool { return data.system[i] == noSystem })
	systems := selectRows(data.system, named)
	if len(slices.Compact(slices.Sorted(slices.Values(systems)))) >= fewestSystems {
		s.means = stats.NewMeans(selectRows(set.values[d], named), data.humanScores(d, named), systems, data.systems,
			selectRows(data.group, named))
	}
	return s
}

// noSystem is in the place of the number of a row's system where it names none.
const noSystem = -1

// fewestSystems are those whose means have a correlation: of two it is always 1 or -1.
const fewestSystems = 3

func (data *scoreData) humanScores(d int, rows []int) []float64 {
	out := make([]float64, len(rows))
	for j, i := range rows {
		out[j] = data.rows[i].human[d]
	}
	return out
}

// fewVaried is the share of rows with one and the same score from which on correlations are said to mean little.
const fewVaried = 0.95

// describeConstants says where almost all rows have the same score, by people or in a set.
func (data *scoreData) describeConstants(d int) (lines []string) {
	key := data.o.Human[d].Dimension
	say := func(whose string, scores []float64) {
		if value, share := mostFrequent(scores); share >= fewVaried {
			lines = append(lines, fmt.Sprintf("%s of %s are %g in %.0f %% of the rows: correlations with scores that hardly "+
				"vary mean little", whose, key, value, 100*share))
		}
	}
	say("human scores", data.humanScores(d, data.chosen[d]))
	for _, set := range data.sets {
		say("scores in "+nameFile(set.file, set.mode), selectRows(set.values[d], data.chosen[d]))
	}
	return lines
}

// mostFrequent is the value that most scores have, and their share.
func mostFrequent(scores []float64) (value, share float64) {
	rows := map[float64]int{}
	for _, x := range scores {
		if rows[x]++; rows[x] > rows[value] {
			value = x
		}
	}
	return value, float64(rows[value]) / float64(max(1, len(scores)))
}

// chooseAveraged chooses for each figure the dimensions in which it is defined in every set.
func (data *scoreData) chooseAveraged() {
	data.averaged = make([][]int, len(scoreMetrics))
	for d := range data.o.Human {
		var all [][]float64
		for _, subjects := range data.subjects {
			all = append(all, subjects[d].values(nil))
		}
		for m := range scoreMetrics {
			if !slices.ContainsFunc(all, func(v []float64) bool { return math.IsNaN(v[m]) }) {
				data.averaged[m] = append(data.averaged[m], d)
			}
		}
	}
}

// setValues are the metrics of a set, each in the order of scoreMetrics.
type setValues struct {
	dimensions [][]float64
	average    []float64 // over the dimensions in averaged
}

func (data *scoreData) values(weight []int32) []setValues {
	out := make([]setValues, len(data.subjects))
	for i, subjects := range data.subjects {
		v := &out[i]
		for d := range subjects {
			v.dimensions = append(v.dimensions, subjects[d].values(weight))
		}
		for m, over := range data.averaged {
			sum := 0.0
			for _, d := range over {
				sum += v.dimensions[d][m]
			}
			v.average = append(v.average, sum/float64(len(over)))
		}
	}
	return out
}

func (data *scoreData) newReport() *ScoreReport {
	o := &data.o
	return &ScoreReport{Taxonomy: o.Taxonomy.ID(), Where: o.Where, Human: map[string][]string{}, Group: o.Intervals.Group,
		Groups: data.groups, Resamples: o.Intervals.Resamples, Seed: o.Intervals.Seed, Level: stats.Level,
		Low: o.Low, High: o.High, Systems: data.systems, Rows: len(data.rows), Used: data.used, Files: []ScoredFile{},
		input: data.sets[0].file, data: data}
}

func (data *scoreData) measureFile(at int, figures *resampled[[]setValues]) ScoredFile {
	set := data.sets[at]
	r := ScoredFile{File: set.file, Mode: set.mode, Missing: set.missing, Rejected: len(set.faults),
		AveragedBy: map[string]int{}, Reliability: []Reliability{}}
	for d, h := range data.o.Human {
		one := data.countRows(set, d)
		one.Metrics = figures.of(data.ofEach[d]).figures(func(v []setValues) []float64 { return v[at].dimensions[d] })
		share := data.subjects[at][d].overestimated(data.groups)
		one.LowRows = int(share.Rows)
		setShareInterval(one.Metrics, share.ShareInterval)
		r.Dimensions = append(r.Dimensions, one)
		r.Reliability = append(r.Reliability, reliabilities(h.Dimension, set.repeats[d])...)
	}
	r.Average = figures.figures(func(v []setValues) []float64 { return v[at].average })
	setShareInterval(r.Average, func() (low, high float64) { return data.averageLimits(r.Dimensions) })
	for m, over := range data.averaged {
		r.AveragedBy[scoreMetrics[m].Key] = len(over)
	}
	return r
}

// overestimated sums the low rows, and those of them that are overestimated, by group.
func (s *scoreSubject) overestimated(groups int) *stats.GroupSums {
	over, low := make([]float64, groups), make([]float64, groups)
	for i, g := range s.group {
		if s.low[i] {
			low[g]++
		}
		if s.over[i] {
			over[g]++
		}
	}
	return stats.SumsOf(over, low)
}

// setShareInterval gives the share of overestimated rows its interval, where figures have some: resamples of rows that
// are all alike say nothing of other rows.
func setShareInterval(figures map[string]report.Figure, interval func() (low, high float64)) {
	key := scoreMetrics[overestimation].Key
	f := figures[key]
	if f.Low.Defined() {
		low, high := interval()
		f.Low, f.High = report.Number(low), report.Number(high)
		figures[key] = f
	}
}

// averageLimits are the means of the limits of the dimensions' shares: an interval that is wide enough however much the
// dimensions go together.
func (data *scoreData) averageLimits(of []DimensionFigures) (low, high float64) {
	over := data.averaged[overestimation]
	for _, d := range over {
		f := of[d].Metrics[scoreMetrics[overestimation].Key]
		low, high = low+float64(f.Low)/float64(len(over)), high+float64(f.High)/float64(len(over))
	}
	return low, high
}

// countRows counts the rows of a set in one dimension, and gives their means.
func (data *scoreData) countRows(set *scoreSet, d int) DimensionFigures {
	one := DimensionFigures{Dimension: data.o.Human[d].Dimension, Rows: len(data.chosen[d]),
		Mean: meanOf(selectRows(set.values[d], data.chosen[d])), HumanMean: meanOf(data.humanScores(d, data.chosen[d]))}
	for i := range data.rows {
		if math.IsNaN(data.rows[i].human[d]) {
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

func (data *scoreData) measureDifference(figures *resampled[[]setValues]) *ScoreDifference {
	differences := func(groups int, of func(setValues) []float64) map[string]report.Difference {
		return figures.of(groups).differences(func(v []setValues) []float64 { return subtract(of(v[1]), of(v[0])) })
	}
	r := &ScoreDifference{Average: differences(data.groups, func(v setValues) []float64 { return v.average })}
	for d, h := range data.o.Human {
		metrics := differences(data.ofEach[d], func(v setValues) []float64 { return v.dimensions[d] })
		r.Dimensions = append(r.Dimensions, DimensionDifference{h.Dimension, metrics})
	}
	return r
}

// meanOf is undefined of nothing.
func meanOf(v []float64) report.Number {
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return report.Number(sum / float64(len(v)))
}

// agreements is that of people, if several rated a row.
func agreements(dimension string, ratings [][]float64) []Agreement {
	several, n := stats.SeveralValues(ratings), 0
	if len(several) == 0 {
		return nil
	}
	for _, v := range several {
		n += len(v)
	}
	return []Agreement{{dimension, len(several), n, report.Number(stats.Alpha(several))}}
}

// reliabilities are those of the judges who judged rows more than once.
func reliabilities(dimension string, repeats map[judgeMode][][]float64) []Reliability {
	var out []Reliability
	keys := slices.SortedFunc(maps.Keys(repeats), func(a, b judgeMode) int {
		return cmp.Or(cmp.Compare(a.judge, b.judge), cmp.Compare(a.mode, b.mode))
	})
	for _, key := range keys {
		if units := stats.SeveralValues(repeats[key]); len(units) > 0 {
			out = append(out, Reliability{dimension, key.judge, key.mode, len(units),
				report.Number(stats.Alpha(units)), report.Number(stats.RepeatError(units))})
		}
	}
	return out
}

// drawScatter draws every dimension's rows: human score to the right, value upwards, one colour a set.
func (data *scoreData) drawScatter(format string) ([]byte, error) {
	var panels []chart.Panel
	for d, h := range data.o.Human {
		p := chart.Panel{Name: h.Dimension, X: data.humanScores(d, data.chosen[d])}
		for _, set := range data.sets {
			p.Series = append(p.Series, chart.Series{Name: nameFile(set.file, set.mode), Y: selectRows(set.values[d],
				data.chosen[d])})
		}
		panels = append(panels, p)
	}
	return chart.Scatter("Score and human score", "human score", "score", panels, format)
}
