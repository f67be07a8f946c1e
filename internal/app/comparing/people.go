package comparing

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/pairwise/audit"
	"github.com/erreval/erreval/pairwise/people"
	"github.com/erreval/erreval/pairwise/verdicts"
	"github.com/erreval/erreval/report"
)

// Columns in which files say whose texts are A and B, and what stands before these names in rows that got them of
// people's files.
var shownSystems = [2][]string{{verdicts.SystemA, "model_a"}, {verdicts.SystemB, "model_b"}}

const ofPeople = "people."

// ReadPeoplesFile reads the columns of people's verdicts, and whose texts they saw as A and as B where it says so; of a
// file with a row for each person it gives the columns that pairs get.
func ReadPeoplesFile(ctx context.Context, p *run.Process, in run.Rows, file string,
	columns []string) (*run.Joined, []string, error) {
	may := slices.Concat(shownSystems[0], shownSystems[1])
	j, ratings, err := in.ReadRatings(ctx, p, run.RatingsFile{File: file, Columns: columns, May: may,
		Asked: []string{"prompt", "instruction", "input", "question", "passage", "context"},
		Value: named})
	for _, name := range may {
		j.Rename(name, ofPeople+name)
	}
	j.Item = verdicts.Item
	if err != nil || ratings == nil {
		return j, columns, err
	}
	columns, err = ratings.Columns(j, columns...)
	return j, columns, err
}

// named is a verdict of one person with the system's name for A and B, where the person's row says what these were.
func named(row *dataset.Row, raw json.RawMessage) json.RawMessage {
	shown := systemsIn(row, "")
	value, err := verdicts.Parse(dataset.PlainText(raw), shown[0], shown[1])
	side := slices.Index([]string{verdicts.A, verdicts.B}, value)
	if err != nil || side < 0 || shown[side] == "" {
		return raw
	}
	name, err := json.Marshal(shown[side])
	if err != nil {
		return raw
	}
	return name
}

// systemsIn are the systems whose texts are A and B by columns with prefix before their names; "" where there are none.
func systemsIn(row *dataset.Row, prefix string) (of [2]string) {
	for side, names := range shownSystems {
		for _, name := range names {
			if raw, ok := row.Get(prefix + name); ok && string(raw) != "null" && of[side] == "" {
				of[side] = dataset.PlainText(raw)
			}
		}
	}
	return of
}

// parse reads a verdict, in which A and B are what people saw as that, else the pair's.
func (k *Rank) parse(text string, row *dataset.Row, p *audit.Pair) (string, error) {
	if strings.EqualFold(strings.TrimSpace(text), "neither") {
		k.note("the verdict \"neither\" is taken as both bad; write tie where it means that none was preferred")
	}
	shown := systemsIn(row, ofPeople)
	switch shown {
	case [2]string{}:
		value, err := verdicts.Parse(text, p.SystemA, p.SystemB)
		isNamed := text == p.SystemA || text == p.SystemB
		if k.Rows.Joined != nil && !isNamed && (value == verdicts.A || value == verdicts.B) {
			k.note(fmt.Sprintf("%s: A and B are taken as each pair has them, in its system_a and system_b; whoever saw them "+
				"otherwise needs these columns in that file, or systems' names as verdicts", k.Rows.Joined.File))
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
// no rows. Rows of several people, each with one's verdict, are put together.
func (k *Rank) ReadPeople(ctx context.Context, file, name string) (pairs []people.Pair, faults []error, err error) {
	k.readColumns(file)
	who, looked := "", false // the column of raters
	apart := raters{names: map[string]bool{}, places: map[[4]string]int{}, lines: map[[5]string]int{}}
	faults, err = k.Rows.Each(ctx, k.Process, file, func(row *dataset.Row) error {
		p, err := k.peoplePair(row, name)
		if err != nil {
			return err
		}
		if !looked {
			who, looked = run.RaterIn(row.Columns()), true
		}
		if who == "" || len(p.People) > 1 || k.Rows.Joined != nil {
			pairs = append(pairs, *p)
			return nil
		}
		if p.Item == row.ID { // of an item of its own
			p.Item = cmp.Or(row.GivenID(), likelyID(row, who), row.ID)
		}
		raw, _ := row.Get(who)
		nth, _ := row.Get(turn)
		pairs, err = apart.add(pairs, p, string(nth), dataset.PlainText(raw), row.Line)
		return err
	})
	if n := len(apart.names); n > 0 {
		for i := range pairs {
			pairs[i].People = append(pairs[i].People, make([]string, apart.most-len(pairs[i].People))...)
		}
		note := fmt.Sprintf("%s: read as one rater a row: %s, %s", file, words.Plural(n, "rater", "raters"),
			words.Plural(len(pairs), "pair", "pairs"))
		if n > 1 && len(pairs) == len(apart.lines) {
			note += ", none of them of two raters: is what the texts of a pair were written for in another column? " +
				"--item COLUMN names it"
		}
		k.note(note)
	}
	return pairs, faults, errors.Join(err, k.unread.check(k.Process))
}

// likelyID is what a column says that looks like an id, which is not the rater's; "" is none.
func likelyID(row *dataset.Row, rater string) string {
	column := dataset.LikelyID(slices.DeleteFunc(row.Columns(), func(c string) bool { return c == rater }))
	raw, _ := row.Get(column)
	return dataset.PlainText(raw)
}

// raters are those of a file with a row for each of them.
type raters struct {
	names  map[string]bool
	most   int               // verdicts of a pair
	places map[[4]string]int // of pairs, by item, turn and systems
	lines  map[[5]string]int // of rows, by these and the rater
}

// add adds a row with the verdict of one rater on a turn.
func (r *raters) add(pairs []people.Pair, p *people.Pair, nth, who string, line int) ([]people.Pair, error) {
	a, b := min(p.SystemA, p.SystemB), max(p.SystemA, p.SystemB)
	key, row := [4]string{p.Item, nth, a, b}, [5]string{p.Item, nth, a, b, who}
	if before := r.lines[row]; before > 0 {
		return pairs, fmt.Errorf("%s judged this pair of %q in line %d already: leave one of the two out",
			words.Printable(who), p.Item, before)
	}
	r.lines[row], r.names[who] = line, true
	at, there := r.places[key]
	if !there {
		at = len(pairs)
		r.places[key], pairs = at, append(pairs, *p)
		pairs[at].People = nil
	}
	of, value := &pairs[at], p.People[0]
	if of.SystemA != p.SystemA {
		value = verdicts.Swapped(value)
	}
	of.People = append(of.People, value)
	r.most = max(r.most, len(of.People))
	return pairs, nil
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
	switch {
	case !ok && k.Rows.Joined != nil: // fewer people judged the pair than others
		return "", verdicts.NoVerdict, nil
	case !ok:
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
