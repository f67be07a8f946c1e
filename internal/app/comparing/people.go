package comparing

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/pairwise/audit"
	"github.com/erreval/erreval/pairwise/people"
	"github.com/erreval/erreval/pairwise/verdicts"
	"github.com/erreval/erreval/report"
)

// Columns in which files say whose texts are A and B, and what stands before these names in rows that got them of
// people's files.
var shownSystems = [2][]string{{verdicts.SystemA, "model_a"}, {verdicts.SystemB, "model_b"}}

const ofPeople = "people."

// ReadPeoplesFile reads the columns of people's verdicts, and whose texts they saw as A and as B where it says so.
func ReadPeoplesFile(ctx context.Context, p *run.Process, in run.Rows, file string,
	columns []string) (*run.Joined, error) {
	may := slices.Concat(shownSystems[0], shownSystems[1])
	j, err := in.ReadJoined(ctx, p, file, columns, may...)
	for _, name := range may {
		j.Rename(name, ofPeople+name)
	}
	j.Item = verdicts.Item
	return j, err
}

// shownTo are the systems whose texts people saw as A and as B; "" where their file does not say so.
func shownTo(row *dataset.Row) (of [2]string) {
	for side, names := range shownSystems {
		for _, name := range names {
			if raw, ok := row.Get(ofPeople + name); ok && string(raw) != "null" && of[side] == "" {
				of[side] = dataset.PlainText(raw)
			}
		}
	}
	return of
}

// parse reads a verdict, in which A and B are what people saw as that, else the pair's.
func (k *Rank) parse(text string, row *dataset.Row, p *audit.Pair) (string, error) {
	shown := shownTo(row)
	switch shown {
	case [2]string{}:
		value, err := verdicts.Parse(text, p.SystemA, p.SystemB)
		isNamed := text == p.SystemA || text == p.SystemB
		if k.Rows.Joined != nil && k.Process != nil && !isNamed && (value == verdicts.A || value == verdicts.B) {
			k.Process.Note([]string{fmt.Sprintf("%s: A and B are taken as each pair has them, in its system_a and system_b; "+
				"whoever saw them otherwise needs these columns in that file, or systems' names as verdicts",
				k.Rows.Joined.File)})
		}
		return value, err
	case [2]string{p.SystemA, p.SystemB}:
		return verdicts.Parse(text, p.SystemA, p.SystemB)
	case [2]string{p.SystemB, p.SystemA}:
		value, err := verdicts.Parse(text, p.SystemB, p.SystemA)
		return verdicts.Swapped(value), err
	}
	return "", errOtherPair{fmt.Errorf("it is about %s and %s, and the pair of %s and %s", shown[0], shown[1], p.SystemA,
		p.SystemB)}
}

// errOtherPair marks a verdict on two other systems than those of the pair.
type errOtherPair struct{ error }

// ReadPeople reads people's verdicts, and the judge's by a type, on the pairs of a file. faults are the lines that are
// no rows.
func (k *Rank) ReadPeople(ctx context.Context, file, name string) (pairs []people.Pair, faults []error, err error) {
	k.readColumns(file)
	faults, err = k.Rows.Each(ctx, k.Process, file, func(row *dataset.Row) error {
		p, err := k.peoplePair(row, name)
		if err == nil {
			pairs = append(pairs, *p)
		}
		return err
	})
	return pairs, faults, errors.Join(err, k.unread.check(k.Process))
}

func (k *Rank) peoplePair(row *dataset.Row, name string) (*people.Pair, error) {
	p, err := k.pairOf(row)
	if err != nil {
		return nil, err
	}
	out := &people.Pair{Item: p.Item, SystemA: p.SystemA, SystemB: p.SystemB}
	for _, column := range k.Columns.Verdicts {
		value, _, err := k.personsVerdict(row, column, p)
		if err != nil {
			return nil, err
		}
		out.People = append(out.People, value)
	}
	set, err := verdicts.Of(row)
	if v := set[name]; v != nil {
		out.Judge, out.Judged, out.Inconsistent = v.Value, true, v.Reason == verdicts.Inconsistent
		out.ByMode = v.ByMode()
	} else if set != nil && err == nil {
		err = exit.Usagef("--type %q: row %s has no verdict by it", name, row.ID)
	}
	return out, err
}

// majority is the verdict that more people give than any other; where there is none, why.
func (k *Rank) majority(row *dataset.Row, p *audit.Pair) (value, reason string, err error) {
	v := verdicts.Verdict{}
	for _, column := range k.Columns.Verdicts {
		value, reason, err := k.personsVerdict(row, column, p)
		if err != nil {
			return "", "", err
		}
		v.Runs = append(v.Runs, verdicts.Run{Value: value, Reason: reason})
	}
	v.Reconcile(verdicts.Majority)
	return v.Value, v.Reason, nil
}

// personsVerdict is what a person says in a column; where it is empty, why.
func (k *Rank) personsVerdict(row *dataset.Row, column string, p *audit.Pair) (value, reason string, err error) {
	raw, ok := row.Get(column)
	if !ok {
		return "", "", exit.With(exit.Usage, report.NoColumn("--verdict or --human", row, column))
	}
	file, line := row.Source, row.Line
	if k.Rows.Joined != nil {
		file, line = k.Rows.Joined.Place()
	}
	text := dataset.PlainText(raw)
	value, err = k.parse(text, row, p)
	k.unread.addNumber(file, column, text, value, p)
	cell := fmt.Sprintf("%s:%d: column %q", file, line, column)
	if _, other := errors.AsType[errOtherPair](err); other { // an item has several pairs, and people saw one
		k.unread.tryCell(cell, err)
		return "", verdicts.NoVerdict, nil
	}
	if k.Rows.Joined != nil {
		k.unread.tryCell(cell, nil)
	}
	switch {
	case errors.Is(err, verdicts.ErrInconsistent):
		k.unread.read++
		return "", verdicts.Inconsistent, nil
	case err != nil:
		k.unread.add(cell, err)
		return "", verdicts.Unread, nil
	case value == "":
		return "", verdicts.NoVerdict, nil
	}
	k.unread.read++
	return value, "", nil
}
