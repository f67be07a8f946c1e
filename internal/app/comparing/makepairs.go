package comparing

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/internal/runrecord"
	"github.com/erreval/erreval/internal/wholefile"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/pairwise"
	"github.com/erreval/erreval/report"
)

// MakePairs writes the pairs of a file of single outputs to a file, and gives their number.
type MakePairs struct {
	Process *run.Process
	Rows    run.Rows // of single outputs
	Inputs  []string
	Output  string
	System  string            // column, or report.ByFile
	By      string            // field or column that says what outputs were written for; "" as in the report page
	Where   map[string]string // only rows with these values in these columns
	Design  pairwise.DesignOptions
}

// readOutputs reads the rows.
func (m *MakePairs) readOutputs(ctx context.Context) (outputs []pairwise.Output, faults []error, err error) {
	in := m.Rows
	in.CopiesSaid = true
	for _, file := range m.Inputs {
		filter, passed := dataset.Filter{Where: m.Where}, false
		in.Wanted = filter.Match
		more, err := in.Each(ctx, m.Process, file, func(row *dataset.Row) error {
			if !filter.Match(row) {
				return nil
			}
			passed = true
			out, err := m.outputOf(row)
			if _, ok := errors.AsType[errNoSystem](err); ok {
				faults = append(faults, &dataset.LineError{File: row.Source, Line: row.Line, Err: err})
				return nil
			}
			if err != nil {
				return err
			}
			outputs = append(outputs, *out)
			return nil
		})
		if err == nil && !passed && len(m.Where) > 0 {
			err = filter.NoMatch(file)
		}
		if faults = append(faults, more...); err != nil {
			return nil, nil, err
		}
	}
	return outputs, faults, nil
}

// withoutCopies leaves out the outputs whose text the same system had for the same part of the same item before.
func (m *MakePairs) withoutCopies(outputs []pairwise.Output) []pairwise.Output {
	type output struct {
		item, part, system string
		text               [sha256.Size]byte
	}
	all, seen := len(outputs), map[output]bool{}
	outputs = slices.DeleteFunc(outputs, func(x pairwise.Output) bool {
		key := output{x.Item, x.Part, x.System, x.Row.TextSum()}
		was := seen[key]
		seen[key] = true
		return was
	})
	if copies := all - len(outputs); copies > 0 {
		m.Process.Note([]string{fmt.Sprintf("%s: %s left out: the same text of the same system came before",
			strings.Join(m.Inputs, ", "), words.Plural(copies, "row is", "rows are"))})
	}
	return outputs
}

