package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/app/asking"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/internal/runrecord"
	"github.com/erreval/erreval/llm"
	"github.com/erreval/erreval/llm/journal"
	"github.com/erreval/erreval/report/rows"
)

const showDescription = `Read tagged rows with their errors:
   erreval show tagged.jsonl
   erreval show tagged.jsonl --color always | less -R

Rows with an error (by name or code), without one, of a system, of an id:
   erreval show tagged.jsonl --label "Factual Error" --label OTA --not Vague
   erreval show tagged.jsonl --label any --where system=small --limit 10
   erreval show tagged.jsonl --id rovers-3

Rows with an issue that erreval discover found:
   erreval show found.jsonl --issue "Answers Another Question"

Rows that could not be tagged; rows that the model was least sure of:
   erreval show tagged.jsonl --status untagged
   erreval show tagged.jsonl --top uncertain --limit 20

The rows themselves, to a file, or as JSON Lines for another program:
   erreval show tagged.jsonl --label Vague -o vague.csv
   erreval show tagged.jsonl --label Vague --json | wc -l

What models were asked about a row, and what they replied (of a run with --keep-prompts):
   erreval show scored.jsonl --id rovers-3 --prompts

In the field that rows share (the passage), what the other fields say word for word is highlighted.`

func showCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:        "show",
		Usage:       "read tagged rows with their errors in the terminal",
		ArgsUsage:   "OUT...",
		Description: showDescription,
		Flags: append(lookFlags(),
			&cli.StringSliceFlag{Name: "label",
				Usage: "only rows with this `LABEL` (name, code, or any); may be repeated: one of them is enough"},
			&cli.StringSliceFlag{Name: "not", Usage: "no rows with this `LABEL`; may be repeated"},
			&cli.StringSliceFlag{Name: "issue",
				Usage: "only rows with this `ISSUE` of erreval discover (name or id); may be repeated: one of them is enough"},
			&cli.StringSliceFlag{Name: "id",
				Usage: "only the row with this `ID` (ID* for what it begins with); may be repeated"},
			idColumnFlag(),
			&cli.StringFlag{Name: "status", Usage: "only rows of this `STATUS`: tagged, untagged or truncated"},
			&cli.StringFlag{Name: "top",
				Usage: "`uncertain`: the rows whose probabilities are closest to their thresholds first"},
			&cli.IntFlag{Name: "limit",
				Usage: fmt.Sprintf("stop after `N` rows; 0 shows all (with --top: %d)", rows.DefaultTop)},
			&cli.StringFlag{Name: "color", Value: "auto", Usage: "`WHEN` to use colours: auto, always or never"},
			&cli.BoolFlag{Name: "prompts",
				Usage: "print below each row what models were asked about it, and their replies, from the journal"},
			&cli.StringFlag{Name: "journal", Usage: "`FILE` that --prompts reads (default: OUT.journal)"},
			&cli.BoolFlag{Name: "json", Usage: "print the rows as they are, one JSON object a line"},
			rowsOutFlag(), overwriteFlag()),
		Action: func(ctx *cli.Context) error { return runShow(ctx, e) },
	}
}

func runShow(ctx *cli.Context, e *env) error {
	look, err := readLookOptions(ctx, 1, -1, "one or more tagged files", openTask)
	if err != nil {
		return err
	}
	kept, err := openKeptPrompts(ctx, look.paths)
	if err != nil {
		return err
	}
	defer kept.Close()
	out, record, err := createChosen(ctx, look)
	if err != nil {
		return err
	}
	view, err := openView(ctx, e, look, kept, out)
	if err == nil {
		err = readView(ctx, e, look, view)
	}
	if out != nil {
		record.Counts = map[string]int{run.CountRows: out.Rows()}
		err = out.End(err)
	}
	if err != nil {
		return err
	}
	return e.WarnFaults(view.Faults())
}

// readView shows the rows that are chosen.
func readView(ctx *cli.Context, e *env, look *lookOptions, view *rows.View) error {
	for _, file := range look.paths {
		if err := look.Read(ctx.Context, e.Process, file, view.ReadRows); err != nil {
			return err
		}
		if view.IsFull() {
			break
		}
	}
	return view.Close()
}

// chosenOptions are what a file of chosen rows is remembered by.
type chosenOptions struct {
	runrecord.Reading
	Where  map[string]string `json:"where,omitempty"`
	Label  []string          `json:"label,omitempty"`
	Not    []string          `json:"not,omitempty"`
	Issues []string          `json:"issues,omitempty"`
	IDs    []string          `json:"ids,omitempty"`
	Status string            `json:"status,omitempty"`
	Top    string            `json:"top,omitempty"`
}

