package refine

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/report"
	"github.com/erreval/erreval/report/chart"
	"github.com/erreval/erreval/taxonomy"
)

// History are the batches with what their reviewers agree on, and the figures of all iterations. Its JSON keys are
// stable.
type History struct {
	Taxonomy   string        `json:"taxonomy"`   // name@version
	Current    int           `json:"current"`    // iteration in use; -1 is the model to start from
	Batches    []BatchStatus `json:"batches"`    // rising
	Iterations []*Metrics    `json:"iterations"` // rising

	of *taxonomy.Taxonomy
}

const noIteration = "no iteration was trained yet"

// History reads batches and iterations. It is an error if there is neither.
func (w *Workspace) History() (*History, error) {
	all, current, err := w.allMetrics()
	s := &Status{Batches: []BatchStatus{}}
	err = errors.Join(err, w.lookAtBatches(s), w.countHits(s.Batches))
	h := &History{Taxonomy: w.Taxonomy.ID(), Current: current, Batches: s.Batches, of: w.Taxonomy,
		Iterations: append([]*Metrics{}, all...)} // never null
	if err == nil && len(all)+len(s.Batches) == 0 {
		err = fmt.Errorf("%s: %s; see what comes next: erreval refine status %[1]s", words.Quote(w.Dir), noIteration)
	}
	return h, err
}

// countHits counts in merged batches how often the identifier that chose them was right.
func (w *Workspace) countHits(batches []BatchStatus) error {
	labels, err := w.inForce()
	if err != nil {
		return err
	}
	marked, err := w.marked()
	if err != nil {
		return err
	}
	for i := range batches {
		b := &batches[i]
		if !b.Merged {
			continue
		}
		f, err := w.OpenBatch(b.ID)
		if err != nil {
			return err
		}
		e, err := f.Earlier()
		if err != nil {
			return err
		}
		e.Marked = marked
		chosen, random := f.Hits(e, labels)
		b.Chosen, b.Random = &chosen, &random
	}
	return nil
}

// Report puts the figures into tables.
func (h *History) Report() *report.Report {
	out := &report.Report{Title: "Refinement: " + h.Taxonomy, Facts: []string{h.inUse()}}
	if len(h.Batches) > 0 {
		out.Sections = append(out.Sections, h.batches())
	}
	if slices.ContainsFunc(h.Batches, func(b BatchStatus) bool { return b.Agreement != nil }) {
		out.Sections = append(out.Sections, h.agreement())
	}
	if slices.ContainsFunc(h.Batches, func(b BatchStatus) bool { return b.Merged }) {
		out.Sections = append(out.Sections, h.hits())
		if misses := h.misses(); len(misses.Table.Rows) > 0 {
			out.Sections = append(out.Sections, misses)
		}
	}
	if len(h.Iterations) == 0 {
		out.Facts = []string{noIteration}
		return out
	}
	dev, random := func(m *Metrics) *Evaluation { return m.Dev }, func(m *Metrics) *Evaluation { return m.Random }
	out.Sections = append(out.Sections, h.identifier("Identifier, development rows", dev))
	if slices.ContainsFunc(h.Iterations, func(m *Metrics) bool { return m.Random != nil }) {
		out.Sections = append(out.Sections, h.identifier("Identifier, reviewed rows of random slices", random))
	}
	if slices.ContainsFunc(h.Iterations, func(m *Metrics) bool { return m.Verifier != nil }) {
		out.Sections = append(out.Sections, h.verifier())
	}
	out.Sections = append(out.Sections, h.decisions(), h.counts(), h.Iterations[len(h.Iterations)-1].perLabel())
	return out
}

func (h *History) inUse() string {
	if h.Current < 0 {
		return "in use: the model to start from"
	}
	return "in use: iteration " + IterationName(h.Current)
}

// batches are a table of who answered what.
func (h *History) batches() report.Section {
	s := report.Section{Title: "Batches", Table: report.NewTable("Batch", "Chosen by", "Items", "Answers", "Skipped",
		"Reviewers", "Merged", "Conflicts", "Left out")}
	for _, i := range []int{1, 5, 6} { // texts
		s.Table.Columns[i].Right = false
	}
	for i := range h.Batches {
		b, by, merged := &h.Batches[i], "the model to start from", "no"
		if b.Iteration >= 0 {
			by = "iteration " + IterationName(b.Iteration)
		}
		if b.Merged {
			merged = "yes"
		}
		s.Table.Rows = append(s.Table.Rows, []any{b.ID, by, b.Items, total(b.Answers), total(b.Skipped),
			strings.Join(slices.Sorted(maps.Keys(b.Answers)), ", "), merged, b.Conflicts, b.Dropped})
		for _, note := range []string{b.Exported.words(), b.unmergedWords()} {
			if note != "" {
				s.Notes = append(s.Notes, b.ID+": "+note)
			}
		}
	}
	return s
}

