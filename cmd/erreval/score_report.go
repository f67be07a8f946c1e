package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/internal/runrecord"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/report"
	"github.com/erreval/erreval/taxonomy"
)

// scoreSummary is what a run of score found, counted.
type scoreSummary struct {
	Rows          int              `json:"rows"`
	Unscored      int              `json:"unscored"` // rows in which a dimension has no value
	Rejected      int              `json:"rejected"` // lines that are no rows
	Resumed       int              `json:"resumed"`  // rows that an earlier run scored
	Dimensions    []scoreDimension `json:"dimensions"`
	Seconds       float64          `json:"seconds"`
	RowsPerSecond float64          `json:"rows_per_second"`
	Taxonomy      string           `json:"taxonomy"`
	Judging       *judgeSummary    `json:"judging,omitempty"` // with --judge

	start  time.Time
	reason string // of the first score without a value
}

// scoreDimension counts the rows of one dimension.
type scoreDimension struct {
	Dimension string        `json:"dimension"`
	Scored    int           `json:"scored"`
	Unscored  int           `json:"unscored"`
	Mean      report.Number `json:"mean"` // of the scored rows; undefined where the rows were not read again

	sum float64
}

func newScoreSummary(t *taxonomy.Taxonomy) *scoreSummary {
	s := &scoreSummary{Taxonomy: t.ID(), start: time.Now()}
	for _, d := range t.Dimensions {
		s.Dimensions = append(s.Dimensions, scoreDimension{Dimension: d.Key})
	}
	return s
}

func (s *scoreSummary) add(scores map[string]*dataset.Score, resumed bool) {
	s.Rows++
	if resumed {
		s.Resumed++
	}
	missing := false
	for i := range s.Dimensions {
		d := &s.Dimensions[i]
		score := scores[d.Dimension]
		if score == nil || score.Value == nil {
			d.Unscored++
			if score != nil {
				s.reason = cmp.Or(s.reason, score.Reason)
			}
			missing = true
			continue
		}
		d.Scored++
		d.sum += *score.Value
	}
	if missing {
		s.Unscored++
	}
}

func (s *scoreSummary) counts() map[string]int {
	c := map[string]int{"rows": s.Rows, "unscored": s.Unscored, "rejected": s.Rejected}
	for _, d := range s.Dimensions {
		c["scored."+d.Dimension] = d.Scored
	}
	return c
}

// restore takes the counts of a run record.
func (s *scoreSummary) restore(counts map[string]int) {
	s.Rows, s.Resumed, s.Unscored, s.Rejected = counts["rows"], counts["rows"], counts["unscored"], counts["rejected"]
	for i := range s.Dimensions {
		d := &s.Dimensions[i]
		d.Scored, d.sum = counts["scored."+d.Dimension], math.NaN()
		d.Unscored = s.Rows - d.Scored
	}
}

// print writes the summary: a table to standard error, or JSON to where no rows go.
func (s *scoreSummary) print(e *env, o *scoreOptions) error {
	s.Seconds = time.Since(s.start).Seconds()
	s.RowsPerSecond = float64(s.Rows-s.Resumed) / max(s.Seconds, 1e-9)
	for i := range s.Dimensions {
		d := &s.Dimensions[i]
		d.Mean = report.Number(d.sum / float64(d.Scored)) // 0/0 is undefined
	}
	if o.JSON {
		if o.Output == run.Stdio {
			return writeJSON(e.Err, s)
		}
		return writeJSON(e.Out, s)
	}
	if o.Quiet {
		return nil
	}
	if s.Resumed > 0 {
		fmt.Fprintf(e.Err, "%s scored by an earlier run\n", words.Plural(s.Resumed, "row was", "rows were"))
	}
	if s.Judging != nil {
		if err := s.Judging.print(e.Err); err != nil {
			return err
		}
	}
	fmt.Fprintf(e.Err, "%s in %.1f s, scored %s: %d unscored; %s rejected\n", words.Plural(s.Rows, "row", "rows"), s.Seconds, s.by(),
		s.Unscored, words.Plural(s.Rejected, "line", "lines"))
	if s.Rows == 0 {
		return nil
	}
	w := tabwriter.NewWriter(e.Err, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, d := range s.Dimensions {
		fmt.Fprintf(w, "%s\t%d scored\tmean %s\t\n", d.Dimension, d.Scored, d.Mean.Text("%.2f"))
	}
	return w.Flush()
}

// by says who scored.
func (s *scoreSummary) by() string {
	if s.Judging == nil {
		return dataset.JudgeOffline
	}
	return "by " + strings.Join(s.Judging.judges.o.Names(), ", ")
}

// why is the first reason of rows that were scored offline; of those judged, the reasons are counted above.
func (s *scoreSummary) why() string {
	if s.reason == "" || s.Judging != nil {
		return "scores.DIMENSION.reason says why"
	}
	return "the first for this reason: " + s.reason
}

// incomplete says what has no score, and where to look.
func (s *scoreSummary) incomplete(r *identifyRun) string {
	var parts []string
	if s.Unscored > 0 {
		parts = append(parts, words.Plural(s.Unscored, "row was", "rows were")+" not scored: "+s.why())
	}
	if s.Rejected > 0 {
		parts = append(parts, words.Plural(s.Rejected, "line was no row", "lines were no rows")+r.whereRejected()+noRowLeft(s.Rows))
	}
	for _, c := range r.changed {
		parts = append(parts, c+": the rows that were read are scored; score the file again once nothing changes it")
	}
	return strings.Join(parts, "; ")
}

// finishedRecord is the record of an output that an earlier run has finished as the record now says; nil where there is
// something to do. It is an error if the output was made otherwise.
func (r *identifyRun) finishedRecord(ctx context.Context, in, out string, now *runrecord.Record) (*runrecord.Record, error) {
	_, unfinished := os.Stat(dataset.PartialPath(out))
	_, err := os.Stat(out)
	if !r.o.Resume || unfinished == nil || errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	old, err := runrecord.Read(out)
	switch {
	case err != nil && r.o.Overwrite:
		return nil, nil
	case err != nil:
		return nil, exit.With(exit.Usage, fmt.Errorf("--resume: %s exists, but nothing says how it was made: %w; replace it with --overwrite", out, err))
	}
	if err = r.compare(out, old, now); err == nil {
		err = r.sameInput(ctx, in, out, old.Inputs[0])
	}
	if err != nil && r.o.Overwrite {
		return nil, nil
	}
	return old, err
}

func (r *identifyRun) sameInput(ctx context.Context, in, out string, old runrecord.Input) error {
	now, err := r.hashInput(ctx, in, old)
	old.Changed = "" // the hash tells whether it still is what was read
	if err == nil && now != old {
		err = exit.With(exit.Usage, fmt.Errorf("--resume: %s was made of another input:\n  %s\nreplace it with --overwrite", out, differentInput(old, now)))
	}
	return err
}
