package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/llm"
	"github.com/erreval/erreval/llm/judging"
	"github.com/erreval/erreval/prompt"
	"github.com/erreval/erreval/report"
	"github.com/erreval/erreval/scorer"
)

// announceModels says what names stand for that a file in the current directory may have given a meaning.
func (j *judges) announceModels(r *identifyRun) {
	for i := range j.o.Models {
		if s := &j.o.Models[i]; s.Configured() {
			r.say("judge %s is %s at %s, see %s", s.Name, s.Model, s.Endpoint.Host(), s.File)
		}
	}
}

// judgingGC is for a heap of a few MB, through which prompts and replies pass quickly: a fifth of the time at Go's 100.
const judgingGC = 400

// judgingThreads share a processor: most of the work is a few microseconds long, and what the journal writes holds a thread
// meanwhile. On two busy cores a call waits a tenth less for its turn.
const judgingThreads = 2

// judgeRows scores rows by the panel until the input ends, the user interrupts, or no call can be made.
func (f *scoreFile) judgeRows(ctx context.Context) error {
	j := f.score.judges
	if f.run.e.Getenv("GOMAXPROCS") == "" {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(judgingThreads * runtime.GOMAXPROCS(0)))
	}
	if f.run.e.Getenv("GOGC") == "" {
		defer debug.SetGCPercent(debug.SetGCPercent(judgingGC))
	}
	err := j.panel.Score(ctx, func() (*dataset.Row, error) {
		row, err := f.next(ctx)
		if err == nil {
			err = j.checkRow(row)
		}
		return row, err
	}, f.keep)
	f.score.summary.Rejected = f.summary.Rejected
	switch {
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		return nil // the caller says so
	case err != nil:
		r := f.score
		return f.stopped(err, r.judges, r.summary.Rows, r.summary.counts(), r.judges.Usage)
	}
	return nil
}

// checkRow refuses an input of which the first row was not tagged: it is the wrong file, rather than one row of many. So it is where
// labels are of another taxonomy.
func (j *judges) checkRow(row *dataset.Row) error {
	d, err := row.Diagnosis()
	if err != nil {
		return err
	}
	if d == nil && !j.first && strings.Join(j.o.Panel.Modes, "") != dataset.ModeVanilla {
		return exit.Usagef("row %s has no diagnosis to show to the judge; tag the file with erreval identify first, or give --mode vanilla", row.ID)
	}
	j.first = true
	if p := j.o.Panel; p.Cascade.Sure == 0 && !slices.Contains(p.Modes, dataset.ModeErrorAware) {
		return nil // nobody is shown labels
	}
	return fitsTaxonomy(row, d, j.taxonomy)
}

// keep writes a judged row.
func (f *scoreFile) keep(row *dataset.Row, scores map[string]*dataset.Score) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := row.SetScores(f.run.taxonomy, scores); err != nil {
		return err
	}
	f.last = row.Line
	f.score.summary.add(scores, false)
	f.score.summary.Judging.add(row, scores)
	err := f.write(row, nil)
	f.run.progress.Show(f.score.summary.Rows)
	return err
}

// stopped says what a run that ended early has done, and how it goes on. Where the model or the budget ended it, its record
// beside OUT.partial says so, with the counts of the rows there.
func (f *identifyFile) stopped(err error, j *judges, rows int, counts map[string]int, used func() (*judging.Usage, error)) error {
	kind := llm.KindOf(err)
	if kind == 0 {
		return err
	}
	text := fmt.Sprintf("stopped after %s", words.Plural(rows, "row", "rows"))
	if f.out != nil && rows > 0 {
		text += ", which " + map[bool]string{true: "is", false: "are"}[rows == 1] + " in " + dataset.PartialPath(f.path)
	}
	text += fmt.Sprintf(": %v\nthe replies so far are in %s: the same command goes on from there, and pays for none of them again", err, j.Path())
	if f.out != nil {
		f.record.Stopped, f.record.Counts = kind.String(), counts
		usage, fault := used()
		f.record.Usage = usage
		err = errors.Join(fault, f.record.Write(dataset.PartialPath(f.path)))
		if err != nil {
			return errors.Join(errors.New(text), err)
		}
	}
	if kind == llm.Broken {
		return errors.New(text)
	}
	return exit.With(exit.Judge, errors.New(text))
}

// note is the part of the progress line that concerns judges.
func (r *scoreRun) note() string {
	return fmt.Sprintf(", %d unscored, %s", r.summary.Unscored, r.judges.describeUsed(r.judges.Used()))
}

// visitRows goes through the rows that a run would ask about. It gives the number of lines that are no rows.
type visitRows func(visit func(*dataset.Row) error) (rejected int, err error)

