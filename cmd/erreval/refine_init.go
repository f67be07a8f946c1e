package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/taxonomy"
	"github.com/erreval/erreval/training/refine"
	"github.com/erreval/erreval/training/review"
	"github.com/erreval/erreval/training/selection"
)

func refineInitCommand(e *env) *cli.Command {
	return &cli.Command{
		Name: "init", Usage: "make a workspace of unlabelled rows, and of labelled ones if there are any", ArgsUsage: "DIR",
		Description: `Rows of any format that identify reads. Labelled rows are divided into training and development rows:
   erreval refine init work --pool questions.csv --train labelled.jsonl --dev-share 0.2

Development rows of your own, and a taxonomy of your own:
   erreval refine init work --pool pool.jsonl --train start.jsonl --dev dev.jsonl --taxonomy mine.yaml

Rows are divided by whole groups: by default by the taxonomy's field marked "group" (for questions the
passage), else by its last field; --group none takes each row by itself. Rows of the pool and of the
training set that share their group with a development row are put aside (held.jsonl). What is no row,
has no usable labels, or is there already is kept with its reason in *.rejected.jsonl. --map is for the pool;
a labelled file without such a column is read by the field's own name.`,
		Flags: append(rowFlags(), taxonomyFlag(),
			&cli.StringFlag{Name: "pool", Usage: "`FILE` of unlabelled rows, of which batches are chosen"},
			&cli.StringFlag{Name: "train", Usage: "`FILE` of labelled rows to begin with"},
			&cli.StringFlag{Name: "dev", Usage: "`FILE` of labelled rows that are never trained on (default: a share of --train)"},
			&cli.Float64Flag{Name: "dev-share", Value: 0.2, Usage: "`SHARE` of the rows of --train that become development rows"},
			&cli.StringFlag{Name: "group", Usage: "field or column that rows share, `FIELD`, or none (default: the taxonomy's group field, else its last one)"},
			&cli.StringFlag{Name: "start", Usage: "`MODEL` before the first iteration, as in --model, or none (default: the one inside the program, where it fits the taxonomy)"},
			&cli.Uint64Flag{Name: "seed", Value: 1, Usage: "`SEED` of the division into training and development rows"},
			jsonFlag(), quietFlag()),
		Action: func(ctx *cli.Context) error { return runRefineInit(ctx, e) },
	}
}

func runRefineInit(ctx *cli.Context, e *env) error {
	if err := wantArgs(ctx, 1, 1, "one folder to make"); err != nil {
		return err
	}
	o, closeAll, err := refineInitOptions(ctx, e)
	if err != nil {
		return err
	}
	defer closeAll()
	dir := ctx.Args().First()
	made, err := refine.Init(dir, *o)
	if errors.Is(err, refine.ErrMade) {
		e.Warn("%s was made by this line already, and nothing was changed; to make it anew, remove the folder", dir)
		return nil
	}
	if err != nil {
		return err
	}
	sayRejected(e, dir, made)
	if ctx.Bool("json") {
		return writeJSON(e.Out, made)
	}
	if ctx.Bool("quiet") {
		return nil
	}
	return printMade(e, dir, o.Taxonomy, made)
}

func refineInitOptions(ctx *cli.Context, e *env) (o *refine.InitOptions, closeAll func(), err error) {
	pool, share := ctx.String("pool"), ctx.Float64("dev-share")
	switch {
	case pool == "":
		return nil, nil, exit.Usagef("erreval refine init needs --pool FILE, the unlabelled rows")
	case !(share > 0 && share < 1):
		return nil, nil, exit.Usagef("--dev-share %v: give a share over 0 and below 1, as in 0.2", share)
	case countOf([]string{pool, ctx.String("train"), ctx.String("dev")}, run.Stdio) > 1:
		return nil, nil, exit.Usagef(`standard input "-" can be read once`)
	}
	o = &refine.InitOptions{Start: ctx.String("start"), DevShare: share, Seed: ctx.Uint64("seed"), Command: e.typedLine(),
		Sections: []string{selection.ConfigText, review.ConfigText}}
	name := ctx.String("taxonomy")
	if o.Taxonomy, err = openTaxonomy(name); err != nil {
		return nil, nil, err
	}
	if !slices.Contains(taxonomy.Builtins(), name) {
		if o.YAML, err = os.ReadFile(name); err != nil {
			return nil, nil, err
		}
	}
	if o.Start, err = startModel(ctx.Context, e, o.Start, ctx.Args().First(), o.Taxonomy); err != nil {
		return nil, nil, err
	}
	if o.Start == "" && o.Taxonomy.Name != taxonomy.Builtins()[0] {
		o.Start = refine.StartNone // the model inside the program knows the first one's errors
	}
	if o.Group, err = groupFlag(ctx, o.Taxonomy); err != nil {
		return nil, nil, err
	}
	in, err := openRowInput(ctx, o.Taxonomy)
	if err != nil {
		return nil, nil, err
	}
	closeAll, err = openSources(ctx, e, in, o)
	return o, closeAll, err
}

