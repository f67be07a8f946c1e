package main

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/internal/app/merging"
	"github.com/erreval/erreval/internal/words"
)

func mergeCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "merge",
		Usage:     "put outputs of identify together",
		ArgsUsage: "OUT...",
		Description: `The parts of one input, in any order; the rows come back in the input's order:
   erreval identify rows.jsonl --shard 1/2 -o part1.jsonl
   erreval identify rows.jsonl --shard 2/2 -o part2.jsonl
   erreval merge part1.jsonl part2.jsonl -o tagged.jsonl

Whole outputs of several inputs, one after the other as named:
   erreval merge monday.jsonl tuesday.jsonl -o week.jsonl

The run record beside each output (OUT.run.json) says how it was made. Outputs are put together if
model, taxonomy and options are the same, no part is missing and no id occurs twice.`,
		Flags: append([]cli.Flag{rowsOutFlag(), overwriteFlag()}, fileFlags()...),
		Action: func(ctx *cli.Context) error {
			o := merging.Options{Parts: ctx.Args().Slice(), Output: ctx.String("output"), Files: readFileOptions(ctx),
				Overwrite: ctx.Bool("overwrite")}
			o.Files.Inputs = nil // parts are files that erreval named
			m, err := merging.Merge(ctx.Context, e.Process, o)
			if err == nil && !e.Quiet {
				fmt.Fprintf(e.Err, "%s of %s in %s%s\n", words.Plural(m.Rows, "row", "rows"),
					words.Plural(m.Parts, "part", "parts"), o.Output, words.Rejected(m.Rejected))
			}
			return err
		},
	}
}
