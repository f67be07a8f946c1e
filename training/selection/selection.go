// Package selection chooses the rows of a pool that are worth a person's time, and those that can be added to a training set
// without one.
//
// Every row was tagged by an identifier, and perhaps checked by a verifier. From that come two numbers, as in ErrEval
// (arXiv, section 3.1):
//
//	Uncertainty   = 1 - |p_e - 0.5|   (eq. 3), 0.5 to 1
//	Inconsistency = |p_e - p_v|       (eq. 4), 0 to 1
//
// The paper writes p_e as if a row had one confidence. Here a row has one probability an error type, each with a threshold of
// its own, and they become one number so: [Centre] moves every threshold to 0.5, which gives q; the confidence in the type's
// decision, made or not, is max(q, 1-q); p_e is the smallest of these, the confidence in the least certain decision. The
// no-error label follows from the others and does not enter. p_v is the verifier's probability that the labels are right.
// Without a verifier there is no inconsistency, and uncertainty alone decides.
//
// A third signal is there where a judge scored the row: see [Conflict].
//
// A row below all thresholds is reliable, any other unreliable. [Select] reads the pool twice, whatever its size, and holds
// only as many rows as a multiple of the batch. What it chooses depends on the rows and the seed, not on the order of the pool.
package selection

import (
	_ "embed"
	"errors"
	"fmt"

	"gopkg.in/yaml.v3"

	"github.com/erreval/erreval/internal/strictyaml"
)

// Options say what a batch is made of. As JSON they stand in its batch.json.
type Options struct {
	Size          int     `json:"size"`           // rows that a person is given, those of the random slice and repeated ones included; 1 or more
	Automatic     int     `json:"automatic"`      // most reliable rows that are proposed without a person, if a verifier agrees; 0 is none
	Uncertainty   float64 `json:"uncertainty"`    // reliable rows lie below; 0.5 (none does) to 1
	Inconsistency float64 `json:"inconsistency"`  // reliable rows lie below; 0 (none does) to 1
	Conflict      float64 `json:"conflict"`       // unreliable rows have this conflict or more; over 0, to 1
	PerGroup      int     `json:"per_group"`      // rows of one group (such as a passage) in a batch, as long as other groups have some; 0 is any number
	Group         string  `json:"group"`          // column that rows of a group share; "" is each row by itself. No key of the YAML section: the workspace has it
	System        string  `json:"system"`         // column of the system that wrote a row; systems take turns
	NearDuplicate float64 `json:"near_duplicate"` // rows whose fields are all this much alike are told once; over 0, to 1 (Jaccard of four-letter pieces)
	Shares        Shares  `json:"shares"`
}

// Shares are parts of Options.Size, 0 to 1, together at most 1; uncertain rows get the rest.
type Shares struct {
	Random       float64 `json:"random"`       // drawn uniformly, to measure quality
	Control      float64 `json:"control"`      // repeated, to measure the reviewer
	Mistake      float64 `json:"mistake"`      // of the training set, with doubtful labels
	Conflict     float64 `json:"conflict"`     // a judge speaks against the labels
	Inconsistent float64 `json:"inconsistent"` // the verifier does
	Rare         float64 `json:"rare"`         // may hold error types of which there are few rows
}

// DefaultOptions is an hour of a person who needs 18 seconds a row.
//
// The thresholds were chosen by looking at erreval-qg-minilm@3 on 1,488 labelled machine questions. Of those that it was trained
// on (953), 49 % lie below an uncertainty of 0.55 and 96 % of their label sets are right; between 0.55 and 0.6 it is 78 %,
// above 0.6 45 %. Of those that it was not trained on (535), 29 % lie below 0.55, and only 73 % of them are right: confidence
// alone is no proof. Hence 0.2 for the inconsistency, so that the verifier (0.75 or more beside a confidence of 0.95) has to
// agree, and hence the small number of automatic rows.
func DefaultOptions() Options {
	return Options{Size: 200, Automatic: 100, Uncertainty: 0.55, Inconsistency: 0.2, Conflict: 0.75, PerGroup: 3, System: "system",
		NearDuplicate: 0.7, Shares: Shares{Random: 0.1, Control: 0.05, Mistake: 0.05, Conflict: 0.1, Inconsistent: 0.25, Rare: 0.15}}
}

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
	check(o.Uncertainty >= 0.5 && o.Uncertainty <= 1, "uncertainty is %v; the formula gives 0.5 to 1", o.Uncertainty)
	check(o.Inconsistency >= 0 && o.Inconsistency <= 1, "inconsistency is %v; it lies in 0..1", o.Inconsistency)
	check(o.Conflict > 0 && o.Conflict <= 1, "conflict is %v; it lies over 0, up to 1", o.Conflict)
	check(o.NearDuplicate > 0 && o.NearDuplicate <= 1, "near_duplicate is %v; it lies over 0, up to 1", o.NearDuplicate)
	sum := 0.0
	for _, s := range o.Shares.named() {
		check(s.of >= 0 && s.of <= 1, "the share of %s rows is %v; it lies in 0..1", s.reason, s.of)
		sum += s.of
	}
	check(sum <= 1+1e-9, "the shares add up to %v; they are parts of one batch", sum)
	return errors.Join(errs...)
}

type share struct {
	reason string
	of     float64
}

func (s *Shares) named() []share {
	return []share{{Random, s.Random}, {Control, s.Control}, {Mistake, s.Mistake}, {Conflicting, s.Conflict},
		{Inconsistent, s.Inconsistent}, {Rare, s.Rare}}
}

// ReadConfig reads the section "select" of refine.yaml strictly. What it leaves out has its default, and so has everything where n
// is nil. file stands in the messages. The error joins all faults.
func ReadConfig(n *yaml.Node, file string) (Options, error) {
	o, r := DefaultOptions(), &strictyaml.Reader{File: file}
	if n == nil {
		return o, nil
	}
	part := func(dst *float64) strictyaml.Value {
		return r.Float(dst, "a number from 0 to 1", func(x float64) bool { return x >= 0 && x <= 1 })
	}
	s := &o.Shares
	r.Mapping(n, "select",
		strictyaml.May("size", r.IntFrom(1, &o.Size)),
		strictyaml.May("automatic", r.IntFrom(0, &o.Automatic)),
		strictyaml.May("uncertainty", part(&o.Uncertainty)),
		strictyaml.May("inconsistency", part(&o.Inconsistency)),
		strictyaml.May("conflict", part(&o.Conflict)),
		strictyaml.May("per_group", r.IntFrom(0, &o.PerGroup)),
		strictyaml.May("system", r.Text(&o.System)),
		strictyaml.May("near_duplicate", part(&o.NearDuplicate)),
		strictyaml.May("shares", func(_ string, n *yaml.Node) {
			r.Mapping(n, "shares", strictyaml.May(Random, part(&s.Random)), strictyaml.May(Control, part(&s.Control)),
				strictyaml.May(Mistake, part(&s.Mistake)), strictyaml.May(Conflicting, part(&s.Conflict)),
				strictyaml.May(Inconsistent, part(&s.Inconsistent)), strictyaml.May(Rare, part(&s.Rare)))
		}),
	)
	if err := r.Err(); err != nil {
		return o, err
	}
	if err := o.Validate(); err != nil {
		return o, fmt.Errorf("%s:%d: select: %w", file, n.Line, err)
	}
	return o, nil
}

// ConfigText is the section with its defaults and comments.
//
//go:embed select.yaml
var ConfigText string
