package selection

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// picker takes rows from rankings, one reason after the other.
type picker struct {
	s       *survey
	like    *likeness // rows used, and those taken
	groups  map[uint64]int
	systems map[string]int
	labels  []int // rows of each type, in the training set and taken
	picked  []Pick
}

func newPicker(s *survey) *picker {
	p := &picker{s: s, like: newLikeness(s.in.NearDuplicate), groups: map[uint64]int{}, systems: map[string]int{}}
	for _, used := range s.in.Used.rows {
		p.like.add(used.id, used.sketch)
	}
	for _, t := range s.in.Meter.taxonomy.Types {
		p.labels = append(p.labels, s.in.Counts[t.Name])
	}
	return p
}

// choose takes the rows of a batch, but for repeated ones. The random slice comes first, so that no other choice bends
// it.
func (p *picker) choose() {
	q, s := p.s.in.quotas(), p.s
	random := s.random.entries
	for _, e := range random[:min(len(random), q[Random])] {
		e.of.out, s.random.last = true, e.score
		s.random.taken++
		p.like.add(e.of.id, e.of.sketch)
		p.pick(e.of, Random, "drawn by chance from "+rows(s.counts.Free))
	}
	left := q[Random] - len(p.picked)
	left += q[Mistake] - p.mistakes(q[Mistake])
	for i, by := range slices.Backward(signals) {
		if by.share != nil {
			left += q[by.reason] - p.signal(i, q[by.reason])
		}
	}
	left += q[Rare] - p.rare(q[Rare])
	left += q[Uncertain]
	// Where uncertain rows run out, the other unreliable ones follow.
	for i := range signals {
		left -= p.signal(i, left)
	}
}

// signal takes up to n rows that the ith signal makes unreliable.
func (p *picker) signal(i, n int) int {
	by := &signals[i]
	return p.take(p.s.signals[i], n, by.reason, func(c *candidate) string {
		return by.explain(c.signals,
			&p.s.in.Options)
	})
}

func (p *picker) pick(c *candidate, reason, why string) {
	p.picked = append(p.picked, Pick{ID: c.id, Reason: reason, Why: why, Signals: c.signals, ControlOf: -1})
}

// take takes up to n rows of a ranking, best first, while systems take turns and no group gives more than PerGroup,
// unless there are no others. It gives how many it took.
func (p *picker) take(r *ranking, n int, reason string, why func(*candidate) string) int {
	queues := r.bySystem()
	limit, taken := cmp.Or(p.s.in.PerGroup, math.MaxInt), 0
	for taken < n {
		e := p.next(queues, limit)
		if e == nil && limit > len(r.entries)+p.s.in.Size {
			break
		}
		if e == nil {
			limit *= 2
			rewind(queues)
			continue
		}
		p.note(e.of)
		r.last = e.score
		r.taken++
		p.pick(e.of, reason, why(e.of))
		taken++
	}
	rewind(queues)
	return taken
}

// note counts a row that is taken.
func (p *picker) note(c *candidate) {
	c.out = true
	p.like.add(c.id, c.sketch)
	p.groups[c.group]++
	p.systems[c.system]++
	for _, i := range c.signals.Found {
		p.labels[i]++
	}
}

// spread is the number of groups that rows were taken of.
func (p *picker) spread() int {
	if p.groups[0] > 0 { // no group
		return len(p.groups) - 1
	}
	return len(p.groups)
}

// queue is what one system has in a ranking, best first.
type queue struct {
	entries []entry
	at      int // of the first that may still fit
}

func rewind(queues []*queue) {
	for _, q := range queues {
		q.at = 0
	}
}

// bySystem parts a ranking, which is complete.
func (r *ranking) bySystem() []*queue {
	if r.queues != nil {
		return r.queues
	}
	of := map[string]*queue{}
	for _, e := range r.entries {
		q := of[e.of.system]
		if q == nil {
			q = &queue{}
			of[e.of.system] = q
			r.queues = append(r.queues, q)
		}
		q.entries = append(q.entries, e)
	}
	return r.queues
}

// next is the best row of the system that has given the fewest, whose group has room and that nearly repeats no other.
func (p *picker) next(queues []*queue, limit int) *entry {
	for {
		var best *entry
		for _, q := range queues {
			for q.at < len(q.entries) && !p.open(q.entries[q.at].of, limit) {
				q.at++
			}
			if q.at < len(q.entries) && (best == nil || p.turn(&q.entries[q.at], best)) {
				best = &q.entries[q.at]
			}
		}
		if best == nil {
			return nil
		}
		if p.like.find(best.of.sketch) == "" {
			return best
		}
		best.of.out = true
	}
}

// open tells whether a row can be taken as far as its group goes.
func (p *picker) open(c *candidate, limit int) bool {
	return !c.out && (c.group == 0 || p.groups[c.group] < limit)
}

// turn tells whether a goes before b, which is of another system.
func (p *picker) turn(a, b *entry) bool {
	return cmp.Or(cmp.Compare(p.systems[a.of.system], p.systems[b.of.system]), compare(*a, *b)) < 0
}

// rare takes rows that may hold an error type, always of the type that has the fewest rows.
func (p *picker) rare(n int) int {
	return fewestFirst(p.s.rare, p.labels, n, func(i int) bool {
		had := p.labels[i]
		if p.take(p.s.rare[i], 1, Rare, func(c *candidate) string { return p.s.whyRare(c, i) }) == 0 {
			return false
		}
		p.labels[i] = had + 1 // also where its probability is below the threshold
		return true
	})
}

// fewestFirst has up to n rows taken, always of the ranking with the lowest count, as long as take finds one there. It
// gives how many were taken.
func fewestFirst(rankings []*ranking, counts []int, n int, take func(i int) bool) (taken int) {
	open := make([]bool, len(rankings))
	for i, r := range rankings {
		open[i] = len(r.entries) > 0
	}
	for taken < n {
		least := -1
		for i := range counts {
			if open[i] && (least < 0 || counts[i] < counts[least]) {
				least = i
			}
		}
		if least < 0 {
			break
		}
		if open[least] = take(least); open[least] {
			taken++
		}
	}
	return taken
}

// mistakes takes the most doubtful rows of the training set.
func (p *picker) mistakes(n int) int {
	list := slices.Clone(p.s.in.Mistakes)
	slices.SortFunc(list, func(a, b Doubt) int {
		return cmp.Or(cmp.Compare(a.Score, b.Score),
			cmp.Compare(a.Row.ID, b.Row.ID))
	})
	for i, d := range list[:min(n, len(list))] {
		p.picked = append(p.picked, Pick{ID: d.Row.ID, Row: d.Row, Reason: Mistake, ControlOf: -1,
			Why: fmt.Sprintf("the labels it has in the training set are doubtful: quality %s, %s", number(d.Score),
				rank(i+1, len(list)))})
	}
	return min(n, len(list))
}

// automatic takes reliable rows, always of the label that has the fewest; among those of a label, chance decides, so
// that the easiest do not crowd out the others.
func (p *picker) automatic() []Pick {
	before, counts := len(p.picked), make([]int, len(p.s.auto))
	fewestFirst(p.s.auto, counts, p.s.in.Automatic, func(i int) bool {
		if p.take(p.s.auto[i], 1, Auto, p.s.whyAuto) == 0 {
			return false
		}
		for _, k := range p.s.in.Meter.labelsOf(p.picked[len(p.picked)-1].Signals) {
			counts[k]++
		}
		return true
	})
	return slices.Clone(p.picked[before:])
}