// planQuestions gives the rows of the input, and the judges' questions about one.
func (r *scoreRun) planQuestions(ctx context.Context, e *env) (visitRows, func(*dataset.Row) ([]*scorer.Question, error)) {
	in := &run.Rows{Files: r.rows.files, Taxonomy: r.rows.taxonomy, Columns: r.rows.columns, Limit: r.o.Limit}
	rows := func(visit func(*dataset.Row) error) (int, error) {
		faults, err := in.Each(ctx, e.Process, r.o.Input, visit)
		return len(faults), err
	}
	return rows, func(row *dataset.Row) ([]*scorer.Question, error) {
		if err := r.judges.checkRow(row); err != nil {
			return nil, err
		}
		return r.judges.panel.Questions(row)
	}
}

// dryRun prints what a run would call.
func (j *judges) dryRun(e *env, asJSON bool, rows visitRows, questions func(*dataset.Row) ([]*scorer.Question, error)) error {
	f := j.Forecast()
	var err error
	f.Rejected, err = rows(func(row *dataset.Row) error {
		questions, err := questions(row)
		if err != nil {
			return err
		}
		f.Rows++
		for _, q := range questions {
			if err := f.Add(q.Judge, q.Request); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if asJSON {
		return writeJSON(e.Out, f)
	}
	j.printForecast(e, f)
	return nil
}

func (j *judges) printForecast(e *env, f *judging.Forecast) {
	fmt.Fprintf(e.Out, "%s, %s (%d in the journal already); %s rejected\n", words.Plural(f.Rows, "row", "rows"), words.Plural(f.Calls, "call", "calls"), f.InJournal,
		words.Plural(f.Rejected, "line", "lines"))
	fmt.Fprintf(e.Out, "input: about %d tokens, at most %d; output: at most %d\n", f.Input, f.MaxInput, f.MaxOutput)
	if f.MaxCost != nil {
		fmt.Fprintf(e.Out, "cost: at most %.4f %s, at prices of %s\n", *f.MaxCost, f.Currency, f.PriceDate)
	} else {
		fmt.Fprintf(e.Out, "cost: not known, as there is no price of %s; give it in a file with --prices\n", strings.Join(j.Unpriced(), ", "))
	}
	fmt.Fprintf(e.Out, "A reply that does not hold what was asked for is asked for again, up to %s in all; --max-cost, --max-tokens and --max-calls bound everything.\n",
		words.Plural(f.Attempts, "time", "times"))
}

// showPrompt prints all that the first judge is asked about a row.
func (j *judges) showPrompt(e *env, input string, rows visitRows, questions func(*dataset.Row) ([]*scorer.Question, error)) error {
	found, first := false, ""
	_, err := rows(func(row *dataset.Row) error {
		first = cmp.Or(first, row.ID)
		if !report.IsSameID(j.o.ShowPrompt, row.ID) || found {
			return nil
		}
		found = true
		questions, err := questions(row)
		if err == nil && len(questions) == 0 {
			e.Warn("no judge is asked about row %s: it is scored offline, or its labels cannot be shown", row.ID)
		}
		for _, q := range questions {
			if q.Judge == j.o.Models[0].Name && q.Repeat == 0 {
				printQuestion(e, q)
			}
		}
		return err
	})
	if err == nil && !found {
		err = exit.Usagef("--show-prompt: %s has no row %q; its first is %q; ID* is what an id begins with, and * the first row", input, j.o.ShowPrompt, report.ShortID(first))
	}
	return err
}

func printQuestion(e *env, q *scorer.Question) {
	title := cmp.Or(q.Mode, prompt.Identify)
	if q.Dimension != "" {
		title = q.Dimension + ", " + title
	}
	if q.Planted != "" {
		title += ", planted: " + q.Planted
	}
	fmt.Fprintf(e.Out, "===== %s =====\n", title)
	for _, m := range q.Request.Messages {
		fmt.Fprintf(e.Out, "--- %s ---\n%s\n", m.Role, m.Content)
	}
	fmt.Fprintln(e.Out)
}

// closeJudging completes the summary of what judges did.
func (r *scoreRun) closeJudging() error {
	s := r.summary.Judging
	if s == nil {
		return nil
	}
	err := s.finish()
	if s.Judgements > 0 || r.summary.Rows == 0 {
		var fault error
		s.Usage, fault = r.judges.Usage()
		err = errors.Join(err, fault)
	}
	if s.unavailable() {
		err = errors.Join(err, exit.With(exit.Judge, errors.New("no judge gave any reply; the same command with --overwrite asks again")))
	}
	return err
}
