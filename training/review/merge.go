package review

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/erreval/erreval/internal/regularfile"
)

// Merge is what became of a batch's answers: the content of merge.json. A batch may be merged again, when conflicts are
// decided or answers come later; that is merge-2.json and so on. It only adds rows, and of a row that was merged before
// the later decision counts.
type Merge struct {
	Batch  string `json:"batch"`
	Number int    `json:"number"` // 1 for the first merge of the batch
	Items  int    `json:"items"`  // of the batch, without control rows
	Before int    `json:"before"` // of these, merged before
	Train  int    `json:"train"`  // rows added to the training set
	Random int    `json:"random"` // rows added to those of random slices
	Auto   int    `json:"auto"`   // rows added without a reviewer
	// of the added rows, those that somebody decided after reviewers differed
	Resolved  int                 `json:"resolved"`
	Single    int                 `json:"single"`              // of the added rows, those that one reviewer alone decided
	SingleOf  []string            `json:"single_of,omitempty"` // the first of these items, shownSingle at most
	Settled   int                 `json:"settled"`             // conflicts of the merge before that are none any more
	Marked    int                 `json:"marked"`              // items on which reviewers differ, decided by a mark
	Labels    map[string]int      `json:"labels"`              // added rows with each label
	Skipped   []string            `json:"skipped,omitempty"`   // items that nobody decided
	Dropped   map[string][]string `json:"dropped,omitempty"`   // item to those who skipped it where they were to decide
	Kept      int                 `json:"kept,omitempty"`      // of Dropped, items merged before: they keep their labels
	Missing   []string            `json:"missing,omitempty"`   // items, control rows included, that nobody answered
	Conflicts []Conflict          `json:"conflicts,omitempty"` // items that reviewers answered differently
	Later     int                 `json:"later,omitempty"`     // items of which somebody says otherwise than was decided
	Late      int                 `json:"late,omitempty"`      // of Conflicts, items merged before: they keep their labels
	Reviewers []Reviewer          `json:"reviewers"`           // by name
	Agreement *Agreement          `json:"agreement,omitempty"` // absent without an item that two decided
	Decided   map[string][]string `json:"decided"`             // item to labels, of the rows that this merge adds
}

// Conflict is an item that reviewers answered differently.
type Conflict struct {
	ItemID  string              `json:"item_id"`
	Answers map[string][]string `json:"answers"` // reviewer to labels
}

// Reviewer sums up one reviewer's answers.
type Reviewer struct {
	Name     string   `json:"name"`
	Answered int      `json:"answered"` // items decided, control rows included
	Skipped  int      `json:"skipped"`
	Missing  int      `json:"not_answered"`     // items of which nothing is said, control rows included
	Control  int      `json:"control"`          // control rows decided whose other item was decided too
	Same     int      `json:"same"`             // of these, with the same labels both times
	Differ   []string `json:"differ,omitempty"` // control rows with other labels the second time; the first answer stands
}

// Decision is an item whose labels are known.
type Decision struct {
	Item     *Item
	Labels   []string
	By       []string // the reviewers who gave these labels, by name
	Resolved bool
}

// MergeOptions say what is merged.
type MergeOptions struct {
	Partial bool // leave out items that nobody answered; else each is a fault
}

// Earlier is what earlier merges of the batch left.
type Earlier struct {
	Number    int                  // of the last merge; 0 is none
	Open      int                  // items that it left: nobody had answered them, or reviewers differed
	Conflicts []Conflict           // of these, those on which reviewers differed
	Decided   map[string][]string  // item to labels, of all
	Answers   []Answer             // that they used, with the last merge's
	first     map[answerKey]Answer // the first ones that were no skips
	Agreement *Agreement           // as the last merge said it
	Marked    map[string]time.Time // texts that somebody marked, and when that was merged: it decides conflicts
}

// Outcome is a merge and what it adds.
type Outcome struct {
	Merge
	Decisions []Decision // in the batch's order
	Answers   []Answer   // all that were used, to be kept
}

// New tells whether the merge adds anything to earlier ones: rows, or answers that decide nothing yet, such as a new
// conflict.
func (o *Outcome) New(e *Earlier) bool {
	stored := e.stored()
	said := func(a Answer) bool { old := stored[keyOf(&a)]; return old != nil && old.same(&a) }
	return o.Number == 1 || len(o.Decisions) > 0 || slices.ContainsFunc(o.Answers, func(a Answer) bool { return !said(a) })
}

// stored are the answers by what tells them apart.
func (e *Earlier) stored() map[answerKey]*Answer {
	m := map[answerKey]*Answer{}
	for i := range e.Answers {
		m[keyOf(&e.Answers[i])] = &e.Answers[i]
	}
	return m
}

