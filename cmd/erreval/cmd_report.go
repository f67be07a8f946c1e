package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/internal/app/reporting"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/plainjson"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/internal/wholefile"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/report"
	"github.com/erreval/erreval/report/page"
	"github.com/erreval/erreval/report/view"
	"github.com/erreval/erreval/taxonomy"
)

const reportDescription = `One HTML file with a page that shows rows, errors, issues, scores and comparisons. It opens in a browser without a
network, and can be mailed; it holds the rows:
   erreval report tagged.jsonl -o report.html
   erreval report scored.jsonl found.jsonl compared.jsonl -o report.html

All files of a folder; a folder of "erreval refine"; results of CLEAR:
   erreval report results/ work/ clear.zip -o report.html

Figures for a pull request, or for a program:
   erreval report tagged.jsonl --format markdown >> "$GITHUB_STEP_SUMMARY"
   erreval report tagged.jsonl --format json

Above 20,000 rows the file holds a drawn sample of them (--sample), and the figures of all. People's scores and
verdicts are compared where --human names their columns. docs/report.md says what the page shows.`

// Formats of a report.
const (
	formatHTML     = "html"
	formatMarkdown = "markdown"
	formatJSON     = "json"
)

func reportCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:        "report",
		Usage:       "write what was found as a page that opens in a browser, as Markdown or as JSON",
		ArgsUsage:   "IN...",
		Description: reportDescription,
		Flags: append([]cli.Flag{outFlag(),
			&cli.StringFlag{Name: "format", Usage: "`FORMAT` of the report: html, markdown or json (default: what the name of " +
				"OUT says)"},
			&cli.IntFlag{Name: "sample", Value: 20_000, Usage: "above `N` rows, put so many, drawn, into an HTML file"},
		}, append(viewFlags(), overwriteFlag())...),
		Action: withArgs(1, -1, "files of rows, or folders of them",
			func(ctx *cli.Context) error { return runReport(ctx, e) }),
	}
}

// viewFlags say how files become what is seen of them.
func viewFlags() []cli.Flag {
	return []cli.Flag{mapFlag(), idFlag(), recordedTaxonomyFlag("IN"),
		&cli.StringFlag{Name: "by", Usage: "`COLUMN` that tells systems apart, or file (default: system, else one called " +
			"model, generator or the like)"},
		&cli.StringSliceFlag{Name: "human", Usage: "columns with people's scores, `DIMENSION=COLUMN[,COLUMN]`, or with their " +
			"verdicts on pairs, COLUMN[,COLUMN]; of --human-file, labels=COLUMN too; may be repeated"},
		humanFileFlag("id"),
		&cli.StringFlag{Name: "title", Usage: "`TITLE` of the page (default: the names of the files)"},
		&cli.Uint64Flag{Name: "seed", Value: 1, Usage: "`SEED` of the sample and of resampling"}}
}

func runReport(ctx *cli.Context, e *env) error {
	out := ctx.String("output")
	format, err := reportFormat(ctx.String("format"), out)
	if err != nil {
		return err
	}
	if n := ctx.Int("sample"); n < 1 {
		return exit.Usagef("--sample %d: give a number of rows, at least 1", n)
	}
	if err := checkReport(out, ctx.Bool("overwrite")); err != nil {
		return err
	}
	defer e.LimitMemory(0)() // of records of the usual size
	v, err := openViewed(ctx, e, ctx.Args().Slice(), "")
	if err != nil {
		return err
	}
	defer v.index.Close()
	write := func(w io.Writer) error {
		if format == formatHTML {
			return v.writePage(ctx.Context, w, ctx.Int("sample"), ctx.Uint64("seed"))
		}
		return v.writeFigures(ctx.Context, w, format)
	}
	if out == "" {
		return errors.Join(write(e.Out), v.incomplete())
	}
	if err := wholefile.Fill(out, write); err != nil || e.Quiet {
		return errors.Join(err, v.incomplete())
	}
	for _, note := range v.catalog.Notes {
		e.Warn("%s", words.Printable(note))
	}
	info, err := os.Stat(out)
	if err != nil {
		return err
	}
	e.Warn("%s: %s of %s, %.1f MB", out, words.Plural(v.catalog.Rows, "row", "rows"),
		words.Plural(len(v.catalog.Runs), "run", "runs"), float64(info.Size())/1e6)
	return v.incomplete()
}

