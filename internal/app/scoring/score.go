// Package scoring scores tagged rows, offline or by language models.
package scoring

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/app/asking"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/internal/runrecord"
	"github.com/erreval/erreval/internal/spelling"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/llm/judging"
	"github.com/erreval/erreval/prompt"
	"github.com/erreval/erreval/report"
	"github.com/erreval/erreval/scorer"
	"github.com/erreval/erreval/taxonomy"
)

// Score scores tagged rows and sums up the scores.
type Score struct {
	Run        *run.Run
	Taxonomy   *taxonomy.Taxonomy
	Dimensions []string // names or keys of those that are scored; nil is all
	JSON       bool     // prints the summary as JSON, on standard output unless rows go there

	summary *ScoreSummary
}

// Names of counts, beside those of the engine.
const (
	countUnscored = "unscored" // rows in which a dimension has no value
	countScored   = "scored."  // and a dimension's key: rows with a value
)

// offlineOptions is the options part of OUT.run.json.
type offlineOptions struct {
	Judge      string   `json:"judge"`
	Dimensions []string `json:"dimensions,omitempty"` // keys; absent where all are scored
	runrecord.Reading
}

// panelOptions is the options part of OUT.run.json with judges.
type panelOptions struct {
	judging.Record
	Dimensions   []string `json:"dimensions,omitempty"` // keys; absent where all are judged
	Modes        []string `json:"modes"`
	Joint        bool     `json:"joint"`
	Aggregate    string   `json:"aggregate"`
	PaperWording bool     `json:"paper_wording"`
	Plant        float64  `json:"plant"`
	Cascade      float64  `json:"cascade"`
	Audit        float64  `json:"audit"`
}

func newPanelOptions(models judging.Record, dimensions []string, o *asking.Options) panelOptions {
	p := &o.Panel
	return panelOptions{Record: models, Dimensions: dimensions, Modes: p.Modes, Joint: o.Joint, Aggregate: p.Aggregate,
		PaperWording: p.PaperWording, Plant: p.Plant, Cascade: p.Cascade.Sure, Audit: p.Cascade.Audit}
}

// Offline scores the rows of all inputs by the probabilities of their errors.
func (s *Score) Offline(ctx context.Context) error {
	r := s.Run
	t, keys, err := chooseDimensions(s.Taxonomy, s.Dimensions)
	if err != nil {
		return err
	}
	offline, err := scorer.NewOffline(t, scorer.OfflineOptions{})
	if err != nil {
		return exit.With(exit.Unfit, err)
	}
	if err := r.CheckOutputs(); err != nil {
		return err
	}
	stage := s.stage(t)
	stage.Options = offlineOptions{Judge: dataset.JudgeOffline, Dimensions: keys, Reading: r.Reading}
	stage.Work = run.Each(func(row *dataset.Row) error {
		d, err := row.Diagnosis()
		if err == nil {
			err = run.FitsTaxonomy(row, d, t)
		}
		if err == nil && d != nil {
			err = d.CheckNoError(t)
		}
		if err == nil {
			err = row.SetScores(t, offline.Judge(d))
		}
		if err != nil {
			return fmt.Errorf("%s:%d: %w", row.Source, row.Line, err)
		}
		return nil
	})
	return s.all(r.All(ctx, stage))
}

// stage is what all ways of scoring have in common; the dimensions of chosen are scored.
func (s *Score) stage(chosen *taxonomy.Taxonomy) *run.Stage {
	s.summary = newScoreSummary(chosen)
	stage := &run.Stage{Command: "score", Taxonomy: s.Taxonomy, Column: dataset.ColumnScores,
		Verb: "score", Past: "scored",
		Why: s.summary.why, Zero: run.Counts{countUnscored: 0}}
	for _, d := range chosen.Dimensions {
		stage.Zero[countScored+d.Key] = 0
	}
	stage.Count = func(row *dataset.Row, resumed bool, counts run.Counts) error {
		scores, err := row.Scores()
		if err == nil {
			s.summary.count(row, scores, resumed, counts)
		}
		return err
	}
	return stage
}

