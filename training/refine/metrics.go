package refine

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/erreval/erreval/internal/regularfile"
	"github.com/erreval/erreval/report"
)

// Metrics is metrics.json of an iteration: what was measured, against what, and what was made of it.
type Metrics struct {
	Iteration int    `json:"iteration"`
	Model     string `json:"model"`    // name@version
	Taxonomy  string `json:"taxonomy"` // name@version
	// the model it is compared with, name@version; absent if there was none
	Before   string         `json:"before,omitempty"`
	Training TrainingCounts `json:"training"`
	// Thresholds of the identifier, chosen on the development rows.
	Thresholds map[string]float64 `json:"thresholds"`
	// on dev.jsonl, on which thresholds were chosen; absent without such rows
	Dev      *Evaluation     `json:"dev,omitempty"`
	Random   *Evaluation     `json:"random,omitempty"` // on the reviewed rows of random slices; absent without such rows
	Verifier *VerifierScores `json:"verifier,omitempty"`
	Promoted bool            `json:"promoted"` // it is in use from here on
	Why      string          `json:"why"`      // a sentence
	Inputs   string          `json:"inputs"`   // SHA-256 of all that the training depends on

	dir string // the iteration's folder
}

// TrainingCounts say what an iteration was trained on.
type TrainingCounts struct {
	Rows   int            `json:"rows"`
	Kinds  map[string]int `json:"kinds"`  // provenance to rows
	Labels map[string]int `json:"labels"` // label to rows
	Left   int            `json:"left"`   // rows left out, since a development row shares their group
}

// Evaluation are the figures of one set of rows.
type Evaluation struct {
	Rows     int                      `json:"rows"`
	Groups   int                      `json:"groups"` // by which intervals resample
	Figures  map[string]*Figure       `json:"figures"`
	Constant map[string]report.Number `json:"constant"` // of the most frequent label set, given for every row
	Labels   []LabelFigures           `json:"labels"`
	// Trained counts the rows of which another row of the group is in the training set.
	Trained    int  `json:"rows_of_trained_groups,omitempty"`
	MinSupport int  `json:"min_support"`
	Resamples  int  `json:"resamples"`
	SameAsDev  bool `json:"same_as_dev,omitempty"` // these rows also chose thresholds and the best epoch
}

// Figure is one number with its 95 % interval, and what it was with the model before.
type Figure struct {
	report.Figure
	Difference *Difference `json:"difference,omitempty"` // absent where there was no model before
}

// Difference is an iteration's figure minus that of the model before, on the same rows, with its paired 95 % interval.
type Difference struct {
	Before report.Number `json:"before"`
	report.Difference
}

// LabelFigures are those of one label.
type LabelFigures struct {
	Label     string        `json:"label"`
	Support   int           `json:"support"`
	Predicted int           `json:"predicted"`
	Precision report.Number `json:"precision"`
	Recall    report.Number `json:"recall"`
	F1        report.Number `json:"f1"`
}

// VerifierScores are those of the paper's Table 8, on label sets of development rows: the right ones and as many wrong
// ones.
type VerifierScores struct {
	Model     string        `json:"model"`
	Rows      int           `json:"rows"`
	Right     int           `json:"right"` // of the rows
	Accuracy  report.Number `json:"accuracy"`
	Precision report.Number `json:"precision"`
	Recall    report.Number `json:"recall"`
	F1        report.Number `json:"f1"`
}

// MetricsFile is the name of an iteration's figures.
const MetricsFile = "metrics.json"

// Metrics reads the figures of an iteration.
func (w *Workspace) Metrics(iteration int) (*Metrics, error) {
	m := &Metrics{dir: w.Path(IterationDir, IterationName(iteration))}
	path := filepath.Join(m.dir, MetricsFile)
	data, err := regularfile.Read(path, regularfile.Max)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w; the iteration was changed by hand: put it back, or take it back with: erreval refine "+
			"undo %s", err, w.Dir)
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(data, m); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}

// allMetrics are the figures of all iterations, and which of them is in use: the last promoted one, or -1 for the model
// to start from. Those that cannot be read are left out, with an error.
func (w *Workspace) allMetrics() (all []*Metrics, current int, err error) {
	numbers, err := w.Iterations()
	current = -1
	for _, n := range numbers {
		m, metricsErr := w.Metrics(n)
		if metricsErr != nil {
			err = errors.Join(err, metricsErr)
			continue
		}
		if all = append(all, m); m.Promoted {
			current = n
		}
	}
	return all, current, err
}
