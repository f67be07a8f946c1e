package discover

import (
	"math"
	"slices"
	"testing"

	"github.com/erreval/erreval/internal/stats"
	"github.com/erreval/erreval/llm/reply"
	"github.com/erreval/erreval/prompt"
)

// ordersOf are orderings with these assignments; -1 is a fault.
func ordersOf(assigned ...[]int) []*ordering {
	var out []*ordering
	for _, a := range assigned {
		o := &ordering{assigned: a, faults: make([]string, len(a))}
		for u, n := range a {
			if n < 0 {
				o.faults[u] = reply.Refused
			}
			for n >= len(o.pool) {
				o.pool = append(o.pool, prompt.Issue{})
			}
		}
		out = append(out, o)
	}
	return out
}

func unitsOfSize(sizes ...int) []unit {
	units, at := make([]unit, len(sizes)), 0
	for u, n := range sizes {
		for range n {
			units[u].items = append(units[u].items, at)
			at++
		}
	}
	return units
}

// Five units of one row each in three orders. Worked by hand:
//
//	order 1: ab|cde   order 2: ab|cd|e   order 3: a|bcde
//
// apart: ab 1/3, ac 1, ae 1, bc 2/3, be 2/3, cd 0, ce 1/3, de 1/3. Average linkage with the cut 1/2 joins cd (0), then
// ab and cde (1/3 each), and stops: the two are (1+1+1+2/3+2/3+2/3)/6 = 5/6 apart. So the consensus is ab|cde.
// Stability of ab: 1, 1, and against bcde 1/5 or a 1/2: (1 + 1 + 1/2)/3. Of cde: 1, 2/3, 3/4: 29/36.
func TestConsensusByHand(t *testing.T) {
	orders := ordersOf([]int{0, 0, 1, 1, 1}, []int{0, 0, 1, 1, 2}, []int{0, 1, 1, 1, 1})
	s := &sorted{units: unitsOfSize(1, 1, 1, 1, 1), of: make([][]int, 5), faults: make([]string, 5)}
	g := &Grouper{o: DefaultOptions()}
	g.settle(s, orders)
	var got []int
	for _, of := range s.of {
		got = append(got, of[0])
	}
	if !slices.Equal(got, []int{0, 0, 1, 1, 1}) {
		t.Fatalf("consensus %v", got)
	}
	for n, want := range []float64{2.5 / 3, (1 + 2.0/3 + 3.0/4) / 3} {
		if have := *s.issues[n].Stability; math.Abs(have-want) > 1e-12 {
			t.Errorf("stability of issue %d: %v, want %v", n, have, want)
		}
	}
	want := 0.0
	for _, pair := range [][2]int{{0, 1}, {0, 2}, {1, 2}} {
		want += stats.NewContingency(orders[pair[0]].assigned, orders[pair[1]].assigned).AdjustedRand() / 3
	}
	if math.Abs(*s.agreement-want) > 1e-12 {
		t.Errorf("agreement %v, want %v", *s.agreement, want)
	}
}

// A unit that most orders could not sort is unassigned, with the reason of the first; one that half of them sorted is
// sorted. A known issue takes what more than half of the orders put into it.
func TestVotes(t *testing.T) {
	for _, c := range []struct {
		orders   [][]int
		known    int
		issue, n int
		fault    string
	}{
		{[][]int{{-1}, {-1}, {0}}, 0, -1, 1, reply.Refused},
		{[][]int{{-1}, {3}}, 0, -1, 1, reply.Refused},
		{[][]int{{0}, {0}, {1}}, 1, 0, 3, ""},
		{[][]int{{0}, {1}, {2}}, 1, -1, 3, ""},
		{[][]int{{0}, {-1}, {-1}}, 1, 0, 1, reply.Refused},
	} {
		issue, n, fault := vote(ordersOf(c.orders...), 0, c.known)
		if issue != c.issue || n != c.n || fault != c.fault {
			t.Errorf("%v: issue %d, sorted in %d, %q", c.orders, issue, n, fault)
		}
	}
}
