package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/identifier/tokenfile"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/models"
	"github.com/erreval/erreval/models/checkpoint"
	"github.com/erreval/erreval/models/convert"
	"github.com/erreval/erreval/taxonomy"
)

// importOptions are the flags that import and pull share.
type importOptions struct {
	Source     string // folder
	Origin     string // for the manifest: what Source is called
	Name       string // "" is the source's own
	Output     string // "" is the cache
	Precision  string // "" is fp32
	Labels     string
	Taxonomy   string
	Join       string
	Activation string
	Segments   string // one number a field, with commas between
	Thresholds []string
	External   int64
	Verify     string // reference.json, or ""
	Tolerance  float64
	KeepFP32   bool
	Optimize   bool // rewrite the graph of a plain export
	Overwrite  bool
	Library    string
	Quiet      bool
	JSON       bool

	task *taxonomy.Taxonomy // instead of Taxonomy, of a task that no file describes; or nil
}

func importFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "name", Usage: "call the model `NAME` (default: as its folder or repository)"},
		&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "write it to the new folder `DIR` instead of the cache"},
		&cli.StringFlag{Name: "precision", Usage: "`PRECISION` of the weights: fp32 (default), fp16 (for CUDA), int8 (for CPUs)"},
		&cli.StringFlag{Name: "labels", Usage: "which error types the labels are: taxonomy (all, in its order), \"`NAME,NAME`\", or \"LABEL_0=NAME,LABEL_3=NAME\""},
		taxonomyFlag(),
		&cli.StringFlag{Name: "join", Usage: "how fields become one input: `fields` (apart, default) or text (one string), as the model was trained"},
		&cli.StringFlag{Name: "activation", Usage: "`sigmoid` or softmax, where config.json has no problem_type"},
		&cli.StringFlag{Name: "segments", Usage: "token_type_ids, one a field, as in `0,1,1` (default: all 0)"},
		&cli.StringSliceFlag{Name: "threshold", Aliases: []string{"t"}, Usage: "give an error from this probability on: `P`, or LABEL=P; may be repeated"},
		&cli.Int64Flag{Name: "external-above", Value: convert.DefaultOptions().ExternalAbove, Usage: "put weights of more than `BYTES` into a file beside the graph"},
		&cli.StringFlag{Name: "verify", Usage: "compare the logits with those in `REFERENCE`, which training/record_logits.py records in Python"},
		&cli.Float64Flag{Name: "tolerance", Usage: "largest `DIFFERENCE` of a logit that --verify lets pass (default: 1e-4 for fp32, 0.02 for fp16, 0.5 for int8)"},
		&cli.BoolFlag{Name: "optimize", Usage: "rewrite the graph of a plain ONNX export as those of checkpoints are, if it is recognised"},
		&cli.BoolFlag{Name: "keep-fp32", Usage: "keep the fp32 graph too, for machines that compute the other one differently"},
		overwriteFlag(), libraryFlag(), quietFlag(), jsonFlag(),
	}
}

func readImportOptions(ctx *cli.Context) *importOptions {
	return &importOptions{Name: ctx.String("name"), Output: ctx.String("output"), Precision: ctx.String("precision"), Labels: ctx.String("labels"),
		Taxonomy: ctx.String("taxonomy"), Join: ctx.String("join"), Activation: ctx.String("activation"), Segments: ctx.String("segments"),
		Thresholds: ctx.StringSlice("threshold"), External: ctx.Int64("external-above"), Verify: ctx.String("verify"), Tolerance: ctx.Float64("tolerance"),
		KeepFP32: ctx.Bool("keep-fp32"), Optimize: ctx.Bool("optimize"),
		Overwrite: ctx.Bool("overwrite"), Library: ctx.String("ort-lib"), Quiet: ctx.Bool("quiet"), JSON: ctx.Bool("json")}
}

