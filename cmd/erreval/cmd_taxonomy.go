package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/discover"
	"github.com/erreval/erreval/discover/issues"
	"github.com/erreval/erreval/internal/app/discovering"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/plainjson"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/taxonomy"
)

func taxonomyCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:  "taxonomy",
		Usage: "list, show and check error types and dimensions",
		Description: `The error types of question generation:
   erreval taxonomy show

Those of your own task:
   erreval taxonomy show question-generation --yaml > mine.yaml
   erreval taxonomy check mine.yaml

Those of issues that "erreval discover" found, and rows that are labelled with them:
   erreval taxonomy propose found.jsonl.issues.json -o mine.yaml --labelled labelled.jsonl`,
		Subcommands: []*cli.Command{
			{
				Name:  "list",
				Usage: "list the built-in taxonomies",
				Flags: []cli.Flag{jsonFlag()},
				Action: withArgs(0, 0, "no argument",
					func(ctx *cli.Context) error { return listTaxonomies(ctx, e.Out) }),
			},
			{
				Name:      "show",
				Usage:     "show the fields, error types and dimensions of a taxonomy",
				ArgsUsage: "[NAME|FILE]",
				Flags: []cli.Flag{jsonFlag(),
					&cli.BoolFlag{Name: "yaml", Usage: "print a built-in taxonomy's YAML, to start your own from"}},
				Action: withArgs(0, 1, "at most one name or file",
					func(ctx *cli.Context) error { return showTaxonomy(ctx, e) }),
			},
			{
				Name:      "check",
				Usage:     "check a taxonomy file; every fault with its line",
				ArgsUsage: "FILE",
				Action: withArgs(1, 1, "one file",
					func(ctx *cli.Context) error { return checkTaxonomy(ctx, e.Out) }),
			},
			proposeCommand(e),
		},
	}
}

func listTaxonomies(ctx *cli.Context, w io.Writer) error {
	all, err := taxonomy.OpenBuiltins()
	if err != nil {
		return err
	}
	if ctx.Bool("json") {
		return plainjson.Write(w, all)
	}
	return taxonomy.WriteList(run.Guard(w), all)
}

func showTaxonomy(ctx *cli.Context, e *env) error {
	w := e.Out
	name := cmp.Or(ctx.Args().First(), taxonomy.Builtins()[0])
	if ctx.Bool("yaml") {
		data, err := taxonomy.BuiltinYAML(name)
		if err != nil {
			return exit.Usagef("--yaml: %w", err)
		}
		_, err = w.Write(data)
		return err
	}
	t, err := openTask(name)
	if err != nil {
		return err
	}
	if ctx.Bool("json") {
		return plainjson.Write(w, withColumns(t))
	}
	if err := t.WriteText(run.Guard(w)); err != nil || t.IsTask() {
		return err
	}
	m, err := e.machine().DefaultFor(t)
	if m == nil || err != nil {
		return err
	}
	_, err = fmt.Fprintf(run.Guard(w), "\n%s, the default model, reads %s.\n", m.ID(), m.LanguagesText())
	return err
}

// shownTaxonomy is a taxonomy with what the columns of its fields may be called, for programs that read rows.
type shownTaxonomy struct {
	*taxonomy.Taxonomy
	Columns map[string][]string `json:"columns"` // field to names in plain form, the likelier first
}

func withColumns(t *taxonomy.Taxonomy) shownTaxonomy {
	shown := shownTaxonomy{t, map[string][]string{}}
	for _, field := range t.FieldNames() {
		shown.Columns[field] = dataset.ColumnNames(field)
	}
	return shown
}

func checkTaxonomy(ctx *cli.Context, w io.Writer) error {
	t, err := openTask(ctx.Args().First())
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(run.Guard(w), t.Summary())
	return err
}

// openTaxonomy loads what --taxonomy names, for commands that need error types.
func openTaxonomy(nameOrPath string) (*taxonomy.Taxonomy, error) {
	t, err := openTask(nameOrPath)
	if err != nil {
		return nil, err
	}
	return t, checkTypes(t)
}

// checkTypes refuses a taxonomy without error types.
func checkTypes(t *taxonomy.Taxonomy) error {
	if !t.IsTask() {
		return nil
	}
	others := ""
	for _, name := range taxonomy.Builtins() {
		if other, err := taxonomy.Builtin(name); err == nil && !other.IsTask() && other.Fields[0].Name == t.Fields[0].Name {
			others = fmt.Sprintf("; --taxonomy %s has types for a %s", name, t.Fields[0].Name)
		}
	}
	return exit.With(exit.Unfit, fmt.Errorf("%s has no error types: \"erreval discover\" finds issues in its rows, "+
		"and \"erreval taxonomy propose\" makes types of them%s", t.ID(), others))
}

// openTask loads what --taxonomy names, with or without error types. A faulty one does not fit; a missing file is a
// failure like any other.
func openTask(nameOrPath string) (*taxonomy.Taxonomy, error) {
	t, err := taxonomy.Open(nameOrPath)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		err = exit.With(exit.Unfit, err)
	}
	return t, err
}

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
