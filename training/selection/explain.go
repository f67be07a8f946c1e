package selection

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/words"
)

func (s *survey) whyRare(c *candidate, i int) string {
	name := s.in.Meter.taxonomy.Types[i].Name
	return fmt.Sprintf("it may be %s, of which the training set has %s: probability %s with the threshold moved to 0.5",
		name, rows(s.in.Counts[name]), number(c.signals.centred[i]))
}

func (s *survey) whyAuto(c *candidate) string {
	g := c.signals
	return fmt.Sprintf("reliable: uncertainty %s (below %s), inconsistency %s (below %s)",
		number(g.Uncertainty), number(s.in.Uncertainty), number(g.Inconsistency), number(s.in.Inconsistency))
}

// Explanation says why a row was chosen or not.
type Explanation struct {
	ID      string   `json:"row_id"`
	Signals *Signals `json:"signals"` // nil where the row could not be measured
	Ranks   []Rank   `json:"ranks"`   // one for each reason that the row qualifies for
	Verdict string   `json:"verdict"` // a sentence

	Missing bool `json:"-"` // no row has the ID, as far as the pool and Used tell

	candidate *candidate
	rankings  []*ranking
}

// Rank is a row's place among those that qualify for a reason.
type Rank struct {
	Reason string  `json:"reason"`
	Score  float64 `json:"score"` // by which rows are ranked
	Place  int     `json:"place"` // 1 is the best
	Of     int     `json:"of"`    // rows that qualify
	Last   float64 `json:"last"`  // score of the last row that was taken; 0 where none was
	Taken  int     `json:"taken"` // rows that were taken
}

// watch finds the row to be explained, and has rankings count those before it.
func (s *survey) watch() (*Explanation, error) {
	if s.in.Watch == "" {
		return nil, nil
	}
	x := &Explanation{ID: s.in.Watch}
	var row *dataset.Row
	err := s.in.Pool(func(r *dataset.Row) error {
		if r.ID != x.ID {
			return nil
		}
		row = r
		return errFetched
	})
	if err != nil && !errors.Is(err, errFetched) {
		return nil, err
	}
	if row == nil {
		x.Verdict, x.Missing = "There is no such row in the pool.", true
		if where := s.in.Used.ids[x.ID]; where != "" {
			x.Verdict, x.Missing = "It is not in the pool, but in "+where+".", false
		}
		return x, nil
	}
	x.Signals, err = s.in.Meter.Signals(row)
	if err != nil && !errors.Is(err, errNotTagged) {
		return nil, err
	}
	if why, _ := s.in.Used.why(row); why != "" {
		x.Verdict = "It cannot be chosen: " + why + "."
		return x, nil
	}
	if x.Signals == nil {
		x.Verdict = "It cannot be measured: " + err.Error() + "."
		return x, nil
	}
	c := &candidate{id: row.ID, key: keys(s.in.Seed, row.ID)[keyTie], signals: x.Signals, group: s.in.groupOf(row),
		sketch: newSketch(row.Values)}
	x.candidate = c
	s.eachRanking(c, func(reason string, r *ranking, score float64) {
		r.watched = &entry{of: c, score: score}
		if reason == Rare || reason == Auto {
			return // one a type: told by the verdict
		}
		x.Ranks = append(x.Ranks, Rank{Reason: reason, Score: score})
		x.rankings = append(x.rankings, r)
	})
	return x, nil
}

// conclude fills in what is known after the choice.
func (x *Explanation) conclude(p *picker, b *Batch) {
	for i, r := range x.rankings {
		k := &x.Ranks[i]
		k.Place, k.Of, k.Last, k.Taken = r.ahead+1, r.offered, r.last, r.taken
	}
	if x.Verdict == "" {
		x.Verdict = x.verdict(p, b)
	}
}

func (x *Explanation) verdict(p *picker, b *Batch) string {
	is := func(k Pick) bool { return k.ID == x.ID }
	if i := slices.IndexFunc(b.Items, is); i >= 0 {
		return fmt.Sprintf("It was chosen for review (%s): %s.", b.Items[i].Reason, b.Items[i].Why)
	}
	if i := slices.IndexFunc(b.Auto, is); i >= 0 {
		return fmt.Sprintf("It is proposed for automatic addition: %s.", b.Auto[i].Why)
	}
	if id := p.like.find(x.candidate.sketch); id != "" {
		return fmt.Sprintf("It was not chosen: it is nearly the same as row %s.", id)
	}
	switch o := &p.s.in.Options; {
	case !x.Signals.Reliable(o):
	case !x.Signals.addable(o):
		return "It was not chosen: it is reliable, but only by the identifier's confidence; without a verifier no row is " +
			"added without a person."
	default:
		return fmt.Sprintf("It was not chosen: it is reliable, and of its labels other rows were proposed for automatic "+
			"addition (%d of at most %d).", len(b.Auto), p.s.in.Automatic)
	}
	if n, most := p.groups[x.candidate.group], p.s.in.PerGroup; x.candidate.group != 0 && most > 0 && n >= most {
		return fmt.Sprintf("It was not chosen: its group already gives %s to this batch (per_group is %d).", rows(n), most)
	}
	return "It was not chosen: it is unreliable, but other rows rank before it."
}

// Lines are the explanation as text.
func (x *Explanation) Lines() []string {
	lines := []string{x.Verdict}
	for _, g := range signals {
		if x.Signals == nil {
			break
		}
		if text := g.describe(x.Signals); text != "" {
			lines = append(lines, fmt.Sprintf("%-13s %s", g.name, text))
		}
	}
	for _, k := range x.Ranks {
		line := fmt.Sprintf("%-13s %s, score %s", k.Reason, rank(k.Place, k.Of), number(k.Score))
		if k.Taken > 0 {
			line += fmt.Sprintf("; %d taken, the last with %s", k.Taken, number(k.Last))
		}
		lines = append(lines, line)
	}
	return lines
}

func rank(place, of int) string { return fmt.Sprintf("rank %d of %d", place, of) }

func rows(n int) string { return words.Plural(n, "row", "rows") }

// number has two decimals, and more where these would say 0 or 1 of something else.
func number(x float64) string {
	if r := strconv.FormatFloat(x, 'f', 2, 64); x == 0 || x == 1 || r != "0.00" && r != "1.00" {
		return r
	}
	return strconv.FormatFloat(x, 'g', 3, 64)
}
