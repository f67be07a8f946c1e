package dataset

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/erreval/erreval/dataset/internal/jsontext"
	"github.com/erreval/erreval/taxonomy"
)

// ColumnScores holds an object: a dimension's key to its Score.
const ColumnScores = columnScores

// StatusUnscored marks a score, or one judgement, that has no value; Reason says why. It is left out of every mean.
const StatusUnscored = "unscored"

// JudgeOffline is the judge that scores from a diagnosis' probabilities alone.
const JudgeOffline = "offline"

// Modes of a judgement.
const (
	ModeVanilla    = "vanilla"     // the judge saw no errors
	ModeErrorAware = "error-aware" // the judge saw the errors found that bear on the dimension
)

// Score is a row's score for one dimension: the aggregate of its runs.
type Score struct {
	Value  *float64 `json:"value,omitempty"`  // on the dimension's scale; nil where Status is set
	Status string   `json:"status,omitempty"` // StatusUnscored, or empty
	Reason string   `json:"reason,omitempty"` // why unscored
	Runs   []Run    `json:"runs,omitempty"`   // one a judgement, in order
}

// Run is one judgement.
type Run struct {
	Judge  string `json:"judge"`            // name of the model or of its configuration; JudgeOffline
	Mode   string `json:"mode"`             // ModeVanilla or ModeErrorAware
	Repeat int    `json:"repeat,omitempty"` // of equal judgements, from 0
	// the wrong label shown on purpose; such a run is no part of the aggregate
	Planted string   `json:"planted,omitempty"`
	Value   *float64 `json:"value,omitempty"` // nil where Status is set
	// standard deviation of Value in units of the scale; nil where the judge does not say
	Uncertainty *float64 `json:"uncertainty,omitempty"`
	Status      string   `json:"status,omitempty"`      // StatusUnscored, or empty
	Reason      string   `json:"reason,omitempty"`      // why unscored
	Explanation string   `json:"explanation,omitempty"` // the judge's own words
	// labels; empty: it was shown that there are none; nil: nothing was shown
	ErrorsShown []string `json:"errors_shown,omitzero"`
}

// SetScores puts the scores of all dimensions of t, by key, into the row's column "scores". Those of other dimensions
// stay as they are; a text of the file's own does not.
func (r *Row) SetScores(t *taxonomy.Taxonomy, scores map[string]*Score) error {
	dimensions, err := r.scoreColumns()
	if err != nil && r.OwnText(ColumnScores) == "" {
		return err
	}
	for i := range t.Dimensions {
		key := t.Dimensions[i].Key
		if dimensions, err = setScore(dimensions, key, scores[key]); err != nil {
			return fmt.Errorf("row %s: score of %s: %w", r.ID, key, err)
		}
	}
	return r.Set(ColumnScores, json.RawMessage(appendObject(nil, dimensions)))
}

func setScore(dimensions []column, key string, s *Score) ([]column, error) {
	if err := s.validate(); err != nil {
		return nil, err
	}
	value, err := jsontext.Marshal(s)
	if err != nil {
		return nil, err
	}
	return put(dimensions, key, value), nil
}

// Scores reads the row's column "scores": dimension to score. It is empty where the column is absent or null.
func (r *Row) Scores() (map[string]*Score, error) {
	dimensions, err := r.scoreColumns()
	if err != nil {
		return nil, err
	}
	scores := make(map[string]*Score, len(dimensions))
	for _, d := range dimensions {
		s := &Score{}
		if err = json.Unmarshal(d.value, s); err == nil {
			err = s.validate()
		}
		if err != nil {
			return nil, fmt.Errorf("row %s: column %q: %q: %w", r.ID, ColumnScores, d.name, err)
		}
		scores[d.name] = s
	}
	return scores, nil
}

// scoreColumns splits the column "scores" by dimension.
func (r *Row) scoreColumns() ([]column, error) {
	raw, err := r.Object(ColumnScores)
	if raw == nil || err != nil {
		return nil, err
	}
	dimensions, err := parseObject(raw)
	if err != nil {
		return nil, fmt.Errorf("row %s: column %q: %w", r.ID, ColumnScores, err)
	}
	return dimensions, nil
}

func (s *Score) validate() error {
	if err := checkVerdict(s.Value, s.Status, s.Reason); err != nil {
		return err
	}
	for i := range s.Runs {
		if err := s.Runs[i].validate(); err != nil {
			return fmt.Errorf("run %d: %w", i+1, err)
		}
	}
	return nil
}

func (r *Run) validate() error {
	switch {
	case r.Judge == "":
		return errors.New(`no "judge"`)
	case r.Mode != ModeVanilla && r.Mode != ModeErrorAware:
		return fmt.Errorf("unknown mode %q; it is %q or %q", r.Mode, ModeVanilla, ModeErrorAware)
	case r.Uncertainty != nil && !(*r.Uncertainty >= 0 && *r.Uncertainty <= math.MaxFloat64):
		return fmt.Errorf("the uncertainty %v is no number from 0 on", *r.Uncertainty)
	}
	return checkVerdict(r.Value, r.Status, r.Reason)
}

// checkVerdict wants either a value, or a status with its reason.
func checkVerdict(value *float64, status, reason string) error {
	switch {
	case status != "" && status != StatusUnscored:
		return fmt.Errorf("unknown status %q; it is %q or absent", status, StatusUnscored)
	case status == "" && value == nil:
		return errors.New(`neither a "value" nor a "status"`)
	case status != "" && value != nil:
		return errors.New(`both a "value" and a "status"; an unscored row has no value`)
	case status != "" && reason == "":
		return errors.New(`unscored without a "reason"`)
	case value != nil && (math.IsNaN(*value) || math.IsInf(*value, 0)):
		return fmt.Errorf("the value %v is no number", *value)
	}
	return nil
}
