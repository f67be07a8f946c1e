package discover

import (
	"context"
	"slices"
	"strings"

	"github.com/erreval/erreval/discover/cluster"
)

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
