package report

import (
	"fmt"
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

// systemSums count the compared rows of each system.
type systemSums struct {
	names  []string
	places map[string]int
	sides  [2]map[int]bool // systems of A and B
	sums   *sums           // by group, a block a system: rows, without error in A, in B, in A alone
}

const systemCells = 4

func newSystemSums() *systemSums {
	return &systemSums{places: map[string]int{}, sides: [2]map[int]bool{{}, {}}, sums: newSums(systemCells)}
}

// place is that of the row's system among the names.
func (s *systemSums) place(side int, row *dataset.Row) int {
	name := row.SystemName().String()
	at, known := s.places[name]
	if !known {
		at = len(s.names)
		s.places[strings.Clone(name)], s.names = at, append(s.names, strings.Clone(name))
	}
	if name != "" {
		s.sides[side][at] = true
	}
	return at
}

// add counts a pair by the system of its row in B.
func (s *systemSums) add(b *sideRow, inA, inB bool) {
	cells := s.sums.of(b.group, b.system)
	for i, x := range []bool{true, inA, inB, inA && !inB} {
		cells[i] += indicator(x)
	}
}

// diffs are what changed for each system; nil where no file has several. together is the p-value of all rows.
func (s *systemSums) diffs(together Number) (out []SystemDiff) {
	if max(len(s.sides[0]), len(s.sides[1])) < 2 {
		return nil
	}
	var p []float64
	for at, name := range s.names {
		var a, b, change stats.GroupSums
		lost := 0.0
		for i, key := range s.sums.keys {
			if cells := s.sums.values[i]; int(key.block) == at {
				a.AddGroup(cells[1], cells[0])
				b.AddGroup(cells[2], cells[0])
				change.AddGroup(cells[2]-cells[1], cells[0])
				lost += cells[3]
			}
		}
		if change.Rows == 0 {
			continue
		}
		d := SystemDiff{Name: name, Rows: int(change.Rows), A: newShare(&a).Share, B: newShare(&b).Share,
			Difference: DifferenceOf(stats.PairedShares(lost, &change))}
		out, p = append(out, d), append(p, float64(d.P))
	}
	corrected := stats.Holm(append(p, float64(together)))
	for i := range out {
		out[i].PHolm = Number(corrected[i])
	}
	return out
}

// pooled says that several systems count together, and of which of them the rows without error surely changed.
func (d *Diff) pooled() []string {
	if d.Pairing.named < 2 {
		return nil
	}
	text := fmt.Sprintf("%d systems (by %s) count together; --where %[2]s=NAME takes one", d.Pairing.named,
		d.Pairing.column)
	var sure []string
	for _, s := range d.Systems {
		if s.isSure() {
			sure = append(sure, fmt.Sprintf("%s %s points (p %s)", s.Name, (100*s.Value).Text("%+.1f"), s.PHolm.Text(InP)))
		}
	}
	if len(sure) > 0 {
		text += "; without error surely changed: " + strings.Join(sure, ", ")
	}
	return []string{text}
}

// isStale tells whether a model said the very same of two texts: one of them changed after it was tagged. Of those that
// differ in case or space it may.
func isStale(a, b *sideRow) bool {
	read := func(text string) string { return strings.ToLower(strings.Join(strings.Fields(text), " ")) }
	return a.model == b.model && a.model != [16]byte{} && read(a.text) != read(b.text)
}

// staleText says that texts changed after they were tagged.
func (d *Diff) staleText() string {
	return fmt.Sprintf("%s another text in B, and of both the model said the very same: what was found in one of them is "+
		"old; tag %s again: erreval identify %[3]s -o OUT", words.Plural(d.stale, "row has", "rows have"), d.B.File,
		words.Quote(d.B.File))
}

func probabilitiesOf(d *dataset.Diagnosis) dataset.Probabilities {
	if d == nil {
		return nil
	}
	return d.Probabilities
}
