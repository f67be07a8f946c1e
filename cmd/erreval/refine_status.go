package main

import (
	"github.com/urfave/cli/v2"
)

func refineStatusCommand(e *env) *cli.Command {
	return &cli.Command{
		Name: "status", Usage: "say where a workspace stands, and what to do next", ArgsUsage: "DIR",
		Description: "   erreval refine status work\n   erreval refine status work --json",
		Flags:       []cli.Flag{jsonFlag()},
		Action: func(ctx *cli.Context) error {
			w, err := openWorkspace(ctx)
			if err != nil {
				return err
			}
			s, err := w.Status()
			if err != nil {
				return err
			}
			if lacks := w.CheckTrainer(ctx.Context, e.Getenv); lacks != nil {
				s.Lacks = lacks.Error()
			}
			return printResult(ctx, e, s)
		},
	}
}
