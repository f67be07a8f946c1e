package report

import (
	"context"

	"github.com/erreval/erreval/internal/stats"
)

// withAll gives every system, and behind them all rows.
func (s *Stats) withAll() []*SystemStats {
	var all []*SystemStats
	for i := range s.Systems {
		all = append(all, &s.Systems[i])
	}
	return append(all, &s.All)
}

// means are the values of each column in each block: shares, and mean scores. NaN where no row is known.
func (t *Tally) means(blocks [][]float64) (means [][]float64) {
	for _, cells := range blocks {
		row := make([]float64, len(t.stats.columns))
		for c, column := range t.stats.columns {
			row[c] = cells[2*c+1] / cells[2*column.of]
		}
		means = append(means, row)
	}
	return means
}

// appendSum appends the sum of all blocks.
func appendSum(blocks [][]float64) [][]float64 {
	sum := make([]float64, len(blocks[0]))
	for _, cells := range blocks {
		for c, x := range cells {
			sum[c] += x
		}
	}
	return append(blocks, sum)
}

func (t *Tally) computeShares(ctx context.Context) error {
	s, systems := &t.stats, len(t.stats.Systems)
	total := appendSum(t.sums.sumByBlock(nil, systems))
	means := t.means(total)
	for i, system := range s.withAll() {
		for c, column := range s.columns {
			one := cell{Share{int(total[i][2*c+1]), Number(means[i][c]), Undefined, Undefined}, int(total[i][2*column.of])}
			switch {
			case column.kind == kindScore:
				one.Rows = one.of
			case t.o.Intervals.Method == Wilson:
				one.setWilsonInterval(one.Rows, one.of)
			}
			system.cells = append(system.cells, one)
		}
	}
	s.Interval = t.o.Intervals.describe(len(t.sums.groups))
	groups := append(t.sums.countGroups(systems), len(t.sums.groups))
	var samples [][][]float64
	if t.o.Intervals.Method == Bootstrap {
		var err error
		if samples, err = resample(ctx, t.sums, &t.o.Intervals, systems, func(total [][]float64) [][]float64 {
			return t.means(appendSum(total))
		}); err != nil {
			return err
		}
		s.setIntervals(samples, groups)
	}
	s.contrast(samples, groups)
	return nil
}

// setIntervals sets the intervals by the resampled means. The groups of all systems are resampled at once, since
// systems share passages.
func (s *Stats) setIntervals(samples [][][]float64, groups []int) {
	for i, system := range s.withAll() {
		for c := range system.cells {
			value := func(means [][]float64) float64 { return means[i][c] }
			share := &system.cells[c].Share
			if s.columns[c].kind == kindScore {
				interval := stats.IntervalOf(resampled(samples, value))
				share.Low, share.High = Number(interval.Low), Number(interval.High)
				continue
			}
			setShareInterval(share, samples, groups[i], value)
		}
	}
}

// publish fills the fields that JSON and pictures have.
func (s *SystemStats) publish(columns []column) {
	for c, column := range columns {
		share, of := s.cells[c].Share, s.cells[c].of
		switch {
		case column.kind == kindScore:
			s.Scores = append(s.Scores, ScoreMean{column.name, share.Rows, share.Share, share.Low, share.High})
		case column.kind == kindIssue && column.name == "":
			s.WithoutIssue = &share
		case column.kind == kindIssue:
			s.Issues = append(s.Issues, IssueShare{column.id, column.name, share})
		case column.name == "":
			s.WithoutError = share
		default:
			s.Labels = append(s.Labels, LabelShare{column.name, column.code, s.Tagged - of, share})
		}
	}
}

func (s *Share) setWilsonInterval(hits, trials int) {
	low, high := stats.Wilson(hits, trials)
	s.Low, s.High = Number(low), Number(high)
}
