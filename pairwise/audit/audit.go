// Package audit measures what a judge of pairs goes by besides the texts' quality. That is their order, their length,
// and whose they are. Shares have intervals that resample items; a logistic regression holds the other things and the
// systems constant.
package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/erreval/erreval/internal/stats"
	"github.com/erreval/erreval/pairwise/verdicts"
	"github.com/erreval/erreval/report"
)

// Pair is a pair of texts with the single judgements on it, by one error type or overall.
type Pair struct {
	Item, SystemA, SystemB string
	LengthA, LengthB       int // in characters
	Runs                   []verdicts.Run
}

// Options say whose texts are a judge's own.
type Options struct {
	Own       map[string][]string // judge to the systems that are it, or of its family
	Resamples int                 // of items, for intervals; 0: none
	Seed      uint64
}

// Audit is what one judge goes by. Shares are 0 to 1; Reference is what a judge without the liking would show.
type Audit struct {
	Judge string `json:"judge"`
	Type  string `json:"type"`
	// Both is the number of questions that were asked in both orders and answered in both.
	Both     int           `json:"both_orders"`
	Changed  report.Figure `json:"changed"`  // share of Both: the verdict depends on the order
	Reversed report.Figure `json:"reversed"` // share of Both: the other text wins in the other order
	// Decided is the number of judgements in which one text wins.
	Decided   int           `json:"decided"`
	FirstWins report.Figure `json:"first_wins"` // share of Decided; its reference is a half where both orders are asked
	Unequal   int           `json:"unequal"`    // judgements of Decided on texts of different lengths
	LongWins  report.Figure `json:"long_wins"`  // share of Unequal; its reference is a half for texts of equal quality
	Own       int           `json:"own"`        // judgements of Decided in which one of the texts is the judge's own
	OwnWins   report.Figure `json:"own_wins"`   // share of Own

	// What the judge goes by when all else is held constant, in log odds that the first text wins.
	Position report.Figure `json:"position"` // for standing first
	Length   report.Figure `json:"length"`   // for being longer: by (first - second) / (first + second)
	OwnSlope report.Figure `json:"own_text"` // for being the judge's own; undefined where one judge alone judged
	Notes    []string      `json:"notes"`
}

// Collection gathers judgements, and holds of each what the figures need.
type Collection struct {
	o       Options
	systems stats.Numbers[string]
	items   stats.Numbers[string]
	byType  map[string]*collected
}

// collected are the judgements by one type.
type collected struct {
	judges  []string
	sums    [][]sums    // by judge, item
	decided []judgement // those in which one text wins
}

// judgement is one in which a text won, from the side of the text that was shown first.
type judgement struct {
	item, first, last int32 // first and last are systems
	judge             int16
	own               int8    // 1 the first is the judge's own, -1 the second is
	won               bool    // the first
	length            float64 // of the first less that of the second, over their sum
}

// sums are what shares are made of, of one judge on one item.
type sums struct{ both, changed, reversed, decided, first, unequal, long, own, ownWins int32 }

// New starts without judgements.
func New(o Options) *Collection {
	return &Collection{o: o, systems: stats.Numbers[string]{}, items: stats.Numbers[string]{},
		byType: map[string]*collected{}}
}

func (c *collected) judge(name string) int {
	i := slices.Index(c.judges, name)
	if i < 0 {
		i = len(c.judges)
		c.judges, c.sums = append(c.judges, name), append(c.sums, nil)
	}
	return i
}

// of are the sums of a judge on an item.
func (c *collected) of(judge, item int) *sums {
	if n := item + 1 - len(c.sums[judge]); n > 0 {
		c.sums[judge] = append(c.sums[judge], make([]sums, n)...)
	}
	return &c.sums[judge][item]
}