func importCommand(e *env) *cli.Command {
	return &cli.Command{
		Name: "import", Usage: "make a model of a checkpoint or a plain ONNX export", ArgsUsage: "DIR", Flags: importFlags(),
		Description: `A folder as transformers saves it (config.json, tokenizer.json, model.safetensors or
pytorch_model.bin) becomes an optimised graph; no Python is needed. Architectures: BERT,
DistilBERT, RoBERTa, XLM-R, DeBERTa-v2 and v3:
   erreval models import ./checkpoint --precision int8 --name mine
   erreval identify rows.jsonl --model mine -o tagged.jsonl

The checkpoints of the ErrEval paper, whose labels are LABEL_0 to LABEL_10 and whose fields
were joined as text:
   erreval models import ./roberta-base-ei --labels taxonomy --join text

Is it the same model? Compare with logits that transformers gave:
   erreval models import ./checkpoint --verify reference.json

A plain ONNX export (model.onnx, config.json, tokenizer.json) is taken as it is. --optimize
rewrites the graph that torch.onnx or Optimum made of a BERT, DistilBERT, RoBERTa or XLM-R
classifier; one that it does not recognise is taken as it is, with the reason:
   erreval models import ./export --optimize --precision int8`,
		Action: func(ctx *cli.Context) error {
			if err := wantArgs(ctx, 1, 1, "one folder with a checkpoint or an ONNX export"); err != nil {
				return err
			}
			o := readImportOptions(ctx)
			o.Source = ctx.Args().First()
			if err := o.validate(); err != nil {
				return err
			}
			return runImport(ctx.Context, e, o)
		},
	}
}

func (o *importOptions) validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, exit.Usagef(format, args...))
		}
	}
	oneOf := func(flag, value string, known ...string) {
		check(value == "" || slices.Contains(known, value), "--%s %q: give %s", flag, value, strings.Join(known, " or "))
	}
	oneOf("precision", o.Precision, convert.FP32, convert.FP16, convert.INT8)
	oneOf("join", o.Join, models.JoinFields, models.JoinText)
	oneOf("activation", o.Activation, models.Sigmoid, models.Softmax)
	check(o.Tolerance >= 0, "--tolerance %v: give a difference of a logit, such as 1e-4", o.Tolerance)
	check(o.Tolerance == 0 || o.Verify != "", "--tolerance is for --verify; give it with --verify reference.json")
	check(!o.KeepFP32 || o.Precision == convert.FP16 || o.Precision == convert.INT8, "--keep-fp32 keeps fp32 beside int8 or fp16; give --precision int8")
	if err := (convert.Options{Precision: convert.FP32, ExternalAbove: o.External}).Validate(); err != nil {
		errs = append(errs, exit.Usagef("--external-above: %v", err))
	}
	if o.Name != "" {
		if err := models.CheckName(o.Name); err != nil {
			errs = append(errs, exit.Usagef("--name %v", err))
		}
	}
	return errors.Join(errs...)
}

// importRun is one import on its way.
type importRun struct {
	e        *env
	o        *importOptions
	taxonomy *taxonomy.Taxonomy
	source   fs.FS
	choices  models.Choices
	to       string // where the model goes
	draft    *models.Draft
	given    bool // the source is a model already, with a manifest
	manifest *models.Manifest
	report   importReport

	fromExport *float64 // largest difference of a logit between the rewritten graph and the export's; nil for all else
}

func runImport(ctx context.Context, e *env, o *importOptions) (err error) {
	r := &importRun{e: e, o: o, source: os.DirFS(o.Source)}
	if r.to, err = r.prepare(); err != nil {
		return err
	}
	if r.draft, err = models.NewDraft(r.to, o.Overwrite); err != nil {
		return err
	}
	defer func() {
		if err != nil && ctx.Err() != nil {
			err = errInterrupted // whatever it was at
		}
		err = errors.Join(err, r.draft.Discard())
	}()
	if err := r.fill(ctx); err != nil {
		return err
	}
	if err := r.examine(ctx); err != nil {
		return err
	}
	if err := r.manifest.Write(r.draft.Dir); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := r.draft.Publish(o.Overwrite); err != nil {
		return err
	}
	r.report.Dir = r.to
	return r.report.print(e, r)
}

