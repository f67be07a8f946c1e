package evaluation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/report"
	"github.com/erreval/erreval/taxonomy"
)

// ScoreOptions say how scores are measured.
type ScoreOptions struct {
	Taxonomy *taxonomy.Taxonomy
	Where    map[string]string // column to the value that rows of the first file must have there
	Human    []HumanScores     // at least one, unless ByMode is set
	System   string            // column that names a row's system; "" is dataset.ColumnSystem where a row has it
	// A row whose human score is at most Low is low; it is overestimated where its value is High or more.
	Low, High float64
	// ByMode compares the vanilla and the error-aware judgements of one file, instead of two files, and reports the
	// lift. It needs Aggregate, which makes one value of several judgements of a row in one mode.
	ByMode    bool
	Aggregate Aggregate
	// Intervals are by report.Bootstrap or report.None. Their group is a field or column of the first file.
	Intervals report.IntervalOptions
}

// HumanScores name the columns with people's scores of a dimension. Several columns are averaged.
type HumanScores struct {
	Dimension string // key
	Columns   []string
}

// ParseHuman reads HumanScores written as DIMENSION=COLUMN[,COLUMN2]. The error is an *OptionError.
func ParseHuman(pairs []string) (human []HumanScores, err error) {
	for _, pair := range pairs {
		dimension, list, ok := strings.Cut(pair, "=")
		columns := strings.Split(list, ",")
		if !ok || slices.Contains(columns, "") {
			return nil, report.OptionErrorf("--human %q: write it as DIMENSION=COLUMN[,COLUMN2], "+
				"as in --human fluency=fluency_score", pair)
		}
		human = append(human, HumanScores{Dimension: dimension, Columns: columns})
	}
	return human, nil
}

// Default limits of the overestimation rate: those of the ErrEval paper, for scales from 1 to 3.
const (
	DefaultLow      = 2
	DefaultHigh     = 2.5
	defaultTopScore = 3
)

// DefaultScoreOptions have the limits of the ErrEval paper, and resample the groups of the taxonomy. Human is empty.
func DefaultScoreOptions(t *taxonomy.Taxonomy) ScoreOptions {
	o := ScoreOptions{Taxonomy: t, Low: DefaultLow, High: DefaultHigh, Intervals: report.DefaultIntervals()}
	o.Intervals.Group = t.GroupField()
	return o
}

// Validate finds the first option that is wrong: an *OptionError.
func (o *ScoreOptions) Validate() error {
	if err := o.checkHuman(); err != nil {
		return err
	}
	if err := o.Intervals.Validate(); err != nil {
		return err
	}
	switch {
	case o.ByMode && o.Aggregate == nil:
		return report.OptionErrorf("judgements are compared by mode, but nothing puts several together; set Aggregate")
	case !(o.Low < o.High):
		return report.OptionErrorf("--low %v, --high %v: a low row is overestimated from a higher score on", o.Low, o.High)
	}
	return nil
}

func (o *ScoreOptions) checkHuman() error {
	var keys []string
	for _, d := range o.Taxonomy.Dimensions {
		keys = append(keys, d.Key)
	}
	given := map[string]bool{}
	for _, h := range o.Human {
		switch {
		case given[h.Dimension]:
			return report.OptionErrorf("--human: dimension %q is given twice; write its columns as %s=COLUMN,COLUMN2",
				h.Dimension, h.Dimension)
		case !slices.Contains(keys, h.Dimension):
			return report.OptionErrorf("--human: %s has no dimension %q; its dimensions are %s",
				o.Taxonomy.ID(), h.Dimension, strings.Join(keys, ", "))
		}
		given[h.Dimension] = true
	}
	if len(o.Human) == 0 && !o.ByMode {
		return report.OptionErrorf("no people's scores; give --human DIMENSION=COLUMN; the dimensions are %s",
			strings.Join(keys, ", "))
	}
	return nil
}

// sortHuman gives Human in the taxonomy's order.
func (o *ScoreOptions) sortHuman() []HumanScores {
	at := func(h HumanScores) int {
		return slices.IndexFunc(o.Taxonomy.Dimensions, func(d taxonomy.Dimension) bool { return d.Key == h.Dimension })
	}
	return slices.SortedFunc(slices.Values(o.Human), func(a, b HumanScores) int { return cmp.Compare(at(a), at(b)) })
}

// Scores collects scored rows, and compares their scores with people's.
type Scores struct {
	o       ScoreOptions
	rows    []scoredRow // of the first file
	index   *dataset.Index
	match   *dataset.Match // of the second file
	filter  dataset.Filter
	read    int                   // rows of the first file, chosen or not
	columns map[string]bool       // those of ScoreOptions.Human that some row has
	spans   map[string][2]float64 // the lowest and the highest score in each of them
	unrated int                   // cells of them without a score
	ratings [][][]float64         // by dimension and row: the scores in them
	sets    []*scoreSet           // one for each file, or for each mode
	lift    *Lift                 // with ScoreOptions.ByMode
	hints   report.Hints
}

