package discover

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/erreval/erreval/discover/issues"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/llm"
	"github.com/erreval/erreval/llm/reply"
	"github.com/erreval/erreval/prompt"
)

// keyPoints finds issues in batches of statements, merges them, and maps every unit to any number of them, as CLEAR
// does. Where issues are known, only the mapping is done.
func (g *Grouper) keyPoints(ctx context.Context, s *sorted) error {
	if s.issues = g.o.knownGroups(); len(s.issues) == 0 {
		found, err := g.synthesize(ctx, s)
		if err == nil && len(found) > 1 {
			found, err = g.merge(ctx, s, found)
		}
		if err != nil {
			return err
		}
		for _, issue := range found {
			s.issues = append(s.issues, Group{Name: issue.Name, Description: issue.Description})
		}
	}
	if len(s.issues) == 0 {
		for u := range s.units {
			s.faults[u] = reply.Missing + ": no issue recurs in the statements"
		}
		return nil
	}
	progress := &counter{report: g.o.report, step: "map", of: len(s.units)}
	var all errgroup.Group
	all.SetLimit(cap(g.model.workers))
	for u := range s.units {
		all.Go(func() error {
			defer progress.add(1)
			return g.mapUnit(ctx, s, u)
		})
	}
	return all.Wait()
}

// synthesize finds issues in batches, each of which is told what was found before.
func (g *Grouper) synthesize(ctx context.Context, s *sorted) ([]prompt.Issue, error) {
	sample := g.sample(s)
	var found []prompt.Issue
	skipped, done := 0, 0
	for batch := range slices.Chunk(sample, g.o.Batch) {
		in := prompt.Input{Issues: found, Statements: s.sentences(batch)}
		q, err := g.model.question(prompt.Synthesize, in, issueList)
		if err != nil {
			return nil, err
		}
		var fresh []prompt.Issue
		fault, err := g.model.ask(ctx, q, "issues", func(o reply.Object) (err error) {
			fresh, err = readIssues(o)
			return err
		})
		switch {
		case err != nil:
			return nil, err
		case fault != nil:
			skipped++
		}
		found = appendUnknown(found, fresh)
		done += len(batch)
		g.o.report("synthesize", done, len(sample))
	}
	if skipped > 0 {
		s.notes = append(s.notes, fmt.Sprintf("%s gave no list of issues, and no issue was taken from there",
			words.Plural(skipped, "batch of statements", "batches of statements")))
	}
	if len(sample) < len(s.units) {
		s.notes = append(s.notes, fmt.Sprintf("issues come from %d of %d statements; all are mapped to them", len(sample),
			len(s.units)))
	}
	return found, nil
}

// issueList is the form of a list of issues.
var issueList = llm.ObjectOf(list("issues", llm.ObjectOf(text("name"), text("description"))))

// sample are the units that issues come from, rising: all, or a draw without replacement in which a unit's weight is
// the fourth power of what its score lacks to 1, as CLEAR does (Efraimidis and Spirakis' keys).
func (g *Grouper) sample(s *sorted) []int {
	all := span(0, len(s.units))
	if len(all) <= g.o.MaxStatements {
		return all
	}
	random := g.o.draw(drawSample, 0)
	keys := make([]float64, len(all))
	for u := range all {
		weight := 1.0
		if score := s.units[u].score; score != nil {
			weight = math.Pow(1-*score, 4)
		}
		keys[u] = math.Log(1-random.Float64()) / max(weight, 1e-12) // the largest are drawn
	}
	slices.SortStableFunc(all, func(a, b int) int { return cmp.Compare(keys[b], keys[a]) })
	all = all[:g.o.MaxStatements]
	slices.Sort(all)
	return all
}

// appendUnknown adds the issues whose names are new.
func appendUnknown(known, fresh []prompt.Issue) []prompt.Issue {
	for _, f := range fresh {
		if !slices.ContainsFunc(known, func(k prompt.Issue) bool { return issues.Fold(k.Name) == issues.Fold(f.Name) }) {
			known = append(known, f)
		}
	}
	return known
}

// objectsOf are the objects in the list that the key has.
func objectsOf(o reply.Object, key string) ([]reply.Object, error) {
	value, _ := o.Get(key)
	all, ok := value.([]any)
	if !ok {
		return nil, missing("%q is no list", key)
	}
	var out []reply.Object
	for _, v := range all {
		object, ok := v.(reply.Object)
		if !ok {
			return nil, missing("%q holds what is no object: %.40v", key, v)
		}
		out = append(out, object)
	}
	return out, nil
}