// incomplete says which files have lines that are left out; a note of the report says why.
func (v *viewed) incomplete() error {
	var errs []error
	for _, f := range v.index.Files() {
		if f.Rejected > 0 {
			errs = append(errs, exit.With(exit.Incomplete, fmt.Errorf("%s: %s", f.Name,
				words.Plural(f.Rejected, "line is no row", "lines are no rows"))))
		}
	}
	return errors.Join(errs...)
}

// reportFormat is what the flag, else the name of the output says.
func reportFormat(flag, out string) (string, error) {
	formats := []string{formatHTML, formatMarkdown, formatJSON}
	if flag != "" && !slices.Contains(formats, flag) {
		return "", exit.Usagef("--format %q: a report is %s; the files that are read say themselves what they are", flag,
			strings.Join(formats, ", "))
	}
	named := map[string]string{".html": formatHTML, ".htm": formatHTML, ".md": formatMarkdown, ".markdown": formatMarkdown,
		".json": formatJSON}[strings.ToLower(filepath.Ext(out))]
	switch {
	case out == run.Stdio:
		return "", exit.Usagef("-o -: leave out -o, and give --format markdown or --format json, to print a report")
	case flag != "" && (out != "" || flag != formatHTML):
		return flag, nil
	case out == "":
		return "", exit.Usagef("give -o OUT, as in -o report.html; --format markdown and --format json can be printed")
	case named == "":
		return "", exit.Usagef("-o %s: the name does not say what to write; end it with .html, .md or .json, or give "+
			"--format", out)
	}
	return named, nil
}

// checkReport finds out before anything is read whether the output is in the way of something.
func checkReport(out string, overwrite bool) error {
	if out == "" {
		return nil
	}
	if !overwrite {
		return run.CheckNew(out)
	}
	info, err := os.Stat(out)
	if err != nil {
		return nil
	}
	if info.IsDir() {
		return exit.Usagef("-o %s is a folder; name a file in it", out)
	}
	return nil
}

// viewed is what files hold, to be seen.
type viewed struct {
	index   *view.Index
	catalog *view.Catalog // with sections
}

// openViewed reads files, and works out what does not follow filters. What is made of many rows stays in a folder, and
// is found again there; "" keeps nothing.
func openViewed(ctx *cli.Context, e *env, inputs []string, cache string) (*viewed, error) {
	if slices.Contains(inputs, run.Stdio) {
		return nil, exit.Usagef(`standard input cannot be read here: what lies beside a file belongs to it; name files`)
	}
	paths, workspaces, err := reporting.FindWorkspaces(run.WithoutSides(inputs))
	if err != nil {
		return nil, err
	}
	o := view.Options{Title: ctx.String("title"), CacheDir: cache, System: ctx.String("by")}
	var given *taxonomy.Taxonomy
	if ctx.String("taxonomy") != "" || len(ctx.StringSlice("map")) > 0 {
		if given, err = taxonomyOf(ctx.String("taxonomy"), paths, openTask); err != nil {
			return nil, err
		}
		if o.Columns, err = run.ReadMap(ctx.StringSlice("map"), given.FieldNames()); err != nil {
			return nil, err
		}
		o.Taxonomy = given
	}
	if o.ID, err = run.ReadID(ctx.String("id")); err != nil {
		return nil, err
	}
	progress := run.NewProgress(e.Process)
	progress.Begin(-1, nil)
	o.Progress = progress.Show
	index, err := view.Open(ctx.Context, paths, o)
	progress.Clear()
	if err != nil {
		return nil, err
	}
	if err := checkRows(e, paths, index.Catalog()); err != nil {
		return nil, errors.Join(err, index.Close())
	}
	v := &viewed{index: index}
	if err = reporting.CheckSystem(index, o.System); err != nil {
		return nil, errors.Join(err, index.Close())
	}
	so := reporting.Options{Source: index, System: o.System, Workspaces: workspaces, Seed: ctx.Uint64("seed")}
	for _, f := range index.Files() {
		so.Runs = append(so.Runs, reporting.Run{Name: f.Name, Path: f.Path})
	}
	if err := readHuman(ctx.StringSlice("human"), index.Taxonomy(), &so); err != nil {
		return nil, errors.Join(err, index.Close())
	}
	joined, err := readHumanFile(ctx, e, &o, &so, index.Taxonomy())
	if err != nil {
		return nil, errors.Join(err, index.Close())
	}
	so.Open = func(path string) (run.Rows, error) {
		rows, err := openViewedRows(path, &o, given, index.Taxonomy())
		rows.Joined = joined
		return rows, err
	}
	if v.catalog, err = reporting.Complete(ctx.Context, so); err == nil && joined != nil {
		err = joined.Check(e.Process)
	}
	if err != nil {
		return nil, errors.Join(err, index.Close())
	}
	return v, nil
}

