// Package pairwise compares the texts of two systems. A [Panel] of language models judges pairs by error type and
// overall, [Offline] does so by the labels of both texts. [Pairs] makes pairs of rows, one a text; package leaderboard
// rates the systems.
package pairwise

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/pairwise/verdicts"
	"github.com/erreval/erreval/taxonomy"
)

// PairTask is how pairs are read: t with its first field, the text under evaluation, twice, as NAME_a and NAME_b.
func PairTask(t *taxonomy.Taxonomy) *taxonomy.Taxonomy {
	p := *t
	text := t.Fields[0]
	a, b := text, text
	a.Name, b.Name = text.Name+"_a", text.Name+"_b"
	p.Fields = append([]taxonomy.Field{a, b}, t.Fields[1:]...)
	p.Types = slices.Clone(t.Types)
	p.Dimensions = nil
	return &p
}

// Designs of comparisons.
const (
	All      = "all"    // every two systems on every item
	Random   = "random" // one pair an item, drawn
	Baseline = "baseline="
)

// DesignOptions say which pairs are made.
type DesignOptions struct {
	Design string // All, Random, or Baseline with a system's name behind it
	Pairs  int    // so many, drawn; 0 is all that the design has
	Seed   uint64
	// Shuffle puts the items into a drawn order, so that a comparison that ends early has seen a sample of them.
	Shuffle bool
}

// Output is one text of a system.
type Output struct {
	Item   string // what it was written for; ratings take all pairs of one as alike
	Part   string // of the item, where a system has several outputs for it
	System string
	Row    *dataset.Row
}

// NewPairs makes pairs of outputs with the same item and part and different systems, in the order of the items' first
// outputs. Which system is A is drawn for each pair, so that a judge's liking for a place does not fall on one system.
func NewPairs(t *taxonomy.Taxonomy, outputs []Output, o DesignOptions) ([]*dataset.Row, error) {
	items, order := map[[2]string][]int{}, [][2]string(nil)
	for i, out := range outputs {
		key := [2]string{out.Item, out.Part}
		if items[key] == nil {
			order = append(order, key)
		}
		for _, j := range items[key] {
			if outputs[j].System == out.System {
				return nil, fmt.Errorf("rows %s and %s: the system %q has two outputs for the same item; say with "+
					"--pair-by COLUMN what an item is", outputs[j].Row.ID, out.Row.ID, out.System)
			}
		}
		items[key] = append(items[key], i)
	}
	if base, ok := strings.CutPrefix(o.Design, Baseline); ok && !slices.ContainsFunc(outputs, func(x Output) bool {
		return x.System == base
	}) {
		return nil, fmt.Errorf("the baseline %q is none of the systems; they are %s", base,
			strings.Join(systemsOf(outputs), ", "))
	}
	random := rand.New(rand.NewPCG(o.Seed, 1))
	if o.Shuffle {
		random.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	}
	var all [][2]int
	for _, item := range order {
		all = append(all, pairsOf(outputs, items[item], o.Design, random)...)
	}
	if len(all) == 0 {
		return nil, errors.New("no item has outputs of two systems: nothing can be compared; --pair-by COLUMN says " +
			"what an item is")
	}
	if o.Pairs > 0 && o.Pairs < len(all) {
		drawn := random.Perm(len(all))[:o.Pairs]
		slices.Sort(drawn)
		kept := make([][2]int, len(drawn))
		for i, n := range drawn {
			kept[i] = all[n]
		}
		all = kept
	}
	rows, named := make([]*dataset.Row, len(all)), map[string]int{}
	for _, p := range all {
		named[sharedID(&outputs[p[0]], &outputs[p[1]])]++
	}
	for i, p := range all {
		if random.IntN(2) == 1 {
			p[0], p[1] = p[1], p[0]
		}
		a, b := &outputs[p[0]], &outputs[p[1]]
		row, err := pairRow(t, a, b)
		if id := sharedID(a, b); err == nil && id != "" && named[id] == 1 {
			err = row.Set(dataset.ColumnID, id)
		}
		if err != nil {
			return nil, err
		}
		rows[i] = row
	}
	return rows, nil
}

