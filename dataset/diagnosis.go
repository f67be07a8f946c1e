package dataset

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/erreval/erreval/internal/spelling"
	"github.com/erreval/erreval/taxonomy"
)

// StatusUntagged marks a row in which nothing could be looked for; Reason says why. Unknown is not
// the same as no error: such rows are left out of every count but their own.
const StatusUntagged = "untagged"

// Diagnosis is what a model found in a row.
type Diagnosis struct {
	// the errors over their thresholds, else the no-error label (if the taxonomy has one); taxonomy's order
	Labels []string `json:"labels,omitzero"`
	// errors that may be there or not: the row lacks a field that they need, or the model does not know them
	NotJudged     []string      `json:"not_judged,omitempty"`
	Probabilities Probabilities `json:"probabilities,omitempty"` // all types but NotJudged, taxonomy's order
	Model         string        `json:"model,omitempty"`         // name@version
	Taxonomy      string        `json:"taxonomy,omitempty"`      // name@version
	// field to tokens cut from its end; absent if none
	Truncated map[string]int `json:"truncated,omitempty"`
	// field to the parts of it that the model read: from, to, from, to… in characters; absent where it read all of it
	Read   map[string][]int `json:"read,omitempty"`
	Status string           `json:"status,omitempty"` // StatusUntagged, or empty
	Reason string           `json:"reason,omitempty"` // why untagged
}

// Probability is that of one label, 0 to 1.
type Probability struct {
	Label string
	P     float64
}

// Probabilities is a JSON object whose keys keep their order.
type Probabilities []Probability

// Get looks a label's probability up.
func (p Probabilities) Get(label string) (float64, bool) {
	for _, q := range p {
		if q.Label == label {
			return q.P, true
		}
	}
	return 0, false
}

