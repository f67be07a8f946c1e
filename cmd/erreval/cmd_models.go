package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/identifier"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/models"
	"github.com/erreval/erreval/taxonomy"
)

func modelsCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:  "models",
		Usage: "import, fetch, list and describe models, and see what they see",
		Description: `What the model inside the program is, and how good:
   erreval models info

A fine-tuned encoder of your own, or one from the Hugging Face hub, made ready in one line:
   erreval models import ./checkpoint --precision int8 --name mine
   erreval models pull ORG/NAME --precision int8
   erreval identify rows.jsonl --model mine -o tagged.jsonl

Its files, for other tools (the tokenizer.json is Hugging Face's format):
   erreval models export default my-model/

Whether a model of your own fits, and the tokens it sees:
   erreval models info my-model/
   erreval models tokenize rows.jsonl --model my-model/ --json`,
		Subcommands: []*cli.Command{
			importCommand(e),
			pullCommand(e),
			{
				Name: "list", Usage: "list the model inside the program and those in the cache", Flags: []cli.Flag{jsonFlag()},
				Action: func(ctx *cli.Context) error {
					if err := wantArgs(ctx, 0, 0, "no argument"); err != nil {
						return err
					}
					return listModels(e, ctx.Bool("json"))
				},
			},
			{
				Name: "info", Usage: "check a model and print its manifest", ArgsUsage: "[MODEL]",
				Flags: []cli.Flag{taxonomyFlag(), joinFlag(), jsonFlag()},
				Action: func(ctx *cli.Context) error {
					if err := wantArgs(ctx, 0, 1, "at most one model"); err != nil {
						return err
					}
					return modelInfo(ctx.Context, e, ctx.Args().First(), ctx.String("join"), ctx.String("taxonomy"), ctx.Bool("json"))
				},
			},
			{
				Name: "export", Usage: "write a model's files to a new directory", ArgsUsage: "MODEL DIR",
				Action: func(ctx *cli.Context) error {
					if err := wantArgs(ctx, 2, 2, "a model and a new directory"); err != nil {
						return err
					}
					return exportModel(e, ctx.Args().Get(0), ctx.Args().Get(1))
				},
			},
			{
				Name: "rm", Usage: "remove imported models from the cache", ArgsUsage: "NAME...",
				Action: func(ctx *cli.Context) error {
					if err := wantArgs(ctx, 1, -1, "names of imported models"); err != nil {
						return err
					}
					return removeModels(e, ctx.Args().Slice())
				},
			},
			{
				Name: "tokenize", Usage: "print the tokens that a model sees in each row of a file", ArgsUsage: "FILE",
				Flags: append(rowFlags(), modelFlag(), joinFlag(), taxonomyFlag(), limitFlag(),
					&cli.BoolFlag{Name: "json", Usage: "print one JSON object a row: id, ids, tokens, truncated"}),
				Action: func(ctx *cli.Context) error {
					if err := wantArgs(ctx, 1, 1, `one file of rows, or "-" for standard input`); err != nil {
						return err
					}
					t, err := openTaxonomy(ctx.String("taxonomy"))
					if err != nil {
						return err
					}
					in, err := openRowInput(ctx, t)
					if err != nil {
						return err
					}
					in.Limit = ctx.Int("limit")
					return tokenize(ctx.Context, e, &tokenizeOptions{in, ctx.Args().First(), ctx.String("model"), ctx.String("join"), ctx.Bool("json")})
				},
			},
		},
	}
}

// listed is a model in the list.
type listed struct {
	Model     string `json:"model"` // as in --model
	ID        string `json:"id"`
	Taxonomy  string `json:"taxonomy"`
	Precision string `json:"precision"`
	Size      int64  `json:"size"` // bytes of all files
	Source    string `json:"source,omitempty"`
}

func listModels(e *env, asJSON bool) error {
	var all []listed
	for _, name := range slices.Sorted(maps.Keys(embeddedModels)) {
		own, err := embeddedManifest(name)
		if err != nil {
			return err
		}
		all = append(all, newListed(name, own))
	}
	store, err := e.store()
	if err == nil {
		var found []models.Stored
		found, err = store.List()
		for _, m := range found {
			all = append(all, newListed(m.Name, &m.Manifest))
		}
	} else {
		err = nil // without a cache there is nothing in it
	}
	if asJSON {
		return errors.Join(writeJSON(e.Out, all), err)
	}
	tw := tabwriter.NewWriter(e.Out, 0, 0, 2, ' ', 0)
	for _, m := range all {
		fmt.Fprintf(tw, "%s\t%s, %s, %s, %.1f MB%s\n", m.Model, m.ID, m.Taxonomy, cmp.Or(m.Precision, "precision not stated"), float64(m.Size)/1e6, prefixed(", from ", m.Source))
	}
	return errors.Join(tw.Flush(), err)
}

func newListed(name string, m *models.Manifest) listed {
	return listed{Model: name, ID: m.ID(), Taxonomy: m.Taxonomy, Precision: m.Precision, Size: m.Size(), Source: m.Source}
}

