package comparing

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/plainjson"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/internal/stats/rating"
	"github.com/erreval/erreval/internal/wholefile"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/pairwise/audit"
	"github.com/erreval/erreval/pairwise/leaderboard"
	"github.com/erreval/erreval/pairwise/verdicts"
	"github.com/erreval/erreval/report"
	"github.com/erreval/erreval/report/chart"
)

// RankPlots are the pictures of a comparison; those without a name are not drawn.
type RankPlots struct {
	Ratings chart.File // of each type: ratings with their intervals
	Matrix  chart.File // of each type: win rates of each system against each other
	Bias    chart.File // what each judge goes by besides quality
}

// CheckPaths finds out whether the files can be written.
func (p *RankPlots) CheckPaths() error {
	return errors.Join(p.Ratings.CheckPath(), p.Matrix.CheckPath(), p.Bias.CheckPath())
}

func (p *RankPlots) draw(c *Comparison) error {
	return errors.Join(p.Ratings.Write(c.DrawRatings), p.Matrix.Write(c.DrawMatrix), p.Bias.Write(c.DrawBias))
}

// remarkOn stands in the place of a rating that there is not.
var remarkOn = map[rating.Standing]string{rating.Above: "undefeated", rating.Below: "never won",
	rating.Apart: "not comparable", rating.Undecided: "not comparable", rating.NoGames: "no games"}

// DrawRatings draws the ratings by each type, with their intervals and a line at 1000. The format is "svg" or "png".
func (c *Comparison) DrawRatings(format string) ([]byte, error) {
	var panels []chart.Forest
	for i := range c.Tables {
		p := chart.Forest{Name: c.Tables[i].Type}
		for _, r := range c.Tables[i].Rows {
			f := r.Interval()
			p.Marks = append(p.Marks, chart.Mark{Name: r.System, Value: float64(f.Value), Low: float64(f.Low),
				High: float64(f.High)})
			p.References = append(p.References, 1000)
			p.Remarks = append(p.Remarks, remarkOn[r.Standing])
		}
		panels = append(panels, p)
	}
	return chart.Forests("Ratings by Bradley-Terry, with 95 % intervals", "points", panels, format)
}

// DrawMatrix draws how often each system wins against each other, by each type. The format is "svg" or "png".
func (c *Comparison) DrawMatrix(format string) ([]byte, error) {
	var panels []chart.Matrix
	for i := range c.Tables {
		t := &c.Tables[i]
		p := chart.Matrix{Name: t.Type}
		for j, r := range t.Rows {
			cells := make([]float64, len(t.Rows))
			for k, share := range t.Wins[j] {
				cells[k] = float64(share)
			}
			p.Names, p.Cells = append(p.Names, r.System), append(p.Cells, cells)
		}
		panels = append(panels, p)
	}
	return chart.Matrices("How often the row wins against the column, in %; a tie is half a win", panels, format)
}

// DrawBias draws the shares of the audit with what a judge without the liking would show. The format is "svg" or "png".
func (c *Comparison) DrawBias(format string) ([]byte, error) {
	var panels []chart.Forest
	for _, a := range c.ShownAudits() {
		p := chart.Forest{Name: a.Judge + ", " + a.Type, High: 100}
		for _, m := range LikingsOf(a) {
			p.Marks = append(p.Marks, chart.Mark{Name: m.Name, Value: 100 * float64(m.Figure.Value),
				Low: 100 * float64(m.Figure.Low), High: 100 * float64(m.Figure.High)})
			reference := 100 * m.Reference
			if !m.Figure.Value.Defined() {
				reference = math.NaN()
			}
			p.References = append(p.References, reference)
			p.Remarks = append(p.Remarks, "no judgements")
		}
		panels = append(panels, p)
	}
	if len(panels) == 0 {
		return nil, exit.Usagef("no language model judged: there is no bias to draw")
	}
	return chart.Forests("What the judges go by besides quality, with 95 % intervals", "% of judgements", panels, format)
}

// Liking is a share of an audit.
type Liking struct {
	Name      string
	Figure    report.Figure // the share, 0 to 1
	Of        int           // judgements
	Reference float64       // what a judge without the liking would show

	limit string // its name in --fail-on
}

// LikingsOf are the shares of an audit, in the order in which they are shown.
func LikingsOf(a *audit.Audit) []Liking {
	return []Liking{{"changes with the order", a.Changed, a.Both, 0, limitChanged},
		{"reversed by the order", a.Reversed, a.Both, 0, limitReversed},
		{"first wins", a.FirstWins, a.Decided, 0.5, limitFirst},
		{"longer wins", a.LongWins, a.Unequal, 0.5, limitLong}, {"own wins", a.OwnWins, a.Own, 0.5, limitOwn}}
}

// ShownAudits are those overall, or by the types where there is no verdict overall.
func (c *Comparison) ShownAudits() []*audit.Audit {
	overall := slices.ContainsFunc(c.Audits, func(a audit.Audit) bool { return a.Type == verdicts.Overall })
	var shown []*audit.Audit
	for i := range c.Audits {
		if a := &c.Audits[i]; !overall || a.Type == verdicts.Overall {
			shown = append(shown, a)
		}
	}
	return shown
}

