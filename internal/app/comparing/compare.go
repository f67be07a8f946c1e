// Package comparing rates systems by verdicts on pairs of their texts.
package comparing

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/app/asking"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/gate"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/internal/runrecord"
	"github.com/erreval/erreval/internal/wholefile"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/llm/judging"
	"github.com/erreval/erreval/pairwise"
	"github.com/erreval/erreval/pairwise/leaderboard"
	"github.com/erreval/erreval/pairwise/verdicts"
	"github.com/erreval/erreval/prompt"
	"github.com/erreval/erreval/report"
	"github.com/erreval/erreval/taxonomy"
)

// Compare gives verdicts on pairs of texts, and rates the systems.
type Compare struct {
	Run       *run.Run           // of pairs
	Taxonomy  *taxonomy.Taxonomy // of single texts
	Types     []string           // names of the error types that are compared, and verdicts.Overall
	Wordings  []string           // prompt templates: built-in names or files
	Orders    []string           // verdicts.OrderAB and OrderBA
	Modes     []string           // prompt.Vanilla and ErrorAware
	Reconcile string
	Ratings   RatingOptions
	// Round is how many pairs are judged between two looks at whether the order of the systems is settled, overall or by
	// the last type; 0 judges all pairs.
	Round  int
	JSON   bool     // prints the leaderboards as JSON, on standard output
	Weak   []string // what the labels are not to be relied on for, a sentence each
	judges *asking.Judges
}

// compareRecord is the options part of OUT.run.json.
type compareRecord struct {
	*judging.Record            // absent where no model judges
	runrecord.Reading          // where there is none
	Types             []string `json:"types"`
	Orders            []string `json:"orders,omitempty"`
	Modes             []string `json:"modes,omitempty"`
	Prompts           []string `json:"prompts,omitempty"` // ids and hashes of templates
	Reconcile         string   `json:"reconcile,omitempty"`
	Round             int      `json:"round,omitempty"` // pairs between two looks, where it ends once settled
}

const countVerdict = "verdict." // and a type's name: pairs with a verdict by it

// stage is what judging and comparing offline have in common.
func (c *Compare) stage() *run.Stage {
	s := &run.Stage{Command: "compare", Taxonomy: pairwise.PairTask(c.Taxonomy), Column: verdicts.Column, Verb: "judge",
		Past: "judged", Weak: c.Weak, Why: func(run.Counts) string { return "verdicts.*.reason says why" },
		Zero: run.Counts{"unjudged": 0}}
	for _, name := range c.Types {
		s.Zero[countVerdict+name] = 0
	}
	s.Count = func(row *dataset.Row, _ bool, counts run.Counts) error {
		set, err := verdicts.Of(row)
		open := false
		for name, v := range set {
			if v.Value != "" {
				counts[countVerdict+name]++
			} else if v.Reason != verdicts.Inconsistent && v.Reason != verdicts.NotJudged && v.Reason != verdicts.Settled {
				open = true
			}
		}
		if open {
			counts["unjudged"]++
		}
		return err
	}
	return s
}

// Offline compares by the labels of both texts.
func (c *Compare) Offline(ctx context.Context) error {
	if err := c.Run.CheckOutputs(); err != nil {
		return err
	}
	offline := pairwise.NewOffline(c.Taxonomy, c.Types)
	if slices.Contains(c.Types, verdicts.Overall) {
		c.Run.Say("%s weighs the labels by the severity that %s gives them, else by %g", verdicts.Overall, c.Taxonomy.ID(),
			pairwise.DefaultSeverity)
	}
	s := c.stage()
	s.Options = compareRecord{Reading: c.Run.Reading, Types: c.Types}
	s.Work = run.Each(func(row *dataset.Row) error {
		set, err := offline.Compare(row)
		if err != nil {
			return fmt.Errorf("%s:%d: %w", row.Source, row.Line, err)
		}
		return row.Set(verdicts.Column, set)
	})
	return c.finish(ctx, c.Run.All(ctx, s))
}