// Merge puts answers together with those of earlier merges. Where anything is wrong, all faults come back and no
// outcome; reviewers who differ are none: their items are conflicts, and stay out.
func (f *Frozen) Merge(e *Earlier, given []Answer, o MergeOptions) (*Outcome, []*Fault) {
	g := &gathered{f: f, earlier: e, stored: e.stored(), answers: map[answerKey]*Answer{}, corrected: map[string]bool{}}
	g.add(given)
	g.recall()
	if len(g.faults) > 0 {
		return nil, g.faults
	}
	out := &Outcome{Merge: Merge{Batch: f.ID, Number: e.Number + 1, Labels: map[string]int{},
		Decided: map[string][]string{}}}
	byItem := g.byItem()
	for i := range f.All {
		g.decide(out, &f.All[i], byItem[f.All[i].ItemID])
	}
	if !o.Partial {
		for _, id := range out.Missing {
			g.fault(Place{}, id, "nobody answered it; answer it or skip it, or leave such items out with --partial")
		}
	}
	if len(g.faults) > 0 {
		return nil, g.faults
	}
	g.countSettled(out)
	out.Answers = g.sorted()
	out.Reviewers = g.reviewers()
	out.Agreement = f.agreement(byItem, e.first)
	return out, nil
}

type answerKey struct {
	item, reviewer string
	resolves       bool
}

func keyOf(a *Answer) answerKey { return answerKey{a.ItemID, a.Reviewer, a.Resolves} }

// same tells whether two answers say the same; notes and times do not count.
func (a *Answer) same(b *Answer) bool {
	return a.Skipped == b.Skipped && slices.Equal(a.Labels, b.Labels)
}

func (a *Answer) says() string {
	if a.Skipped {
		return "skipped"
	}
	return says(a.Labels)
}

func says(labels []string) string {
	if len(labels) == 0 {
		return "no label"
	}
	return strings.Join(labels, ", ")
}

// gathered are the answers of all files.
type gathered struct {
	f       *Frozen
	earlier *Earlier
	stored  map[answerKey]*Answer // of earlier merges
	answers map[answerKey]*Answer
	faults  []*Fault
	// items with an answer that takes the place of one by which they were merged
	corrected map[string]bool
}

func (g *gathered) fault(p Place, item, format string, args ...any) {
	g.faults = append(g.faults, &Fault{Place: p, ItemID: item, Reason: fmt.Sprintf(format, args...)})
}

// add takes the answers of the files. One reviewer's answers to an item in several files must be the same.
func (g *gathered) add(given []Answer) {
	for i := range given {
		a := &given[i]
		before, again := g.answers[keyOf(a)]
		switch {
		case again && !a.same(before):
			g.fault(a.Place, a.ItemID, "%s answers %s here and %s in %s; keep one of the two, or write into its column "+
				"\"reviewer\" who else filled it in", a.Reviewer, a.says(), before.says(), before.Place)
		case !again:
			g.answers[keyOf(a)] = a
		}
	}
}

// sorted are all answers in the batch's order, then by reviewer.
func (g *gathered) sorted() []Answer {
	var all []Answer
	for _, a := range g.answers {
		all = append(all, *a)
	}
	slices.SortFunc(all, func(a, b Answer) int {
		return cmp.Or(g.f.index[a.ItemID]-g.f.index[b.ItemID], cmp.Compare(a.Reviewer, b.Reviewer),
			cmp.Compare(fmt.Sprint(a.Resolves), fmt.Sprint(b.Resolves)))
	})
	return all
}

// byItem are the answers by item. What a reviewer said of a row the second time counts where the first was left open.
func (g *gathered) byItem() map[string][]Answer {
	m := map[string][]Answer{}
	for _, a := range g.sorted() {
		m[a.ItemID] = append(m[a.ItemID], a)
	}
	for i := range g.f.All {
		it := &g.f.All[i]
		for _, again := range m[it.ItemID] {
			first := g.answers[answerKey{it.ControlOf, again.Reviewer, false}]
			if it.ControlOf == "" || again.Skipped || again.Resolves || first != nil && !first.Skipped {
				continue
			}
			m[it.ControlOf] = slices.DeleteFunc(m[it.ControlOf], func(a Answer) bool {
				return a.Reviewer == again.Reviewer && !a.Resolves
			})
			again.ItemID = it.ControlOf
			m[it.ControlOf] = append(m[it.ControlOf], again)
		}
	}
	return m
}

