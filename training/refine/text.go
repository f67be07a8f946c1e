package refine

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/report"
	"github.com/erreval/erreval/taxonomy"
)

// shownFigures are the columns of the paper's Table 7.
var shownFigures = []struct{ key, name, short string }{
	{"micro_f1", "micro-F1", "F1 micro"}, {"macro_f1", "macro-F1", "F1 macro"}, {"weighted_f1",
		"weighted F1", "F1 weighted"},
	{"exact_match", "exact match", "EMR"}, {"over_prediction", "over-prediction", "OPR"},
}

func groupWords(group string) string {
	if group == "" {
		return "each row by itself"
	}
	return "rows with the same " + group
}

// kindWords is "3 review, 12 start".
func (c *TrainingCounts) kindWords() string {
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(c.Kinds)) {
		if n := c.Kinds[kind]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, kind))
		}
	}
	return strings.Join(parts, ", ")
}

// labelWords counts the labels of some rows, in the taxonomy's order.
func labelWords(counts map[string]int, t *taxonomy.Taxonomy) string {
	var parts []string
	for _, y := range t.Types {
		if n := counts[y.Name]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", y.Code, n))
		}
	}
	return cmp.Or(strings.Join(parts, ", "), "none")
}

// missingWords name the labels of no row.
func missingWords(counts map[string]int, t *taxonomy.Taxonomy) string {
	var missing []string
	for _, y := range t.Types {
		if counts[y.Name] == 0 {
			missing = append(missing, y.Code)
		}
	}
	if missing == nil {
		return ""
	}
	return "; no row of " + strings.Join(missing, ", ")
}