// sharedID is the id that both rows were given, as where ids are those of inputs: people's files call a pair so. "" is
// none.
func sharedID(a, b *Output) string {
	if id := a.Row.GivenID(); id == b.Row.GivenID() {
		return id
	}
	return ""
}

// systemsOf are the names of the systems, sorted.
func systemsOf(outputs []Output) (names []string) {
	for _, x := range outputs {
		names = append(names, x.System)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// pairsOf are the pairs of one item's outputs.
func pairsOf(outputs []Output, of []int, design string, random *rand.Rand) (pairs [][2]int) {
	base, isBaseline := strings.CutPrefix(design, Baseline)
	for n, j := range of {
		for _, i := range of[:n] {
			if !isBaseline || outputs[i].System == base || outputs[j].System == base {
				pairs = append(pairs, [2]int{i, j})
			}
		}
	}
	if design == Random && len(pairs) > 0 {
		pairs = [][2]int{pairs[random.IntN(len(pairs))]}
	}
	return pairs
}

// pairRow is a pair as a row: id, item, systems, what both were written for (null for what they may lack, and have
// differently), both texts, and both diagnoses.
func pairRow(t *taxonomy.Taxonomy, a, b *Output) (*dataset.Row, error) {
	row, err := dataset.RowOf(struct{}{})
	if err != nil {
		return nil, err
	}
	text := t.Fields[0].Name
	faults := []error{row.Set(dataset.ColumnID, a.Row.ID+" | "+b.Row.ID), row.Set(verdicts.Item, a.Item),
		row.Set(verdicts.SystemA, a.System), row.Set(verdicts.SystemB, b.System)}
	for i, f := range t.Fields[1:] {
		one, other := a.Row.Values[i+1], b.Row.Values[i+1]
		var value any = cmp.Or(one, other)
		if f.Optional && one != "" && other != "" && one != other {
			value = nil // neither text may be judged by what the other was written for
		}
		faults = append(faults, row.Set(f.Name, value))
	}
	faults = append(faults, row.Set(text+"_a", a.Row.Values[0]), row.Set(text+"_b", b.Row.Values[0]))
	for i, out := range []*Output{a, b} {
		d, err := out.Row.Diagnosis()
		if faults = append(faults, err); d != nil {
			faults = append(faults, row.Set([]string{verdicts.DiagnosisA, verdicts.DiagnosisB}[i], d))
		}
	}
	return row, errors.Join(faults...)
}

// pair is a row that was read as PairTask says.
type pair struct {
	row    *dataset.Row
	values []string // of t's fields, with the first text
	other  string   // the second text
	a, b   *dataset.Diagnosis
}

func readPair(t *taxonomy.Taxonomy, row *dataset.Row) (*pair, error) {
	p := &pair{row: row, values: append([]string{row.Values[0]}, row.Values[2:]...), other: row.Values[1]}
	var err error
	if p.a, err = diagnosisOf(row, verdicts.DiagnosisA, t); err == nil {
		p.b, err = diagnosisOf(row, verdicts.DiagnosisB, t)
	}
	return p, err
}

// diagnosisOf reads the diagnosis of one text; nil where there is none, or it says that nothing is known.
func diagnosisOf(row *dataset.Row, column string, t *taxonomy.Taxonomy) (*dataset.Diagnosis, error) {
	raw, err := row.Object(column)
	if raw == nil || err != nil {
		return nil, err
	}
	d := &dataset.Diagnosis{}
	if err := json.Unmarshal(raw, d); err != nil {
		return nil, fmt.Errorf("row %s: column %q: %w", row.ID, column, err)
	}
	if !d.MadeWith(t.ID()) {
		return nil, fmt.Errorf("row %s: column %q was made with the taxonomy %s, not %s", row.ID, column, d.Taxonomy, t.ID())
	}
	if d.Status != "" {
		return nil, nil
	}
	return d, nil
}
