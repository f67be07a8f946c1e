package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/stats"
	"github.com/erreval/erreval/internal/words"
)

// inFiles counts the rows of two files by the systems that a column names.
type inFiles struct {
	*systemSums
	labels *sums // by group, a block a system and file: of each label the rows judged for it, and those that have it
}

func newInFiles(column string, labels int) *inFiles {
	return &inFiles{newSystemSums(column), newSums(2 * labels)}
}

// addNamed counts a row of one of two files by the systems that it names.
func (t *Tally) addNamed(file int, row *dataset.Row, group groupHash, values []value) {
	if file > 1 {
		return
	}
	for _, in := range t.inFiles {
		system := in.place(file, row.NameBy(in.column))
		cells := in.labels.of(group, 2*system+file)
		for _, v := range values {
			if v.column == 0 { // whether it is without error
				in.addRow(file, system, group, v.x)
			}
			if t.stats.columns[v.column].kind == kindLabel {
				cells[2*v.column]++
				cells[2*v.column+1] += v.x
			}
		}
	}
}

// compareNamed compares, of two files, the rows of each system that they name, as of different inputs.
func (t *Tally) compareNamed() error {
	s := &t.stats
	if len(s.Systems) != 2 || t.o.By != ByFile {
		return nil
	}
	for _, in := range t.inFiles {
		if t.o.Within != "" && slices.Equal(in.names, []string{""}) {
			return OptionErrorf("--by %s,%s: no row has that column", ByFile, t.o.Within)
		}
		if s.inFiles == nil && in.areSeveral() {
			s.inFiles = in
		}
	}
	if s.inFiles == nil {
		if note := t.hints.Note(ByFile + ","); note != "" {
			s.warnings = append(s.warnings, FileWarning{Notes: []string{note}})
		}
		return nil
	}
	s.BySystem = s.inFiles.diffs(Undefined, false)
	s.compareWithin()
	return nil
}

// compareWithin compares two files in each label within the systems that both name, each with the weight that it has in
// both together: else a system that got more of the rows would look like a change. Where the second file has rows of
// systems that the first has hardly a row of, they are counted besides, too (all rows, where others are gone), and the
// surer figure of the two stands, by Bonferroni's correction. Systems of hardly any rows in the second take no part:
// each row would weigh much.
func (s *Stats) compareWithin() {
	in := s.inFiles
	var shared, isNew []int
	isGone := false // a system that the first file has many rows of
	for at, rows := range in.rows {
		switch {
		case rows[1] < fewestOf:
			isGone = isGone || rows[0] >= fewestOf
			s.fewInFile = append(s.fewInFile, cmp.Or(in.names[at], Nameless))
		case rows[0] < fewestOf:
			s.newInFile, isNew = append(s.newInFile, cmp.Or(in.names[at], Nameless)), append(isNew, at)
		default:
			shared = append(shared, at)
		}
	}
	if len(shared) == 0 {
		return
	}
	for c, column := range s.columns {
		if column.kind != kindLabel {
			continue
		}
		d := in.within(c, shared, nil)
		if len(isNew) > 0 {
			with := in.within(c, shared, isNew)
			if isGone { // they may stand in its place
				with = DifferenceOf(stats.ApartShares(s.Systems[0].cells[c].sums, s.Systems[1].cells[c].sums))
			}
			if with.P < d.P {
				d = with
			}
			d.P = min(1, 2*d.P)
		}
		s.Within = append(s.Within, Contrast{Of: cmp.Or(column.name, column.title()), System: s.Systems[1].Name,
			Than: s.Systems[0].Name, Difference: d, PHolm: d.P, column: c, system: 1})
	}
	var others []*Contrast
	for i := range s.Within {
		if d := &s.Within[i]; !s.isClean(d) && d.Value != 0 { // else it may be in no row
			others = append(others, d)
		}
	}
	correct(others)
}

