package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/stats"
	"github.com/erreval/erreval/internal/words"
)

// inFiles counts the rows of two files by the systems that a column names.
type inFiles struct {
	*systems
	labels *sums // by group, a block a system and file: of each label the rows judged for it, and those that have it
}

func newInFiles(column string, labels int) *inFiles {
	return &inFiles{newSystems(column), newSums(2 * labels)}
}

// addUsual looks for systems in further columns that usually name them, which the first row of two files has.
func (t *Tally) addUsual(first *dataset.Row) {
	if t.hints.rows > 1 || t.o.By != ByFile || t.o.Within != "" {
		return
	}
	for _, column := range first.Columns() {
		isKnown := func(in *inFiles) bool { return strings.EqualFold(in.column, column) }
		if MayNameSystems(column) && !slices.ContainsFunc(t.inFiles, isKnown) {
			t.inFiles = append(t.inFiles, newInFiles(column, len(t.stats.columns)))
		}
	}
}

// addNamed counts a row of one of two files by the systems that it names.
func (t *Tally) addNamed(file int, row *dataset.Row, group groupHash, values []value) {
	if file > 1 {
		return
	}
	for _, in := range t.inFiles {
		cells := in.labels.of(group, 2*in.place(file, in.nameOf(row))+file)
		for _, v := range values {
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
	if text := differingThresholds(s.Thresholds); text != "" && t.decided && !isAnyKnown(s.Thresholds) {
		s.warnings = append(s.warnings, FileWarning{Notes: []string{text}})
	}
	columns := dataset.SystemColumns
	for _, in := range t.inFiles {
		if t.o.Within != "" {
			if columns = in.columns; in.missing() != "" {
				return OptionErrorf("--by %s,%s: no row has the column %q", ByFile, t.o.Within, in.missing())
			}
		}
		if s.inFiles == nil && in.areSeveral() {
			s.inFiles = in
		}
	}
	by := ByFile
	if s.inFiles != nil {
		columns, by = append(slices.Clone(columns), s.inFiles.columns...), by+","+s.inFiles.column
	}
	t.hints.groups = s.Interval.Groups
	s.Notes = append(s.Notes, t.hints.shiftedText(columns, "--by "+by)...)
	if s.inFiles == nil {
		if note := t.hints.Note(ByFile + ","); note != "" && s.Notes == nil {
			s.warnings = append(s.warnings, FileWarning{Notes: []string{note}})
		}
		return nil
	}
	if s.uneven(&s.Systems[0], &s.Systems[1]) == "" {
		s.compareEach()
	}
	s.compareWithin()
	if len(s.Within) == 0 {
		s.Notes = append(s.Notes, fmt.Sprintf("no system (by %s) has %d rows in both files: limits on growth are of all "+
			"rows, whatever their mix; call systems, and their column, alike in both", s.inFiles.column, fewestOf))
	}
	if alike := AlikeSystems(s.inFiles.names); alike != "" {
		s.Notes = append(s.Notes, alike)
	}
	return nil
}

// compareEach compares each system's rows without error, and those of systems that one file alone names with what the
// other one has instead: a system may have got another name.
func (s *Stats) compareEach() {
	in := s.inFiles
	part, last := make([]int, len(in.names)), len(in.names)
	var alone [2][]string
	for at, rows := range in.rows {
		if part[at] = at; rows[0] == 0 || rows[1] == 0 {
			part[at] = last
			side := int(indicator(rows[0] == 0))
			alone[side] = append(alone[side], cmp.Or(in.names[at], Nameless))
		}
	}
	of := in.partSums(0, append(part, last))
	sums := func(at int) (a, b *stats.GroupSums, d stats.Difference) {
		return &of[2*at], &of[2*at+1], stats.ApartShares(&of[2*at], &of[2*at+1])
	}
	var others []string
	if slices.Min(part) < last {
		others = append(others, someOf(alone[1])+" for "+someOf(alone[0]))
	}
	s.BySystem = in.diffs(Undefined, sums, others...)
}

// compareWithin compares two files in each label within the systems that both name, each with the weight that it has in
// both together: else a system that got more of the rows would look like a change. Systems of which a file has hardly a
// row would weigh much. Where the second file has many rows of such, they are compared together besides, too, and the
// surer figure of the two stands, by Bonferroni's correction.
func (s *Stats) compareWithin() {
	in := s.inFiles
	part, parts, others := make([]int, len(in.names)), 0, 0 // of each system; rows of the second file in none
	for at, rows := range in.rows {
		name := cmp.Or(in.names[at], Nameless)
		switch {
		case min(rows[0], rows[1]) >= fewestOf:
			part[at] = parts
			parts++
			continue
		case rows[1] >= fewestOf:
			s.newInFile = append(s.newInFile, name)
		default:
			s.fewInFile = append(s.fewInFile, name)
		}
		part[at], others = -1, others+rows[1]
	}
	if parts == 0 {
		return
	}
	together := slices.Clone(part)
	for at := range together {
		if together[at] < 0 {
			together[at] = parts
		}
	}
	for c, column := range s.columns {
		if column.kind != kindLabel || s.isOfErrors(c) && s.uneven(&s.Systems[0], &s.Systems[1]) != "" {
			continue
		}
		d := in.within(c, part)
		if others >= fewestOf {
			if with := in.within(c, together); with.P < d.P {
				d = with
			}
			d.P = ofTwo(d.P)
		}
		s.Within = append(s.Within, Contrast{Of: cmp.Or(column.name, column.title()), System: s.Systems[1].Name,
			Than: s.Systems[0].Name, Difference: d, PHolm: d.P, column: c, system: 1})
	}
	var labels []*Contrast
	for i := range s.Within {
		if d := &s.Within[i]; !s.isClean(d) && d.Value != 0 { // else it may be in no row
			labels = append(labels, d)
		}
	}
	correct(labels)
}

// partSums are those of a label in the parts of A and B: part has that of each system, negative where it is in none.
func (in *inFiles) partSums(c int, part []int) []stats.GroupSums {
	type key struct {
		group int32
		block int
	}
	cells := map[key][2]float64{} // systems of a part share groups
	for i, k := range in.labels.keys {
		if at := part[k.block/2]; at >= 0 {
			to := key{k.group, 2*at + int(k.block%2)}
			sum, values := cells[to], in.labels.values[i]
			cells[to] = [2]float64{sum[0] + values[2*c], sum[1] + values[2*c+1]}
		}
	}
	of := make([]stats.GroupSums, 2*(slices.Max(part)+1))
	for to, x := range cells {
		of[to.block].AddGroup(x[1], x[0])
	}
	return of
}

// within is the difference in a label between the parts of two files: the less sure one of that of their shares put
// together, and that of the rows with the same weights. Rows are alike in a group, whatever their part; a rare error
// may be in none of few rows that weigh much. A part that A has hardly a row of is B's alone.
func (in *inFiles) within(c int, part []int) Difference {
	of := in.partSums(c, part)
	var total [2]float64 // rows of the files; of the parts that both have, in both
	shared := 0.0
	for at := 0; at < len(of); at += 2 {
		a, b := of[at].Rows, of[at+1].Rows
		if total[1] += b; a >= fewestOf && b > 0 {
			total[0] += a
			shared += a + b
		}
	}
	weights, alone := make([]float64, len(of)), 0.0
	for at := 0; at < len(of); at += 2 {
		if of[at].Rows < fewestOf {
			weights[at+1] = of[at+1].Rows / total[1]
			alone += weights[at+1]
		}
	}
	var sides [2]stats.Strata
	for block := range of {
		a, b := &of[block&^1], &of[block|1]
		if file := block % 2; a.Rows >= fewestOf && b.Rows > 0 {
			if weights[block] = (a.Rows + b.Rows) / shared; file == 1 {
				weights[block] *= 1 - alone
			}
		}
		if weights[block] > 0 {
			side := &sides[block%2]
			side.Weights, side.Sums = append(side.Weights, weights[block]), append(side.Sums, &of[block])
		}
	}
	var rows [2][2][]float64 // of the files: the sums and rows of each group
	for file := range rows {
		rows[file] = [2][]float64{make([]float64, len(in.labels.groups)), make([]float64, len(in.labels.groups))}
	}
	for i, k := range in.labels.keys {
		file := k.block % 2
		if at := part[k.block/2]; at >= 0 && weights[2*at+int(file)] > 0 {
			block := 2*at + int(file)
			weight := weights[block] / of[block].Rows * total[file]
			rows[file][0][k.group] += weight * in.labels.values[i][2*c+1]
			rows[file][1][k.group] += weight * in.labels.values[i][2*c]
		}
	}
	byRows := stats.ApartShares(stats.SumsOf(rows[0][0], rows[0][1]), stats.SumsOf(rows[1][0], rows[1][1]))
	if byShares := stats.ApartStrata(&sides[0], &sides[1]); byShares.P > byRows.P {
		return DifferenceOf(byShares)
	}
	return DifferenceOf(byRows)
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

// besidePairs says what limits on growth take besides pairs, where many rows have no partner.
func (s *Stats) besidePairs() []string {
	if s.By != ByFile || len(s.Systems) != 2 || len(s.Differences) == 0 || !s.Differences[0].Paired ||
		!s.leavesMany(&s.Differences[0]) {
		return nil
	}
	d, _ := s.unpaired(s.Differences[0].column)
	return []string{fmt.Sprintf("many rows have no partner: limits on growth take the surer of two tests, of pairs "+
		"and of all rows, and double its p: by all rows without error %s points (p %s)",
		(100 * d.Value).Text("%+.1f"), ofTwo(d.P).Text(InP))}
}

// namedText says that the systems which two files name count together, and what is known of each.
func (s *Stats) namedText() []string {
	if s.inFiles == nil {
		return append(s.besidePairs(), s.Notes...)
	}
	shared := 0
	for _, rows := range s.inFiles.rows {
		shared += int(indicator(min(rows[0], rows[1]) > 0))
	}
	text := fmt.Sprintf("in both files: %s (by %s), which count together; %s takes one%s",
		words.Plural(shared, "system", "systems"), s.inFiles.column, s.inFiles.where(), surelyChanged(s.BySystem))
	if alone := s.inFiles.alone(); len(alone) > 0 {
		text += "; in one file alone: " + someOf(alone)
	}
	first, isWeighed := s.Differences, len(s.Within) > 0 && s.isClean(&s.Within[0])
	if isWeighed && len(first) > 0 && (!first[0].Paired || s.leavesMany(&first[0])) {
		d, p, too := &s.Within[0], s.Within[0].P, ""
		if first[0].Paired {
			p, too = ofTwo(p), " besides pairs (of the surer of the two, p is doubled)"
		}
		text += fmt.Sprintf("; with the same weight in both files, as limits on growth take them%s, without error %s points "+
			"(p %s)", too, (100 * d.Value).Text("%+.1f"), p.Text(InP))
		if len(s.fewInFile) > 0 {
			text += fmt.Sprintf(", but for those of fewer than %d rows in %s: %s", fewestOf, s.Systems[1].Name,
				someOf(s.fewInFile))
		}
		if len(s.newInFile) > 0 {
			text += fmt.Sprintf(", and with those of which %s has fewer, beside what it had instead, where that tells more: %s",
				s.Systems[0].Name, someOf(s.newInFile))
		}
	}
	return append([]string{text}, s.Notes...)
}
