package scorer

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/llm"
	"github.com/erreval/erreval/llm/ask"
	"github.com/erreval/erreval/llm/reply"
	"github.com/erreval/erreval/prompt"
	"github.com/erreval/erreval/taxonomy"
)

// ReasonUntagged is that of an error-aware judgement of a row in which nobody has looked for errors, or whose labels
// cannot be shown.
const ReasonUntagged = "untagged"

// Question is one call that a row needs.
type Question struct {
	Judge     string
	Dimension string // its key; empty if the call is about all
	Mode      string
	Repeat    int
	Planted   string // the wrong label shown; empty is none
	Request   *llm.Request

	judge  *ask.Asker
	answer answer
}

// Title says in words what is asked: about which dimension, in which mode, with which planted label.
func (q *Question) Title() string {
	title := cmp.Or(q.Mode, prompt.Identify)
	if q.Dimension != "" {
		title = q.Dimension + ", " + title
	}
	if q.Planted != "" {
		title += ", planted: " + q.Planted
	}
	return title
}

// answer is what a question is to be filled with.
type answer interface {
	// read tells how much of what was asked for a reply holds, whether that is all, and how to keep it.
	read(reply *llm.Reply, prompt string) (found int, whole bool, keep func())
	unscored(u *reply.Fault)
}

// plan is what becomes of a row.
type plan struct {
	offline   []*dataset.Run   // by dimension; nil where the judges decide
	runs      [][]*dataset.Run // by dimension
	questions []*Question
}

// Questions are the calls that a row needs, if each first reply holds its verdicts.
func (p *Panel) Questions(row *dataset.Row) ([]*Question, error) {
	plan, err := p.plan(row)
	if err != nil {
		return nil, err
	}
	return plan.questions, nil
}

func (p *Panel) plan(row *dataset.Row) (*plan, error) {
	d, err := row.Diagnosis()
	if err != nil {
		return nil, err
	}
	ds := p.o.Taxonomy.Dimensions
	out := &plan{offline: make([]*dataset.Run, len(ds)), runs: make([][]*dataset.Run, len(ds))}
	audited := p.scoreWhatIsSure(out, row, d)
	b := &builder{panel: p, plan: out, row: row, diagnosis: d, unshown: p.whyUnshown(d)}
	for _, j := range p.judges {
		for _, mode := range p.o.Modes {
			for repeat := range p.o.Repeats {
				if p.joint() {
					if out.offline[0] == nil || audited[0] {
						b.addJudgement(j, mode, repeat, "", ds, 0)
					}
					continue
				}
				for i := range ds {
					if out.offline[i] != nil && !audited[i] {
						continue
					}
					b.addJudgement(j, mode, repeat, "", ds[i:i+1], i)
					if mode == dataset.ModeErrorAware {
						b.plantLabel(j, repeat, i)
					}
				}
			}
		}
	}
	if b.err != nil {
		return nil, fmt.Errorf("row %s: %w", row.ID, b.err)
	}
	return out, nil
}

// builder adds judgements to a plan.
type builder struct {
	panel     *Panel
	plan      *plan
	row       *dataset.Row
	diagnosis *dataset.Diagnosis
	unshown   error // why no labels can be shown
	err       error
}

// whyUnshown says why the labels of a row cannot be shown to a judge: it has none, or the taxonomy does not have them.
func (p *Panel) whyUnshown(d *dataset.Diagnosis) error {
	if err := untagged(d); err != nil {
		return err
	}
	_, err := prompt.Shown(p.o.Taxonomy, &p.o.Taxonomy.Dimensions[0], d.Labels, p.o.PaperWording)
	return err
}

// addJudgement plans a judgement on the dimensions ds, of which the first is number at.
func (b *builder) addJudgement(j *ask.Asker, mode string, repeat int, planted string, ds []taxonomy.Dimension, at int) {
	a := &judgement{about: ds, joint: b.panel.joint()}
	q := &Question{Judge: j.Name, Mode: mode, Repeat: repeat, Planted: planted, judge: j, answer: a}
	if !a.joint {
		q.Dimension = ds[0].Key
	}
	for i := range ds {
		run := &dataset.Run{Judge: j.Name, Mode: mode, Repeat: repeat, Planted: planted}
		a.runs = append(a.runs, run)
		b.plan.runs[at+i] = append(b.plan.runs[at+i], run)
	}
	if mode == dataset.ModeErrorAware && b.unshown != nil {
		a.unscored(&reply.Fault{Reason: ReasonUntagged,
			Detail: strings.TrimPrefix(b.unshown.Error(), dataset.StatusUntagged+": ")})
		return
	}
	if err := b.makeRequest(q, a, at); err != nil {
		b.err = err
		return
	}
	b.plan.questions = append(b.plan.questions, q)
}

