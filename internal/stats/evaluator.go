package stats

import "math"

// Evaluator computes all Metrics of a table for any weighting of its groups. Resampling is cheap: sums over rows are
// computed once for each group (sparsely), and rankings are sorted once. It does not change after NewEvaluator and is
// safe for concurrent use.
type Evaluator struct {
	labels  int
	groups  int
	noError int // column, -1 if none
	inMacro []bool
	sums    sparse
	ranks   []*Ranking // per label; nil entries where there are no probabilities or no gold rows
	total   []float64  // sums with every group once
}

// sparse is a matrix of groups × cells in row order, with few cells of a group that are not zero.
type sparse struct {
	start []int
	cell  []int32
	value []float64
}

// The cells of a group: per label tp, fp, fn, Σ(p−y)², then the single ones, then Σ(y−p) per label and bin.
const (
	cellTP = iota
	cellFP
	cellFN
	cellBrier
	cellsPerLabel
)

const (
	cellRows = iota
	cellExact
	cellOver
	cellProbRows
	singleCells
)

func (e *Evaluator) at(label, what int) int { return label*cellsPerLabel + what }
func (e *Evaluator) single(what int) int    { return e.labels*cellsPerLabel + what }
func (e *Evaluator) bin(label, b int) int {
	return e.labels*cellsPerLabel + singleCells + label*CalibrationBins + b
}
func (e *Evaluator) cells() int { return e.bin(e.labels, 0) }

// NewEvaluator prepares a valid table.
func NewEvaluator(t *Table, o Options) (*Evaluator, error) {
	if err := t.Validate(); err != nil {
		return nil, err
	}
	e := &Evaluator{labels: len(t.Gold[0]), groups: t.groups(), noError: o.NoError}
	e.sums = e.sumGroups(t)
	e.total = e.accumulate(nil)
	e.inMacro = make([]bool, e.labels)
	e.ranks = make([]*Ranking, e.labels)
	for k := range e.labels {
		support := int(e.support(e.total, k))
		e.inMacro[k] = support > 0 && support >= o.MinSupport
		if support > 0 && e.total[e.single(cellProbRows)] > 0 {
			e.ranks[k] = t.ranking(k)
		}
	}
	return e, nil
}

func (t *Table) ranking(label int) *Ranking {
	var scores []float64
	var gold []bool
	var group []int
	for i, p := range t.Prob {
		if p != nil {
			scores, gold, group = append(scores, p[label]), append(gold, t.Gold[i][label]), append(group, t.group(i))
		}
	}
	return NewRanking(scores, gold, group)
}

func (e *Evaluator) sumGroups(t *Table) sparse {
	rows := make([][]int, e.groups)
	for i := range t.Gold {
		rows[t.group(i)] = append(rows[t.group(i)], i)
	}
	s := sparse{start: make([]int, 1, e.groups+1)}
	dense := make([]float64, e.cells())
	var touched []int32
	add := func(cell int, v float64) {
		if dense[cell] == 0 {
			touched = append(touched, int32(cell)) // a cell that cancels to 0 may come twice; the second is then 0
		}
		dense[cell] += v
	}
	for _, members := range rows {
		for _, i := range members {
			e.addRow(add, t, i)
		}
		for _, c := range touched {
			if dense[c] != 0 {
				s.cell, s.value = append(s.cell, c), append(s.value, dense[c])
				dense[c] = 0
			}
		}
		touched = touched[:0]
		s.start = append(s.start, len(s.cell))
	}
	return s
}

func (e *Evaluator) addRow(add func(int, float64), t *Table, i int) {
	gold, pred := t.Gold[i], t.Pred[i]
	predicted, wrong, missed := 0, 0, 0
	for k, g := range gold {
		p := pred != nil && pred[k]
		switch {
		case g && p:
			add(e.at(k, cellTP), 1)
		case p:
			add(e.at(k, cellFP), 1)
			wrong++
		case g:
			add(e.at(k, cellFN), 1)
			missed++
		}
		if p {
			predicted++
		}
	}
	add(e.single(cellRows), 1)
	if pred != nil && wrong == 0 && missed == 0 {
		add(e.single(cellExact), 1)
	}
	add(e.single(cellOver), ratio(float64(wrong), float64(predicted)))
	e.addProb(add, gold, t.prob(i))
}

func (e *Evaluator) addProb(add func(int, float64), gold []bool, prob []float64) {
	if prob == nil {
		return
	}
	add(e.single(cellProbRows), 1)
	for k, p := range prob {
		d := indicator(gold[k]) - p
		add(e.at(k, cellBrier), d*d)
		add(e.bin(k, calibrationBin(p)), d)
	}
}