// Panel has pairs judged by language models.
func (c *Compare) Panel(ctx context.Context, o *asking.Options) (err error) {
	r, s := c.Run, c.stage()
	kind := prompt.Compare
	if o.Joint {
		kind, c.Wordings = prompt.CompareJoint, []string{prompt.CompareJoint}
	}
	o.Template = c.Wordings[0]
	if c.judges, err = asking.New(o, kind, r.Output); err != nil {
		return err
	}
	j := c.judges
	panel, prompts, err := c.newPanel(o)
	if err != nil {
		return exit.With(exit.Usage, err)
	}
	record := j.NewRecord(r.Reading)
	s.Options = compareRecord{Record: &record, Types: c.Types, Orders: c.Orders, Modes: c.Modes, Prompts: prompts,
		Reconcile: c.Reconcile, Round: c.Round}
	s.Work = func(ctx context.Context, next func() (*dataset.Row, error), emit func(*dataset.Row) error) error {
		return c.judge(ctx, panel, next, func(row *dataset.Row, set verdicts.Set) error {
			if err := row.Set(verdicts.Column, set); err != nil {
				return err
			}
			return emit(row)
		})
	}
	of := func(q *pairwise.Question) asking.Call {
		return asking.Call{Judge: q.Judge, Title: q.Title, Request: q.Request}
	}
	return j.Ask(ctx, r, s, c.JSON, asking.CallsOf(j, panel.Questions, of),
		func() error { return c.finish(ctx, r.All(ctx, s)) })
}

// judge judges all pairs, or in rounds until the order of the systems is settled; the pairs that are left are then not
// asked about.
func (c *Compare) judge(ctx context.Context, panel *pairwise.Panel, next func() (*dataset.Row, error),
	emit func(*dataset.Row, verdicts.Set) error) error {
	if c.Round == 0 {
		return panel.Judge(ctx, next, emit)
	}
	rank := &Rank{Taxonomy: c.Taxonomy, Rows: *c.Run.Rows(), Types: c.Types, Columns: OwnColumns()}
	seen := rank.newVerdicts()
	settling := c.Types[len(c.Types)-1] // Overall, where it is compared
	for look := 1; ; look++ {
		n, ended := 0, false
		err := panel.Judge(ctx, func() (*dataset.Row, error) {
			if n == c.Round {
				return nil, io.EOF
			}
			n++
			row, err := next()
			ended = ended || errors.Is(err, io.EOF)
			return row, err
		}, func(row *dataset.Row, set verdicts.Set) error {
			if err := emit(row, set); err != nil {
				return err
			}
			return rank.addRow(seen, row)
		})
		switch {
		case err != nil || ended:
			return err
		case seen.board.Settled(settling, look):
			c.Run.Say("the order of the systems is settled after %d pairs; the others are not asked about", look*c.Round)
			return run.Each(func(*dataset.Row) error { return nil })(ctx, next,
				func(row *dataset.Row) error { return emit(row, c.settled()) })
		}
	}
}

// settled are the verdicts on a pair that need not be asked about.
func (c *Compare) settled() verdicts.Set {
	set := verdicts.Set{}
	for _, name := range c.Types {
		set[name] = &verdicts.Verdict{Status: verdicts.Unjudged, Reason: verdicts.Settled}
	}
	return set
}

// newPanel makes the panel, and says which prompts it uses.
func (c *Compare) newPanel(o *asking.Options) (panel *pairwise.Panel, prompts []string, err error) {
	options := pairwise.PanelOptions{Taxonomy: c.Taxonomy, Types: c.Types, Orders: c.Orders, Modes: c.Modes,
		Repeats: o.Panel.Repeats, Attempts: o.Panel.Attempts, Workers: o.Panel.Workers, Reconcile: c.Reconcile}
	for _, wording := range c.Wordings {
		t, err := prompt.Open(wording)
		if err != nil {
			return nil, nil, err
		}
		options.Templates = append(options.Templates, t)
		prompts = append(prompts, t.ID()+" sha256:"+t.Hash())
	}
	panel, err = pairwise.NewPanel(c.judges.Models(), options)
	return panel, prompts, err
}

// finish rates the systems by all verdicts of the output.
func (c *Compare) finish(ctx context.Context, res *run.Result) error {
	if res.NothingRead() || !res.Ended {
		return errors.Join(res.Err, c.Run.Incomplete())
	}
	rank := &Rank{Process: c.Run.Process, Taxonomy: c.Taxonomy, Rows: *c.Run.Rows(), Inputs: []string{c.Run.Output},
		Types: c.Types, Columns: OwnColumns(), Ratings: c.Ratings, JSON: c.JSON,
		Brief: true}
	rank.Rows.Taxonomy = pairwise.PairTask(c.Taxonomy)
	rank.Rows.Limit = 0
	err := rank.Run(ctx)
	if c.judges != nil {
		err = errors.Join(err, c.judges.SayUsage(c.Run.Process))
	}
	return errors.Join(res.Err, err, c.Run.Incomplete())
}

