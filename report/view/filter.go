package view

import (
	"context"
	"encoding/json"
	"slices"
)

// Bounds of a filter.
const (
	maxSearch     = 50   // words
	maxConditions = 1000 // names of values
)

// selection are the rows that a filter chooses.
type selection struct {
	rows  []bool
	total int
}

// keep leaves the rows for which a test holds.
func (s *selection) keep(test func(n int) bool) {
	for n, chosen := range s.rows {
		s.rows[n] = chosen && test(n)
	}
}

// choose applies a filter.
func (x *Index) choose(ctx context.Context, f *Filter) (*selection, error) {
	if err := x.checkFilter(f); err != nil {
		return nil, err
	}
	text, err := json.Marshal(f)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if f.Marked { // marks change
		return x.apply(ctx, f)
	}
	name := "filter " + string(text)
	return cached(&x.cache, name, len(name)+x.rows(), func() (*selection, error) { return x.apply(ctx, f) })
}

// checkFilter finds names that there are not.
func (x *Index) checkFilter(f *Filter) error {
	for key, c := range f.Facets {
		facet, err := x.facet(key)
		if err != nil {
			return err
		}
		names := slices.Concat(c.Any, c.All, c.None)
		if len(names) > maxConditions {
			return queryErrorf("more than %d values of %q in a filter", maxConditions, key)
		}
		for _, name := range names {
			if facet.place(name) < 0 {
				return queryErrorf("the facet %q has no value %q", key, name)
			}
		}
	}
	for key := range f.Ranges {
		if _, ok := x.measures[key]; !ok {
			return queryErrorf("there is no measure %q", key)
		}
	}
	if n := len(wordsOf(f.Search)); n > maxSearch {
		return queryErrorf("more than %d words to search for", maxSearch)
	}
	return nil
}

// place is where a value stands, or -1.
func (f *Facet) place(name string) int {
	return slices.IndexFunc(f.Values, func(v Value) bool { return v.Name == name })
}

func (x *Index) apply(ctx context.Context, f *Filter) (*selection, error) {
	s := &selection{rows: slices.Repeat([]bool{true}, x.rows())}
	for key, c := range f.Facets {
		v, err := x.values(ctx, key)
		if err != nil {
			return nil, err
		}
		holds := v.holds(v.test(&c))
		s.keep(func(n int) bool { return holds[v.of[n]] })
	}
	for key, r := range f.Ranges {
		numbers, err := x.measure(ctx, key)
		if err != nil {
			return nil, err
		}
		s.keep(func(n int) bool {
			v := numbers[n]
			return v == v && (r.Min == nil || v >= *r.Min) && (r.Max == nil || v <= *r.Max) // NaN is no number
		})
	}
	for _, word := range wordsOf(f.Search) {
		found, err := x.findWord(ctx, word)
		if err != nil {
			return nil, err
		}
		s.keep(func(n int) bool { return found[n] })
	}
	if f.Marked {
		s.keep(x.isMarked)
	}
	for _, chosen := range s.rows {
		s.total += btoi(chosen)
	}
	return s, nil
}

// test tells of a set of values whether a condition holds for it.
func (f *Facet) test(c *Condition) func(set []int) bool {
	in := func(names []string) []bool {
		marks := make([]bool, len(f.Values))
		for _, name := range names {
			marks[f.place(name)] = true
		}
		return marks
	}
	some, all, none := in(c.Any), in(c.All), in(c.None)
	wanted := 0
	for _, mark := range all {
		wanted += btoi(mark)
	}
	return func(set []int) bool {
		hits, of := 0, 0
		for _, v := range set {
			if none[v] || c.Only && !some[v] && !all[v] {
				return false
			}
			hits, of = hits+btoi(some[v]), of+btoi(all[v])
		}
		return (hits > 0 || len(c.Any) == 0) && of == wanted
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
