package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/evaluation"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/plainjson"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/internal/runrecord"
	"github.com/erreval/erreval/report"
	"github.com/erreval/erreval/report/chart"
	"github.com/erreval/erreval/taxonomy"
)

// lookOptions are what the commands that look at tagged or scored files have in common.
type lookOptions struct {
	run.Rows
	paths []string
	where map[string]string // column to the value that rows must have there
	form  reportForm

	goldLeftOut int // lines of the file that readGold read
}

func lookFlags() []cli.Flag {
	return append(fileFlags(), mapFlag(), recordedTaxonomyFlag("OUT"), whereFlag("rows"))
}

// reportFlags are those of stats and diff.
func reportFlags() []cli.Flag {
	return append(lookFlags(), idFlag(), groupFlag(), jsonFlag(), markdownFlag(), latexFlag())
}

// readLookOptions reads the options and the file names; min, max and what are those of wantArgs, open loads
// the taxonomy.
func readLookOptions(ctx *cli.Context, min, max int, what string,
	open func(string) (*taxonomy.Taxonomy, error)) (*lookOptions, error) {
	if err := wantArgs(ctx, min, max, what); err != nil {
		return nil, err
	}
	o := &lookOptions{paths: run.WithoutSides(ctx.Args().Slice())}
	if countOf(o.paths, run.Stdio) > 1 {
		return nil, exit.Usagef(`standard input "-" can be read once`)
	}
	if err := run.CheckInputs(o.paths); err != nil {
		return nil, err
	}
	var err error
	if o.Rows, err = openRows(ctx, o.paths, open); err != nil {
		return nil, err
	}
	o.Recorded, o.RecordedID = run.ReadRecorded(o.paths) // rows of several files are joined by it
	if o.where, err = parseWhere(ctx.StringSlice("where")); err != nil {
		return nil, err
	}
	o.form, err = readReportForm(ctx)
	return o, err
}

// Read is that of Rows, and keeps less garbage where rows are large.
func (o *lookOptions) Read(ctx context.Context, p *run.Process, file string, take run.TakeRows) error {
	defer o.Files.LimitMemory(p)()
	return o.Rows.Read(ctx, p, file, take)
}

// readAll hands the rows of each file to the function in its place, and those of further files to the last one.
func (o *lookOptions) readAll(ctx *cli.Context, e *env, take ...run.TakeRows) error {
	for i, file := range o.paths {
		if err := o.Read(ctx.Context, e.Process, file, take[min(i, len(take)-1)]); err != nil {
			return err
		}
	}
	return nil
}

func humanFileFlag(by string) cli.Flag {
	return &cli.StringFlag{Name: "human-file", Usage: "`FILE` with the columns of --human, joined by " + by}
}

// joinRatings reads people's scores from the file that --human-file names, if it does, and gives the columns that hold
// them. In a file with one rating a row names stand for its dimensions; without any these are all that the taxonomy
// has.
func (o *lookOptions) joinRatings(ctx *cli.Context, e *env,
	human []evaluation.HumanScores) ([]evaluation.HumanScores, error) {
	file := ctx.String("human-file")
	first, _ := o.First(ctx.Context, e.Process, o.paths[0])
	if file == "" {
		if first != nil && run.RaterIn(first.Columns()) != "" {
			e.Note([]string{fmt.Sprintf("%s: each row counts by itself; where rows are one each of several people (column %s), "+
				"give their scores in a file of their own, with --human-file", o.paths[0], run.RaterIn(first.Columns()))})
		}
		return human, nil
	}
	o.JoinedWhere = map[string]string{} // what the rows lack, the file may have, as the system
	for column, value := range o.where {
		if first == nil {
			continue
		}
		if _, there := first.Find(column); !there {
			o.JoinedWhere[column] = value
		}
	}
	joined, human, err := readHumanScores(ctx.Context, e, o.Rows, file, human)
	maps.DeleteFunc(o.where, func(column, _ string) bool { return o.JoinedWhere[column] != "" && joined.Has(column) })
	o.Joined = joined
	return human, err
}

