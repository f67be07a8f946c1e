package discovering

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/discover"
	"github.com/erreval/erreval/discover/issues"
	"github.com/erreval/erreval/discover/where"
	"github.com/erreval/erreval/internal/app/asking"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/internal/runrecord"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/llm"
	"github.com/erreval/erreval/report"
)

// choose finds which rows are looked at, if a sample of them is.
func (d *discovery) choose(ctx context.Context) error {
	if d.Chosen.Sample == 0 {
		return nil
	}
	type candidate struct {
		ordinal int // among the rows that meet the conditions
		scored  bool
		badness float64 // the greatest are taken
		draw    uint64
	}
	var all []candidate
	err := d.eachChosen(ctx, func(row *dataset.Row) error {
		c := candidate{ordinal: len(all), draw: drawOf(d.Chosen.Seed, row.ID)}
		if d.Chosen.Worst {
			c.scored, c.badness = badnessOf(row)
		}
		all = append(all, c)
		return nil
	})
	if err != nil {
		return err
	}
	slices.SortFunc(all, func(a, b candidate) int {
		if a.scored && !b.scored {
			return -1
		}
		if b.scored && !a.scored {
			return 1
		}
		return cmp.Or(cmp.Compare(b.badness, a.badness), cmp.Compare(a.draw, b.draw), cmp.Compare(a.ordinal, b.ordinal))
	})
	d.chosen = make([]bool, len(all))
	for _, c := range all[:min(len(all), d.Chosen.Sample)] {
		d.chosen[c.ordinal] = true
	}
	return nil
}

// drawOf is a number of a row that depends on seed and id alone.
func drawOf(seed uint64, id string) uint64 {
	sum := sha256.Sum256(binary.BigEndian.AppendUint64([]byte(id), seed))
	return binary.BigEndian.Uint64(sum[:8])
}

// badnessOf is how bad a row is: the lower the mean of its scores, or, without scores, the surer an error. Rows with
// scores come before those without.
func badnessOf(row *dataset.Row) (scored bool, badness float64) {
	scores, err := row.Scores()
	sum, n := 0.0, 0
	for _, s := range scores {
		if err == nil && s.Value != nil {
			sum, n = sum+*s.Value, n+1
		}
	}
	if n > 0 {
		return true, -sum / float64(n)
	}
	found, err := row.Diagnosis()
	if err != nil || found == nil {
		return false, 0
	}
	for _, p := range found.Probabilities {
		if slices.Contains(found.Labels, p.Label) {
			badness = max(badness, p.P)
		}
	}
	return false, badness
}

// isWanted tells whether a row meets the conditions, or whether it cannot be said.
func (c *Chosen) isWanted(row *dataset.Row) bool {
	ok, err := where.Match(c.Where, row)
	return ok || err != nil
}

// eachChosen calls visit for the chosen rows. It sets faults.
func (d *discovery) eachChosen(ctx context.Context, visit func(*dataset.Row) error) (err error) {
	isChosen := d.chooser()
	d.faults, err = d.Rows.Each(ctx, d.Process, d.Input, func(row *dataset.Row) error {
		if ok, err := isChosen(row); err != nil || !ok {
			return err
		}
		return visit(row)
	})
	return err
}

// chooser tells of one row of the input after the other whether it is chosen.
func (d *discovery) chooser() func(*dataset.Row) (bool, error) {
	n := 0 // rows that meet the conditions
	return func(row *dataset.Row) (bool, error) {
		ok, err := where.Match(d.Chosen.Where, row)
		if ok {
			n++
		}
		if ok && n == 1 && err == nil && !slices.Contains([]string{"", report.ByFile, report.ByNothing}, d.System) {
			_, _, err = report.SystemOf(row, d.System) // before anything is paid for
		}
		return ok && (d.chosen == nil || n <= len(d.chosen) && d.chosen[n-1]), err
	}
}

