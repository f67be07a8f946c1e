package report

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/stats"
	"github.com/erreval/erreval/internal/words"
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

// finding is what a diagnosis says of an error type.
type finding byte

const (
	absent finding = iota
	present
	notJudged // the row is outside of the error's share
)

// errorsOf tells for each error type what the diagnosis says of it.
func (s *scheme) errorsOf(d *dataset.Diagnosis) ([]finding, error) {
	found := make([]finding, len(s.labels))
	for _, name := range d.NotJudged {
		if i := s.index(name); i >= 0 {
			found[i] = notJudged
		}
	}
	for _, name := range d.Labels {
		i := s.index(name)
		if i < 0 && name != s.noError {
			return nil, fmt.Errorf("%w: %s has no label %q", ErrUnfit, s.taxonomy, name)
		}
		if i >= 0 {
			found[i] = present
		}
	}
	return found, nil
}

func (s *scheme) index(name string) int {
	return slices.IndexFunc(s.labels, func(y taxonomy.Type) bool { return y.Name == name })
}

// NotJudgedText says of an error that its share is not of all tagged rows.
func NotJudgedText(label, rows string) string {
	return label + " was not judged in " + rows + ", which may have it; its share is of the others"
}

// inNoRow names errors that a table leaves out.
func inNoRow(labels []string) string { return "in no row: " + strings.Join(labels, ", ") }

// Share is a number of rows, and its share of a larger number.
type Share struct {
	Rows  int    `json:"rows"`
	Share Number `json:"share"` // 0 to 1; undefined if that number is 0
	Low   Number `json:"low"`   // of the interval; undefined where there is none
	High  Number `json:"high"`
}

func newShare(s *stats.GroupSums) Share {
	low, high := s.ShareInterval()
	return Share{int(s.Sum), Number(s.Mean()), Number(low), Number(high)}
}

// Interval says of which groups of rows the intervals are.
type Interval struct {
	Level  float64 `json:"level"` // 0.95
	Group  string  `json:"group,omitempty"`
	Groups int     `json:"groups"` // of the rows that the figures use
}

// method says it in a report.
func (i *Interval) method() string {
	of := rowsText(i.Groups)
	if i.Group != "" {
		of = words.Plural(i.Groups, "group", "groups") + " of rows (by " + i.Group + ")"
	}
	return fmt.Sprintf("%.0f %% intervals and p-values: of %s", 100*i.Level, of)
}

// fewestGroups is the number of groups below which Student's t makes hardly any difference a sure one.
const fewestGroups = 5

// few says that so many rows are of too few groups; "" where they are not.
func (i *Interval) few(rows int) string {
	if i.Group == "" || i.Groups >= fewestGroups || i.Groups >= rows {
		return ""
	}
	return fmt.Sprintf("%s: too few for a difference to be sure; --group none takes each row by itself",
		words.Plural(i.Groups, "group", "groups")+" of rows (by "+i.Group+")")
}

// tooFew is few, and says so of as few rows, too.
func (i *Interval) tooFew(rows int) string {
	if n := rows; n < fewestGroups || i.Group != "" && i.Groups < fewestGroups {
		return cmp.Or(i.few(rows), rowsText(n)+" in too few groups for a difference to be sure")
	}
	return ""
}

// IntervalOptions say how intervals are resampled.
type IntervalOptions struct {
	Group     string // what the groups are, for the report; "" if each row is its own
	Resamples int    // of a bootstrap; 0 for no intervals
	Seed      uint64
}

// DefaultIntervals resample 1000 times.
func DefaultIntervals() IntervalOptions {
	return IntervalOptions{Resamples: stats.DefaultResamples, Seed: 1}
}

// Validate reports a fault as an *OptionError.
func (o *IntervalOptions) Validate() error {
	if o.Resamples < 0 {
		return OptionErrorf("--bootstrap %d: a number of resamples, 0 for no intervals", o.Resamples)
	}
	return nil
}

// FewGroups is the number of groups below which resampling understates the spread (Cameron, Gelbach and Miller 2008).
const FewGroups = 20

// RoughIntervals warns in one line if there are too few groups for good intervals; otherwise it has no line.
func RoughIntervals(groups int) []string {
	if groups >= FewGroups {
		return nil
	}
	return []string{"only " + words.Plural(groups, "group", "groups") + ": the intervals are rough, and rather too narrow"}
}

// sums adds up values per group of rows, in blocks (such as systems), from which stats.GroupSums are made.
type sums struct {
	cells  int // of a group in a block, or fewer where the last are 0. It may grow
	groups map[groupHash]int32
	index  map[sumKey]int // group and block → place in keys and values
	keys   []sumKey
	values [][]float64
}

type sumKey struct{ group, block int32 }

// groupHash identifies a group, which may be a whole passage. It is long enough that two groups do not share one.
type groupHash [16]byte

// newGroupHash takes texts that differ in white space alone, as programs write them, for one.
func newGroupHash(group string) groupHash {
	sum := sha256.Sum256([]byte(dataset.FoldSpace(group)))
	return groupHash(sum[:16])
}

func newSums(cells int) *sums {
	return &sums{cells: cells, groups: map[groupHash]int32{}, index: map[sumKey]int{}}
}

// of gives the cells of a group in a block, for the caller to add to.
func (s *sums) of(hash groupHash, block int) []float64 {
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

// rangeText is an interval alone, as "8.0 … 18.9 %".
func rangeText(low, high Number, format string) string {
	if !low.Defined() {
		return "–"
	}
	return strings.TrimSuffix(low.Text(format), " %") + " … " + high.Text(format)
}

func indicator(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

func slicesWithout[T any](list []T, drop func(T) bool) []T {
	return slices.DeleteFunc(slices.Clone(list), drop)
}

// judgedAlike tells whether two rows were judged for the same errors: else one may be without error for that alone.
func judgedAlike(a, b []finding) bool {
	return slices.EqualFunc(a, b, func(x, y finding) bool { return (x == notJudged) == (y == notJudged) })
}
