// Package selection chooses the rows of a pool that are worth a person's time. It also chooses those that can be added
// to a training set without one.
//
// Every row was tagged by an identifier, and perhaps checked by a verifier. From that come two numbers, as in ErrEval
// (arXiv, section 3.1):
//
//	Uncertainty   = 1 - |p_e - 0.5|   (eq. 3), 0.5 to 1
//	Inconsistency = |p_e - p_v|       (eq. 4), 0 to 1
//
// The paper writes p_e as if a row had one confidence. Here a row has one probability an error type, each with a
// threshold of its own, and they become one number so: [Centre] moves every threshold to 0.5, which gives q; the
// confidence in the type's decision, made or not, is max(q, 1-q); p_e is the smallest of these, the confidence in the
// least certain decision. The no-error label follows from the others and does not enter. p_v is the verifier's
// probability that the labels are right. Without a verifier there is no inconsistency, and uncertainty alone decides.
//
// A third signal is there where a judge scored the row: see [Conflict].
//
// A row below all thresholds is reliable, any other unreliable. [Select] reads the pool twice, whatever its size, and
// holds only as many rows as a multiple of the batch. What it chooses depends on the rows and the seed, not on the
// order of the pool.
package selection

import (
	_ "embed"
	"errors"
	"fmt"
	"slices"

	"gopkg.in/yaml.v3"

	"github.com/erreval/erreval/internal/strictyaml"
)

// Validate joins all faults of o.
func (o *Options) Validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	check(o.Size >= 1, "size is %d; a batch has at least 1 row", o.Size)
	check(o.Automatic >= 0, "automatic is %d; give 0 for none, or a number of rows", o.Automatic)
	check(o.PerGroup >= 0, "per_group is %d; give 0 for any number, or a number of rows", o.PerGroup)
	for _, g := range signals {
		bound := *g.bound(o)
		check(bound >= g.from && bound <= g.to, "%s is %v; %s", g.name, bound, g.allowed)
	}
	check(o.NearDuplicate > 0 && o.NearDuplicate <= 1, "near_duplicate is %v; it lies over 0, up to 1", o.NearDuplicate)
	sum := 0.0
	for _, s := range o.Shares.named() {
		check(*s.of >= 0 && *s.of <= 1, "the share of %s rows is %v; it lies in 0..1", s.reason, *s.of)
		sum += *s.of
	}
	check(sum <= 1+1e-9, "the shares add up to %v; they are parts of one batch", sum)
	return errors.Join(errs...)
}

type share struct {
	reason string // and key in refine.yaml
	of     *float64
}

// named are the shares in the order in which they are taken.
func (s *Shares) named() []share {
	list := []share{{Random, &s.Random}, {Control, &s.Control}, {Mistake, &s.Mistake}}
	for _, g := range slices.Backward(signals) {
		if g.share != nil {
			list = append(list, share{g.reason, g.share(s)})
		}
	}
	return append(list, share{Rare, &s.Rare})
}

// ReadConfig reads the section "select" of refine.yaml strictly. What it leaves out has its default, and so has
// everything where n is nil. file stands in the messages. The error joins all faults.
func ReadConfig(n *yaml.Node, file string) (Options, error) {
	o, r := DefaultOptions(), &strictyaml.Reader{File: file}
	if n == nil {
		return o, nil
	}
	part := func(dst *float64) strictyaml.Value {
		return r.Float(dst, "a number from 0 to 1", func(x float64) bool { return x >= 0 && x <= 1 })
	}
	keys := []strictyaml.Key{strictyaml.May("size", r.IntFrom(1, &o.Size)),
		strictyaml.May("automatic", r.IntFrom(0, &o.Automatic))}
	for _, g := range signals {
		keys = append(keys, strictyaml.May(g.name, part(g.bound(&o))))
	}
	keys = append(keys, strictyaml.May("per_group", r.IntFrom(0, &o.PerGroup)), strictyaml.May("system",
		r.Text(&o.System)),
		strictyaml.May("near_duplicate", part(&o.NearDuplicate)),
		strictyaml.May("shares", func(_ string, n *yaml.Node) {
			var shares []strictyaml.Key
			for _, s := range o.Shares.named() {
				shares = append(shares, strictyaml.May(s.reason, part(s.of)))
			}
			r.Mapping(n, "shares", shares...)
		}))
	r.Mapping(n, "select", keys...)
	if err := r.Err(); err != nil {
		return o, err
	}
	if err := o.Validate(); err != nil {
		return o, fmt.Errorf("%s:%d: select: %w", file, n.Line, err)
	}
	return o, nil
}

//go:embed select.yaml
var configText string

// ConfigText is the section with its defaults and comments.
var ConfigText = makeConfigText()

func makeConfigText() string {
	o := DefaultOptions()
	bounds, shares := "", ""
	for _, g := range signals {
		bounds += fmt.Sprintf("\n  %-22s# %s", fmt.Sprint(g.name, ": ", *g.bound(&o)), g.comment)
		if g.share != nil {
			shares = fmt.Sprintf("\n    %-20s# %s", fmt.Sprint(g.reason, ": ", *g.share(&o.Shares)), g.shareComment) + shares
		}
	}
	return fmt.Sprintf(configText, bounds, shares)
}
