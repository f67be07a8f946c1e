package stages

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/gate"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/internal/wholefile"
	"github.com/erreval/erreval/pairwise/audit"
	"github.com/erreval/erreval/pairwise/leaderboard"
	"github.com/erreval/erreval/pairwise/people"
	"github.com/erreval/erreval/pairwise/verdicts"
	"github.com/erreval/erreval/report"
	"github.com/erreval/erreval/taxonomy"
)

// Rank rates systems by files of verdicts.
type Rank struct {
	Process  *run.Process
	Taxonomy *taxonomy.Taxonomy // of single texts
	Rows     run.Rows
	Inputs   []string
	Types    []string       // the order of tables; others come behind them
	Columns  VerdictColumns // of people's verdicts, or others'
	Ratings  RatingOptions
	Gates    []gate.Gate
	Report   string // Markdown file, or ""
	JSON     bool
	Markdown bool
	Quiet    bool
}

// VerdictColumns name the columns of a file that erreval did not write.
type VerdictColumns struct {
	Verdicts         []string // one a person; their majority counts. None: the column "verdicts"
	Item             string   // "" is "item", or what the texts were written for
	SystemA, SystemB string
}

// OwnColumns are those of the files that erreval compare writes.
func OwnColumns() VerdictColumns {
	return VerdictColumns{Item: verdicts.Item, SystemA: verdicts.SystemA, SystemB: verdicts.SystemB}
}

// Run reads the verdicts, rates, audits and prints.
func (k *Rank) Run(ctx context.Context) error {
	c, err := k.read(ctx)
	if err != nil {
		return err
	}
	board, err := c.board.Compute(ctx, k.Ratings.Options)
	if err != nil {
		return exit.With(exit.Usage, err)
	}
	out := &Comparison{Board: board, Agreement: c.agreement()}
	for _, name := range c.board.Types() {
		audits, err := c.audits.Audit(ctx, name)
		if err != nil {
			return err
		}
		out.Audits = append(out.Audits, audits...)
	}
	results := out.checkLimits(k.Gates)
	return errors.Join(k.print(out), k.Process.WarnFaults(c.faults), run.MissedGates(results))
}

// Comparison is what verdicts say.
type Comparison struct {
	*leaderboard.Board
	Audits    []audit.Audit `json:"audits,omitempty"`
	Agreement []Agreement   `json:"offline,omitempty"`
}

// Agreement is that of a judge's verdicts with those of the labels, on the same pairs.
type Agreement struct {
	Type  string        `json:"type"`
	Pairs int           `json:"pairs"`
	Same  report.Number `json:"same"`  // share
	Kappa report.Number `json:"kappa"` // Cohen's
}

// readVerdicts is what was read.
type readVerdicts struct {
	board  *leaderboard.Verdicts
	audits *audit.Collection
	judged map[string][2][]int8 // by type: the judge's verdicts and those of the labels, by their place in verdicts.Values
	faults []error
}

func (k *Rank) newVerdicts() *readVerdicts {
	return &readVerdicts{board: leaderboard.NewVerdicts(k.Types), judged: map[string][2][]int8{}, audits: audit.New(
		audit.Options{Own: k.Ratings.Own, Resamples: k.Ratings.Resamples, Seed: k.Ratings.Seed})}
}

