package evaluation

import (
	"cmp"
	"context"
	"slices"

	"github.com/erreval/erreval/internal/stats"
	"github.com/erreval/erreval/report"
)

// labelSubject computes the metrics of one prediction: those of package stats, then the area under the ROC curve.
type labelSubject struct {
	*stats.Evaluator
	table *stats.Table
	auc   *stats.Ranking // nil without LabelOptions.Verdict
}

func (s labelSubject) values(weight []int32) []float64 {
	v := s.Values(weight)
	if s.auc != nil {
		v = append(v, s.auc.AUC(weight))
	}
	return v
}

// labelData is what all predictions share: the gold rows that the figures use, and their groups.
type labelData struct {
	*Labels
	rows   []int    // of the gold rows
	labels [][]bool // gold
	group  []int
	groups int
}

// newLabelData takes these of the gold rows.
func newLabelData(l *Labels, rows []int) *labelData {
	data := &labelData{Labels: l, rows: rows}
	groups := numbering{}
	for _, row := range selectRows(l.gold.rows, data.rows) {
		data.labels, data.group = append(data.labels, row.labels), append(data.group, groups.numberOf(row.group))
	}
	data.groups = len(groups)
	return data
}

func (data *labelData) statsOptions() stats.Options {
	return stats.Options{MinSupport: data.o.MinSupport, NoError: data.o.Taxonomy.NoErrorIndex()}
}

// labelSubjects are the constant prediction and the prediction of each file.
type labelSubjects struct {
	baseline labelSubject
	files    []labelSubject
}

// labelValues are the metrics of labelSubjects, each in the order of the metrics.
type labelValues struct {
	baseline []float64
	files    [][]float64
}

func (s *labelSubjects) values(weight []int32) labelValues {
	v := labelValues{baseline: s.baseline.values(weight)}
	for _, file := range s.files {
		v.files = append(v.files, file.values(weight))
	}
	return v
}

func (data *labelData) newSubjects(constant []bool) (s *labelSubjects, err error) {
	s = &labelSubjects{files: make([]labelSubject, len(data.preds))}
	s.baseline, err = data.newSubject(stats.Constant(constant, len(data.rows)), nil)
	for i, p := range data.preds {
		if err == nil {
			s.files[i], err = data.newSubject(selectRows(p.labels, data.rows), selectRows(p.probs, data.rows))
		}
	}
	return s, err
}

func (data *labelData) newSubject(pred [][]bool, prob [][]float64) (labelSubject, error) {
	table := &stats.Table{Gold: data.labels, Pred: pred, Prob: prob, Group: data.group, Groups: data.groups}
	ev, err := stats.NewEvaluator(table, data.statsOptions())
	s := labelSubject{Evaluator: ev, table: table}
	if data.o.Verdict != "" {
		s.auc = data.rankRows(prob)
	}
	return s, err
}

// rankRows orders the rows with a verdict by P(no error); a baseline without probabilities gives every row the same.
func (data *labelData) rankRows(prob [][]float64) *stats.Ranking {
	var scores []float64
	var gold []bool
	var group []int
	for j, i := range data.rows {
		verdict := data.gold.rows[i].verdict
		if verdict == nil || prob != nil && prob[j] == nil {
			continue
		}
		score := 0.0
		if prob != nil {
			score = prob[j][data.o.Taxonomy.NoErrorIndex()]
		}
		scores, gold, group = append(scores, score), append(gold, *verdict), append(group, data.group[j])
	}
	return stats.NewRanking(scores, gold, group)
}

func (data *labelData) resample(ctx context.Context, subjects *labelSubjects) (*resampled[labelValues], error) {
	metrics := stats.Metrics()
	if data.o.Verdict != "" {
		auc := stats.Metric{Key: "auc_no_error", Name: "AUC of P(no error), " + data.o.Verdict, HigherIsBetter: true}
		metrics = append(metrics, auc)
	}
	return resample(ctx, metrics, data.groups, &data.o.Intervals, subjects.values)
}

func (data *labelData) newReport(metrics []stats.Metric) *LabelReport {
	o := &data.o
	return &LabelReport{Taxonomy: o.Taxonomy.ID(), Gold: data.gold.file, Where: o.Where, Group: o.Intervals.Group,
		Resamples: o.Intervals.Resamples, Seed: o.Intervals.Seed, Level: stats.Level, MinSupport: o.MinSupport,
		Verdicts: data.countVerdicts(), Rows: data.gold.counts, Scored: len(data.rows), Groups: data.groups,
		by: o.By, noError: o.Taxonomy.NoError(), metrics: metrics, warnings: data.warnings()}
}