// readListed is an issue of a list.
func readListed(o reply.Object) (prompt.Issue, error) {
	issue := prompt.Issue{Name: oneLine(o.Text("name")), Description: o.Text("description")}
	if issues.Fold(issue.Name) == "" {
		return issue, missing("an issue without a name")
	}
	return issue, nil
}

func readIssues(o reply.Object) ([]prompt.Issue, error) {
	objects, err := objectsOf(o, "issues")
	var out []prompt.Issue
	for _, object := range objects {
		issue, fault := readListed(object)
		if fault != nil {
			return nil, fault
		}
		out = append(out, issue)
	}
	return out, err
}

// readNumbers are the whole numbers of the list that the key has.
func readNumbers(o reply.Object, key string) ([]int, error) {
	value, _ := o.Get(key)
	all, ok := value.([]any)
	if !ok {
		return nil, missing("%q is no list", key)
	}
	out := make([]int, len(all))
	for i, v := range all {
		number, ok := v.(json.Number)
		n, err := number.Int64()
		if !ok || err != nil {
			return nil, missing("%q holds %.40v, which is no whole number", key, v)
		}
		out[i] = int(n)
	}
	return out, nil
}

// merge puts equal issues together and keeps MaxIssues of them. Where no reply says how, they stay as they are.
func (g *Grouper) merge(ctx context.Context, s *sorted, found []prompt.Issue) ([]prompt.Issue, error) {
	group := llm.ObjectOf(list("members", integer), text("name"), text("description"))
	q, err := g.model.question(prompt.Merge, prompt.Input{Issues: found, Most: g.o.MaxIssues},
		llm.ObjectOf(list("groups", group)))
	if err != nil {
		return nil, err
	}
	var merged []prompt.Issue
	fault, err := g.model.ask(ctx, q, "groups", func(o reply.Object) (err error) {
		merged, err = readGroups(o, len(found), g.o.MaxIssues)
		return err
	})
	if fault != nil {
		s.notes = append(s.notes, fmt.Sprintf("the %d issues of the batches could not be merged (%v); they stand as found",
			len(found), fault))
		merged = found
	}
	return merged, err
}

// readGroups reads the reply to a prompt of kind merge about n issues.
func readGroups(o reply.Object, n, most int) ([]prompt.Issue, error) {
	objects, err := objectsOf(o, "groups")
	if err != nil {
		return nil, err
	}
	seen := map[int]bool{}
	var out []prompt.Issue
	for _, object := range objects {
		members, err := readNumbers(object, "members")
		if err != nil {
			return nil, err
		}
		for _, m := range members {
			if m < 1 || m > n {
				return nil, reply.Faultf(reply.UnknownIssue, "issue %d of %d", m, n)
			}
			if seen[m] {
				return nil, missing("issue %d stands in two groups", m)
			}
			seen[m] = true
		}
		issue, err := readListed(object)
		if err != nil {
			return nil, err
		}
		out = appendUnknown(out, []prompt.Issue{issue})
	}
	if len(out) == 0 || len(out) < most && len(seen) < n {
		return nil, missing("%d of %d issues stand in no group", n-len(seen), n)
	}
	return out[:min(len(out), most)], nil
}

// mapUnit asks which issues a unit speaks of.
func (g *Grouper) mapUnit(ctx context.Context, s *sorted, u int) error {
	in := prompt.Input{Statements: []string{s.units[u].sentence}}
	for _, issue := range s.issues {
		in.Issues = append(in.Issues, prompt.Issue{Name: issue.Name, Description: issue.Description})
	}
	q, err := g.model.question(prompt.Map, in, llm.ObjectOf(list("applies", integer)))
	if err != nil {
		return err
	}
	var of []int
	fault, err := g.model.ask(ctx, q, "applies", func(o reply.Object) (err error) {
		of, err = readApplies(o, len(s.issues))
		return err
	})
	if s.of[u] = of; fault != nil {
		s.of[u], s.faults[u] = nil, fault.Error()
	}
	return err
}

// readApplies reads the reply to a prompt of kind map: a 0 or 1 for each of n issues. A list of another length says
// nothing about any of them.
func readApplies(o reply.Object, n int) ([]int, error) {
	numbers, err := readNumbers(o, "applies")
	if err != nil {
		return nil, err
	}
	if len(numbers) != n {
		return nil, missing("%d numbers for %d issues", len(numbers), n)
	}
	var of []int
	for i, x := range numbers {
		switch x {
		case 1:
			of = append(of, i)
		case 0:
		default:
			return nil, missing("%d is neither 0 nor 1", x)
		}
	}
	return of, nil
}
