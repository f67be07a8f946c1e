package reporting

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/erreval/erreval/internal/spelling"
	"github.com/erreval/erreval/internal/stats"
	"github.com/erreval/erreval/report"
	"github.com/erreval/erreval/report/view"
)

// Figures are shares and means of all rows. Its JSON keys are stable.
type Figures struct {
	Shares []Share `json:"shares"`
	Means  []Mean  `json:"means"`
}

// Share says how many rows have a value of a facet.
type Share struct {
	Facet  string        `json:"facet"`
	Value  string        `json:"value"`
	By     string        `json:"by,omitempty"`     // "run", or the facet of systems; absent of all rows
	Column string        `json:"column,omitempty"` // the run or system
	Rows   int           `json:"rows"`
	Of     int           `json:"of"`    // rows that were judged for the value
	Share  report.Number `json:"share"` // 0 to 1; undefined of what is unknown
	Low    report.Number `json:"low"`   // of the interval: Wilson's, with rows of a group counted as far as they differ
	High   report.Number `json:"high"`
}

// Mean is that of a score.
type Mean struct {
	Measure string        `json:"measure"`
	By      string        `json:"by,omitempty"`
	Column  string        `json:"column,omitempty"`
	Rows    int           `json:"rows"`    // with a number
	Missing int           `json:"missing"` // rows without one, of runs in which any row has one
	Mean    report.Number `json:"mean"`
	Low     report.Number `json:"low"` // of Student's interval
	High    report.Number `json:"high"`
}

// systems is the facet that tells systems apart.
const systems = "system"

// ways are how rows are told apart in columns: not at all, by run, by system, by further facets.
func ways(c *view.Catalog, more ...string) []string {
	by := []string{""}
	for _, key := range append([]string{"run", systems}, more...) {
		i := slices.IndexFunc(c.Facets, func(f view.Facet) bool { return f.Key == key })
		if i >= 0 && !c.Facets[i].Multi {
			by = append(by, key)
		}
	}
	return by
}

// CheckSystem finds out whether the column that was given for systems tells rows apart; "" is none, and files are told
// apart at any rate. The error is an *report.OptionError.
func CheckSystem(s *view.Index, column string) error {
	if column == "" || column == report.ByFile ||
		s.WhyNotOffered(column) == "" && slices.Contains(ways(s.Catalog()), systems) {
		return nil
	}
	return noSuchColumn(s, column)
}

// ComputeFigures asks a source for the shares of what was found, and for means of scores, over all rows, by run, and by
// the facet of systems.
func ComputeFigures(ctx context.Context, s view.Source) (*Figures, error) {
	f := &Figures{Shares: []Share{}, Means: []Mean{}}
	for _, by := range ways(s.Catalog()) {
		if err := errors.Join(f.addShares(ctx, s, by), f.addMeans(ctx, s, by)); err != nil {
			return nil, err
		}
	}
	return f, nil
}

func (f *Figures) addShares(ctx context.Context, s view.Source, by string) error {
	facets := s.Catalog().Facets
	for i := range facets {
		if !isFinding(facets[i].Key) {
			continue
		}
		counts, err := s.Counts(ctx, view.CountsQuery{Facet: facets[i].Key, By: by})
		if err != nil {
			return err
		}
		shares := sharesIn(counts, &facets[i], by)
		if by == systems {
			shares = append(shares, f.emptyShares(facets[i].Key, shares)...)
		}
		f.Shares = append(f.Shares, shares...)
	}
	return nil
}

func (f *Figures) addMeans(ctx context.Context, s view.Source, by string) error {
	for _, m := range s.Catalog().Measures {
		if !strings.HasPrefix(m.Key, "score.") {
			continue
		}
		h, err := s.Histogram(ctx, view.HistogramQuery{Measure: m.Key, By: by})
		if err != nil {
			return err
		}
		columns := h.Columns
		if by == systems {
			all, err := s.Histogram(ctx, view.HistogramQuery{Measure: m.Key})
			if err != nil {
				return err
			}
			columns = withEmpty(columns, all.Columns[0])
		}
		for _, column := range columns {
			one := Mean{Measure: m.Key, By: by, Column: column.Name, Rows: column.Rows, Missing: column.Missing}
			sums := stats.GroupSums{Groups: column.Groups, Sum: column.Sum, Rows: float64(column.Rows),
				SumSquares: column.Squares, RowSquares: column.RowSquares, Products: column.Products}
			low, high := sums.MeanInterval()
			one.Mean, one.Low, one.High = report.Number(sums.Mean()), report.Number(low), report.Number(high)
			f.Means = append(f.Means, one)
		}
	}
	return nil
}