// Panel scores the rows of all inputs by language models.
func (s *Score) Panel(ctx context.Context, o *asking.Options) error {
	r := s.Run
	kind := prompt.Judge
	if o.Joint {
		kind = prompt.Joint
	}
	j, err := asking.New(o, kind, r.Output)
	if err != nil {
		return err
	}
	chosen, keys, err := chooseDimensions(s.Taxonomy, s.Dimensions)
	if err != nil {
		return err
	}
	options := o.Panel
	options.Taxonomy, options.Template = chosen, j.Template
	panel, err := scorer.NewPanel(j.Models(), options)
	if err != nil {
		return exit.With(exit.Usage, err)
	}
	check, stage := s.rowCheck(&o.Panel), s.stage(chosen)
	s.summary.Judging = newJudgeSummary(j, chosen)
	stage.Options = newPanelOptions(j.NewRecord(r.Reading), keys, o)
	stage.Work = func(ctx context.Context, next func() (*dataset.Row, error), emit func(*dataset.Row) error) error {
		defer tuneRuntime(r.Getenv)()
		return panel.Score(ctx, func() (*dataset.Row, error) {
			row, err := next()
			if err == nil {
				err = check(row)
			}
			return row, err
		}, func(row *dataset.Row, scores map[string]*dataset.Score) error {
			if err := row.SetScores(chosen, scores); err != nil {
				return err
			}
			return emit(row)
		})
	}
	questions := func(row *dataset.Row) ([]*scorer.Question, error) {
		if err := check(row); err != nil {
			return nil, err
		}
		return panel.Questions(row)
	}
	return j.Ask(ctx, r, stage, s.JSON, asking.CallsOf(j, questions, asking.CallOf), func() error {
		spent := r.Progress.More
		r.Progress.More = func() string { return fmt.Sprintf(", %d unscored%s", s.summary.Unscored, spent()) }
		return s.all(r.All(ctx, stage))
	})
}

// judgingGC is for a heap of a few MB, through which prompts and replies pass quickly: a fifth of the time at Go's 100.
const judgingGC = 400

// judgingThreads share a processor: most of the work is a few microseconds long, and what the journal writes holds a
// thread meanwhile. On two busy cores a call waits a tenth less for its turn.
const judgingThreads = 2

// tuneRuntime sets what the environment leaves open, until its result is called.
func tuneRuntime(getenv func(string) string) (restore func()) {
	threads, gc := 0, 0
	if getenv("GOMAXPROCS") == "" {
		threads = runtime.GOMAXPROCS(judgingThreads * runtime.GOMAXPROCS(0))
	}
	if getenv("GOGC") == "" {
		gc = debug.SetGCPercent(judgingGC)
	}
	return func() {
		if threads != 0 {
			runtime.GOMAXPROCS(threads)
		}
		if gc != 0 {
			debug.SetGCPercent(gc)
		}
	}
}

// rowCheck refuses an input of which the first row was not tagged: it is the wrong file, rather than one row of many.
// So it is where labels are of another taxonomy.
func (s *Score) rowCheck(p *scorer.PanelOptions) func(*dataset.Row) error {
	first := true
	return func(row *dataset.Row) error {
		d, err := row.Diagnosis()
		if err != nil {
			return err
		}
		if d == nil && first && strings.Join(p.Modes, "") != dataset.ModeVanilla {
			return exit.Usagef("row %s has no diagnosis to show to the judge; tag the file with erreval identify first, "+
				"or give --mode vanilla", row.ID)
		}
		first = false
		if p.Cascade.Sure == 0 && !slices.Contains(p.Modes, dataset.ModeErrorAware) {
			return nil // nobody is shown labels
		}
		return run.FitsTaxonomy(row, d, s.Taxonomy)
	}
}

// all prints the summary, and gives the exit code of rows without a score.
func (s *Score) all(res *run.Result) error {
	if res.NothingRead() {
		return res.Err
	}
	s.summary.finish(res)
	asking := s.summary.finishJudging()
	printing := s.Run.PrintSummary(s.JSON, s.Run.Output == run.Stdio, s.summary)
	return errors.Join(res.Err, asking, printing, s.Run.Incomplete())
}

// ScoreSummary is what a run of score found, counted.
type ScoreSummary struct {
	Rows          int              `json:"rows"`
	Unscored      int              `json:"unscored"` // rows in which a dimension has no value
	Rejected      int              `json:"rejected"` // lines that are no rows
	Resumed       int              `json:"resumed"`  // rows that an earlier run scored
	Dimensions    []ScoreDimension `json:"dimensions"`
	Seconds       float64          `json:"seconds"`
	RowsPerSecond float64          `json:"rows_per_second"`
	Taxonomy      string           `json:"taxonomy"`
	Judging       *judgeSummary    `json:"judging,omitempty"` // with judges

	reason string // of the first score without a value
}

// ScoreDimension counts the rows of one dimension.
type ScoreDimension struct {
	Dimension string        `json:"dimension"`
	Scored    int           `json:"scored"`
	Unscored  int           `json:"unscored"`
	Mean      report.Number `json:"mean"`    // of the scored rows; undefined where the rows were not read again
	Highest   int           `json:"highest"` // score that a row can have; the lowest is 1

	sum  float64
	seen int // scored rows in sum
}

func newScoreSummary(t *taxonomy.Taxonomy) *ScoreSummary {
	s := &ScoreSummary{Taxonomy: t.ID()}
	for _, d := range t.Dimensions {
		s.Dimensions = append(s.Dimensions, ScoreDimension{Dimension: d.Key, Highest: len(d.Criteria)})
	}
	return s
}

