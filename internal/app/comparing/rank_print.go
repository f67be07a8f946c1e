package comparing

import (
	"errors"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/plainjson"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/internal/wholefile"
	"github.com/erreval/erreval/pairwise/audit"
	"github.com/erreval/erreval/pairwise/verdicts"
	"github.com/erreval/erreval/report"
)

// print prints the figures, and writes the report.
func (k *Rank) print(c *Comparison) error {
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
	if k.Brief && len(c.Tables) > 1 {
		r = c.brief(k.Taxonomy, k.Inputs)
	}
	return errors.Join(err, r.Text(run.Guard(k.Process.Out), k.Process.TerminalWidth()))
}

// personsVerdict is what a person says in a column; where it is empty, why.
func (k *Rank) personsVerdict(row *dataset.Row, column string, p *audit.Pair) (value, reason string, err error) {
	raw, ok := row.Get(column)
	if !ok {
		return "", "", exit.With(exit.Usage, report.NoColumn("--verdict or --human", row, column))
	}
	value, err = verdicts.Parse(dataset.PlainText(raw), p.SystemA, p.SystemB)
	switch {
	case errors.Is(err, verdicts.ErrInconsistent):
		k.unread.read++
		return "", verdicts.Inconsistent, nil
	case err != nil:
		if k.unread.unread++; k.unread.first == nil {
			k.unread.first = exit.Usagef("row %s: column %q: %w", row.ID, column, err)
		}
		return "", verdicts.Unread, nil
	case value == "":
		return "", verdicts.NoVerdict, nil
	}
	k.unread.read++
	return value, "", nil
}
