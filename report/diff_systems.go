package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/stats"
	"github.com/erreval/erreval/internal/words"
)

// SystemDiff is what changed for one system: shares of its compared rows without error, which were judged for the same
// errors in both files.
type SystemDiff struct {
	Name       string `json:"name"` // as B has it; "" of rows that name none
	Rows       int    `json:"rows"`
	A          Number `json:"a"`
	B          Number `json:"b"`
	Difference        // B minus A
	PHolm      Number `json:"p_holm"` // corrected for the number of systems, and all together
}

// isSure tells whether the share surely changed.
func (d *SystemDiff) isSure() bool { return float64(d.PHolm) < 1-stats.Level }

// systems are those that a column names in two files.
type systems struct {
	column  string // or several, with commas between them
	columns []string
	names   []string
	places  map[string]int
	rows    [][2]int        // of each, in A and B
	seen    map[string]bool // columns that a row has
}

func newSystems(column string) *systems {
	return &systems{column: column, columns: strings.Split(column, ","), places: map[string]int{}, seen: map[string]bool{}}
}

// pairSums count the pairs of each system, and of each two with other names.
type pairSums struct {
	*systems
	sums    *sums          // by group, a block a system: pairs, those of which A is without error, B, and A alone
	renamed map[[2]int]int // the block of two systems, which are places in A and B, behind those of all
	others  []string       // what these are called
}

// nameOf is what a row says in the column, or in several.
func (s *systems) nameOf(row *dataset.Row) string {
	for _, column := range s.columns {
		s.seen[column] = s.seen[column] || row.NameBy(column) != ""
	}
	return row.NamesBy(s.column)
}

// missing is a column that no row has; "" is none.
func (s *systems) missing() string {
	for _, column := range s.columns {
		if !s.seen[column] {
			return column
		}
	}
	return ""
}

// where chooses one of the systems.
func (s *systems) where() string { return whereOf(s.column) }

func whereOf(columns string) string {
	var all []string
	for column := range strings.SplitSeq(columns, ",") {
		all = append(all, "--where "+words.Quote(column)+"=NAME")
	}
	return strings.Join(all, " ")
}

// place is that of a system among the names, which a file has a row of.
func (s *systems) place(side int, name string) int {
	at, known := s.places[name]
	if !known {
		name = strings.Clone(name)
		at = len(s.names)
		s.places[name], s.names, s.rows = at, append(s.names, name), append(s.rows, [2]int{})
	}
	s.rows[at][side]++
	return at
}

// add counts a pair: of places a and b, once all rows were read.
func (s *pairSums) add(a, b int, group groupHash, inA, inB bool) {
	block := b
	if a != b {
		at, known := s.renamed[[2]int{a, b}]
		if !known {
			at = len(s.names) + len(s.others)
			s.renamed[[2]int{a, b}], s.others = at, append(s.others, s.nameOfTwo(a, b))
		}
		block = at
	}
	cells := s.sums.of(group, block)
	for i, x := range []bool{true, inA, inB, inA && !inB} {
		cells[i] += indicator(x)
	}
}

// nameOfTwo is what A's rows call a system that B's call otherwise, or not at all.
func (s *pairSums) nameOfTwo(a, b int) string {
	of, then := s.names[a], s.names[b]
	if of == "" || then == "" {
		return of + then
	}
	return of + " (in B " + then + ")"
}

// diffs are what changed for each system by its pairs.
func (s *pairSums) diffs(together Number) []SystemDiff {
	type of struct {
		a, b, change stats.GroupSums
		lost         float64
	}
	all := make([]of, len(s.names)+len(s.others))
	for i, key := range s.sums.keys {
		x, cells := &all[key.block], s.sums.values[i]
		x.a.AddGroup(cells[1], cells[0])
		x.b.AddGroup(cells[2], cells[0])
		x.change.AddGroup(cells[2]-cells[1], cells[0])
		x.lost += cells[3]
	}
	return s.systems.diffs(together, func(at int) (a, b *stats.GroupSums, d stats.Difference) {
		x := &all[at]
		if at >= len(s.names) && x.a.Rows < fewestOf { // a few pairs of others
			return &stats.GroupSums{}, &x.b, stats.Difference{}
		}
		return &x.a, &x.b, stats.PairedShares(x.lost, &x.change)
	}, s.others...)
}

