// Package asking lets the commands ask language models about rows. It opens their journal, shows what a run would ask
// and what it spends, and says how one goes on that was stopped.
package asking

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/plainjson"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/internal/runrecord"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/llm"
	"github.com/erreval/erreval/llm/journal"
	"github.com/erreval/erreval/llm/judging"
	"github.com/erreval/erreval/prompt"
	"github.com/erreval/erreval/report"
	"github.com/erreval/erreval/scorer"
)

// Options say which language models are asked, and how.
type Options struct {
	judging.Options
	Template   string // built-in name or file; "" is the one of the command's kind
	Joint      bool   // all dimensions in one call
	Panel      scorer.PanelOptions
	ShowPrompt string // id of a row
}

// Asks tells whether the run calls models and writes an output. o may be nil.
func (o *Options) Asks() bool { return o != nil && o.Calls }

// Judges are the models that a run asks, with what they are asked by.
type Judges struct {
	*judging.Session
	Template *prompt.Template

	Options *Options
}

// New makes models that are asked by a kind of templates about the rows of output, and finds what is wrong with
// them while there is no journal yet.
func New(o *Options, kind, output string) (*Judges, error) {
	j := &Judges{Options: o}
	if o.Journal == "" && output != run.Stdio && output != "" {
		o.Journal = filepath.Clean(output) + journal.Suffix
	}
	if o.Journal == "" && o.Asks() {
		return nil, exit.Usagef("the output is no file; say with --journal FILE where replies are kept")
	}
	var err error
	if j.Template, err = prompt.Open(cmp.Or(o.Template, kind)); err != nil {
		return nil, exit.With(exit.Usage, err)
	}
	if j.Template.Kind != kind {
		return nil, exit.Usagef("--template %s is of kind %s; this run needs one of kind %s", o.Template,
			j.Template.Kind, kind)
	}
	if j.Session, err = judging.New(o.Options); err != nil {
		return nil, exit.With(exit.Usage, err)
	}
	return j, nil
}

// During puts the journal between models and endpoints while do runs.
func (j *Judges) During(do func() error) (err error) {
	if err := j.Open(); err != nil {
		if _, ok := errors.AsType[*judging.MismatchError](err); ok {
			err = exit.With(exit.Usage, err)
		}
		return err
	}
	defer func() { err = errors.Join(err, j.Close()) }()
	return do()
}

// Ask has all do the work of a stage that asks models about each row; calls are those about a row. For --dry-run and
// --show-prompt it looks at these instead.
func (j *Judges) Ask(ctx context.Context, r *run.Run, s *run.Stage, asJSON bool,
	calls func(*dataset.Row) ([]Call, error), all func() error) error {
	if j.Options.Asks() { // before there is a journal: a run that cannot begin leaves none
		if err := r.ClearOutputs(func(old *runrecord.Record) bool {
			options, ok := old.Options.(map[string]any)
			return ok && old.Command == s.Command && options["judge"] != nil
		}, j.CheckPath); err != nil {
			return err
		}
	}
	return j.During(func() error {
		if !j.Options.Asks() {
			return j.look(ctx, r, asJSON, calls)
		}
		j.showProgress(r)
		s.Meter, s.Stop = j.meter, j.FindStop
		return all()
	})
}

// CheckPath refuses a journal that would be the input, or one of the files of the output.
func (j *Judges) CheckPath(input, output string) error {
	for _, other := range []string{input, output, dataset.PartialPath(output), runrecord.Path(output)} {
		if other != run.Stdio && other != "" && dataset.SameFile(j.Path(), other) {
			return exit.Usagef("the journal %s would be the same file as %s; choose another name with --journal",
				j.Path(), other)
		}
	}
	return nil
}

// NewRecord is how rows are asked about.
func (j *Judges) NewRecord(rows runrecord.Reading) judging.Record {
	return j.Options.Record(rows, j.Template.ID()+" sha256:"+j.Template.Hash())
}

