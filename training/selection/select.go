package selection

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/taxonomy"
	"github.com/erreval/erreval/training/review"
)

// Why a row is chosen: the reasons of a batch's items, and one more.
const (
	Random       = review.Random
	Control      = review.Control
	Mistake      = review.Mistake
	Conflicting  = review.Conflicting
	Inconsistent = review.Inconsistent
	Rare         = review.Rare
	Uncertain    = review.Uncertain
	Auto         = "auto" // proposed without a person
)

// Input is what a batch is chosen from.
type Input struct {
	Options
	Pool     Pool
	Meter    *Meter
	Used     *Used          // rows that cannot be chosen
	Counts   map[string]int // rows of the training set with each label, by name; makes rare types rare
	Mistakes []Doubt        // rows of the training set that may be labelled wrongly
	Seed     int64
	Watch    string // id of a row to be explained, or ""
}

// Doubt is a row of the training set whose labels may be wrong.
type Doubt struct {
	Row   *dataset.Row
	Score float64 // label quality: the lower, the more doubtful
}

// Pick is a chosen row.
type Pick struct {
	ID        string
	Row       *dataset.Row
	Reason    string
	Why       string   // a sentence with the numbers
	Signals   *Signals // nil for a row of the training set
	ControlOf int      // place in Batch.Items of the row that this one repeats; -1 for all others
}

// Counts say what the pool holds. Their JSON keys are stable.
type Counts struct {
	Pool     int            `json:"rows"`
	Used     map[string]int `json:"used"`     // rows that cannot be chosen, by where they are
	Untagged int            `json:"untagged"` // rows without a diagnosis
	Free     int            `json:"free"`     // rows that can be chosen
	Verified int            `json:"verified"` // of the free rows, those with a verifier's probability
	Reliable int            `json:"reliable"` // of the free rows, those below all thresholds
}

// Batch is what was chosen.
type Batch struct {
	Items   []Pick // for a person, in the order of reading
	Auto    []Pick // without one
	Counts  Counts
	Systems map[string]int // rows for a person, but random and repeated ones, by system
	Groups  int            // groups of these rows; 0 where rows have none
	Watched *Explanation   // of Input.Watch, or nil
}

// Select chooses a batch. The same rows, seed and options give the same one.
func Select(in Input) (*Batch, error) {
	if err := in.Validate(); err != nil {
		return nil, err
	}
	s := newSurvey(&in)
	watched, err := s.watch()
	if err != nil {
		return nil, err
	}
	if err := in.Pool(s.row); err != nil {
		return nil, err
	}
	in.Size = min(in.Size, max(1, s.counts.Free)) // shares are parts of what a small pool can give
	p := newPicker(s)
	p.choose()
	b := &Batch{Items: p.items(), Counts: s.counts, Systems: maps.Clone(p.systems), Groups: p.spread()}
	b.Auto = p.automatic()
	if err := fetch(in.Pool, b); err != nil {
		return nil, err
	}
	if watched != nil {
		watched.conclude(p, b)
		b.Watched = watched
	}
	return b, nil
}

// quotas are the rows of each reason; what a reason cannot use goes to uncertain rows.
func (in *Input) quotas() map[string]int {
	q, rest := map[string]int{}, in.Size
	for _, s := range in.Shares.named() {
		q[s.reason] = min(int(math.Round(*s.of*float64(in.Size))), rest)
		rest -= q[s.reason]
	}
	q[Uncertain] = rest
	return q
}

// errFetched ends a pass over the pool before its end.
var errFetched = errors.New("all rows are there")