// analyse fills in items: what is wrong with each chosen row.
func (d *discovery) analyse(ctx context.Context) error {
	empty := 0
	defer func() {
		if empty > 0 && d.analyst != nil {
			d.Process.Warn("%s no text in %s, and a model may say that nothing is wrong with that; where calls failed, leave "+
				"their rows out: --where COLUMN=VALUE", words.Plural(empty, "row has", "rows have"),
				d.Rows.Taxonomy.Fields[0].Name)
		}
	}()
	add := func(row *dataset.Row, f *issues.Finding) error {
		if len(row.Values) > 0 && strings.TrimSpace(row.Values[0]) == "" {
			empty++
		}
		item, err := d.item(row, f)
		d.items = append(d.items, item)
		d.step("analyse", len(d.items), 0)
		return err
	}
	if d.analyst == nil {
		return d.eachChosen(ctx, func(row *dataset.Row) error {
			f, err := d.given(row)
			return errors.Join(err, add(row, f))
		})
	}
	d.faults = nil
	return d.Rows.Read(ctx, d.Process, d.Input, func(ctx context.Context, _ string,
		read func() (*dataset.Row, error)) error {
		isChosen := d.chooser()
		keep := func(fault *dataset.LineError) error { d.faults = append(d.faults, fault); return nil }
		return d.analyst.Analyse(ctx, func() (*dataset.Row, error) {
			for row, err := range dataset.Rows(ctx, read, keep) {
				ok := false
				if err == nil {
					ok, err = isChosen(row)
				}
				if ok || err != nil {
					return row, err
				}
			}
			return nil, io.EOF
		}, add)
	})
}

// item is a row as the grouping sees it.
func (d *discovery) item(row *dataset.Row, f *issues.Finding) (*discover.Item, error) {
	item := &discover.Item{ID: row.ID, Finding: f}
	if d.By == discover.ByLabels {
		item.Text = row.Values[0]
	}
	group, err := report.GroupOf(row, d.Rows.Taxonomy, d.Intervals.Group)
	if err != nil {
		return item, exit.With(exit.Usage, err)
	}
	sum := sha256.Sum256([]byte(group))
	item.Group = string(sum[:16])
	item.Labels, item.Tagged, err = d.labels(row)
	return item, err
}

// labels are the errors that an identifier found in a row.
func (d *discovery) labels(row *dataset.Row) (labels []string, tagged bool, err error) {
	t := d.Rows.Taxonomy
	found, err := row.Diagnosis()
	if err != nil || found == nil || found.Status != "" || t.IsTask() {
		return nil, false, err
	}
	if err := run.FitsTaxonomy(row, found, t); err != nil {
		return nil, false, err
	}
	for _, label := range found.Labels {
		if i, ok := t.Index(label); ok && !t.Types[i].NoError {
			labels = append(labels, t.Types[i].Name)
		}
	}
	return labels, true, nil
}

// given is what a row already says, of itself or by its labels.
func (d *discovery) given(row *dataset.Row) (*issues.Finding, error) {
	if d.By == discover.ByLabels {
		labels, tagged, err := d.labels(row)
		f := &issues.Finding{Evidence: discover.EvidenceLabels}
		switch {
		case !tagged:
			f = &issues.Finding{Status: issues.Unassigned, Reason: issues.Untagged}
		case len(labels) == 0:
			f = &issues.Finding{Status: issues.None}
		}
		return f, err
	}
	if d.Sentence == "" {
		return discover.Recorded(row)
	}
	if row.IsPassed(d.Sentence) {
		return &issues.Finding{Status: issues.None}, nil
	}
	raw, ok := row.Get(d.Sentence)
	if !ok {
		return nil, exit.With(exit.Usage, report.NoColumn("--sentence", row, d.Sentence))
	}
	return discover.FromSentence(dataset.PlainText(raw)), nil
}

// write makes OUT, the list beside it, and the record.
func (d *discovery) write(ctx context.Context, record *runrecord.Record, list *issues.List) error {
	out, err := d.Rows.Create(d.Output, d.Overwrite || d.Resume, record, d.Input)
	if err != nil {
		return err
	}
	err = d.writeRows(ctx, out)
	if err == nil {
		err = writeBeside(list, d.Output, record)
	}
	record.Counts = countIssues(list, out)
	return out.End(err)
}

// countIssues are the counts of a record of rows with issues.
func countIssues(list *issues.List, out *run.Output) map[string]int {
	return map[string]int{run.CountRows: list.Rows, run.CountRejected: out.Rejected(),
		issues.Assigned: list.Assigned, issues.None: list.NoIssue,
		issues.Unassigned: list.Unknown(), "issues": len(list.Issues)}
}