// Describe says in words what was spent.
func (j *Judges) Describe(u judging.Used) string {
	text := fmt.Sprintf("%s, %d tokens in, %d out", words.Plural(int(u.Calls), "call", "calls"), u.Input, u.Output)
	unpriced := j.Unpriced()
	if len(unpriced) < len(j.Options.Models) {
		text += fmt.Sprintf(", %.4f %s", u.Cost, j.Prices().Currency)
		if len(unpriced) > 0 {
			text += " without the calls of " + strings.Join(unpriced, ", ") + ", of unknown price"
		}
	}
	if u.AtMost > 0 {
		text += fmt.Sprintf(" at most, as nothing says what %s used", words.Plural(int(u.AtMost), "call", "calls"))
	}
	return text
}

// DescribeUsage says what this run cost, and all of the journal's where there were others.
func (j *Judges) DescribeUsage(u *judging.Usage) string {
	if u.ThisRun == u.Journal {
		return "this run: " + j.Describe(u.ThisRun)
	}
	return fmt.Sprintf("this run: %s; the journal in all: %s", j.Describe(u.ThisRun), j.Describe(u.Journal))
}

// SayUsage says it of a run that is over, unless it is quiet.
func (j *Judges) SayUsage(p *run.Process) error {
	u, err := j.Usage()
	if err == nil {
		p.Say("%s", j.DescribeUsage(u))
	}
	return err
}

// ErrNoReply is the error of a run in which the model answered nothing.
var ErrNoReply = exit.With(exit.Judge,
	errors.New("the model gave no reply at all; the same command with --overwrite asks again"))

// Why is where it is said why there is no reply, and, where judges were asked (j is not nil), how unusable replies are
// asked for again.
func (j *Judges) Why(where string) string {
	if j == nil {
		return where
	}
	return where + "; --overwrite --retry-unusable asks unusable replies anew"
}

// DescribeNextRun says how a run goes on that was stopped or interrupted.
func (j *Judges) DescribeNextRun() string {
	but := ", but for those that could not be used"
	if j.Options.ReplayRejected {
		but = "; --retry-unusable asks anew for those that could not be used"
	}
	return fmt.Sprintf("the replies so far are in %s: the same command goes on from there, "+
		"and pays for none of them again%s", j.Path(), but)
}

// FindStop tells an error of an endpoint or the budget, which ends a run in good order.
func (j *Judges) FindStop(err error) *run.Stop {
	kind := llm.KindOf(err)
	if kind == 0 {
		return nil
	}
	code := exit.Judge
	if kind == llm.Broken {
		code = exit.Failed
	}
	return &run.Stop{Reason: kind.String(), GoOn: j.DescribeNextRun(), Code: code}
}

// Call is one call that a run would make.
type Call struct {
	Judge   string
	Title   string // of what --show-prompt prints
	Shown   bool   // by --show-prompt, which leaves out what other judges are asked in the same words
	Request *llm.Request
}

// Subject is a row that models would be asked about, or a text that they would write for a row.
type Subject struct {
	ID    string // of the row
	Many  bool   // it is about many rows, which are counted by themselves
	Calls func() ([]Call, error)
}

// VisitSubjects goes through all that a run would ask about. It gives the number of lines that are no rows.
type VisitSubjects func(visit func(*Subject) error) (rejected int, err error)

// LookAt does what --dry-run and --show-prompt ask for; notFound and first are showPrompt's.
func (j *Judges) LookAt(p *run.Process, asJSON bool, all VisitSubjects, notFound, first string) error {
	if j.Options.ShowPrompt != "" {
		return j.showPrompt(p, all, notFound, first)
	}
	return j.dryRun(p, asJSON, all)
}

