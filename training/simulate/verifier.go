package simulate

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/taxonomy"
)

// Ways in which a label set is made wrong.
const (
	Dropped  = "dropped-label"
	Added    = "added-label"
	Swapped  = "swapped-label"
	NearMiss = "near-miss" // the identifier's own mistake on the row, or one that it often makes
)

// nearMissShare of the negatives are near misses where anything is known of the identifier: they are what a verifier
// meets.
const nearMissShare = 0.5

// Judged is a row whose right labels are known.
type Judged struct {
	Row *dataset.Row
	// names or codes; the no-error label, or nothing in a taxonomy without one, says that there is no error
	Labels []string
	// Diagnosis is what the identifier found in the row; nil is not known. Its labels and probabilities make near misses,
	// and those of all rows are the confusion table for the rows without.
	Diagnosis *dataset.Diagnosis
}

// ReadJudged reads the labels of a row, and its diagnosis if it has one.
func ReadJudged(r *dataset.Row, t *taxonomy.Taxonomy) (Judged, error) {
	labels, err := r.Labels(t)
	if err != nil {
		return Judged{}, err
	}
	d, err := r.Diagnosis()
	return Judged{Row: r, Labels: labels, Diagnosis: d}, err
}

// VerifierOptions steer Verifier.
type VerifierOptions struct {
	Taxonomy *taxonomy.Taxonomy
	// Seed makes runs repeatable. What a row gets depends on it, on the row's id and on the label counts of all rows, not
	// on the order.
	Seed uint64
	// Negatives is the share of verifier rows with a wrong label set: over 0, under 1. 0.5 is one for each right set.
	Negatives float64
}

// Validate joins all faults of o.
func (o *VerifierOptions) Validate() error {
	var faults []error
	if o.Taxonomy == nil {
		faults = append(faults, errors.New("verifier rows: no taxonomy"))
	}
	if !(o.Negatives > 0 && o.Negatives < 1) {
		faults = append(faults, fmt.Errorf("a share of negatives lies between 0 and 1; got %v", o.Negatives))
	}
	return errors.Join(faults...)
}

// VerifierRow is a row beside a label set that is right or wrong for it.
type VerifierRow struct {
	Row       *dataset.Row // the row that it is made of, not changed
	Labels    []string     // names in the taxonomy's order
	Right     bool
	Nth       int    // of the wrong sets of Row, from 1; 0 for the right one
	Mechanism string // how the set was made wrong; empty for the right one
}

// Text is the label set as verifiers read it.
func (r *VerifierRow) Text() string { return strings.Join(r.Labels, ", ") }

// Record is r as a row for a trainer: id, origin, the taxonomy's fields, labels, right (0 or 1) and mechanism. n, such
// as Nth, tells the id from those of other rows that are made of the same one.
func (r *VerifierRow) Record(t *taxonomy.Taxonomy, n int) (*dataset.Row, error) {
	right := 0
	if r.Right {
		right = 1
	}
	out, err := madeOf(r.Row, t, fmt.Sprintf("%s~v%d", r.Row.ID, n))
	if err != nil {
		return nil, err
	}
	faults := []error{out.Set("labels", r.Labels), out.Set("right", right)}
	if r.Mechanism != "" {
		faults = append(faults, out.Set("mechanism", r.Mechanism))
	}
	return out, errors.Join(faults...)
}

// madeOf is a new row with the fields of another: id, origin and these.
func madeOf(of *dataset.Row, t *taxonomy.Taxonomy, id string) (*dataset.Row, error) {
	out, err := dataset.RowOf(struct{}{})
	if err != nil {
		return nil, err
	}
	faults := []error{out.Set("id", id), out.Set("origin", of.ID)}
	for i, f := range t.Fields {
		faults = append(faults, out.Set(f.Name, of.Values[i]))
	}
	return out, errors.Join(faults...)
}

