package simulate

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/report"
	"github.com/erreval/erreval/taxonomy"
)

// Summary counts examples that rules made.
type Summary struct {
	Rows       int            `json:"rows"`     // that examples were made of
	LeftOut    int            `json:"left_out"` // rows with errors
	Examples   int            `json:"examples"`
	Combined   int            `json:"combined"`   // with several mechanisms
	Labels     map[string]int `json:"labels"`     // examples that have it, by the taxonomy's code
	Mechanisms map[string]int `json:"mechanisms"` // examples that it made, "a+b" where two did

	taxonomy *taxonomy.Taxonomy
}

// NewSummary counts examples with labels of t.
func NewSummary(t *taxonomy.Taxonomy) *Summary {
	return &Summary{taxonomy: t, Labels: map[string]int{}, Mechanisms: map[string]int{}}
}

// Add counts an example with the labels that a mechanism planted.
func (s *Summary) Add(labels []string, mechanism string) {
	s.Examples++
	s.Mechanisms[mechanism]++
	if strings.Contains(mechanism, "+") {
		s.Combined++
	}
	for _, label := range labels {
		s.Labels[label]++
	}
}

// Counts are the counts by the names that stand in the record of a run.
func (s *Summary) Counts() map[string]int {
	out := map[string]int{"rows": s.Examples, "combined": s.Combined, "left_out": s.LeftOut}
	for label, n := range s.Labels {
		out["label."+label] = n
	}
	return out
}

// Text writes the summary as lines.
func (s *Summary) Text(w io.Writer) error {
	fmt.Fprintf(w, "%d examples of %d rows:", s.Examples, s.Rows)
	if s.Combined > 0 {
		fmt.Fprintf(w, " %d with a second error;", s.Combined)
	}
	for _, y := range s.taxonomy.Types {
		if n := s.Labels[y.Code]; n > 0 {
			fmt.Fprintf(w, " %s %s", y.Code, report.Percent(n, s.Examples))
		}
	}
	fmt.Fprintln(w)
	if s.LeftOut > 0 {
		fmt.Fprintf(w, "%s with errors left out\n", words.Plural(s.LeftOut, "row", "rows"))
	}
	return s.writeMechanisms(w)
}

// writeMechanisms writes how often each mechanism had a part.
func (s *Summary) writeMechanisms(w io.Writer) error {
	parts := map[string]int{}
	for mechanism, n := range s.Mechanisms {
		for part := range strings.SplitSeq(mechanism, "+") {
			parts[part] += n
		}
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(code string, names []string) {
		var texts []string
		for _, name := range names {
			if n := parts[name]; n > 0 {
				texts = append(texts, fmt.Sprintf("%s %d", name, n))
			}
		}
		if len(texts) > 0 {
			fmt.Fprintf(t, "%s\t%s\n", code, strings.Join(texts, ", "))
		}
	}
	for _, y := range s.taxonomy.Types {
		if y.Simulate != nil {
			line(y.Code, y.Simulate.Edits)
		}
	}
	if len(EditMix(s.taxonomy)) == 0 { // it names no edits: rules made them
		for _, code := range Codes() {
			line(code, Mechanisms(code))
		}
	}
	return t.Flush()
}

// VerifierSummary counts rows for a verifier.
type VerifierSummary struct {
	Rows       int            `json:"rows"` // with labels
	Right      int            `json:"right"`
	Wrong      int            `json:"wrong"`
	Mechanisms map[string]int `json:"mechanisms"` // of the wrong sets
}

// Add counts a row.
func (s *VerifierSummary) Add(r *VerifierRow) {
	if r.Right {
		s.Right++
		return
	}
	s.Wrong++
	s.Mechanisms[r.Mechanism]++
}

// Counts are the counts by the names that stand in the record of a run.
func (s *VerifierSummary) Counts() map[string]int {
	out := map[string]int{"rows": s.Right + s.Wrong, "right": s.Right, "wrong": s.Wrong}
	for mechanism, n := range s.Mechanisms {
		out["mechanism."+mechanism] = n
	}
	return out
}

// Text writes the summary as a line.
func (s *VerifierSummary) Text(w io.Writer) error {
	_, err := fmt.Fprintf(w, "%s with labels: %d right sets, %d wrong ones (%s)\n", words.Plural(s.Rows, "row", "rows"),
		s.Right, s.Wrong, words.Counts(s.Mechanisms))
	return err
}