// Add takes the judgements on a pair by a type, or overall. Those that say nothing of an order are left out: no judge
// was shown the texts.
func (c *Collection) Add(name string, p *Pair) {
	by := c.byType[name]
	if by == nil {
		by = &collected{}
		c.byType[name] = by
	}
	type question struct {
		judge, mode, prompt string
		repeat              int
	}
	inAB, inBA := map[question]string{}, map[question]string{}
	for _, r := range p.Runs {
		if r.Value == "" || r.Order == "" {
			continue
		}
		q := question{r.Judge, r.Mode, r.Prompt, r.Repeat}
		if r.Order == verdicts.OrderBA {
			inBA[q] = r.Value
		} else {
			inAB[q] = r.Value
		}
		c.addRun(by, p, &r)
	}
	for q, ab := range inAB {
		ba, ok := inBA[q]
		if !ok {
			continue
		}
		s := by.of(by.judge(q.judge), c.items.Of(p.Item))
		s.both++
		s.changed += count(ab != ba)
		s.reversed += count(ab != ba && isDecided(ab) && isDecided(ba))
	}
}

func isDecided(v string) bool { return v == verdicts.A || v == verdicts.B }

// addRun takes one judgement.
func (c *Collection) addRun(by *collected, p *Pair, r *verdicts.Run) {
	item, a, b := c.items.Of(p.Item), c.systems.Of(p.SystemA), c.systems.Of(p.SystemB)
	judge := by.judge(r.Judge)
	s := by.of(judge, item)
	if !isDecided(r.Value) {
		return
	}
	j := judgement{item: int32(item), first: int32(a), last: int32(b), judge: int16(judge), won: r.Value == verdicts.A,
		own:    c.ownOf(r.Judge, p.SystemA) - c.ownOf(r.Judge, p.SystemB),
		length: float64(p.LengthA-p.LengthB) / math.Max(1, float64(p.LengthA+p.LengthB))}
	if r.Order == verdicts.OrderBA {
		j.first, j.last, j.own, j.won, j.length = j.last, j.first, -j.own, !j.won, -j.length
	}
	s.decided++
	s.first += count(j.won)
	if j.length != 0 {
		s.unequal++
		s.long += count(j.won == (j.length > 0))
	}
	if j.own != 0 {
		s.own++
		s.ownWins += count(j.won == (j.own > 0))
	}
	if a != b {
		by.decided = append(by.decided, j)
	}
}

func count(b bool) int32 {
	if b {
		return 1
	}
	return 0
}

func (c *Collection) ownOf(judge, system string) int8 {
	return int8(count(slices.Contains(c.o.Own[judge], system)))
}

// Audit audits every judge by one type; none where none judged by it.
func (c *Collection) Audit(ctx context.Context, name string) ([]Audit, error) {
	by := c.byType[name]
	if by == nil {
		return nil, nil
	}
	out := make([]Audit, len(by.judges))
	for j, judge := range by.judges {
		a := &out[j]
		*a = Audit{Judge: judge, Type: name, Notes: []string{}}
		if err := c.shares(ctx, by.sums[j], a); err != nil {
			return nil, err
		}
	}
	return out, c.regress(by, out)
}

