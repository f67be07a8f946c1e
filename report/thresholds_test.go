package report

import (
	"testing"

	"github.com/erreval/erreval/dataset"
)

// What thresholds choose is no change: where they differ, or are not known, that is a warning.
func TestDiffThresholds(t *testing.T) {
	w, toy := readWitness(t)
	const unknown = -1.0
	of := func(p float64) Thresholds {
		return NewThresholds("f", dataset.Probabilities{{Label: toy.Errors()[0], P: p}}, toy)
	}
	for other, want := range map[float64]int{0.5: 0, 0.6: 1, unknown: 1} {
		second := of(other)
		if other == unknown {
			second = NewThresholds("g", nil, toy)
		}
		c := NewComparison(DiffOptions{Taxonomy: toy, Thresholds: []Thresholds{of(0.5), second}})
		for side := range 2 {
			d := w.diagnosis("m@1", []bool{true, false, false})
			if err := c.add(side, diffRow{Row: &dataset.Row{ID: "a"}, group: "a", diagnosis: d}); err != nil {
				t.Fatal(err)
			}
		}
		d, err := c.ComputeDiff()
		if err != nil {
			t.Fatal(err)
		}
		said := 0
		for _, warning := range d.Warnings() {
			said += len(warning.Notes)
		}
		if said != want {
			t.Errorf("thresholds 0.5 and %v: %d warnings, want %d", other, said, want)
		}
	}
}