// createChosen starts the file that the chosen rows are written to; nil where they are printed.
func createChosen(ctx *cli.Context, look *lookOptions) (*run.Output, *runrecord.Record, error) {
	path := ctx.String("output")
	switch {
	case path == "":
		return nil, nil, nil
	case ctx.Bool("json") || ctx.Bool("prompts"):
		return nil, nil, exit.Usagef("-o writes rows to a file, and --json and --prompts print them; leave one of them out")
	case path == run.Stdio:
		return nil, nil, exit.Usagef("-o takes a file; --json prints the rows")
	}
	reading := look.Reading
	reading.Limit = ctx.Int("limit")
	record, err := look.NewRecord("show", chosenOptions{reading, look.where, ctx.StringSlice("label"),
		ctx.StringSlice("not"), ctx.StringSlice("issue"), ctx.StringSlice("id"), ctx.String("status"),
		ctx.String("top")}, look.paths...)
	if err != nil {
		return nil, nil, err
	}
	if fields, id := run.ReadRecordedColumns(look.paths[0]); len(look.Columns) == 0 {
		record.Columns, record.ID = fields, id // the rows have them still
	}
	out, err := look.Create(path, ctx.Bool("overwrite"), record, look.paths...)
	return out, record, err
}

func openView(ctx *cli.Context, e *env, look *lookOptions, kept keptPrompts, out *run.Output) (*rows.View, error) {
	color, colorErr := e.UsesColor(ctx.String("color"))
	thresholds := func(file string) dataset.Probabilities { return run.ReadMaker(file).Thresholds }
	o := rows.Options{Taxonomy: look.Taxonomy, Where: look.where,
		Labels: ctx.StringSlice("label"), Not: ctx.StringSlice("not"), Issues: ctx.StringSlice("issue"),
		IDs:    ctx.StringSlice("id"),
		Status: ctx.String("status"), Top: ctx.String("top"), Limit: ctx.Int("limit"),
		Thresholds: thresholds, Columns: look.Columns, Width: e.Width(), Color: color, Out: e.Out}
	if !e.Quiet {
		o.Notes = e.Err
	}
	if kept != nil {
		o.After = func(row *dataset.Row) error { return kept.print(e, row) }
	}
	if ctx.Bool("json") {
		lines := dataset.NewWriter(o.Out)
		o.Take = func(row *dataset.Row) error { return errors.Join(lines.Write(row), lines.Flush()) }
	}
	if out != nil {
		o.Take = out.Write
	}
	if color && o.Take == nil { // texts of rows are printable already
		o.Out = run.Unguarded(o.Out)
	}
	view, err := rows.NewView(o)
	return view, errors.Join(err, colorErr)
}

// keptPrompts are the journals of files of rows, by file; nil without --prompts.
type keptPrompts map[string]*journal.Journal

// openKeptPrompts opens the journals of files, of which several may be one.
func openKeptPrompts(ctx *cli.Context, files []string) (keptPrompts, error) {
	name := ctx.String("journal")
	switch {
	case !ctx.Bool("prompts") && name != "":
		return nil, exit.Usagef("--journal is for --prompts, which prints what is in it")
	case !ctx.Bool("prompts"):
		return nil, nil
	case ctx.Bool("json"):
		return nil, exit.Usagef("--json prints rows as they are, and --prompts more than that; leave one of them out")
	}
	kept := keptPrompts{}
	for _, file := range files {
		path := name
		if path == "" {
			path = filepath.Clean(strings.TrimSuffix(file, dataset.PartialPath(""))) + ".journal"
		}
		if _, err := os.Stat(path); err != nil { // opening it would make one
			err = exit.With(exit.Usage, fmt.Errorf("%w; give the journal of %s with --journal FILE", err, file))
			return nil, errors.Join(err, kept.Close())
		}
		j, err := journal.Open(path)
		if err != nil {
			return nil, errors.Join(err, kept.Close())
		}
		kept[file] = j
	}
	return kept, nil
}

// Close closes the journals.
func (k keptPrompts) Close() error {
	var faults []error
	for _, j := range k {
		faults = append(faults, j.Close())
	}
	return errors.Join(faults...)
}

// print prints what was asked about a row, and what was replied.
func (k keptPrompts) print(e *env, row *dataset.Row) error {
	prompts, err := k[row.Source].Prompts(row.ID)
	if err != nil {
		return err
	}
	if len(prompts) == 0 {
		e.Warn("row %s: no prompt is kept; the run that asks about it needs --keep-prompts", row.ID)
	}
	w := run.Guard(run.Unguarded(e.Out))
	for _, p := range prompts {
		asking.PrintMessages(w, p.About, append(p.Messages, replies(p)...))
	}
	return nil
}

// replies are the replies to a prompt as messages.
func replies(p journal.Prompt) []llm.Message {
	var all []llm.Message
	for _, r := range p.Replies {
		title := "reply of " + r.Model
		if r.Finish != llm.FinishStop && r.Finish != "" {
			title += ", " + r.Finish
		}
		if r.Rejected {
			title += ", of no use"
		}
		all = append(all, llm.Message{Role: title, Content: r.Text})
	}
	return all
}