// NewScores starts without rows. The error is that of ScoreOptions.Validate.
func NewScores(o ScoreOptions) (*Scores, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o.Human = o.sortHuman()
	s := &Scores{o: o, index: dataset.NewIndex(), filter: dataset.Filter{Where: o.Where}, columns: map[string]bool{},
		spans: map[string][2]float64{}, ratings: make([][][]float64, len(o.Human))}
	if o.ByMode {
		s.lift = NewLift(o.Taxonomy, o.Aggregate)
	}
	return s, nil
}

// ReadScores reads a file with scores (column "scores"). read gives its rows until io.EOF, as a dataset.Reader does;
// file is its name in the report and in errors. The first file also holds people's scores. A second file is joined to
// it by id; with ScoreOptions.ByMode there is only one file.
func (s *Scores) ReadScores(ctx context.Context, file string, read func() (*dataset.Row, error)) error {
	first := len(s.sets) == 0
	if len(s.sets) > 1 || s.o.ByMode && !first {
		return errors.New("the scores of two files are compared, or the modes of one: there is one file too many")
	}
	sets := s.openSets(file)
	s.match = s.index.NewMatch()
	faults, err := dataset.EachRow(ctx, read, func(row *dataset.Row) error {
		if !first {
			return s.joinRow(sets[0], row)
		}
		s.read++
		if !s.filter.Match(row) {
			return nil
		}
		return s.addRow(row)
	})
	for _, set := range sets {
		set.faults = faults
	}
	return err
}

// ComputeReport computes all figures. It is an error if there are no rows, and an *OptionError if no row has a column
// of ScoreOptions.Human; otherwise the error is the context's.
func (s *Scores) ComputeReport(ctx context.Context) (*ScoreReport, error) {
	if err := s.checkRows(); err != nil {
		return nil, err
	}
	data := newScoreData(s)
	r := data.newReport()
	if s.lift != nil {
		if err := s.addLift(ctx, r); err != nil {
			return nil, err
		}
	}
	if len(s.o.Human) == 0 {
		return r, nil
	}
	if !slices.ContainsFunc(data.chosen, func(rows []int) bool { return len(rows) > 0 }) {
		return nil, fmt.Errorf("no row has both a human score and a value in every file: are these of the same rows, "+
			"systems and texts? If none is scored: erreval score %s -o scored.jsonl", r.input)
	}
	figures, err := resample(ctx, scoreMetrics, data.groups, &s.o.Intervals, data.values)
	if err != nil {
		return nil, err
	}
	for d, h := range s.o.Human {
		r.Human[h.Dimension] = h.Columns
		r.Agreement = append(r.Agreement, agreements(h.Dimension, s.ratings[d])...)
		r.remarks = append(append(r.remarks, data.describeMisfits(d)...), data.describeConstants(d)...)
	}
	r.remarks = append(r.remarks, data.describeFewGroups()...)
	if note := s.hints.Note(""); note != "" && data.systems < 2 {
		r.remarks = append(r.remarks, note)
	}
	if s.unrated > 0 {
		r.remarks = append(r.remarks, words.Plural(s.unrated, "human score is", "human scores are")+
			" missing (blank, n/a, NA, - or null)")
	}
	for i := range s.sets {
		r.Files = append(r.Files, data.measureFile(i, figures))
	}
	if len(s.sets) == 2 {
		r.Difference = data.measureDifference(figures)
	}
	return r, nil
}

func (s *Scores) checkRows() error {
	switch {
	case len(s.sets) == 0:
		return errors.New("there is nothing to measure: call ReadScores first")
	case len(s.rows) == 0 && s.read > 0:
		return s.filter.NoMatch(s.sets[0].file)
	case len(s.rows) == 0:
		return fmt.Errorf("%s: there are no rows", s.sets[0].file)
	}
	for _, h := range s.o.Human {
		for _, c := range h.Columns {
			if !s.columns[c] {
				return report.OptionErrorf("--human %s: no row of %s has a column %q", h.Dimension, s.sets[0].file, c)
			}
		}
	}
	return nil
}

// addLift adds the difference between the modes of a file.
func (s *Scores) addLift(ctx context.Context, r *ScoreReport) (err error) {
	r.By = "mode"
	if r.Lift, err = s.lift.ComputeRows(ctx, s.o.Intervals); err != nil {
		return err
	}
	if !slices.ContainsFunc(r.Lift, func(l LiftRow) bool { return l.Rows > 0 }) {
		return fmt.Errorf("no row of %s was judged in both modes; judge it so first, as in: "+
			"erreval score tagged.jsonl -o scored.jsonl --judge gpt-4o-mini --mode both", r.input)
	}
	return nil
}
