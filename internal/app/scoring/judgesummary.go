package scoring

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/evaluation"
	"github.com/erreval/erreval/internal/app/asking"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/runrecord"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/llm/judging"
	"github.com/erreval/erreval/llm/reply"
	"github.com/erreval/erreval/report"
	"github.com/erreval/erreval/scorer"
	"github.com/erreval/erreval/taxonomy"
)

// judgeSummary is what judges did, counted.
type judgeSummary struct {
	Judgements int                  `json:"judgements"`            // scored and unscored, planted ones included
	Unscored   int                  `json:"unscored"`              // of these
	Reasons    map[string]int       `json:"reasons"`               // of the unscored
	Usage      *judging.Usage       `json:"usage,omitempty"`       // nil where the output was finished already
	Lift       []evaluation.LiftRow `json:"lift,omitempty"`        // with both modes
	LiftGroups int                  `json:"lift_groups,omitempty"` // by the taxonomy's group field, for intervals
	Panel      *agreement           `json:"panel,omitempty"`       // with several judges
	Anchoring  *anchoring           `json:"anchoring,omitempty"`   // with --plant
	Cascade    *cascadeCount        `json:"cascade,omitempty"`

	judges  *asking.Judges
	scales  map[string][]float64
	example string           // reason of the first unscored one
	lift    *evaluation.Lift // or nil
	group   int              // index of the field that lift resamples by; -1 is none
}

// agreement of a panel: scores with values of two judges or more.
type agreement struct {
	Scores int `json:"scores"`
	Differ int `json:"differ"` // the judges' values, which make the score's, differ
}

// anchoring is how often judges follow a wrong label. Judgements that were lowest without it cannot tell.
type anchoring struct {
	Planted  int           `json:"planted"`  // judgements with a value
	Told     int           `json:"told"`     // of these, pairs with one without the label that was above the lowest score
	Followed int           `json:"followed"` // of these, lower with it
	Rate     report.Number `json:"rate"`     // Followed ÷ Told
}

// cascadeCount is what the offline scorer took off the judges.
type cascadeCount struct {
	Offline int           `json:"offline"` // scores
	Saved   int           `json:"saved"`   // judgements that were not asked for
	Audited int           `json:"audited"` // offline scores with a judge's verdict beside them
	Changed int           `json:"changed"` // of these, the nearest score is another
	Rate    report.Number `json:"changed_rate"`
}

func newJudgeSummary(j *asking.Judges, t *taxonomy.Taxonomy) *judgeSummary {
	s := &judgeSummary{judges: j, Reasons: map[string]int{}, scales: map[string][]float64{}}
	p := j.Options.Panel
	for _, d := range t.Dimensions {
		for _, c := range d.Criteria {
			s.scales[d.Key] = append(s.scales[d.Key], float64(c.Score))
		}
	}
	if len(p.Modes) > 1 {
		s.lift, s.group = evaluation.NewLift(t, AggregateBy(p.Aggregate)), slices.Index(t.FieldNames(), t.GroupField())
	}
	if len(j.Options.Models) > 1 {
		s.Panel = &agreement{}
	}
	if p.Plant > 0 {
		s.Anchoring = &anchoring{}
	}
	if p.Cascade.Sure > 0 {
		s.Cascade = &cascadeCount{}
	}
	return s
}

// add counts one row.
func (s *judgeSummary) add(row *dataset.Row, scores map[string]*dataset.Score) {
	if s.lift != nil {
		group := row.ID
		if s.group >= 0 {
			group = row.Values[s.group]
		}
		s.lift.AddRow(group, scores)
	}
	for _, key := range slices.Sorted(maps.Keys(scores)) {
		score := scores[key]
		for _, run := range score.Runs {
			s.count(run)
		}
		if s.Panel != nil {
			s.Panel.add(score, s.judges.Options.Panel.DecisiveMode())
		}
		if s.Anchoring != nil {
			s.Anchoring.add(score, s.scales[key][0])
		}
		if s.Cascade != nil {
			s.Cascade.add(score, s.scales[key], s.judges.Options)
		}
	}
}

func (s *judgeSummary) count(run dataset.Run) {
	if run.Judge == dataset.JudgeOffline {
		return
	}
	s.Judgements++
	if run.Value == nil {
		s.Unscored++
		if s.example == "" {
			s.example = run.Reason
		}
		reason, _, _ := strings.Cut(run.Reason, ":")
		s.Reasons[reason]++
	}
}

// meanValue the values of runs that fit; false if there is none.
func meanValue(runs []dataset.Run, fits func(*dataset.Run) bool) (float64, bool) {
	sum, n := 0.0, 0
	for i := range runs {
		if r := &runs[i]; r.Value != nil && r.Judge != dataset.JudgeOffline && r.Planted == "" && fits(r) {
			sum += *r.Value
			n++
		}
	}
	return sum / float64(n), n > 0
}

func (a *agreement) add(score *dataset.Score, mode string) {
	byJudge := map[string]float64{}
	for _, r := range score.Runs {
		if v, ok := meanValue(score.Runs, func(o *dataset.Run) bool { return o.Judge == r.Judge && o.Mode == mode }); ok {
			byJudge[r.Judge] = v
		}
	}
	if len(byJudge) < 2 {
		return
	}
	a.Scores++
	values := slices.Sorted(maps.Values(byJudge))
	if values[0] != values[len(values)-1] {
		a.Differ++
	}
}

