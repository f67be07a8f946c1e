package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/report"
	"github.com/erreval/erreval/taxonomy"
)

// lookOptions are what show, stats and diff have in common.
type lookOptions struct {
	run.Rows
	paths  []string
	filter *dataset.Filter // --where
}

func lookFlags() []cli.Flag {
	return append(rowFlags(),
		&cli.StringFlag{Name: "taxonomy", EnvVars: envName("taxonomy"),
			Usage: "`TAXONOMY`: a built-in name or a YAML file (default: the one in OUT.run.json, else question-generation)"},
		&cli.StringSliceFlag{Name: "where", Usage: "only rows with this value, `COLUMN=VALUE`; may be repeated"})
}

// reportFlags are those of stats and diff.
func reportFlags() []cli.Flag {
	return append(lookFlags(),
		&cli.StringFlag{Name: "group", Usage: "field or column by which intervals resample, `FIELD`, or none (default: the taxonomy's group field)"},
		&cli.IntFlag{Name: "bootstrap", Value: report.DefaultIntervals().Resamples, Usage: "`N` resamples for the intervals; 0: no intervals"},
		&cli.Uint64Flag{Name: "seed", Value: report.DefaultIntervals().Seed, Usage: "`SEED` of the resampling"},
		jsonFlag(), markdownFlag())
}

func lookOptionsFrom(ctx *cli.Context) (*lookOptions, error) {
	o := &lookOptions{paths: ctx.Args().Slice()}
	if countOf(o.paths, run.Stdio) > 1 {
		return nil, exit.Usagef(`standard input "-" can be read once`)
	}
	if err := run.CheckInputs(o.paths); err != nil {
		return nil, err
	}
	t, err := taxonomyOf(ctx.String("taxonomy"), o.paths)
	if err != nil {
		return nil, err
	}
	if o.Rows, err = openRowInput(ctx, t); err != nil {
		return nil, err
	}
	where, err := parseWhere(ctx.StringSlice("where"))
	o.filter = &dataset.Filter{Where: where}
	return o, err
}

// taxonomyOf loads the taxonomy given by --taxonomy; where there is none, the built-in one that the first run record beside
// the files names, or that of question generation. The record of a taxonomy of the user's own does not say where its file is.
func taxonomyOf(given string, files []string) (*taxonomy.Taxonomy, error) {
	for _, file := range files {
		made := run.ReadMade(file)
		if given != "" || made == nil || made.Taxonomy.ID == "" {
			continue
		}
		name, _, _ := strings.Cut(made.Taxonomy.ID, "@")
		if !slices.Contains(taxonomy.Builtins(), name) {
			return nil, exit.With(exit.Unfit, fmt.Errorf("%s was made with the taxonomy %s, which is not built in: give its file with --taxonomy FILE", file, made.Taxonomy.ID))
		}
		given = name
	}
	return openTaxonomy(cmp.Or(given, "question-generation"))
}

// each calls f for every row of a file that --where lets through, with its diagnosis or nil.
func (o *lookOptions) each(ctx context.Context, e *env, file string, f func(*dataset.Row, *dataset.Diagnosis) error) ([]error, error) {
	faults, err := o.Each(ctx, e.Process, file, func(row *dataset.Row) error {
		if !o.filter.Match(row) {
			return nil
		}
		d, err := row.Diagnosis()
		if err != nil {
			return err
		}
		if d != nil && !d.MadeWith(o.Taxonomy.ID()) {
			return o.unfit("row "+row.ID, d.Taxonomy)
		}
		return f(row, d)
	})
	if unfit := o.foreign(errors.Join(append(faults, err)...)); unfit != nil {
		err = unfit
	}
	return faults, err
}

func (o *lookOptions) unfit(what, found string) error {
	name, _, _ := strings.Cut(found, "@")
	if !slices.Contains(taxonomy.Builtins(), name) {
		name = "FILE"
	}
	return exit.With(exit.Unfit, fmt.Errorf("%s was tagged with the taxonomy %s, not %s; rows of one taxonomy can be looked at together: choose it with --taxonomy %s",
		what, found, o.Taxonomy.ID(), name))
}