// writeBeside writes the list, and its hash into the record of the rows.
func writeBeside(list *issues.List, output string, record *runrecord.Record) error {
	if err := list.Write(output); err != nil {
		return err
	}
	hashed, err := runrecord.HashFile(issues.Path(output))
	record.Beside = map[string]runrecord.Content{issues.Path(""): {SHA256: hashed.SHA256, Size: hashed.Size}}
	return err
}

func (d *discovery) writeRows(ctx context.Context, out *run.Output) error {
	n, at, said, isChosen := 0, 0, false, d.chooser()
	return d.Rows.Read(ctx, d.Process, d.Input, func(ctx context.Context, _ string,
		read func() (*dataset.Row, error)) error {
		for row, err := range dataset.Rows(ctx, read, out.Reject) {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err != nil {
				return err
			}
			n++
			if own := row.OwnText(issues.Column); own != "" && !said {
				said = true
				d.Process.Note([]string{own})
			}
			if ok, err := isChosen(row); err != nil {
				return err
			} else if !ok || at == len(d.items) {
				continue
			}
			if d.items[at].ID != row.ID {
				break
			}
			if err := errors.Join(d.items[at].Finding.Set(row), out.Write(row)); err != nil {
				return err
			}
			at++
		}
		if at < len(d.items) {
			return fmt.Errorf("%s changed while it was read: its row %d is another now; run again once nothing changes it",
				d.Input, n)
		}
		return nil
	})
}

// forecastIssues is how long a forecast takes the list of issues to be.
const forecastIssues = 15

// forecastGrouping goes through calls like those that the grouping would make if every row had an issue.
func (d *discovery) forecastGrouping(statements int, visit func(*asking.Subject) error) error {
	return d.grouper.Forecast(statements, forecastIssues, func(kind string, r *llm.Request) error {
		calls := d.calls(kind, []*llm.Request{r})
		return visit(&asking.Subject{ID: kind, Many: true, Calls: func() ([]asking.Call, error) { return calls, nil }})
	})
}

// stepTimes knows when steps began.
type stepTimes struct {
	mu    sync.Mutex
	name  string
	start time.Time
}

// step shows how far a step is, and how long it may take; of is 0 where the number is not known.
func (d *discovery) step(name string, done, of int) {
	s := &d.steps
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.name != name {
		s.name, s.start = name, time.Now()
	}
	d.progress.ShowText(func(now time.Time) string {
		line := fmt.Sprintf("%s: %d", name, done)
		if of > 0 && done > 0 {
			left := time.Duration(float64(now.Sub(s.start)) * float64(of-done) / float64(done))
			line += fmt.Sprintf(" of %d, %s left", of, left.Round(time.Second))
		}
		if d.judges != nil {
			line += ", " + d.judges.Describe(d.judges.Used())
		}
		return line
	})
}

// look does what --dry-run and --show-prompt ask for.
func (d *discovery) look(ctx context.Context) error {
	if d.ask.ShowPrompt != "" && d.analyst == nil {
		return exit.Usagef("--show-prompt: with --analysis %s no model is asked about single rows", d.By)
	}
	all := func(visit func(*asking.Subject) error) (int, error) {
		statements := 0
		err := d.eachChosen(ctx, func(row *dataset.Row) error {
			if d.analyst != nil {
				statements++
				return visit(&asking.Subject{ID: row.ID, Calls: func() ([]asking.Call, error) { return d.callsAbout(row) }})
			}
			f, err := d.given(row)
			if err == nil && f.Status == "" {
				statements++
			}
			return err
		})
		if err == nil && d.ask.ShowPrompt == "" {
			err = d.forecastGrouping(statements, visit)
		}
		return len(d.faults), err
	}
	if d.ask.ShowPrompt == "" {
		d.Process.Warn("grouping is forecast as if every row had an issue in words of its own, and there were %d issues",
			forecastIssues)
	}
	return d.judges.LookAt(d.Process, d.JSON, all, fmt.Sprintf("%s has no row %q", d.Input, d.ask.ShowPrompt), "")
}

func (d *discovery) callsAbout(row *dataset.Row) ([]asking.Call, error) {
	requests, err := d.analyst.Requests(row)
	return d.calls(d.kinds()[0], requests), err
}

func (d *discovery) calls(title string, requests []*llm.Request) []asking.Call {
	calls := make([]asking.Call, len(requests))
	for i, r := range requests {
		calls[i] = asking.Call{Judge: d.model.Name, Title: title, Shown: true, Request: r}
	}
	return calls
}
