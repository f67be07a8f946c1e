package people

import (
	"fmt"

	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/pairwise/verdicts"
	"github.com/erreval/erreval/report"
)

// SetFaults says which lines were no rows.
func (r *Report) SetFaults(faults []error) { r.faults = faults }

// Warnings say what the figures leave out.
func (r *Report) Warnings() []report.FileWarning { return []report.FileWarning{{Faults: r.faults}} }

// IsIncomplete tells whether verdicts or lines are left out.
func (r *Report) IsIncomplete() bool { return r.Unjudged > 0 || len(r.faults) > 0 }

// Report puts the figures into words and tables.
func (r *Report) Report() *report.Report {
	out := &report.Report{Title: fmt.Sprintf("%s: %s with verdicts of %s", r.File,
		words.Plural(r.Pairs-r.Unlabelled, "pair", "pairs"), words.Plural(r.People, "person", "people"))}
	if r.People > 1 {
		alpha := report.Figure{Value: r.Alpha, Low: r.AlphaLow, High: r.AlphaHigh}
		out.Facts = append(out.Facts, fmt.Sprintf("agreement of people: Krippendorff's alpha %s; raw agreement %s",
			alpha.Text("%.3f"), r.Agreement.Text("%.3f")))
	}
	if r.Unlabelled > 0 {
		out.Facts = append(out.Facts, fmt.Sprintf("%s left out: nobody gave a verdict",
			words.Plural(r.Unlabelled, "pair is", "pairs are")))
	}
	ties := fmt.Sprintf("both good %d, both bad %d", r.Majority[verdicts.BothGood], r.Majority[verdicts.BothBad])
	if r.TiesMerged {
		ties = fmt.Sprintf("tie %d", r.Majority[verdicts.BothGood])
	}
	out.Facts = append(out.Facts, fmt.Sprintf("majority: A %d, B %d, %s; no majority %d",
		r.Majority[verdicts.A], r.Majority[verdicts.B], ties, r.NoMajority))
	if r.TiesMerged {
		out.Facts = append(out.Facts, "people know one kind of tie: both_good and both_bad of the judge are that")
	}
	if r.WithTies == nil {
		return out
	}
	if r.Inconsistent > 0 {
		out.Facts = append(out.Facts, fmt.Sprintf("%s left out: the judgements differ",
			words.Plural(r.Inconsistent, "pair is", "pairs are")))
	}
	if r.Unjudged > 0 {
		out.Facts = append(out.Facts, fmt.Sprintf("%s left out: the judge has no verdict",
			words.Plural(r.Unjudged, "pair is", "pairs are")))
	}
	out.Sections = append([]report.Section{r.Accords()}, r.Others()...)
	return out
}

// Accords are the judge's verdicts against people's; only where a judge has some.
func (r *Report) Accords() report.Section {
	table := report.NewTable("pairs", "number", "accuracy", "constant", "macro-F1", "kappa")
	for _, a := range []struct {
		name string
		*Accord
	}{{"all", r.WithTies}, {"without ties", r.WithoutTies}} {
		table.Rows = append(table.Rows, []any{a.name, a.Pairs, a.Accuracy.As("%.3f"), a.Constant.As("%.3f"),
			a.MacroF1.As("%.3f"), a.Kappa.As("%.3f")})
	}
	return report.Section{Title: "The judge's verdicts against people's majority (" + r.Type + ")", Table: table}
}

// Others are the sections besides Accords.
func (r *Report) Others() []report.Section {
	orders := report.NewTable("estimator", "tau")
	for _, k := range r.Rankings {
		orders.Rows = append(orders.Rows, []any{k.Estimator, k.Tau.As("%.2f")})
	}
	others := []report.Section{{Title: "Order of the systems by the judge and by people", Table: orders}}
	if r.systems == 2 {
		others[0].Notes = []string{"of two systems, tau is 1 or -1, and says little"}
	}
	if l := r.Lift; l != nil {
		others = append(others, report.Section{Title: "Did showing the errors help?", Notes: []string{
			fmt.Sprintf("accuracy on %s judged in both modes: vanilla %s, error-aware %s, difference %s; %d with another "+
				"verdict", words.Plural(l.Pairs, "pair", "pairs"), l.Vanilla.Text("%.3f"), l.ErrorAware.Text("%.3f"),
				l.Difference.Text("%+.3f"), l.Changed)}})
	}
	return others
}
