package main

import (
	"github.com/urfave/cli/v2"
)

func refineReportCommand(e *env) *cli.Command {
	return &cli.Command{
		Name: "report", ArgsUsage: "DIR",
		Usage: "show the batches with their agreement, the figures of every iteration, and what was trained on",
		Description: `As text, Markdown or JSON, and as a picture of the learning curve:
   erreval refine report work
   erreval refine report work --markdown --plot curve.svg`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "plot", Usage: "draw the learning curve to `FILE`, .svg, .png or .pdf"},
			&cli.BoolFlag{Name: "overwrite", Usage: "replace the file of --plot if it exists"},
			jsonFlag(), markdownFlag(), latexFlag(),
		},
		Action: func(ctx *cli.Context) error { return runRefineReport(ctx, e) },
	}
}

func runRefineReport(ctx *cli.Context, e *env) error {
	w, err := openWorkspace(ctx)
	if err != nil {
		return err
	}
	form, err := readReportForm(ctx)
	if err != nil {
		return err
	}
	picture := readPlotOptions(ctx, "plot")
	if err := picture.CheckPath(); err != nil {
		return err
	}
	history, err := w.History()
	if err != nil {
		return err
	}
	if err := picture.Write(history.Draw); err != nil {
		return err
	}
	return form.print(e, history)
}
