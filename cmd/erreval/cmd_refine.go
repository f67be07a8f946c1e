package main

import (
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/training/refine"
)

// refineCommand gathers the steps of the refinement loop, in the order in which they are taken. One file a command:
// refine_<name>.go.
func refineCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:  "refine",
		Usage: "make the identifier better: choose rows, review them, retrain, and see whether it helped",
		Description: `A folder holds all of it; status says what comes next:
   erreval refine init work --pool unlabelled.jsonl --train labelled.jsonl
   erreval refine status work

docs/refinement.md goes through the whole loop.`,
		Subcommands: []*cli.Command{
			refineInitCommand(e),
			refineStatusCommand(e),
			refineSetupCommand(e),
			refineSelectCommand(e),
			refineExportCommand(e),
			refineRowsCommand(e),
			refineReviewCommand(e),
			refineMergeCommand(e),
			refineQualityCommand(e),
			refineTrainCommand(e),
			refineReportCommand(e),
			refineUndoCommand(e),
		},
	}
}

// openWorkspace opens the workspace that is a command's only argument.
func openWorkspace(ctx *cli.Context) (*refine.Workspace, error) {
	if err := wantArgs(ctx, 1, 1, "the folder of a workspace"); err != nil {
		return nil, err
	}
	return openWorkspaceAt(ctx.Args().First())
}

func openWorkspaceAt(dir string) (*refine.Workspace, error) {
	w, err := refine.Open(dir)
	if err != nil {
		return nil, exit.With(exit.Usage, err)
	}
	return w, nil
}

// typedLine is the command line as it was typed, to be pasted into a shell.
func (e *env) typedLine() string {
	return words.QuoteAll(append([]string{"erreval"}, e.Args[1:]...))
}

// explainInterrupted adds to the error of a step that goes on where it was how it does.
func explainInterrupted(ctx *cli.Context, e *env, err error) error {
	if ctx.Err() == nil {
		return err
	}
	return exit.With(exit.Interrupted, fmt.Errorf("interrupted; to go on: %s", e.typedLine()))
}

// givenInt is the number of a flag; nil where it was not given.
func givenInt(ctx *cli.Context, flag string) *int { return given(ctx, flag, ctx.Int) }

// printResult prints what a command did: as JSON with --json, else as text.
func printResult(ctx *cli.Context, e *env, result interface{ Text(w io.Writer) error }) error {
	return printData(ctx, e, result, result)
}
