package pairwise

import (
	"cmp"
	"slices"
	"strings"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/pairwise/verdicts"
	"github.com/erreval/erreval/taxonomy"
)

// DefaultSeverity is that of an error whose type gives none: half of the scale.
const DefaultSeverity = 0.5

// Offline compares pairs by the labels of both texts, without a model.
type Offline struct {
	Tagged int // pairs with labels of both texts so far
	Uneven int // of these, those whose texts were not judged for the same errors

	t     *taxonomy.Taxonomy
	types []string
}

// NewOffline compares by these types of t, names, and Overall.
func NewOffline(t *taxonomy.Taxonomy, types []string) *Offline { return &Offline{t: t, types: types} }

// Compare gives the verdicts on a pair: by a type, the text without the error is better; overall, the one of which its
// errors leave more, and where neither has an error both are good; an empty text loses. Any other pair of which a text
// has no labels is unjudged.
func (o *Offline) Compare(row *dataset.Row) (verdicts.Set, error) {
	p, err := readPair(o.t, row)
	if err != nil {
		return nil, err
	}
	if p.a != nil && p.b != nil {
		o.Tagged++
		if p.a.Unjudged() != p.b.Unjudged() {
			o.Uneven++
		}
	}
	set := verdicts.Set{}
	for _, name := range o.types {
		v := &verdicts.Verdict{}
		if value, reason := o.value(p, name); reason == "" {
			v.Value = value
		} else {
			v.Status, v.Reason = verdicts.Unjudged, reason
		}
		v.Runs = []verdicts.Run{{Judge: dataset.JudgeOffline, Mode: dataset.ModeErrorAware, Value: v.Value,
			Status: v.Status, Reason: v.Reason}}
		set[name] = v
	}
	return set, nil
}

func (o *Offline) value(p *pair, name string) (value, reason string) {
	emptyA, emptyB := strings.TrimSpace(p.values[0]) == "", strings.TrimSpace(p.other) == ""
	switch {
	case name == verdicts.Overall && emptyA != emptyB: // a model that says nothing must not do better
		return better(emptyA, emptyB), ""
	case p.a == nil || p.b == nil:
		return "", verdicts.Untagged
	}
	if name == verdicts.Overall {
		return o.overall(p), ""
	}
	if slices.Contains(p.a.NotJudged, name) || slices.Contains(p.b.NotJudged, name) {
		return "", verdicts.NotJudged
	}
	return better(has(p.a, name), has(p.b, name)), ""
}

func has(d *dataset.Diagnosis, name string) bool { return slices.Contains(d.Labels, name) }

// better is the verdict where each of the texts has an error or not.
func better(a, b bool) string {
	switch {
	case a && b:
		return verdicts.BothBad
	case a:
		return verdicts.B
	case b:
		return verdicts.A
	}
	return verdicts.BothGood
}

func (o *Offline) overall(p *pair) string {
	a, b := o.left(p.a, p.b), o.left(p.b, p.a)
	switch {
	case a > b:
		return verdicts.A
	case b > a:
		return verdicts.B
	}
	return better(a < 1, b < 1)
}

// left is the part of a text's worth that its errors leave: 1 − severity of each, as in an offline score. An error of
// severity 1 outweighs any number of others. Errors that the other text was not judged for do not count.
func (o *Offline) left(d, other *dataset.Diagnosis) float64 {
	left := 1.0
	for i := range o.t.Types {
		if y := &o.t.Types[i]; !y.NoError && has(d, y.Name) && !slices.Contains(other.NotJudged, y.Name) {
			left *= 1 - cmp.Or(y.Severity, DefaultSeverity)
		}
	}
	return left
}
