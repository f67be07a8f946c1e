// Package audit measures what a judge of pairs goes by besides the texts' quality: their order, their length, and whose
// they are. Shares have intervals that resample items; a logistic regression holds the other things and the systems
// constant.
package audit

import (
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

// judgement is one run, from the side of the text that was shown first.
type judgement struct {
	item        int
	judge       int
	first, last int // systems
	won         string
	length      float64 // of the first less that of the second, over their sum
	longer      int     // 1 the first, -1 the second, 0 equal
	own         float64 // 1 the first is the judge's own, -1 the second is
}

// Run audits every judge by one type.
func Run(ctx context.Context, name string, pairs []Pair, o Options) ([]Audit, error) {
	c := &collection{o: o, systems: map[string]int{}, items: map[string]int{}}
	for i := range pairs {
		c.add(&pairs[i])
	}
	out := make([]Audit, len(c.judges))
	for j, judge := range c.judges {
		a := &out[j]
		*a = Audit{Judge: judge, Type: name, Notes: []string{}}
		if err := c.shares(ctx, j, a); err != nil {
			return nil, err
		}
	}
	return out, c.regress(out)
}

type collection struct {
	o       Options
	judges  []string
	systems map[string]int
	items   map[string]int
	all     []judgement
	both    []bothOrders
}

// bothOrders is a question that was answered in both orders.
type bothOrders struct {
	item, judge       int
	changed, reversed bool
}

func number(of map[string]int, name string) int {
	n, ok := of[name]
	if !ok {
		n = len(of)
		of[name] = n
	}
	return n
}

func (c *collection) judge(name string) int {
	i := slices.Index(c.judges, name)
	if i < 0 {
		i = len(c.judges)
		c.judges = append(c.judges, name)
	}
	return i
}

// add takes a pair's judgements.
func (c *collection) add(p *Pair) {
	item, a, b := number(c.items, p.Item), number(c.systems, p.SystemA), number(c.systems, p.SystemB)
	type question struct {
		judge, mode, prompt string
		repeat              int
	}
	byOrder := map[question]map[string]string{}
	var asked []question
	for _, r := range p.Runs {
		if r.Value == "" || r.Order == "" {
			continue
		}
		q := question{r.Judge, r.Mode, r.Prompt, r.Repeat}
		if byOrder[q] == nil {
			byOrder[q] = map[string]string{}
			asked = append(asked, q)
		}
		byOrder[q][r.Order] = r.Value
		j := judgement{item: item, judge: c.judge(r.Judge), first: a, last: b, won: r.Value,
			length: float64(p.LengthA-p.LengthB) / math.Max(1, float64(p.LengthA+p.LengthB)),
			own:    c.ownOf(r.Judge, p.SystemA) - c.ownOf(r.Judge, p.SystemB)}
		switch {
		case p.LengthA > p.LengthB:
			j.longer = 1
		case p.LengthA < p.LengthB:
			j.longer = -1
		}
		if r.Order == verdicts.OrderBA {
			j.first, j.last, j.length, j.longer, j.own = b, a, -j.length, -j.longer, -j.own
			j.won = verdicts.Swapped(j.won)
		}
		c.all = append(c.all, j)
	}
	for _, q := range asked {
		ab, ba := byOrder[q][verdicts.OrderAB], byOrder[q][verdicts.OrderBA]
		if ab == "" || ba == "" {
			continue
		}
		decided := func(v string) bool { return v == verdicts.A || v == verdicts.B }
		c.both = append(c.both, bothOrders{item: item, judge: c.judge(q.judge), changed: ab != ba,
			reversed: ab != ba && decided(ab) && decided(ba)})
	}
}

func (c *collection) ownOf(judge, system string) float64 {
	if slices.Contains(c.o.Own[judge], system) {
		return 1
	}
	return 0
}

// shares computes the figures that hold nothing constant.
func (c *collection) shares(ctx context.Context, judge int, a *Audit) error {
	type sums struct{ both, changed, reversed, decided, first, unequal, long, own, ownWins float64 }
	sum := func(weight []int32) (s sums) {
		for _, b := range c.both {
			if b.judge != judge {
				continue
			}
			w := float64(weight[b.item])
			s.both += w
			s.changed += w * truth(b.changed)
			s.reversed += w * truth(b.reversed)
		}
		for i := range c.all {
			j := &c.all[i]
			if j.judge != judge || j.won != verdicts.A && j.won != verdicts.B {
				continue
			}
			w, firstWon := float64(weight[j.item]), j.won == verdicts.A
			s.decided += w
			s.first += w * truth(firstWon)
			if j.longer != 0 {
				s.unequal += w
				s.long += w * truth(firstWon == (j.longer > 0))
			}
			if j.own != 0 {
				s.own += w
				s.ownWins += w * truth(firstWon == (j.own > 0))
			}
		}
		return s
	}
	whole := sum(slices.Repeat([]int32{1}, len(c.items)))
	var samples []sums
	if c.o.Resamples > 0 {
		var err error
		if samples, err = stats.Bootstrap(ctx, len(c.items), c.o.Resamples, c.o.Seed, sum); err != nil {
			return err
		}
	}
	figure := func(of func(*sums) float64) report.Figure {
		var resampled []float64
		for i := range samples {
			resampled = append(resampled, of(&samples[i]))
		}
		return report.NewFigure(of(&whole), resampled)
	}
	a.Both, a.Decided, a.Unequal, a.Own = int(whole.both), int(whole.decided), int(whole.unequal), int(whole.own)
	a.Changed = figure(func(s *sums) float64 { return s.changed / s.both })
	a.Reversed = figure(func(s *sums) float64 { return s.reversed / s.both })
	a.FirstWins = figure(func(s *sums) float64 { return s.first / s.decided })
	a.LongWins = figure(func(s *sums) float64 { return s.long / s.unequal })
	a.OwnWins = figure(func(s *sums) float64 { return s.ownWins / s.own })
	return nil
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// regress fits, for all judges together, the chance that the first text wins: by position and length of each judge, by
// whether a text is the judge's own, and by the systems, which stand for quality.
func (c *collection) regress(out []Audit) error {
	judges, systems := len(c.judges), len(c.systems)
	var x [][]float64
	var y []float64
	var cluster []int
	own := false
	for i := range c.all {
		j := &c.all[i]
		if j.won != verdicts.A && j.won != verdicts.B || j.first == j.last {
			continue
		}
		row := make([]float64, 3*judges+systems-1)
		row[3*j.judge], row[3*j.judge+1], row[3*j.judge+2] = 1, j.length, j.own
		own = own || j.own != 0
		setSystem(row[3*judges:], j.first, 1)
		setSystem(row[3*judges:], j.last, -1)
		x, y, cluster = append(x, row), append(y, truth(j.won == verdicts.A)), append(cluster, j.item)
	}
	undefined := report.Figure{Value: report.Undefined, Low: report.Undefined, High: report.Undefined}
	for j := range out {
		out[j].Position, out[j].Length, out[j].OwnSlope = undefined, undefined, undefined
	}
	kept := varying(x)
	withOwn := own && judges > 1
	if own && !withOwn {
		note(out, "one judge alone judged: how much it likes its own texts cannot be told from how good they are; "+
			"add a judge of another family, or compare own_wins with people's verdicts")
	}
	kept = slices.DeleteFunc(kept, func(column int) bool { return column < 3*judges && column%3 == 2 && !withOwn })
	fit, err := stats.Logistic(columns(x, kept), y, cluster)
	if err != nil && withOwn { // without the judges' own texts the rest may still be told
		kept = slices.DeleteFunc(kept, func(column int) bool { return column < 3*judges && column%3 == 2 })
		note(out, fmt.Sprintf("the liking for own texts cannot be told from the rest: %v", err))
		fit, err = stats.Logistic(columns(x, kept), y, cluster)
	}
	switch {
	case errors.Is(err, stats.ErrCollinear) || errors.Is(err, stats.ErrSeparated):
		note(out, fmt.Sprintf("position and length cannot be told from the systems: %v", err))
		return nil
	case err != nil:
		return err
	}
	for at, column := range kept {
		if column >= 3*judges {
			continue
		}
		f := report.Figure{Value: report.Number(fit.Coefficients[at])}
		f.Low = f.Value - report.Number(stats.Z*fit.Errors[at])
		f.High = f.Value + report.Number(stats.Z*fit.Errors[at])
		a := &out[column/3]
		*[]*report.Figure{&a.Position, &a.Length, &a.OwnSlope}[column%3] = f
	}
	return nil
}

func setSystem(row []float64, system int, value float64) {
	if system < len(row) { // the last one is what the others are compared with
		row[system] = value
	}
}

func note(out []Audit, text string) {
	for j := range out {
		out[j].Notes = append(out[j].Notes, text)
	}
}

// varying are the columns that are not 0 throughout.
func varying(x [][]float64) []int {
	var kept []int
	for column := range len(first(x)) {
		if slices.ContainsFunc(x, func(row []float64) bool { return row[column] != 0 }) {
			kept = append(kept, column)
		}
	}
	return kept
}

func first(x [][]float64) []float64 {
	if len(x) == 0 {
		return nil
	}
	return x[0]
}

func columns(x [][]float64, kept []int) [][]float64 {
	out := make([][]float64, len(x))
	for i, row := range x {
		out[i] = make([]float64, len(kept))
		for at, column := range kept {
			out[i][at] = row[column]
		}
	}
	return out
}