func indicator(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// accumulate adds up the groups, each as often as weight says (nil: once).
func (e *Evaluator) accumulate(weight []int32) []float64 {
	acc := make([]float64, e.cells())
	for g := range e.groups {
		w := WeightOf(weight, g)
		if w == 0 {
			continue
		}
		for j := e.sums.start[g]; j < e.sums.start[g+1]; j++ {
			acc[e.sums.cell[j]] += w * e.sums.value[j]
		}
	}
	return acc
}

func (e *Evaluator) support(acc []float64, k int) float64 {
	return acc[e.at(k, cellTP)] + acc[e.at(k, cellFN)]
}

func (e *Evaluator) f1(acc []float64, k int) float64 {
	tp := acc[e.at(k, cellTP)]
	return ratio(2*tp, 2*tp+acc[e.at(k, cellFP)]+acc[e.at(k, cellFN)])
}

// Groups is the number of resampling groups.
func (e *Evaluator) Groups() int { return e.groups }

// Values computes the figures in the order of Metrics, with each group counted weight[g] times (nil: once). What cannot
// be computed (no probabilities, no label with enough support) is NaN. The labels in the macro averages are chosen by
// their support in the whole table; one that has no support under this weighting is left out of that average.
func (e *Evaluator) Values(weight []int32) []float64 {
	acc := e.total
	if weight != nil {
		acc = e.accumulate(weight)
	}
	v := make([]float64, metricCount)
	rows := acc[e.single(cellRows)]
	v[MicroPrecision], v[MicroRecall], v[MicroF1] = e.micro(acc, -1)
	_, _, v[MicroF1Errors] = e.micro(acc, e.noError)
	v[MacroF1], v[MacroF1Errors] = e.macro(acc, -1), e.macro(acc, e.noError)
	v[WeightedF1] = e.weighted(acc)
	v[ExactMatch] = mean(acc[e.single(cellExact)], rows)
	v[OverPrediction] = mean(acc[e.single(cellOver)], rows)
	v[MeanAP] = e.meanAP(weight)
	v[ECE], v[Brier] = e.calibration(acc)
	return v
}

func (e *Evaluator) micro(acc []float64, without int) (p, r, f1 float64) {
	var tp, fp, fn float64
	for k := range e.labels {
		if k != without {
			tp, fp, fn = tp+acc[e.at(k, cellTP)], fp+acc[e.at(k, cellFP)], fn+acc[e.at(k, cellFN)]
		}
	}
	return ratio(tp, tp+fp), ratio(tp, tp+fn), ratio(2*tp, 2*tp+fp+fn)
}

func (e *Evaluator) macro(acc []float64, without int) float64 {
	var sum, n float64
	for k := range e.labels {
		if k != without && e.inMacro[k] && e.support(acc, k) > 0 {
			sum, n = sum+e.f1(acc, k), n+1
		}
	}
	return mean(sum, n)
}

func (e *Evaluator) weighted(acc []float64) float64 {
	var sum, n float64
	for k := range e.labels {
		s := e.support(acc, k)
		sum, n = sum+s*e.f1(acc, k), n+s
	}
	return ratio(sum, n)
}

func (e *Evaluator) meanAP(weight []int32) float64 {
	var sum, n float64
	for k, r := range e.ranks {
		if r == nil || !e.inMacro[k] {
			continue
		}
		if ap := r.AveragePrecision(weight); !math.IsNaN(ap) {
			sum, n = sum+ap, n+1
		}
	}
	return mean(sum, n)
}

func (e *Evaluator) calibration(acc []float64) (ece, brier float64) {
	n := acc[e.single(cellProbRows)] * float64(e.labels)
	for k := range e.labels {
		ece += e.gap(acc, k)
		brier += acc[e.at(k, cellBrier)]
	}
	return mean(ece, n), mean(brier, n)
}

// gap is Σ over bins |Σ(y−p)|, that is the label's calibration error times the rows.
func (e *Evaluator) gap(acc []float64, k int) float64 {
	sum := 0.0
	for b := range CalibrationBins {
		sum += math.Abs(acc[e.bin(k, b)])
	}
	return sum
}

// Labels returns the figures of each label over all rows.
func (e *Evaluator) Labels() []Label {
	out := make([]Label, e.labels)
	probRows := e.total[e.single(cellProbRows)]
	for k := range out {
		tp, fp, fn := e.total[e.at(k, cellTP)], e.total[e.at(k, cellFP)], e.total[e.at(k, cellFN)]
		out[k] = Label{
			Support: int(tp + fn), Predicted: int(tp + fp), Hit: int(tp), InMacro: e.inMacro[k],
			Precision: ratio(tp, tp+fp), Recall: ratio(tp, tp+fn), F1: e.f1(e.total, k),
			AP: math.NaN(), AUC: math.NaN(), ECE: mean(e.gap(e.total, k), probRows),
			Brier: mean(e.total[e.at(k, cellBrier)], probRows),
		}
		if e.ranks[k] != nil {
			out[k].AP, out[k].AUC = e.ranks[k].AveragePrecision(nil), e.ranks[k].AUC(nil)
		}
	}
	return out
}

// LabelSums are a label's precision, recall and F1 as shares of rows: F1 is 2tp of 2tp+fp+fn. Of these sums there are
// intervals where resampling knows no spread, as of a label that is always found.
type LabelSums struct{ Precision, Recall, F1 GroupSums }

// LabelSums are those of each label.
func (e *Evaluator) LabelSums() []LabelSums {
	out := make([]LabelSums, e.labels)
	for g := range e.groups {
		of := make([][cellsPerLabel]float64, e.labels)
		for j := e.sums.start[g]; j < e.sums.start[g+1]; j++ {
			if label := int(e.sums.cell[j]) / cellsPerLabel; label < e.labels {
				of[label][int(e.sums.cell[j])%cellsPerLabel] = e.sums.value[j]
			}
		}
		for k, cells := range of {
			tp, fp, fn := cells[cellTP], cells[cellFP], cells[cellFN]
			out[k].Precision.AddGroup(tp, tp+fp)
			out[k].Recall.AddGroup(tp, tp+fn)
			out[k].F1.AddGroup(2*tp, 2*tp+fp+fn)
		}
	}
	return out
}
