package review

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/erreval/erreval/internal/stats"
	"github.com/erreval/erreval/internal/words"
)

// Agreement says how far reviewers agree on the items that at least two of them decided; control rows do not count.
// Figures that are not defined (all answers the same, for α and κ) are absent.
type Agreement struct {
	Items   int              `json:"items"`
	Exact   float64          `json:"exact"`             // share of items on which all gave the same labels
	Alpha   *float64         `json:"alpha,omitempty"`   // Krippendorff's, whole label sets as names
	Jaccard *float64         `json:"jaccard,omitempty"` // mean overlap of the label sets; of two reviewers
	Labels  []LabelAgreement `json:"labels"`            // in the taxonomy's order
}

// LabelAgreement is the agreement on one label: given or not.
type LabelAgreement struct {
	Label string   `json:"label"`
	Given int      `json:"given"`           // items on which anybody gave it
	Both  int      `json:"both"`            // items on which everybody did
	Alpha *float64 `json:"alpha,omitempty"` // Krippendorff's, nominal
	Kappa *float64 `json:"kappa,omitempty"` // Cohen's; of two reviewers, on the items that both decided
}

// Hits count the rows for which the identifier had proposed just the labels that were decided.
type Hits struct {
	Rows   int       `json:"rows"` // decided ones
	Same   int       `json:"same"`
	Misses []Decided `json:"misses,omitempty"` // the others
}

// Decided is a row for which other labels were decided than the identifier had found.
type Decided struct {
	ItemID string   `json:"item_id"`
	Labels []string `json:"labels"`
	Found  []string `json:"found"`
}

// Interval is Wilson's of the share of rows that the identifier was right about, each row by itself.
func (h *Hits) Interval() (low, high float64) {
	var s stats.GroupSums
	for i := range h.Rows {
		x := 0.0
		if i < h.Same {
			x = 1
		}
		s.AddGroup(x, 1)
	}
	return s.ShareInterval()
}

// Hits are those of the rows that were chosen, where the identifier does worse than on others, and of the random slice.
// inForce are labels by text that a later step gave, such as a mark: they count in the place of the merge's. A row that
// waits for a decision between reviewers is none of them, though it was merged before the later of them answered.
func (f *Frozen) Hits(e *Earlier, inForce map[string][]string) (chosen, random Hits) {
	for _, it := range f.All {
		labels, decided := e.Decided[it.ItemID]
		if now, ok := inForce[it.TextSHA256]; ok {
			labels, decided = now, true
		}
		_, marked := e.Marked[it.TextSHA256]
		waits := !marked && slices.ContainsFunc(e.Conflicts, func(c Conflict) bool { return c.ItemID == it.ItemID })
		if !decided || waits || it.Proposed == nil || it.ControlOf != "" {
			continue
		}
		to := &chosen
		if it.Reason == Random {
			to = &random
		}
		to.Rows++
		if slices.Equal(slices.Sorted(slices.Values(labels)), slices.Sorted(slices.Values(it.Proposed.Labels))) {
			to.Same++
		} else {
			to.Misses = append(to.Misses, Decided{it.ItemID, labels, it.Proposed.Labels})
		}
	}
	return chosen, random
}

// agreement is nil without an item that two decided. Of answers that were changed since, the first ones count: who saw
// what others say agrees with them.
func (f *Frozen) agreement(byItem map[string][]Answer, first map[answerKey]Answer) *Agreement {
	var units [][]Answer
	names := map[string]bool{}
	for _, it := range f.All {
		voices := decided(byItem[it.ItemID], false)
		if it.Reason == Control || len(voices) < 2 {
			continue
		}
		for i := range voices {
			if a, there := first[keyOf(&voices[i])]; there {
				voices[i] = a
			}
		}
		units = append(units, voices)
		for _, a := range voices {
			names[a.Reviewer] = true
		}
	}
	if len(units) == 0 {
		return nil
	}
	a := &Agreement{Items: len(units)}
	sets := ratings(units, func(x Answer) string { return strings.Join(x.Labels, ";") })
	same := 0
	for _, u := range sets {
		if len(slices.Compact(slices.Sorted(slices.Values(u)))) == 1 {
			same++
		}
	}
	a.Exact = float64(same) / float64(len(sets))
	a.Alpha = defined(stats.AlphaNominal(sets))
	for _, label := range f.Taxonomy.Labels() {
		a.Labels = append(a.Labels, agreementOn(label, units, len(names) == 2))
	}
	if len(names) == 2 {
		a.Jaccard = defined(f.jaccard(units))
	}
	return a
}

