package main

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/identifier"
	"github.com/erreval/erreval/identifier/local"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/plainjson"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/models"
)

func modelsCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:  "models",
		Usage: "import, fetch, list and describe models, and see what they see",
		Description: `What the models inside the program are, and how good:
   erreval models info
   erreval models info --taxonomy instruction-following

A fine-tuned encoder of your own, or one from the Hugging Face hub, made ready in one line:
   erreval models import ./checkpoint --precision int8 --name mine
   erreval models pull ORG/NAME --precision int8
   erreval identify rows.jsonl --model mine -o tagged.jsonl

Its files, for other tools (the tokenizer.json is Hugging Face's format):
   erreval models export default my-model/

Whether a model of your own fits, and the tokens it sees:
   erreval models info my-model/
   erreval models tokenize rows.jsonl --model my-model/ --json`,
		Subcommands: []*cli.Command{importCommand(e), pullCommand(e), listModelsCommand(e), infoCommand(e),
			exportModelCommand(e), removeModelsCommand(e), tokenizeCommand(e)},
	}
}

func listModelsCommand(e *env) *cli.Command {
	return &cli.Command{
		Name: "list", Usage: "list the models inside the program and those in the cache", Flags: []cli.Flag{jsonFlag()},
		Action: withArgs(0, 0, "no argument", func(ctx *cli.Context) error {
			all, err := e.machine().ListModels()
			return errors.Join(printData(ctx, e, all, all.Lines()), err)
		}),
	}
}

func infoCommand(e *env) *cli.Command {
	return &cli.Command{
		Name: "info", Usage: "check a model and print its manifest", ArgsUsage: "[MODEL]",
		Flags: []cli.Flag{taxonomyFlag(), joinFlag(), jsonFlag()},
		Action: withArgs(0, 1, "at most one model", func(ctx *cli.Context) error {
			t, err := openTaxonomy(ctx.String("taxonomy"))
			if err != nil {
				return err
			}
			m, err := e.machine().OpenModel(ctx.Context, cmp.Or(ctx.Args().First(), models.DefaultName), ctx.String("join"), t)
			if err != nil {
				return err
			}
			return printData(ctx, e, m.Manifest, local.Describe(m, t))
		}),
	}
}

func exportModelCommand(e *env) *cli.Command {
	return &cli.Command{
		Name: "export", Usage: "write a model's files to a new directory", ArgsUsage: "MODEL DIR",
		Flags: []cli.Flag{taxonomyFlag()},
		Action: withArgs(2, 2, "a model and a new directory", func(ctx *cli.Context) error {
			t, err := openTaxonomy(ctx.String("taxonomy"))
			if err != nil {
				return err
			}
			dir := ctx.Args().Get(1)
			files, err := e.machine().ExportModel(ctx.Args().First(), t, dir)
			if err == nil {
				e.Say("wrote %s to %s; use it with --model %[2]s", strings.Join(files, ", "), dir)
			}
			return err
		}),
	}
}

func removeModelsCommand(e *env) *cli.Command {
	return &cli.Command{
		Name: "rm", Usage: "remove imported models from the cache", ArgsUsage: "NAME...",
		Action: withArgs(1, -1, "names of imported models", func(ctx *cli.Context) error {
			removed, err := e.machine().RemoveModels(ctx.Args().Slice())
			for _, name := range removed {
				e.Say("removed %s", name)
			}
			return err
		}),
	}
}

func tokenizeCommand(e *env) *cli.Command {
	return &cli.Command{
		Name: "tokenize", Usage: "print the tokens that a model sees in each row of a file", ArgsUsage: "FILE",
		Flags: append(rowFlags(), modelFlag(), joinFlag(), taxonomyFlag(), limitFlag(),
			&cli.BoolFlag{Name: "json", Usage: "print one JSON object a row: id, ids, tokens, truncated"}),
		Action: withArgs(1, 1, `one file of rows, or "-" for standard input`, func(ctx *cli.Context) error {
			t, err := openTaxonomy(ctx.String("taxonomy"))
			if err != nil {
				return err
			}
			in, err := openRowInput(ctx, t)
			if err != nil {
				return err
			}
			in.Limit = ctx.Int("limit")
			return tokenize(ctx, e, in)
		}),
	}
}

// tokenize prints the tokens of each row as they are read.
func tokenize(ctx *cli.Context, e *env, in run.Rows) error {
	m, err := e.machine().OpenModel(ctx.Context, ctx.String("model"), ctx.String("join"), in.Taxonomy)
	if err != nil {
		return err
	}
	encoder, err := identifier.NewEncoder(m, in.Taxonomy)
	if err != nil {
		return exit.With(exit.Unfit, err)
	}
	faults, err := in.Each(ctx.Context, e.Process, ctx.Args().First(), func(row *dataset.Row) error {
		tokens, err := encoder.Tokens(row)
		if err != nil {
			return err
		}
		if !ctx.Bool("json") {
			_, err = fmt.Fprintln(run.Guard(e.Out), tokens)
			return err
		}
		line, err := plainjson.Marshal(tokens, "")
		if err == nil {
			_, err = e.Out.Write(line)
		}
		return err
	})
	return errors.Join(err, e.WarnFaults(faults))
}
