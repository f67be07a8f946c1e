package discover

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/discover/issues"
	"github.com/erreval/erreval/internal/faults"
	"github.com/erreval/erreval/internal/wordmatch"
	"github.com/erreval/erreval/llm"
	"github.com/erreval/erreval/llm/ask"
	"github.com/erreval/erreval/llm/reply"
	"github.com/erreval/erreval/prompt"
)

// Ways in which the rows' analyses come about.
const (
	ByIssue    = "issue"    // a model names the one most important issue
	ByCriteria = "criteria" // a model evaluates the row by criteria, and sums up
	ByLabels   = "labels"   // the labels that an identifier found, and the row's first text
	ByRecord   = "recorded" // what a column already says
)

// Whether a model is shown the labels that an identifier found.
const (
	EvidenceLabels = "labels" // where the row has any
	EvidenceNone   = "none"
	EvidenceBoth   = "both" // each row twice; those with labels are grouped
)

// AnalystOptions say how a model analyses rows.
type AnalystOptions struct {
	By       string             // ByIssue or ByCriteria
	Evidence string             // EvidenceLabels, EvidenceNone or EvidenceBoth
	Criteria []prompt.Criterion // of ByCriteria; at least one
	// HighScore is the score, 0 to 1, from which a row evaluated by criteria counts as one without issue: CLEAR's 0.91.
	HighScore float64
}

// DefaultAnalystOptions ask for one issue, with labels as evidence where there are any. The criteria for ByCriteria are
// about what CLEAR's general ones are about.
func DefaultAnalystOptions() AnalystOptions {
	return AnalystOptions{By: ByIssue, Evidence: EvidenceLabels, HighScore: 0.91, Criteria: []prompt.Criterion{
		{Name: "Relevance", Text: "does what was asked for, all of it and nothing else"},
		{Name: "Correctness", Text: "what it says is right and complete"},
		{Name: "Clarity", Text: "is well put: ordered, consistent, easy to understand"},
	}}
}

// Validate joins all faults of o.
func (o *AnalystOptions) Validate() error {
	var faults faults.List
	faults.Check(o.By == ByIssue || o.By == ByCriteria, "analysis %q: a model analyses by %s or %s", o.By, ByIssue,
		ByCriteria)
	faults.Check(slices.Contains([]string{EvidenceLabels, EvidenceNone, EvidenceBoth}, o.Evidence),
		"evidence %q: it is %s, %s or %s", o.Evidence, EvidenceLabels, EvidenceNone, EvidenceBoth)
	faults.Check(o.By != ByCriteria || len(o.Criteria) > 0, "there are no criteria")
	faults.Check(o.HighScore >= 0 && o.HighScore <= 1, "a high score of %v is not within 0 and 1", o.HighScore)
	return faults.Err()
}

// Analyst asks a model what is wrong with rows. Safe for concurrent use.
type Analyst struct {
	o       AnalystOptions
	model   *asking
	workers int
	kind    string
}

// NewAnalyst checks model and options.
func NewAnalyst(m Model, o AnalystOptions) (*Analyst, error) {
	a := &Analyst{o: o, workers: m.Workers, kind: prompt.Analyze}
	if o.By == ByCriteria {
		a.kind = prompt.Evaluate
	}
	err := o.Validate()
	if err == nil {
		a.model, err = newAsking(m, a.kind)
	}
	return a, err
}

// Analyse analyses the rows that next gives until io.EOF, and hands them, in order, to emit. It runs and ends as
// scorer.Panel.Score does. A finding without Status is about an issue that is still to be sorted.
func (a *Analyst) Analyse(ctx context.Context, next func() (*dataset.Row, error),
	emit func(*dataset.Row, *issues.Finding) error) error {
	plan := func(row *dataset.Row) ([]*analysing, func() error, error) {
		questions, err := a.questions(row)
		return questions, func() error { return emit(row, combine(questions)) }, err
	}
	return ask.About(ctx, []*ask.Asker{a.model.Asker}, a.workers, next, plan, a.answer)
}

// Requests are the calls that a row needs, if each first reply is an analysis.
func (a *Analyst) Requests(row *dataset.Row) ([]*llm.Request, error) {
	questions, err := a.questions(row)
	requests := make([]*llm.Request, len(questions))
	for i, q := range questions {
		requests[i] = q.request
	}
	return requests, err
}

type analysing struct {
	row     *dataset.Row
	request *llm.Request
	finding *issues.Finding
}

