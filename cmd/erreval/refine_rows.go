package main

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/training/refine"
)

func refineRowsCommand(e *env) *cli.Command {
	return &cli.Command{
		Name: "rows", Usage: "write the labelled rows, each with the labels that count now", ArgsUsage: "DIR",
		Description: `Of a row that was labelled more than once the last word counts. To see how right a model is by them:
   erreval refine rows work -o labelled.jsonl
   erreval meta labels tagged.jsonl --gold labelled.jsonl`,
		Flags: []cli.Flag{rowsOutFlag(), overwriteFlag()},
		Action: func(ctx *cli.Context) (err error) {
			w, err := openWorkspace(ctx)
			if err != nil {
				return err
			}
			path := ctx.String("output")
			if path == "" || path == run.Stdio {
				return exit.Usagef("no output; give -o OUT")
			}
			format, known := dataset.FormatOf(path)
			if !known && filepath.Ext(path) != "" {
				return exit.Usagef("-o %s: no format of rows has this extension; end the name with %s", path, dataset.Extensions())
			}
			out, err := dataset.Create(path, ctx.Bool("overwrite"))
			if err != nil {
				return err
			}
			if known {
				out.Format = format
			}
			write := func(row *dataset.Row) error {
				labels, err := row.Labels(w.Taxonomy)
				if err == nil && len(labels) == 0 && out.Format.IsTable() { // an empty cell would be of a row without labels
					return errors.Join(row.Set(dataset.ColumnLabels, dataset.NoLabel), out.Write(row))
				}
				return out.Write(row)
			}
			chosen := 0
			err = errors.Join(w.EachTraining(func(file string, row *dataset.Row) error {
				if refine.IsOfBatch(file) {
					chosen++
				}
				return write(row)
			}), w.EachRandom(write))
			if err != nil {
				return errors.Join(err, out.Abort())
			}
			if err := out.Commit(); err != nil || e.Quiet {
				return err
			}
			note := ""
			if chosen > 0 {
				note = fmt.Sprintf("; %d of them are of batches, most of which are chosen where the model is unsure: it is more "+
					"often right than by these", chosen)
			}
			_, err = fmt.Fprintf(run.Guard(e.Err), "erreval: %s in %s%s\n", words.Plural(out.Rows(), "row", "rows"), path, note)
			return err
		},
	}
}
