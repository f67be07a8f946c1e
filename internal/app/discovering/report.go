package discovering

import (
	"errors"
	"fmt"

	"github.com/erreval/erreval/discover"
	"github.com/erreval/erreval/discover/issues"
	"github.com/erreval/erreval/internal/app/asking"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/gate"
	"github.com/erreval/erreval/internal/plainjson"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/internal/runrecord"
	"github.com/erreval/erreval/internal/wholefile"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/llm/judging"
	"github.com/erreval/erreval/llm/reply"
)

// discoverRecord is the options part of OUT.run.json.
type discoverRecord struct {
	*judging.Record // absent where no model is asked
	runrecord.Reading
	Analysis     string            `json:"analysis"`
	Evidence     string            `json:"evidence,omitempty"`
	Criteria     []string          `json:"criteria,omitempty"`
	HighScore    float64           `json:"high_score,omitempty"`
	Sentence     string            `json:"sentence,omitempty"`
	Grouping     string            `json:"grouping,omitempty"`
	Seed         uint64            `json:"draw_seed"`
	Orders       int               `json:"orders,omitempty"`
	Shortlist    int               `json:"shortlist,omitempty"`
	Block        int               `json:"block,omitempty"`
	MaxIssues    int               `json:"max_issues,omitempty"`
	Threshold    float64           `json:"threshold,omitempty"`
	TagThreshold float64           `json:"tag_threshold,omitempty"`
	Known        *runrecord.Input  `json:"issues,omitempty"`
	Where        []string          `json:"where,omitempty"`
	Sample       int               `json:"sample,omitempty"`
	Worst        bool              `json:"worst,omitempty"`
	Templates    map[string]string `json:"templates,omitempty"` // kind to id and hash
	Embedded     bool              `json:"embedded,omitempty"`  // sentences are compared by an encoder too
}

// record begins the record of the run.
func (d *discovery) record() (*runrecord.Record, error) {
	g := &d.Group
	rec := discoverRecord{Reading: d.Rows.Reading, Analysis: d.By, Sentence: d.Sentence, Grouping: g.Grouping,
		Seed: g.Seed, Known: d.known, Sample: d.Chosen.Sample, Worst: d.Chosen.Worst, Embedded: g.Embed != nil}
	rec.Where = d.whereTexts()
	if d.judges != nil {
		asked := d.judges.NewRecord(d.Rows.Reading)
		rec.Record = &asked
		rec.Templates = map[string]string{}
		for kind, t := range d.templates {
			rec.Templates[kind] = t.ID() + " sha256:" + t.Hash()
		}
	}
	if d.analyst != nil {
		rec.Evidence = d.Analyst.Evidence
	}
	if d.By == discover.ByCriteria {
		rec.HighScore = d.Analyst.HighScore
		for _, c := range d.Analyst.Criteria {
			rec.Criteria = append(rec.Criteria, c.Name+": "+c.Text)
		}
	}
	switch g.Grouping {
	case discover.Cumulative:
		rec.Orders, rec.Shortlist, rec.Block = g.Orders, g.Shortlist, g.Block
	case discover.KeyPoints:
		rec.MaxIssues = g.MaxIssues
	case discover.Offline:
		rec.Threshold, rec.TagThreshold = g.Cluster.Threshold, g.TagThreshold
	}
	return d.Rows.NewRecord("discover", rec, d.Input)
}

// whereTexts are the conditions as written.
func (d *discovery) whereTexts() (texts []string) {
	for _, c := range d.Chosen.Where {
		texts = append(texts, c.Text)
	}
	return texts
}

// countsOf are the numbers that limits check.
func countsOf(l *issues.List, rejected int) gate.Counts {
	c := gate.Counts{Rows: l.Rows, Tagged: l.Rows, Rejected: rejected, Unit: "rows", Labels: map[string]int{
		issues.Unassigned: l.Unknown(), issues.Assigned: l.Assigned, issues.None: l.NoIssue}}
	for _, i := range l.Issues {
		c.Labels[i.ID] = i.Count
	}
	for reason, n := range l.Unassigned {
		c.Labels[issues.Unassigned+"."+reason] = n
	}
	return c
}

// publish prints the list, and writes the report.
func (d *discovery) publish(l *issues.List) error {
	var err error
	if d.Report != "" {
		err = wholefile.Fill(d.Report, l.Report().Markdown)
	}
	switch {
	case d.JSON:
		return errors.Join(err, plainjson.Write(d.Process.Out, l))
	case d.Process.Quiet:
		return err
	}
	summary := l.Summary()
	if d.System != "" && !l.IsUnstable() {
		summary.Sections = nil
	}
	err = errors.Join(err, summary.Text(run.Guard(d.Process.Out), d.Process.TerminalWidth()))
	d.Process.Warn("rows: %s; issues with examples: %s", d.Output, issues.Path(d.Output))
	if d.judges == nil {
		return err
	}
	return errors.Join(err, d.judges.SayUsage(d.Process))
}

// incomplete is the error, with exit code 3, of rows without a known state.
func (d *discovery) incomplete(l *issues.List) error {
	if d.judges != nil && l.Rows > 0 && l.Unassigned[reply.Unavailable] == l.Rows {
		return asking.ErrNoReply
	}
	return unassigned(l, d.judges)
}

// unassigned is the error, with exit code 3, of a list with unassigned rows; j is nil where no model was asked.
func unassigned(l *issues.List, j *asking.Judges) error {
	n := l.Unknown()
	if n == 0 {
		return nil
	}
	return exit.With(exit.Incomplete,
		fmt.Errorf("%s unassigned: %s", words.Plural(n, "row is", "rows are"), j.Why("issues.reason says why")))
}