// makeRequest makes the request of a question.
func (b *builder) makeRequest(q *Question, a *judgement, at int) error {
	o := &b.panel.o
	in := prompt.Input{Task: o.Taxonomy, Values: b.row.Values, Mode: q.Mode, PaperWording: o.PaperWording,
		JSON: !q.judge.Lines}
	if !a.joint {
		in.Dimension = &a.about[0]
	}
	if q.Mode == dataset.ModeErrorAware {
		in.Errors = b.labelsWith(q.Planted)
		for i := range a.about {
			shown, err := prompt.Shown(o.Taxonomy, &a.about[i], in.Errors, o.PaperWording)
			if err != nil {
				return err
			}
			a.runs[i].ErrorsShown = shown
		}
	}
	return q.setRequest(o.Template, in, b.panel.schemas[at], b.row)
}

// setRequest fills in the request about row.
func (q *Question) setRequest(t *prompt.Template, in prompt.Input, s *llm.Schema, row *dataset.Row) error {
	messages, err := t.Messages(in)
	if err != nil {
		return err
	}
	q.Request = q.judge.Request(messages, s, q.Repeat)
	q.Request.Row, q.Request.About = row.ID, q.Title()+", "+q.Judge
	if q.Repeat > 0 {
		q.Request.About += fmt.Sprintf(", repeat %d", q.Repeat)
	}
	return nil
}

// labelsWith are the labels of the row and the planted one.
func (b *builder) labelsWith(planted string) []string {
	if planted == "" {
		return b.diagnosis.Labels
	}
	t := b.panel.o.Taxonomy
	labels := slices.DeleteFunc(slices.Clone(b.diagnosis.Labels), func(l string) bool {
		i, ok := t.Index(l)
		return ok && t.Types[i].NoError
	})
	return append(labels, planted)
}

// plantLabel plans, for a random share, the judgement on dimension at once more with a wrong label.
func (b *builder) plantLabel(j *ask.Asker, repeat, at int) {
	p := b.panel
	d := &p.o.Taxonomy.Dimensions[at]
	share, choice := drawChance(p.o.PlantSeed, "plant", b.row.ID, d.Key)
	if share >= p.o.Plant || b.unshown != nil {
		return
	}
	if wrong := b.wrongLabels(d); len(wrong) > 0 {
		label := wrong[choice%uint64(len(wrong))]
		b.addJudgement(j, dataset.ModeErrorAware, repeat, label, p.o.Taxonomy.Dimensions[at:at+1], at)
	}
}

// wrongLabels are the errors that bear on d and that the row does not have.
func (b *builder) wrongLabels(d *taxonomy.Dimension) []string {
	t := b.panel.o.Taxonomy
	has := map[int]bool{}
	for _, l := range b.diagnosis.Labels {
		if i, ok := t.Index(l); ok {
			has[i] = true
		}
	}
	var out []string
	for _, name := range d.Types {
		if i, ok := t.Index(name); ok && !has[i] && !t.Types[i].NoError {
			out = append(out, t.Types[i].Name)
		}
	}
	return out
}

// scoreWhatIsSure fills in the offline scores of what the identifier is sure of, and tells which are to be audited.
func (p *Panel) scoreWhatIsSure(out *plan, row *dataset.Row, d *dataset.Diagnosis) (audited []bool) {
	ds := p.o.Taxonomy.Dimensions
	audited = make([]bool, len(ds))
	if p.offline == nil || untagged(d) != nil {
		return audited
	}
	sure := true
	for i := range ds {
		if p.offline.isSure(d.Probabilities, ds[i].Key, p.o.Cascade.Sure) {
			out.offline[i] = &p.offline.judge(d, ds[i].Key).Runs[0]
		}
		sure = sure && out.offline[i] != nil
		key := ds[i].Key
		if p.joint() {
			key = ""
		}
		share, _ := drawChance(p.o.Cascade.Seed, "audit", row.ID, key)
		audited[i] = share < p.o.Cascade.Audit
	}
	if p.joint() && !sure {
		clear(out.offline)
	}
	return audited
}

// isSure tells whether every error that bears on a dimension is either there or not, with that certainty.
func (s *Offline) isSure(p dataset.Probabilities, dimension string, certainty float64) bool {
	for _, e := range s.dimensions[dimension].errors {
		q, ok := p.Get(e.label)
		if !ok {
			return false
		}
		if q = s.calibrated(e.label, q); max(q, 1-q) < certainty {
			return false
		}
	}
	return true
}

// drawChance gives a number of [0, 1) and a large one, which depend on nothing but the arguments: neither on the order
// of rows nor on the machine.
func drawChance(seed uint64, words ...string) (share float64, choice uint64) {
	h := sha256.New()
	h.Write(binary.BigEndian.AppendUint64(nil, seed))
	for _, w := range words {
		h.Write(binary.AppendUvarint(nil, uint64(len(w))))
		h.Write([]byte(w))
	}
	sum := h.Sum(nil)
	const bits = 53 // of a float64's mantissa
	return float64(binary.BigEndian.Uint64(sum)>>(64-bits)) / (1 << bits), binary.BigEndian.Uint64(sum[8:])
}

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