// dryRun prints what a run would call.
func (j *Judges) dryRun(p *run.Process, asJSON bool, all VisitSubjects) error {
	f := j.Forecast()
	var err error
	f.Rejected, err = all(func(s *Subject) error {
		calls, err := s.Calls()
		if err != nil {
			return err
		}
		if !s.Many {
			f.Rows++
		}
		for _, c := range calls {
			if err := f.Add(c.Judge, c.Request); err != nil {
				return err
			}
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case asJSON:
		return plainjson.Write(p.Out, f)
	}
	return f.Text(run.Guard(p.Out), j.Unpriced())
}

// showPrompt prints what is asked about the first subject with the id that was given. Where there is none, the error
// says notFound, and the id of the first subject: first, unless that is empty.
func (j *Judges) showPrompt(p *run.Process, all VisitSubjects, notFound, first string) error {
	found := false
	_, err := all(func(s *Subject) error {
		first = cmp.Or(first, s.ID)
		if !report.IsSameID(j.Options.ShowPrompt, s.ID) || found {
			return nil
		}
		found = true
		calls, err := s.Calls()
		if err == nil && len(calls) == 0 {
			p.Warn("no judge is asked about row %s: it is scored offline, or its labels cannot be shown", s.ID)
		}
		for _, c := range calls {
			if c.Shown {
				w := run.Guard(p.Out)
				PrintMessages(w, c.Title, c.Request.Messages)
				fmt.Fprintln(w)
			}
		}
		return err
	})
	if err == nil && first == "" {
		return errors.New("--show-prompt: no row could be read; the same line with --dry-run, or with -o OUT, says why")
	}
	if err == nil && !found {
		err = exit.Usagef("--show-prompt: %s; its first is --show-prompt %s, or --show-prompt '*'; an id may be cut, with * "+
			"in the place of the rest", notFound, words.Quote(report.ShortID(first)))
	}
	return err
}

// PrintMessages prints what a model is asked.
func PrintMessages(w io.Writer, title string, messages []llm.Message) {
	fmt.Fprintf(w, "===== %s =====\n", title)
	for _, m := range messages {
		fmt.Fprintf(w, "--- %s ---\n%s\n", m.Role, m.Content)
	}
}

// showProgress says who is asked, and what is spent as the run goes on.
func (j *Judges) showProgress(r *run.Run) {
	for i := range j.Options.Models {
		if s := &j.Options.Models[i]; s.Configured() { // by a file in the current folder
			r.Say("judge %s is %s at %s, see %s", s.Name, s.Model, s.Endpoint.Host(), s.File)
		}
	}
	r.Progress.More = func() string { return ", " + j.Describe(j.Used()) }
}

// meter measures what is used for one file.
func (j *Judges) meter() func() (any, error) {
	before := j.Used()
	return func() (any, error) {
		u, err := j.Usage()
		if err == nil && len(j.Options.Models) == 1 {
			u.ThisRun = u.ThisRun.Minus(before)
			u.ByJudge = map[string]judging.Used{j.Options.Models[0].Name: u.ThisRun}
		}
		return u, err
	}
}

// look does what --dry-run and --show-prompt ask for, for a run that asks questions about each row.
func (j *Judges) look(ctx context.Context, r *run.Run, asJSON bool,
	calls func(*dataset.Row) ([]Call, error)) error {
	all := func(visit func(*Subject) error) (int, error) {
		return r.Each(ctx, func(row *dataset.Row) error {
			return visit(&Subject{ID: row.ID, Calls: func() ([]Call, error) { return calls(row) }})
		})
	}
	return j.LookAt(r.Process, asJSON, all,
		fmt.Sprintf("%s has no row %q", strings.Join(r.Inputs, ", "), j.Options.ShowPrompt), "")
}

// CallsOf are the calls of the questions about a row; of these the first judge's are shown, each once.
func CallsOf[Q any](j *Judges, questions func(*dataset.Row) ([]Q, error),
	of func(Q) Call) func(*dataset.Row) ([]Call, error) {
	return func(row *dataset.Row) ([]Call, error) {
		asked, err := questions(row)
		calls := make([]Call, len(asked))
		for i, q := range asked {
			calls[i] = of(q)
			calls[i].Shown = calls[i].Judge == j.Options.Models[0].Name && calls[i].Request.Repeat == 0
		}
		return calls, err
	}
}

// CallOf is the call of a question about a row.
func CallOf(q *scorer.Question) Call {
	return Call{Judge: q.Judge, Title: q.Title(), Request: q.Request}
}
