// Package stats computes figures of labels, rankings, calibration and partitions, their intervals and tests. It does
// not know files, rows or taxonomies: labels are columns, rows are slices. Each figure names its source. Figures that
// scikit-learn has are equal to scikit-learn's (testdata/make_fixtures.py).
package stats

import (
	"errors"
	"fmt"
	"math"
)

// DefaultMinSupport is how many gold rows a label needs to enter the macro averages, unless the caller says otherwise:
// the F1 of a rarer label is mostly noise.
const DefaultMinSupport = 20

// Table holds gold and predicted label sets row by row; every row has one column per label.
type Table struct {
	Gold [][]bool
	// Pred is parallel to Gold. A nil row has no prediction: every gold label counts as missed, and it is not an exact
	// match. To exclude such rows, leave them out of the table.
	Pred [][]bool
	// Prob holds probabilities in [0, 1], parallel to Gold; nil as a whole or for a row where they are unknown.
	// Ranking and calibration figures use the rows that have them.
	Prob [][]float64
	// Group is the resampling group of each row, from 0 to Groups-1. Nil: every row is its own group.
	Group []int
	// Groups is the number of groups; read only where Group is not nil.
	Groups int
}

// Options of the averages.
type Options struct {
	// MinSupport is the number of gold rows from which a label enters the macro averages; a label without support never
	// does.
	MinSupport int
	// NoError is the column of the "no error" label; -1: there is none.
	NoError int
}

// Metric describes one figure of Evaluator.Values.
type Metric struct {
	Key            string // stable, snake case
	Name           string // for people
	HigherIsBetter bool
	IsSigned       bool // from -1 to 1, as correlations are; else from 0 to 1
}

// Positions in Metrics and in the values of an Evaluator.
const (
	MicroPrecision = iota // Σtp ÷ Σ(tp+fp) over all labels
	MicroRecall           // Σtp ÷ Σ(tp+fn)
	MicroF1               // 2Σtp ÷ Σ(2tp+fp+fn)
	MacroF1               // mean F1 of the labels with enough support
	WeightedF1            // mean F1 of all labels, weighted by support
	ExactMatch            // share of rows whose predicted set equals the gold set (ErrEval, section 4.3: EMR)
	OverPrediction        // mean over rows of |predicted∖gold| ÷ |predicted|, 0 where nothing is predicted (ErrEval: OPR)
	MicroF1Errors         // MicroF1 without the "no error" label
	MacroF1Errors         // MacroF1 without the "no error" label
	MeanAP                // mean average precision of the labels in MacroF1
	ECE                   // expected calibration error, mean over labels: see CalibrationBins
	Brier                 // mean of (probability − gold)² over rows and labels (Brier 1950, one class)
	metricCount
)

// Metrics are the figures in the order of Evaluator.Values.
func Metrics() []Metric {
	return []Metric{
		MicroPrecision: {"micro_precision", "micro precision", true, false},
		MicroRecall:    {"micro_recall", "micro recall", true, false},
		MicroF1:        {"micro_f1", "micro F1", true, false},
		MacroF1:        {"macro_f1", "macro F1", true, false},
		WeightedF1:     {"weighted_f1", "weighted F1", true, false},
		ExactMatch:     {"exact_match", "exact match", true, false},
		OverPrediction: {"over_prediction", "over-prediction", false, false},
		MicroF1Errors:  {"micro_f1_errors", "micro F1, errors only", true, false},
		MacroF1Errors:  {"macro_f1_errors", "macro F1, errors only", true, false},
		MeanAP:         {"mean_average_precision", "mean average precision", true, false},
		ECE:            {"ece", "calibration error", false, false},
		Brier:          {"brier", "Brier score", false, false},
	}
}

// Validate reports every fault that would make the figures meaningless: ragged rows, groups out of range, probabilities
// outside [0, 1].
func (t *Table) Validate() error {
	n := len(t.Gold)
	if n == 0 {
		return errors.New("no rows to evaluate")
	}
	if len(t.Pred) != n || t.Prob != nil && len(t.Prob) != n || t.Group != nil && len(t.Group) != n {
		return fmt.Errorf("%d gold rows, but %d predictions, %d rows of probabilities, %d groups", n, len(t.Pred),
			len(t.Prob), len(t.Group))
	}
	for i := range t.Gold {
		if err := t.validateRow(i, len(t.Gold[0])); err != nil {
			return fmt.Errorf("row %d: %w", i, err)
		}
	}
	return nil
}

func (t *Table) validateRow(i, labels int) error {
	if len(t.Gold[i]) != labels || t.Pred[i] != nil && len(t.Pred[i]) != labels {
		return fmt.Errorf("%d gold and %d predicted columns, want %d", len(t.Gold[i]), len(t.Pred[i]), labels)
	}
	if t.Group != nil && (t.Group[i] < 0 || t.Group[i] >= t.Groups) {
		return fmt.Errorf("group %d, want 0 to %d", t.Group[i], t.Groups-1)
	}
	p := t.prob(i)
	if p != nil && len(p) != labels {
		return fmt.Errorf("%d probabilities, want %d", len(p), labels)
	}
	for _, x := range p {
		if !(x >= 0 && x <= 1) { // also refuses NaN
			return fmt.Errorf("probability %v is not in [0, 1]", x)
		}
	}
	return nil
}

func (t *Table) prob(i int) []float64 {
	if t.Prob == nil {
		return nil
	}
	return t.Prob[i]
}

func (t *Table) group(i int) int {
	if t.Group == nil {
		return i
	}
	return t.Group[i]
}

func (t *Table) groups() int {
	if t.Group == nil {
		return len(t.Gold)
	}
	return t.Groups
}

// Label holds the figures of one label over all rows. Undefined figures are NaN; ratios with an empty denominator are
// 0, as with scikit-learn's zero_division=0.
type Label struct {
	Support   int // gold rows
	Predicted int // predicted rows
	Hit       int // rows in both
	InMacro   bool
	Precision float64
	Recall    float64
	F1        float64
	// AP is the average precision; NaN without probabilities or without gold rows.
	AP float64
	// AUC is the area under the ROC curve; NaN without probabilities, or where all rows are gold or none is.
	AUC float64
	// ECE and Brier are NaN without probabilities.
	ECE   float64
	Brier float64
}

// ratio is 0 where the denominator is 0: scikit-learn's zero_division=0.
func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// mean is NaN for no values: an average over nothing is unknown.
func mean(sum float64, n float64) float64 {
	if n == 0 {
		return math.NaN()
	}
	return sum / n
}