func removeModels(e *env, names []string) error {
	store, err := e.store()
	if err != nil {
		return err
	}
	var errs []error
	for _, name := range names {
		if err := store.Remove(name); err != nil {
			errs = append(errs, err)
			continue
		}
		fmt.Fprintf(e.Err, "removed %s\n", name)
	}
	return errors.Join(errs...)
}

// embeddedManifest reads the manifest of a model inside the program without checking its files.
func embeddedManifest(name string) (*models.Manifest, error) {
	data, err := fs.ReadFile(embeddedModels[name](), models.ManifestFile)
	if err != nil {
		return nil, err
	}
	return models.ParseManifest(data)
}

func modelInfo(ctx context.Context, e *env, name, join, taxonomyName string, asJSON bool) error {
	if name == "" {
		name = defaultModel
	}
	t, err := openTaxonomy(taxonomyName)
	if err != nil {
		return err
	}
	m, err := e.openModel(ctx, name, join, t)
	if err != nil {
		return err
	}
	if asJSON {
		return writeJSON(e.Out, m.Manifest)
	}
	return printManifest(e.Out, m, t)
}

func printManifest(w io.Writer, model *models.Model, t *taxonomy.Taxonomy) error {
	m := &model.Manifest
	line, flush := namedLines(w)
	line("model", "%s (%s)", m.ID(), model.Source)
	if m.Source != "" {
		line("imported", "from %s", m.Source)
	}
	line("encoder", "%s, %d layers of %d, %s", m.Architecture, m.Layers, m.HiddenSize, cmp.Or(m.Precision, "precision not stated"))
	line("taxonomy", "%s", m.Taxonomy)
	line("input", "%s, joined as %s, at most %d tokens", strings.Join(m.Fields, " "+m.Separator+" "), m.Join, m.MaxTokens)
	for _, name := range slices.Sorted(maps.Keys(m.Files)) {
		line("file", "%s, %d bytes, SHA-256 %s", name, m.Files[name].Size, m.Files[name].SHA256)
	}
	line("licence", "%s", cmp.Or(m.Licence, "not stated"))
	for _, d := range m.TrainingData {
		line("trained on", "%s, %d rows, %s", d.Name, d.Rows, d.Licence)
	}
	for _, name := range slices.Sorted(maps.Keys(m.Quality)) {
		line("measured", "%s: %s", name, compact(m.Quality[name]))
	}
	line("probe rows", "%d (erreval doctor runs them)", len(m.Probes))
	for _, label := range m.Labels {
		if i, ok := t.Index(label); ok && !t.Types[i].NoError {
			line("threshold", "%.3f %s", m.Thresholds[label], label)
		}
	}
	return flush()
}

// compact is a figure, or a group of figures, on one line.
func compact(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	data, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

func exportModel(e *env, name, dir string) error {
	var from fs.FS
	if own, ok := embeddedModels[name]; ok {
		from = own()
	} else {
		found := e.modelDir(name)
		if _, err := os.Stat(filepath.Join(found, models.ManifestFile)); err != nil {
			return exit.Usagef("there is no model %q; 'erreval models list' shows those that are there", name)
		}
		from = os.DirFS(found)
	}
	files, err := models.Export(from, dir)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(e.Err, "wrote %s to %s; use it with --model %[2]s\n", strings.Join(files, ", "), dir)
	return err
}

type tokenizeOptions struct {
	run.Rows
	file, model, join string
	json              bool
}

// tokens is what the identifier sees of a row.
type tokens struct {
	ID        string         `json:"id"`
	IDs       []int64        `json:"ids"`
	Tokens    []string       `json:"tokens"`
	Truncated map[string]int `json:"truncated"` // field to tokens cut
}

func tokenize(ctx context.Context, e *env, o *tokenizeOptions) error {
	m, err := e.openModel(ctx, o.model, o.join, o.Taxonomy)
	if err != nil {
		return err
	}
	encoder, err := identifier.NewEncoder(m, o.Taxonomy)
	if err != nil {
		return exit.With(exit.Unfit, err)
	}
	faults, err := o.Each(ctx, e.Process, o.file, func(row *dataset.Row) error { return printTokens(e.Out, encoder, row, o.json) })
	return errors.Join(err, warnFaults(e, faults))
}

func printTokens(w io.Writer, encoder *identifier.Encoder, row *dataset.Row, asJSON bool) error {
	encoded, err := encoder.Encode(row.Values)
	if err != nil {
		return fmt.Errorf("row %s: %w", row.ID, err)
	}
	out := tokens{ID: row.ID, IDs: encoded.IDs, Truncated: encoder.Truncated()}
	for _, id := range encoded.IDs {
		out.Tokens = append(out.Tokens, encoder.Token(id))
	}
	if !asJSON {
		_, err := fmt.Fprintf(w, "%s: %d tokens: %s\n", row.ID, len(out.IDs), strings.Join(out.Tokens, " "))
		return err
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(out)
}
