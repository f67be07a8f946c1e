package comparing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/pairwise/audit"
	"github.com/erreval/erreval/pairwise/leaderboard"
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
	Types    []string // the order of tables; others come behind them, unless OnlyTypes
	// OnlyTypes leaves out verdicts by other types, and refuses a type that there is no verdict by.
	OnlyTypes bool
	Columns   VerdictColumns // of people's verdicts, or others'
	Ratings   RatingOptions
	JSON      bool
	Markdown  bool
	LaTeX     bool
	Brief     bool              // prints one table of all types in a terminal
	columnOf  map[string]string // by field of pairs, where its name is another
	unread    unreadVerdicts
}

// VerdictColumns name the columns of a file that erreval did not write.
type VerdictColumns struct {
	Verdicts         []string // one a person; their majority counts. None: the column "verdicts"
	Item             string   // "" is "item", else the taxonomy's group field, else "question_id", or each row is one
	SystemA, SystemB string
}

// OwnColumns are those of the files that erreval compare writes.
func OwnColumns() VerdictColumns {
	return VerdictColumns{SystemA: verdicts.SystemA, SystemB: verdicts.SystemB}
}

// Run reads the verdicts, rates, audits and prints.
func (k *Rank) Run(ctx context.Context) error {
	c, err := k.read(ctx)
	if err != nil {
		return err
	}
	out, err := k.rate(ctx, c)
	if err != nil {
		return err
	}
	results := out.checkLimits(k.Ratings.Gates)
	if k.unread.unread > 0 {
		err = exit.With(exit.Incomplete, nil)
	}
	return errors.Join(err, k.checkOwn(c.board.Systems(), out.Audits), k.Ratings.Plots.draw(out), k.print(out),
		k.Process.WarnFaults(c.faults), k.Process.MissedGates(results))
}

// Compute reads the verdicts, rates and audits, and prints nothing. faults are the lines that are no rows.
func (k *Rank) Compute(ctx context.Context) (out *Comparison, faults []error, err error) {
	c, err := k.read(ctx)
	if err != nil {
		return nil, nil, err
	}
	out, err = k.rate(ctx, c)
	return out, c.faults, err
}

func (k *Rank) rate(ctx context.Context, c *readVerdicts) (*Comparison, error) {
	board, err := c.board.Compute(ctx, k.Ratings.Options)
	if err != nil {
		return nil, exit.With(exit.Usage, err)
	}
	out := &Comparison{Board: board, Agreement: c.agreement(), Modes: c.modeChanges(),
		Judges: slices.Sorted(maps.Keys(c.judges))}
	for _, name := range c.board.Types() {
		if !k.Ratings.Audit {
			break
		}
		audits, err := c.audits.Audit(ctx, name)
		if err != nil {
			return nil, err
		}
		out.Audits = append(out.Audits, audits...)
	}
	return out, nil
}

// checkOwn finds names of --own that stand for nobody.
func (k *Rank) checkOwn(systems []string, audits []audit.Audit) error {
	for _, judge := range slices.Sorted(maps.Keys(k.Ratings.Own)) {
		if !slices.ContainsFunc(audits, func(a audit.Audit) bool { return a.Judge == judge }) {
			return exit.Usagef("--own: there is no judgement of %q", judge)
		}
		for _, system := range k.Ratings.Own[judge] {
			if !slices.Contains(systems, system) {
				return exit.Usagef("--own: %q is none of the systems; they are %s", system, strings.Join(systems, ", "))
			}
		}
	}
	return nil
}

// Comparison is what verdicts say.
type Comparison struct {
	*leaderboard.Board
	Audits    []audit.Audit `json:"audits,omitempty"`
	Agreement []Agreement   `json:"offline,omitempty"`
	Modes     []ModeChange  `json:"modes,omitempty"`  // of types that were judged in both modes
	Judges    []string      `json:"judges,omitempty"` // whose verdicts they are; dataset.JudgeOffline of labels
}