// count counts a row, and adds up its scores.
func (s *ScoreSummary) count(row *dataset.Row, scores map[string]*dataset.Score, resumed bool, counts run.Counts) {
	missing := false
	for i := range s.Dimensions {
		d := &s.Dimensions[i]
		score := scores[d.Dimension]
		if score == nil || score.Value == nil {
			if score != nil {
				s.reason = cmp.Or(s.reason, score.Reason)
			}
			missing = true
			continue
		}
		counts[countScored+d.Dimension]++
		d.seen++
		d.sum += *score.Value
	}
	if missing {
		counts[countUnscored]++
		s.Unscored++
	}
	if s.Judging != nil && !resumed {
		s.Judging.add(row, scores)
	}
}

// finish takes the counts of the run, rows that were not read again included.
func (s *ScoreSummary) finish(res *run.Result) {
	c := res.Counts
	s.Rows, s.Unscored, s.Rejected, s.Resumed = c[run.CountRows], c[countUnscored], c[run.CountRejected], res.Resumed
	s.Seconds = time.Since(res.Started).Seconds()
	s.RowsPerSecond = float64(s.Rows-s.Resumed) / max(s.Seconds, 1e-9)
	for i := range s.Dimensions {
		d := &s.Dimensions[i]
		d.Scored = c[countScored+d.Dimension]
		d.Unscored = s.Rows - d.Scored
		d.Mean = report.Number(d.sum / float64(d.seen)) // 0/0 is undefined
		if d.seen != d.Scored {
			d.Mean = report.Number(math.NaN())
		}
	}
}

// Text writes the summary in lines.
func (s *ScoreSummary) Text(w io.Writer) error {
	if s.Resumed > 0 {
		fmt.Fprintf(w, "%s scored by an earlier run\n", words.Plural(s.Resumed, "row was", "rows were"))
	}
	by := dataset.JudgeOffline
	if s.Judging != nil {
		if err := s.Judging.text(w); err != nil {
			return err
		}
		by = "by " + strings.Join(s.Judging.judges.Options.Names(), ", ")
	}
	fmt.Fprintf(w, "%s in %.1f s, scored %s: %d unscored%s\n", words.Plural(s.Rows, "row", "rows"), s.Seconds, by,
		s.Unscored, words.Rejected(s.Rejected))
	if s.Rows == 0 {
		return nil
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, d := range s.Dimensions {
		mean := d.Mean.Text("%.2f")
		if d.Scored > 0 && !d.Mean.Defined() {
			mean = "not read again" // of a file that was finished
		}
		fmt.Fprintf(t, "%s\t%d scored\tmean %s (1 to %d)\t\n", d.Dimension, d.Scored, mean, d.Highest)
	}
	return t.Flush()
}

// why says where it is said why a row has no score.
func (s *ScoreSummary) why(run.Counts) string {
	var j *asking.Judges
	if s.Judging != nil {
		j = s.Judging.judges
	} else if s.reason != "" {
		return "the first for this reason: " + s.reason
	}
	return j.Why("scores.DIMENSION.reason says why")
}

// chooseDimensions gives the taxonomy with the dimensions of these names or keys alone, and their keys; both are in the
// taxonomy's order. No name chooses all, for which keys is nil. The error has the code exit.Usage.
func chooseDimensions(t *taxonomy.Taxonomy, names []string) (chosen *taxonomy.Taxonomy, keys []string, err error) {
	if len(names) == 0 {
		return t, nil, nil
	}
	wanted := make([]bool, len(t.Dimensions))
	for _, name := range names {
		name = strings.TrimSpace(name)
		i := slices.IndexFunc(t.Dimensions, func(d taxonomy.Dimension) bool {
			return strings.EqualFold(d.Key, name) || strings.EqualFold(d.Name, name)
		})
		switch {
		case i < 0:
			return nil, nil, unknownDimension(t, name)
		case wanted[i]:
			return nil, nil, exit.Usagef("--dimensions: %s is given twice", t.Dimensions[i].Key)
		}
		wanted[i] = true
	}
	narrow := *t
	narrow.Dimensions = nil
	for i, d := range t.Dimensions {
		if wanted[i] {
			narrow.Dimensions, keys = append(narrow.Dimensions, d), append(keys, d.Key)
		}
	}
	if len(keys) == len(t.Dimensions) {
		return t, nil, nil
	}
	return &narrow, keys, nil
}

func unknownDimension(t *taxonomy.Taxonomy, name string) error {
	var keys, all []string
	for _, d := range t.Dimensions {
		keys, all = append(keys, d.Key), append(all, d.Key, d.Name)
	}
	hint := ""
	if meant := spelling.Meant(name, all); meant != "" {
		hint = "; did you mean " + strconv.Quote(meant) + "?"
	}
	return exit.Usagef("--dimensions: %s has no dimension %q%s (its dimensions are %s)", t.ID(), name, hint,
		strings.Join(keys, ", "))
}
