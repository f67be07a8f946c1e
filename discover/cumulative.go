package discover

import (
	"context"
	"encoding/binary"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/erreval/erreval/discover/cluster"
	"github.com/erreval/erreval/discover/issues"
	"github.com/erreval/erreval/internal/stats"
	"github.com/erreval/erreval/llm"
	"github.com/erreval/erreval/llm/reply"
	"github.com/erreval/erreval/prompt"
)

// cumulative groups the units in every order, and takes the consensus.
func (g *Grouper) cumulative(ctx context.Context, s *sorted) error {
	index, err := g.index(ctx, s)
	if err != nil {
		return err
	}
	orders := make([]*ordering, g.o.Orders)
	var all errgroup.Group
	progress := &counter{report: g.o.report, step: "group", of: g.o.Orders * len(s.units)}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	for k := range orders {
		all.Go(func() error {
			o := &ordering{g: g, units: s.units, k: uint64(k), assigned: make([]int, len(s.units)),
				faults: make([]string, len(s.units)), progress: progress, near: index.NewShortlist()}
			orders[k] = o
			err := o.run(ctx)
			if err != nil {
				stop(err)
			}
			return err
		})
	}
	if err := all.Wait(); err != nil {
		return context.Cause(ctx)
	}
	g.settle(s, orders)
	return g.nameGroups(ctx, s, orders)
}

// ordering is one pass over the units, in one order.
type ordering struct {
	g        *Grouper
	units    []unit
	k        uint64
	pool     []prompt.Issue
	assigned []int    // by unit: index in pool, or -1
	faults   []string // by unit
	progress *counter
	near     *cluster.Shortlist // of the pool's issues
}

// index compares the units, and behind them the known issues.
func (g *Grouper) index(ctx context.Context, s *sorted) (*cluster.Index, error) {
	texts := s.sentences(span(0, len(s.units)))
	for _, known := range g.o.Known {
		texts = append(texts, known.Name+". "+known.Description)
	}
	var vectors [][]float32
	if len(texts) > g.o.Shortlist { // else every prompt lists all issues
		var err error
		if vectors, err = g.embed(ctx, texts); err != nil {
			return nil, err
		}
	}
	return cluster.NewIndex(texts, vectors)
}

// run decides about the units a block at a time. Units of a block are compared with the issues known before the block,
// all at the same time; each that fits none, with the issues that the block itself began before it. So each is compared
// with all issues before it, and what comes out does not depend on timing.
func (o *ordering) run(ctx context.Context) error {
	for i, known := range o.g.o.Known {
		o.pool = append(o.pool, prompt.Issue{Name: known.Name, Description: known.Description})
		o.near.Add(i, len(o.units)+i)
	}
	order := o.g.o.draw(drawOrder, o.k).Perm(len(o.units))
	for block := range slices.Chunk(order, o.g.o.Block) {
		before := len(o.pool)
		open, err := o.compare(ctx, block, span(0, before))
		for _, p := range open {
			begun := &p
			if before < len(o.pool) {
				begun, err = o.decide(ctx, p.unit, o.shortlist(p.unit, span(before, len(o.pool))))
			}
			if err != nil {
				return err
			}
			if begun != nil {
				o.begin(begun)
			}
		}
		if err != nil {
			return err
		}
		for _, u := range block { // not before: what a block is compared with does not depend on timing
			if at := o.assigned[u]; at >= 0 {
				o.near.Add(at, u)
			}
		}
		o.progress.add(len(block))
	}
	return nil
}

// span are the numbers from from up to to, without to.
func span(from, to int) []int {
	all := make([]int, 0, to-from)
	for i := from; i < to; i++ {
		all = append(all, i)
	}
	return all
}

// proposal is a unit that fits none of the issues shown, and the issue that it would begin.
type proposal struct {
	unit int
	prompt.Issue
}

// compare decides about units at the same time, and gives those that fit none of the issues, in order.
func (o *ordering) compare(ctx context.Context, units, candidates []int) ([]proposal, error) {
	proposals, shown := make([]*proposal, len(units)), make([][]int, len(units))
	for i, u := range units {
		shown[i] = o.shortlist(u, candidates)
	}
	var all errgroup.Group
	for i, u := range units {
		all.Go(func() (err error) {
			proposals[i], err = o.decide(ctx, u, shown[i])
			return err
		})
	}
	if err := all.Wait(); err != nil {
		return nil, err
	}
	var open []proposal
	for _, p := range proposals {
		if p != nil {
			open = append(open, *p)
		}
	}
	return open, nil
}

