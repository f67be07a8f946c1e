package selection

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"slices"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/training/review"
)

// Pool gives its rows, read with their taxonomy, to each; it is called more than once and gives the same rows, with ids
// that occur once. An error of each ends it.
type Pool func(each func(*dataset.Row) error) error

// Which of a row's random numbers decides what.
const (
	keyTie = iota
	keyRandom
	keyAuto
	keyOrder
)

// widths are how many rows a ranking holds for each that may be taken from it: some are near-duplicates, or taken for
// another reason.
const (
	width      = 10
	leastWidth = 200
)

// rareFrom is the centred probability (half the threshold's) from which a row may hold a rare type.
const rareFrom = 0.25

// survey is one pass over the pool.
type survey struct {
	in     *Input
	counts Counts

	random  *ranking
	signals []*ranking // one a signal
	rare    []*ranking // one a type; that of the no-error label stays empty
	auto    []*ranking // one a type; that of the no-error label (or a last one more) is of rows without errors
}

func newSurvey(in *Input) *survey {
	q := in.quotas()
	s := &survey{in: in, counts: Counts{Used: map[string]int{}}}
	held := func(n int) *ranking { return newRanking(max(width*n, leastWidth), max(in.Size, in.PerGroup)) }
	s.random = newRanking(q[Random], 0)
	s.random.repeats = true
	for range signals {
		s.signals = append(s.signals, held(in.Size))
	}
	for range in.Meter.thresholds {
		s.rare = append(s.rare, held(q[Rare]))
	}
	for range len(in.Meter.thresholds) + 1 {
		s.auto = append(s.auto, newRanking(width*in.Automatic, max(in.Automatic, in.PerGroup)))
	}
	return s
}

// row looks at one row.
func (s *survey) row(row *dataset.Row) error {
	s.counts.Pool++
	if _, where := s.in.Used.why(row); where != "" {
		s.counts.Used[where]++
		return nil
	}
	signals, err := s.in.Meter.Signals(row)
	if errors.Is(err, errNotTagged) {
		s.counts.Untagged++
		return nil
	}
	if err != nil {
		return err
	}
	s.count(signals)
	c := &candidate{id: row.ID, signals: signals, key: keys(s.in.Seed, row.ID)[keyTie], group: s.in.groupOf(row)}
	c.text = textHash(row.Values, c.group)
	full := func(c *candidate) {
		if c.sketch == nil {
			c.sketch, c.system = newSketch(row.Values), review.ColumnText(row, s.in.System)
		}
	}
	s.eachRanking(c, func(_ string, r *ranking, score float64) { r.offer(c, score, full) })
	return nil
}

func (s *survey) count(g *Signals) {
	s.counts.Free++
	if g.Verified != nil {
		s.counts.Verified++
	}
	if g.Reliable(&s.in.Options) {
		s.counts.Reliable++
	}
}

// eachRanking gives the rankings that a row qualifies for, with its score there.
func (s *survey) eachRanking(c *candidate, f func(reason string, r *ranking, score float64)) {
	o, g := &s.in.Options, c.signals
	k := keys(s.in.Seed, c.id)
	f(Random, s.random, unit(k[keyRandom]))
	for i, by := range slices.Backward(signals) {
		if by.reaches(g, o) {
			f(by.reason, s.signals[i], by.value(g))
		}
	}
	for i, q := range g.centred {
		if q >= rareFrom {
			f(Rare, s.rare[i], q)
		}
	}
	if g.addable(o) {
		for _, i := range s.in.Meter.labelsOf(g) {
			f(Auto, s.auto[i], unit(k[keyAuto]))
		}
	}
}

// labelsOf are the places of the types found; of a row without any, that of the no-error label, or one behind the last
// type.
func (m *Meter) labelsOf(g *Signals) []int {
	switch {
	case len(g.Found) > 0:
		return g.Found
	case m.noError >= 0:
		return []int{m.noError}
	}
	return []int{len(m.thresholds)}
}

// unit is a key as a number from 0 to 1.
func unit(key uint64) float64 { return float64(key>>11) / (1 << 53) }

// groupOf is a hash of the group that a row belongs to; 0 is none.
func (in *Input) groupOf(row *dataset.Row) uint64 {
	value := review.ColumnText(row, in.Group)
	if i := slices.Index(in.Meter.taxonomy.FieldNames(), in.Group); i >= 0 {
		value = row.Values[i] // whatever its column is called
	}
	if value == "" {
		return 0
	}
	sum := sha256.Sum256([]byte(value))
	return binary.BigEndian.Uint64(sum[:]) | 1
}