// ModeChange says how often showing the judge the errors found gives another verdict.
type ModeChange struct {
	Type    string        `json:"type"`
	Pairs   int           `json:"pairs"`   // with a verdict in both modes
	Changed report.Number `json:"changed"` // share with another one
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
	modes  map[string]*ModeChange
	found  map[string]bool // types that there are verdicts by, also those left out
	judges map[string]bool
	faults []error
	rows   int
}

func (k *Rank) newVerdicts() *readVerdicts {
	return &readVerdicts{board: leaderboard.NewVerdicts(k.Types), judged: map[string][2][]int8{},
		modes: map[string]*ModeChange{}, found: map[string]bool{}, judges: map[string]bool{}, audits: audit.New(
			audit.Options{Own: k.Ratings.Own, Resamples: k.Ratings.Resamples, Seed: k.Ratings.Seed})}
}

func (k *Rank) read(ctx context.Context) (*readVerdicts, error) {
	c := k.newVerdicts()
	for _, file := range k.Inputs {
		k.readColumns(file)
		faults, err := k.Rows.Each(ctx, k.Process, file, func(row *dataset.Row) error { return k.addRow(c, row) })
		if c.faults = append(c.faults, faults...); err != nil {
			return nil, err
		}
	}
	if err := k.unread.check(k.Process); err != nil {
		return nil, err
	}
	missing := slices.IndexFunc(k.Types, func(name string) bool { return k.OnlyTypes && !c.found[name] })
	switch files := strings.Join(k.Inputs, ", "); {
	case c.rows == 0:
		return nil, errors.Join(fmt.Errorf("%s: there are no rows", files), errors.Join(c.faults...))
	case len(c.board.Systems()) == 0 && len(c.found) == 0:
		return nil, exit.Usagef("%s: no row has a column %q, as erreval compare writes it; name the columns of others' "+
			"verdicts with --verdict COLUMN[,COLUMN]", files, verdicts.Column)
	case missing >= 0:
		return nil, exit.Usagef("--types: %s has no verdict by %s; it has those by %s", files, k.Types[missing],
			strings.Join(slices.Sorted(maps.Keys(c.found)), ", "))
	}
	return c, nil
}

// readColumns says which columns of a file hold the texts, as the run that made it read them.
func (k *Rank) readColumns(file string) {
	if made, _ := run.ReadRecordedColumns(file); len(made) > 0 {
		k.columnOf, k.Rows.Columns = made, made
	}
}

// text is a field of a pair: as the row was read, or where it was read without fields, as the run that made its file
// read it.
func (k *Rank) text(row *dataset.Row, field string) (string, bool) {
	if i := slices.Index(k.Rows.Taxonomy.FieldNames(), field); i >= 0 && i < len(row.Values) {
		return row.Values[i], true
	}
	raw, ok := row.Get(cmp.Or(k.columnOf[field], field))
	return dataset.PlainText(raw), ok
}

func (k *Rank) addRow(c *readVerdicts, row *dataset.Row) error {
	c.rows++
	p, err := k.pairOf(row)
	if err != nil {
		return err
	}
	if len(k.Columns.Verdicts) > 0 {
		if c.rows == 1 {
			k.noteRaters(row)
		}
		value, reason, err := k.majority(row, p)
		if err == nil {
			c.board.Add(verdicts.Overall, p.Item, p.SystemA, p.SystemB, value, reason)
		}
		return err
	}
	set, err := verdicts.Of(row)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(set)) {
		c.found[name] = true
		if k.OnlyTypes && !slices.Contains(k.Types, name) {
			continue
		}
		v := set[name]
		reason, _, _ := strings.Cut(v.Reason, ":")
		c.board.Add(name, p.Item, p.SystemA, p.SystemB, v.Value, reason)
		if v.Offline != "" && v.Value != "" {
			both := c.judged[name]
			c.judged[name] = [2][]int8{append(both[0], indexOf(v.Value)), append(both[1], indexOf(v.Offline))}
		}
		if v.HasOneOrder() {
			c.board.AddOneOrder(name)
		}
		if v.Value != "" {
			c.board.AddLost(name, v.Lost(), len(v.Runs))
		}
		c.addModes(name, v)
		p.Runs = v.Runs
		for _, r := range v.Runs {
			c.judges[r.Judge] = true
		}
		c.audits.Add(name, p)
	}
	return nil
}

