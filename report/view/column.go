package view

import (
	"context"
	"encoding/binary"
	"math"
	"slices"
	"sync"
)

// partRows is how many numbers of a column are stored together.
const partRows = 1 << 16

// column is a number for each row.
type column[T int32 | int64 | float64] struct {
	Parts []int64 // where they are in the file; -1: none of these rows has one

	list []T // of the part that is being made
}

// set gives a row of the part that is being made its number; rows before it have none, if they were not given one.
func (c *column[T]) set(row int, x, none T) {
	for len(c.list) <= row%partRows {
		c.list = append(c.list, none)
	}
	c.list[row%partRows] = x
}

// flush stores the part that was made.
func (c *column[T]) flush(f *file, part int) (err error) {
	if len(c.list) == 0 {
		return nil
	}
	for len(c.Parts) < part {
		c.Parts = append(c.Parts, -1)
	}
	data, err := binary.Append(nil, binary.LittleEndian, c.list)
	if err != nil {
		return err
	}
	at, err := f.put(data)
	c.Parts, c.list = append(c.Parts, at), c.list[:0]
	return err
}

// store stores the numbers of all rows.
func (c *column[T]) store(f *file, all []T) error {
	for part := range slices.Chunk(all, partRows) {
		c.list = part
		if err := c.flush(f, len(c.Parts)); err != nil {
			return err
		}
	}
	return nil
}