// foreign tells whether a line is no row, or columns are missing, because the file is one of another taxonomy, with
// other fields.
func (o *lookOptions) foreign(err error) error {
	var fault *dataset.LineError
	var missing *dataset.ColumnsError
	var line struct{ Diagnosis *dataset.Diagnosis }
	place := ""
	switch {
	case errors.As(err, &missing):
		place = fmt.Sprintf("%s:%d", missing.First.Source, missing.First.Line)
		line.Diagnosis, err = missing.First.Diagnosis()
	case errors.As(err, &fault):
		place = fmt.Sprintf("%s:%d", fault.File, fault.Line)
		err = json.Unmarshal(fault.Raw, &line)
	}
	if err != nil || line.Diagnosis == nil || line.Diagnosis.MadeWith(o.Taxonomy.ID()) {
		return nil
	}
	return o.unfit(place, line.Diagnosis.Taxonomy)
}

// noRows says why there is nothing to look at.
func (o *lookOptions) noRows(rows int, faults []error) error {
	files := strings.Join(o.paths, ", ")
	switch {
	case rows > 0:
		return fmt.Errorf("%s: none of %s is tagged; tag them first, as in: erreval identify %s -o OUT", files, words.Plural(rows, "row", "rows"), o.paths[0])
	case len(faults) > 0:
		return fmt.Errorf("%s: no row could be read; the first fault: %w", files, faults[0])
	case len(o.filter.Where) > 0:
		return o.filter.NoMatch(files)
	}
	return fmt.Errorf("%s: there are no rows", files)
}

// warnFaults prints lines that are no rows, and gives the exit code that says so.
func warnFaults(e *env, faults []error) error { return e.WarnFaults(faults) }

// scheme is the taxonomy as reports take it.
func scheme(t *taxonomy.Taxonomy) report.Scheme {
	s := report.Scheme{Taxonomy: t.ID()}
	for _, y := range t.Types {
		if y.NoError {
			s.NoError = y.Name
			continue
		}
		s.Labels = append(s.Labels, report.Label{Name: y.Name, Code: y.Code})
	}
	return s
}

// checkedIntervals reads the flags of intervals.
func (o *lookOptions) checkedIntervals(ctx *cli.Context) (report.IntervalOptions, error) {
	i := readIntervals(ctx, o.Taxonomy)
	if err := i.Validate(); err != nil {
		return i, exit.Usagef("--bootstrap: %w", err)
	}
	return i, nil
}

// readIntervals reads the flags of intervals; what uses them validates them.
func readIntervals(ctx *cli.Context, t *taxonomy.Taxonomy) report.IntervalOptions {
	o := report.IntervalOptions{Method: report.Bootstrap, Group: ctx.String("group"), Resamples: ctx.Int("bootstrap"),
		Seed: ctx.Uint64("seed")}
	switch o.Group {
	case "":
		o.Group = t.GroupField()
	case "none":
		o.Group = ""
	}
	if o.Resamples == 0 {
		o.Method = report.None
	}
	return o
}

// reportForm is how figures are printed: as text unless one of the two is set.
type reportForm struct{ json, markdown bool }

func readReportForm(ctx *cli.Context) (reportForm, error) {
	f := reportForm{json: ctx.Bool("json"), markdown: ctx.Bool("markdown")}
	if f.json && f.markdown {
		return f, exit.Usagef("--json and --markdown both say how to print; give one of them")
	}
	return f, nil
}

// print prints figures: as JSON themselves, else as their report.
func (f reportForm) print(e *env, figures interface{ Report() *report.Report }) error {
	switch {
	case f.json:
		return writeJSON(e.Out, figures)
	case f.markdown:
		return figures.Report().Markdown(e.Out)
	}
	return figures.Report().Text(e.Out)
}