// prepare checks what can be checked before anything is written, and says where the model goes.
func (r *importRun) prepare() (to string, err error) {
	o := r.o
	if info, err := os.Stat(o.Source); err != nil {
		return "", fmt.Errorf("%w; give a folder (what is on the Hugging Face hub is fetched by 'erreval models pull ORG/NAME')", err)
	} else if !info.IsDir() {
		return "", exit.Usagef("%s is a file; give the folder in which it stands, with its config.json and tokenizer.json", o.Source)
	}
	if _, err := r.e.locateLibrary(o.Library); err != nil {
		return "", err
	}
	if r.taxonomy = o.task; r.taxonomy == nil {
		if r.taxonomy, err = openTaxonomy(o.Taxonomy); err != nil {
			return "", err
		}
	}
	if o.Origin == "" {
		abs, err := filepath.Abs(o.Source)
		if err != nil {
			return "", err
		}
		o.Origin = filepath.Base(abs)
	}
	if err := r.name(); err != nil {
		return "", err
	}
	if err := r.choose(); err != nil {
		return "", err
	}
	if o.Output != "" {
		return o.Output, nil
	}
	store, err := r.e.store()
	return filepath.Join(store.Dir, r.choices.Name), err
}

// name decides what the model is called.
func (r *importRun) name() error {
	o := r.o
	name := cmp.Or(o.Name, path.Base(strings.Split(o.Origin, "@")[0]))
	if o.Name == "" && o.Output != "" {
		name = filepath.Base(o.Output)
	}
	if err := models.CheckName(name); err != nil {
		return exit.Usagef("%w; give one with --name", err)
	}
	r.choices.Name = name
	return nil
}

func (r *importRun) choose() (err error) {
	o, c := r.o, &r.choices
	c.Version, c.Labels, c.Join, c.Activation = "0", o.Labels, o.Join, o.Activation
	if c.Thresholds, err = parseThresholds(o.Thresholds, r.taxonomy, r.taxonomy.Labels()); err != nil {
		return err
	}
	if o.Segments == "" {
		return nil
	}
	for part := range strings.SplitSeq(o.Segments, ",") {
		n, err := strconv.ParseInt(strings.TrimSpace(part), 10, 8)
		if err != nil || n < 0 {
			return exit.Usagef("--segments %q: give one small number a field, as in 0,1,1", o.Segments)
		}
		c.Segments = append(c.Segments, n)
	}
	if want := len(r.taxonomy.Fields); len(c.Segments) != want {
		return exit.Usagef("--segments %q: give %d numbers, one for each of %s", o.Segments, want, strings.Join(r.taxonomy.FieldNames(), ", "))
	}
	return nil
}

// fill writes everything but the final manifest into the draft.
func (r *importRun) fill(ctx context.Context) error {
	if _, err := fs.Stat(r.source, models.ManifestFile); err == nil {
		return r.takeModel()
	}
	if _, err := tokenfile.Load(r.source); err != nil {
		return fmt.Errorf("%s: %w", r.o.Source, err)
	}
	weights, err := checkpoint.Open(r.o.Source)
	if errors.Is(err, fs.ErrNotExist) {
		if _, without := models.FindGraph(r.source); without == nil {
			return r.takeExport(ctx)
		}
		return fmt.Errorf("%s holds no model: %w; and there is no %s, which a plain ONNX export would have", r.o.Source, err, models.GraphFile)
	}
	if err != nil {
		return err
	}
	if err := weights.Close(); err != nil {
		return err
	}
	return r.convert(ctx)
}

