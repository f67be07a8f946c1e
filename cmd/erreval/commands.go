package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/cmd/erreval/internal/commandline"
	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/internal/runrecord"
	"github.com/erreval/erreval/internal/storage"
)

// commands lists every command, in the order of the help page. Each begins in cmd_<name>.go.
func commands(e *env) []*cli.Command {
	return []*cli.Command{
		identifyCommand(e),
		scoreCommand(e),
		discoverCommand(e),
		issuesCommand(e),
		compareCommand(e),
		rankCommand(e),
		mergeCommand(e),
		verifyCommand(e),
		journalCommand(e),
		modelsCommand(e),
		taxonomyCommand(e),
		showCommand(e),
		statsCommand(e),
		diffCommand(e),
		reportCommand(e),
		serveCommand(e),
		refineCommand(e),
		simulateCommand(e),
		metaCommand(e),
		setupCommand(e),
		doctorCommand(e),
		trustCommand(e),
		benchCommand(e),
		completionCommand(e),
		manCommand(e),
	}
}

const appDescription = `Tag a file (one JSON object a line, with the columns passage, answer and question):
   erreval identify questions.jsonl -o tagged.jsonl

Columns with other names:
   erreval identify rows.jsonl --map question=prediction --map passage=context -o tagged.jsonl

Compare the labels found with labels of your own:
   erreval meta labels --gold questions_gold.jsonl tagged.jsonl

Read the result: rows, shares per system, what changed since last time:
   erreval show tagged.jsonl --label any
   erreval stats tagged.jsonl
   erreval diff before.jsonl after.jsonl

First time on this machine (fetches ONNX Runtime), and when something is wrong:
   erreval setup
   erreval doctor

The error types and what they mean:
   erreval taxonomy show

Flags may stand before or after file names; "--" ends them, "-" is standard input.
Exit codes: 0 done, 1 failed, 2 usage, 3 some rows untagged or unscored, 4 model or taxonomy
does not fit, 5 judge unavailable or budget spent, 6 a threshold was missed, 130
interrupted.`

// shortHelp is what erreval alone prints.
const shortHelp = `erreval finds the errors in generated questions and other text, offline.

Find the errors in each row of a file:   erreval identify questions.csv -o tagged.csv
Read the rows with an error:             erreval show tagged.csv --label any
Count the errors, per system:            erreval stats tagged.csv
Compare with labels of your own:         erreval meta labels --gold gold.csv tagged.csv
Score each row along dimensions:         erreval score tagged.csv -o scored.csv

First time on this machine:              erreval setup
When something is wrong:                 erreval doctor
All commands:                            erreval --help
All about one of them:                   erreval identify --help
`

func newApp(e *env) *cli.App {
	app := &cli.App{
		Name:                      "erreval",
		Usage:                     "find errors in generated questions and other text, offline",
		UsageText:                 "erreval COMMAND [flags] [files]",
		Description:               appDescription,
		Version:                   runrecord.ReadBuild().String(),
		Reader:                    e.In,
		Writer:                    e.Out,
		ErrWriter:                 e.Err,
		Metadata:                  map[string]any{metaTyped: e.typed},
		HideHelpCommand:           true,
		DisableSliceFlagSeparator: true,                         // file and column names may hold commas
		ExitErrHandler:            func(*cli.Context, error) {}, // run decides the exit code
		OnUsageError:              commandline.ExplainUsage,
		Commands:                  commands(e),
	}
	app.Action = marked(func(ctx *cli.Context) error {
		if ctx.Args().Present() {
			return commandline.NeedCommand(ctx)
		}
		_, err := io.WriteString(ctx.App.Writer, shortHelp)
		return err
	})
	for _, c := range app.Commands {
		prepare(e, c)
	}
	return app
}

// prepare gives a command and those below it the same manners: errors come back to run, and no
// hidden "help" subcommand takes the place of a file of that name.
func prepare(e *env, c *cli.Command) {
	c.HideHelpCommand = true
	c.OnUsageError = commandline.ExplainUsage
	if c.Action == nil && len(c.Subcommands) > 0 {
		c.Action = commandline.NeedCommand
	}
	if c.Action != nil {
		c.Action = keepInputs(e.withStorage(e.withQuiet(c)))
		if slices.ContainsFunc(c.Flags, func(f cli.Flag) bool { return f.Names()[0] == "shards" }) {
			c.Action = e.withShards(c.Action)
		}
		c.Action = marked(c.Action)
	}
	for _, sub := range c.Subcommands {
		prepare(e, sub)
	}
}

// withQuiet gives a command that has none below it --quiet, and is its action, which keeps to it.
func (e *env) withQuiet(c *cli.Command) cli.ActionFunc {
	action := c.Action
	if c.Subcommands == nil {
		c.Flags = append(c.Flags, quietFlag())
	}
	return func(ctx *cli.Context) error {
		e.Quiet = ctx.Bool("quiet")
		return action(ctx)
	}
}

// inputFlags name files that are read, besides the arguments, and outputFlags those that are replaced.
var (
	inputFlags = []string{"gold", "human-file", "verdicts", "issues", "criteria", "examples", "rows", "pool", "only",
		"mistakes", "taxonomy", "template", "config", "prices"}
	outputFlags = []string{"output", "report", "summary", "junit", "labelled", "plot", "lift-plot", "matrix-plot",
		"bias-plot"}
)

// keepInputs lets no output of a command replace one of its inputs, or another output.
func keepInputs(action cli.ActionFunc) cli.ActionFunc {
	return func(ctx *cli.Context) error {
		inputs := append(ctx.Args().Slice(), ctx.StringSlice("template")...)
		for _, flag := range inputFlags {
			inputs = append(inputs, ctx.String(flag))
		}
		var written []string
		for _, flag := range outputFlags {
			out := ctx.String(flag)
			if info, err := os.Stat(out); out == "" || out == run.Stdio || storage.IsURL(out) || err == nil && info.IsDir() {
				continue
			}
			if err := dataset.CheckInputs(out, inputs...); err != nil {
				return err
			}
			if i := slices.IndexFunc(written, func(other string) bool { return dataset.SameFile(out, other) }); i >= 0 {
				return exit.Usagef("--%s %s would replace %s; choose another name", flag, out, written[i])
			}
			written = append(written, out)
		}
		return action(ctx)
	}
}

// marked makes errors of the action itself known to run as such.
func marked(action cli.ActionFunc) cli.ActionFunc {
	return func(ctx *cli.Context) error {
		if err := action(ctx); err != nil {
			return &actionError{err}
		}
		return nil
	}
}

// withArgs is action for so many positional arguments; max < 0 is any number.
func withArgs(min, max int, what string, action cli.ActionFunc) cli.ActionFunc {
	return func(ctx *cli.Context) error {
		if err := wantArgs(ctx, min, max, what); err != nil {
			return err
		}
		return action(ctx)
	}
}

// wantArgs checks the number of positional arguments; max < 0 is any number.
func wantArgs(ctx *cli.Context, min, max int, what string) error {
	n := ctx.Args().Len()
	if n >= min && (max < 0 || n <= max) {
		return nil
	}
	got := "0"
	if n > 0 {
		got = fmt.Sprintf("%d: %s", n, strings.Join(ctx.Args().Slice(), " "))
	}
	return exit.Usagef("%s takes %s, got %s\nsee '%s --help'", ctx.Command.HelpName, what, got, ctx.Command.HelpName)
}