// questions are the one or two about a row; that with evidence comes first.
func (a *Analyst) questions(row *dataset.Row) ([]*analysing, error) {
	d, err := row.Diagnosis()
	if err != nil {
		return nil, err
	}
	labelled := d != nil && d.Status == "" && !a.model.task.IsTask() && d.MadeWith(a.model.task.ID())
	var modes []string
	if labelled && a.o.Evidence != EvidenceNone {
		modes = append(modes, prompt.ErrorAware)
	}
	if len(modes) == 0 || a.o.Evidence == EvidenceBoth {
		modes = append(modes, prompt.Vanilla)
	}
	var questions []*analysing
	for _, mode := range modes {
		in := prompt.Input{Values: row.Values, Mode: mode, Criteria: a.o.Criteria}
		q := &analysing{row: row, finding: &issues.Finding{}}
		if mode == prompt.ErrorAware {
			in.Errors, q.finding.Evidence = d.Labels, EvidenceLabels
		}
		if q.request, err = a.model.question(a.kind, in, a.schema()); err != nil {
			return nil, fmt.Errorf("row %s: %w", row.ID, err)
		}
		q.request.Row = row.ID
		questions = append(questions, q)
	}
	return questions, nil
}

func (a *Analyst) schema() llm.Object {
	if a.kind == prompt.Evaluate {
		return llm.ObjectOf(text("evaluation"), text("summary"), number("score"))
	}
	return llm.ObjectOf(text("analysis"), text("issue"), text("quote"), number("severity"))
}

// notSorted is the reason of the analysis without labels, where one with labels is sorted.
const notSorted = "not sorted: the analysis with labels is"

// combine gives the finding to be sorted; the other one stands in it.
func combine(questions []*analysing) *issues.Finding {
	f := questions[0].finding
	if len(questions) > 1 {
		f.Other = questions[1].finding
		if f.Other.Status == "" { // it is not sorted, and so it is no list's
			f.Other.Status, f.Other.Reason = issues.Unassigned, notSorted
		}
	}
	return f
}

// answer fills in the finding. Where the quoted words do not stand in the texts, it asks once more, by a call of its
// own: the journal keeps its reply, so that the same run again ends the same way. The error is one that ends the run.
func (a *Analyst) answer(ctx context.Context, q *analysing) error {
	key, read := "issue", readIssue
	if a.kind == prompt.Evaluate {
		key, read = "score", a.readEvaluation
	}
	for _, asked := range []*llm.Request{q.request, a.model.repeated(q.request)} {
		fault, err := a.model.ask(ctx, asked, key, func(o reply.Object) error {
			got, err := read(o)
			if err == nil {
				got.Evidence = q.finding.Evidence
				*q.finding = *got
			}
			return err
		})
		f := q.finding
		switch {
		case err != nil:
			return err
		case fault != nil && f.Status == "":
			f.Status, f.Reason = issues.Unassigned, fault.Error()
			return nil
		case fault != nil || a.kind == prompt.Evaluate || f.Status != "" || stands(f.Quote, q.row.Values):
			return nil
		}
		f.Status, f.Reason = issues.Unassigned, issues.Unfounded
	}
	return nil
}

// readIssue reads the reply to a prompt of kind analyze.
func readIssue(o reply.Object) (*issues.Finding, error) {
	f := &issues.Finding{Analysis: o.Text("issue"), Quote: o.Text("quote"), Evaluation: o.Text("analysis")}
	severity, err := readNumber(o, "severity")
	if isNone(f.Analysis) || f.Analysis == "" && err == nil && severity == 0 {
		return &issues.Finding{Status: issues.None, Evaluation: f.Evaluation}, nil
	}
	if f.Analysis == "" {
		return nil, missing("\"issue\" holds no text")
	}
	if err != nil || severity != 1 && severity != 2 && severity != 3 {
		return nil, missing("the severity is 1, 2 or 3")
	}
	f.Severity = int(severity)
	return f, nil
}

// isNone tells whether a sentence says that there is no issue.
func isNone(sentence string) bool {
	switch issues.Fold(sentence) {
	case "none", "no", "no issue", "no issues", "n a", "null", "there is no issue", "no issue found", "no issues found",
		"no error", "no errors", "no errors found", "nothing", "nothing wrong", "ok", "okay", "passed", "pass", "fine",
		"good", "lgtm", "all good", "looks good", "correct", "nan", "all assertions passed", "no problem",
		"no problems", "no comment", "no comments", "nice", "great", "perfect", "very good", "well done", "nothing to add":
		return true
	}
	return false
}

