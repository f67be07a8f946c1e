// Package simulate makes labelled training rows out of right ones. Each rule plants one kind of error into a human
// question, answer and passage, and says which labels the result carries. It is offline and deterministic under a seed.
//
// The rules speak of questions, so they serve taxonomies with the fields of question generation; they refer to labels
// by the codes of that taxonomy, and Bind finds out which of them another one has. [Edits] are for any taxonomy that
// names them, and [Verifier] is for all.
package simulate

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/erreval/erreval/taxonomy"
)

// Row is a right question: Answer answers Question from Passage. Title names the document that the passage stands in.
type Row struct {
	ID       string `json:"id"`
	Title    string `json:"title"`
	Passage  string `json:"passage"`
	Question string `json:"question"`
	Answer   string `json:"answer"`
	Source   string `json:"source"`
}

// Example is a Row after a rule was applied to it.
type Example struct {
	Row
	// Labels are the codes of the errors that the rule planted; ["OK"] where it planted none.
	Labels []string `json:"labels"`
	// Mechanism is the rule's name.
	Mechanism string `json:"mechanism"`
	// Target is what the passage really answers to the question; empty where the question no longer has one.
	Target string `json:"target,omitempty"`
	// Original is the question before words of it were changed, so that a trainer can tell which; the question itself
	// where none was; empty where another question stands in its place.
	Original string `json:"original,omitempty"`
	// Origin is the id of the row that the example was made from.
	Origin string `json:"origin"`
}

// Options steer Generate.
type Options struct {
	// Seed makes runs repeatable.
	Seed uint64
	// Copies is how many examples are tried for each row, at least 1.
	Copies int
	// Mix maps a label's code to its relative weight; codes that are left out are not made.
	Mix map[string]float64
	// Total, if over 0, asks for so many examples in all, each code's share that of its weight; PerError, if over 0, for
	// so many of each error code with a weight, and none without error. Copies is then not looked at. Fewer come where the
	// rows do not lend themselves to more.
	Total, PerError int
	// Combined is the share, 0 to 1, of the examples with an error that get a second one, of the language or copied.
	Combined float64
	// Rules chooses the rules: 1 are those that the default model's version 3 was trained on, 2 are all.
	Rules int
}

// DefaultOptions returns three examples a row, over a third right, with wrong answers as the most frequent error, as in
// the output of real systems (ANNOTATION guideline: OK 42–46 %, OTA 24–28 %), and more of the kinds that are hard to
// learn.
func DefaultOptions() Options {
	return Options{Seed: 1, Copies: 3, Combined: 0.1, Rules: newest, Mix: map[string]float64{
		"OK": 36, "OTA": 28, "Fact": 14, "INM": 5, "OTP": 1.5, "Spell": 3, "Gram": 14, "Inc": 2, "NAQ": 1.5,
		"Vague": 1.5, "Copy": 1,
	}}
}

// newest is the highest number of a set of rules.
const newest = 2

// Validate reports every fault of the options for Generate at once.
func (o Options) Validate() error { return o.validate(Codes()) }

// ValidateFor reports every fault of the options for Edits with a taxonomy.
func (o Options) ValidateFor(t *taxonomy.Taxonomy) error {
	return o.validate(slices.Sorted(maps.Keys(EditMix(t))))
}

func (o Options) validate(codes []string) error {
	var faults []error
	if o.Copies < 1 {
		faults = append(faults, fmt.Errorf("copies is %d: give at least 1", o.Copies))
	}
	if o.Total < 0 || o.PerError < 0 || o.Total > 0 && o.PerError > 0 {
		faults = append(faults, fmt.Errorf("total is %d and per error %d: give one of them, above 0", o.Total, o.PerError))
	}
	if !(o.Combined >= 0 && o.Combined <= 1) {
		faults = append(faults, fmt.Errorf("combined is %v: give a share of 0 to 1", o.Combined))
	}
	if o.Rules < 1 || o.Rules > newest {
		faults = append(faults, fmt.Errorf("rules is %d: there are sets 1 to %d", o.Rules, newest))
	}
	sum := 0.0
	for code, w := range o.Mix {
		if !slices.Contains(codes, code) {
			faults = append(faults, fmt.Errorf("mix names %q: choose among %s", code, strings.Join(codes, ", ")))
		}
		if !(w >= 0) {
			faults = append(faults, fmt.Errorf("mix gives %s the weight %v: give 0 or more", code, w))
		}
		sum += w
	}
	if !(sum > 0) {
		faults = append(faults, errors.New("mix has no weight above 0"))
	}
	return errors.Join(faults...)
}

// rule plants one error; ok is false where the row does not lend itself to it.
type rule struct {
	code, name string
	weight     float64
	apply      func(*maker, Row) (Example, bool)
}

// table are all rules that sets up to n have, older ones first.
func table(n int) []rule {
	if n < 2 {
		return rules
	}
	return slices.Concat(rules, moreRules)
}

// Mechanisms are the names of the rules that make a label, by its code.
func Mechanisms(code string) (out []string) {
	for _, r := range table(newest) {
		if r.code == code {
			out = append(out, r.name)
		}
	}
	return out
}

