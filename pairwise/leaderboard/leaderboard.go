// Package leaderboard rates systems by verdicts on pairs of their texts. It makes a [Table] for each error type and one
// overall, with intervals that resample items, and how much the tables say the same.
package leaderboard

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/erreval/erreval/internal/stats"
	"github.com/erreval/erreval/internal/stats/rating"
	"github.com/erreval/erreval/pairwise/verdicts"
	"github.com/erreval/erreval/report"
)

// Options say how systems are rated.
type Options struct {
	Elo       rating.EloOptions
	Anchor    string // the system whose ratings are 1000; "" makes the mean of each table 1000
	Resamples int    // of items, for intervals; 0: those of the sandwich estimate alone
	Seed      uint64
	// Inconsistent says what becomes of verdicts that Reconcile left open: InconsistentTie or InconsistentOut.
	Inconsistent string
}

// What becomes of inconsistent verdicts.
const (
	InconsistentTie = "tie" // half a win of each
	InconsistentOut = "out" // left out
)

// DefaultOptions are those of the estimators, with 500 resamples; inconsistent verdicts are ties, as in FastChat.
func DefaultOptions() Options {
	return Options{Elo: rating.DefaultEloOptions(), Resamples: 500, Seed: 1,
		Inconsistent: InconsistentTie}
}

// Validate reports every fault.
func (o *Options) Validate() error {
	switch {
	case !(o.Elo.K > 0) || o.Elo.Orders < 1:
		return fmt.Errorf("the ratings of Elo need a K above 0 and at least one order; got %v and %d", o.Elo.K, o.Elo.Orders)
	case o.Resamples < 0:
		return fmt.Errorf("%d resamples; give 0 or more", o.Resamples)
	case o.Inconsistent != InconsistentTie && o.Inconsistent != InconsistentOut:
		return fmt.Errorf("inconsistent verdicts become %q; it is %s or %s", o.Inconsistent, InconsistentTie, InconsistentOut)
	}
	return nil
}

// Verdicts collects verdicts.
type Verdicts struct {
	systems, items names
	types          []string
	byType         map[string]*collected
}

// names numbers names in the order in which they come.
type names struct {
	list []string
	at   stats.Numbers[string]
}

func (n *names) number(name string) int {
	if n.at == nil {
		n.at = stats.Numbers[string]{}
	}
	i := n.at.Of(name)
	if i == len(n.list) {
		n.list = append(n.list, name)
	}
	return i
}

// collected are the verdicts by one type.
type collected struct {
	games        []judged
	unjudged     map[string]int // by reason
	inconsistent int
	self         int // pairs of a system with itself
	oneOrder     int
	lost, asked  int // judgements
}

type judged struct {
	a, b, item int32
	value      string // one of verdicts.Values, or "" where it is inconsistent
}

// NewVerdicts starts without verdicts. types are in the order of the tables; others come behind them.
func NewVerdicts(types []string) *Verdicts {
	v := &Verdicts{byType: map[string]*collected{}}
	for _, t := range types {
		v.of(t)
	}
	return v
}

func (v *Verdicts) of(name string) *collected {
	c := v.byType[name]
	if c == nil {
		c = &collected{unjudged: map[string]int{}}
		v.byType[name] = c
		v.types = append(v.types, name)
	}
	return c
}

// Add adds a verdict by a type (or verdicts.Overall) on texts of systems a and b for an item. value is one of
// verdicts.Values; where it is empty, reason says why.
func (v *Verdicts) Add(name, item, a, b, value, reason string) {
	c := v.of(name)
	g := judged{a: int32(v.systems.number(a)), b: int32(v.systems.number(b)), item: int32(v.items.number(item)),
		value: value}
	switch {
	case a == b:
		c.self++
	case value == "" && reason != verdicts.Inconsistent:
		c.unjudged[reason]++
	default:
		if value == "" {
			c.inconsistent++
		}
		c.games = append(c.games, g)
	}
}

