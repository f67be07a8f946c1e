package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/training/refine"
	"github.com/erreval/erreval/training/review"
	"github.com/erreval/erreval/training/selection"
)

// chosenBatch is what refine select prints. Its JSON keys are stable.
type chosenBatch struct {
	Batch      string         `json:"batch"` // "" where nothing was frozen
	Items      int            `json:"items"`
	Reasons    map[string]int `json:"reasons"` // of the items
	Labels     map[string]int `json:"labels"`  // that the identifier found in the items, repeated ones not counted
	Groups     int            `json:"groups"`  // of the items, random and repeated ones not counted
	Systems    map[string]int `json:"systems"` // likewise
	Auto       int            `json:"auto"`
	AutoLabels map[string]int `json:"auto_labels"`
	Pool       poolCounts     `json:"pool"`
}

type poolCounts struct {
	Rows     int            `json:"rows"`
	Used     map[string]int `json:"used"` // that cannot be chosen, by where they are
	Untagged int            `json:"untagged"`
	Free     int            `json:"free"`
	Verified int            `json:"verified"` // of the free ones
	Reliable int            `json:"reliable"` // of the free ones
}

func (s *selectRun) summary(b *selection.Batch, name string) *chosenBatch {
	c := &chosenBatch{Batch: name, Items: len(b.Items), Reasons: map[string]int{}, Labels: map[string]int{}, Groups: b.Groups, Systems: b.Systems,
		Auto: len(b.Auto), AutoLabels: map[string]int{}, Pool: poolCounts{Rows: b.Counts.Pool, Used: b.Counts.Used, Untagged: b.Counts.Untagged,
			Free: b.Counts.Free, Verified: b.Counts.Verified, Reliable: b.Counts.Reliable}}
	for _, p := range b.Items {
		c.Reasons[p.Reason]++
		if p.Reason != review.Control {
			s.countLabels(c.Labels, p.Signals)
		}
	}
	for _, p := range b.Auto {
		s.countLabels(c.AutoLabels, p.Signals)
	}
	return c
}

func (s *selectRun) countLabels(counts map[string]int, g *selection.Signals) {
	if g == nil { // of the training set: what a model finds in it is not known
		return
	}
	for _, i := range g.Found {
		counts[s.w.Taxonomy.Types[i].Name]++
	}
	if i := s.w.Taxonomy.NoErrorIndex(); i >= 0 && len(g.Found) == 0 {
		counts[s.w.Taxonomy.Types[i].Name]++
	}
}

// print says what was chosen; name is "" where nothing was frozen.
func (s *selectRun) print(b *selection.Batch, name string) error {
	c := s.summary(b, name)
	if s.ctx.Bool("json") {
		return writeJSON(s.e.Out, c)
	}
	line, flush := namedLines(s.e.Out)
	if name == "" {
		line("dry run", "nothing was frozen")
	} else {
		line("batch", "%s, frozen in %s", name, s.w.Path(refine.BatchesDir, name))
	}
	line("chosen from", "%s", s.poolWords(&b.Counts))
	line("review", "%s: %s", words.Plural(c.Items, "row", "rows"), reasonWords(c.Reasons))
	line("labels found", "%s", labelWords(c.Labels, s.w.Taxonomy))
	line("spread", "%s", spreadWords(c))
	line("automatic", "%s proposed: %s", words.Plural(c.Auto, "row", "rows"), labelWords(c.AutoLabels, s.w.Taxonomy))
	if c.Pool.Verified < c.Pool.Free {
		line("verifier", "%s without one: uncertainty alone tells whether they are reliable, and they are not added without a person", words.Plural(c.Pool.Free-c.Pool.Verified, "row is", "rows are"))
	}
	if name != "" {
		line("next", "erreval refine review %s", words.Quote(s.w.Dir))
	}
	return flush()
}

func (s *selectRun) poolWords(n *selection.Counts) string {
	text := fmt.Sprintf("%d of %s, %d of them reliable", n.Free, words.Plural(n.Pool, "row", "rows"), n.Reliable)
	for _, where := range slices.Sorted(maps.Keys(n.Used)) {
		text += fmt.Sprintf("; %d in %s", n.Used[where], where)
	}
	if n.Untagged > 0 {
		text += fmt.Sprintf("; %d not tagged", n.Untagged)
	}
	return text
}

func reasonWords(counts map[string]int) string {
	var parts []string
	for _, reason := range review.Reasons() {
		if n := counts[reason]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, reason))
		}
	}
	return strings.Join(parts, ", ")
}

// shownSystems are how many systems a summary names.
const shownSystems = 5

func spreadWords(c *chosenBatch) string {
	var parts []string
	if c.Groups > 0 {
		parts = append(parts, words.Plural(c.Groups, "group", "groups"))
	}
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(c.Systems)), func(name string) bool { return name == "" })
	slices.SortStableFunc(names, func(a, b string) int { return c.Systems[b] - c.Systems[a] })
	for _, name := range names[:min(shownSystems, len(names))] {
		parts = append(parts, fmt.Sprintf("%s %d", words.Printable(name), c.Systems[name]))
	}
	if more := len(names) - shownSystems; more > 0 {
		parts = append(parts, words.Plural(more, "more system", "more systems"))
	}
	return cmp.Or(strings.Join(parts, ", "), "neither groups nor systems are known")
}

// explain says why a row was chosen or not.
func (s *selectRun) explain(b *selection.Batch) error {
	x := b.Watched
	if x.Missing {
		err := s.w.EachRow(s.w.Path(refine.HeldFile), func(row *dataset.Row) error {
			if row.ID == x.ID {
				x.Verdict = "It cannot be chosen: it is in " + refine.HeldFile + ", since its group has a development row."
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	if s.ctx.Bool("json") {
		return writeJSON(s.e.Out, x)
	}
	of := "the next batch, as it would be chosen now"
	if s.open != "" {
		of = s.open + ", with its settings"
	}
	fmt.Fprintf(s.e.Out, "row %s and %s:\n", words.Printable(x.ID), of)
	for _, line := range x.Lines() {
		fmt.Fprintln(s.e.Out, words.Printable(line))
	}
	return nil
}