// Codes lists the label codes that the rules can make, in the order of the rules.
func Codes() []string {
	var out []string
	for _, r := range table(newest) {
		if !slices.Contains(out, r.code) {
			out = append(out, r.code)
		}
	}
	return out
}

// maker holds what the rules look up: the rows that share a passage or a title, and the random source.
type maker struct {
	rng       *rand.Rand
	rules     []rule
	combined  float64
	rows      []Row
	byPassage map[string][]Row
	byTitle   map[string][]Row
}

func newMaker(rows []Row, o Options) *maker {
	m := &maker{rng: rand.New(rand.NewPCG(o.Seed, 0x5eed)), rules: table(o.Rules), combined: o.Combined, rows: rows,
		byPassage: map[string][]Row{}, byTitle: map[string][]Row{}}
	for _, r := range rows {
		m.byPassage[r.Passage] = append(m.byPassage[r.Passage], r)
		m.byTitle[r.Title] = append(m.byTitle[r.Title], r)
	}
	return m
}

// Generate makes up to o.Copies examples of every row, or as many as o.Total or o.PerError say, in the rows' order, and
// hands each to emit. A row that no rule of the drawn kind fits is tried with other kinds; equal examples of one row
// are made once. It stops at emit's first error.
func Generate(rows []Row, o Options, emit func(Example) error) error {
	if err := o.Validate(); err != nil {
		return err
	}
	m := newMaker(rows, o)
	if quotas := o.quotas(Codes(), "OK"); quotas != nil {
		return m.fill(quotas, emit)
	}
	for _, r := range rows {
		if err := m.examples(r, o, emit); err != nil {
			return err
		}
	}
	return nil
}

func (m *maker) examples(r Row, o Options, emit func(Example) error) error {
	seen := map[string]bool{}
	for range o.Copies {
		ex, ok := m.draw(r, o.Mix)
		key := ex.Question + "\x00" + ex.Answer
		if !ok || seen[key] {
			continue
		}
		seen[key] = true
		ex.Origin = r.ID
		ex.ID = fmt.Sprintf("%s~%d", r.ID, len(seen))
		if err := emit(ex); err != nil {
			return err
		}
	}
	return nil
}

// attempts bounds how often draw looks for a kind that fits a row.
const attempts = 4

func (m *maker) draw(r Row, mix map[string]float64) (Example, bool) {
	for range attempts {
		if ex, ok := m.make(r, m.pickCode(mix)); ok {
			m.addSecond(&ex, mix)
			return ex, true
		}
	}
	return Example{}, false
}

// make tries one rule of a code.
func (m *maker) make(r Row, code string) (Example, bool) {
	ru := m.pickRule(code)
	if ru == nil {
		return Example{}, false
	}
	ex, ok := ru.apply(m, r)
	if !ok {
		return Example{}, false
	}
	ex.Mechanism = ru.name
	if slices.Contains([]string{"OK", "Spell", "Gram", "Fact"}, code) {
		ex.Original = r.Question
	}
	if m.rng.Float64() < wide {
		m.lengthen(&ex)
	}
	return ex, true
}

// wide is the share of examples whose answer becomes a clause: human question sets have short answers, half of those
// that question generators are given are clauses (10 words on average in Quiz Design).
const wide = 0.4

// lengthen makes the answer a clause, unless that would make a wrong answer right.
func (m *maker) lengthen(ex *Example) {
	w := m.widen(ex.Passage, ex.Answer)
	if ex.Labels[0] == "OTA" && (ex.Target == "" || strings.Contains(w, ex.Target)) {
		return
	}
	ex.Answer = w
}

func (m *maker) pickCode(mix map[string]float64) string {
	codes := Codes() // a fixed order: ranging over the map would not be repeatable
	return codes[max(0, Draw(m.rng, codes, func(code string) float64 { return mix[code] }))]
}

func (m *maker) pickRule(code string) *rule {
	i := Draw(m.rng, m.rules, func(r rule) float64 {
		if r.code != code {
			return 0
		}
		return r.weight
	})
	if i < 0 {
		return nil
	}
	return &m.rules[i]
}

// Draw is the place of an element that is drawn by weight; -1 where none has any, and perhaps by rounding.
func Draw[T any](rng *rand.Rand, xs []T, weight func(T) float64) int {
	sum := 0.0
	for _, x := range xs {
		sum += weight(x)
	}
	at := rng.Float64() * sum
	return slices.IndexFunc(xs, func(x T) bool { at -= weight(x); return at < 0 })
}

// with returns r as an example with the question, answer, target and labels given.
func with(r Row, question, answer, target string, labels ...string) (Example, bool) {
	r.Question, r.Answer = question, answer
	return Example{Row: r, Labels: labels, Target: target}, question != "" && answer != ""
}

// pickIf returns a random element of those that fit; ok is false where none does.
func pickIf[T any](m *maker, xs []T, fits func(T) bool) (x T, ok bool) {
	var fit []T
	for _, x := range xs {
		if fits(x) {
			fit = append(fit, x)
		}
	}
	return pickOf(m.rng, fit)
}
