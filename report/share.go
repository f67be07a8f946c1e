package report

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/stats"
	"github.com/erreval/erreval/taxonomy"
)

// scheme holds what the figures need of a taxonomy.
type scheme struct {
	taxonomy string          // name@version
	labels   []taxonomy.Type // the error types, in order
	noError  string          // the label of a row without any; "" if the taxonomy has none
}

func newScheme(t *taxonomy.Taxonomy) scheme {
	s := scheme{taxonomy: t.ID()}
	for _, y := range t.Types {
		if y.NoError {
			s.noError = y.Name
		} else {
			s.labels = append(s.labels, y)
		}
	}
	return s
}

// errorsOf tells for each error type whether the diagnosis has it.
func (s *scheme) errorsOf(d *dataset.Diagnosis) ([]bool, error) {
	has := make([]bool, len(s.labels))
	for _, name := range d.Labels {
		i := s.index(name)
		if i < 0 && name != s.noError {
			return nil, fmt.Errorf("%w: %s has no label %q", ErrUnfit, s.taxonomy, name)
		}
		if i >= 0 {
			has[i] = true
		}
	}
	return has, nil
}

func (s *scheme) index(name string) int {
	return slices.IndexFunc(s.labels, func(y taxonomy.Type) bool { return y.Name == name })
}

// Share is a number of rows, and its share of a larger number.
type Share struct {
	Rows  int    `json:"rows"`
	Share Number `json:"share"` // 0 to 1; undefined if that number is 0
	Low   Number `json:"low"`   // of the interval; undefined where there is none
	High  Number `json:"high"`
}

func newShare(rows, of int) Share {
	s := Share{Rows: rows, Share: Undefined, Low: Undefined, High: Undefined}
	if of > 0 {
		s.Share = Number(float64(rows) / float64(of))
	}
	return s
}

// setShareInterval sets the interval by what value finds in each resample of so many groups.
func setShareInterval[S any](s *Share, samples []S, groups int, value func(S) float64) {
	i := stats.ShareInterval(float64(s.Share), resampled(samples, value), groups)
	s.Low, s.High = Number(i.Low), Number(i.High)
}

func resampled[S any](samples []S, value func(S) float64) []float64 {
	values := make([]float64, len(samples))
	for i, s := range samples {
		values[i] = value(s)
	}
	return values
}

// Methods of intervals.
const (
	Bootstrap = "bootstrap" // resamples groups of rows, as the passages
	Wilson    = "wilson"    // takes rows as independent
	None      = "none"
)

// Interval says how intervals were computed.
type Interval struct {
	Method    string  `json:"method"` // Bootstrap, Wilson or None
	Level     float64 `json:"level"`  // 0.95
	Group     string  `json:"group,omitempty"`
	Groups    int     `json:"groups,omitempty"`    // of the rows that the figures use
	Resamples int     `json:"resamples,omitempty"` // of a bootstrap
	Seed      uint64  `json:"seed,omitempty"`
}

// IntervalOptions say how to compute them.
type IntervalOptions struct {
	Method    string // Bootstrap, Wilson or None
	Group     string // what the groups are, for the report; "" if each row is its own
	Resamples int    // of a bootstrap; at least 1
	Seed      uint64
}

// DefaultIntervals resample 1000 times.
func DefaultIntervals() IntervalOptions {
	return IntervalOptions{Method: Bootstrap, Resamples: stats.DefaultResamples, Seed: 1}
}

// Validate reports every fault, each an *OptionError.
func (o *IntervalOptions) Validate() error {
	var errs []error
	if o.Method != Bootstrap && o.Method != Wilson && o.Method != None {
		errs = append(errs, OptionErrorf("--interval: interval %q: it is %s, %s or %s", o.Method, Bootstrap, Wilson, None))
	}
	if o.Resamples < 0 || o.Method == Bootstrap && o.Resamples == 0 {
		errs = append(errs, OptionErrorf("--bootstrap: %d resamples: a bootstrap needs at least 1, better %d",
			o.Resamples, stats.DefaultResamples))
	}
	return errors.Join(errs...)
}

func (o *IntervalOptions) describe(groups int) Interval {
	i := Interval{Method: o.Method, Level: stats.Level}
	if o.Method == Bootstrap {
		i.Group, i.Groups, i.Resamples, i.Seed = o.Group, groups, o.Resamples, o.Seed
	}
	return i
}

