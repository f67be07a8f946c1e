package main

import (
	"errors"

	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/internal/run"
)

func refineUndoCommand(e *env) *cli.Command {
	return &cli.Command{
		Name: "undo", Usage: "take the last step back", ArgsUsage: "DIR",
		Description: `What the step made moves to .undone/N in the workspace, answers of reviewers included; nothing is deleted.
It can be repeated, down to what init made:
   erreval refine undo work`,
		Action: func(ctx *cli.Context) error {
			w, err := openWorkspace(ctx)
			if err != nil {
				return err
			}
			undone, err := w.Undo()
			if undone == nil {
				return err
			}
			return errors.Join(undone.Text(run.Guard(e.Out)), err)
		},
	}
}
