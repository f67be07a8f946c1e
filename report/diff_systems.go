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

// systemSums count the rows of each system in two files.
type systemSums struct {
	names  []string
	places map[string]int
	sides  [2]map[int]bool // systems of A and B
	sums   *sums           // by group, a block a system: rows of A, without error, the same of B; of pairs in A alone
}

const systemCells = 5

func newSystemSums() *systemSums {
	return &systemSums{places: map[string]int{}, sides: [2]map[int]bool{{}, {}}, sums: newSums(systemCells)}
}

// place is that of a system among the names, which a file has rows of.
func (s *systemSums) place(side int, name string) int {
	at, known := s.places[name]
	if !known {
		name = strings.Clone(name)
		at = len(s.names)
		s.places[name], s.names = at, append(s.names, name)
	}
	if name != "" {
		s.sides[side][at] = true
	}
	return at
}

// add counts a pair of one system.
func (s *systemSums) add(a, b *sideRow, inA, inB bool) {
	if a.system != b.system {
		return
	}
	cells := s.sums.of(b.group, b.system)
	for i, x := range []bool{true, inA, true, inB, inA && !inB} {
		cells[i] += indicator(x)
	}
}

// diffs are what changed for each system; nil where no file has several. together is the p-value of all rows.
func (s *systemSums) diffs(together Number, isPaired bool) (out []SystemDiff) {
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
				b.AddGroup(cells[3], cells[2])
				change.AddGroup(cells[3]-cells[1], cells[2])
				lost += cells[4]
			}
		}
		if a.Rows == 0 || b.Rows == 0 {
			continue
		}
		difference := stats.ApartShares(&a, &b)
		if isPaired {
			difference = stats.PairedShares(lost, &change)
		}
		d := SystemDiff{Name: name, Rows: int(b.Rows), A: newShare(&a).Share, B: newShare(&b).Share,
			Difference: DifferenceOf(difference)}
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
	return []string{fmt.Sprintf("%d systems (by %s) count together; --where %[2]s=NAME takes one%s", d.Pairing.named,
		d.Pairing.column, surelyChanged(d.Systems))}
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
	return "; without error surely changed: " + strings.Join(sure, ", ")
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
