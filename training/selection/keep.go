package selection

import (
	"cmp"
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

// entry is a row in a ranking.
type entry struct {
	of    *candidate
	score float64
}

// compare puts the better entry first. The key decides between equals, so that the order of the pool does not.
func compare(a, b entry) int {
	return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.of.key, b.of.key), cmp.Compare(a.of.id, b.of.id))
}

// ranking keeps the best of the rows offered, in memory that does not grow with their number: at most limit, at most
// perGroup of a group and one of each text. These limits are nested, so that dropping the worst row of a limit that is
// exceeded keeps what looking at all rows together would keep (a laminar matroid), in whatever order they come.
type ranking struct {
	limit, perGroup int
	entries         []entry        // best first
	groups          map[uint64]int // entries of each
	texts           map[uint64]entry
	repeats         bool // rows of equal text may all be there
	offered         int  // rows in all

	watched *entry // a row whose rank is asked for, or nil
	ahead   int    // rows that rank before it

	taken  int     // rows taken from it
	last   float64 // score of the last one
	queues []*queue
}

func newRanking(limit, perGroup int) *ranking {
	return &ranking{limit: limit, perGroup: perGroup, groups: map[uint64]int{}, texts: map[uint64]entry{}}
}

// find is the place of an entry, or the one that it would get.
func (r *ranking) find(e entry) int {
	at, _ := slices.BinarySearchFunc(r.entries, e, compare)
	return at
}

// offer takes a row in, if it is good enough; full completes it once that is known.
func (r *ranking) offer(c *candidate, score float64, full func(*candidate)) {
	e := entry{c, score}
	r.offered++
	if r.watched != nil && compare(e, *r.watched) < 0 {
		r.ahead++
	}
	at := r.find(e)
	if at >= r.limit {
		return // no need to look for its rival, which is better still
	}
	out := r.rival(c)
	if out >= 0 && out < at {
		return
	}
	full(c)
	if out >= 0 {
		r.remove(out)
	}
	r.entries = slices.Insert(r.entries, at, e)
	r.groups[c.group]++
	r.texts[c.text] = e
}

// rival is the place of the entry that has to go if c comes in; -1 is none.
func (r *ranking) rival(c *candidate) int {
	if e, ok := r.texts[c.text]; ok && !r.repeats {
		return r.find(e)
	}
	if c.group != 0 && r.perGroup > 0 && r.groups[c.group] >= r.perGroup {
		for at, e := range slices.Backward(r.entries) {
			if e.of.group == c.group {
				return at
			}
		}
	}
	if len(r.entries) >= r.limit {
		return len(r.entries) - 1
	}
	return -1
}

func (r *ranking) remove(at int) {
	of := r.entries[at].of
	r.entries = slices.Delete(r.entries, at, at+1)
	delete(r.texts, of.text)
	if r.groups[of.group]--; r.groups[of.group] == 0 {
		delete(r.groups, of.group)
	}
}
