package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/regularfile"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/taxonomy"
	"github.com/erreval/erreval/training/refine"
)

func refineInitCommand(e *env) *cli.Command {
	return &cli.Command{
		Name: "init", Usage: "make a workspace of unlabelled rows, and of labelled ones if there are any", ArgsUsage: "DIR",
		Description: `Rows of any format that identify reads. Labelled rows are divided into training and development rows:
   erreval refine init work --pool questions.csv --train labelled.jsonl --dev-share 0.2

No labelled rows, and the first batch at once, a workbook for each of two people:
   erreval refine init work --pool questions.csv --size 50 --reviewer anna,ben

Development rows of your own, and a taxonomy of your own:
   erreval refine init work --pool pool.jsonl --train start.jsonl --dev dev.jsonl --taxonomy mine.yaml \
     --start default

Rows are divided by whole groups: by default by the taxonomy's field marked "group" (for questions the
passage), else by its last field; --group none takes each row by itself. Rows of the pool and of the
training set that share their group with a development row are put aside (held.jsonl). What is no row,
has no usable labels, or is there already is kept with its reason in *.rejected.jsonl. --map is for the pool;
a labelled file without such a column is read by the field's own name.`,
		Flags: append(rowFlags(), taxonomyFlag(),
			&cli.StringFlag{Name: "pool", Usage: "`FILE` of unlabelled rows, of which batches are chosen"},
			&cli.StringFlag{Name: "train", Usage: "`FILE` of labelled rows to begin with"},
			&cli.StringFlag{Name: "dev",
				Usage: "`FILE` of labelled rows that are never trained on (default: a share of --train)"},
			&cli.Float64Flag{Name: "dev-share", Value: 0.2,
				Usage: "`SHARE` of the rows of --train that become development rows"},
			&cli.StringFlag{Name: "group",
				Usage: "field or column that rows share, `FIELD`, or none (default: the taxonomy's group field, else its last one)"},
			&cli.StringFlag{Name: "start",
				Usage: "`MODEL` before the first iteration, as in --model, or none (default: the one inside the program, where " +
					"it fits the taxonomy). For another taxonomy question-generation or instruction-following has " +
					"training begin with the encoder of that model; default is the latter"},
			&cli.Uint64Flag{Name: "seed", Value: 1, Usage: "`SEED` of the division into training and development rows"},
			&cli.IntFlag{Name: "size", DefaultText: "refine.yaml's, with --reviewer",
				Usage: "choose the first batch too, as refine select does: `N` rows"},
			reviewersFlag(), deviceFlag(), gpuMemoryFlag(), libraryFlag(), workersFlag(),
			jsonFlag()),
		Action: func(ctx *cli.Context) error { return runRefineInit(ctx, e) },
	}
}

func runRefineInit(ctx *cli.Context, e *env) error {
	if err := wantArgs(ctx, 1, 1, "one folder to make"); err != nil {
		return err
	}
	o, err := refineInitOptions(ctx, e)
	first := ctx.IsSet("size") || ctx.IsSet("reviewer")
	if first && ctx.Bool("json") {
		err = exit.Usagef("--json is for the workspace alone: leave out --size and --reviewer")
	}
	if err = errors.Join(err, checkHandOut(ctx, false)); err != nil {
		return err
	}
	closeAll, err := openSources(ctx, e, o)
	defer closeAll()
	if err != nil {
		return err
	}
	dir := ctx.Args().First()
	made, err := refine.Init(ctx.Context, dir, *o)
	switch {
	case errors.Is(err, refine.ErrMade):
		e.Warn("%s was made by this line already, and is as it was; to make it anew, remove the folder", dir)
		made, err = &refine.Made{}, nil
	case err != nil:
		return err
	default:
		for _, warning := range made.Warnings() {
			fmt.Fprintf(e.Err, "warning: %s\n", warning)
		}
		if first {
			made.Next = ""
		}
		if !e.Quiet || ctx.Bool("json") {
			err = printResult(ctx, e, made)
		}
	}
	if first && err == nil {
		err = chooseFirst(ctx, e, dir)
	}
	if made.Rejected > made.Duplicates && err == nil { // the warnings say it
		err = exit.With(exit.Incomplete, nil)
	}
	return err
}

// chooseFirst chooses the first batch of a workspace that was just made; a line that was interrupted goes on here.
func chooseFirst(ctx *cli.Context, e *env, dir string) error {
	w, err := openWorkspaceAt(dir)
	if err != nil {
		return err
	}
	on, err := readLocalOptions(ctx)
	if err != nil {
		return err
	}
	err = chooseBatch(ctx, e, w, selectWith(ctx, e, w, on))
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("%w\n%s was made; what comes next says: erreval refine status %[2]s", err, words.Quote(dir))
	}
	return err
}

func refineInitOptions(ctx *cli.Context, e *env) (*refine.InitOptions, error) {
	pool, share := ctx.String("pool"), ctx.Float64("dev-share")
	switch {
	case pool == "":
		return nil, exit.Usagef("erreval refine init needs --pool FILE, the unlabelled rows")
	case !(share > 0 && share < 1):
		return nil, exit.Usagef("--dev-share %v: give a share over 0 and below 1, as in 0.2", share)
	case countOf([]string{pool, ctx.String("train"), ctx.String("dev")}, run.Stdio) > 1:
		return nil, exit.Usagef(`standard input "-" can be read once`)
	}
	o := &refine.InitOptions{DevShare: share, Seed: ctx.Uint64("seed"),
		Command: e.typedLine(), Note: e.Note}
	name := ctx.String("taxonomy")
	var err error
	if o.Taxonomy, err = openTaxonomy(name); err != nil {
		return nil, err
	}
	if !slices.Contains(taxonomy.Builtins(), name) {
		if o.YAML, err = regularfile.Read(name, regularfile.Max); err != nil {
			return nil, err
		}
	}
	if err := e.startFrom(ctx.String("start"), o); err != nil {
		return nil, err
	}
	if o.Start != "" && o.Start != refine.StartNone {
		if _, err := e.machine().OpenModel(ctx.Context, o.Start, "", o.Taxonomy); err != nil {
			return nil, err
		}
	}
	o.Group = refine.ParseGroup(ctx.String("group"), o.Taxonomy)
	return o, nil
}

// openSources opens the files of rows. closeAll closes those that are open.
func openSources(ctx *cli.Context, e *env, o *refine.InitOptions) (closeAll func(), err error) {
	var closers []func()
	closeAll = func() {
		for _, closeRows := range closers {
			closeRows()
		}
	}
	in, err := openRowInput(ctx, o.Taxonomy)
	for flag, to := range map[string]*dataset.Source{"pool": &o.Pool, "train": &o.Train, "dev": &o.Dev} {
		file := ctx.String(flag)
		if file == "" || err != nil {
			continue
		}
		if err = run.CheckInputs([]string{file}); err != nil {
			continue
		}
		rowOptions := dataset.Options{Taxonomy: in.Taxonomy, Map: in.Columns, ID: in.ID, OwnNames: flag != "pool",
			CopiesSaid: true}
		rows, closeRows, openErr := in.Files.OpenRows(ctx.Context, e.Process, file, rowOptions)
		if err = openErr; err == nil {
			closers, *to = append(closers, closeRows), rows
		}
	}
	return closeAll, err
}