// print prints the figures, and writes the report.
func (k *Rank) print(c *Comparison) error {
	for _, file := range k.Inputs {
		weak := run.ReadMaker(file).Weak
		k.Process.Note(weak)
	}
	var err error
	if k.Ratings.Report != "" {
		err = wholefile.Fill(k.Ratings.Report, c.Page().Markdown)
	}
	switch {
	case k.JSON:
		return errors.Join(err, plainjson.Write(k.Process.Out, c))
	case k.Markdown:
		return errors.Join(err, c.Page().Markdown(k.Process.Out))
	case k.LaTeX:
		return errors.Join(err, c.Page().LaTeX(k.Process.Out))
	case k.Brief && k.Process.Quiet: // the summary of another command
		return err
	}
	r := c.Report()
	if k.Brief && len(c.Tables) > 0 {
		r = c.brief(k.Taxonomy, k.Inputs)
	}
	return errors.Join(err, r.Text(run.Guard(k.Process.Out), k.Process.TerminalWidth()))
}

// mostUnjudged: where one of so many pairs has no verdict, those that have one may be others, such as the pairs that a
// judge did not refuse.
const mostUnjudged = 10

// result says in a sentence which system is best by the main table; "" where no pair was judged.
func (c *Comparison) result() string {
	if len(c.Tables) == 0 || len(c.Main().Rows) == 0 {
		return ""
	}
	main := c.Main()
	best := main.Rows[0] // by the ratings, which know against whom a system won
	if !best.WinRate.Value.Defined() {
		return ""
	}
	others := slices.DeleteFunc(slices.Clone(main.Rows[1:]), func(r leaderboard.Row) bool { return gamesOf(&r) == 0 })
	share := best.WinRate.Text(percent)
	unsure, wins := ", surely more than half", best.System+" wins the largest share of its pairs, "+share
	if slices.ContainsFunc(others, func(r leaderboard.Row) bool { return r.WinRate.Value > best.WinRate.Value }) {
		wins = fmt.Sprintf("%s comes first by the ratings, and wins %s of its pairs", best.System, share)
	}
	judged, unjudged := 0, 0
	for _, n := range main.Verdicts {
		judged += n
	}
	for reason, n := range main.Unjudged {
		if reason != verdicts.Settled && reason != verdicts.Inconsistent {
			unjudged += n
		}
	}
	even := slices.DeleteFunc(slices.Clone(others), func(r leaderboard.Row) bool { return r.Rank != best.Rank })
	switch {
	case !best.WinRate.Low.Defined():
		unsure = ""
	case best.WinRate.Low <= 0.5:
		unsure = "; as the interval holds 50 %, that is not sure"
	case unjudged*mostUnjudged > judged+unjudged,
		unjudged > 0 && float64(best.WinRate.Low)*float64(judged) <= 0.5*float64(judged+unjudged): // if it lost them all
		unsure = fmt.Sprintf("; as %d of %s have no verdict, that is not sure", unjudged,
			words.Plural(judged+unjudged, "pair", "pairs"))
	case best.Won+best.Lost < leaderboard.FewDecided:
		unsure = "; as so few pairs have a winner, that is not sure"
	case best.Rank > 0 && len(others) > 1 && len(even) > 0: // the share is against all others together
		unsure = fmt.Sprintf("; against %s alone that is not sure", even[0].System)
	}
	level := slices.DeleteFunc(slices.Clone(others), func(r leaderboard.Row) bool {
		return r.WinRate.Value != best.WinRate.Value || gamesOf(&r) != gamesOf(&best)
	})
	if len(level) > 0 {
		unsure, wins = "", fmt.Sprintf("the best %d systems win the same share of their pairs, %s", len(level)+1, share)
	}
	if c.isOffline() {
		unsure += "; a model's labels decided this, and no judge"
	}
	return fmt.Sprintf("By %s, %s%s.%s", main.Type, wins, unsure, c.byPlace(main.Type))
}

// byPlace names the judges that go by the place of a text more than by the text, in a sentence: more often than not the
// verdict changes with the order, or nine of ten times the text in one place wins.
func (c *Comparison) byPlace(of string) string {
	var said []string
	for i := range c.Audits {
		a := &c.Audits[i]
		const most = 0.9
		judge := words.Printable(a.Judge)
		switch first := a.FirstWins.Value; {
		case a.Type != of:
		case a.Changed.Value > 0.5:
			said = append(said, fmt.Sprintf("%s changes its verdict with the order of the texts in %s of the pairs", judge,
				a.Changed.Value.Text(percent)))
		case a.FirstWins.Low > 0.5 && first > most || a.FirstWins.High < 0.5 && first < 1-most:
			said = append(said, fmt.Sprintf("%s takes the first text in %s of its decisions", judge, first.Text(percent)))
		}
	}
	if len(said) == 0 {
		return ""
	}
	return " But do not rely on that: " + strings.Join(said, "; ") + "."
}

// gamesOf is the number of a system's verdicts.
func gamesOf(r *leaderboard.Row) float64 { return r.Won + r.Lost + r.Tied }

// isOffline tells whether all verdicts are those of labels.
func (c *Comparison) isOffline() bool { return slices.Equal(c.Judges, []string{dataset.JudgeOffline}) }

// Whose says whose verdicts they are; "" where the file does not.
func (c *Comparison) Whose() string {
	switch {
	case len(c.Judges) == 0:
		return ""
	case c.isOffline():
		return "verdicts are of the labels that a model found, which Overall weighs by severity: no judge compared the texts"
	}
	return "verdicts are by " + strings.Join(c.Judges, ", ")
}