// Verifier hands emit every row with its right label set, and then with wrong ones: a label dropped, added or swapped,
// or a near miss of the identifier. A wrong set differs from the right one and from the row's other wrong ones. Among
// the sets that fit, those that are frequent as right ones are preferred, so that a set alone tells little of whether
// it is right.
func Verifier(rows []Judged, o VerifierOptions, emit func(VerifierRow) error) error {
	if err := o.Validate(); err != nil {
		return err
	}
	p := &perturber{o: o, no: o.Taxonomy.NoErrorIndex(), sets: map[string]int{}}
	right := make([]labelSet, len(rows))
	for i, r := range rows {
		var err error
		if right[i], err = p.set(r.Labels); err != nil {
			return fmt.Errorf("row %s: %w", r.Row.ID, err)
		}
		if err := p.learn(right[i], r); err != nil {
			return err
		}
	}
	for i, r := range rows {
		if err := p.emit(r, right[i], emit); err != nil {
			return err
		}
	}
	return nil
}

// labelSet tells of each type whether it applies. The no-error type never does: no error is the empty set.
type labelSet []bool

func (s labelSet) key() string {
	var b strings.Builder
	for _, on := range s {
		if on {
			b.WriteByte('1')
		} else {
			b.WriteByte('0')
		}
	}
	return b.String()
}

func (s labelSet) empty() bool { return !slices.Contains(s, true) }

// flipped is s with the types given turned over.
func (s labelSet) flipped(types ...int) labelSet {
	out := slices.Clone(s)
	for _, i := range types {
		out[i] = !out[i]
	}
	return out
}

// perturber makes label sets wrong.
type perturber struct {
	o    VerifierOptions
	no   int            // index of the no-error type, or -1
	sets map[string]int // how often a set is right
	// What the identifier did, by type of the right set; the index behind the last type stands for rows without error.
	diagnosed []float64   // rows that it looked at; nil is none
	missed    []float64   // of these, the type was not given
	confused  [][]float64 // of these, another type was given wrongly
}

// set reads labels.
func (p *perturber) set(labels []string) (labelSet, error) {
	t, clean := p.o.Taxonomy, false
	s := make(labelSet, len(t.Types))
	for _, l := range labels {
		i, ok := t.Index(l)
		if !ok {
			return nil, fmt.Errorf("%s has no label %q; it has %s", t.ID(), l, strings.Join(t.Labels(), ", "))
		}
		if i == p.no {
			clean = true
		} else {
			s[i] = true
		}
	}
	switch {
	case clean && !s.empty():
		return nil, fmt.Errorf("%q stands beside other labels; it means that there is none", t.Types[p.no].Name)
	case !clean && s.empty() && p.no >= 0:
		return nil, fmt.Errorf("no label; write %q for a row in which nothing is wrong", t.Types[p.no].Name)
	}
	return s, nil
}

// names are the labels of s.
func (p *perturber) names(s labelSet) []string {
	out := []string{}
	for i, y := range p.o.Taxonomy.Types {
		if s[i] || i == p.no && s.empty() {
			out = append(out, y.Name)
		}
	}
	return out
}

// learn counts a right set, and what the identifier made of it.
func (p *perturber) learn(right labelSet, r Judged) error {
	p.sets[right.key()]++
	if !known(r.Diagnosis) {
		return nil
	}
	found, err := p.set(r.Diagnosis.Labels)
	if err != nil {
		return fmt.Errorf("row %s: its diagnosis: %w", r.Row.ID, err)
	}
	if p.diagnosed == nil {
		n := len(right)
		p.diagnosed, p.missed, p.confused = make([]float64, n+1), make([]float64, n), make([][]float64, n+1)
		for i := range p.confused {
			p.confused[i] = make([]float64, n)
		}
	}
	for a := range p.causes(right) {
		p.diagnosed[a]++
		for b := range found {
			if found[b] && !right[b] {
				p.confused[a][b]++
			}
		}
		if a < len(right) && !found[a] {
			p.missed[a]++
		}
	}
	return nil
}

func known(d *dataset.Diagnosis) bool { return d != nil && d.Status == "" && d.Labels != nil }

// causes are the types of a set; the index behind the last stands for the set without any.
func (p *perturber) causes(s labelSet) map[int]bool {
	out := map[int]bool{}
	for i, on := range s {
		if on {
			out[i] = true
		}
	}
	if len(out) == 0 {
		out[len(s)] = true
	}
	return out
}
