package main

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/internal/app/discovering"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/internal/words"
)

func issuesCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:  "issues",
		Usage: "read and write the issues of other programs: CLEAR, the qualitative judge",
		Description: `What CLEAR found, as rows with a column "issues" and a list (OUT.issues.json), which all commands take that
take the output of "erreval discover"; and the other way round, for CLEAR's dashboard:
   erreval issues import results.zip -o found.jsonl
   erreval diff found.jsonl new-found.jsonl
   erreval issues export found.jsonl --to clear -o results.zip

The qualitative judge's report.json, with intermediate_outputs.json beside it:
   erreval issues import results/ -o found.jsonl
   erreval issues export found.jsonl --to qualitative-judge -o results/

What the other format cannot hold is said. docs/formats.md says what maps to what.`,
		Subcommands: []*cli.Command{importIssuesCommand(e), exportIssuesCommand(e)},
	}
}

func importIssuesCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "import",
		Usage:     "make rows with issues, and their list, of another program's results",
		ArgsUsage: "FILE|FOLDER",
		Description: `A ZIP file of CLEAR, also one that holds such files, or the qualitative judge's folder or report.json:
   erreval issues import results.zip -o found.jsonl
   erreval issues import runs.zip --member second.zip -o found.jsonl
   erreval issues import results/report.json -o found.csv

Rows that CLEAR leaves out since they have no score, or counts as without issue since it got no reply, are unassigned
with the reason, which leads to exit code 3.`,
		Flags: []cli.Flag{rowsOutFlag(), overwriteFlag(), limitFlag(),
			&cli.BoolFlag{Name: "json", Usage: "print the list of issues as JSON, on standard output"},
			&cli.StringFlag{Name: "member", Usage: "read `NAME`, a ZIP file inside of FILE"},
			formatFlag(), sheetFlag(), delimiterFlag(), maxRecordFlag()},
		Action: withArgs(1, 1, "one file or folder", func(ctx *cli.Context) error {
			t, err := openTask("response")
			if err != nil {
				return err
			}
			i := &discovering.ImportIssues{Process: e.Process, File: ctx.Args().First(), Member: ctx.String("member"),
				Output: ctx.String("output"), Overwrite: ctx.Bool("overwrite"),
				JSON: ctx.Bool("json")}
			if i.Rows, err = openRowInput(ctx, t); err != nil {
				return err
			}
			if i.Rows.Limit = ctx.Int("limit"); i.Rows.Limit < 0 {
				return exit.Usagef("--limit %d: give a number of rows, or 0 for all", i.Rows.Limit)
			}
			size, err := words.ParseSize(ctx.String("max-record"))
			if err != nil {
				return exit.Usagef("--max-record %w", err)
			}
			i.MaxRecord = int(size)
			if i.Output == "" || i.Output == run.Stdio {
				return exit.Usagef("a list of issues stands beside the output: give -o FILE")
			}
			return i.Run(ctx.Context)
		}),
	}
}

func exportIssuesCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "export",
		Usage:     "write rows and their issues as another program's results",
		ArgsUsage: "OUT",
		Description: `OUT is what "erreval discover" or "erreval issues import" wrote, with its list beside it:
   erreval issues export found.jsonl --to clear -o results.zip
   erreval issues export found.jsonl --to qualitative-judge -o results/`,
		Flags: slices.Concat([]cli.Flag{outFlag(), overwriteFlag(),
			&cli.StringFlag{Name: "to", Usage: "write for `PROGRAM`: " + strings.Join(discovering.ExportPrograms(), " or ")},
			recordedTaxonomyFlag("OUT")}, rowFlags()),
		Action: withArgs(1, 1, "one file of rows", func(ctx *cli.Context) error {
			rows, err := openRows(ctx, ctx.Args().Slice(), openTask)
			if err != nil {
				return err
			}
			x := &discovering.ExportIssues{Process: e.Process, Rows: rows, Input: ctx.Args().First(), To: ctx.String("to"),
				Output: ctx.String("output"), Overwrite: ctx.Bool("overwrite")}
			switch {
			case !slices.Contains(discovering.ExportPrograms(), x.To):
				return exit.Usagef("--to %q: it is %s", x.To, strings.Join(discovering.ExportPrograms(), " or "))
			case x.Output == "" || x.Output == run.Stdio:
				return exit.Usagef("no output; give -o FILE, or a folder for the qualitative judge")
			case x.Input == run.Stdio:
				return exit.Usagef("a list of issues stands beside the rows: give a file instead of standard input")
			}
			return x.Run(ctx.Context)
		}),
	}
}