func (data *labelData) countVerdicts() *VerdictCounts {
	if data.o.Verdict == "" {
		return nil
	}
	c := &VerdictCounts{Column: data.o.Verdict}
	for _, i := range data.rows {
		switch v := data.gold.rows[i].verdict; {
		case v == nil:
			c.Unknown++
		case *v:
			c.Yes++
		default:
			c.No++
		}
	}
	return c
}

func (data *labelData) nameLabels(set []bool) []string {
	names := []string{}
	for k, label := range data.o.Taxonomy.Labels() {
		if set[k] {
			names = append(names, label)
		}
	}
	return names
}

// measureFile gives a file's figures that have no interval.
func (data *labelData) measureFile(p *predictionSet, s labelSubject) LabelledFile {
	r := LabelledFile{File: p.file, Models: p.models, Counts: p.counts}
	labels := s.Labels()
	for k, name := range data.o.Taxonomy.Labels() {
		l := labels[k]
		r.Labels = append(r.Labels, LabelFigures{
			Label: name, Support: l.Support, Predicted: l.Predicted, InMacro: l.InMacro,
			Precision: report.Number(l.Precision), Recall: report.Number(l.Recall), F1: report.Number(l.F1),
			AP: report.Number(l.AP), AUC: report.Number(l.AUC), ECE: report.Number(l.ECE), Brier: report.Number(l.Brier),
		})
	}
	for j, i := range data.rows {
		if slices.Equal(data.labels[j], p.labels[i]) {
			r.Same++
		} else if data.o.Limit < 0 || len(r.Other) < data.o.Limit {
			gold, found := data.nameLabels(data.labels[j]), data.nameLabels(p.labels[i])
			r.Other = append(r.Other, RowLabels{data.gold.rows[i].id, gold, found})
		}
	}
	if p.counts.unscored() > 0 {
		r.UnscoredAsWrong = data.countUnscoredAsWrong(p)
	}
	if data.o.Confusion {
		r.Confusion = data.countConfusion(s.table, labels)
	}
	return r
}

// addPerLabel adds what LabelOptions.PerLabel asks for.
func (data *labelData) addPerLabel(r *LabelledFile, s labelSubject) {
	figure := func(value report.Number, sums *stats.GroupSums) report.Figure {
		low, high := sums.ShareInterval()
		return report.Figure{Value: value, Low: report.Number(low), High: report.Number(high)}
	}
	curves := []CalibrationCurve{{Points: calibrationPoints(s.table, -1)}}
	for k, sums := range s.LabelSums() {
		l := &r.Labels[k]
		l.Intervals = &LabelIntervals{Precision: figure(l.Precision, &sums.Precision),
			Recall: figure(l.Recall, &sums.Recall), F1: figure(l.F1, &sums.F1)}
		curves = append(curves, CalibrationCurve{l.Label, calibrationPoints(s.table, k)})
	}
	if len(curves[0].Points) > 0 {
		r.Calibration = curves
	}
}

func calibrationPoints(t *stats.Table, label int) []CalibrationPoint {
	points := []CalibrationPoint{}
	for _, b := range t.Calibration(label) {
		points = append(points, CalibrationPoint{b.Rows, report.Number(b.Probability),
			report.Figure{Value: report.Number(b.Share), Low: report.Number(b.Low), High: report.Number(b.High)}})
	}
	return points
}

// countUnscoredAsWrong computes the figures over all gold rows. A row without prediction misses all its labels.
func (data *labelData) countUnscoredAsWrong(p *predictionSet) map[string]report.Number {
	table := &stats.Table{Pred: p.labels}
	for _, row := range data.gold.rows {
		table.Gold = append(table.Gold, row.labels)
	}
	out := map[string]report.Number{}
	ev, err := stats.NewEvaluator(table, data.statsOptions())
	if err != nil { // the same rows made a valid table before
		return out
	}
	values := ev.Values(nil)
	for _, i := range []int{stats.MicroF1, stats.MacroF1, stats.WeightedF1, stats.ExactMatch,
		stats.MicroF1Errors, stats.MacroF1Errors} {
		out[stats.Metrics()[i].Key] = report.Number(values[i])
	}
	return out
}

func (data *labelData) countConfusion(t *stats.Table, labels []stats.Label) []Confusion {
	c := stats.NewConfusion(t)
	names := data.o.Taxonomy.Labels()
	var out []Confusion
	for g, name := range names {
		r := Confusion{Label: name, Support: labels[g].Support, Hit: labels[g].Hit, Missed: c.Missed[g],
			Instead: []LabelRows{}, NothingInstead: c.Alone[g], Added: c.Spurious[g]}
		for k, n := range c.Instead[g] {
			if n > 0 {
				r.Instead = append(r.Instead, LabelRows{names[k], n})
			}
		}
		slices.SortStableFunc(r.Instead, func(a, b LabelRows) int { return cmp.Compare(b.Rows, a.Rows) })
		out = append(out, r)
	}
	return out
}