// MakePairs writes the pairs of a file of single outputs to a file, and gives their number.
type MakePairs struct {
	Process *run.Process
	Rows    run.Rows // of single outputs
	Inputs  []string
	Output  string
	System  string // column, or report.ByFile
	By      string // field or column that says what outputs were written for; "" as in the report page
	Design  pairwise.DesignOptions
}

// readOutputs reads the rows.
func (m *MakePairs) readOutputs(ctx context.Context) (outputs []pairwise.Output, faults []error, err error) {
	for _, file := range m.Inputs {
		more, err := m.Rows.Each(ctx, m.Process, file, func(row *dataset.Row) error {
			out, err := m.outputOf(row)
			if err != nil {
				return err
			}
			outputs = append(outputs, *out)
			return nil
		})
		if faults = append(faults, more...); err != nil {
			return nil, nil, err
		}
	}
	return outputs, faults, nil
}

// firstOf leaves out the outputs whose text the same system had for the same part of the same item before.
func firstOf(outputs []pairwise.Output) []pairwise.Output {
	type output struct {
		item, part, system string
		text               [sha256.Size]byte
	}
	seen := map[output]bool{}
	return slices.DeleteFunc(outputs, func(x pairwise.Output) bool {
		key := output{x.Item, x.Part, x.System, x.Row.TextSum()}
		was := seen[key]
		seen[key] = true
		return was
	})
}

// outputOf says whose output a row is, and for what.
func (m *MakePairs) outputOf(row *dataset.Row) (*pairwise.Output, error) {
	out := &pairwise.Output{System: row.Source, Row: row} // as of stats --by file
	if raw, ok := row.Find(m.System); ok {
		var err error
		if out.System, err = systemIn(row, m.System, raw); err != nil {
			return nil, err
		}
	} else if m.System != report.ByFile {
		return nil, exit.Usagef("--system: row %s has no column %q; the columns are %s", row.ID, m.System,
			strings.Join(row.Columns(), ", "))
	}
	by := cmp.Or(m.By, m.Rows.Taxonomy.GroupField())
	if i := slices.Index(m.Rows.Taxonomy.FieldNames(), by); i >= 0 {
		out.Item = row.Values[i]
	} else if raw, ok := row.Find(by); ok {
		out.Item = dataset.PlainText(raw)
	} else {
		return nil, exit.Usagef("--pair-by: row %s has no field or column %q", row.ID, by)
	}
	if raw, ok := row.Get(dataset.ColumnEpoch); ok { // outputs for one sample are no items of their own
		out.Part = dataset.PlainText(raw)
		out.Item = strings.TrimSuffix(out.Item, dataset.EpochSuffix+out.Part)
	}
	return out, nil
}

// Run makes the pairs. A file of pairs that is there is replaced: it follows from the input. Lines that are no rows are
// left out; left says so by its exit code.
func (m *MakePairs) Run(ctx context.Context) (pairs int, left, err error) {
	t := m.Rows.Taxonomy
	outputs, faults, err := m.readOutputs(ctx)
	if err != nil {
		return 0, nil, err
	}
	if m.By == "" {
		m.splitItems(outputs)
	}
	all := len(outputs)
	outputs = firstOf(outputs)
	if copies := all - len(outputs); copies > 0 {
		m.Process.Note([]string{fmt.Sprintf("%s: %s left out: the same text of the same system came before",
			strings.Join(m.Inputs, ", "), words.Plural(copies, "row is", "rows are"))})
	}
	rows, err := pairwise.NewPairs(t, outputs, m.Design)
	if err != nil {
		return 0, nil, fmt.Errorf("%s: %w", strings.Join(m.Inputs, ", "), err)
	}
	m.sayAlone(outputs)
	m.sayDifferent(rows)
	err = wholefile.Fill(m.Output, func(w io.Writer) error {
		sink, err := dataset.NewSink(w, dataset.Format{}, dataset.SinkOptions{})
		for _, row := range rows {
			if err == nil {
				err = sink.Write(row)
			}
		}
		if err != nil {
			return err
		}
		return sink.Close()
	})
	return len(rows), m.Process.WarnFaults(faults), err
}

