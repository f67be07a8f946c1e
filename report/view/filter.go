package view

import (
	"context"
	"encoding/json"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"
)

// Bounds of a filter.
const (
	maxSearch     = 50   // words
	maxConditions = 1000 // names of values
)

// selection are the rows that a filter chooses, by chunk.
type selection struct {
	chunks []*bitmap
	total  int
}

func (s *selection) has(n int) bool { return s.chunks[n/chunkRows].has(n % chunkRows) }

// each calls f for every row of a selection, in order.
func (s *selection) each(f func(n int)) {
	for i, b := range s.chunks {
		b.each(func(place int) { f(i*chunkRows + place) })
	}
}

// eachChunk calls f for every chunk, several at the same time.
func (x *Index) eachChunk(ctx context.Context, f func(ctx context.Context, chunk int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for chunk := range x.chunks() {
		group.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return f(ctx, chunk)
		})
	}
	return group.Wait()
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
	name := "filter " + string(text)
	if held, ok := x.cache.find(name); ok {
		return held.(*selection), nil
	}
	s := &selection{chunks: make([]*bitmap, x.chunks())}
	words := wordsOf(f.Search)
	err = x.eachChunk(ctx, func(ctx context.Context, chunk int) error {
		chosen, err := x.chooseIn(ctx, f, words, chunk)
		s.chunks[chunk] = chosen
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, b := range s.chunks {
		s.total += b.count()
	}
	x.cache.keep(name, s, len(name)+len(s.chunks)*chunkRows/8)
	return s, nil
}

// checkFilter finds names that there are not.
func (x *Index) checkFilter(f *Filter) error {
	for key, c := range f.Facets {
		facet, err := x.facet(key)
		if err != nil {
			return err
		}
		if len(c.Any)+len(c.All)+len(c.None) > maxConditions {
			return queryErrorf("more than %d values of %q in a filter", maxConditions, key)
		}
		for _, names := range [][]string{c.Any, c.All, c.None} {
			for _, name := range names {
				if facet.place(name) < 0 {
					return queryErrorf("the facet %q has no value %q", key, name)
				}
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

func (x *Index) chooseIn(ctx context.Context, f *Filter, words []string, chunk int) (*bitmap, error) {
	chosen := new(bitmap)
	chosen.fill(0, x.chunkLen(chunk))
	for key, c := range f.Facets {
		values, err := x.facetChunk(ctx, key, chunk)
		if err != nil {
			return nil, err
		}
		x.meta.Catalog.Facets[x.facetAt[key]].narrow(&c, values, chosen)
	}
	for key, r := range f.Ranges {
		numbers, err := x.measureChunk(ctx, key, chunk)
		if err != nil {
			return nil, err
		}
		if numbers == nil {
			return new(bitmap), nil
		}
		narrowRange(r, numbers, chosen)
	}
	for _, word := range words {
		if *chosen == (bitmap{}) {
			break
		}
		found := new(bitmap)
		if err := x.findWord(ctx, chunk, word, found); err != nil {
			return nil, err
		}
		chosen.and(found)
	}
	return chosen, nil
}

// narrow leaves the rows for which a condition holds.
func (f *Facet) narrow(c *Condition, values *facetChunk, chosen *bitmap) {
	union := func(names []string) *bitmap {
		all := new(bitmap)
		for _, name := range names {
			values.values[f.place(name)].orInto(all)
		}
		return all
	}
	if len(c.Any) > 0 {
		chosen.and(union(c.Any))
	}
	for _, name := range c.All {
		chosen.and(union([]string{name}))
	}
	if len(c.None) > 0 {
		chosen.andNot(union(c.None))
	}
	if c.Only {
		others := new(bitmap)
		for i := range f.Values {
			if name := f.Values[i].Name; !slices.Contains(c.Any, name) && !slices.Contains(c.All, name) {
				values.values[i].orInto(others)
			}
		}
		chosen.andNot(others)
	}
}

// narrowRange leaves the rows whose number is within a range.
func narrowRange(r Range, numbers []float64, chosen *bitmap) {
	var within bitmap
	for i, v := range numbers {
		if v == v && (r.Min == nil || v >= *r.Min) && (r.Max == nil || v <= *r.Max) { // NaN is no number
			within.set(i)
		}
	}
	chosen.and(&within)
}
