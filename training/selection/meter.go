package selection

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/taxonomy"
)

// ColumnVerification holds what a verifier said of a row's diagnosis.
const ColumnVerification = "verification"

// Verification is that column.
type Verification struct {
	Probability float64 `json:"probability"` // that the label set is right, 0 to 1
	Model       string  `json:"model"`       // name@version
}

// Centre moves a threshold t (0 to 1) to 0.5, piecewise linearly: p, 0 to 1, keeps its side of the threshold.
func Centre(p, t float64) float64 {
	switch {
	case p < t:
		return p / (2 * t)
	case t >= 1:
		return 0.5 // p is 1, the threshold itself
	}
	return 0.5 + (p-t)/(2*(1-t))
}

// Uncertainty is eq. 3: 0.5 for a confidence of 0 or 1, 1 for one of 0.5.
func Uncertainty(pe float64) float64 { return 1 - math.Abs(pe-0.5) }

// Inconsistency is eq. 4: 0 where identifier and verifier are equally sure, 1 where one is sure of what the other
// denies.
func Inconsistency(pe, pv float64) float64 { return math.Abs(pe - pv) }

// Conflict is the strongest disagreement between a judge's scores and the labels found, 0 (none) to 1. With s the
// judge's mean score on a dimension, moved from its scale to 0..1:
//
//   - a dimension to which none of the errors found is mapped: 1 - s, a fault that no label explains;
//   - an error found: the smallest s of the dimensions that it is mapped to, an error that none of them shows.
//
// Scores of the offline scorer do not count, since they were computed from the same probabilities; nor do judgements of
// planted errors.
type Conflict struct {
	Value     float64 `json:"value"`
	Dimension string  `json:"dimension"` // whose score it is
	Type      string  `json:"type"`      // the error that the judge does not see; "" for a fault that no label explains
}

// Meter reads signals out of tagged rows. It is safe for concurrent use.
type Meter struct {
	taxonomy   *taxonomy.Taxonomy
	thresholds []float64 // one a type
	noError    int
	dimensions [][]int // types of each dimension, as places
}

// NewMeter makes a meter for rows that were tagged with these thresholds (type to probability, 0 to 1). A type without
// one has 0.5.
func NewMeter(t *taxonomy.Taxonomy, thresholds dataset.Probabilities) (*Meter, error) {
	m := &Meter{taxonomy: t, noError: t.NoErrorIndex(), thresholds: make([]float64, len(t.Types))}
	for i := range m.thresholds {
		m.thresholds[i] = 0.5
	}
	for _, p := range thresholds {
		i, ok := t.Index(p.Label)
		if !ok || !(p.P >= 0 && p.P <= 1) {
			return nil, fmt.Errorf("threshold %v of %q: want a number in 0..1, for a type of %s", p.P, p.Label, t.ID())
		}
		m.thresholds[i] = p.P
	}
	for _, d := range t.Dimensions {
		var types []int
		for _, name := range d.Types {
			if i, ok := t.Index(name); ok && i != m.noError {
				types = append(types, i)
			}
		}
		m.dimensions = append(m.dimensions, types)
	}
	return m, nil
}

// errNotTagged says that a row has nothing to measure.
var errNotTagged = errors.New("not tagged")

