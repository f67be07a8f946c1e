package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"text/tabwriter"

	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/taxonomy"
	"github.com/urfave/cli/v2"
)

func taxonomyCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:  "taxonomy",
		Usage: "list, show and check error types and dimensions",
		Description: `The error types of question generation:
   erreval taxonomy show

Those of your own task:
   erreval taxonomy show question-generation --yaml > mine.yaml
   erreval taxonomy check mine.yaml`,
		Subcommands: []*cli.Command{
			{
				Name:  "list",
				Usage: "list the built-in taxonomies",
				Flags: []cli.Flag{jsonFlag()},
				Action: func(ctx *cli.Context) error {
					if err := wantArgs(ctx, 0, 0, "no argument"); err != nil {
						return err
					}
					return listTaxonomies(e.Out, ctx.Bool("json"))
				},
			},
			{
				Name:      "show",
				Usage:     "show the fields, error types and dimensions of a taxonomy",
				ArgsUsage: "[NAME|FILE]",
				Flags: []cli.Flag{jsonFlag(),
					&cli.BoolFlag{Name: "yaml", Usage: "print a built-in taxonomy's YAML, to start your own from"}},
				Action: func(ctx *cli.Context) error {
					if err := wantArgs(ctx, 0, 1, "at most one name or file"); err != nil {
						return err
					}
					name := ctx.Args().First()
					if name == "" {
						name = taxonomy.Builtins()[0]
					}
					return showTaxonomy(e.Out, name, ctx.Bool("json"), ctx.Bool("yaml"))
				},
			},
			{
				Name:      "check",
				Usage:     "check a taxonomy file; every fault with its line",
				ArgsUsage: "FILE",
				Action: func(ctx *cli.Context) error {
					if err := wantArgs(ctx, 1, 1, "one file"); err != nil {
						return err
					}
					return checkTaxonomy(e.Out, ctx.Args().First())
				},
			},
		},
	}
}

func listTaxonomies(w io.Writer, asJSON bool) error {
	var all []*taxonomy.Taxonomy
	for _, name := range taxonomy.Builtins() {
		t, err := taxonomy.Builtin(name)
		if err != nil {
			return err
		}
		all = append(all, t)
	}
	if asJSON {
		return writeJSON(w, all)
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "TAXONOMY\tTYPES\tDIMENSIONS\tFIELDS")
	for _, t := range all {
		fmt.Fprintf(tw, "%s\t%d\t%d\t%s\n", t.ID(), len(t.Types), len(t.Dimensions), strings.Join(t.FieldNames(), ", "))
	}
	return tw.Flush()
}

func showTaxonomy(w io.Writer, name string, asJSON, asYAML bool) error {
	if asYAML {
		data, err := taxonomy.BuiltinYAML(name)
		if err != nil {
			return exit.Usagef("--yaml: %w", err)
		}
		_, err = w.Write(data)
		return err
	}
	t, err := openTaxonomy(name)
	if err != nil {
		return err
	}
	if asJSON {
		return writeJSON(w, t)
	}
	printTaxonomy(w, t)
	return nil
}

func printTaxonomy(w io.Writer, t *taxonomy.Taxonomy) {
	fmt.Fprintf(w, "%s (%s)\n%s\n\nFields, in the order of the encoder's input\n", t.Title, t.ID(), t.Description)
	for _, f := range t.Fields {
		optional := ""
		if f.Optional {
			optional = " (optional)"
		}
		fmt.Fprintf(w, "  %-12s %s%s\n", f.Name, f.Definition, optional)
	}
	fmt.Fprint(w, "\nError types\n")
	for _, y := range t.Types {
		more := ""
		if y.Severity > 0 {
			more = fmt.Sprintf(", severity %g", y.Severity)
		}
		if len(y.Needs) > 0 {
			more += ", needs " + strings.Join(y.Needs, " and ")
		}
		fmt.Fprintf(w, "  %s (%s, %s%s)\n      %s\n", y.Name, y.Code, y.Category, more, y.Definition)
	}
	for i, d := range t.Dimensions {
		if i == 0 {
			fmt.Fprint(w, "\nDimensions\n")
		}
		fmt.Fprintf(w, "  %s: %s\n", d.Name, d.Definition)
		for _, c := range d.Criteria {
			fmt.Fprintf(w, "      %d  %s\n", c.Score, c.Text)
		}
		fmt.Fprintf(w, "      errors: %s\n", strings.Join(d.Types, ", "))
	}
}

func checkTaxonomy(w io.Writer, file string) error {
	t, err := openTaxonomy(file)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%s: %d error types, %d dimensions, fields %s\n", t.ID(), len(t.Types), len(t.Dimensions), strings.Join(t.FieldNames(), ", "))
	return nil
}

// openTaxonomy loads what --taxonomy names. A faulty one does not fit; a missing file is a failure like any other.
func openTaxonomy(nameOrPath string) (*taxonomy.Taxonomy, error) {
	t, err := taxonomy.Open(nameOrPath)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		err = exit.With(exit.Unfit, err)
	}
	return t, err
}

// writeJSON prints v for other programs.
func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
