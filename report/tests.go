package report

import (
	"fmt"
	"math"
	"slices"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/stats"
)

// MostTested is the largest number of systems of which every pair is tested.
const MostTested = 100

// mostShownTests are shown in tables.
const mostShownTests = 200

// mostPaired is the number of rows up to which the best system's are paired with the second best's: they are kept in
// memory.
const mostPaired = 100_000

// Test says how far one of two systems is from the other in a column. PHolm is corrected for the number of tests, those
// of rows without an error by themselves.
type Test struct {
	Contrast
	Rows int `json:"rows"` // pairs of rows; where Paired is false, rows of both systems
}

// change sums up, in a column, the values of a system minus those of another one for the same inputs.
type change struct {
	stats.GroupSums
	less      float64 // rows of which only the other system has what is looked for
	sum, rows float64 // of this group
	whole     bool    // see partners
}

// changes are those of some columns, of the rows of a system, group by group, and the rows of another.
func (t *Tally) changes(system, than int, columns []int) []change {
	all := make([]change, len(columns))
	endGroup := func() {
		for i := range all {
			all[i].AddGroup(all[i].sum, all[i].rows)
			all[i].sum, all[i].rows = 0, 0
		}
	}
	var group groupHash
	rows := t.bySystem[system]
	with, whole := partners(rows, t.bySystem[than])
	for k, partner := range with {
		o := rows[k]
		if partner == nil {
			continue
		}
		if o.group != group {
			endGroup()
			group = o.group
		}
		for i, c := range columns {
			d := t.valueIn(c, o) - t.valueIn(c, partner)
			if t.stats.isOfErrors(c) && o.left != partner.left { // one may be without error for that alone
				continue
			}
			if !math.IsNaN(d) {
				all[i].sum, all[i].rows, all[i].less = all[i].sum+d, all[i].rows+1, all[i].less+indicator(d < 0)
			}
		}
	}
	endGroup()
	for i := range all {
		all[i].whole = whole
	}
	return all
}

// itemMeans sum up the items that two systems have, group by group.
type itemMeans struct {
	change       stats.GroupSums // mean of one system less that of the other, times the item's weight
	items        int
	mine, theirs stats.GroupSums // values of the rows of each
}

// meansByItem sums up the items that both systems have, whatever their numbers of rows: of rows judged for the same
// errors. An item weighs twice a·b/(a+b), of a and b rows, as Cochran (1954) and Mantel and Haenszel (1959) weigh their
// tables: as many as there are of either, where these are alike.
func (t *Tally) meansByItem(of, than []*output, c int) (out itemMeans) {
	type mean struct{ sum, rows float64 }
	type key struct {
		item groupHash
		left string
	}
	keyOf := func(o *output) key {
		if t.stats.isOfErrors(c) {
			return key{o.input.item, o.left}
		}
		return key{item: o.input.item}
	}
	byItem := func(outputs []*output) (order []*output, means map[key]mean) {
		means = map[key]mean{}
		for _, o := range outputs {
			x := t.valueIn(c, o)
			if math.IsNaN(x) {
				continue
			}
			k := keyOf(o)
			m, before := means[k]
			if means[k] = (mean{m.sum + x, m.rows + 1}); !before {
				order = append(order, o)
			}
		}
		return order, means
	}
	order, means := byItem(of)
	_, others := byItem(than)
	var sum, n float64
	var mine, theirs mean // of this group
	endGroup := func() {
		out.change.AddGroup(sum, n)
		out.mine.AddGroup(mine.sum, mine.rows)
		out.theirs.AddGroup(theirs.sum, theirs.rows)
		sum, n, mine, theirs = 0, 0, mean{}, mean{}
	}
	var group groupHash
	for _, o := range order { // group by group
		m, other := means[keyOf(o)], others[keyOf(o)]
		if other.rows == 0 {
			continue
		}
		if group != o.group || t.o.Group == "" { // each by itself
			endGroup()
		}
		group = o.group
		weight := 2 * m.rows * other.rows / (m.rows + other.rows)
		sum, n = sum+weight*(m.sum/m.rows-other.sum/other.rows), n+weight
		out.items++
		mine = mean{mine.sum + m.sum, mine.rows + m.rows}
		theirs = mean{theirs.sum + other.sum, theirs.rows + other.rows}
	}
	endGroup()
	return out
}

// otherInputs says of two systems which share some groups of rows, but few, that the others may be what differs; "" of
// those that share hardly any, as files of other days do, and of files.
func (t *Tally) otherInputs(a, b int) string {
	groups := func(system int) map[groupHash]bool {
		of := map[groupHash]bool{}
		for _, o := range t.bySystem[system] {
			of[o.group] = true
		}
		return of
	}
	mine, theirs := groups(a), groups(b)
	shared := 0
	for group := range mine {
		shared += int(indicator(theirs[group]))
	}
	if t.o.By == ByFile || float64(shared) <= dataset.FewUnpaired*float64(min(len(mine), len(theirs))) {
		return ""
	}
	return fmt.Sprintf("they share only %d of their %d and %d inputs, of which one's may be harder", shared, len(mine),
		len(theirs))
}

// fewestOf: of fewer rows with an error, or without it, in one of two systems, Student's t of means knows too
// little: where hardly any row has it, a system of few rows may have none by chance. Of systems alike, with one
// row and five rows in 60 passages, and each of five errors in 3 % of these, 47 % had a sure difference in one;
// with this 2.5 % at most (testdata/false_alarms.py).
const fewestOf = 10