// startModel checks a model, and names a folder as the workspace in dir will see it.
func startModel(ctx context.Context, e *env, start, dir string, t *taxonomy.Taxonomy) (string, error) {
	if start == "" || start == refine.StartNone {
		return start, nil
	}
	if _, err := e.openModel(ctx, start, "", t); err != nil {
		return "", err
	}
	if !strings.ContainsRune(start, filepath.Separator) || filepath.IsAbs(start) {
		return start, nil
	}
	from, err := filepath.Abs(dir)
	to, toErr := filepath.Abs(start)
	if err = errors.Join(err, toErr); err != nil {
		return "", err
	}
	if start, err = filepath.Rel(from, to); err != nil {
		return to, nil // on another drive
	}
	return asFolder(start), nil
}

func groupFlag(ctx *cli.Context, t *taxonomy.Taxonomy) (string, error) {
	switch group := ctx.String("group"); group {
	case "":
		return refine.DefaultGroup(t), nil
	case "none":
		return "", nil
	default:
		return group, nil
	}
}

func openSources(ctx *cli.Context, e *env, in run.Rows, o *refine.InitOptions) (closeAll func(), err error) {
	var closers []func()
	closeAll = func() {
		for _, f := range closers {
			f()
		}
	}
	for flag, to := range map[string]*dataset.Source{"pool": &o.Pool, "train": &o.Train, "dev": &o.Dev} {
		file := ctx.String(flag)
		if file == "" {
			continue
		}
		if err := run.CheckInputs([]string{file}); err != nil {
			closeAll()
			return nil, err
		}
		rows, closeRows, err := in.Files.OpenRows(ctx.Context, e.Process, file, dataset.Options{Taxonomy: in.Taxonomy, Map: in.Columns, OwnNames: flag != "pool"})
		if err != nil {
			closeAll()
			return nil, err
		}
		closers = append(closers, closeRows)
		*to = &initSource{ctx: ctx.Context, e: e, Reader: rows}
	}
	return closeAll, nil
}

// initSource ends with its context, and says what was assumed about the file.
type initSource struct {
	*dataset.Reader
	ctx  context.Context
	e    *env
	read bool
}

func (s *initSource) Read() (*dataset.Row, error) {
	if err := s.ctx.Err(); err != nil {
		return nil, err
	}
	row, err := s.Reader.Read()
	if err == nil && !s.read || errors.Is(err, io.EOF) {
		s.read = true
		s.e.Note(s.Notes())
	}
	return row, err
}

func sayRejected(e *env, dir string, made *refine.Made) {
	for _, fault := range made.Examples {
		fmt.Fprintf(e.Err, "warning: %s\n", words.Printable(fault.Error()))
	}
	if more := made.Rejected - len(made.Examples); more > 0 {
		fmt.Fprintf(e.Err, "warning: and %d more like these\n", more)
	}
	if made.Rejected > 0 {
		fmt.Fprintf(e.Err, "warning: %s left out, %s of them duplicates; they are kept in %s\n", words.Plural(made.Rejected, "row was", "rows were"),
			fmt.Sprint(made.Duplicates), "*.rejected.jsonl of "+dir)
	}
}

func printMade(e *env, dir string, t *taxonomy.Taxonomy, made *refine.Made) error {
	line, flush := namedLines(e.Out)
	line("workspace", "%s, %s", dir, t.ID())
	line("groups", "%s", groupWords(made.Group))
	line("pool", "%s", words.Plural(made.Pool, "row", "rows"))
	line("training", "%s", words.Plural(made.Train, "row", "rows"))
	line("development", "%s of %s", words.Plural(made.Dev, "row", "rows"), words.Plural(made.Groups, "group", "groups"))
	if made.Held > 0 {
		line("put aside", "%s of a group with development rows", words.Plural(made.Held, "row", "rows"))
	}
	if made.Renamed > 0 {
		line("ids", "%s of a row in another file got one of their own: pool:ID, train:ID", words.Plural(made.Renamed, "row with the id", "rows with the ids"))
	}
	line("next", "erreval refine status %s", words.Quote(dir))
	return flush()
}

func groupWords(group string) string {
	if group == "" {
		return "each row by itself"
	}
	return "rows with the same " + group
}