// Text writes where a workspace stands, and what to do next.
func (s *Status) Text(w io.Writer) error {
	var out report.Lines
	out.Add("workspace", "%s, %s, %s", s.Dir, s.Taxonomy, groupWords(s.Group))
	out.Add("pool", "%s", words.Plural(s.Pool, "row", "rows"))
	training := words.Plural(s.Training.Rows, "row", "rows")
	if kinds := s.Training.kindWords(); kinds != "" {
		training += ": " + kinds
	}
	out.Add("training", "%s", training)
	if s.Training.Rows > 0 {
		out.Add("labels", "%s", labelWords(s.Training.Labels, s.of)+missingWords(s.Training.Labels, s.of))
	}
	if s.Dev+s.Random+s.Held > 0 {
		out.Add("development", "%s, %d of random slices, %d put aside", words.Plural(s.Dev, "row", "rows"), s.Random, s.Held)
	}
	for _, b := range s.Batches {
		out.Add("batch "+b.ID, "%s", b.words())
	}
	for _, i := range s.Iterations {
		out.Add("iteration "+IterationName(i.Iteration), "%s", i.words())
	}
	out.Add("in use", "%s", s.modelWords())
	if s.Underway != nil {
		out.Add("a training", "%s", s.Underway.words())
	}
	out.Add("last step", "%s", s.Last.Step)
	if s.Lacks != "" && s.Training.Rows > 0 {
		out.Add("to train", "%s", strings.ReplaceAll(s.Lacks, "\n", "; "))
	}
	out.Add("next", "%s", s.Why)
	if err := out.Text(w); err != nil || s.Next == "" {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%s\n", s.Next)
	return err
}

func (b *BatchStatus) words() string {
	text := words.Plural(b.Items, "item", "items")
	for _, who := range slices.Sorted(maps.Keys(b.Answers)) {
		text += fmt.Sprintf(", %s answered %d", who, b.Answers[who])
		if n := b.Skipped[who]; n > 0 {
			text += fmt.Sprintf(" and skipped %d", n)
		}
	}
	if b.Merged {
		text += ", merged"
	}
	var open []string
	if b.Missing > 0 {
		open = append(open, fmt.Sprintf("%d not answered", b.Missing))
	}
	if b.Conflicts > 0 {
		wait := words.Plural(b.Conflicts, "in conflict, which waits", "in conflict, which wait") +
			" to be decided " + b.Places()
		if b.Settled > 0 {
			wait = fmt.Sprintf("%d in conflict, of which %d %s decided and not merged yet", b.Conflicts, b.Settled,
				map[bool]string{true: "is", false: "are"}[b.Settled == 1])
		}
		open = append(open, wait)
	}
	if len(open) > 0 {
		text += " but for " + strings.Join(open, " and ")
	}
	if b.Dropped > 0 {
		text += fmt.Sprintf("; %d left out for good", b.Dropped)
	}
	return text + words.Prefixed("; ", b.unmergedWords()) + words.Prefixed("; ", b.Exported.words())
}

// unmergedWords say which answers on the page no merge used; "" where there are none.
func (b *BatchStatus) unmergedWords() string {
	var parts []string
	for _, who := range slices.Sorted(maps.Keys(b.Unmerged)) {
		parts = append(parts, fmt.Sprintf("%s of %s", words.Plural(b.Unmerged[who], "answer", "answers"), who))
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, " and ") + " on the page not merged yet"
}

func (i *IterationLine) words() string {
	var parts []string
	for _, f := range shownFigures {
		if v, ok := i.Figures[f.key]; ok && f.key != "weighted_f1" {
			parts = append(parts, f.name+" "+v.Text("%.3f"))
		}
	}
	if i.Verifier != nil {
		parts = append(parts, "verifier F1 "+i.Verifier.Text("%.3f"))
	}
	if !i.Promoted {
		parts = append(parts, "not promoted")
	}
	return strings.Join(parts, ", ")
}

func (s *Status) modelWords() string {
	switch {
	case s.Model == "":
		return "no model yet"
	case s.Current < 0:
		return s.Model + ", the model to start from"
	}
	return s.Model
}

// Text writes the plan.
func (p *TrainPlan) Text(w io.Writer) error {
	var out report.Lines
	out.Add("trainer", "%s", cmp.Or(words.QuoteAll(p.Command), "none on this machine yet"))
	out.Add("encoder", "%s", p.Encoder)
	out.Add("rows", "%d to train on, %d to choose by", p.Rows, p.Dev)
	out.Add("steps", "%s", p.stepWords())
	out.Add("time", "%s", p.timeWords())
	for _, few := range p.Few {
		out.Add("too few", "%s", few)
	}
	return out.Text(w)
}

// Text writes the figures of an iteration that was just trained, and what was made of it.
func (m *Metrics) Text(w io.Writer) error {
	var out report.Lines
	out.Add("iteration", "%s, %s", IterationName(m.Iteration), m.Model)
	out.Add("trained on", "%s: %s", words.Plural(m.Training.Rows, "row", "rows"), m.Training.kindWords())
	for _, part := range []struct {
		name string
		e    *Evaluation
	}{{"development", m.Dev}, {"random slices", m.Random}} {
		if part.e != nil {
			out.Add(part.name, "%s", part.e.words())
		}
	}
	if v := m.Verifier; v != nil {
		three := func(n report.Number) string { return n.Text("%.3f") }
		out.Add("verifier", "accuracy %s, precision %s, recall %s, F1 %s on %d label sets",
			three(v.Accuracy), three(v.Precision), three(v.Recall), three(v.F1), v.Rows)
	}
	if never := m.Measured().neverGiven(); len(never) > 0 {
		out.Add("never given", "%s", words.Printable(strings.Join(never, ", ")))
	}
	out.Add("decision", "%s", words.Printable(m.Why))
	out.Add("written", "%s", m.dir)
	return out.Text(w)
}

// neverGiven are the labels that rows have, and that the model gave to none.
func (e *Evaluation) neverGiven() (labels []string) {
	for _, l := range e.Labels {
		if l.Support > 0 && l.Predicted == 0 {
			labels = append(labels, l.Label)
		}
	}
	return labels
}

func (e *Evaluation) words() string {
	text := words.Plural(e.Rows, "row", "rows")
	for _, s := range shownFigures {
		f := e.Figures[s.key]
		if f == nil {
			continue
		}
		text += ", " + s.name + " " + f.Value.Text("%.3f")
		if f.Difference != nil {
			text += fmt.Sprintf(" (%+.3f)", float64(f.Difference.Value))
		}
	}
	if e.Trained > 0 {
		text += fmt.Sprintf("; %d of them share their group with a training row, which favours models trained on it",
			e.Trained)
	}
	return text
}

// Text writes what a workspace was made of.
func (m *Made) Text(w io.Writer) error {
	var out report.Lines
	out.Add("workspace", "%s, %s", m.dir, m.taxonomy)
	out.Add("pool", "%s", words.Plural(m.Pool, "row", "rows"))
	if m.Train+m.Dev > 0 {
		out.Add("groups", "%s", groupWords(m.Group))
		out.Add("training", "%s", words.Plural(m.Train, "row", "rows"))
		out.Add("development", "%s of %s", words.Plural(m.Dev, "row", "rows"), words.Plural(m.Groups, "group", "groups"))
	}
	if m.Held > 0 {
		out.Add("put aside", "%s of a group with development rows", words.Plural(m.Held, "row", "rows"))
	}
	if m.Renamed > 0 {
		out.Add("ids", "%s of a row in another file got one of their own: pool:ID, train:ID",
			words.Plural(m.Renamed, "row with the id", "rows with the ids"))
	}
	if m.Next != "" {
		out.Add("next", "erreval refine %s %s%s", m.Next, words.Quote(m.dir),
			map[string]string{"select": " (--size N for a batch of N rows)"}[m.Next])
	}
	return out.Text(w)
}

// Warnings say which rows were left out and why, a sentence each.
func (m *Made) Warnings() []string {
	var out []string
	for _, fault := range m.Examples {
		out = append(out, words.Printable(fault.Error()))
	}
	if more := m.Rejected - m.Duplicates - len(m.Examples); more > 0 {
		out = append(out, fmt.Sprintf("and %d more like these", more))
	}
	if m.Duplicates > 0 {
		out = append(out, fmt.Sprintf("%s; the first: %s", words.Plural(m.Duplicates, "row is a duplicate",
			"rows are duplicates"), words.Printable(m.duplicate)))
	}
	if m.Rejected > 0 {
		out = append(out, fmt.Sprintf("%s left out, and kept in *.rejected.jsonl of %s",
			words.Plural(m.Rejected, "row was", "rows were"), m.dir))
	}
	return out
}
