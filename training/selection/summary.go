package selection

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/taxonomy"
	"github.com/erreval/erreval/training/review"
)

// Summary counts what is in a batch. Its JSON keys are stable.
type Summary struct {
	Items      int            `json:"items"`
	Reasons    map[string]int `json:"reasons"` // of the items
	Labels     map[string]int `json:"labels"`  // that the identifier found in the items, repeated ones not counted
	Groups     int            `json:"groups"`  // of the items, random and repeated ones not counted
	Systems    map[string]int `json:"systems"` // likewise
	Auto       int            `json:"auto"`
	AutoLabels map[string]int `json:"auto_labels"`
	Pool       Counts         `json:"pool"`
}

// Summary counts what was chosen from rows of a taxonomy.
func (b *Batch) Summary(t *taxonomy.Taxonomy) *Summary {
	s := &Summary{Items: len(b.Items), Reasons: map[string]int{}, Labels: map[string]int{}, Groups: b.Groups, Systems: b.Systems,
		Auto: len(b.Auto), AutoLabels: map[string]int{}, Pool: b.Counts}
	for _, p := range b.Items {
		s.Reasons[p.Reason]++
		if p.Reason != Control {
			p.Signals.countLabels(s.Labels, t)
		}
	}
	for _, p := range b.Auto {
		p.Signals.countLabels(s.AutoLabels, t)
	}
	return s
}

// countLabels counts what was found. What a model finds in a row of the training set is not known: its signals are nil.
func (g *Signals) countLabels(counts map[string]int, t *taxonomy.Taxonomy) {
	if g == nil {
		return
	}
	for _, i := range g.Found {
		counts[t.Types[i].Name]++
	}
	if i := t.NoErrorIndex(); i >= 0 && len(g.Found) == 0 {
		counts[t.Types[i].Name]++
	}
}

// Text says how many rows can be chosen, and what became of the others.
func (c *Counts) Text() string {
	text := fmt.Sprintf("%d of %s, %d of them reliable", c.Free, words.Plural(c.Pool, "row", "rows"), c.Reliable)
	for _, where := range slices.Sorted(maps.Keys(c.Used)) {
		text += fmt.Sprintf("; %d in %s", c.Used[where], where)
	}
	if c.Untagged > 0 {
		text += fmt.Sprintf("; %d not tagged", c.Untagged)
	}
	return text
}

// Review says how many rows a person gets, and why.
func (s *Summary) Review() string {
	var parts []string
	for _, reason := range review.Reasons() {
		if n := s.Reasons[reason]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, reason))
		}
	}
	return words.Plural(s.Items, "row", "rows") + ": " + strings.Join(parts, ", ")
}

// shownSystems are how many systems a summary names.
const shownSystems = 5

// Spread says of how many groups and of which systems the rows are.
func (s *Summary) Spread() string {
	var parts []string
	if s.Groups > 0 {
		parts = append(parts, words.Plural(s.Groups, "group", "groups"))
	}
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(s.Systems)), func(name string) bool { return name == "" })
	slices.SortStableFunc(names, func(a, b string) int { return s.Systems[b] - s.Systems[a] })
	for _, name := range names[:min(shownSystems, len(names))] {
		parts = append(parts, fmt.Sprintf("%s %d", words.Printable(name), s.Systems[name]))
	}
	if more := len(names) - shownSystems; more > 0 {
		parts = append(parts, words.Plural(more, "more system", "more systems"))
	}
	return cmp.Or(strings.Join(parts, ", "), "neither groups nor systems are known")
}