// within is the difference in a label, see compareWithin: the less sure one of the weighted rows, which are alike in
// passages, and of the systems' shares, of which a rare error may be in none of few rows that weigh much.
func (in *inFiles) within(c int, shared, isNew []int) Difference {
	of := make([]stats.GroupSums, 2*len(in.names))
	for i, key := range in.labels.keys {
		cells := in.labels.values[i]
		of[key.block].AddGroup(cells[2*c+1], cells[2*c])
	}
	var all, old float64 // rows of B, and of the shared systems in both
	for at := range in.names {
		if slices.Contains(shared, at) {
			old += of[2*at].Rows + of[2*at+1].Rows
			all += of[2*at+1].Rows
		}
	}
	inShared := all
	for _, at := range isNew {
		all += of[2*at+1].Rows
	}
	var a, b stats.Strata
	for _, at := range shared {
		x, y := &of[2*at], &of[2*at+1]
		if x.Rows > 0 && y.Rows > 0 {
			weight := (x.Rows + y.Rows) / old
			a.Weights, a.Sums = append(a.Weights, weight), append(a.Sums, x)
			b.Weights, b.Sums = append(b.Weights, weight*inShared/all), append(b.Sums, y)
		}
	}
	for _, at := range isNew {
		if y := &of[2*at+1]; y.Rows > 0 {
			b.Weights, b.Sums = append(b.Weights, y.Rows/all), append(b.Sums, y)
		}
	}
	byRows, byShares := stats.ApartShares(in.weighted(c, shared, isNew)), stats.ApartStrata(&a, &b)
	if byShares.P > byRows.P {
		return DifferenceOf(byShares)
	}
	return DifferenceOf(byRows)
}

// weighted are the sums of a label in the files: of systems that both share, and of those that are new in the second.
func (in *inFiles) weighted(c int, shared, isNew []int) (a, b *stats.GroupSums) {
	rows := make([]float64, 2*len(in.names)) // of each shared system in A and B
	for i, key := range in.labels.keys {
		if slices.Contains(shared, int(key.block/2)) {
			rows[key.block] += in.labels.values[i][2*c]
		}
	}
	var inFile [2]float64
	for block, n := range rows {
		if rows[block^1] > 0 {
			inFile[block%2] += n
		}
	}
	var sums, judged [2][]float64 // of each group, weighted
	for i := range sums {
		sums[i], judged[i] = make([]float64, len(in.labels.groups)), make([]float64, len(in.labels.groups))
	}
	for i, key := range in.labels.keys {
		n, other, cells := rows[key.block], rows[key.block^1], in.labels.values[i]
		file, weight := key.block%2, 0.0
		switch {
		case n > 0 && other > 0:
			weight = (n + other) / n * inFile[file] / (inFile[0] + inFile[1])
		case file == 1 && slices.Contains(isNew, int(key.block/2)):
			weight = 1
		}
		sums[file][key.group] += weight * cells[2*c+1]
		judged[file][key.group] += weight * cells[2*c]
	}
	return stats.SumsOf(sums[0], judged[0]), stats.SumsOf(sums[1], judged[1])
}

// namedAgain are systems that have rows for one input in several files, as of a run and of a rerun.
func (t *Tally) namedAgain() (names []string) {
	first := map[inputKey]map[int]int{} // by input, and by system: the file of its first row
	for _, o := range t.outputs {
		if !t.named || t.stats.Systems[o.system].Name == Nameless {
			continue
		}
		if first[o.input] == nil {
			first[o.input] = map[int]int{}
		}
		file, before := first[o.input][o.system]
		if name := t.stats.Systems[o.system].Name; !before {
			first[o.input][o.system] = o.file
		} else if file != o.file && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// namedText says that the systems which two files name count together, and what is known of each.
func (s *Stats) namedText() []string {
	if s.inFiles == nil {
		return nil
	}
	text := fmt.Sprintf("in both files: %s (by %s), which count together; --where %[2]s=NAME takes one%s",
		words.Plural(len(s.BySystem), "system", "systems"), s.inFiles.column, surelyChanged(s.BySystem))
	if alone := s.inFiles.alone(); len(alone) > 0 {
		text += "; in one file alone: " + someOf(alone)
	}
	if len(s.Within) == 0 {
		text += "; limits on growth are of all rows, whatever their mix"
	}
	if len(s.Within) > 0 && len(s.Differences) > 0 && !s.Differences[0].Paired {
		d := &s.Within[0]
		text += fmt.Sprintf("; with the same weight in both files, as limits on growth take them, without error %s points "+
			"(p %s)", (100 * d.Value).Text("%+.1f"), d.P.Text(InP))
		if len(s.fewInFile) > 0 {
			text += fmt.Sprintf(", but for those of fewer than %d rows in %s: %s", fewestOf, s.Systems[1].Name,
				someOf(s.fewInFile))
		}
		if len(s.newInFile) > 0 {
			text += fmt.Sprintf(", and with those of which %s has fewer, where that tells more: %s", s.Systems[0].Name,
				someOf(s.newInFile))
		}
	}
	return []string{text}
}