func (a *anchoring) add(score *dataset.Score, lowest float64) {
	for _, r := range score.Runs {
		if r.Planted == "" || r.Value == nil {
			continue
		}
		a.Planted++
		plain, ok := meanValue(score.Runs, func(o *dataset.Run) bool {
			return o.Judge == r.Judge && o.Mode == r.Mode && o.Repeat == r.Repeat
		})
		if !ok || plain <= lowest {
			continue
		}
		a.Told++
		if *r.Value < plain {
			a.Followed++
		}
	}
}

func (c *cascadeCount) add(score *dataset.Score, scale []float64, o *asking.Options) {
	if score.Runs[0].Judge != dataset.JudgeOffline {
		return
	}
	c.Offline++
	if len(score.Runs) == 1 {
		c.Saved += len(o.Models) * len(o.Panel.Modes) * o.Panel.Repeats
	}
	verdict, ok := evaluation.ModeValue(score.Runs, o.Panel.DecisiveMode(), AggregateBy(o.Panel.Aggregate))
	if !ok || score.Value == nil {
		return
	}
	c.Audited++
	if nearest(scale, verdict) != nearest(scale, *score.Value) {
		c.Changed++
	}
}

// nearest score of a scale; of two, the lower.
func nearest(scale []float64, v float64) float64 {
	return slices.MinFunc(scale, func(a, b float64) int { return cmp.Compare(math.Abs(a-v), math.Abs(b-v)) })
}

// finish computes rates and lift from counts.
func (s *judgeSummary) finish() (err error) {
	if s.lift != nil {
		s.LiftGroups = s.lift.CountGroups()
		s.Lift, err = s.lift.ComputeRows(context.Background(), report.DefaultIntervals()) // of an interrupted run as well
	}
	if a := s.Anchoring; a != nil {
		a.Rate = report.Number(float64(a.Followed) / float64(a.Told))
	}
	if c := s.Cascade; c != nil {
		c.Rate = report.Number(float64(c.Changed) / float64(c.Audited))
	}
	return err
}

// text writes what judges did to w.
func (s *judgeSummary) text(w io.Writer) error {
	if s.Usage == nil {
		return nil
	}
	if s.Judgements == 0 { // a run that could not begin
		fmt.Fprintln(w, s.judges.DescribeUsage(s.Usage))
		return nil
	}
	fmt.Fprintf(w, "judged by %s: %s, %d unscored%s\n", strings.Join(s.judges.Options.Names(), ", "),
		words.Plural(s.Judgements, "judgement", "judgements"), s.Unscored, s.reasons())
	if strings.Contains(s.example, ": ") { // with details
		fmt.Fprintf(w, "the first of them: %s\n", s.example)
	}
	fmt.Fprintln(w, s.judges.DescribeUsage(s.Usage))
	if p := s.Panel; p != nil {
		fmt.Fprintf(w, "the judges differ on %d of %s (%s)\n", p.Differ, words.Plural(p.Scores, "score", "scores"),
			report.Percent(p.Differ, p.Scores))
	}
	if a := s.Anchoring; a != nil {
		fmt.Fprintf(w, "anchoring: a wrong label was followed %d of %s (%s); %s with a planted label\n", a.Followed,
			words.Plural(a.Told, "time", "times"), report.Percent(a.Followed, a.Told), words.Plural(a.Planted,
				"judgement", "judgements"))
	}
	if c := s.Cascade; c != nil {
		fmt.Fprintf(w, "cascade: %s offline, %s saved; of %d audited the judge changed %d (%s)\n", words.Plural(c.Offline,
			"score", "scores"),
			words.Plural(c.Saved, "judgement", "judgements"), c.Audited, c.Changed, report.Percent(c.Changed, c.Audited))
	}
	return evaluation.WriteLift(w, s.Lift, s.LiftGroups)
}

func (s *judgeSummary) reasons() string {
	if len(s.Reasons) == 0 {
		return ""
	}
	return " (" + words.Counts(s.Reasons) + ")"
}

// isUnavailable tells whether judges answered nothing at all.
func (s *judgeSummary) isUnavailable() bool {
	return s.Judgements > 0 && s.Reasons[reply.Unavailable] == s.Judgements
}

// AggregateBy puts judgements together in one of the ways of scorer.Aggregates.
func AggregateBy(how string) evaluation.Aggregate {
	return func(runs []dataset.Run) (float64, bool) { return scorer.Aggregate(runs, how) }
}

// finishJudging completes the summary of what judges did.
func (s *ScoreSummary) finishJudging() error {
	j := s.Judging
	if j == nil {
		return nil
	}
	err := j.finish()
	if j.Judgements > 0 || s.Rows == 0 {
		var fault error
		j.Usage, fault = j.judges.Usage()
		err = errors.Join(err, fault)
	}
	if j.isUnavailable() {
		err = errors.Join(err,
			exit.With(exit.Judge, errors.New("no judge gave any reply; the same command with --overwrite asks again")))
	}
	return err
}

// RecordedAggregate is how the run that wrote file put judgements together, or "".
func RecordedAggregate(file string) string {
	var o struct {
		Aggregate string `json:"aggregate"`
	}
	if runrecord.ReadOptions(file, &o) == nil || !slices.Contains(scorer.Aggregates(), o.Aggregate) {
		return ""
	}
	return o.Aggregate
}