// AddLost counts the judgements of a pair with a verdict, and those of them that could not be used.
func (v *Verdicts) AddLost(name string, lost, asked int) {
	c := v.of(name)
	c.lost, c.asked = c.lost+lost, c.asked+asked
}

// AddOneOrder counts a pair of which only one of two orders could be read.
func (v *Verdicts) AddOneOrder(name string) { v.of(name).oneOrder++ }

// Systems are their names, in the order in which they came.
func (v *Verdicts) Systems() []string { return v.systems.list }

// Types are those that verdicts were added by, and those of NewVerdicts, in the order of the tables.
func (v *Verdicts) Types() []string { return v.types }

// Board is all tables.
type Board struct {
	Systems   int     `json:"systems"`
	Items     int     `json:"items"`
	Anchor    string  `json:"anchor,omitempty"`
	Resamples int     `json:"resamples"`
	Tables    []Table `json:"tables"`
	Halo      *Halo   `json:"halo,omitempty"` // nil with fewer than two tables of types or three systems
	elo       rating.EloOptions
}

// Table is a leaderboard.
type Table struct {
	Type         string         `json:"type"`
	Games        int            `json:"games"`
	Inconsistent int            `json:"inconsistent"` // of the pairs
	Unjudged     map[string]int `json:"unjudged"`     // by reason
	Self         int            `json:"self"`         // pairs of a system with itself, left out
	OneOrder     int            `json:"one_order"`    // pairs asked in both orders, of which replies to one could be read
	Lost         int            `json:"lost"`         // judgements of pairs with a verdict that could not be used
	Asked        int            `json:"asked"`        // all judgements of these pairs
	EloOrders    int            `json:"elo_orders"`   // orders of the games that Elo's ratings are means over
	EloError     report.Number  `json:"elo_error"`    // the largest standard error of these means, in points
	Verdicts     map[string]int `json:"verdicts"`     // by value
	Ties         report.Number  `json:"ties"`         // Davidson's parameter; undefined where it has no fit
	Notes        []string       `json:"notes"`        // why systems are not rated, in plain words
	Rows         []Row          `json:"rows"`         // best first
	Wins         Matrix         `json:"wins"`
}

// LacksDavidson tells whether Davidson's model has no finite ratings for these games.
func (t *Table) LacksDavidson() bool {
	return slices.ContainsFunc(t.Rows, func(r Row) bool { return r.Standing == rating.Rated && !r.Davidson.Defined() })
}

// Row is a system in a table. Ratings are points on the scale of Elo, where 400 are a tenfold chance.
type Row struct {
	System string `json:"system"`
	// 1 and one more for each system whose interval lies wholly above; 0 where there is none
	Rank       int             `json:"rank"`
	Standing   rating.Standing `json:"standing"`
	Rating     report.Figure   `json:"bradley_terry"` // its interval: bootstrap over items
	Sandwich   report.Figure   `json:"sandwich"`      // the same rating with its standard errors clustered by item
	Davidson   report.Number   `json:"davidson"`
	Elo        report.Number   `json:"elo"`
	Glicko2    report.Number   `json:"glicko2"`
	Deviation  report.Number   `json:"glicko2_deviation"`
	Volatility report.Number   `json:"glicko2_volatility"`
	Borda      report.Number   `json:"borda"` // over the four ratings; undefined where they order some systems by chance
	Won        float64         `json:"won"`
	Lost       float64         `json:"lost"`
	Tied       float64         `json:"tied"`
	WinRate    report.Figure   `json:"win_rate"`
	Bad        report.Figure   `json:"both_bad"` // share of its pairs in which both texts do badly
}

// Interval is the rating with the bootstrap's interval, or where there is none with that of the sandwich estimate.
func (r *Row) Interval() report.Figure {
	if r.Rating.Low.Defined() {
		return r.Rating
	}
	return r.Sandwich
}

// Matrix is how often each system wins against each other, in the order of the table's rows.
type Matrix [][]report.Number

