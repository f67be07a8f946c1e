package selection

import (
	"container/heap"
	"slices"
)

// candidate is a row of the pool that may be chosen. Several rankings can hold the same one.
type candidate struct {
	id      string
	key     uint64 // random, of seed and id
	group   uint64 // 0 is none
	text    uint64 // equal for rows whose fields and groups are equal
	system  string
	signals *Signals
	sketch  sketch
	out     bool // it was taken, or nearly repeats a row that was
}

// before tells whether a row with this score, key and id ranks before another one. The key decides between equals, so
// that the order of the pool does not.
func before(score float64, key uint64, id string, than *entry) bool {
	switch {
	case score != than.score:
		return score > than.score
	case key != than.of.key:
		return key < than.of.key
	}
	return id < than.of.id
}

type entry struct {
	of    *candidate
	score float64
	at    int // in the heap
}

// ranking keeps the best of the rows offered, in memory that does not grow with their number: at most limit, at most
// perGroup of a group and one of each text. These limits are nested, so that dropping the worst row of a limit that is
// exceeded keeps what looking at all rows together would keep (a laminar matroid), in whatever order they come.
type ranking struct {
	limit, perGroup int
	entries         worstFirst
	groups          map[uint64][]*entry
	texts           map[uint64]*entry
	repeats         bool // rows of equal text may all be there
	offered         int  // rows in all

	watched *entry // a row whose rank is asked for, or nil
	ahead   int    // rows that rank before it
}

func newRanking(limit, perGroup int) *ranking {
	return &ranking{limit: limit, perGroup: perGroup, groups: map[uint64][]*entry{}, texts: map[uint64]*entry{}}
}

// offer takes a row in, if it is good enough; full completes it once that is known.
func (r *ranking) offer(c *candidate, score float64, full func(*candidate)) {
	r.offered++
	if r.watched != nil && before(score, c.key, c.id, r.watched) {
		r.ahead++
	}
	if r.limit == 0 || len(r.entries) >= r.limit && !before(score, c.key, c.id, r.entries[0]) {
		return // no need to look for its rival, which is better still
	}
	out := r.rival(c)
	if out != nil && !before(score, c.key, c.id, out) {
		return
	}
	full(c)
	if out != nil {
		r.remove(out)
	}
	e := &entry{of: c, score: score}
	heap.Push(&r.entries, e)
	r.groups[c.group] = append(r.groups[c.group], e)
	r.texts[c.text] = e
}

// rival is the entry that has to go if c comes in, or nil.
func (r *ranking) rival(c *candidate) *entry {
	if e := r.texts[c.text]; e != nil && !r.repeats {
		return e
	}
	if g := r.groups[c.group]; c.group != 0 && r.perGroup > 0 && len(g) >= r.perGroup {
		worst := g[0]
		for _, e := range g[1:] {
			if before(worst.score, worst.of.key, worst.of.id, e) {
				worst = e
			}
		}
		return worst
	}
	if len(r.entries) >= r.limit {
		return r.entries[0]
	}
	return nil
}

func (r *ranking) remove(e *entry) {
	heap.Remove(&r.entries, e.at)
	delete(r.texts, e.of.text)
	g := r.groups[e.of.group]
	i := slices.Index(g, e)
	if g = slices.Delete(g, i, i+1); len(g) == 0 {
		delete(r.groups, e.of.group)
		return
	}
	r.groups[e.of.group] = g
}

// sorted gives what was kept, best first.
func (r *ranking) sorted() []*entry {
	list := slices.Clone(r.entries)
	slices.SortFunc(list, func(a, b *entry) int {
		if before(a.score, a.of.key, a.of.id, b) {
			return -1
		}
		return 1
	})
	return list
}

// worstFirst is a heap of entries.
type worstFirst []*entry

func (w worstFirst) Len() int { return len(w) }

func (w worstFirst) Less(i, j int) bool { return before(w[j].score, w[j].of.key, w[j].of.id, w[i]) }

func (w worstFirst) Swap(i, j int) {
	w[i], w[j] = w[j], w[i]
	w[i].at, w[j].at = i, j
}

func (w *worstFirst) Push(x any) {
	e := x.(*entry)
	e.at = len(*w)
	*w = append(*w, e)
}

func (w *worstFirst) Pop() any {
	last := len(*w) - 1
	e := (*w)[last]
	(*w)[last] = nil
	*w = (*w)[:last]
	return e
}
