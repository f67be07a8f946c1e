package main

import (
	"cmp"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/discover"
	"github.com/erreval/erreval/discover/issues"
	"github.com/erreval/erreval/internal/app/discovering"
	"github.com/erreval/erreval/internal/exit"
)

func proposeCommand(e *env) *cli.Command {
	o := discover.DefaultProposeOptions()
	return &cli.Command{
		Name:      "propose",
		Usage:     "make a taxonomy of discovered issues",
		ArgsUsage: "OUT.issues.json",
		Description: `Each issue becomes an error type, unless it is one already. The file is a beginning: read the examples that
stand in it as comments, change names and definitions, and check it:
   erreval taxonomy propose found.jsonl.issues.json -o mine.yaml --labelled labelled.jsonl
   erreval taxonomy check mine.yaml
   erreval refine init work --taxonomy mine.yaml --train labelled.jsonl --pool rows.jsonl`,
		Flags: []cli.Flag{outFlag(), overwriteFlag(), recordedTaxonomyFlag("OUT"),
			&cli.StringFlag{Name: "name", DefaultText: "that of the file", Usage: "`NAME` of the taxonomy"},
			&cli.IntFlag{Name: "min-count", Value: o.MinCount, Usage: "leave out issues of less than `N` rows"},
			&cli.BoolFlag{Name: "unstable", Usage: "take unstable issues too"},
			&cli.StringFlag{Name: "labelled", Usage: "write the rows whose labels are known to `FILE`"},
			&cli.StringFlag{Name: "rows", Usage: "`FILE` in which the issues were found (default: the list's own OUT)"},
			mapFlag(), idFlag(), formatFlag()},
		Action: withArgs(1, 1, "one list of issues",
			func(ctx *cli.Context) error { return propose(ctx, e) }),
	}
}

func propose(ctx *cli.Context, e *env) error {
	list := ctx.Args().First()
	input := cmp.Or(ctx.String("rows"), strings.TrimSuffix(list, issues.Path("")))
	rows, err := openRows(ctx, []string{input}, openTask)
	if err != nil {
		return err
	}
	p := &discovering.Propose{Process: e.Process, List: list, Rows: rows, Input: input, Output: ctx.String("output"),
		Labelled: ctx.String("labelled"), Overwrite: ctx.Bool("overwrite"),
		Options: discover.DefaultProposeOptions()}
	base := filepath.Base(p.Output)
	if p.Output == "" {
		base = p.Options.Name
	}
	p.Options.Name = cmp.Or(ctx.String("name"), strings.TrimSuffix(base, filepath.Ext(base)))
	p.Options.MinCount, p.Options.Unstable = ctx.Int("min-count"), ctx.Bool("unstable")
	if p.Labelled != "" && input == list {
		return exit.Usagef("--labelled: give the file in which the issues were found with --rows FILE")
	}
	return p.Run(ctx.Context)
}