// Compute rates the systems.
func (v *Verdicts) Compute(ctx context.Context, o Options) (*Board, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	b := &Board{Systems: len(v.systems.list), Items: len(v.items.list), Anchor: o.Anchor, Resamples: o.Resamples,
		elo: o.Elo}
	if _, ok := v.systems.at[o.Anchor]; o.Anchor != "" && !ok {
		return nil, fmt.Errorf("the anchor %q is none of the systems; they are %v", o.Anchor, v.systems.list)
	}
	for _, name := range v.types {
		if c := v.byType[name]; len(c.games)+len(c.unjudged)+c.self == 0 {
			continue // nothing was said by it
		}
		t, err := v.table(ctx, name, &o)
		if err != nil {
			return nil, err
		}
		b.Tables = append(b.Tables, *t)
	}
	b.Halo = v.halo(b)
	return b, nil
}

// games are those of a type.
func (c *collected) toGames(v *Verdicts, inconsistent string) *rating.Games {
	games := make([]rating.Game, 0, len(c.games))
	for _, j := range c.games {
		g := rating.Game{A: int(j.a), B: int(j.b), Item: int(j.item), Result: 0.5}
		switch j.value {
		case verdicts.A:
			g.Result = 1
		case verdicts.B:
			g.Result = 0
		case "":
			if inconsistent == InconsistentOut {
				continue
			}
		}
		games = append(games, g)
	}
	return rating.New(len(v.systems.list), len(v.items.list), games)
}

// items is the number of those with games.
func (c *collected) items() int {
	seen := map[int32]bool{}
	for _, j := range c.games {
		seen[j.item] = true
	}
	return len(seen)
}

// table rates by one type.
func (v *Verdicts) table(ctx context.Context, name string, o *Options) (*Table, error) {
	c := v.byType[name]
	t := &Table{Type: name, Inconsistent: c.inconsistent, Unjudged: c.unjudged, Self: c.self, OneOrder: c.oneOrder,
		Lost: c.lost, Asked: c.asked,
		Verdicts: map[string]int{}, Notes: []string{}, Rows: []Row{}}
	for _, j := range c.games {
		if j.value != "" {
			t.Verdicts[j.value]++
		}
	}
	games := c.toGames(v, o.Inconsistent)
	t.Games = games.Len()
	whole := v.rate(games, o.Anchor, nil)
	anchor := o.Anchor
	if anchor != "" && t.Games > 0 && whole.fit.Standing[v.systems.at[anchor]] != rating.Rated {
		t.Notes = append(t.Notes, anchor+" cannot be rated here and is no anchor: the mean is 1000")
		anchor = ""
		whole = v.rate(games, anchor, nil)
	}
	var samples []*rated
	if o.Resamples > 0 && t.Games > 0 {
		var err error
		samples, err = stats.Bootstrap(ctx, games.Items, o.Resamples, o.Seed, func(weight []int32) *rated {
			return v.rate(games, anchor, weight)
		})
		if err != nil {
			return nil, err
		}
	}
	comparable, units := t.comparable(whole, samples), c.items()
	bad := c.bothBad(v)
	wins, davidson, elo := games.WinSums(), games.Davidson(nil), games.Elo(nil, o.Elo)
	glicko := games.Glicko2(nil)
	if t.Ties = report.Number(davidson.Ties); math.IsInf(davidson.Ties, 0) {
		t.Ties = report.Undefined
	}
	t.EloOrders, t.EloError = elo.Orders, report.Number(elo.Error)
	columns := fourRatings(v, anchor, whole, davidson, elo.Points, glicko)
	borda := t.borda(whole.fit.Standing, columns)
	for i, system := range v.systems.list {
		record := whole.fit.Records[i]
		r := Row{System: system, Standing: whole.fit.Standing[i], Davidson: report.Number(columns.davidson[i]),
			Elo: report.Number(columns.elo[i]), Glicko2: report.Number(columns.glicko[i]),
			Deviation: report.Number(glicko[i].Deviation), Volatility: report.Number(glicko[i].Volatility),
			Borda: report.Number(borda[i]), Won: record.Won, Lost: record.Lost, Tied: record.Tied,
			Bad: report.NewFigure(bad[i], nil, 0)}
		r.Rating = figureOf(whole.points[i], comparable, func(s *rated) float64 { return s.points[i] }, units)
		r.WinRate = winRate(record, &wins[i], o.Resamples > 0)
		reach := stats.T(whole.fit.Clusters) * rating.Scale / math.Ln10 * whole.errors[i]
		r.Sandwich = report.Figure{Value: r.Rating.Value, Low: report.Number(whole.points[i] - reach),
			High: report.Number(whole.points[i] + reach)}
		if len(samples) > 0 && comparable == nil {
			r.Rating = r.Sandwich
		}
		t.Rows = append(t.Rows, r)
	}
	t.rank()
	t.Notes = append(t.Notes, notesOn(t)...)
	slices.SortStableFunc(t.Rows, compareRows)
	t.Wins = v.matrix(games, t.Rows)
	return t, nil
}