// MarshalJSON writes {"label": p, …}; a probability outside 0 to 1 (or NaN) is an error.
func (p Probabilities) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b) // one for all: a call of Marshal each took most of the time of writing a row
	enc.SetEscapeHTML(false)
	for i, q := range p {
		if !(q.P >= 0 && q.P <= 1) {
			return nil, fmt.Errorf("probability of %q is %v, not within 0 and 1", q.Label, q.P)
		}
		b.WriteByte("{,"[min(i, 1)])
		if err := enc.Encode(q.Label); err != nil {
			return nil, err
		}
		b.WriteByte(':')
		if err := enc.Encode(round(q.P)); err != nil {
			return nil, err
		}
	}
	if len(p) == 0 {
		b.WriteByte('{')
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// round keeps six significant digits: a float32 holds no more, and files stay small.
func round(p float64) float64 {
	if p == 0 {
		return 0
	}
	scale := math.Pow(10, 5-math.Floor(math.Log10(p)))
	if math.IsInf(scale, 0) {
		return 0
	}
	return math.Min(math.Round(p*scale)/scale, 1)
}

// UnmarshalJSON reads what MarshalJSON writes, in the file's order.
func (p *Probabilities) UnmarshalJSON(data []byte) error {
	columns, err := parseObject(data)
	if err != nil {
		return err
	}
	*p = make(Probabilities, len(columns))
	for i, c := range columns {
		(*p)[i].Label = c.name
		if isNull(c.value) || json.Unmarshal(c.value, &(*p)[i].P) != nil {
			return fmt.Errorf("probability of %q is %.40s, not a number", c.name, c.value)
		}
		if v := (*p)[i].P; !(v >= 0 && v <= 1) {
			return fmt.Errorf("probability of %q is %v, not within 0 and 1", c.name, v)
		}
	}
	return nil
}

// SetDiagnosis puts d into the row's column "diagnosis".
func (r *Row) SetDiagnosis(d *Diagnosis) error { return r.Set(ColumnDiagnosis, d) }

// Diagnosis reads the row's column "diagnosis": nil without an error if it is absent or null.
func (r *Row) Diagnosis() (*Diagnosis, error) {
	raw, err := r.Object(ColumnDiagnosis)
	if raw == nil || err != nil {
		return nil, err
	}
	d := &Diagnosis{}
	if err := json.Unmarshal(raw, d); err != nil {
		return nil, fmt.Errorf("row %s: column %q: %w", r.ID, ColumnDiagnosis, err)
	}
	if err := d.validate(); err != nil {
		return nil, fmt.Errorf("row %s: column %q: %w", r.ID, ColumnDiagnosis, err)
	}
	return d, nil
}

// MadeWith tells whether the diagnosis was made with that taxonomy (name@version), or with another version of it with
// the same number before the first point. One that names no taxonomy may be of any.
func (d *Diagnosis) MadeWith(taxonomy string) bool {
	made, _, _ := strings.Cut(d.Taxonomy, ".")
	major, _, _ := strings.Cut(taxonomy, ".")
	return d.Taxonomy == "" || made == major
}

// NameLabels puts labels into the taxonomy's spelling, as somebody may have typed one. It is an error if the taxonomy
// lacks one; that one stays. Types without a probability in a row of another version, as new ones, were not judged.
func (d *Diagnosis) NameLabels(t *taxonomy.Taxonomy) (err error) {
	for n, label := range d.Labels {
		i, ok := t.Index(strings.TrimSpace(label))
		if !ok {
			err = cmp.Or(err, fmt.Errorf("%s has no label %q; did you mean %s?", t.ID(), label,
				quotedOr(spelling.Nearest(label, t.Labels(), 2))))
			continue
		}
		d.Labels[n] = t.Types[i].Name
	}
	if d.Taxonomy == "" || d.Taxonomy == t.ID() || len(d.Probabilities) == 0 {
		return err
	}
	for i, y := range t.Types {
		isIt := func(p Probability) bool { at, ok := t.Index(p.Label); return ok && at == i }
		if !y.NoError && !slices.ContainsFunc(d.Probabilities, isIt) && !slices.Contains(d.Labels, y.Name) &&
			!slices.Contains(d.NotJudged, y.Name) {
			d.NotJudged = append(d.NotJudged, y.Name)
		}
	}
	return err
}

// CheckNoError refuses the taxonomy's label of rows without errors beside another.
func (d *Diagnosis) CheckNoError(t *taxonomy.Taxonomy) error {
	no := t.NoErrorIndex()
	if no < 0 || len(d.Labels) < 2 || !slices.Contains(d.Labels, t.Types[no].Name) {
		return nil
	}
	return fmt.Errorf("column %q: %w", ColumnDiagnosis, besideNoError(t.Types[no].Name))
}

// Unjudged are the errors that the row was not judged for, in a text that is equal for rows which were judged alike;
// "" for nil.
func (d *Diagnosis) Unjudged() string {
	if d == nil {
		return ""
	}
	return strings.Join(slices.Sorted(slices.Values(d.NotJudged)), "\n")
}

func (d *Diagnosis) validate() error {
	switch {
	case d.Status != "" && d.Status != StatusUntagged:
		return fmt.Errorf("unknown status %q; it is %q or absent", d.Status, StatusUntagged)
	case d.Status == "" && d.Labels == nil:
		return errors.New(`neither "labels" nor a "status"`)
	}
	for field, n := range d.Truncated {
		if n < 0 {
			return fmt.Errorf("%d tokens of the %s are truncated; give 0 or more", n, field)
		}
	}
	for field, parts := range d.Read {
		if len(parts)%2 != 0 || !slices.IsSorted(parts) || len(parts) > 0 && parts[0] < 0 {
			return fmt.Errorf("what was read of the %s is %.60s; give places in the text, two a part, in their order",
				field, fmt.Sprint(parts))
		}
	}
	plain := func(name string) string { return name }
	return errors.Join(checkEachOnce(d.Labels, plain), checkEachOnce(d.NotJudged, plain))
}