// areSeveral tells whether a file names several systems.
func (s *systems) areSeveral() bool { return s.most() > 1 }

// most is how many systems a file names, of the file with more.
func (s *systems) most() int {
	named := s.named()
	return max(named[0], named[1])
}

// named is how many systems each file names.
func (s *systems) named() (named [2]int) {
	for at, rows := range s.rows {
		for side, n := range rows {
			named[side] += int(indicator(n > 0 && s.names[at] != ""))
		}
	}
	return named
}

// checkBy refuses columns of systems that the files lack.
func (c *Comparison) checkBy() error {
	if missing := c.systems[0].missing(); c.options.By != "" && missing != "" {
		return OptionErrorf("--by %s: no row has the column %q", c.options.By, missing)
	}
	for side, named := range c.systems[0].named() {
		if c.options.By != "" && named == 0 {
			file := []string{c.diff.A.File, c.diff.B.File}[side]
			return OptionErrorf("--by %s: no row of %s has that column", c.options.By, file)
		}
	}
	return nil
}

// alone are the systems that one file names, and the other does not.
func (s *systems) alone() (names []string) {
	for at, rows := range s.rows {
		if (rows[0] == 0) != (rows[1] == 0) && s.names[at] != "" {
			names = append(names, s.names[at])
		}
	}
	return names
}

// diffs are what changed for each system that both files have, and for others: sums give it. together is the p-value of
// all rows.
func (s *systems) diffs(together Number, sums func(at int) (a, b *stats.GroupSums, d stats.Difference),
	others ...string) (out []SystemDiff) {
	var p []float64
	for at, name := range slices.Concat(s.names, others) {
		a, b, difference := sums(at)
		if a.Rows == 0 || b.Rows == 0 {
			continue
		}
		out = append(out, SystemDiff{Name: name, Rows: int(b.Rows), A: newShare(a).Share, B: newShare(b).Share,
			Difference: DifferenceOf(difference)})
		p = append(p, difference.P)
	}
	corrected := stats.Holm(append(p, float64(together)))
	for i := range out {
		out[i].PHolm = Number(corrected[i])
	}
	return out
}

// pooled says that several systems count together, of which of them the rows without error surely changed, and what the
// files have another mix of.
func (d *Diff) pooled() (facts []string) {
	but := slices.Clone(dataset.SystemColumns)
	switch columns := d.hints.find(); {
	case d.systems != nil:
		but = append(but, d.systems.columns...)
		facts = append(facts, fmt.Sprintf("%d systems (by %s) count together; %s takes one%s", d.systems.most(),
			d.systems.column, d.systems.where(), surelyChanged(d.Systems)))
	case len(columns) > 0 && d.by == "":
		facts = append(facts, fmt.Sprintf("rows may be of several systems (by %s), which count together; --by %[1]s tells "+
			"them apart", columns[0]))
	}
	by := fmt.Sprintf("erreval stats %s %s --by %s", words.Quote(d.A.File), words.Quote(d.B.File), ByFile)
	if d.systems != nil {
		by += "," + d.systems.column
	}
	d.hints.groups = d.Interval.Groups
	return append(facts, d.hints.shiftedText(but, by)...)
}

// surelyChanged names the systems of which the rows without error surely changed; "" where none did.
func surelyChanged(of []SystemDiff) string {
	var sure []string
	for _, s := range of {
		if s.isSure() {
			sure = append(sure, fmt.Sprintf("%s %s points (p %s)", s.Name, (100*s.Value).Text("%+.1f"), s.PHolm.Text(InP)))
		}
	}
	if len(sure) == 0 {
		return ""
	}
	return "; without error surely changed: " + someOf(sure)
}

// isStale tells whether a model said the very same of two texts: one of them changed after it was tagged. Of those that
// differ in case or space it may.
func isStale(a, b *sideRow) bool {
	return a.model == b.model && a.model != groupHash{} &&
		!strings.EqualFold(dataset.FoldSpace(a.text), dataset.FoldSpace(b.text))
}

// staleText says that texts changed after they were tagged.
func (d *Diff) staleText() string {
	return fmt.Sprintf("%s another text in B, and of both the model said the very same: what was found in one of them is "+
		"old; tag %s again: erreval identify %[3]s -o OUT", words.Plural(d.stale, "row has", "rows have"), d.B.File,
		words.Quote(d.B.File))
}
