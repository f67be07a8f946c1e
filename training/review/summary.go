package review

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/erreval/erreval/internal/words"
)

// shownDiffer is how many of the control rows that a reviewer answered differently are named.
const shownDiffer = 5

// Summary is what the reviewer did, in a line.
func (r *Reviewer) Summary() string {
	text := fmt.Sprintf("%s, %d skipped", words.Plural(r.Answered, "answer", "answers"), r.Skipped)
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

// Summary is what speaks against the row's labels.
func (d *Doubt) Summary() string {
	var parts []string
	for _, s := range d.Suspects {
		verb := "lacks"
		if s.Given {
			verb = "has"
		}
		parts = append(parts, fmt.Sprintf("%s %s (%.2f)", verb, s.Label, s.Probability))
	}
	return strings.Join(parts, ", ")
}
