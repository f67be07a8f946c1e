package discover

import (
	"encoding/binary"
	"slices"
	"sync"

	"github.com/erreval/erreval/discover/cluster"
	"github.com/erreval/erreval/internal/stats"
)

// consensusCut is the share of orders that keep two units apart up to which they stay together.
const consensusCut = 0.5

// settle makes one partition of those of the orders: average linkage on the share of orders that keep two units apart.
// A unit that most orders put into the same known issue has that. One that was sorted in less than half of the orders
// is unassigned.
func (g *Grouper) settle(s *sorted, orders []*ordering) {
	groups := make([]int, len(s.units)) // by unit: a known issue, or len(Known) and more; -1 where it is not sorted
	var rest []int
	for u := range s.units {
		switch known, sortedIn, fault := vote(orders, u, len(g.o.Known)); {
		case 2*sortedIn < len(orders) || sortedIn == 0:
			groups[u], s.faults[u] = -1, fault
		case known >= 0:
			groups[u] = known
		default:
			rest = append(rest, u)
		}
	}
	for i, group := range consensus(s, orders, rest) {
		groups[rest[i]] = len(g.o.Known) + group
	}
	s.issues = make([]Group, len(g.o.Known))
	for i := range g.o.Known {
		k := &g.o.Known[i]
		s.issues[i] = Group{Name: k.Name, Description: k.Description, Known: k}
	}
	for u, n := range groups {
		for n >= len(s.issues) {
			s.issues = append(s.issues, Group{})
		}
		if n >= 0 {
			s.of[u] = []int{n}
		}
	}
	if len(orders) > 1 && slices.Max(groups) >= 0 { // that nothing could be sorted is no agreement
		s.compareOrders(orders, groups)
	}
}

// vote is the known issue that more than half of the orders which sorted the unit put it into, or -1; in how many
// orders it was sorted, and why it was not in the first of the others.
func vote(orders []*ordering, u, known int) (issue, sortedIn int, fault string) {
	votes := make([]int, known)
	for _, o := range orders {
		if at := o.assigned[u]; at >= 0 {
			sortedIn++
			if at < known {
				votes[at]++
			}
		} else if fault == "" {
			fault = o.faults[u]
		}
	}
	issue = slices.IndexFunc(votes, func(n int) bool { return 2*n > sortedIn })
	return issue, sortedIn, fault
}

// consensus groups the units of rest, numbered from 0. Units that all orders treat alike are one item of the
// clustering.
func consensus(s *sorted, orders []*ordering, rest []int) []int {
	var kinds [][]int // distinct rows of assignments
	var weights []int
	kindOf, at := make([]int, len(rest)), stats.Numbers[string]{}
	for i, u := range rest {
		tuple, key := make([]int, len(orders)), []byte(nil)
		for k, o := range orders {
			tuple[k] = o.assigned[u]
			key = binary.AppendVarint(key, int64(tuple[k]))
		}
		n := at.Of(string(key))
		if n == len(kinds) {
			kinds, weights = append(kinds, tuple), append(weights, 0)
		}
		kindOf[i] = n
		weights[n] += len(s.units[u].items)
	}
	groups := cluster.Agglomerate(weights, func(i, j int) float64 { return apart(kinds[i], kinds[j]) }, consensusCut)
	for i, n := range kindOf {
		kindOf[i] = groups[n]
	}
	return kindOf
}

// apart is the share of the orders, of those that sorted both, in which two units have different issues.
func apart(a, b []int) float64 {
	both, differ := 0, 0
	for k := range a {
		if a[k] >= 0 && b[k] >= 0 {
			both++
			if a[k] != b[k] {
				differ++
			}
		}
	}
	if both == 0 {
		return 1
	}
	return float64(differ) / float64(both)
}

// compareOrders computes the agreement between orders and how stable each issue is, over items; one that an order did
// not sort is a group of its own there.
func (s *sorted) compareOrders(orders []*ordering, groups []int) {
	expand := func(of []int) []int {
		var out []int
		alone := len(s.units) + 1
		for u, n := range of {
			for range s.units[u].items {
				if out = append(out, n); n < 0 {
					alone++
					out[len(out)-1] = alone + len(s.units)
				}
			}
		}
		return out
	}
	partitions := make([][]int, len(orders))
	for k, o := range orders {
		partitions[k] = expand(o.assigned)
	}
	sum, pairs := 0.0, 0
	for i := range partitions {
		for j := range i {
			sum += stats.NewContingency(partitions[i], partitions[j]).AdjustedRand()
			pairs++
		}
	}
	s.agreement = new(sum / float64(pairs))
	for n, stability := range stats.MeanBestJaccard(expand(groups), partitions) {
		if n >= 0 && n < len(s.issues) {
			s.issues[n].Stability = &stability
		}
	}
}

// counter adds up what several goroutines did.
type counter struct {
	mu     sync.Mutex
	done   int
	of     int
	step   string
	report func(step string, done, of int)
}

func (c *counter) add(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done += n
	c.report(c.step, c.done, c.of)
}
