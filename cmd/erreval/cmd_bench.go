package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/identifier/bench"
	"github.com/erreval/erreval/identifier/local"
	"github.com/erreval/erreval/identifier/ort"
)

func benchCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:  "bench",
		Usage: "measure how fast a model runs on this machine",
		Description: `Rows and tokens a second, latency and memory:
   erreval bench

Beside emulated peers (a script that pads all rows to one length, a pipeline with batches of
32, a careful loop of one row at a time), on the same runtime, rows and weights, in turns:
   erreval bench --compare

The peers with another graph of the same weights, such as the plain fp32 export:
   erreval bench --model ./my-int8 --compare --peers ./my-fp32

Rows of your own, for scripts:
   erreval bench --model ./my-model --rows questions.jsonl --json`,
		Flags: append([]cli.Flag{
			modelFlag(), joinFlag(), taxonomyFlag(), deviceFlag(), gpuMemoryFlag(), libraryFlag(), workersFlag(),
			&cli.StringFlag{Name: "rows",
				Usage: "measure with the rows of `FILE` (default: made-up ones, of the lengths of real ones)"},
			&cli.IntFlag{Name: "count", Usage: fmt.Sprintf("measure with `N` rows (default: %d on a CPU, %d on a GPU)",
				bench.RowsCPU, bench.RowsGPU)},
			&cli.IntFlag{Name: "rounds", Value: 3, Usage: "run everything `N` times, in turns"},
			&cli.BoolFlag{Name: "compare", Usage: "run the emulated peers beside it"},
			&cli.StringFlag{Name: "peers", Usage: "`MODEL` that the peers run (default: the same)"},
			&cli.StringFlag{Name: "history", Usage: "append the ratios to `FILE`, tab-separated"},
			jsonFlag(),
		}, rowFlags()...),
		Action: func(ctx *cli.Context) error {
			o := bench.Options{Machine: e.machine(), Model: ctx.String("model"), Join: ctx.String("join"),
				Count: ctx.Int("count"), Rounds: ctx.Int("rounds"), Workers: ctx.Int("workers"), Compare: ctx.Bool("compare"),
				Peers: ctx.String("peers"), History: ctx.String("history"), Log: e.log(), Warn: e.Warn}
			if err := errors.Join(wantArgs(ctx, 0, 0, "no argument; give rows with --rows FILE"), o.Validate()); err != nil {
				return err
			}
			return runBench(ctx, e, o)
		},
	}
}

func runBench(ctx *cli.Context, e *env, o bench.Options) (err error) {
	if o.Taxonomy, err = openTaxonomy(ctx.String("taxonomy")); err != nil {
		return err
	}
	in, err := openRowInput(ctx, o.Taxonomy)
	if err != nil {
		return err
	}
	o.On = ort.Options{Library: ctx.String("ort-lib"), Device: ctx.String("device")}
	if o.On.GPUMemory, err = local.ParseSize(ctx.String("gpu-memory")); err != nil {
		return err
	}
	if file := ctx.String("rows"); file != "" {
		if err := in.CheckColumns(ctx.Context, e.Process, file); err != nil {
			return err
		}
		o.Rows = func(ctx context.Context, limit int) ([]*dataset.Row, error) {
			in.Limit = limit
			return in.All(ctx, e.Process, file)
		}
	}
	f, err := bench.Run(ctx.Context, o)
	if err != nil {
		return err
	}
	return printData(ctx, e, f, f.Lines())
}
