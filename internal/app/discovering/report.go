package discovering

import (
	"errors"
	"fmt"

	"github.com/erreval/erreval/discover/issues"
	"github.com/erreval/erreval/internal/app/asking"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/gate"
	"github.com/erreval/erreval/internal/plainjson"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/internal/wholefile"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/llm/reply"
)

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
	err = errors.Join(err, l.Summary().Text(run.Guard(d.Process.Out), d.Process.TerminalWidth()))
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
	return unassigned(l)
}

// unassigned is the error, with exit code 3, of a list with unassigned rows.
func unassigned(l *issues.List) error {
	n := l.Unknown()
	if n == 0 {
		return nil
	}
	return exit.With(exit.Incomplete,
		fmt.Errorf("%s unassigned: issues.reason says why", words.Plural(n, "row is", "rows are")))
}