// begin adds the issue of a proposal, unless there is one of that name: then the unit is about that.
func (o *ordering) begin(p *proposal) {
	name := issues.Fold(p.Name)
	at := slices.IndexFunc(o.pool, func(q prompt.Issue) bool { return issues.Fold(q.Name) == name })
	if at < 0 {
		at = len(o.pool)
		o.pool = append(o.pool, p.Issue)
	}
	o.assigned[p.unit] = at
}

// decide asks which of the issues shown a unit is about; nil where it is decided, or cannot be.
func (o *ordering) decide(ctx context.Context, u int, shown []int) (*proposal, error) {
	q, err := o.g.fitting(o.units[u].sentence, o.issuesOf(shown))
	if err != nil {
		return nil, err
	}
	var fits int
	var created prompt.Issue
	fault, err := o.g.model.ask(ctx, q, "issue", func(object reply.Object) (err error) {
		fits, created, err = readFit(object, o.issuesOf(shown))
		return err
	})
	if err != nil {
		return nil, err
	}
	switch {
	case fault != nil:
		o.assigned[u], o.faults[u] = -1, fault.Error()
	case fits >= 0:
		o.assigned[u] = shown[fits]
	default:
		return &proposal{u, created}, nil
	}
	return nil, nil
}

// fitting is the call that asks which issue a sentence is about.
func (g *Grouper) fitting(sentence string, known []prompt.Issue) (*llm.Request, error) {
	return g.model.question(prompt.Fit, prompt.Input{Statements: []string{sentence}, Issues: known},
		llm.ObjectOf(text("reason"), text("issue"), text("name"), text("description")))
}

func (o *ordering) issuesOf(shown []int) []prompt.Issue {
	out := make([]prompt.Issue, len(shown))
	for i, n := range shown {
		out[i] = o.pool[n]
	}
	return out
}

// shortlist are the candidates that a prompt lists, in an order of their own: what stands first is chosen more often.
func (o *ordering) shortlist(u int, candidates []int) []int {
	shown := slices.Clone(candidates)
	if len(shown) > o.g.o.Shortlist {
		shown = shown[:0]
		for _, m := range o.near.Nearest(u, len(o.pool)) {
			if slices.Contains(candidates, m.At) && len(shown) < o.g.o.Shortlist {
				shown = append(shown, m.At)
			}
		}
		slices.Sort(shown)
	}
	random := o.g.o.draw(drawShown, o.k<<24|uint64(u))
	random.Shuffle(len(shown), func(i, j int) { shown[i], shown[j] = shown[j], shown[i] })
	return shown
}

var issueNumber = regexp.MustCompile(`(?i)^(?:issue\s*)?#?(\d+)\.?$`)

// readFit reads the reply to a prompt of kind fit: the index of the issue among those shown, or -1 and the new issue.
func readFit(o reply.Object, shown []prompt.Issue) (int, prompt.Issue, error) {
	value, _ := o.Get("issue")
	given := strings.TrimSpace(fmt.Sprint(value))
	if value == nil || slices.Contains([]string{"none", "0", "new", ""}, issues.Fold(given)) {
		created := prompt.Issue{Name: oneLine(o.Text("name")), Description: o.Text("description")}
		if issues.Fold(created.Name) == "" {
			return -1, created, missing("a new issue without a name")
		}
		at := slices.IndexFunc(shown, func(i prompt.Issue) bool { return issues.Fold(i.Name) == issues.Fold(created.Name) })
		return at, created, nil
	}
	if m := issueNumber.FindStringSubmatch(given); m != nil {
		if n, err := strconv.Atoi(m[1]); err == nil && n >= 1 && n <= len(shown) {
			return n - 1, prompt.Issue{}, nil
		}
	}
	at := slices.IndexFunc(shown, func(i prompt.Issue) bool { return issues.Fold(i.Name) == issues.Fold(given) })
	if at < 0 {
		return -1, prompt.Issue{}, reply.Faultf(reply.UnknownIssue, "%s", reply.Clip(given))
	}
	return at, prompt.Issue{}, nil
}

// maxName is how long the name of an issue can be, in characters.
const maxName = 80

// oneLine is a name without line breaks and semicolons, which part lists in flat files.
func oneLine(name string) string {
	name = strings.Join(strings.Fields(strings.ReplaceAll(name, ";", ",")), " ")
	if r := []rune(name); len(r) > maxName {
		name = strings.TrimSpace(string(r[:maxName])) + "…"
	}
	return name
}

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
	s.issues = g.o.knownGroups()
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