func (k *Rank) read(ctx context.Context) (*readVerdicts, error) {
	c := k.newVerdicts()
	for _, file := range k.Inputs {
		faults, err := k.Rows.Each(ctx, k.Process, file, func(row *dataset.Row) error { return k.addRow(c, row) })
		if c.faults = append(c.faults, faults...); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func (k *Rank) addRow(c *readVerdicts, row *dataset.Row) error {
	p, err := k.pairOf(row)
	if err != nil {
		return err
	}
	if len(k.Columns.Verdicts) > 0 {
		value, err := k.majority(row, p)
		if err == nil && value != "" {
			c.board.Add(verdicts.Overall, p.Item, p.SystemA, p.SystemB, value, "")
		} else if err == nil {
			c.board.Add(verdicts.Overall, p.Item, p.SystemA, p.SystemB, "", verdicts.Inconsistent)
		}
		return err
	}
	set, err := verdicts.Of(row)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(set)) {
		v := set[name]
		reason, _, _ := strings.Cut(v.Reason, ":")
		c.board.Add(name, p.Item, p.SystemA, p.SystemB, v.Value, reason)
		if v.Offline != "" && v.Value != "" {
			both := c.judged[name]
			c.judged[name] = [2][]int8{append(both[0], indexOf(v.Value)), append(both[1], indexOf(v.Offline))}
		}
		p.Runs = v.Runs
		c.audits.Add(name, p)
	}
	return nil
}

func indexOf(value string) int8 { return int8(slices.Index(verdicts.Values(), value)) }

// pairOf reads whose texts are compared, on what.
func (k *Rank) pairOf(row *dataset.Row) (*audit.Pair, error) {
	p := &audit.Pair{}
	for _, f := range []struct {
		option, column string
		to             *string
	}{{"--system-a", k.Columns.SystemA, &p.SystemA}, {"--system-b", k.Columns.SystemB, &p.SystemB}} {
		raw, ok := row.Get(f.column)
		if !ok {
			return nil, exit.With(exit.Usage, report.NoColumn(f.option, row, f.column))
		}
		*f.to = dataset.PlainText(raw)
	}
	p.Item = row.ID
	if raw, ok := row.Get(k.Columns.Item); ok {
		p.Item = dataset.PlainText(raw)
	} else if group := k.Taxonomy.GroupField(); group != "" {
		if raw, ok := row.Get(group); ok {
			p.Item = dataset.PlainText(raw)
		}
	}
	text := k.Taxonomy.Fields[0].Name
	for column, to := range map[string]*int{text + "_a": &p.LengthA, text + "_b": &p.LengthB} {
		if raw, ok := row.Get(column); ok {
			*to = utf8.RuneCountInString(dataset.PlainText(raw))
		}
	}
	return p, nil
}

// DefaultRatings are the usual options of leaderboards.
func DefaultRatings() leaderboard.Options { return leaderboard.DefaultOptions() }

// PeoplePair reads people's verdicts on a pair, and the judge's by a type.
func (k *Rank) PeoplePair(row *dataset.Row, name string) (*people.Pair, error) {
	p, err := k.pairOf(row)
	if err != nil {
		return nil, err
	}
	out := &people.Pair{Item: p.Item, SystemA: p.SystemA, SystemB: p.SystemB}
	for _, column := range k.Columns.Verdicts {
		value, err := personsVerdict(row, column, p)
		if err != nil {
			return nil, err
		}
		out.People = append(out.People, value)
	}
	set, err := verdicts.Of(row)
	if v := set[name]; v != nil {
		out.Judge, out.Judged = v.Value, true
		out.Reason, _, _ = strings.Cut(v.Reason, ":")
	} else if set != nil && err == nil {
		err = exit.Usagef("--type %q: row %s has no verdict by it", name, row.ID)
	}
	return out, err
}

// personsVerdict is what a person says in a column.
func personsVerdict(row *dataset.Row, column string, p *audit.Pair) (string, error) {
	raw, ok := row.Get(column)
	if !ok {
		return "", exit.With(exit.Usage, report.NoColumn("--verdict or --human", row, column))
	}
	value, err := verdicts.Parse(dataset.PlainText(raw), p.SystemA, p.SystemB)
	if err != nil {
		err = exit.Usagef("row %s: column %q: %w", row.ID, column, err)
	}
	return value, err
}

// majority is the verdict that more people give than any other; "" where there is none.
func (k *Rank) majority(row *dataset.Row, p *audit.Pair) (string, error) {
	v := verdicts.Verdict{}
	for _, column := range k.Columns.Verdicts {
		value, err := personsVerdict(row, column, p)
		if err != nil {
			return "", err
		}
		v.Runs = append(v.Runs, verdicts.Run{Value: value})
	}
	v.Reconcile(verdicts.Majority)
	return v.Value, nil
}

// print prints the figures, and writes the report.
func (k *Rank) print(c *Comparison) error {
	r := c.Report()
	var err error
	if k.Report != "" {
		var page strings.Builder
		err = errors.Join(r.Markdown(&page), wholefile.Write(k.Report, []byte(page.String())))
	}
	switch {
	case k.JSON:
		return errors.Join(err, run.WriteJSON(k.Process.Out, c))
	case k.Markdown:
		return errors.Join(err, r.Markdown(k.Process.Out))
	case k.Quiet:
		return err
	}
	return errors.Join(err, r.Text(run.Guard(k.Process.Out)))
}
