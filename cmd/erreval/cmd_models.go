package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/identifier"
	"github.com/erreval/erreval/models"
	"github.com/erreval/erreval/models/embedded"
	"github.com/erreval/erreval/taxonomy"
)

func modelsCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:  "models",
		Usage: "list, describe and export models, and see what they see",
		Description: `What the model inside the program is, and how good:
   erreval models info

Its files, for other tools (the tokenizer.json is Hugging Face's format):
   erreval models export default my-model/

Whether a model of your own fits, and the tokens it sees:
   erreval models info my-model/
   erreval models tokenize rows.jsonl --model my-model/ --json`,
		Subcommands: []*cli.Command{
			{
				Name: "list", Usage: "list the models inside the program", Flags: []cli.Flag{jsonFlag()},
				Action: func(ctx *cli.Context) error {
					if err := wantArgs(ctx, 0, 0, "no argument"); err != nil {
						return err
					}
					return listModels(e.out, ctx.Bool("json"))
				},
			},
			{
				Name: "info", Usage: "check a model and print its manifest", ArgsUsage: "[MODEL]",
				Flags: []cli.Flag{taxonomyFlag(), joinFlag(), jsonFlag()},
				Action: func(ctx *cli.Context) error {
					if err := wantArgs(ctx, 0, 1, "at most one model"); err != nil {
						return err
					}
					return modelInfo(e.out, ctx.Args().First(), ctx.String("join"), ctx.String("taxonomy"), ctx.Bool("json"))
				},
			},
			{
				Name: "export", Usage: "write a model's files to a new directory", ArgsUsage: "default DIR",
				Action: func(ctx *cli.Context) error {
					if err := wantArgs(ctx, 2, 2, "a model inside the program and a new directory"); err != nil {
						return err
					}
					return exportModel(e, ctx.Args().Get(0), ctx.Args().Get(1))
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
					in.limit = ctx.Int("limit")
					return tokenize(ctx.Context, e, &tokenizeOptions{in, ctx.Args().First(), ctx.String("model"), ctx.String("join"), ctx.Bool("json")})
				},
			},
		},
	}
}

func listModels(w io.Writer, asJSON bool) error {
	m, err := embeddedManifest()
	if err != nil {
		return err
	}
	if asJSON {
		return writeJSON(w, []map[string]any{{"model": defaultModel, "id": m.ID(), "taxonomy": m.Taxonomy, "precision": m.Precision,
			"size": m.Files[models.GraphFile].Size}})
	}
	_, err = fmt.Fprintf(w, "%s  %s, %s, %s, %.1f MB\n", defaultModel, m.ID(), m.Taxonomy, m.Precision, float64(m.Files[models.GraphFile].Size)/1e6)
	return err
}

// embeddedManifest reads the default model's manifest without checking its files.
func embeddedManifest() (*models.Manifest, error) {
	data, err := embedded.Default().Open(models.ManifestFile)
	if err != nil {
		return nil, err
	}
	defer data.Close()
	content, err := io.ReadAll(data)
	if err != nil {
		return nil, err
	}
	return models.ParseManifest(content)
}

func modelInfo(w io.Writer, name, join, taxonomyName string, asJSON bool) error {
	if name == "" {
		name = defaultModel
	}
	t, err := openTaxonomy(taxonomyName)
	if err != nil {
		return err
	}
	m, err := openModel(name, join, t)
	if err != nil {
		return err
	}
	if asJSON {
		return writeJSON(w, m.Manifest)
	}
	return printManifest(w, m, t)
}

func printManifest(w io.Writer, model *models.Model, t *taxonomy.Taxonomy) error {
	m := &model.Manifest
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(name, format string, args ...any) {
		fmt.Fprintf(tw, "%s\t%s\n", name, fmt.Sprintf(format, args...))
	}
	line("model", "%s (%s)", m.ID(), model.Source)
	line("encoder", "%s, %d layers of %d, %s", m.Architecture, m.Layers, m.HiddenSize, or(m.Precision, "precision not stated"))
	line("taxonomy", "%s", m.Taxonomy)
	line("input", "%s, joined as %s, at most %d tokens", strings.Join(m.Fields, " "+m.Separator+" "), m.Join, m.MaxTokens)
	for _, name := range slices.Sorted(maps.Keys(m.Files)) {
		line("file", "%s, %d bytes, SHA-256 %s", name, m.Files[name].Size, m.Files[name].SHA256)
	}
	line("licence", "%s", or(m.Licence, "not stated"))
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
	return tw.Flush()
}

func or(s, instead string) string {
	if s == "" {
		return instead
	}
	return s
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
	if name != defaultModel {
		return usagef("there is no model %q inside the program; only %s can be exported", name, defaultModel)
	}
	files, err := models.Export(embedded.Default(), dir)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(e.err, "wrote %s to %s; use it with --model %[2]s\n", strings.Join(files, ", "), dir)
	return err
}

type tokenizeOptions struct {
	rowInput
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
	m, err := openModel(o.model, o.join, o.taxonomy)
	if err != nil {
		return err
	}
	encoder, err := identifier.NewEncoder(m, o.taxonomy)
	if err != nil {
		return withCode(exitUnfit, err)
	}
	faults, err := o.eachRow(ctx, e, o.file, func(row *dataset.Row) error { return printTokens(e.out, encoder, row, o.json) })
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