// FewGroups is the number of groups below which resampling understates the spread (Cameron, Gelbach and Miller 2008).
const FewGroups = 20

// RoughIntervals warns in one line if there are too few groups for good intervals; otherwise it has no line.
func RoughIntervals(groups int) []string {
	if groups >= FewGroups {
		return nil
	}
	return []string{fmt.Sprintf("only %d groups: the intervals are rough, and rather too narrow", groups)}
}

// facts are the interval's lines in a report.
func (i *Interval) facts() []string {
	level := fmt.Sprintf("%.0f %% intervals", 100*i.Level)
	switch i.Method {
	case Wilson:
		return []string{level + ": Wilson's, which take the rows as independent of each other"}
	case None:
		return nil
	}
	return append([]string{fmt.Sprintf("%s: bootstrap over %d groups (by %s), %d resamples, seed %d",
		level, i.Groups, cmp.Or(i.Group, "row"), i.Resamples, i.Seed)}, RoughIntervals(i.Groups)...)
}

// sums adds up values per group of rows, in blocks (such as systems), so that groups can be resampled.
type sums struct {
	cells  int // of a group in a block, or fewer where the last are 0; see splitCells. It may grow
	groups map[groupHash]int32
	index  map[sumKey]int // group and block → place in keys and values
	keys   []sumKey
	values [][]float64
}

type sumKey struct{ group, block int32 }

// groupHash identifies a group, which may be a whole passage. It is long enough that two groups do not share one.
type groupHash [16]byte

func newGroupHash(group string) groupHash {
	sum := sha256.Sum256([]byte(group))
	return groupHash(sum[:16])
}

func newSums(cells int) *sums {
	return &sums{cells: cells, groups: map[groupHash]int32{}, index: map[sumKey]int{}}
}

// of gives the cells of a group in a block, for the caller to add to.
func (s *sums) of(group string, block int) []float64 {
	hash := newGroupHash(group)
	g, ok := s.groups[hash]
	if !ok {
		g = int32(len(s.groups))
		s.groups[hash] = g
	}
	key := sumKey{g, int32(block)}
	i, ok := s.index[key]
	if !ok {
		i = len(s.keys)
		s.index[key] = i
		s.keys, s.values = append(s.keys, key), append(s.values, nil)
	}
	if missing := s.cells - len(s.values[i]); missing > 0 {
		s.values[i] = append(s.values[i], make([]float64, missing)...)
	}
	return s.values[i]
}

// sumByBlock sums the groups' values by block, each group as often as weight says; nil is once.
func (s *sums) sumByBlock(weight []int32, blocks int) [][]float64 {
	out := make([][]float64, blocks)
	for i := range out {
		out[i] = make([]float64, s.cells)
	}
	for i, key := range s.keys {
		w := float64(1)
		if weight != nil {
			w = float64(weight[key.group])
		}
		if w == 0 {
			continue
		}
		block := out[key.block]
		for c, x := range s.values[i] {
			block[c] += w * x
		}
	}
	return out
}

// countGroups counts the groups that have rows in each block.
func (s *sums) countGroups(blocks int) []int {
	n := make([]int, blocks)
	for _, key := range s.keys {
		n[key.block]++
	}
	return n
}

// resample gives what figures makes of the totals by block, for each resample of the groups.
func resample[S any](ctx context.Context, s *sums, o *IntervalOptions, blocks int,
	figures func(total [][]float64) S) ([]S, error) {
	return stats.Bootstrap(ctx, len(s.groups), o.Resamples, o.Seed, func(weight []int32) S {
		return figures(s.sumByBlock(weight, blocks))
	})
}

// splitCells gives the parts of a block's cells: the number of rows, and two lists of equal length.
func splitCells(cells []float64) (rows *float64, first, second []float64) {
	half := len(cells) / 2
	return &cells[0], cells[1 : 1+half], cells[1+half:]
}

// countErrors counts a row in found: as one without error, or for each error type that it has.
func countErrors(found []float64, has []bool) {
	if !slices.Contains(has, true) {
		found[0]++
	}
	for k, yes := range has {
		if yes {
			found[1+k]++
		}
	}
}

// rangeText is an interval alone, as "8.0 … 18.9 %".
func rangeText(low, high Number, format string) string {
	if !low.Defined() {
		return "–"
	}
	return strings.TrimSuffix(low.Text(format), " %") + " … " + high.Text(format)
}