// noSuchColumn says why a column does not tell systems apart, and which do.
func noSuchColumn(s view.Source, column string) error {
	var columns []string
	for _, f := range s.Catalog().Facets {
		if name, ok := strings.CutPrefix(f.Key, "column."); ok || f.Key == systems {
			columns = append(columns, name)
		}
	}
	text := "columns that tell systems apart: " + cmp.Or(strings.Join(columns, ", "), "none")
	why := ""
	if index, ok := s.(*view.Index); ok {
		why = index.WhyNotOffered(column)
	}
	if why != "" {
		return report.OptionErrorf("--by %s: the column %s; %s", column, why, text)
	}
	if meant := spelling.Meant(column, columns); meant != "" {
		text = fmt.Sprintf("did you mean %s? %s", meant, text)
	}
	return report.OptionErrorf("--by %s: the rows have no such column with few short values; %s", column, text)
}

// emptyColumn is the name of rows without a value in the column that tells systems apart.
const emptyColumn = "(empty)"

// emptyShares are those of the rows that are in none of the columns of shares, by what they leave of all rows. They
// have no intervals: sums over groups cannot be taken from each other.
func (f *Figures) emptyShares(facet string, shares []Share) (empty []Share) {
	for _, s := range f.Shares {
		if s.Facet != facet || s.By != "" {
			continue
		}
		for _, one := range shares {
			if one.Value == s.Value {
				s.Rows, s.Of = s.Rows-one.Rows, s.Of-one.Of
			}
		}
		if s.Of == 0 && s.Rows == 0 {
			continue
		}
		if s.Share.Defined() {
			s.Share = report.Number(float64(s.Rows) / float64(s.Of))
		}
		s.By, s.Column, s.Low, s.High = systems, emptyColumn, report.Undefined, report.Undefined
		empty = append(empty, s)
	}
	return empty
}

// withEmpty gives the columns of a measure, and one of the rows of all that are in none of them, if there are any.
func withEmpty(columns []view.HistogramColumn, all view.HistogramColumn) []view.HistogramColumn {
	all.Name = emptyColumn
	for _, c := range columns {
		all.Rows, all.Missing = all.Rows-c.Rows, all.Missing-c.Missing
		all.Sum -= c.Sum
	}
	all.MeanSums = view.MeanSums{} // sums over groups cannot be taken from each other: there is no interval
	if all.Rows+all.Missing == 0 {
		return columns
	}
	return append(slices.Clip(columns), all)
}

// isFinding tells facets of what was found from those of what rows are.
func isFinding(key string) bool {
	return slices.Contains([]string{"label", "gold", "issue", "unscored", "truncated"}, key) ||
		strings.HasPrefix(key, "verdict.")
}

// sharesIn are those of counts.
func sharesIn(counts *view.Counts, f *view.Facet, by string) (shares []Share) {
	for at, column := range counts.Columns {
		for i, value := range counts.Values {
			cell, base := value.Cells[at], counts.BaseOf(i, at)
			s := Share{Facet: f.Key, Value: value.Name, By: by, Column: column.Name, Rows: cell.Rows, Of: base.Rows,
				Share: report.Undefined, Low: report.Undefined, High: report.Undefined}
			if f.Values[i].Role != view.RoleUnknown {
				sums := stats.GroupSums{Groups: base.Groups, Sum: float64(cell.Rows), Rows: float64(base.Rows),
					SumSquares: cell.Squares, RowSquares: base.Squares, Products: cell.Products}
				low, high := sums.ShareInterval()
				s.Share, s.Low, s.High = report.Number(sums.Mean()), report.Number(low), report.Number(high)
			}
			shares = append(shares, s)
		}
	}
	return shares
}

// Answers are what a source says to the questions that the page asks of all rows: every facet and every measure, also
// by run and by system.
func Answers(ctx context.Context, s view.Source) (answers []view.Answer, err error) {
	c := s.Catalog()
	for _, by := range ways(c, "system_run") {
		for i := range c.Facets {
			q := view.CountsQuery{Facet: c.Facets[i].Key, By: by}
			counts, countErr := s.Counts(ctx, q)
			answers, err = append(answers, view.Answer{Counts: &q, Answer: counts}), errors.Join(err, countErr)
		}
		for i := range c.Measures {
			q := view.HistogramQuery{Measure: c.Measures[i].Key, By: by}
			h, countErr := s.Histogram(ctx, q)
			answers, err = append(answers, view.Answer{Histogram: &q, Answer: h}), errors.Join(err, countErr)
		}
	}
	return answers, err
}