// shares is what the means tell of shares; where these are of few rows, what both the rows and the means are sure of.
func (m *itemMeans) shares() stats.Difference {
	d := stats.PairedMeans(&m.change)
	few := func(s *stats.GroupSums) bool { return min(s.Sum, s.Rows-s.Sum) < fewestOf }
	if few(&m.mine) || few(&m.theirs) {
		return lessSure(d, stats.ApartShares(&m.theirs, &m.mine)) // as if they were for other inputs
	}
	return lessSure(d, d)
}

// lessSure is a difference of shares, as sure as two tests of it are.
func lessSure(d, other stats.Difference) stats.Difference {
	d.Low, d.High, d.P = max(min(d.Low, other.Low), -1), min(max(d.High, other.High), 1), max(d.P, other.P)
	return d
}

// valueIn is a row's value in a column; NaN where there is none.
func (t *Tally) valueIn(c int, o *output) float64 {
	x := math.NaN()
	for _, v := range o.values {
		switch v.column {
		case c:
			return v.x
		case t.stats.columns[c].of:
			x = 0 // an issue that was not found in a row that was searched
		}
	}
	return x
}

// test compares each pair of systems in each column.
func (t *Tally) test() error {
	s := &t.stats
	switch {
	case !t.o.Tests:
		return nil
	case len(s.named()) < 2:
		return OptionErrorf("--tests: there is one system; say with --by COLUMN what tells systems apart, or give more files")
	case len(s.Systems) > MostTested:
		return OptionErrorf("--tests: there are %d systems; every pair is tested of at most %d: choose some with "+
			"--where COLUMN=VALUE, or say with --by COLUMN what a system is", len(s.Systems), MostTested)
	}
	order, columns := s.compared(), s.shown()
	for i, a := range order {
		for _, b := range order[i+1:] {
			all := t.changes(a, b, columns)
			for k, c := range columns {
				one := t.testIn(c, a, b, &all[k])
				if one.Value.Defined() {
					s.Tests = append(s.Tests, one)
				}
				s.unevenPairs += int(indicator(one.Uneven != ""))
			}
		}
	}
	var clean, others []*Contrast
	for i := range s.Tests {
		if one := &s.Tests[i].Contrast; s.isClean(one) {
			clean = append(clean, one)
		} else {
			others = append(others, one)
		}
	}
	correct(clean)
	correct(others)
	return nil
}

// pairBest compares, in the place of their shares, the rows of the best and the second best system of each column.
// Where another one is surely better than the best by rows for the same input, it stands in the place of the second.
func (t *Tally) pairBest() {
	s, pairs := &t.stats, map[[2]int][]change{}
	columns, systems := s.shown(), s.compared()
	in := func(column, system, than int) Contrast {
		of := [2]int{system, than}
		if pairs[of] == nil {
			pairs[of] = t.changes(system, than, columns)
		}
		d := t.testIn(column, system, than, &pairs[of][slices.Index(columns, column)]).Contrast
		d.PHolm, d.apart = d.P, !d.Paired
		return d
	}
	for i := range s.Differences {
		d := &s.Differences[i]
		*d = in(d.column, d.system, d.than)
		for _, other := range systems {
			if len(systems) > MostTested || other == d.system || len(systems) < 3 {
				continue
			}
			if one := in(d.column, d.system, other); one.isAgainst() && one.isSettled() && !(d.isAgainst() && d.P <= one.P) {
				*d = one
			}
		}
	}
	correct(s.others())
}

// pairedFrom is the share of the rows of the smaller of two systems that have to be for inputs of both for the systems
// to be compared by these: of one that lacks rows for some inputs, all rows together would not tell the truth.
const pairedFrom = 0.5

// mostlyPaired is the share of the rows for inputs of both systems from which on those with a partner have to be as
// sure of a difference as the means.
const mostlyPaired = 2.0 / 3

// testIn compares two systems in a column, by pairs of rows where whole (see partners), else by the means of inputs,
// where they share many.
func (t *Tally) testIn(c, a, b int, paired *change) Test {
	s := &t.stats
	d := Test{Contrast: s.between(c, a, b)}
	x, y := s.Systems[a].cells[c].sums.Rows, s.Systems[b].cells[c].sums.Rows
	d.Rows = int(x + y)
	var means itemMeans
	pairs, n, shared := &paired.GroupSums, int(paired.Rows), paired.Rows
	if !paired.whole {
		means = t.meansByItem(t.bySystem[a], t.bySystem[b], c)
		pairs, n, shared = &means.change, means.items, min(means.mine.Rows, means.theirs.Rows)
	}
	if shared == 0 || shared < pairedFrom*min(x, y) {
		if d.Unknown == "" && d.Uneven == "" {
			d.Unknown = t.otherInputs(a, b)
		}
		return d
	}
	d.byMeans = !paired.whole
	difference := stats.PairedMeans(pairs)
	switch isScore := s.columns[c].kind == kindScore; {
	case d.byMeans && !isScore && paired.Rows >= mostlyPaired*max(means.mine.Rows, means.theirs.Rows):
		difference = lessSure(difference, stats.PairedShares(paired.less, &paired.GroupSums))
	case d.byMeans && !isScore:
		difference = means.shares()
	case !isScore:
		difference = stats.PairedShares(paired.less, pairs)
	}
	of := DifferenceOf(difference)
	of.Better = d.Better
	d.Uneven = ""
	d.Difference, d.Paired, d.Rows, d.pairs = of, true, n, n
	d.alone = [2]int{int(x - paired.Rows), int(y - paired.Rows)}
	s.setUnknown(&d.Contrast)
	if names := s.uneven(&s.Systems[a], &s.Systems[b]); names != "" && s.isOfErrors(c) && d.Unknown == "" {
		d.Unknown = "rows were not judged alike for " + names // those that are left out may be unlike the others
	}
	return d
}
