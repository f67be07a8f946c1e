package discovering

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/discover"
	"github.com/erreval/erreval/discover/issues"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/internal/runrecord"
	"github.com/erreval/erreval/internal/wholefile"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/taxonomy"
)

// Propose makes a taxonomy of discovered issues, and rows that are labelled with it.
type Propose struct {
	Process   *run.Process
	List      string   // file of the issues
	Rows      run.Rows // how Input is read, with the taxonomy of the task
	Input     string   // the rows in which the issues were found; only for Labelled
	Output    string   // the taxonomy's file; "" prints it
	Labelled  string   // file of labelled rows, or ""
	model     string   // that found labels of the rows
	untagged  int      // rows without any
	Overwrite bool
	Options   discover.ProposeOptions
}

// Run makes the taxonomy.
func (p *Propose) Run(ctx context.Context) error {
	l, err := issues.Read(p.List)
	if err != nil {
		return exit.With(exit.Usage, err)
	}
	proposal, err := discover.Propose(l, p.Rows.Taxonomy, p.Options)
	if err != nil {
		return exit.With(exit.Unfit, err)
	}
	if err := p.checkOutputs(); err != nil {
		return err
	}
	for _, issue := range proposal.Left {
		why := fmt.Sprintf("it has %s", words.Plural(issue.Count, "row", "rows"))
		if issue.Unstable && issue.Count >= p.Options.MinCount {
			why = "it is unstable"
		}
		p.Process.Say("left out: %s: %s", issue.Name, why)
	}
	if p.Output == "" {
		if _, err := p.Process.Out.Write(proposal.YAML); err != nil {
			return err
		}
	} else if err := p.write(proposal); err != nil {
		return err
	}
	if p.Labelled == "" {
		return nil
	}
	return p.label(ctx, proposal)
}

// write writes the taxonomy to a file, and says so.
func (p *Propose) write(proposal *discover.Proposal) error {
	if err := wholefile.Write(p.Output, proposal.YAML); err != nil {
		return err
	}
	t, err := taxonomy.Parse(proposal.YAML, p.Output)
	if err != nil {
		return err
	}
	p.Process.Say("wrote %s (%s); a language model labels rows with it: "+
		"erreval identify FILE --taxonomy %s --identifier llm", p.Output, t.Summary(), words.Quote(p.Output))
	return nil
}

// checkOutputs finds outputs that cannot be written, before one of them is.
func (p *Propose) checkOutputs() error {
	var errs []error
	if p.Output != "" {
		errs = append(errs, dataset.CheckOutput(p.Output, p.Overwrite, p.List, p.Input))
	}
	if p.Labelled != "" {
		errs = append(errs, dataset.CheckOutput(p.Labelled, p.Overwrite, p.List, p.Input, p.Output))
	}
	return errors.Join(errs...)
}

// proposeRecord is the options part of the record of labelled rows.
type proposeRecord struct {
	runrecord.Reading
	Issues   string `json:"issues"` // SHA-256 of the list
	MinCount int    `json:"min_count"`
	Unstable bool   `json:"unstable"`
}

// label writes the rows whose labels are known.
func (p *Propose) label(ctx context.Context, proposal *discover.Proposal) error {
	list, err := runrecord.HashFile(p.List)
	if err != nil {
		return err
	}
	record, err := p.Rows.NewRecord("taxonomy propose", proposeRecord{Reading: p.Rows.Reading, Issues: list.SHA256,
		MinCount: p.Options.MinCount, Unstable: p.Options.Unstable}, p.Input)
	if err != nil {
		return err
	}
	out, err := p.Rows.Create(p.Labelled, p.Overwrite, record, p.Input)
	if err != nil {
		return err
	}
	left := 0
	faults, err := p.Rows.Each(ctx, p.Process, p.Input, func(row *dataset.Row) error {
		labels, known, err := p.labelsOf(row, proposal)
		if err != nil || !known {
			left++
			return err
		}
		return errors.Join(row.Set(dataset.ColumnLabels, labels), out.Write(row))
	})
	record.Counts = map[string]int{run.CountRows: out.Rows(), "left_out": left, run.CountRejected: len(faults)}
	if err := out.End(err); err != nil {
		return err
	}
	whose := ""
	if p.model != "" {
		whose = fmt.Sprintf("; besides issues they have the labels of %s: let people check them before they measure a model",
			words.Printable(p.model))
	}
	if p.untagged > 0 {
		whose += fmt.Sprintf("; %s untagged, so that nothing tells which of the taxonomy's own types they have: discover "+
			"issues in the file that erreval identify wrote", words.Plural(p.untagged, "row is", "rows are"))
	}
	p.Process.Say("%s in %s; %d left out: unassigned, or with an issue that is no type%s", words.Plural(out.Rows(),
		"labelled row", "labelled rows"), p.Labelled, left, whose)
	return p.Process.WarnFaults(faults)
}

func (p *Propose) labelsOf(row *dataset.Row, proposal *discover.Proposal) ([]string, bool, error) {
	found, err := issues.Of(row)
	if err != nil {
		return nil, false, err
	}
	t := p.Rows.Taxonomy
	noError, labels := cmp.Or(t.NoError(), "No Error"), []string(nil)
	if !t.IsTask() { // its types are kept, and so are the labels
		d, err := row.Diagnosis()
		if err != nil || d == nil || d.Status != "" {
			p.untagged++
			return nil, false, err
		}
		p.model = cmp.Or(p.model, d.Model)
		for _, label := range d.Labels {
			if label != noError {
				labels = append(labels, label)
			}
		}
	}
	out, known := proposal.LabelsOf(found, labels, noError)
	return out, known, nil
}
