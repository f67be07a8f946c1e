package scorer

import (
	"context"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/llm"
	"github.com/erreval/erreval/llm/ask"
	"github.com/erreval/erreval/llm/reply"
	"github.com/erreval/erreval/prompt"
	"github.com/erreval/erreval/taxonomy"
)

// Score judges the rows that next gives until io.EOF and hands them, in order, with a score for every dimension (key
// to score) to emit. next and emit are called by one goroutine each, at the same time. A few rows for each worker are
// held in memory.
//
// A judgement without a verdict ends as unscored, with its reason; it does not end the run. What does are errors of
// next and emit, errors of calls that concern every call (see llm.Kind.Stops), a judge that gives no reply any more
// (llm.Unavailable), and the end of ctx. Then no call is begun, those that have begun are awaited, and the rows
// before the first that is not whole are emitted; the error is what ended the run. Calls get a context that ends with
// the run: give judges a client that finishes a call all the same, if its reply shall not be lost.
func (p *Panel) Score(ctx context.Context, next func() (*dataset.Row, error), emit func(*dataset.Row,
	map[string]*dataset.Score) error) error {
	return ask.About(ctx, p.judges, p.o.Workers, next, func(row *dataset.Row) ([]*Question, func() error, error) {
		plan, err := p.plan(row)
		if err != nil {
			return nil, nil, err
		}
		return plan.questions, func() error { return emit(row, p.scores(plan)) }, nil
	}, func(ctx context.Context, q *Question) error { return q.ask(ctx, p.o.Attempts) })
}

// ask fills in the answer. The error is one that ends the run.
func (q *Question) ask(ctx context.Context, attempts int) error {
	best, asked := -1, prompt.Join(q.Request.Messages) // best is what was found in the reply that is kept
	unanswered, err := q.judge.Ask(ctx, q.Request, attempts, func(reply *llm.Reply) bool {
		found, whole, keep := q.answer.read(reply, asked)
		if found > best {
			keep()
			best = found
		}
		return whole
	})
	if unanswered != nil && best <= 0 { // what an earlier reply held stays
		q.answer.unscored(&reply.Fault{Reason: reply.ReasonOf(unanswered), Detail: unanswered.Error()})
	}
	return err
}

// judgement is an answer in verdicts.
type judgement struct {
	about []taxonomy.Dimension
	joint bool
	runs  []*dataset.Run // to fill, one for each of about
}

func (j *judgement) read(reply *llm.Reply, prompt string) (n int, whole bool, keep func()) {
	verdicts := j.verdicts(reply, prompt)
	n = countFound(verdicts)
	return n, n == len(verdicts), func() { j.keepVerdicts(verdicts) }
}

func (j *judgement) verdicts(reply *llm.Reply, prompt string) []Verdict {
	if j.joint {
		return ParseJoint(reply, prompt, j.about)
	}
	value, explanation, err := ParseVerdict(reply, prompt, &j.about[0])
	return []Verdict{{value, explanation, err}}
}

func countFound(verdicts []Verdict) int {
	n := 0
	for _, v := range verdicts {
		if v.Err == nil {
			n++
		}
	}
	return n
}

func (j *judgement) keepVerdicts(verdicts []Verdict) {
	for i, v := range verdicts {
		run := j.runs[i]
		run.Value, run.Status, run.Reason, run.Explanation = nil, "", "", v.Explanation
		if v.Err == nil {
			run.Value = &v.Value
		} else {
			run.Status, run.Reason = dataset.StatusUnscored, v.Err.Error()
		}
	}
}

func (j *judgement) unscored(u *reply.Fault) {
	for _, run := range j.runs {
		run.Value, run.Status, run.Reason = nil, dataset.StatusUnscored, u.Error()
	}
}
