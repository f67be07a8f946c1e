// Package discovering finds issues in the rows of a file. What was found becomes a taxonomy, or files of other
// programs, and comes from these.
package discovering

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/discover"
	"github.com/erreval/erreval/discover/issues"
	"github.com/erreval/erreval/discover/where"
	"github.com/erreval/erreval/internal/app/asking"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/gate"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/internal/runrecord"
	"github.com/erreval/erreval/internal/wholefile"
	"github.com/erreval/erreval/prompt"
	"github.com/erreval/erreval/report"
)

// Discover finds issues in the rows of a file.
type Discover struct {
	Process   *run.Process
	Rows      run.Rows // how Input is read
	Input     string   // file of rows; it is read more than once
	Output    string   // file
	Overwrite bool
	Resume    bool
	JSON      bool   // prints the list as JSON, on standard output
	System    string // column of --by, or "": a table by it follows, and none of issues that are all stable is printed
	Chosen    Chosen
	By        string // discover.ByIssue, …
	// of discover.ByRecord: the column that says what is wrong; "" is that of an earlier run
	Sentence  string
	Analyst   discover.AnalystOptions // of ByIssue and ByCriteria
	Group     discover.Options
	KnownFile string   // list of issues that rows are mapped to, or "": Group.Known is read from it
	Templates []string // files of prompt templates, each in place of the built-in one of its kind
	Intervals report.IntervalOptions
	Gates     []gate.Gate
	Report    string // Markdown file, replaced; "" is none
}

// Chosen says which rows are looked at.
type Chosen struct {
	Where  []where.Condition
	Sample int    // so many; 0 is all
	Worst  bool   // the sample is that of the lowest scores, or of the surest errors where there are none
	Seed   uint64 // of the sample
}

// discovery is one run.
type discovery struct {
	*Discover
	ask       *asking.Options // nil without a model
	judges    *asking.Judges
	model     *discover.Model
	analyst   *discover.Analyst // nil where no model analyses
	grouper   *discover.Grouper
	templates map[string]*prompt.Template
	known     *runrecord.Input
	chosen    []bool           // which of the rows that meet the conditions; nil is all of them
	items     []*discover.Item // of the chosen rows
	faults    []error
	progress  *run.Progress
	steps     stepTimes
}

// Run finds the issues; ask is nil where no model is asked.
func (d *Discover) Run(ctx context.Context, ask *asking.Options) error {
	r := &discovery{Discover: d, ask: ask, progress: run.NewProgress(d.Process)}
	if err := r.prepare(); err != nil {
		return err
	}
	d.Rows.Wanted = d.Chosen.isWanted
	record, err := r.record()
	if err != nil {
		return err
	}
	if d.Resume {
		finished, err := run.IsFinished(d.Output, record)
		if finished {
			d.Process.Say("%s is finished already", d.Output)
		}
		if finished || err != nil && !d.Overwrite {
			return err
		}
	}
	if ask == nil || ask.Asks() {
		if err := errors.Join(d.Rows.Files.CheckOutput(d.Output), r.clearOutputs()); err != nil {
			return err
		}
	}
	all := func() error {
		if err := r.choose(ctx); err != nil {
			return err
		}
		if ask != nil && !ask.Asks() {
			return r.look(ctx)
		}
		return r.find(ctx, record)
	}
	if r.judges == nil {
		return all()
	}
	return r.judges.During(all)
}

// prepare finds what is wrong with the options, and makes analyst and grouper.
func (d *discovery) prepare() error {
	if d.ask != nil {
		if err := d.readTemplates(); err != nil {
			return err
		}
	}
	if err := d.readKnown(); err != nil {
		return err
	}
	if d.ask != nil {
		if err := d.openModel(); err != nil {
			return err
		}
	}
	asksAboutRows := d.By == discover.ByIssue || d.By == discover.ByCriteria
	if d.model == nil && asksAboutRows {
		return exit.Usagef("--analysis %s asks a model: name one with --judge; without one there is --analysis %s, "+
			"for tagged rows, and %s", d.By, discover.ByLabels, discover.ByRecord)
	}
	d.Group.Progress = d.step
	var err error
	if d.By == discover.ByLabels {
		d.Group.Grouping = discover.Offline // no model says what belongs together
		weak := run.ReadMaker(d.Input).Weak
		d.Process.Note(weak)
	}
	if d.grouper, err = discover.NewGrouper(d.model, d.Group); err != nil {
		return exit.With(exit.Usage, err)
	}
	if !asksAboutRows {
		return nil
	}
	d.Analyst.By = d.By
	if d.analyst, err = discover.NewAnalyst(*d.model, d.Analyst); err != nil {
		return exit.With(exit.Usage, err)
	}
	return nil
}

// kinds are the kinds of templates that the run uses, that about rows first.
func (d *discovery) kinds() []string {
	var kinds []string
	switch d.By {
	case discover.ByIssue:
		kinds = append(kinds, prompt.Analyze)
	case discover.ByCriteria:
		kinds = append(kinds, prompt.Evaluate)
	}
	switch d.Group.Grouping {
	case discover.Cumulative:
		kinds = append(kinds, prompt.Fit, prompt.Name)
	case discover.KeyPoints:
		kinds = append(kinds, prompt.Synthesize, prompt.Merge, prompt.Map)
	case discover.Direct:
		kinds = append(kinds, prompt.Direct, prompt.Name)
	}
	return kinds
}

