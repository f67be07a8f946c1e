// Package llmsim lets language models write rows with known errors. It does as the ErrEval paper does to begin with
// (3.1, E.1): one writes a text with a given error, shown one example of it; several say how sure they are that the
// error is there; what enough of them are sure of is kept. It works for any taxonomy and for any of its fields.
package llmsim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/llm"
	"github.com/erreval/erreval/llm/ask"
	"github.com/erreval/erreval/prompt"
	"github.com/erreval/erreval/taxonomy"
)

// Options say what is written, and what is kept.
type Options struct {
	Taxonomy *taxonomy.Taxonomy
	Field    int              // index of the field that is written
	Write    *prompt.Template // of kind prompt.Simulate
	Confirm  *prompt.Template // of kind prompt.Confirm
	// Examples are rows with labels. A prompt shows one that has the error asked for, chosen by Seed; none if there is
	// none.
	Examples []prompt.Example
	// Agree is how many judges, at least 1, must be sure; Confidence is how sure, 0 to 1.
	Agree      int
	Confidence float64
	Attempts   int    // calls for one answer while replies do not hold it, >= 1
	Workers    int    // texts under way at once, >= 1; how many calls are in flight is the clients' to limit
	Seed       uint64 // chooses examples
}

// DefaultOptions are the paper's filter, at least two judges with 0.8, and up to three calls for an answer, 16 texts
// under way. Taxonomy and templates are missing.
func DefaultOptions() Options {
	return Options{Agree: 2, Confidence: 0.8, Attempts: 3, Workers: 16}
}

// Validate joins all faults of o.
func (o *Options) Validate() error {
	var faults []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			faults = append(faults, fmt.Errorf("simulation: "+format, args...))
		}
	}
	check(o.Taxonomy != nil && o.Field >= 0 && o.Field < len(o.Taxonomy.Fields), "no taxonomy, or no field of it")
	check(o.Write != nil && o.Write.Kind == prompt.Simulate, "the template that asks for texts is of kind %s",
		prompt.Simulate)
	check(o.Confirm != nil && o.Confirm.Kind == prompt.Confirm, "the template that asks for confidence is of kind %s",
		prompt.Confirm)
	check(o.Agree >= 1, "%d judges that agree; at least 1 is needed", o.Agree)
	check(o.Confidence >= 0 && o.Confidence <= 1, "a confidence is 0 to 1; got %v", o.Confidence)
	check(o.Attempts >= 1, "%d attempts; at least 1 is needed", o.Attempts)
	check(o.Workers >= 1 && o.Workers <= 1<<16, "%d workers; give 1 to %d", o.Workers, 1<<16)
	return errors.Join(faults...)
}

// Simulator asks models. Safe for concurrent use.
type Simulator struct {
	o      Options
	writer *ask.Asker
	judges []*ask.Asker
}

// New checks models and options. The writer may be one of the judges.
func New(writer llm.Model, judges []llm.Model, o Options) (*Simulator, error) {
	faults := []error{o.Validate(), writer.Validate()}
	s := &Simulator{o: o, writer: ask.New(writer)}
	for i := range judges {
		faults = append(faults, judges[i].Validate())
		if slices.ContainsFunc(s.judges, func(a *ask.Asker) bool { return a.Name == judges[i].Name }) {
			faults = append(faults, fmt.Errorf("judge %s is asked twice", judges[i].Name))
		}
		judge := ask.New(judges[i])
		if judge.Name == writer.Name {
			judge = s.writer // whether it gives replies is known once
		}
		s.judges = append(s.judges, judge)
	}
	if len(judges) < o.Agree {
		faults = append(faults, fmt.Errorf("%d judges cannot be %d that agree", len(judges), o.Agree))
	}
	return s, errors.Join(faults...)
}

// Why a candidate was not kept.
const (
	Disagreement = "disagreement" // too few judges were sure enough
	Unchanged    = "unchanged"    // the text is the one that the row has
	Unwritten    = "unwritten"    // the writer gave no text
	Unconfirmed  = "unconfirmed"  // so many judges gave no confidence that the others were too few
)

// Candidate is what became of a job.
type Candidate struct {
	Job
	Text       string       // empty where the writer gave none
	Example    bool         // the writer was shown an example of the error
	Confidence []Confidence // by judge; none where there is no text to judge
	Rejected   string       // why it was not kept, one of the constants; empty if it was
	Detail     string       // of the writer's fault, for people
	Unread     int          // replies, of writer and judges, that did not hold what was asked for
}

// Confidence is a judge's that the error is there.
type Confidence struct {
	Judge string   `json:"judge"`
	P     *float64 `json:"confidence"`       // 0 to 1; nil is not known
	Fault string   `json:"reason,omitempty"` // why not
}

