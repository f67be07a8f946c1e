package selection

import (
	"fmt"
	"math"
	"slices"

	"github.com/erreval/erreval/dataset"
)

// Options say what a batch is made of. As JSON they stand in its batch.json.
type Options struct {
	// rows that a person is given, random and repeated ones included; 1 or more
	Size int `json:"size"`
	// most reliable rows proposed without a person, if a verifier agrees; 0 is none
	Automatic     int     `json:"automatic"`
	Uncertainty   float64 `json:"uncertainty"`   // reliable rows lie below; 0.5 (none does) to 1
	Inconsistency float64 `json:"inconsistency"` // reliable rows lie below; 0 (none does) to 1
	Conflict      float64 `json:"conflict"`      // unreliable rows have this conflict or more; over 0, to 1
	// PerGroup are the rows of one group (such as a passage) in a batch, as long as other groups have some; 0 is any
	// number.
	PerGroup int `json:"per_group"`
	// Group is the column that rows of a group share; "" is each row by itself. refine.yaml has it outside the section.
	Group  string `json:"group"`
	System string `json:"system"` // column of the system that wrote a row; systems take turns
	// NearDuplicate is how much alike all fields of two rows are that are taken for one: over 0, to 1 (Jaccard similarity
	// of pieces of four letters).
	NearDuplicate float64 `json:"near_duplicate"`
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
// The thresholds were chosen by looking at erreval-qg-minilm@3 on 1,488 labelled machine questions. Of those that it
// was trained on (953), 49 % lie below an uncertainty of 0.55 and 96 % of their label sets are right; between 0.55 and
// 0.6 it is 78 %, above 0.6 45 %. Of those that it was not trained on (535), 29 % lie below 0.55, and only 73 % of them
// are right: confidence alone is no proof. Hence 0.2 for the inconsistency, so that the verifier (0.75 or more beside a
// confidence of 0.95) has to agree, and hence the small number of automatic rows.
func DefaultOptions() Options {
	return Options{Size: 200, Automatic: 100, Uncertainty: 0.55, Inconsistency: 0.2, Conflict: 0.75,
		PerGroup: 3, System: "system", NearDuplicate: 0.7,
		Shares: Shares{Random: 0.1, Control: 0.05, Mistake: 0.05, Conflict: 0.1, Inconsistent: 0.25, Rare: 0.15}}
}

// Signals are the numbers by which a row is chosen.
type Signals struct {
	Confidence    float64  `json:"confidence"`    // p_e, 0.5 to 1
	Least         string   `json:"least"`         // the error type of the least certain decision
	Uncertainty   float64  `json:"uncertainty"`   // eq. 3
	Verified      *float64 `json:"verified"`      // p_v; nil without a verifier
	Inconsistency float64  `json:"inconsistency"` // eq. 4; 0 without a verifier
	Conflict      Conflict `json:"conflict"`      // zero without a judge
	Found         []int    `json:"-"`             // types found, as places in the taxonomy; empty is none

	centred []float64 // q of each type of the taxonomy; negative where the model does not know it
}

// signal is a number that speaks against a row's labels: from its bound on the row is unreliable.
type signal struct {
	name     string // and key of the bound in refine.yaml
	reason   string // of the rows that are chosen by it
	bound    func(*Options) *float64
	from, to float64                // what the bound may be
	allowed  string                 // that in words
	comment  string                 // on the bound in refine.yaml
	share    func(*Shares) *float64 // nil is what the other reasons leave
	measure  func(*Meter, *Signals, *dataset.Row, *dataset.Diagnosis) error
	value    func(*Signals) float64 // NaN where it is not known
	why      func(*Signals) string  // how it came about, before its value
	describe func(*Signals) string  // its value, and how it came about; "" says nothing

	shareComment string // on the share in refine.yaml
}

// signals are measured in this order. The last takes its share of a batch first, since the fewest rows have it.
var signals = []signal{
	{
		name: "uncertainty", reason: Uncertain,
		bound: func(o *Options) *float64 { return &o.Uncertainty },
		from:  0.5, to: 1, allowed: "the formula gives 0.5 to 1",
		comment: "reliable rows lie below, of 0.5 to 1: a confidence of 0.95 in every decision",
		measure: (*Meter).confidence,
		value:   func(g *Signals) float64 { return g.Uncertainty },
		why: func(g *Signals) string {
			return fmt.Sprintf("the identifier is unsure: its confidence in the decision on %s is %s,", g.Least,
				number(g.Confidence))
		},
		describe: func(g *Signals) string {
			return fmt.Sprintf("%s (confidence %s, least in the decision on %s)", number(g.Uncertainty),
				number(g.Confidence), g.Least)
		},
	},
	{
		name: "inconsistency", reason: Inconsistent,
		bound: func(o *Options) *float64 { return &o.Inconsistency },
		from:  0, to: 1, allowed: "it lies in 0..1",
		comment: "reliable rows lie below, of 0 to 1: the verifier agrees",
		share:   func(s *Shares) *float64 { return &s.Inconsistent }, shareComment: "the verifier does",
		measure: (*Meter).verify,
		value: func(g *Signals) float64 {
			if g.Verified == nil {
				return math.NaN()
			}
			return g.Inconsistency
		},
		why: func(g *Signals) string {
			return fmt.Sprintf("the identifier has confidence %s, the verifier gives its labels %s:",
				number(g.Confidence), number(*g.Verified))
		},
		describe: func(g *Signals) string {
			if g.Verified == nil {
				return "unknown: no verifier looked at the row"
			}
			return fmt.Sprintf("%s (the verifier gives its labels %s)", number(g.Inconsistency), number(*g.Verified))
		},
	},
	{
		name: "conflict", reason: Conflicting,
		bound: func(o *Options) *float64 { return &o.Conflict },
		from:  math.SmallestNonzeroFloat64, to: 1, allowed: "it lies over 0, up to 1",
		comment: "unreliable rows have this conflict with a judge's scores or more, of 0 to 1",
		share:   func(s *Shares) *float64 { return &s.Conflict }, shareComment: "a judge's scores speak against the labels",
		measure: (*Meter).compare,
		value:   func(g *Signals) float64 { return g.Conflict.Value },
		why: func(g *Signals) string {
			c := g.Conflict
			if c.Type == "" {
				return fmt.Sprintf("a judge scores %s low, which none of the errors found explains:", c.Dimension)
			}
			return fmt.Sprintf("%s was found, but a judge sees no sign of it, not even in %s:", c.Type, c.Dimension)
		},
		describe: func(g *Signals) string {
			c := g.Conflict
			if c.Dimension == "" {
				return ""
			}
			return fmt.Sprintf("%s (%s %s)", number(c.Value), c.Dimension, c.Type)
		},
	},
}

// reaches tells whether the signal makes a row unreliable.
func (g *signal) reaches(s *Signals, o *Options) bool { return g.value(s) >= *g.bound(o) }

// explain says why a row was chosen by the signal.
func (g *signal) explain(s *Signals, o *Options) string {
	return fmt.Sprintf("%s %s %s (unreliable from %s on)", g.why(s), g.name, number(g.value(s)), number(*g.bound(o)))
}

// Reliable tells whether nothing speaks against the labels.
func (s *Signals) Reliable(o *Options) bool {
	return !slices.ContainsFunc(signals, func(g signal) bool { return g.reaches(s, o) })
}

// addable tells whether a row may do without a person: it is reliable, and a verifier agreed. Of what identifiers were
// surest of, rows that they were not trained on, a quarter was wrong.
func (s *Signals) addable(o *Options) bool { return s.Reliable(o) && s.Verified != nil }