// load reads the numbers of all rows.
func load[T int32 | int64 | float64](ctx context.Context, x *Index, c *column[T], none T) ([]T, error) {
	all := slices.Repeat([]T{none}, x.rows())
	for i, at := range c.Parts {
		if at < 0 {
			continue
		}
		data, err := x.file.get(ctx, at)
		if err != nil {
			return nil, err
		}
		if _, err = binary.Decode(data, binary.LittleEndian, all[i*partRows:][:len(data)/binary.Size(none)]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// ints are the numbers of a column of which every row has one; do not change them.
func (x *Index) ints(ctx context.Context, name string, c *column[int32]) ([]int32, error) {
	return cached(&x.cache, name, 4*x.rows(), func() ([]int32, error) { return load(ctx, x, c, 0) })
}

func (x *Index) ids(ctx context.Context) ([]int32, error) { return x.ints(ctx, "ids", &x.meta.IDs) }

// pairs are equal for rows of several runs that belong together, and differ within a run; nil where there is one run.
func (x *Index) pairs(ctx context.Context) ([]int32, error) {
	if len(x.meta.Pairs.Parts) == 0 {
		return nil, nil
	}
	return x.ints(ctx, "pairs", &x.meta.Pairs)
}

// inputs are equal for rows that are compared as outputs for the same input: rows of one group where each system has at
// most one row of a run in it, otherwise rows with the same fields but the judged one (hasOneEach).
func (x *Index) inputs(ctx context.Context) ([]int32, error) {
	return cached(&x.cache, "inputs", 4*x.rows(), func() ([]int32, error) {
		keys, err := load(ctx, x, &x.meta.Inputs, 0)
		if _, has := x.facetAt[facetSystem]; err != nil || !has {
			return keys, err
		}
		groups, err := x.groups(ctx)
		if err != nil {
			return nil, err
		}
		order, err := x.byGroup(groups)
		if err != nil {
			return nil, err
		}
		systems, err := x.values(ctx, facetSystem)
		if err != nil {
			return nil, err
		}
		system := func(n int32) [2]int { // and its run; a row without one stands for itself
			if of := systems.row(int(n)); len(of) > 0 {
				return [2]int{x.runOf(int(n)), of[0]}
			}
			return [2]int{int(n), -1}
		}
		for from := 0; from < len(order); {
			end := from
			for end < len(order) && groups[order[end]] == groups[order[from]] {
				end++
			}
			if group := order[from:end]; hasOneEach(group, system) {
				for _, n := range group[1:] {
					if len(systems.row(int(n))) > 0 {
						keys[n] = keys[group[0]] // no row of another group has it
					}
				}
			}
			from = end
		}
		return keys, nil
	})
}

// hasOneEach tells whether each system has at most one of a group's outputs. Then all of them are compared, as outputs
// for one input; otherwise those whose rows have the same fields but the judged one, such as questions on one passage
// with the same answer.
func hasOneEach(outputs []int32, system func(int32) [2]int) bool {
	if len(outputs) < 2 {
		return true
	}
	seen := make(map[[2]int]bool, len(outputs))
	for _, o := range outputs {
		s := system(o)
		if seen[s] {
			return false
		}
		seen[s] = true
	}
	return true
}

func (x *Index) groups(ctx context.Context) ([]int32, error) {
	return x.ints(ctx, "groups", &x.meta.Groups)
}

// noNumber stands for the number that a row lacks.
var noNumber = math.NaN()

// measure gives the numbers of a measure; rows without are NaN. Do not change them.
func (x *Index) measure(ctx context.Context, key string) ([]float64, error) {
	c, ok := x.meta.Measures[key]
	if !ok {
		return nil, queryErrorf("there is no measure %q", key)
	}
	return cached(&x.cache, "measure "+key, 8*x.rows(), func() ([]float64, error) { return load(ctx, x, c, noNumber) })
}

// facetColumn has for each row the number of its set of values.
type facetColumn struct {
	column[int32]
	Sets [][]int // places of values in the catalogue, in order; the first is of rows without a value
	Rest int32   // the set of rows without a value in the Runs where others have one
	Runs []bool  // that have any value
}

// of is the set of a row's number.
func (c *facetColumn) of(number int32, run int) int32 {
	if number == 0 && run < len(c.Runs) && c.Runs[run] {
		return c.Rest
	}
	return number
}

// values are those of a facet by row.
type values struct {
	*Facet
	sets [][]int
	of   []int32 // the set of each row
}

// row gives the places of a row's values; nil has none.
func (v *values) row(n int) []int {
	if v == nil {
		return nil
	}
	return v.sets[v.of[n]]
}

// holds says of each set whether a test holds for it.
func (v *values) holds(test func(set []int) bool) []bool {
	all := make([]bool, len(v.sets))
	for i, set := range v.sets {
		all[i] = test(set)
	}
	return all
}

// isKnown tells whether a row has any value that is not unknown.
func (f *Facet) isKnown(set []int) bool {
	return slices.ContainsFunc(set, func(v int) bool { return f.Values[v].Role != RoleUnknown })
}

// values gives a facet; do not change it.
func (x *Index) values(ctx context.Context, key string) (*values, error) {
	facet, err := x.facet(key)
	if err != nil {
		return nil, err
	}
	c := x.meta.Facets[key]
	of, err := cached(&x.cache, "facet "+key, 4*x.rows(), func() ([]int32, error) {
		all, err := load(ctx, x, &c.column, 0)
		for run := 0; err == nil && run < len(c.Runs); run++ {
			for n := x.meta.Starts[run]; n < x.meta.Starts[run+1]; n++ {
				all[n] = c.of(all[n], run)
			}
		}
		return all, err
	})
	return &values{facet, c.Sets, of}, err
}

// cacheBytes bounds what is kept of columns and selections.
const cacheBytes = 128 << 20

// cache keeps what was read or worked out; when it is full it begins anew.
type cache struct {
	mu   sync.Mutex
	size int
	held map[string]any
}

// cached gives what is kept under a name, or makes it.
func cached[T any](c *cache, name string, size int, make func() (T, error)) (T, error) {
	c.mu.Lock()
	held, ok := c.held[name].(T)
	c.mu.Unlock()
	if ok {
		return held, nil
	}
	made, err := make()
	if err != nil {
		return made, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.size += size; c.size > cacheBytes {
		c.held, c.size = map[string]any{}, size
	}
	c.held[name] = made
	return made, nil
}