func indexOf(value string) int8 { return int8(slices.Index(verdicts.Values(), value)) }

// pairOf reads whose texts are compared, on what.
func (k *Rank) pairOf(row *dataset.Row) (*audit.Pair, error) {
	p := &audit.Pair{}
	text := k.Taxonomy.Fields[0].Name
	_, compared := row.Get(verdicts.Column)
	for side, f := range []struct {
		option, column, text, place string
		to                          *string
	}{{"--system-a", k.Columns.SystemA, text + "_a", "A", &p.SystemA},
		{"--system-b", k.Columns.SystemB, text + "_b", "B", &p.SystemB}} {
		raw, ok := row.Get(f.column)
		isUsual := f.column == shownSystems[side][0]
		if !ok && isUsual {
			raw, ok = row.Get(shownSystems[side][1])
		}
		switch {
		case !ok && isUsual && (compared || len(k.Columns.Verdicts) == 0): // of erreval compare
			*f.to = cmp.Or(k.columnOf[f.text], f.place)
			k.noteNameless(f.column, *f.to)
			continue
		case !ok:
			return nil, exit.With(exit.Usage, report.NoColumn(f.option, row, f.column))
		}
		var err error
		if *f.to, err = systemIn(f.column, raw); err != nil {
			return nil, fmt.Errorf("row %s: %w", row.ID, err)
		}
	}
	if err := k.setItem(row, p); err != nil {
		return nil, err
	}
	for field, to := range map[string]*int{text + "_a": &p.LengthA, text + "_b": &p.LengthB} {
		if text, ok := k.text(row, field); ok {
			*to = utf8.RuneCountInString(text)
		}
	}
	return p, nil
}

func (k *Rank) noteRaters(first *dataset.Row) {
	if who := run.RaterIn(first.Columns()); who != "" {
		k.note(fmt.Sprintf("each row counts by itself, whoever says it (column %s); a majority counts of verdicts in a "+
			"column each", who))
	}
}

func (k *Rank) noteNameless(column, name string) {
	k.note(fmt.Sprintf("no column %q names systems: the system there is called %s", column, name))
}

// note says something once.
func (k *Rank) note(text string) {
	if k.Process != nil {
		k.Process.Note([]string{text})
	}
}

// Columns of FastChat's files with people's verdicts: what was asked, and the turn that is judged.
const questionID, turn = "question_id", "turn"

// setItem says what both texts were written for.
func (k *Rank) setItem(row *dataset.Row, p *audit.Pair) error {
	var values []string
	for column := range strings.SplitSeq(cmp.Or(k.Columns.Item, verdicts.Item), ",") {
		raw, ok := row.Get(column)
		if !ok && k.Columns.Item != "" {
			return exit.With(exit.Usage, report.NoColumn("--item", row, column))
		} else if ok {
			values = append(values, dataset.PlainText(raw))
		}
	}
	if len(values) > 0 {
		p.Item = strings.Join(values, "|")
		return nil
	}
	if group := k.Taxonomy.GroupField(); group != "" {
		if text, ok := k.text(row, group); ok {
			p.Item = text
			return nil
		}
	}
	if raw, ok := row.Get(questionID); ok {
		p.Item = dataset.PlainText(raw)
		return nil
	}
	p.Item = row.ID
	k.note(fmt.Sprintf("no column %q: each pair counts as an item of its own; --item COLUMN names what texts were "+
		"written for, since pairs of one item stand and fall together", verdicts.Item))
	return nil
}

// RankTypes are the error types of a taxonomy, in its order, and verdicts.Overall: the order of tables.
func RankTypes(t *taxonomy.Taxonomy) []string {
	return append(t.Errors(), verdicts.Overall)
}
