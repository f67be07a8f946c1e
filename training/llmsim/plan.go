package llmsim

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/prompt"
	"github.com/erreval/erreval/taxonomy"
	"github.com/erreval/erreval/training/simulate"
)

// Job is a text that is to be written.
type Job struct {
	Row  *dataset.Row // that it is written for
	Type int          // index of the error in Taxonomy.Types
	Nth  int          // of equal jobs, from 0
}

// Mix says how many texts with which errors are asked for.
type Mix struct {
	// Weights are relative, by index in Taxonomy.Types; errors that are left out are not written.
	Weights map[int]float64
	// Copies is how many texts are asked for each row, each with another error; where PerError is over 0, it is instead
	// that many for each error with a weight; where Total is, that many in all.
	Copies, PerError, Total int
	Seed                    uint64 // chooses errors and rows
}

// Everything is a weight of 1 for each error of t.
func Everything(t *taxonomy.Taxonomy) map[int]float64 {
	out := map[int]float64{}
	for i, y := range t.Types {
		if !y.NoError {
			out[i] = 1
		}
	}
	return out
}

// ReadWeights is Everything, nothing with only, in which values such as "Vague=2,OTA=1" replace weights.
func ReadWeights(t *taxonomy.Taxonomy, values []string, only bool) (map[int]float64, error) {
	return simulate.ParseMix(Everything(t), values, only, t.Index, t.Labels())
}

// Validate joins all faults of m.
func (m *Mix) Validate(t *taxonomy.Taxonomy) error {
	var faults []error
	sum := 0.0
	for i, w := range m.Weights {
		if i < 0 || i >= len(t.Types) || t.Types[i].NoError {
			faults = append(faults, fmt.Errorf("mix: only errors are written; right rows are what the input has"))
		}
		if !(w >= 0) {
			faults = append(faults, fmt.Errorf("mix: a weight is 0 or more; got %v", w))
		}
		sum += w
	}
	if !(sum > 0) {
		faults = append(faults, errors.New("mix has no weight above 0"))
	}
	if m.PerError < 0 || m.Total < 0 || m.PerError > 0 && m.Total > 0 || m.Copies < 1 && m.PerError+m.Total == 0 {
		faults = append(faults, fmt.Errorf("%d copies, %d per error, %d in total: give one of them, above 0", m.Copies,
			m.PerError, m.Total))
	}
	return errors.Join(faults...)
}

// Plan makes jobs of rows by a valid m. Those of one row stand in the order in which they were drawn.
func Plan(rows []*dataset.Row, m Mix) []Job {
	rng := rand.New(rand.NewPCG(m.Seed, 0x11a))
	if m.PerError > 0 || m.Total > 0 {
		return m.quotas(rng, rows)
	}
	var jobs []Job
	for _, r := range rows {
		left := m.types()
		for range min(m.Copies, len(left)) {
			i := m.draw(rng, left)
			jobs = append(jobs, Job{Row: r, Type: left[i]})
			left = slices.Delete(left, i, i+1)
		}
	}
	return jobs
}

// types are those with a weight, in order.
func (m *Mix) types() []int {
	var out []int
	for i, w := range m.Weights {
		if w > 0 {
			out = append(out, i)
		}
	}
	slices.Sort(out)
	return out
}

// draw is the place of a type, by weight.
func (m *Mix) draw(rng *rand.Rand, types []int) int {
	if i := simulate.Draw(rng, types, func(y int) float64 { return m.Weights[y] }); i >= 0 {
		return i
	}
	return len(types) - 1 // rounding
}

// quotas goes through the rows in random order, for each error anew, as often as it takes.
func (m *Mix) quotas(rng *rand.Rand, rows []*dataset.Row) []Job {
	var jobs []Job
	left, weight := m.Total, 0.0
	for _, y := range m.types() {
		weight += m.Weights[y]
	}
	for _, y := range m.types() {
		n := m.PerError
		if m.Total > 0 {
			n = int(float64(left)*m.Weights[y]/weight + 0.5)
			left, weight = left-n, weight-m.Weights[y]
		}
		var order []int
		for k := range n {
			if len(rows) == 0 {
				break
			}
			if k%len(rows) == 0 {
				order = rng.Perm(len(rows))
			}
			jobs = append(jobs, Job{Row: rows[order[k%len(rows)]], Type: y, Nth: k / len(rows)})
		}
	}
	return jobs
}

// example chooses what a job's prompt shows: a row with the error, one that has no other error if there is one.
func (s *Simulator) example(j Job) []prompt.Example {
	t := s.o.Taxonomy
	var fit, alone []prompt.Example
	for _, e := range s.o.Examples {
		has := slices.ContainsFunc(e.Labels, func(l string) bool { i, ok := t.Index(l); return ok && i == j.Type })
		if !has || slices.Equal(e.Values, j.Row.Values) {
			continue
		}
		if fit = append(fit, e); len(e.Labels) == 1 {
			alone = append(alone, e)
		}
	}
	if len(alone) > 0 {
		fit = alone
	}
	if len(fit) == 0 {
		return nil
	}
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%s\x00%d\x00%d", j.Row.ID, j.Type, j.Nth) // never fails
	i := rand.New(rand.NewPCG(s.o.Seed, h.Sum64())).IntN(len(fit))
	return fit[i : i+1]
}
