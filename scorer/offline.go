package scorer

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/taxonomy"
)

// Offline scores a dimension from the probabilities of the errors that bear on it, without a judge.
//
// The errors are taken as independent, and each that is there leaves the part 1 − severity of what the scale has above
// its lowest score. The value is the expected score under the probabilities p,
//
//	lowest + (highest − lowest) · Π (1 − severity·p)
//
// a noisy-or (Pearl 1988, section 4.3.2). It falls with every p. The uncertainty is the standard deviation of the score
// under the same probabilities: how unsure the identifier is of this row, not how far people would be from the value.
//
// The severities are the taxonomy's. Those of question-generation were fitted to the ratings of five people on 604
// machine questions (training/severities.py); where a taxonomy gives none, [OfflineOptions.Indifferent] says what is
// taken. Safe for concurrent use.
type Offline struct {
	taxonomy   *taxonomy.Taxonomy
	dimensions map[string]*offlineDimension
	calibrate  map[string]Calibration
}

type offlineDimension struct {
	low, high float64
	errors    []offlineError
}

type offlineError struct {
	label    string
	severity float64
	needs    bool // a field that a row may lack
}

// OfflineOptions say how to read probabilities.
type OfflineOptions struct {
	// Calibration maps labels to what turns their probabilities into frequencies. Labels that it lacks are taken as they
	// are.
	Calibration map[string]Calibration
	// Indifferent takes all errors as equally severe, whatever the taxonomy says: an error excludes the highest of a
	// scale's n scores and tells nothing about which of the others it is (the principle of indifference), so it costs
	// n/(2(n−1)) of the scale. So is an error taken to which the taxonomy gives no severity.
	Indifferent bool
}

// Calibration is Platt's (1999): logit(calibrated) = Slope · logit(p) + Intercept.
type Calibration struct {
	Slope     float64 // at least 0, so that no order is turned around
	Intercept float64
}

// NewOffline prepares the dimensions of a taxonomy. The errors are joined.
func NewOffline(t *taxonomy.Taxonomy, o OfflineOptions) (*Offline, error) {
	s := &Offline{taxonomy: t, dimensions: map[string]*offlineDimension{}, calibrate: o.Calibration}
	var errs []error
	if len(t.Dimensions) == 0 {
		errs = append(errs, fmt.Errorf("taxonomy %s has no dimensions to score", t.ID()))
	}
	for label, c := range o.Calibration {
		if _, ok := t.Index(label); !ok {
			errs = append(errs, fmt.Errorf("calibration: %s has no label %q", t.ID(), label))
		}
		if !(c.Slope >= 0 && !math.IsInf(c.Slope, 0)) || math.IsNaN(c.Intercept) || math.IsInf(c.Intercept, 0) {
			errs = append(errs, fmt.Errorf("calibration of %q: slope %v, intercept %v; both are finite, and the slope is at "+
				"least 0", label, c.Slope, c.Intercept))
		}
	}
	for i := range t.Dimensions {
		d, err := newOfflineDimension(t, &t.Dimensions[i], o.Indifferent)
		s.dimensions[t.Dimensions[i].Key] = d
		errs = append(errs, err)
	}
	return s, errors.Join(errs...)
}

func newOfflineDimension(t *taxonomy.Taxonomy, d *taxonomy.Dimension, indifferent bool) (*offlineDimension, error) {
	if len(d.Criteria) < 2 {
		return nil, fmt.Errorf("dimension %q has no scale; give its criteria", d.Name)
	}
	out := &offlineDimension{low: float64(d.Criteria[0].Score), high: float64(d.Criteria[len(d.Criteria)-1].Score)}
	for _, name := range d.Types {
		i, ok := t.Index(name)
		switch {
		case !ok:
			return nil, fmt.Errorf("dimension %q: %s has no type %q", d.Name, t.ID(), name)
		case t.Types[i].NoError:
			continue
		}
		severity := t.Types[i].Severity
		if severity == 0 || indifferent {
			severity = defaultSeverity(len(d.Criteria))
		}
		out.errors = append(out.errors, offlineError{t.Types[i].Name, severity, len(t.Types[i].Needs) > 0})
	}
	if len(out.errors) == 0 {
		return nil, fmt.Errorf("dimension %q: no error bears on it, so it cannot be scored from errors", d.Name)
	}
	return out, nil
}

// defaultSeverity of an error on a scale of n scores, by the principle of indifference. Of 3 scores, 0.75: an error
// that is certain gives 1.5.
func defaultSeverity(n int) float64 { return float64(n) / float64(2*(n-1)) }