// fetch reads the rows that were chosen from the pool, in a second pass.
func fetch(pool Pool, b *Batch) error {
	missing := map[string][]*Pick{}
	for _, list := range [][]Pick{b.Items, b.Auto} {
		for i := range list {
			if p := &list[i]; p.Row == nil {
				missing[p.ID] = append(missing[p.ID], p)
			}
		}
	}
	if len(missing) == 0 {
		return nil
	}
	err := pool(func(row *dataset.Row) error {
		for _, p := range missing[row.ID] {
			p.Row = row
		}
		if delete(missing, row.ID); len(missing) == 0 {
			return errFetched
		}
		return nil
	})
	if errors.Is(err, errFetched) || err == nil && len(missing) == 0 {
		return nil
	}
	return cmp.Or(err, fmt.Errorf("%d rows were not in the pool any more when it was read again; do not change it "+
		"meanwhile", len(missing)))
}

// Summary counts what is in a batch. Its JSON keys are stable.
type Summary struct {
	Items      int            `json:"items"`
	Reasons    map[string]int `json:"reasons"` // of the items
	Labels     map[string]int `json:"labels"`  // that the identifier found in the items, repeated ones not counted
	Groups     int            `json:"groups"`  // of the items, random and repeated ones not counted
	Systems    map[string]int `json:"systems"` // likewise
	Auto       int            `json:"auto"`
	AutoLabels map[string]int `json:"auto_labels"`
	Pool       Counts         `json:"pool"`
}

// Summary counts what was chosen from rows of a taxonomy.
func (b *Batch) Summary(t *taxonomy.Taxonomy) *Summary {
	s := &Summary{Items: len(b.Items), Reasons: map[string]int{}, Labels: map[string]int{}, Groups: b.Groups,
		Systems: b.Systems, Auto: len(b.Auto), AutoLabels: map[string]int{}, Pool: b.Counts}
	for _, p := range b.Items {
		s.Reasons[p.Reason]++
		if p.Reason != Control {
			p.Signals.countLabels(s.Labels, t)
		}
	}
	for _, p := range b.Auto {
		p.Signals.countLabels(s.AutoLabels, t)
	}
	return s
}

// countLabels counts what was found. What a model finds in a row of the training set is not known: its signals are nil.
func (g *Signals) countLabels(counts map[string]int, t *taxonomy.Taxonomy) {
	if g == nil {
		return
	}
	for _, i := range g.Found {
		counts[t.Types[i].Name]++
	}
	if i := t.NoErrorIndex(); i >= 0 && len(g.Found) == 0 {
		counts[t.Types[i].Name]++
	}
}

// Text says how many rows can be chosen, and what became of the others.
func (c *Counts) Text() string {
	text := fmt.Sprintf("%d of %s, %d of them reliable", c.Free, words.Plural(c.Pool, "row", "rows"), c.Reliable)
	for _, where := range slices.Sorted(maps.Keys(c.Used)) {
		text += fmt.Sprintf("; %d in %s", c.Used[where], where)
	}
	if c.Untagged > 0 {
		text += fmt.Sprintf("; %d not tagged", c.Untagged)
	}
	return text
}

// Review says how many rows a person gets, and why.
func (s *Summary) Review() string {
	var parts []string
	for _, reason := range review.Reasons() {
		if n := s.Reasons[reason]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, reason))
		}
	}
	return words.Plural(s.Items, "row", "rows") + ": " + strings.Join(parts, ", ")
}

// shownSystems are how many systems a summary names.
const shownSystems = 5

// Spread says of how many groups and of which systems the rows are.
func (s *Summary) Spread() string {
	var parts []string
	if s.Groups > 0 {
		parts = append(parts, words.Plural(s.Groups, "group", "groups"))
	}
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(s.Systems)), func(name string) bool { return name == "" })
	slices.SortStableFunc(names, func(a, b string) int { return s.Systems[b] - s.Systems[a] })
	for _, name := range names[:min(shownSystems, len(names))] {
		parts = append(parts, fmt.Sprintf("%s %d", words.Printable(name), s.Systems[name]))
	}
	if more := len(names) - shownSystems; more > 0 {
		parts = append(parts, words.Plural(more, "more system", "more systems"))
	}
	return cmp.Or(strings.Join(parts, ", "), "neither groups nor systems are known")
}