// readHumanScores reads people's scores from a file, and gives the columns that rows get.
func readHumanScores(ctx context.Context, e *env, rows run.Rows, file string,
	human []evaluation.HumanScores) (*run.Joined, []evaluation.HumanScores, error) {
	var names []string
	for _, h := range human {
		names = append(names, h.Columns...)
	}
	joined, ratings, err := rows.ReadRatings(ctx, e.Process,
		run.RatingsFile{File: file, Columns: names, Check: evaluation.CheckRating})
	if err != nil || ratings == nil {
		return joined, human, err
	}
	if len(human) == 0 {
		human = dimensionsIn(e, rows.Taxonomy, file, ratings.Dimensions())
	}
	for i, h := range human {
		if human[i].Columns, err = ratings.Columns(joined, h.Columns...); err != nil {
			return joined, nil, err
		}
	}
	return joined, human, nil
}

// dimensionsIn are the taxonomy's dimensions that a file's ratings name, by key or name. It says which names are none.
func dimensionsIn(e *env, t *taxonomy.Taxonomy, file string, names []string) (human []evaluation.HumanScores) {
	var left []string
	for _, name := range names {
		i := slices.IndexFunc(t.Dimensions, func(d taxonomy.Dimension) bool {
			return strings.EqualFold(d.Key, name) || strings.EqualFold(d.Name, name)
		})
		if i < 0 {
			left = append(left, name)
			continue
		}
		human = append(human, evaluation.HumanScores{Dimension: t.Dimensions[i].Key, Columns: []string{name}})
	}
	if len(left) > 0 {
		e.Note([]string{fmt.Sprintf("%s: %s has no dimension %s: left out; --human DIMENSION=%s says which it is", file,
			t.ID(), strings.Join(left, ", "), left[0])})
	}
	return human
}

func (o *lookOptions) checkJoined(e *env) error {
	if o.Joined == nil {
		return nil
	}
	return o.Joined.Check(e.Process)
}

// readGold reads what people say in columns of a file, and in those of may where it has them: from rows with texts, or
// from rows that lack some, which belong to the rows of the first file that have their ids.
func (o *lookOptions) readGold(ctx *cli.Context, e *env, gold string, columns, may []string, take run.TakeRows) error {
	texts := *o
	texts.RepeatedIDs = len(o.where) > 0                    // rows of one id may be those of several people
	texts.Recorded, _ = run.ReadRecordedColumns(o.paths[0]) // they are mostly those of its rows
	if gold == o.paths[0] || !texts.lacksText(ctx, e, gold) {
		if err := texts.Read(ctx.Context, e.Process, gold, take); !run.LacksColumns(err) || gold == o.paths[0] {
			return err
		}
	}
	may = slices.DeleteFunc(slices.Concat(slices.Collect(maps.Keys(o.where)), may),
		func(name string) bool { return name == "" })
	rows := o.Rows
	rows.JoinedWhere = o.where
	joined, err := rows.ReadJoined(ctx.Context, e.Process, gold, columns, may...)
	if err != nil {
		return err
	}
	of := *o
	of.Joined = joined
	err = of.Read(ctx.Context, e.Process, o.paths[0],
		func(ctx context.Context, _ string, read func() (*dataset.Row, error)) error {
			return take(ctx, gold, joined.AllRows(read, len(o.Taxonomy.Fields)))
		})
	o.goldLeftOut = joined.LeftOut()
	return cmp.Or(of.checkJoined(e), err)
}

// lacksText tells whether a file lacks texts that rows may lack, such as answers, and the first file has them.
func (o *lookOptions) lacksText(ctx *cli.Context, e *env, gold string) bool {
	has, first := o.HasTexts(ctx.Context, e.Process, gold), o.HasTexts(ctx.Context, e.Process, o.paths[0])
	for i, there := range first {
		if there && has != nil && !has[i] {
			return true
		}
	}
	return false
}

func countOf(list []string, s string) int {
	n := 0
	for _, x := range list {
		if x == s {
			n++
		}
	}
	return n
}

