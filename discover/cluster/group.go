package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/erreval/erreval/internal/faults"
	"github.com/erreval/erreval/internal/stats"
)

// Options change how sentences are grouped.
type Options struct {
	Threshold float64 // groups are joined while they are at least that similar, in -1..1
	Exact     int     // the most distinct sentences that are all compared with each other, at least 2
	Seed      uint64  // of the samples, where there are more
}

// DefaultOptions are those that did best on the tune half of the package's own sentences.
func DefaultOptions() Options { return Options{Threshold: 0.1, Exact: 4000} }

// mostExact keeps the table of distances below 2 GB.
const mostExact = 20_000

// Validate reports every fault of o.
func (o Options) Validate() error {
	var faults faults.List
	faults.Check(o.Threshold >= -1 && o.Threshold <= 1, "threshold is %v; it must lie in -1..1", o.Threshold)
	faults.Check(o.Exact >= 2 && o.Exact <= mostExact, "%d sentences are compared with each other; give 2 to %d", o.Exact,
		mostExact)
	return faults.Err()
}

// lexicalShare is the share of the words in the similarity, where there are vectors too. It did best on the tune half.
const lexicalShare = 0.5

// Group groups sentences that say the same, and returns each one's group, numbered in the order of first sentences.
// vectors has one vector a sentence, all of one size, or is nil. The package's comment says how, and what it is worth.
// The result is a function of the arguments; but for the groups' numbers it does not depend on the order of sentences.
// The error is that of o, of vectors, or of ctx.
func Group(ctx context.Context, sentences []string, vectors [][]float32, o Options) ([]int, error) {
	if err := errors.Join(o.Validate(), checkVectors(len(sentences), vectors)); err != nil {
		return nil, err
	}
	items, of := distinct(sentences, vectors)
	g := newGrouping(items, o)
	if err := g.run(ctx); err != nil {
		return nil, err
	}
	return renumber(of, g.group), nil
}

func checkVectors(sentences int, vectors [][]float32) error {
	if vectors == nil {
		return nil
	}
	if len(vectors) != sentences {
		return fmt.Errorf("%d vectors for %d sentences", len(vectors), sentences)
	}
	for i, v := range vectors {
		if len(v) != len(vectors[0]) {
			return fmt.Errorf("vector %d has %d numbers, the first %d", i+1, len(v), len(vectors[0]))
		}
		for _, x := range v {
			if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
				return fmt.Errorf("vector %d holds %v", i+1, x)
			}
		}
	}
	return nil
}

// item is a distinct sentence.
type item struct {
	key, text string
	weight    int
	vector    []float32 // of the text; nil without
}

// distinct gives the sentences of different keys, sorted by these, and the place of each sentence's own among them. The
// text of several with one key is the first in the alphabet.
func distinct(sentences []string, vectors [][]float32) (items []item, of []int) {
	at := stats.Numbers[string]{}
	of = make([]int, len(sentences))
	for i, s := range sentences {
		key := Key(s)
		k := at.Of(key)
		if k == len(items) {
			items = append(items, item{key: key, text: s})
		}
		it := &items[k]
		it.weight++
		if vectors != nil && (it.weight == 1 || s < it.text) {
			it.vector = vectors[i]
		}
		it.text = min(it.text, s)
		of[i] = k
	}
	order := make([]int, len(items))
	for k := range order {
		order[k] = k
	}
	slices.SortFunc(order, func(a, b int) int { return strings.Compare(items[a].key, items[b].key) })
	sorted, place := make([]item, len(items)), make([]int, len(items))
	for to, from := range order {
		sorted[to], place[from] = items[from], to
	}
	for i := range of {
		of[i] = place[of[i]]
	}
	return sorted, of
}

// renumber numbers groups in the order of first sentences.
func renumber(of, group []int) []int {
	number, out := stats.Numbers[int]{}, make([]int, len(of))
	for i, k := range of {
		out[i] = number.Of(group[k])
	}
	return out
}

// grouping is the state of Group.
type grouping struct {
	Options
	items  []item
	space  *space
	centre []float32 // mean of the vectors; nil without vectors
	group  []int     // of each item; -1 while it has none
	groups int
}

func newGrouping(items []item, o Options) *grouping {
	g := &grouping{Options: o, items: items, group: make([]int, len(items))}
	texts := make([]string, len(items))
	for i := range items {
		texts[i], g.group[i] = items[i].text, -1
	}
	g.space = newSpace(texts)
	if len(items) > 0 && items[0].vector != nil {
		g.centre = meanVector(items)
	}
	return g
}

func meanVector(items []item) []float32 {
	sum := make([]float64, len(items[0].vector))
	for i := range items {
		for k, x := range items[i].vector {
			sum[k] += float64(x)
		}
	}
	out := make([]float32, len(sum))
	for k := range sum {
		out[k] = float32(sum[k] / float64(len(items)))
	}
	return out
}