// decide finds an item's labels, or says why there are none.
func (g *gathered) decide(out *Outcome, it *Item, answers []Answer) {
	if len(answers) == 0 {
		out.Missing = append(out.Missing, it.ItemID)
	}
	if it.Reason == Control {
		return
	}
	out.Items++
	before, merged := g.earlier.Decided[it.ItemID]
	voices := decided(answers, true)
	resolved := len(voices) > 0
	if !resolved {
		voices = decided(answers, false)
	}
	differ := slices.ContainsFunc(voices, func(a Answer) bool { return !a.same(&voices[0]) })
	dropped := droppers(answers)
	late := merged && slices.ContainsFunc(voices, func(a Answer) bool { return !slices.Equal(a.Labels, before) })
	settled := !differ && (resolved || g.corrected[it.ItemID])
	markedAt, marked := g.earlier.Marked[it.TextSHA256]
	if merged && !(late && settled) {
		out.Before++
	}
	switch {
	case resolved && len(others(dropped, voices)) > 0:
		g.fault(voices[0].Place, it.ItemID, "%s decides for %s, and %s leaves the row out: one of them decides the row again",
			voices[0].Reviewer, voices[0].says(), others(dropped, voices)[0])
	case differ && resolved:
		g.fault(voices[1].Place, it.ItemID, "%s decides for %s, and %s for %s: one of them decides the row again",
			voices[0].Reviewer, voices[0].says(), voices[1].Reviewer, voices[1].says())
	case merged && !late:
		if slices.ContainsFunc(answers, func(a Answer) bool { return g.isLater(&a, before) }) {
			out.Later++
		}
	case (differ || late && !resolved) && marked && !(settled && areAfter(markedAt, voices)):
		out.Marked++
	case !resolved && len(dropped) > 0:
		out.drop(it, dropped, merged)
	case len(voices) == 0 && len(answers) > 0:
		out.Skipped = append(out.Skipped, it.ItemID)
	case len(voices) == 0:
	case differ || late && !settled:
		out.Conflicts = append(out.Conflicts, conflict(it, voices))
		if merged {
			out.Late++
		}
	default:
		out.take(it, voices, resolved)
	}
}

// decided are the answers that are no skips: those that resolve, or those that do not.
func decided(answers []Answer, resolves bool) []Answer {
	var out []Answer
	for _, a := range answers {
		if !a.Skipped && a.Resolves == resolves {
			out = append(out, a)
		}
	}
	return out
}

// shownSingle is how many of the rows that rest on one reviewer alone are named.
const shownSingle = 3

func (o *Outcome) take(it *Item, voices []Answer, resolved bool) {
	d := Decision{Item: it, Labels: voices[0].Labels, Resolved: resolved}
	for _, a := range voices {
		d.By = append(d.By, a.Reviewer)
	}
	o.Decisions = append(o.Decisions, d)
	o.Decided[it.ItemID] = d.Labels
	for _, l := range d.Labels {
		o.Labels[l]++
	}
	if it.Reason == Random {
		o.Random++
	} else {
		o.Train++
	}
	switch {
	case resolved:
		o.Resolved++
	case len(voices) == 1:
		o.Single++
		if len(o.SingleOf) < shownSingle {
			o.SingleOf = append(o.SingleOf, it.ItemID)
		}
	}
}

// MergeName is the name of a file of the nth merge of a batch: "merge.json", then "merge-2.json".
func MergeName(stem string, number int, extension string) string {
	if number > 1 {
		stem = fmt.Sprintf("%s-%d", stem, number)
	}
	return stem + extension
}

// Stems of the files that a merge leaves in the batch's folder, for MergeName.
const (
	MergeStem     = "merge"         // .json: Merge
	UsedStem      = "merge.answers" // .jsonl: all answers that were used
	ConflictsStem = "conflicts"     // a folder: the open conflicts, to be answered and merged; absent without any
)

// IsMerged tells whether the batch in dir was merged, once at least.
func IsMerged(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, MergeName(MergeStem, 1, ".json")))
	return err == nil
}

// ReadMerges reads what the merges of the batch in dir left in merge.json, merge-2.json and so on, the first one first.
func ReadMerges(dir string) (merges []Merge, err error) {
	for {
		var m Merge
		err := ReadJSON(filepath.Join(dir, MergeName(MergeStem, len(merges)+1, ".json")), regularfile.MaxRows, &m)
		if errors.Is(err, fs.ErrNotExist) {
			return merges, nil
		}
		if err != nil {
			return nil, err
		}
		merges = append(merges, m)
	}
}

// Earlier reads what earlier merges of the batch left.
func (f *Frozen) Earlier() (*Earlier, error) {
	merges, err := ReadMerges(f.Dir)
	if err != nil {
		return nil, err
	}
	e := &Earlier{Number: len(merges), Decided: map[string][]string{}, first: map[answerKey]Answer{}}
	for _, m := range merges {
		maps.Copy(e.Decided, m.Decided)
		e.Open, e.Conflicts = len(m.Missing)+len(m.Conflicts), m.Conflicts
		e.Agreement = m.Agreement
	}
	for n := range e.Number {
		if e.Answers, err = f.readAnswers(filepath.Join(f.Dir, MergeName(UsedStem, n+1, ".jsonl"))); err != nil {
			return nil, err
		}
		for _, a := range e.Answers {
			if _, there := e.first[keyOf(&a)]; !there && !a.Skipped {
				e.first[keyOf(&a)] = a
			}
		}
	}
	return e, nil
}
