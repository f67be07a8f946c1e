package discover

import (
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/erreval/erreval/discover/issues"
	"github.com/erreval/erreval/llm"
	"github.com/erreval/erreval/llm/reply"
	"github.com/erreval/erreval/prompt"
)

// nameGroups names the issues that are not known ones: each from a sample of its statements. A name that another issue
// has is asked for once more, with those of the others shown.
func (g *Grouper) nameGroups(ctx context.Context, s *sorted, orders []*ordering) error {
	members := s.members()
	progress := &counter{report: g.o.report, step: "name", of: len(s.issues)}
	var all errgroup.Group
	for n := range s.issues {
		all.Go(func() error {
			defer progress.add(1)
			if s.issues[n].Known != nil || len(members[n]) == 0 {
				return nil
			}
			given := earlierName(orders, members[n])
			s.issues[n].Name, s.issues[n].Description = given.Name, given.Description
			if len(members[n]) == 1 {
				return nil // the one statement was all that its name was made from
			}
			return g.name(ctx, s, n, members[n], nil)
		})
	}
	if err := all.Wait(); err != nil {
		return err
	}
	return g.makeUnique(ctx, s, members)
}

// members are the units of each issue.
func (s *sorted) members() [][]int {
	members := make([][]int, len(s.issues))
	for u, of := range s.of {
		for _, n := range of {
			members[n] = append(members[n], u)
		}
	}
	return members
}

// earlierName is what an order called most of the units.
func earlierName(orders []*ordering, units []int) prompt.Issue {
	best, most := prompt.Issue{}, 0
	for _, o := range orders {
		count := map[int]int{}
		for _, u := range units {
			if at := o.assigned[u]; at >= 0 {
				if count[at]++; count[at] > most {
					best, most = o.pool[at], count[at]
				}
			}
		}
	}
	return best
}

// name asks for name and description of issue n, whose units are given. Where no reply gives any, the earlier ones
// stay.
func (g *Grouper) name(ctx context.Context, s *sorted, n int, units []int, others []prompt.Issue) error {
	q, err := g.naming(s, n, units, others)
	if err != nil {
		return err
	}
	_, err = g.model.ask(ctx, q, "name", func(o reply.Object) error {
		issue, err := readListed(o)
		if err == nil {
			s.issues[n].Name, s.issues[n].Description = issue.Name, issue.Description
		}
		return err
	})
	return err
}

// naming is the call that asks for a name.
func (g *Grouper) naming(s *sorted, n int, units []int, others []prompt.Issue) (*llm.Request, error) {
	sample := slices.Clone(units)
	random := g.o.draw(drawName, uint64(n))
	random.Shuffle(len(sample), func(i, j int) { sample[i], sample[j] = sample[j], sample[i] })
	sample = sample[:min(len(sample), g.o.NameFrom)]
	slices.Sort(sample)
	return g.model.question(prompt.Name, prompt.Input{Statements: s.sentences(sample), Issues: others},
		llm.ObjectOf(text("name"), text("description")))
}

// makeUnique gives issues that have the name of an earlier one, or none, another.
func (g *Grouper) makeUnique(ctx context.Context, s *sorted, members [][]int) error {
	taken := map[string]int{}
	for n := range s.issues {
		if s.issues[n].Known == nil && len(members[n]) == 0 {
			continue
		}
		if first, twice := taken[issues.Fold(s.issues[n].Name)]; twice && g.model != nil && s.issues[n].Known == nil {
			other := []prompt.Issue{{Name: s.issues[first].Name, Description: s.issues[first].Description}}
			if err := g.name(ctx, s, n, members[n], other); err != nil {
				return err
			}
		}
		base := s.issues[n].Name
		if issues.Fold(base) == "" {
			base = "Unnamed issue"
		}
		name := base
		for i := 2; ; i++ {
			if _, twice := taken[issues.Fold(name)]; !twice {
				break
			}
			name = fmt.Sprintf("%s (%d)", base, i)
		}
		s.issues[n].Name = name
		taken[issues.Fold(name)] = n
	}
	return nil
}