// readTemplates opens the templates that are given, and the built-in ones of the other kinds.
func (d *discovery) readTemplates() error {
	d.templates = map[string]*prompt.Template{}
	for _, file := range d.Templates {
		t, err := prompt.Open(file)
		if err != nil {
			return exit.With(exit.Usage, err)
		}
		if !slices.Contains(d.kinds(), t.Kind) {
			return exit.Usagef("--template %s is of kind %s; this run needs templates of kind %s", file, t.Kind,
				strings.Join(d.kinds(), ", "))
		}
		if d.templates[t.Kind] != nil {
			return exit.Usagef("--template: two templates of kind %s", t.Kind)
		}
		d.templates[t.Kind] = t
		if t.Kind == d.kinds()[0] {
			d.ask.Template = file
		}
	}
	for _, kind := range d.kinds() {
		if d.templates[kind] != nil {
			continue
		}
		t, err := prompt.Builtin(kind)
		if err != nil {
			return err
		}
		d.templates[kind] = t
	}
	return nil
}

func (d *discovery) readKnown() error {
	if d.KnownFile == "" {
		return nil
	}
	known, err := issues.ReadKnown(d.KnownFile)
	if err != nil {
		return exit.With(exit.Usage, fmt.Errorf("--issues: %w", err))
	}
	hashed, err := runrecord.HashFile(d.KnownFile)
	d.known, d.Group.Known = &hashed, known
	return err
}

// clearOutputs makes room for the outputs before there is a journal: a run that cannot begin leaves none, and pays for
// nothing.
func (d *discovery) clearOutputs() error {
	inputs := []string{d.Input}
	if d.KnownFile != "" {
		inputs = append(inputs, d.KnownFile)
	}
	for _, in := range inputs {
		if dataset.SameFile(in, issues.Path(d.Output)) {
			return exit.Usagef("%s would be replaced by the list beside %s; choose another name with -o", in, d.Output)
		}
	}
	for _, out := range []string{d.Output, issues.Path(d.Output), runrecord.Path(d.Output)} {
		if d.Report != "" && dataset.SameFile(out, d.Report) {
			return exit.Usagef("--report %s would replace %s; choose another name", d.Report, out)
		}
	}
	if err := wholefile.RefuseIrregular(d.Report); err != nil {
		return err
	}
	if d.judges != nil {
		if err := d.judges.CheckPath(d.Input, d.Output); err != nil {
			return err
		}
	}
	return run.ClearOutput(d.Output, d.Overwrite || d.Resume,
		func(old *runrecord.Record) bool { return old.Command == "discover" }, inputs...)
}

// openModel makes the model.
func (d *discovery) openModel() (err error) {
	if len(d.ask.Models) != 1 {
		return exit.Usagef("--judge names %d models; issues are discovered by one", len(d.ask.Models))
	}
	if d.judges, err = asking.New(d.ask, d.kinds()[0], d.Output); err != nil {
		return err
	}
	d.model = &discover.Model{Model: d.judges.Models()[0], Taxonomy: d.Rows.Taxonomy, Templates: d.templates,
		Attempts: d.ask.Panel.Attempts, Workers: d.ask.Panel.Workers}
	return nil
}

// find analyses, groups and writes.
func (d *discovery) find(ctx context.Context, record *runrecord.Record) error {
	d.progress.Begin(-1, nil)
	var list *issues.List
	err := d.analyse(ctx)
	if err == nil && len(d.items) == 0 && len(d.Chosen.Where) > 0 {
		err = fmt.Errorf("no row of %s meets --where %s", d.Input, strings.Join(d.whereTexts(), " and "))
	}
	if err == nil {
		list, err = d.group(ctx)
	}
	d.progress.Clear()
	if err != nil {
		return d.stopped(ctx, err)
	}
	if d.judges != nil {
		if record.Usage, err = d.judges.Usage(); err != nil {
			return err
		}
	}
	if err := d.write(ctx, record, list); err != nil {
		return err
	}
	counts := countsOf(list, len(d.faults))
	results := gate.CheckAll(d.Gates, counts)
	for _, g := range d.Gates {
		if _, counted := counts.Labels[g.Subject]; !counted && issues.IsID(g.Subject) && g.Subject != gate.Rejected {
			d.Process.Warn("--fail-on %q: no issue has the id %s, so that 0 rows are counted", g.Text, g.Subject)
		}
	}
	return errors.Join(d.publish(list), d.Process.WarnFaults(d.faults), d.incomplete(list), d.Process.MissedGates(results))
}

// group sorts what was found into issues.
func (d *discovery) group(ctx context.Context) (*issues.List, error) {
	sort := d.grouper.Group
	if d.By == discover.ByLabels {
		sort = d.grouper.GroupLabels
	}
	modes := discover.CountModes(d.items)
	result, err := sort(ctx, d.items)
	if err != nil {
		return nil, err
	}
	for _, note := range result.Notes {
		d.progress.Clear()
		d.Process.Warn("%s", note)
	}
	t := d.Rows.Taxonomy
	list, err := result.Publish(ctx, discover.PublishOptions{Intervals: d.Intervals, Labels: t.Errors()})
	if err != nil {
		return nil, err
	}
	list.Modes = modes
	list.Task, list.Analysis, list.Grouping = t.ID(), d.By, d.Group.Grouping
	if d.Group.Grouping == discover.Cumulative {
		list.Orders = d.Group.Orders
	}
	if d.analyst != nil {
		list.Mode = d.Analyst.Evidence
	}
	return list, nil
}

// stopped says how a run that ended early goes on.
func (d *discovery) stopped(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		goOn := "the same command begins again"
		if d.judges != nil {
			goOn = d.judges.DescribeNextRun()
		}
		return exit.With(exit.Interrupted, errors.New("interrupted; "+goOn))
	case d.judges == nil:
		return err
	}
	stop := d.judges.FindStop(err)
	if stop == nil {
		return err
	}
	return exit.With(stop.Code, fmt.Errorf("stopped: %w\n%s", err, stop.GoOn))
}
