package report

import (
	"fmt"
	"slices"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/stats"
	"github.com/erreval/erreval/internal/words"
)

// addNamed counts a row of one of two files by the system that it names.
func (t *Tally) addNamed(file int, row *dataset.Row, group groupHash, values []value) {
	if file > 1 {
		return
	}
	systems := t.stats.inFiles
	system := systems.place(file, row.SystemName().String())
	cells := t.inSystems.of(group, 2*system+file)
	for _, v := range values {
		if v.column == 0 { // whether it is without error
			systems.addRow(file, system, group, v.x)
		}
		if t.stats.columns[v.column].kind == kindLabel {
			cells[2*v.column]++
			cells[2*v.column+1] += v.x
		}
	}
}

// compareNamed compares, of two files, the rows of each system that they name, as of different inputs.
func (s *Stats) compareNamed() {
	if len(s.Systems) == 2 && s.inFiles.areSeveral() {
		s.BySystem = s.inFiles.diffs(Undefined, false)
	}
}

// compareWithin compares two files in each label within the systems that both name, each with the weight that it has in
// both together: else a system that got more of the rows would look like a change. Where a file has a system of its
// own, that is one.
func (t *Tally) compareWithin() {
	s := &t.stats
	if len(s.BySystem) < 2 || len(s.inFiles.alone()) > 0 {
		return
	}
	s.within = map[int]stats.Difference{}
	for c, column := range s.columns {
		if column.kind != kindLabel {
			continue
		}
		rows := make([]float64, 2*len(s.inFiles.names)) // of each system in A and B
		for i, key := range t.inSystems.keys {
			rows[key.block] += t.inSystems.values[i][2*c]
		}
		var inFile [2]float64
		for block, n := range rows {
			if rows[block^1] > 0 {
				inFile[block%2] += n
			}
		}
		var groups [2][2][]float64 // sums and rows of each group, weighted
		for i := range groups {
			groups[i] = [2][]float64{make([]float64, len(t.inSystems.groups)), make([]float64, len(t.inSystems.groups))}
		}
		for i, key := range t.inSystems.keys {
			n, other, cells := rows[key.block], rows[key.block^1], t.inSystems.values[i]
			if n == 0 || other == 0 {
				continue
			}
			file := key.block % 2
			weight := (n + other) / n * inFile[file] / (inFile[0] + inFile[1])
			groups[file][0][key.group] += weight * cells[2*c+1]
			groups[file][1][key.group] += weight * cells[2*c]
		}
		s.within[c] = stats.ApartShares(stats.SumsOf(groups[0][0], groups[0][1]), stats.SumsOf(groups[1][0], groups[1][1]))
	}
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
	if s.By != ByFile || len(s.Systems) != 2 || !s.inFiles.areSeveral() {
		return nil
	}
	text := fmt.Sprintf("%s in both files, and count together; --where COLUMN=NAME takes one%s",
		words.Plural(len(s.BySystem), "system is", "systems are"), surelyChanged(s.BySystem))
	if alone := s.inFiles.alone(); len(alone) > 0 {
		text += "; in one file alone: " + someOf(alone)
	}
	if len(s.within) > 0 {
		text += "; limits on growth give each the same weight in both files"
	}
	return []string{text}
}