func agreementOn(label string, units [][]Answer, two bool) LabelAgreement {
	l := LabelAgreement{Label: label}
	given := ratings(units, func(x Answer) bool { return slices.Contains(x.Labels, label) })
	for _, u := range given {
		if slices.Contains(u, true) {
			l.Given++
		}
		if !slices.Contains(u, false) {
			l.Both++
		}
	}
	l.Alpha = defined(stats.AlphaNominal(given))
	if two { // answers are in the order of the reviewers' names
		l.Kappa = defined(stats.Kappa(side(given, 0), side(given, 1)))
	}
	return l
}

func (f *Frozen) jaccard(units [][]Answer) float64 {
	sets := ratings(units, func(x Answer) []bool {
		row := make([]bool, len(f.Taxonomy.Types))
		for k, y := range f.Taxonomy.Types {
			row[k] = slices.Contains(x.Labels, y.Name)
		}
		return row
	})
	return stats.Jaccard(side(sets, 0), side(sets, 1))
}

func ratings[V any](units [][]Answer, value func(Answer) V) [][]V {
	out := make([][]V, len(units))
	for i, u := range units {
		for _, a := range u {
			out[i] = append(out[i], value(a))
		}
	}
	return out
}

func side[V any](pairs [][]V, i int) []V {
	out := make([]V, len(pairs))
	for j, p := range pairs {
		out[j] = p[i]
	}
	return out
}

func defined(x float64) *float64 {
	if math.IsNaN(x) {
		return nil
	}
	return &x
}

// reviewers sums up each reviewer's answers; those that decide between others do not count.
func (g *gathered) reviewers() []Reviewer {
	all := map[string]*Reviewer{}
	for _, a := range g.sorted() {
		if a.Resolves {
			continue
		}
		r := all[a.Reviewer]
		if r == nil {
			r = &Reviewer{Name: a.Reviewer}
			all[a.Reviewer] = r
		}
		if a.Skipped {
			r.Skipped++
			continue
		}
		r.Answered++
		g.consistency(r, &a)
	}
	out := []Reviewer{}
	for _, r := range all {
		r.Missing = len(g.f.All) - r.Answered - r.Skipped
		out = append(out, *r)
	}
	slices.SortFunc(out, func(a, b Reviewer) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// consistency compares the answer to a control row with that to the item which it repeats.
func (g *gathered) consistency(r *Reviewer, a *Answer) {
	of := g.f.All[g.f.index[a.ItemID]].ControlOf
	first := g.answers[answerKey{of, a.Reviewer, false}]
	if of == "" || first == nil || first.Skipped {
		return
	}
	r.Control++
	if a.same(first) {
		r.Same++
	} else {
		r.Differ = append(r.Differ, a.ItemID)
	}
}

// shownDiffer is how many of the control rows that a reviewer answered differently are named.
const shownDiffer = 5

// Summary is what the reviewer did, in a line.
func (r *Reviewer) Summary() string {
	text := words.Plural(r.Answered, "answer", "answers")
	if r.Skipped > 0 {
		text += fmt.Sprintf(", %d skipped", r.Skipped)
	}
	if r.Missing > 0 {
		text += fmt.Sprintf(", %d not answered", r.Missing)
	}
	if r.Control == 0 {
		return text
	}
	text += fmt.Sprintf("; the same labels on %d of %s", r.Same, words.Plural(r.Control, "repeated row", "repeated rows"))
	if len(r.Differ) > 0 {
		text += " (others on " + strings.Join(r.Differ[:min(shownDiffer, len(r.Differ))], ", ") + ")"
	}
	return text
}

// Text writes what reviewers who saw the same rows agree on.
func (a *Agreement) Text(w io.Writer) error {
	overlap := ""
	if a.Jaccard != nil {
		overlap = ", overlap " + orDash(a.Jaccard)
	}
	fmt.Fprintf(w, "agreement on %s that two or more decided: the same labels on %.0f %%, alpha %s%s\n\n",
		words.Plural(a.Items, "row", "rows"), 100*a.Exact, orDash(a.Alpha), overlap)
	kappa := slices.ContainsFunc(a.Labels, func(l LabelAgreement) bool { return l.Kappa != nil })
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	line := func(cells []string, last string) {
		if kappa {
			cells = append(cells, last)
		}
		fmt.Fprintln(table, strings.Join(cells, "\t")+"\t")
	}
	line([]string{"LABEL", "ANY", "ALL", "ALPHA"}, "KAPPA")
	for _, l := range a.Labels {
		if l.Given == 0 {
			continue
		}
		line([]string{l.Label, fmt.Sprint(l.Given), fmt.Sprint(l.Both), orDash(l.Alpha)}, orDash(l.Kappa))
	}
	return table.Flush()
}

// orDash is a figure, or a dash where it is not defined.
func orDash(x *float64) string {
	if x == nil {
		return "–"
	}
	return fmt.Sprintf("%.3f", *x)
}