// outputOf says whose output a row is, and for what.
func (m *MakePairs) outputOf(row *dataset.Row) (*pairwise.Output, error) {
	out := &pairwise.Output{System: row.Source, Row: row} // as of stats --by file
	if raw, ok := row.Find(m.System); ok {
		var err error
		if out.System, err = systemIn(m.System, raw); err != nil {
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
	out.Item = strings.TrimSpace(out.Item)
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
	left = m.Process.WarnFaults(faults)
	if m.By == "" {
		m.asAsked(outputs)
		m.splitItems(outputs)
	}
	outputs = m.withoutCopies(outputs)
	if m.By != "" {
		m.sayOtherInputs(outputs)
	}
	rows, err := pairwise.NewPairs(t, outputs, m.Design)
	if err != nil {
		return 0, nil, fmt.Errorf("%s: %w", strings.Join(m.Inputs, ", "), err)
	}
	m.sayAlone(outputs)
	m.sayEmpty(outputs)
	m.sayDifferent(rows)
	write := func(w io.Writer) error {
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
	}
	if !m.isThere(write) {
		err = wholefile.Fill(m.Output, write)
	}
	return len(rows), left, err
}

// isThere tells whether the file of pairs is what write writes: another run of the same line may read it.
func (m *MakePairs) isThere(write func(io.Writer) error) bool {
	info, err := os.Lstat(m.Output)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	sum := sha256.New()
	there, err := runrecord.HashFile(m.Output)
	return errors.Join(err, write(sum)) == nil && there.SHA256 == hex.EncodeToString(sum.Sum(nil))
}

// splitItems parts the items for which a system has several outputs by all fields but the judged one, as the page of
// reports does; where that is not enough, by a column that tells them apart.
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
	at := slices.IndexFunc(columns, func(c string) bool { return pairsBy(outputs, mixed, c) })
	blank := func(x *pairwise.Output) bool { return strings.TrimSpace(x.Item) == "" } // which are not of one input
	how := "they are paired in their order"
	switch {
	case at >= 0:
		for _, x := range mixed {
			x.Part += "\n" + valueOf(x.Row, columns[at])
		}
		how = fmt.Sprintf("those with the same %q are paired", columns[at])
	case slices.ContainsFunc(mixed, blank):
		return
	default:
		number(mixed)
	}
	m.Process.Note([]string{fmt.Sprintf("%s: some systems have several outputs for an item; %s (--pair-by COLUMN says "+
		"what an item is)", strings.Join(m.Inputs, ", "), how)})
}

// asAsked pairs outputs for conversations by what users said, where that pairs more of them, since the systems were
// told different things, or called tools before they answered. It does not where one system was told different things:
// these may be different tasks.
func (m *MakePairs) asAsked(outputs []pairwise.Output) {
	at := slices.Index(m.Rows.Taxonomy.FieldNames(), m.Rows.Taxonomy.GroupField())
	if at < 0 {
		return
	}
	users, told := slices.Clone(outputs), map[[3]string]string{}
	for i := range users {
		x := &users[i]
		x.Item = dataset.AsAsked(x.Item)
		key := [3]string{x.Item, x.Part, x.System}
		if first, before := told[key]; before && first != outputs[i].Item {
			return
		}
		told[key] = outputs[i].Item
	}
	if countAlone(users) >= countAlone(outputs) {
		return
	}
	for i, x := range users {
		outputs[i].Item, x.Row.Values[at] = x.Item, x.Item
	}
	m.Process.Warn("the systems were told different things (turns of the role system), or called tools: outputs are " +
		"paired by what users said, and judges see that alone")
}

// sayOtherInputs warns of outputs for one item of --pair-by that were written for different inputs. Of conversations
// that end with the same turn of the user, that turn alone is taken.
func (m *MakePairs) sayOtherInputs(outputs []pairwise.Output) {
	at := slices.Index(m.Rows.Taxonomy.FieldNames(), m.Rows.Taxonomy.GroupField())
	if at < 0 {
		return
	}
	items := map[[2]string][]*pairwise.Output{}
	for i := range outputs {
		key := [2]string{outputs[i].Item, outputs[i].Part}
		items[key] = append(items[key], &outputs[i])
	}
	several, other, history := 0, 0, 0
	for _, all := range items {
		differ := func(of func(string) string) bool {
			first := of(all[0].Row.Values[at])
			return slices.ContainsFunc(all, func(x *pairwise.Output) bool {
				return !slices.Equal(strings.Fields(of(x.Row.Values[at])), strings.Fields(first))
			})
		}
		if len(all) > 1 {
			several++
		}
		switch {
		case differ(dataset.LastTurn):
			other++
		case differ(func(input string) string { return input }):
			history++
			for _, x := range all {
				x.Row.Values[at] = dataset.LastTurn(x.Row.Values[at])
			}
		}
	}
	of := words.Plural(several, "item", "items")
	if history > 0 {
		m.Process.Warn("in %d of %s the conversations differ before the last turn of the user: that turn alone is taken",
			history, of)
	}
	if other > 0 {
		m.Process.Warn("in %d of %s the systems were given different texts in %s, of which one is taken: is an item "+
			"what --pair-by %s says?", other, of, m.Rows.Taxonomy.GroupField(), words.Quote(m.By))
	}
}

// countAlone counts the outputs for an item, or a part of one, for which no other system has one.
func countAlone(outputs []pairwise.Output) (alone int) {
	systems := map[[2]string]map[string]bool{}
	for _, x := range outputs {
		key := [2]string{x.Item, x.Part}
		if systems[key] == nil {
			systems[key] = map[string]bool{}
		}
		systems[key][x.System] = true
	}
	for _, x := range outputs {
		if len(systems[[2]string{x.Item, x.Part}]) == 1 {
			alone++
		}
	}
	return alone
}

// sayAlone says how many outputs those are.
func (m *MakePairs) sayAlone(outputs []pairwise.Output) {
	if alone := countAlone(outputs); alone > 0 {
		m.Process.Warn("%d of %s are left out, as no other system has one to pair them with; --pair-by COLUMN names "+
			"what outputs are written for", alone, words.Plural(len(outputs), "row", "rows"))
	}
}

// sayEmpty says how many outputs have no text, and whose they are.
func (m *MakePairs) sayEmpty(outputs []pairwise.Output) {
	of, all := map[string]int{}, 0
	for _, x := range outputs {
		if strings.TrimSpace(x.Row.Values[0]) == "" {
			of[x.System]++
			all++
		}
	}
	if all == 0 {
		return
	}
	var whose []string
	for _, system := range slices.Sorted(maps.Keys(of)) {
		whose = append(whose, fmt.Sprintf("%s %d", words.Printable(system), of[system]))
	}
	m.Process.Warn("%s no text in %s (%s), which loses by labels, and which a judge sees as it is; where calls "+
		"failed, leave their rows out: --where COLUMN=VALUE", words.Plural(all, "row has", "rows have"),
		m.Rows.Taxonomy.Fields[0].Name, strings.Join(whose, ", "))
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

// errNoSystem marks a row that names no system.
type errNoSystem struct{ column string }

func (e errNoSystem) Error() string { return fmt.Sprintf("column %q names no system", e.column) }

// systemIn is the system that a column names.
func systemIn(column string, raw json.RawMessage) (string, error) {
	name := dataset.ShortName(dataset.NameIn(raw))
	if string(raw) == "null" || name == "" {
		return "", errNoSystem{column}
	}
	return name, nil
}