func total(counts map[string]int) (sum int) {
	for _, n := range counts {
		sum += n
	}
	return sum
}

// agreement is a table of how far the reviewers of each batch agree.
func (h *History) agreement() report.Section {
	s := report.Section{Title: "Agreement of reviewers, by their first answers", Notes: []string{
		"Same labels in %; alpha: Krippendorff's; overlap: mean Jaccard of two reviewers' label sets."},
		Table: report.NewTable("Batch", "Rows that several answered", "Same labels", "Alpha", "Overlap")}
	figure := func(x *float64) report.Number {
		if x == nil {
			return report.Undefined
		}
		return report.Number(*x)
	}
	for _, b := range h.Batches {
		if a := b.Agreement; a != nil {
			s.Table.Rows = append(s.Table.Rows, []any{b.ID, a.Items, (100 * report.Number(a.Exact)).As("%.1f"),
				figure(a.Alpha), figure(a.Jaccard)})
		}
	}
	return s
}

// hits are a table of how often the identifier was right.
func (h *History) hits() report.Section {
	s := report.Section{Title: "Rows for which the identifier had found just the labels that were decided",
		Notes: []string{"Chosen rows are those of which it was unsure, or which models contradict: it is right more often " +
			"in the pool, for which the random slice alone stands."},
		Table: report.NewTable("Batch", "Chosen rows", "Right", "Random slice", "Right", "In the pool, 95 % interval")}
	for _, b := range h.Batches {
		if b.Merged {
			low, high := b.Random.Interval()
			interval := fmt.Sprintf("%.0f to %.0f %%", 100*low, 100*high)
			if b.Random.Rows == 0 {
				interval = "–"
			}
			s.Table.Rows = append(s.Table.Rows, []any{b.ID, b.Chosen.Rows, b.Chosen.Same, b.Random.Rows, b.Random.Same,
				interval})
		}
	}
	return s
}

// mostMisses is how many rows misses shows.
const mostMisses = 20

// misses are the rows of the last merged batch for which the identifier had found something else.
func (h *History) misses() report.Section {
	s := report.Section{Table: report.NewTable("Row", "Decided", "Found")}
	s.Table.Columns[1].Right, s.Table.Columns[2].Right = false, false
	for _, b := range slices.Backward(h.Batches) {
		if !b.Merged {
			continue
		}
		s.Title = "The others of " + b.ID
		all := slices.Concat(b.Chosen.Misses, b.Random.Misses)
		for _, d := range all[:min(len(all), mostMisses)] {
			s.Table.Rows = append(s.Table.Rows, []any{d.ItemID, strings.Join(d.Labels, ", "), strings.Join(d.Found, ", ")})
		}
		if more := len(all) - mostMisses; more > 0 {
			s.Notes = []string{fmt.Sprintf("the first %d; %d more: --json", mostMisses, more)}
		}
		return s
	}
	return s
}

// identifier is a table as the paper's Table 7, with the change against the model before.
func (h *History) identifier(title string, of func(*Metrics) *Evaluation) report.Section {
	s := report.Section{Title: title, Notes: []string{
		"F1 micro, macro, weighted; EMR: exact match; OPR: over-prediction (lower is better); in %. ± is against the model " +
			"before, on the same rows."}}
	titles := []string{"Iteration", "Rows"}
	for _, f := range shownFigures {
		titles = append(titles, f.short, "±")
	}
	s.Table = report.NewTable(titles...)
	add := func(name string, v *Evaluation, cells func(key string) (value report.Number, change any)) {
		row := []any{name, v.Rows}
		for _, f := range shownFigures {
			value, change := cells(f.key)
			row = append(row, (100 * value).As("%.1f"), change)
		}
		s.Table.Rows = append(s.Table.Rows, row)
	}
	var last *Evaluation
	for _, m := range h.Iterations {
		v := of(m)
		if v == nil {
			continue
		}
		if last == nil && m.Before != "" {
			add(m.Before, v, func(key string) (report.Number, any) { return v.Figures[key].before(), "" })
		}
		add(m.name(), v, func(key string) (report.Number, any) { return v.Figures[key].cells() })
		last = v
	}
	if last != nil {
		add("most frequent labels for every row", last, func(key string) (report.Number, any) {
			v, ok := last.Constant[key]
			if !ok {
				v = report.Undefined
			}
			return v, ""
		})
	}
	return s
}