// shares computes the figures that hold nothing constant.
func (c *Collection) shares(ctx context.Context, items []sums, a *Audit) error {
	asked := slices.DeleteFunc(slices.Clone(items), func(s sums) bool { return s.both+s.decided == 0 })
	add := func(weight []int32) (all sums) {
		for i := range asked {
			s, w := &asked[i], weight[i]
			all.both += w * s.both
			all.changed += w * s.changed
			all.reversed += w * s.reversed
			all.decided += w * s.decided
			all.first += w * s.first
			all.unequal += w * s.unequal
			all.long += w * s.long
			all.own += w * s.own
			all.ownWins += w * s.ownWins
		}
		return all
	}
	whole := add(slices.Repeat([]int32{1}, len(asked)))
	var samples []sums
	if c.o.Resamples > 0 && len(asked) > 0 {
		var err error
		if samples, err = stats.Bootstrap(ctx, len(asked), c.o.Resamples, c.o.Seed, add); err != nil {
			return err
		}
	}
	figure := func(of func(*sums) (n, all int32)) report.Figure {
		share := func(s *sums) float64 {
			n, all := of(s)
			return float64(n) / float64(all)
		}
		var resampled []float64
		for i := range samples {
			resampled = append(resampled, share(&samples[i]))
		}
		items := 0 // that the share is of
		for i := range asked {
			if _, n := of(&asked[i]); n > 0 {
				items++
			}
		}
		return report.NewShare(share(&whole), resampled, items)
	}
	a.Both, a.Decided, a.Unequal, a.Own = int(whole.both), int(whole.decided), int(whole.unequal), int(whole.own)
	a.Changed = figure(func(s *sums) (n, all int32) { return s.changed, s.both })
	a.Reversed = figure(func(s *sums) (n, all int32) { return s.reversed, s.both })
	a.FirstWins = figure(func(s *sums) (n, all int32) { return s.first, s.decided })
	a.LongWins = figure(func(s *sums) (n, all int32) { return s.long, s.unequal })
	a.OwnWins = figure(func(s *sums) (n, all int32) { return s.ownWins, s.own })
	return nil
}

// regress fits the regression, for all judges together.
func (c *Collection) regress(by *collected, out []Audit) error {
	for j := range out {
		out[j].Position, out[j].Length, out[j].OwnSlope = undefined, undefined, undefined
	}
	if len(by.decided) == 0 {
		return nil
	}
	slices.SortStableFunc(by.decided, func(a, b judgement) int { return cmp.Compare(a.item, b.item) })
	decided := by.decided
	for j := range by.judges {
		if place, one := placeOf(decided, int16(j)); one && len(by.judges) > 1 { // no finite slope says that
			decided = slices.DeleteFunc(slices.Clone(decided), func(d judgement) bool { return d.judge == int16(j) })
			note(out[j:j+1], fmt.Sprintf("%s always takes the %s text", out[j].Judge, place))
		}
	}
	r := newRegression(decided, len(by.judges), len(c.systems))
	if r.hasOwn() && len(by.judges) == 1 {
		note(out, "one judge alone judged: how much it likes its own texts cannot be told from how good they are; "+
			"add a judge of another family, or compare own_wins with people's verdicts")
		r.withoutOwn()
	}
	fit, err := r.fit()
	if err != nil && r.hasOwn() { // without the judges' own texts the rest may still be told
		note(out, fmt.Sprintf("the liking for own texts cannot be told from the rest: %v", err))
		r.withoutOwn()
		fit, err = r.fit()
	}
	switch {
	case errors.Is(err, stats.ErrCollinear) || errors.Is(err, stats.ErrSeparated):
		note(out, fmt.Sprintf("position and length cannot be told from the systems: %v", err))
		return nil
	case err != nil:
		return err
	}
	for column, place := range r.places[:perJudge*r.judges] {
		if place >= 0 {
			a := &out[column/perJudge]
			*[]*report.Figure{&a.Position, &a.Length, &a.OwnSlope}[column%perJudge] = figureOf(fit, place)
		}
	}
	return nil
}

// placeOf tells whether a judge always takes the text in one place, and which.
func placeOf(decided []judgement, judge int16) (place string, one bool) {
	won := map[bool]int{}
	for i := range decided {
		if decided[i].judge == judge {
			won[decided[i].won]++
		}
	}
	place = "first"
	if won[false] > 0 {
		place = "second"
	}
	return place, len(won) == 1
}

var undefined = report.Figure{Value: report.Undefined, Low: report.Undefined, High: report.Undefined}

// figureOf is a coefficient with its interval.
func figureOf(fit *stats.LogisticFit, at int) report.Figure {
	value, reach := fit.Coefficients[at], stats.T(fit.Clusters)*fit.Errors[at]
	return report.Figure{Value: report.Number(value), Low: report.Number(value - reach),
		High: report.Number(value + reach)}
}

func note(out []Audit, text string) {
	for j := range out {
		out[j].Notes = append(out[j].Notes, text)
	}
}
