package discover

import (
	"context"
	"slices"
	"strings"

	"github.com/erreval/erreval/discover/cluster"
)

// keywords is how many words tell an issue from the others where no model names it.
const keywords = 4

// Sentences are taken for tags where at most mostTags are different, and each comes tagRows times on average.
const (
	mostTags = 60
	tagRows  = 3
)

// areTags tells whether people chose from a few tags, of which different ones mean different things.
func (s *sorted) areTags() bool {
	rows := 0
	for _, u := range s.units {
		rows += len(u.items)
	}
	return len(s.units) <= mostTags && rows >= tagRows*len(s.units)
}

// offline groups the units by likeness. One that is as alike to a known issue as the threshold says has that; the
// others are grouped. An issue has its commonest sentence for a name, of equally common ones the most central.
func (g *Grouper) offline(ctx context.Context, s *sorted) error {
	rest, o := span(0, len(s.units)), g.o.Cluster
	if s.areTags() {
		o.Threshold = g.o.TagThreshold
	}
	vectors, err := g.embed(ctx, s.sentences(rest))
	if err == nil && len(g.o.Known) > 0 {
		rest, err = g.fitKnown(ctx, s, vectors, o.Threshold)
	}
	if err != nil {
		return err
	}
	var own [][]float32
	for _, u := range rest {
		if vectors != nil {
			own = append(own, vectors[u])
		}
	}
	sentences := s.sentences(rest)
	groups, err := cluster.Group(ctx, sentences, own, o)
	if err != nil {
		return err
	}
	first := len(s.issues)
	for i, u := range rest {
		for first+groups[i] >= len(s.issues) {
			s.issues = append(s.issues, Group{})
		}
		s.of[u] = []int{first + groups[i]}
	}
	name := cluster.Medoids(sentences, groups)
	for i, u := range rest {
		if at := &name[groups[i]]; len(s.units[u].items) > len(s.units[rest[*at]].items) {
			*at = i
		}
	}
	for n, words := range cluster.Keywords(sentences, groups, keywords) {
		issue := &s.issues[first+n]
		issue.Name = oneLine(strings.TrimRight(sentences[name[n]], ". "))
		issue.Description = "Words that tell it from the others: " + strings.Join(words, ", ") + "."
	}
	members := s.members()
	for n := range s.issues {
		s.issues[n].Sentences = len(members[n])
	}
	return g.makeUnique(ctx, s, members)
}

// fitKnown puts units into the known issues, which are compared by their names, descriptions and examples. It gives the
// units that fit none.
func (g *Grouper) fitKnown(ctx context.Context, s *sorted, vectors [][]float32,
	threshold float64) (rest []int, err error) {
	texts, issueOf := s.sentences(span(0, len(s.units))), []int(nil)
	s.issues = g.o.knownGroups()
	for i := range g.o.Known {
		k := &g.o.Known[i]
		texts, issueOf = append(texts, k.Name, k.Name+". "+k.Description), append(issueOf, i, i)
		for _, e := range k.Examples {
			texts, issueOf = append(texts, e.Analysis), append(issueOf, i)
		}
	}
	if vectors != nil {
		known, err := g.embed(ctx, texts[len(s.units):])
		if err != nil {
			return nil, err
		}
		vectors = append(slices.Clip(vectors), known...)
	}
	index, err := cluster.NewIndex(texts, vectors)
	if err != nil {
		return nil, err
	}
	near := index.NewShortlist()
	for n := range issueOf { // each text by itself: the nearest one counts
		near.Add(n, len(s.units)+n)
	}
	for u := range s.units {
		if m := near.Nearest(u, 1); m[0].Similarity >= threshold {
			s.of[u] = []int{issueOf[m[0].At]}
		} else {
			rest = append(rest, u)
		}
	}
	return rest, nil
}

func (g *Grouper) embed(ctx context.Context, sentences []string) ([][]float32, error) {
	if g.o.Embed == nil {
		return nil, nil
	}
	return g.o.Embed(ctx, sentences)
}

// GroupLabels makes issues of the labels that items have: one for each label, and for each part of a label's rows that
// is alike in its texts, if it has MinSize rows at least and is not all of them. It asks no model. Items whose
// Finding has no Status need Labels and Text.
func (g *Grouper) GroupLabels(ctx context.Context, items []*Item) (*Result, error) {
	s := &sorted{}
	byLabel, labels := map[string][]int{}, []string(nil) // units, which are single items here
	for i, item := range items {
		if item.Finding.Status != "" {
			continue
		}
		for _, label := range item.Labels {
			if byLabel[label] == nil {
				labels = append(labels, label)
			}
			byLabel[label] = append(byLabel[label], len(s.units))
		}
		s.units = append(s.units, unit{sentence: item.Text, items: []int{i}})
	}
	s.of, s.faults = make([][]int, len(s.units)), make([]string, len(s.units))
	vectors, err := g.embed(ctx, s.sentences(span(0, len(s.units))))
	if err != nil {
		return nil, err
	}
	slices.Sort(labels)
	for done, label := range labels {
		units := byLabel[label]
		var own [][]float32
		for _, u := range units {
			if vectors != nil {
				own = append(own, vectors[u])
			}
		}
		groups, err := cluster.Group(ctx, s.sentences(units), own, g.o.Cluster)
		if err != nil {
			return nil, err
		}
		g.addLabel(s, label, units, groups)
		g.o.report("group", done+1, len(labels))
	}
	return s.result(items), g.makeUnique(ctx, s, s.members())
}

func (s *sorted) sentences(units []int) []string {
	out := make([]string, len(units))
	for i, u := range units {
		out[i] = s.units[u].sentence
	}
	return out
}

// addLabel adds the issues of one label, whose units are in groups.
func (g *Grouper) addLabel(s *sorted, label string, units, groups []int) {
	sizes := map[int]int{}
	for _, n := range groups {
		sizes[n]++
	}
	keywords := cluster.Keywords(s.sentences(units), groups, keywords)
	issueOf := map[int]int{}
	add := func(name, description string) int {
		s.issues = append(s.issues, Group{Name: name, Description: description})
		return len(s.issues) - 1
	}
	rest := -1
	for i, u := range units {
		n := groups[i]
		if sizes[n] < g.o.MinSize || sizes[n] == len(units) {
			if rest < 0 {
				rest = add(label, "Rows with the label "+label+".")
			}
			s.of[u] = append(s.of[u], rest)
			continue
		}
		if _, ok := issueOf[n]; !ok {
			words := strings.Join(keywords[n], ", ")
			issueOf[n] = add(label+": "+words, "Rows with the label "+label+" that are alike in these words: "+words+".")
		}
		s.of[u] = append(s.of[u], issueOf[n])
	}
}