// Run writes the texts of jobs and hands each, in order, to emit, which is called by one goroutine. A text that is not
// written or judged does not end the run. What does are errors of emit, errors of calls that concern every call (see
// llm.Kind.Stops), a model that gives no reply any more (llm.Unavailable), and the end of ctx; then the candidates
// before the first that is not whole are emitted.
func (s *Simulator) Run(ctx context.Context, jobs []Job, emit func(*Candidate) error) error {
	for batch := range slices.Chunk(jobs, perWorker*s.o.Workers) {
		done := make([]*Candidate, len(batch))
		g, inner := errgroup.WithContext(ctx)
		g.SetLimit(s.o.Workers)
		for i := range batch {
			g.Go(func() (err error) {
				if inner.Err() != nil {
					return context.Cause(inner)
				}
				c, err := s.candidate(inner, batch[i])
				if err == nil {
					done[i] = c
				}
				return err
			})
		}
		err := g.Wait()
		for _, c := range done {
			if c == nil {
				break
			}
			if fault := emit(c); fault != nil {
				return fault
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// perWorker texts are written between two emissions.
const perWorker = 8

// candidate writes one text and has it judged. The error is one that ends the run.
func (s *Simulator) candidate(ctx context.Context, j Job) (*Candidate, error) {
	c := &Candidate{Job: j}
	var err error
	if c.Text, err = s.write(ctx, c); err != nil || c.Rejected != "" {
		return c, err
	}
	if sameText(c.Text, j.Row.Values[s.o.Field]) {
		c.Rejected = Unchanged
		return c, nil
	}
	c.Confidence = make([]Confidence, len(s.judges))
	unread := make([]int, len(s.judges))
	var g errgroup.Group
	for i, m := range s.judges {
		g.Go(func() (err error) {
			c.Confidence[i], unread[i], err = s.confirm(ctx, m, j, c.Text)
			return err
		})
	}
	err = g.Wait()
	for _, n := range unread {
		c.Unread += n
	}
	c.Rejected = s.verdict(c.Confidence)
	return c, err
}

// verdict is empty where enough judges are sure.
func (s *Simulator) verdict(confidence []Confidence) string {
	sure, silent := 0, 0
	for _, c := range confidence {
		switch {
		case c.P == nil:
			silent++
		case *c.P >= s.o.Confidence:
			sure++
		}
	}
	switch {
	case sure >= s.o.Agree:
		return ""
	case sure+silent >= s.o.Agree:
		return Unconfirmed
	}
	return Disagreement
}

// Requests are the calls that a job needs, if each first reply holds what is asked for: the writer's, then the judges'.
// The judges' are about the row's own text, in the place of the one that is not written yet.
func (s *Simulator) Requests(j Job) (names []string, requests []*llm.Request, err error) {
	request, _, err := s.writing(j)
	if err != nil {
		return nil, nil, err
	}
	names, requests = []string{s.writer.Name}, []*llm.Request{request}
	for _, m := range s.judges {
		request, err := s.confirming(m, j, j.Row.Values[s.o.Field])
		if err != nil {
			return nil, nil, err
		}
		names, requests = append(names, m.Name), append(requests, request)
	}
	return names, requests, nil
}

// idOf is the id of the row that a job makes.
func (s *Simulator) idOf(j Job) string {
	id := j.Row.ID + "~" + s.o.Taxonomy.Types[j.Type].Code
	if j.Nth > 0 {
		id = fmt.Sprintf("%s~%d", id, j.Nth+1)
	}
	return id
}

// Record is a candidate as a row: id, origin, the taxonomy's fields, labels (the code of the error), mechanism, and the
// judges' confidence; with the reason and what is known of it where it was not kept.
func (s *Simulator) Record(c *Candidate) (*dataset.Row, error) {
	t := s.o.Taxonomy
	row, err := dataset.RowOf(struct{}{})
	if err != nil {
		return nil, err
	}
	y := t.Types[c.Type]
	faults := []error{row.Set("id", s.idOf(c.Job)), row.Set("origin", c.Row.ID)}
	for i, f := range t.Fields {
		text := c.Row.Values[i]
		if i == s.o.Field {
			text = c.Text
		}
		faults = append(faults, row.Set(f.Name, text))
	}
	faults = append(faults, row.Set("labels", []string{y.Code}), row.Set("mechanism", "written by "+s.writer.Name))
	if c.Confidence != nil {
		faults = append(faults, row.Set("confidence", c.Confidence))
	}
	if c.Rejected != "" {
		faults = append(faults, row.Set("rejected", c.Rejected))
	}
	if c.Detail != "" {
		faults = append(faults, row.Set("detail", c.Detail))
	}
	return row, errors.Join(faults...)
}

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