// Score gives the value of a dimension (its key) on its scale, and the uncertainty in units of the scale. The error
// says that the taxonomy lacks the dimension, or p a label that bears on it.
func (s *Offline) Score(p dataset.Probabilities, dimension string) (value, uncertainty float64, err error) {
	d := s.dimensions[dimension]
	if d == nil {
		return 0, 0, fmt.Errorf("taxonomy %s has no dimension %q", s.taxonomy.ID(), dimension)
	}
	return s.score(p, d, nil)
}

// score leaves out the errors that the model does not judge.
func (s *Offline) score(p dataset.Probabilities, d *offlineDimension, silent []string) (value, uncertainty float64,
	err error) {
	mean, square := 1.0, 1.0 // of the part of the scale that is left
	for _, e := range d.errors {
		if slices.Contains(silent, e.label) {
			continue
		}
		q, ok := p.Get(e.label)
		if !ok || !(q >= 0 && q <= 1) {
			return 0, 0, fmt.Errorf("no probability of %q; tag the file without --labels-only, or with --repeats if a "+
				"language model tags it", e.label)
		}
		q = s.calibrated(e.label, q)
		left := 1 - e.severity
		mean *= 1 - q*e.severity
		square *= 1 - q + q*left*left
	}
	span := d.high - d.low
	return d.low + span*mean, span * math.Sqrt(math.Max(0, square-mean*mean)), nil
}

func (s *Offline) calibrated(label string, p float64) float64 {
	c, ok := s.calibrate[label]
	switch {
	case !ok, p == 0 && c.Slope > 0, p == 1 && c.Slope > 0:
		return p
	case c.Slope == 0:
		return 1 / (1 + math.Exp(-c.Intercept))
	}
	return 1 / (1 + math.Exp(-c.Slope*(math.Log(p)-math.Log1p(-p))-c.Intercept))
}

// Judge scores every dimension of a diagnosed row: dimension key to score, each with one run. A row that is not tagged,
// or was tagged without probabilities, is unscored.
func (s *Offline) Judge(d *dataset.Diagnosis) map[string]*dataset.Score {
	scores := make(map[string]*dataset.Score, len(s.dimensions))
	for key := range s.dimensions {
		scores[key] = s.judge(d, key)
	}
	return scores
}

func (s *Offline) judge(d *dataset.Diagnosis, key string) *dataset.Score {
	run := dataset.Run{Judge: dataset.JudgeOffline, Mode: dataset.ModeErrorAware}
	value, uncertainty, err := 0.0, 0.0, s.unjudged(d, key)
	if err == nil {
		value, uncertainty, err = s.score(d.Probabilities, s.dimensions[key], d.NotJudged)
	}
	if err != nil {
		run.Status, run.Reason = dataset.StatusUnscored, err.Error()
		return &dataset.Score{Status: run.Status, Reason: run.Reason, Runs: []dataset.Run{run}}
	}
	run.Value, run.Uncertainty, run.ErrorsShown = new(rounded(value)), new(rounded(uncertainty)), s.shown(d, key)
	return &dataset.Score{Value: new(rounded(value)), Runs: []dataset.Run{run}}
}

// unjudged says why the dimension has no score: the row is not tagged, it lacks a field that an error needs which bears
// on it, or the model judges none of these errors.
func (s *Offline) unjudged(d *dataset.Diagnosis, key string) error {
	if err := untagged(d); err != nil {
		return err
	}
	judged := 0
	for _, e := range s.dimensions[key].errors {
		switch {
		case !slices.Contains(d.NotJudged, e.label):
			judged++
		case e.needs:
			return fmt.Errorf("%s was not judged: the row lacks a field that it needs", e.label)
		}
	}
	if judged == 0 {
		return fmt.Errorf("%s judges no error that bears on %s", cmp.Or(d.Model, "the model"), key)
	}
	return nil
}

func untagged(d *dataset.Diagnosis) error {
	switch {
	case d == nil:
		return errors.New("no diagnosis; tag the file with erreval identify first")
	case d.Status != "":
		return errors.New(strings.TrimSuffix(d.Status+": "+d.Reason, ": "))
	}
	return nil
}

// shown are the errors of a diagnosis that bear on a dimension.
func (s *Offline) shown(d *dataset.Diagnosis, key string) []string {
	labels := []string{}
	for _, label := range d.Labels {
		if slices.ContainsFunc(s.dimensions[key].errors, func(e offlineError) bool { return e.label == label }) {
			labels = append(labels, label)
		}
	}
	return labels
}

// rounded keeps files small and equal on all machines.
func rounded(x float64) float64 { return math.Round(x*1e6) / 1e6 }