// readEvaluation reads the reply to a prompt of kind evaluate.
func (a *Analyst) readEvaluation(o reply.Object) (*issues.Finding, error) {
	score, err := readNumber(o, "score")
	if err != nil || !(score >= 0 && score <= 1) {
		return nil, missing("the score is a number from 0 to 1")
	}
	f := &issues.Finding{Analysis: o.Text("summary"), Evaluation: o.Text("evaluation"), Score: &score}
	if f.Analysis == "" {
		return nil, missing("no summary")
	}
	if score >= a.o.HighScore {
		f.Status = issues.None
	}
	return f, nil
}

// readNumber is the number, or the text of one, of a key.
func readNumber(o reply.Object, key string) (float64, error) {
	v, _ := o.Get(key)
	switch v := v.(type) {
	case json.Number:
		return v.Float64()
	case string:
		return strconv.ParseFloat(strings.TrimSpace(v), 64)
	}
	return 0, missing("%q is no number", key)
}

// stands tells whether every part of a quote stands in one of the texts; dots stand for what was left out. An empty
// quote stands in a blank text only: something is left out there.
func stands(quote string, texts []string) bool {
	parts := strings.FieldsFunc(strings.ReplaceAll(quote, "...", "…"), func(r rune) bool { return r == '…' })
	found := 0
	for _, part := range parts {
		part = strings.Trim(strings.TrimSpace(part), `"'“”‘’«».,;:`)
		if part == "" {
			continue
		}
		if !standsIn(part, texts) {
			return false
		}
		found++
	}
	return found > 0 || strings.TrimSpace(texts[0]) == ""
}

func standsIn(part string, texts []string) bool {
	for _, t := range texts {
		if len(wordmatch.Find(t, []string{part})) > 0 || len(wordmatch.Find(prompt.Clean(t), []string{part})) > 0 {
			return true
		}
	}
	return false
}

// Recorded is the finding that an earlier run left in the row, to be sorted again: what was found in the row stays, the
// issue that it was sorted into does not. A sentence that was about none of the issues of a list may be about one of
// another; an evaluation without issue stays one.
func Recorded(row *dataset.Row) (*issues.Finding, error) {
	f, err := issues.Of(row)
	if err != nil {
		return nil, err
	}
	if f == nil {
		return &issues.Finding{Status: issues.Unassigned, Reason: issues.Unanalysed + ": there is no column " +
			issues.Column}, nil
	}
	unfounded := f.Reason == issues.Unfounded
	f.IDs = nil
	sorted := f.Status != issues.None || f.Score == nil
	if f.Analysis != "" && sorted && !unfounded {
		f.Status, f.Reason, f.Unsorted = "", "", false
	}
	return f, nil
}

// FromSentence is a finding of what somebody wrote about a row. An empty text is no comment.
func FromSentence(sentence string) *issues.Finding {
	sentence = strings.TrimSpace(sentence)
	switch {
	case sentence == "" || sentence == "null":
		return &issues.Finding{Status: issues.Unassigned, Reason: issues.NoComment}
	case isNone(sentence):
		return &issues.Finding{Status: issues.None}
	}
	return &issues.Finding{Analysis: sentence}
}

// Keys of CountModes, each with "labels." or "none." in front: what the analyses with labels and without found.
const (
	modeIssue     = "issue"
	modeNone      = "no_issue"
	modeUnfounded = "unfounded"
	modeOther     = "unassigned"
	// modeBoth counts rows in which both found an issue.
	modeBoth = "issue_in_both"
)

// CountModes counts what the analyses with labels and those without found, before the rows are sorted; nil where rows
// were not analysed in both ways. It says whether the labels help to see issues, or lead the model to see what is not
// there.
func CountModes(items []*Item) map[string]int {
	counts := map[string]int{}
	for _, item := range items {
		other := item.Finding.Other
		if other == nil {
			continue
		}
		counts[EvidenceLabels+"."+modeOf(item.Finding)]++
		counts[EvidenceNone+"."+modeOf(other)]++
		if modeOf(item.Finding) == modeIssue && modeOf(other) == modeIssue {
			counts[modeBoth]++
		}
	}
	if len(counts) == 0 {
		return nil
	}
	return counts
}

func modeOf(f *issues.Finding) string {
	switch {
	case f.Status == issues.None:
		return modeNone
	case f.Reason == issues.Unfounded:
		return modeUnfounded
	case f.Status == "" || f.Reason == notSorted:
		return modeIssue
	}
	return modeOther
}