// winRate is the share of its games that a system wins, by the sums over items.
func winRate(record rating.Record, wins *stats.GroupSums, interval bool) report.Figure {
	f := report.NewFigure(record.Rate(), nil, 0)
	if interval {
		low, high := wins.PointsInterval()
		f.Low, f.High = report.Number(low), report.Number(high)
	}
	return f
}

// borda puts the ratings together. Where a system is undefeated, never won or stands on an island, the ratings that
// nevertheless place it do so by their starting points: there is none for anybody then, and a note says so.
func (t *Table) borda(standings []rating.Standing, columns *ratings) []float64 {
	for _, s := range standings {
		if s != rating.Rated && s != rating.NoGames {
			t.Notes = append(t.Notes, "Borda is left out: it cannot place systems that are not rated")
			return slices.Repeat([]float64{math.NaN()}, len(standings))
		}
	}
	return rating.Borda(columns.inWholePoints()...)
}

// fewest is the share of the resamples that have to be comparable with the whole for an interval of them: those that
// are not would lie outside of it.
const fewest = stats.Level + (1-stats.Level)/2

// comparable are the resamples in which the same systems can be rated as in the whole: in others the mean is one of
// other systems. None if they are too few; then the intervals are those of the sandwich estimate, and a note says so.
func (t *Table) comparable(whole *rated, samples []*rated) []*rated {
	var kept []*rated
	for _, s := range samples {
		if slices.EqualFunc(s.fit.Standing, whole.fit.Standing, func(a, b rating.Standing) bool {
			return (a == rating.Rated) == (b == rating.Rated)
		}) {
			kept = append(kept, s)
		}
	}
	if len(samples) == 0 || float64(len(kept)) >= fewest*float64(len(samples)) {
		return kept
	}
	t.Notes = append(t.Notes,
		fmt.Sprintf("in %s of the resamples not every system could be rated: the intervals of the ratings are those of "+
			"the clustered errors", report.Number(1-float64(len(kept))/float64(len(samples))).Text("%.0f %%")))
	return nil
}

// compareRows puts those that cannot be rated where they belong: the undefeated first, those who never won last.
func compareRows(a, b Row) int {
	place := map[rating.Standing]int{rating.Above: 0, rating.Rated: 1, rating.Undecided: 2, rating.Below: 3,
		rating.Apart: 4, rating.NoGames: 5}
	order := cmp.Compare(place[a.Standing], place[b.Standing])
	if order == 0 && a.Standing == rating.Rated {
		order = cmp.Compare(b.Rating.Value, a.Rating.Value)
	}
	return cmp.Or(order, cmp.Compare(b.WinRate.Value, a.WinRate.Value), cmp.Compare(a.System, b.System))
}

// rank sets the ranks by the bootstrap's intervals, or where there are none by those of the sandwich.
func (t *Table) rank() {
	low, high := make([]float64, len(t.Rows)), make([]float64, len(t.Rows))
	for i, r := range t.Rows {
		f := r.Interval()
		low[i], high[i] = float64(f.Low), float64(f.High)
	}
	for i, rank := range rating.Ranks(low, high) {
		t.Rows[i].Rank = rank
	}
}
