package llmsim

import (
	"fmt"
	"io"
	"strings"

	"github.com/erreval/erreval/internal/words"
)

// Summary counts what was written.
type Summary struct {
	Written  int            `json:"written"`  // texts asked for
	Examples int            `json:"examples"` // kept
	Rejected map[string]int `json:"rejected"` // by reason
	Unread   int            `json:"unread"`   // replies that did not hold what was asked for
	ZeroShot int            `json:"zero_shot"`
	Asked    map[string]int `json:"asked"` // by the taxonomy's code
	Kept     map[string]int `json:"kept"`  // by the taxonomy's code

	of *Simulator
}

// NewSummary counts what s writes.
func (s *Simulator) NewSummary() *Summary {
	return &Summary{of: s, Rejected: map[string]int{}, Asked: map[string]int{}, Kept: map[string]int{}}
}

// Add counts a candidate.
func (s *Summary) Add(c *Candidate) {
	code := s.of.o.Taxonomy.Types[c.Type].Code
	s.Written++
	s.Asked[code]++
	s.Unread += c.Unread
	if !c.Example {
		s.ZeroShot++
	}
	if c.Rejected == "" {
		s.Examples++
		s.Kept[code]++
	} else {
		s.Rejected[c.Rejected]++
	}
}

// WroteNothing tells whether texts were asked for and the writer gave none.
func (s *Summary) WroteNothing() bool { return s.Written > 0 && s.Rejected[Unwritten] == s.Written }

// Counts are the counts by the names that stand in the record of a run.
func (s *Summary) Counts() map[string]int {
	out := map[string]int{"written": s.Written, "rows": s.Examples, "unread": s.Unread}
	for reason, n := range s.Rejected {
		out["rejected."+reason] = n
	}
	for code, n := range s.Kept {
		out["label."+code] = n
	}
	return out
}

// Text writes the summary as lines; rejected is the file of the texts that were not kept.
func (s *Summary) Text(w io.Writer, rejected string) {
	o := s.of.o
	judges := make([]string, len(s.of.judges))
	for i, judge := range s.of.judges {
		judges[i] = judge.Name
	}
	fmt.Fprintf(w, "%s asked of %s, %d kept: at least %d of %s %.2g sure or more",
		words.Plural(s.Written, "text", "texts"), s.of.writer.Name, s.Examples, o.Agree, strings.Join(judges,
			", "), o.Confidence)
	if len(s.Rejected) > 0 {
		fmt.Fprintf(w, "; not kept: %s, see %s", words.Counts(s.Rejected), rejected)
	}
	fmt.Fprintln(w)
	for _, y := range o.Taxonomy.Types {
		if n := s.Asked[y.Code]; n > 0 {
			fmt.Fprintf(w, "%-8s %d of %d\n", y.Code, s.Kept[y.Code], n)
		}
	}
	if s.ZeroShot > 0 {
		fmt.Fprintf(w, "%s asked for without an example of the error\n", words.Plural(s.ZeroShot, "text was", "texts were"))
	}
	if s.Unread > 0 {
		fmt.Fprintf(w, "%s not hold what was asked for\n", words.Plural(s.Unread, "reply did", "replies did"))
	}
}
