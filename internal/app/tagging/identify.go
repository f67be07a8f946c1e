// Package tagging finds the errors in rows, by a local model or a language model.
package tagging

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/gate"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/internal/wholefile"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/report"
	"github.com/erreval/erreval/taxonomy"
)

// Publish says where the closing summary goes besides the terminal; "" is nowhere.
type Publish struct {
	Markdown string // file, replaced
	Append   string // Markdown file to which it is appended, such as the page of a CI step
	JUnit    string // XML file, replaced
}

// Identify tags rows and sums up what was found.
type Identify struct {
	Run      *run.Run
	Taxonomy *taxonomy.Taxonomy
	Gates    []gate.Gate
	Publish  Publish
	// prints the summary as JSON, on standard output unless rows go there
	JSON  bool
	Table func(*dataset.Row, *dataset.Diagnosis) error // shows a row, or nil
	ended bool                                         // the output is whole
}

// all runs the stage, and prints the summary. spent completes the summary of a language model; nil for the local one.
func (i *Identify) all(res *run.Result, s *run.Stage, spent func(*report.Tagging) error) error {
	if res.NothingRead() {
		return res.Err
	}
	r := i.Run
	i.ended = res.Ended
	sum := i.summary(res, s)
	var asking, err error
	if spent != nil {
		asking = spent(sum)
	}
	if res.Ended {
		sum.Gates = r.CheckGates(i.Gates, i.Taxonomy.NoError())
	}
	if res.Ended || sum.Rows > 0 || i.JSON || spent != nil { // else the error says all that there is to say
		err = r.PrintSummary(i.JSON, r.Output == run.Stdio || i.Table != nil, sum)
	}
	if n := sum.Tagged - sum.WithoutError; n > 0 && !i.JSON && i.isOneFile() {
		r.Say("%s: erreval show %s --label any lists them", words.Plural(n, "row has an error", "rows have errors"),
			words.Quote(r.Output))
	}
	if res.Ended {
		err = errors.Join(err, i.publish(sum))
	}
	return errors.Join(res.Err, err, asking, r.Incomplete(), r.MissedGates(sum.Gates))
}

// stage is what all identifiers have in common.
func (i *Identify) stage() *run.Stage {
	s := &run.Stage{Command: "identify", Taxonomy: i.Taxonomy, Column: dataset.ColumnDiagnosis,
		Verb: "tag", Past: "tagged",
		Why:  i.whyUntagged,
		Zero: run.Counts{run.CountTagged: 0, run.CountUntagged: 0, run.CountTruncated: 0, run.CountWithoutError: 0}}
	for _, name := range i.Taxonomy.Errors() {
		s.Zero[run.CountLabel+name] = 0
	}
	s.Count = func(row *dataset.Row, _ bool, counts run.Counts) error {
		d, err := row.Diagnosis()
		if err == nil {
			countDiagnosis(d, counts)
		}
		return err
	}
	if i.Table != nil {
		s.Show = func(row *dataset.Row) error {
			d, err := row.Diagnosis()
			return errors.Join(err, i.Table(row, d))
		}
	}
	return s
}

// whyUntagged gives the reasons of untagged rows, and how to see the rows.
func (i *Identify) whyUntagged(c run.Counts) string {
	show := "diagnosis.reason says more"
	if i.isOneFile() {
		show = "erreval show " + words.Quote(i.Run.Output) + " --status untagged lists them"
	}
	if n := c[countReason+"empty"]; 2*n > c[run.CountRows] {
		show += "; where a text stands once for several rows, fill it down"
	}
	return words.Counts(reasonsOf(c)) + "; " + show
}

// isOneFile tells whether the output is whole, and one file.
func (i *Identify) isOneFile() bool {
	return i.ended && len(i.Run.Inputs) == 1 && i.Run.Output != "" && i.Run.Output != run.Stdio
}

const countReason = "reason." // and a reason: untagged rows

// reasonsOf are the numbers of untagged rows by reason.
func reasonsOf(c run.Counts) map[string]int {
	reasons := map[string]int{}
	for name, n := range c {
		if reason, ok := strings.CutPrefix(name, countReason); ok {
			reasons[reason] = n
		}
	}
	return reasons
}

func countDiagnosis(d *dataset.Diagnosis, counts run.Counts) {
	if d.Status == dataset.StatusUntagged {
		counts[run.CountUntagged]++
		reason, _, _ := strings.Cut(d.Reason, ":")
		counts[countReason+reason]++
		return
	}
	counts[run.CountTagged]++
	if len(d.Truncated) > 0 {
		counts[run.CountTruncated]++
	}
	if len(d.Read) > 0 {
		counts[run.CountPartlyRead]++
	}
	found := 0
	for _, label := range d.Labels {
		if _, ok := counts[run.CountLabel+label]; ok {
			counts[run.CountLabel+label]++
			found++
		}
	}
	if found == 0 {
		counts[run.CountWithoutError]++
	}
	for _, label := range d.NotJudged {
		if _, ok := counts[run.CountLabel+label]; ok {
			counts[run.CountNotJudged+label]++
		}
	}
}

// summary is what was counted.
func (i *Identify) summary(res *run.Result, s *run.Stage) *report.Tagging {
	c, seconds := res.Counts, time.Since(res.Started).Seconds()
	sum := &report.Tagging{Rows: c[run.CountRows], Tagged: c[run.CountTagged], Untagged: c[run.CountUntagged],
		Rejected: c[run.CountRejected], Truncated: c[run.CountTruncated], WithoutError: c[run.CountWithoutError],
		PartlyRead: c[run.CountPartlyRead], Resumed: res.Resumed, Seconds: seconds,
		RowsPerSecond: float64(c[run.CountRows]-res.Resumed) / max(seconds, 1e-9),
		Model:         s.Model.ID, Taxonomy: i.Taxonomy.ID(), Gates: []gate.Result{}, Reasons: reasonsOf(c), Weak: s.Weak}
	for _, name := range i.Taxonomy.Errors() {
		sum.Labels = append(sum.Labels,
			report.LabelCount{Label: name, Rows: c[run.CountLabel+name], NotJudged: c[run.CountNotJudged+name]})
	}
	return sum
}

// publish writes the summary to wherever the user wants it besides the terminal.
func (i *Identify) publish(s *report.Tagging) error {
	var errs []error
	page := s.Report(i.Run.Inputs).Markdown
	if i.Publish.Markdown != "" {
		errs = append(errs, wholefile.Fill(i.Publish.Markdown, page))
	}
	if i.Publish.Append != "" {
		errs = append(errs, appendFile(i.Publish.Append, page))
	}
	if i.Publish.JUnit != "" {
		text, err := s.JUnit()
		errs = append(errs, err, wholefile.Write(i.Publish.JUnit, text))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("summary: %w", err)
	}
	return nil
}

func appendFile(path string, write func(io.Writer) error) error {
	f, err := wholefile.OpenUnlinked(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}
