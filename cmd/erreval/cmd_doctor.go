package main

import (
	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/internal/doctor"
	"github.com/erreval/erreval/models"
)

func doctorCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:  "doctor",
		Usage: "check library, device, model, cache and terminal; say what to do about each fault",
		Description: `When something is wrong, or to see what would be used:
   erreval doctor

With neither --model nor --taxonomy it checks every model inside the program.

A model of your own, on a GPU:
   erreval doctor --model ./my-model --device cuda

Exit code 1 if there is a fault.`,
		Flags: []cli.Flag{modelFlag(), taxonomyFlag(), deviceFlag(), libraryFlag(), jsonFlag()},
		Action: withArgs(0, 0, "no argument", func(ctx *cli.Context) error {
			task := ctx.String("taxonomy")
			if !ctx.IsSet("taxonomy") && ctx.String("model") == models.DefaultName {
				task = ""
			}
			r := doctor.Examine(ctx.Context, doctor.Options{Machine: e.machine(), Library: ctx.String("ort-lib"),
				Model: ctx.String("model"), Taxonomy: task, Device: ctx.String("device"),
				Terminal: e.IsTerminal(e.Err)})
			if err := printData(ctx, e, r, r); err != nil {
				return err
			}
			return r.Err()
		}),
	}
}