// run groups a sample of the items exactly, then adds to its groups what is near them, and does the same with what is
// left until nothing is.
func (g *grouping) run(ctx context.Context) error {
	left := make([]int, len(g.items))
	for i := range left {
		left[i] = i
	}
	if len(left) > g.Exact {
		rand.New(rand.NewPCG(g.Seed, 0)).Shuffle(len(left), func(i, j int) { left[i], left[j] = left[j], left[i] })
	}
	for len(left) > 0 {
		sample := left[:min(g.Exact, len(left))]
		left = left[len(sample):]
		if err := g.groupSample(ctx, sample); err != nil {
			return err
		}
		if err := g.addNearest(ctx, g.groupTargets(sample), left); err != nil {
			return err
		}
		left = slices.DeleteFunc(left, func(i int) bool { return g.group[i] >= 0 })
	}
	return nil
}

// groupSample groups items by comparing all with each other.
func (g *grouping) groupSample(ctx context.Context, sample []int) error {
	t, weights, d := g.itemTargets(sample), make([]int, len(sample)), newDistances(len(sample))
	err := inParallel(ctx, len(sample), func() func(i int) {
		scores := make([]float64, len(sample))
		return func(i int) {
			weights[i] = g.items[sample[i]].weight
			t.scores(g, sample[i], i+1, scores)
			for j, row := i+1, d.row(i); j < len(sample); j++ {
				row[j-i-1] = 1 - scores[j]
			}
		}
	})
	if err != nil {
		return err
	}
	first := g.groups
	for i, k := range agglomerate(weights, d, 1-g.Threshold) {
		g.group[sample[i]] = first + k
		g.groups = max(g.groups, first+k+1)
	}
	return nil
}

// addNearest gives each item the most similar group of t that reaches the threshold, the first of equal ones.
func (g *grouping) addNearest(ctx context.Context, t *targets, items []int) error {
	return inParallel(ctx, len(items), func() func(i int) {
		similarity := make([]float64, g.groups-t.first)
		return func(i int) {
			t.scoresOfLikely(g, items[i], similarity)
			best, at := g.Threshold, -1
			for k, s := range similarity {
				if s > best || at < 0 && s >= best {
					best, at = s, t.first+k
				}
			}
			g.group[items[i]] = at
		}
	})
}

// inParallel calls f(0) to f(n-1) on all cores; newWorker makes the f of one goroutine. The error is the context's.
func inParallel(ctx context.Context, n int, newWorker func() func(i int)) error {
	jobs, ctx := errgroup.WithContext(ctx)
	workers := min(runtime.GOMAXPROCS(0), n)
	for w := range workers {
		jobs.Go(func() error {
			f := newWorker()
			for i := w; i < n; i += workers {
				if err := ctx.Err(); err != nil {
					return err
				}
				f(i)
			}
			return nil
		})
	}
	return jobs.Wait()
}

// Index holds sentences, of which a Shortlist finds groups. Its methods may be called from several goroutines.
type Index struct{ *grouping }

// Match is a group that was found.
type Match struct {
	At         int     // the group's number
	Similarity float64 // at most 1
}

// NewIndex makes an index of sentences, by the similarity that Group has. vectors has one vector a sentence, all of one
// size, or is nil: then words alone count.
func NewIndex(sentences []string, vectors [][]float32) (*Index, error) {
	if err := checkVectors(len(sentences), vectors); err != nil {
		return nil, err
	}
	items := make([]item, len(sentences))
	for i, s := range sentences {
		items[i] = item{text: s, weight: 1}
		if vectors != nil {
			items[i].vector = vectors[i]
		}
	}
	return &Index{newGrouping(items, DefaultOptions())}, nil
}

// Shortlist finds the groups most like a sentence of an index, while groups grow. It is for one goroutine.
type Shortlist struct {
	index *Index
	means *means
}

// NewShortlist has no groups yet.
func (x *Index) NewShortlist() *Shortlist { return &Shortlist{x, &means{}} }

// Add puts the sentence at a place of the index into a group. Groups are numbered from 0 on.
func (s *Shortlist) Add(group, at int) {
	for len(s.means.weight) <= group {
		s.means.grow(len(s.index.centre))
	}
	s.means.add(s.index.grouping, group, at)
}

// Nearest gives the n groups whose sentences are, on average, most like the one at a place of the index, the most
// similar first, and of equal ones the first. A group without sentences is left out.
func (s *Shortlist) Nearest(at, n int) []Match {
	row, unit := s.index.space.rows[at], s.index.unit(at)
	var all []Match
	for group, weight := range s.means.weight {
		if weight > 0 {
			all = append(all, Match{group, min(s.means.similarity(group, row, unit), 1)})
		}
	}
	slices.SortStableFunc(all, func(a, b Match) int { return cmp.Compare(b.Similarity, a.Similarity) })
	return all[:min(max(n, 0), len(all))]
}