// checkRows refuses files without rows, and says where nothing was looked for in the rows.
func checkRows(e *env, paths []string, c *view.Catalog) error {
	if c.Rows == 0 {
		none := strings.Join(slices.Concat([]string{"there are no rows"}, c.Notes), "; ")
		return fmt.Errorf("%s: %s", strings.Join(paths, ", "), none)
	}
	if c.IsBare() {
		e.Note([]string{"nothing was looked for in these rows yet: run erreval identify, or discover, first"})
	}
	var systems []string
	for _, f := range c.Facets {
		if f.Key == "system" {
			for _, v := range f.Values {
				systems = append(systems, v.Name)
			}
		}
	}
	if alike := report.AlikeSystems(systems); alike != "" {
		e.Warn("%s", alike)
	}
	return nil
}

// openViewedRows says how a file is read again: with the taxonomy that its record names, else with that of the view.
func openViewedRows(path string, o *view.Options, given, used *taxonomy.Taxonomy) (run.Rows, error) {
	files, err := run.FileOptions{}.Open()
	if err != nil {
		return run.Rows{}, err
	}
	t := given
	if t == nil {
		t, err = taxonomyOf("", []string{path}, openTask)
		if used != nil && (err != nil || t.Name == used.Name) {
			t, err = used, nil
		}
	}
	rows := run.Rows{Files: files, Taxonomy: t}
	rows.Columns, rows.ID = o.Columns, o.ID
	return rows, err
}

// writeFigures writes the report as Markdown or JSON.
func (v *viewed) writeFigures(ctx context.Context, w io.Writer, format string) error {
	figures, err := reporting.ComputeFigures(ctx, v.index)
	if err != nil {
		return err
	}
	if format == formatMarkdown {
		return reporting.Print(v.catalog, figures).Markdown(w)
	}
	return plainjson.Write(w, struct {
		Catalog *view.Catalog `json:"catalog"`
		*reporting.Figures
	}{v.catalog, figures})
}

// writePage writes the page with its rows, or with a sample of them, and the figures of all.
func (v *viewed) writePage(ctx context.Context, w io.Writer, sample int, seed uint64) error {
	data := view.Data{Catalog: v.catalog}
	var err error
	if data.Rows, data.Catalog.Sample, err = v.index.Columns(ctx, sample, seed); err != nil {
		return err
	}
	if data.Answers, err = reporting.Answers(ctx, v.index); err != nil {
		return err
	}
	records := data.Rows.Records
	data.Rows.Records = []json.RawMessage{}
	text, err := plainjson.Marshal(data, "")
	if err != nil {
		return err
	}
	figures, err := reporting.ComputeFigures(ctx, v.index)
	if err != nil {
		return err
	}
	var summary strings.Builder
	err = reporting.Print(v.catalog, figures).Text(run.Guard(&summary), 0)
	return errors.Join(err, page.File(w, data.Catalog.Title, summary.String(), text, records))
}