// name is the iteration's, and that it is not in use.
func (m *Metrics) name() string {
	if !m.Promoted {
		return IterationName(m.Iteration) + " (not promoted)"
	}
	return IterationName(m.Iteration)
}

// cells are the figure and its change against the model before; f may be nil.
func (f *Figure) cells() (value report.Number, change any) {
	switch {
	case f == nil:
		return report.Undefined, ""
	case f.Difference == nil:
		return f.Value, ""
	}
	return f.Value, (100 * f.Difference.Value).As("%+.1f")
}

// before is the figure of the model before; f may be nil.
func (f *Figure) before() report.Number {
	if f == nil || f.Difference == nil {
		return report.Undefined
	}
	return f.Difference.Before
}

// verifier is a table as the paper's Table 8.
func (h *History) verifier() report.Section {
	s := report.Section{Title: "Verifier, right and wrong label sets of development rows",
		Table: report.NewTable("Iteration", "Label sets", "Right", "Accuracy", "Precision", "Recall", "F1")}
	for _, m := range h.Iterations {
		if v := m.Verifier; v != nil {
			s.Table.Rows = append(s.Table.Rows, []any{m.name(), v.Rows, v.Right, (100 * v.Accuracy).As("%.1f"),
				(100 * v.Precision).As("%.1f"), (100 * v.Recall).As("%.1f"), (100 * v.F1).As("%.1f")})
		}
	}
	return s
}

func (h *History) decisions() report.Section {
	s := report.Section{Title: "Decisions"}
	for _, m := range h.Iterations {
		s.Notes = append(s.Notes, IterationName(m.Iteration)+": "+m.Why)
	}
	return s
}

// counts are the rows with each label that each iteration was trained on.
func (h *History) counts() report.Section {
	titles := []string{"Iteration", "Rows"}
	for _, y := range h.of.Types {
		titles = append(titles, y.Code)
	}
	s := report.Section{Title: "Training rows with each label", Table: report.NewTable(titles...)}
	s.Table.Columns = append(s.Table.Columns, report.Column{Title: "From"})
	for _, m := range h.Iterations {
		row := []any{IterationName(m.Iteration), m.Training.Rows}
		for _, y := range h.of.Types {
			row = append(row, m.Training.Labels[y.Name])
		}
		s.Table.Rows = append(s.Table.Rows, append(row, m.Training.kindWords()))
	}
	return s
}

func (m *Metrics) perLabel() report.Section {
	s := report.Section{Title: fmt.Sprintf("Labels, iteration %s", IterationName(m.Iteration)),
		Table: report.NewTable("Label", "Rows", "Predicted", "Precision", "Recall", "F1", "Threshold")}
	for _, l := range m.Measured().Labels {
		var threshold any = ""
		if t, ok := m.Thresholds[l.Label]; ok {
			threshold = report.Number(t).As("%.3f")
		}
		s.Table.Rows = append(s.Table.Rows, []any{l.Label, l.Support, l.Predicted, (100 * l.Precision).As("%.1f"),
			(100 * l.Recall).As("%.1f"), (100 * l.F1).As("%.1f"), threshold})
	}
	return s
}

// Curves are the learning curve: a line a figure, over iterations, on the rows of Measured. What is not known is NaN.
func (h *History) Curves() []chart.Line {
	var lines []chart.Line
	for _, f := range shownFigures {
		l := chart.Line{Name: strings.ToUpper(f.name[:1]) + f.name[1:]}
		for _, m := range h.Iterations {
			v, low, high := math.NaN(), math.NaN(), math.NaN()
			if x := m.Measured().Figures[f.key]; x != nil {
				v, low, high = float64(x.Value), float64(x.Low), float64(x.High)
			}
			l.X, l.Y, l.Low, l.High = append(l.X, float64(m.Iteration)), append(l.Y, v), append(l.Low, low), append(l.High, high)
		}
		lines = append(lines, l)
	}
	return lines
}

// Draw draws the learning curve as "svg" or "png".
func (h *History) Draw(format string) ([]byte, error) {
	if len(h.Iterations) == 0 {
		return nil, errors.New(noIteration + ": there is no learning curve")
	}
	return chart.Curves("Learning curve, with 95 % intervals", "iteration", "share", h.Curves(), format)
}