// splitItems parts the items for which a system has several outputs by all fields but the judged one, as
// report.HasOneEach says; where that is not enough, by a column that tells them apart.
func (m *MakePairs) splitItems(outputs []pairwise.Output) {
	mixed := severalEach(outputs)
	for _, x := range mixed {
		x.Part += "\n" + strings.Join(x.Row.Values[1:], "\n")
	}
	mixed = severalEach(outputs)
	if len(mixed) == 0 {
		return
	}
	columns := slices.DeleteFunc(mixed[0].Row.Columns(), func(c string) bool { return c == m.System })
	at := slices.IndexFunc(columns, func(c string) bool { return pairsBy(mixed, c) })
	if at < 0 {
		return
	}
	for _, x := range mixed {
		x.Part += "\n" + valueOf(x.Row, columns[at])
	}
	m.Process.Note([]string{fmt.Sprintf("%s: some systems have several outputs for an item; those with the same %q are "+
		"paired (--pair-by COLUMN says what an item is)", strings.Join(m.Inputs, ", "), columns[at])})
}

// severalEach are the outputs for items, or parts of them, for which a system has several texts.
func severalEach(outputs []pairwise.Output) (several []*pairwise.Output) {
	items := map[[2]string][]*pairwise.Output{}
	for i := range outputs {
		x := &outputs[i]
		items[[2]string{x.Item, x.Part}] = append(items[[2]string{x.Item, x.Part}], x)
	}
	for _, item := range items {
		texts := map[string][sha256.Size]byte{}
		if slices.ContainsFunc(item, func(x *pairwise.Output) bool {
			sum := x.Row.TextSum()
			first, before := texts[x.System]
			texts[x.System] = sum
			return before && first != sum
		}) {
			several = append(several, item...)
		}
	}
	return several
}

// pairsBy tells whether each system has each value of a column for one text at most, and most values are those of several
// systems, as of the id of a request.
func pairsBy(outputs []*pairwise.Output, column string) bool {
	of, seen, paired := map[string]int{}, map[[2]string][sha256.Size]byte{}, 0
	for _, x := range outputs {
		key := [2]string{valueOf(x.Row, column), x.System}
		sum := x.Row.TextSum()
		first, before := seen[key]
		if key[0] == "" || before && first != sum {
			return false
		}
		if !before {
			seen[key] = sum
			of[key[0]]++
		}
	}
	for _, n := range of {
		if n > 1 {
			paired += n
		}
	}
	return 2*paired > len(outputs)
}

func valueOf(row *dataset.Row, column string) string {
	raw, _ := row.Get(column)
	if len(raw) == 0 || string(raw) == "null" {
		return ""
	}
	return dataset.PlainText(raw)
}

// sayAlone says how many outputs are for an item, or a part of one, that no other system has.
func (m *MakePairs) sayAlone(outputs []pairwise.Output) {
	of, alone := map[[2]string]int{}, 0
	for _, x := range outputs {
		of[[2]string{x.Item, x.Part}]++
	}
	for _, n := range of {
		if n == 1 {
			alone++
		}
	}
	if alone > 0 {
		m.Process.Warn("%d of %s are left out, as no other system has an output for the same item; --pair-by COLUMN names "+
			"what outputs are written for", alone, words.Plural(len(outputs), "row", "rows"))
	}
}

// sayDifferent says which fields the two outputs of pairs have differently.
func (m *MakePairs) sayDifferent(rows []*dataset.Row) {
	for _, f := range m.Rows.Taxonomy.Fields[1:] {
		n := 0
		for _, row := range rows {
			if raw, _ := row.Get(f.Name); string(raw) == "null" {
				n++
			}
		}
		if n > 0 {
			m.Process.Warn("in %d of %s the systems have different texts in %s: it is not shown to judges, and what needs it "+
				"is judged by labels alone", n, words.Plural(len(rows), "pair", "pairs"), f.Name)
		}
	}
}

// systemIn is the system that a column names.
func systemIn(row *dataset.Row, column string, raw json.RawMessage) (string, error) {
	name := dataset.ShortName(strings.TrimSpace(dataset.PlainText(raw)))
	if string(raw) == "null" || name == "" {
		return "", fmt.Errorf("row %s: column %q names no system", row.ID, column)
	}
	return name, nil
}

// RatingOptions say how systems are rated and judges audited, and what is made of the figures besides what is printed.
type RatingOptions struct {
	leaderboard.Options
	Own   map[string][]string // judge to the systems that are its own
	Audit bool                // measures what the judges go by besides quality

	Gates  []gate.Gate
	Report string // Markdown file, or ""
	Plots  RankPlots
}