func parseWhere(pairs []string) (map[string]string, error) {
	where := map[string]string{}
	for _, pair := range pairs {
		column, value, ok := strings.Cut(pair, "=")
		if !ok || column == "" {
			return nil, exit.Usagef("--where %q: write it as COLUMN=VALUE, as in --where split=test", pair)
		}
		if _, twice := where[column]; twice {
			return nil, exit.Usagef("--where: column %q is given twice", column)
		}
		where[column] = value
	}
	return where, nil
}

// taxonomyOf loads the taxonomy given by --taxonomy; where there is none, the built-in one that the first run record
// beside the files names, or that of question generation. open loads it. The record of a taxonomy of the user's own
// does not say where its file is.
func taxonomyOf(given string, files []string,
	open func(string) (*taxonomy.Taxonomy, error)) (*taxonomy.Taxonomy, error) {
	for _, file := range files {
		made, err := runrecord.Read(file)
		if given != "" || err != nil || made.Taxonomy == nil {
			continue
		}
		name, _, _ := strings.Cut(made.Taxonomy.ID, "@")
		if !slices.Contains(taxonomy.Builtins(), name) {
			return nil, exit.With(exit.Unfit, fmt.Errorf("%s was made with the taxonomy %s, which is not built in: "+
				"give its file with --taxonomy FILE", file, made.Taxonomy.ID))
		}
		given = name
	}
	return open(cmp.Or(given, "question-generation"))
}

// readIntervals reads the flags of intervals; what uses them validates them.
func readIntervals(ctx *cli.Context, t *taxonomy.Taxonomy) report.IntervalOptions {
	return report.IntervalOptions{Group: readGroup(ctx, t), Resamples: ctx.Int("bootstrap"), Seed: ctx.Uint64("seed")}
}

// readGroup gives the field or column of --group; "" where each row is its own group.
func readGroup(ctx *cli.Context, t *taxonomy.Taxonomy) string {
	switch group := ctx.String("group"); group {
	case "":
		return t.GroupField()
	case "none":
		return ""
	default:
		return group
	}
}

func readPlotOptions(ctx *cli.Context, flag string) chart.File {
	return chart.File{Option: "--" + flag, Path: ctx.String(flag), Overwrite: ctx.Bool("overwrite")}
}

// reportForm is how figures are printed: as text unless one is set.
type reportForm struct{ json, markdown, latex bool }

func readReportForm(ctx *cli.Context) (reportForm, error) {
	f := reportForm{json: ctx.Bool("json"), markdown: ctx.Bool("markdown"), latex: ctx.Bool("latex")}
	if f.json && f.markdown || f.json && f.latex || f.markdown && f.latex {
		return f, exit.Usagef("--json, --markdown and --latex say how to print; give one of them")
	}
	return f, nil
}

// print prints figures: as JSON themselves, else as their report.
func (f reportForm) print(e *env, figures interface{ Report() *report.Report }) error {
	switch {
	case f.json:
		return plainjson.Write(e.Out, figures)
	case f.markdown:
		return figures.Report().Markdown(e.Out)
	case f.latex:
		return figures.Report().LaTeX(e.Out)
	}
	return figures.Report().Text(e.Out, e.TerminalWidth())
}

// rowFigures are computed from files of rows.
type rowFigures interface {
	Report() *report.Report
	Warnings() []report.FileWarning
	IsIncomplete() bool // rows or lines are left out
}

// picture is one to draw of figures.
type picture struct {
	file chart.File
	draw func(format string) ([]byte, error)
}

// printRows says on standard error what figures of rows leave out, draws and prints them. Its error is coded
// exit.Incomplete where something is left out.
func (o *lookOptions) printRows(e *env, figures rowFigures, pictures ...picture) error {
	for _, w := range figures.Warnings() {
		_ = e.WarnFaults(w.Faults) // the figures know whether they are incomplete
		for _, note := range w.Notes {
			fmt.Fprintf(e.Err, "warning: %s\n", note)
		}
	}
	for _, p := range pictures {
		if err := p.file.Write(p.draw); err != nil {
			return err
		}
	}
	if err := o.form.print(e, figures); err != nil || !figures.IsIncomplete() && o.Joined.LeftOut()+o.goldLeftOut == 0 {
		return err
	}
	return exit.With(exit.Incomplete, nil)
}
