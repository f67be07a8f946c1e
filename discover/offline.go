package discover

import (
	"context"
	"strings"

	"github.com/erreval/erreval/discover/cluster"
)

// keywords is how many words tell an issue from the others where no model names it.
const keywords = 4

// offline groups the units by likeness. An issue has the most central of its sentences for a name.
func (g *Grouper) offline(ctx context.Context, s *sorted) error {
	sentences := make([]string, len(s.units))
	for i, u := range s.units {
		sentences[i] = u.sentence
	}
	vectors, err := g.embed(ctx, sentences)
	if err != nil {
		return err
	}
	groups, err := cluster.Group(ctx, sentences, vectors, g.o.Cluster)
	if err != nil {
		return err
	}
	for u, n := range groups {
		for n >= len(s.issues) {
			s.issues = append(s.issues, Group{})
		}
		s.of[u] = []int{n}
	}
	central := cluster.Medoids(sentences, groups)
	for n, words := range cluster.Keywords(sentences, groups, keywords) {
		s.issues[n].Name = oneLine(strings.TrimRight(sentences[central[n]], ". "))
		s.issues[n].Description = "Words that tell it from the others: " + strings.Join(words, ", ") + "."
	}
	return g.makeUnique(ctx, s, s.members())
}

func (g *Grouper) embed(ctx context.Context, sentences []string) ([][]float32, error) {
	if g.o.Embed == nil {
		return nil, nil
	}
	return g.o.Embed(ctx, sentences)
}