// Signals measures a row. The error wraps the reason where the row is untagged, and names the column where it is
// broken.
func (m *Meter) Signals(row *dataset.Row) (*Signals, error) {
	d, err := row.Diagnosis()
	switch {
	case err != nil:
		return nil, err
	case d == nil:
		return nil, fmt.Errorf("row %s: %w: it has no column %q; tag it with erreval identify", row.ID, errNotTagged,
			dataset.ColumnDiagnosis)
	case d.Status != "":
		return nil, fmt.Errorf("row %s: %w: %s", row.ID, errNotTagged, d.Reason)
	}
	s := &Signals{}
	for _, g := range signals {
		if err := g.measure(m, s, row, d); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// confidence sets what comes from the diagnosis alone.
func (m *Meter) confidence(s *Signals, row *dataset.Row, d *dataset.Diagnosis) error {
	s.centred = make([]float64, len(m.thresholds))
	for i := range s.centred {
		s.centred[i] = -1
	}
	s.Confidence = 2
	for _, p := range d.Probabilities {
		i, ok := m.taxonomy.Index(p.Label)
		if !ok {
			return m.noLabel(row, p.Label)
		}
		if i == m.noError {
			continue
		}
		q := Centre(p.P, m.thresholds[i])
		s.centred[i] = q
		if sure := max(q, 1-q); sure < s.Confidence {
			s.Confidence, s.Least = sure, m.taxonomy.Types[i].Name
		}
	}
	if s.Confidence > 1 {
		return fmt.Errorf("row %s: column %q has no probabilities; tag without --labels-only", row.ID,
			dataset.ColumnDiagnosis)
	}
	s.Uncertainty = Uncertainty(s.Confidence)
	for _, label := range d.Labels {
		i, ok := m.taxonomy.Index(label)
		if !ok {
			return m.noLabel(row, label)
		}
		if i != m.noError {
			s.Found = append(s.Found, i)
		}
	}
	slices.Sort(s.Found)
	return nil
}

func (m *Meter) noLabel(row *dataset.Row, label string) error {
	return fmt.Errorf("row %s: column %q: %s has no label %q; give the taxonomy the rows were tagged with",
		row.ID, dataset.ColumnDiagnosis, m.taxonomy.ID(), label)
}

// verify sets what comes from the verifier.
func (m *Meter) verify(s *Signals, row *dataset.Row, _ *dataset.Diagnosis) error {
	raw, err := row.Object(ColumnVerification)
	if raw == nil || err != nil {
		return err
	}
	var v struct{ Probability *float64 }
	if err := json.Unmarshal(raw, &v); err != nil {
		return fmt.Errorf("row %s: column %q: %w", row.ID, ColumnVerification, err)
	}
	if v.Probability == nil || !(*v.Probability >= 0 && *v.Probability <= 1) {
		return fmt.Errorf(`row %s: column %q: no "probability" in 0..1`, row.ID, ColumnVerification)
	}
	s.Verified, s.Inconsistency = v.Probability, Inconsistency(s.Confidence, *v.Probability)
	return nil
}

// compare sets what comes from a judge's scores.
func (m *Meter) compare(s *Signals, row *dataset.Row, _ *dataset.Diagnosis) error {
	scores, err := row.Scores()
	if len(scores) > 0 {
		s.Conflict = m.conflict(s.Found, scores)
	}
	return err
}

// conflict compares the errors found with a judge's scores.
func (m *Meter) conflict(found []int, scores map[string]*dataset.Score) (worst Conflict) {
	lowest := make(map[int]Conflict, len(found)) // of the dimensions that an error is mapped to
	for d, types := range m.dimensions {
		dim := &m.taxonomy.Dimensions[d]
		value, ok := judged(scores[dim.Key])
		if !ok {
			continue
		}
		s := min(max((value-1)/float64(len(dim.Criteria)-1), 0), 1)
		explained := false
		for _, i := range found {
			if !slices.Contains(types, i) {
				continue
			}
			explained = true
			if had, ok := lowest[i]; !ok || s < had.Value {
				lowest[i] = Conflict{Value: s, Dimension: dim.Name, Type: m.taxonomy.Types[i].Name}
			}
		}
		if !explained && 1-s > worst.Value {
			worst = Conflict{Value: 1 - s, Dimension: dim.Name}
		}
	}
	for _, i := range found {
		if c := lowest[i]; c.Value > worst.Value {
			worst = c
		}
	}
	return worst
}

// judged is the mean of the judgements that are independent of the diagnosis' probabilities.
func judged(s *dataset.Score) (float64, bool) {
	if s == nil {
		return 0, false
	}
	if len(s.Runs) == 0 && s.Value != nil {
		return *s.Value, true
	}
	sum, n := 0.0, 0
	for _, run := range s.Runs {
		if run.Value != nil && run.Judge != dataset.JudgeOffline && run.Planted == "" {
			sum += *run.Value
			n++
		}
	}
	return sum / float64(max(n, 1)), n > 0
}