// convert makes the graph of a checkpoint, and its fp32 twin where the graph has another precision.
func (r *importRun) convert(ctx context.Context) error {
	// What config.json leaves open is asked before the weights are read.
	c, err := models.ReadConfig(r.source)
	if err == nil && len(c.Labels) > 0 {
		_, err = models.Describe(c, r.taxonomy, r.choices)
	}
	if err != nil {
		return exit.With(exit.Unfit, fmt.Errorf("%s: %w", r.o.Source, err))
	}
	return r.write(ctx, func(to string, o convert.Options) (*convert.Result, error) {
		return convert.Convert(ctx, r.o.Source, to, o)
	})
}

// write fills the draft with what convert makes, and with its fp32 twin where that has another precision.
func (r *importRun) write(ctx context.Context, convertTo func(dir string, o convert.Options) (*convert.Result, error)) error {
	o := convert.Options{Precision: cmp.Or(r.o.Precision, convert.FP32), ExternalAbove: r.o.External}
	r.say("converting %s to %s", r.o.Source, o.Precision)
	result, err := convertTo(r.draft.Dir, o)
	if err != nil {
		return err
	}
	if o.Precision != convert.FP32 {
		r.say("converting it to fp32 as well, for comparison")
		twin := convert.Options{Precision: convert.FP32} // its weights beside it: they need not be held in memory
		if r.o.KeepFP32 {
			twin.ExternalAbove = r.o.External
		}
		if _, err := convertTo(filepath.Join(r.draft.Dir, path.Dir(models.FallbackFile)), twin); err != nil {
			return err
		}
	}
	r.choices.Precision, r.report.Head, r.report.Notes = o.Precision, result.Head, result.Notes
	return r.describe(ctx, &models.Classifier{Architecture: result.Architecture, HiddenSize: result.HiddenSize, Layers: result.Layers,
		Labels: result.Labels, Problem: result.Problem, MaxTokens: result.MaxTokens, Inputs: result.Inputs, Output: result.Output})
}

// takeModel copies a model that has a manifest.
func (r *importRun) takeModel() error {
	o := r.o
	if o.Precision+o.Labels+o.Join+o.Activation+o.Segments != "" || len(o.Thresholds) > 0 || o.Optimize {
		return exit.Usagef("%s has a %s, which says how it is used; leave out --optimize, --precision, --labels, --join, --activation, --segments and --threshold", o.Source, models.ManifestFile)
	}
	if _, err := models.Export(r.source, r.draft.Dir); err != nil {
		return exit.With(exit.Unfit, fmt.Errorf("%s: %w", o.Source, err))
	}
	m, err := models.Open(r.draft.Dir, r.taxonomy)
	if err != nil {
		return exit.With(exit.Unfit, err)
	}
	r.given, r.manifest = true, &m.Manifest
	r.manifest.Source = cmp.Or(r.manifest.Source, o.Origin)
	return nil
}

// companions are the files beside a graph that a model needs, as far as they are there.
var companions = []string{"config.json", "tokenizer.json", "vocab.json", "merges.txt", "vocab.txt", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"}

// describe completes the draft with the tokenizer and a first manifest.
func (r *importRun) describe(ctx context.Context, c *models.Classifier) (err error) {
	for _, name := range companions {
		if err := r.copy(name, name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if r.manifest, err = models.Describe(c, r.taxonomy, r.choices); err != nil {
		return exit.With(exit.Unfit, fmt.Errorf("%s: %w", r.o.Source, err))
	}
	r.report.Names = c.Labels
	r.manifest.Source, r.manifest.Licence = r.o.Origin, findLicence(r.source)
	if _, err := unlessInterrupted(ctx, func() (any, error) { return nil, r.manifest.Seal(r.draft.Dir) }); err != nil {
		return err
	}
	return r.manifest.Write(r.draft.Dir)
}

func (r *importRun) copy(name, as string) error {
	from, err := r.source.Open(name)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := os.Create(filepath.Join(r.draft.Dir, as))
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	return errors.Join(err, to.Close())
}

func (r *importRun) say(format string, args ...any) {
	if !r.o.Quiet {
		fmt.Fprintf(r.e.Err, "erreval: "+format+"\n", args...)
	}
}
