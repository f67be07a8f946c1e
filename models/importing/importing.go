// Package importing makes models of checkpoints and plain ONNX exports. It converts the graph, describes it, runs it on
// sample rows beside the graph that it was made of, and puts the model into its place whole or not at all.
package importing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/erreval/erreval/identifier/local"
	"github.com/erreval/erreval/identifier/tokenfile"
	"github.com/erreval/erreval/models"
	"github.com/erreval/erreval/models/checkpoint"
	"github.com/erreval/erreval/models/convert"
	"github.com/erreval/erreval/models/hub"
)

type importer struct {
	o        Options
	source   fs.FS
	choices  models.Choices
	to       string // where the model goes
	draft    *models.Draft
	given    bool // the source is already a model with a manifest
	manifest *models.Manifest
	report   Report

	fromExport *float64 // largest difference of a logit between the rewritten graph and the export's; nil for all else
}

// Import makes a model of the files in a folder. The model appears complete or not at all: after an error, or if ctx
// ends, nothing remains. A wrong option is a *models.OptionError. A source from which Import cannot make a model for
// the task, or whose graph fails its check, is a *models.UnfitError. An interruption is local.ErrInterrupted.
func Import(ctx context.Context, o Options) (p *Report, err error) {
	r := &importer{o: o, source: os.DirFS(o.Source)}
	if r.to, err = r.prepareTarget(); err != nil {
		return nil, err
	}
	if r.draft, err = models.NewDraft(r.to, o.Overwrite); err != nil {
		return nil, err
	}
	if len(r.draft.Left) > 0 {
		r.log("removed what an import that was killed left: %s", strings.Join(r.draft.Left, ", "))
	}
	defer func() {
		if err != nil && ctx.Err() != nil {
			err = local.ErrInterrupted // whatever the import was doing
		}
		err = errors.Join(err, r.draft.Discard())
	}()
	for _, step := range []func(context.Context) error{r.fillDraft, r.examineDraft, r.publishDraft} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	return &r.report, nil
}

// publishDraft completes the draft, gives it its name, and completes the report.
func (r *importer) publishDraft(ctx context.Context) error {
	if err := r.manifest.Write(r.draft.Dir); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := r.draft.Publish(r.o.Overwrite); err != nil {
		return err
	}
	m, p := r.manifest, &r.report
	p.Model, p.ID, p.Dir = filepath.Base(r.to), m.ID(), r.to
	p.Licence, p.Precision, p.Size = m.Licence, m.Precision, m.Size()
	if r.o.Output != "" {
		p.Model = models.AsFolder(r.to)
	}
	p.manifest = m
	return nil
}

// prepareTarget checks what it can before anything is written, and returns the model's folder.
func (r *importer) prepareTarget() (to string, err error) {
	o := &r.o
	if info, err := os.Stat(o.Source); err != nil {
		return "", fmt.Errorf("%w; give a folder (what is on the Hugging Face hub is fetched by 'erreval models pull "+
			"ORG/NAME')", err)
	} else if !info.IsDir() {
		return "", models.OptionErrorf("%s is a file; give the folder in which it stands, with its config.json and "+
			"tokenizer.json", o.Source)
	}
	if _, err := o.Machine.LocateLibrary(o.Library); err != nil {
		return "", err
	}
	if o.Origin == "" {
		abs, err := filepath.Abs(o.Source)
		if err != nil {
			return "", err
		}
		o.Origin = filepath.Base(abs)
	}
	if err := r.chooseName(); err != nil {
		return "", err
	}
	if err := r.readChoices(); err != nil {
		return "", err
	}
	if o.Output != "" {
		return o.Output, nil
	}
	store, err := o.Machine.Store()
	return filepath.Join(store.Dir, r.choices.Name), err
}

// fillDraft writes everything but the final manifest into the draft.
func (r *importer) fillDraft(ctx context.Context) error {
	if _, err := fs.Stat(r.source, models.ManifestFile); err == nil {
		return r.copyModel()
	}
	if _, err := tokenfile.Load(r.source); err != nil {
		return fmt.Errorf("%s: %w", r.o.Source, err)
	}
	weights, err := checkpoint.Open(r.o.Source)
	if errors.Is(err, fs.ErrNotExist) {
		if _, without := models.FindGraph(r.source); without == nil {
			return r.copyExport(ctx)
		}
		return fmt.Errorf("%s holds no model: %w; and there is no %s, which a plain ONNX export would have",
			r.o.Source, err, models.GraphFile)
	}
	if err != nil {
		return err
	}
	if err := weights.Close(); err != nil {
		return err
	}
	return r.convertCheckpoint(ctx)
}

// convertCheckpoint makes the graph of a checkpoint, and also an fp32 graph if the first has another precision.
func (r *importer) convertCheckpoint(ctx context.Context) error {
	// Ask for what config.json leaves open before reading the weights.
	c, err := models.ReadConfig(r.source)
	if err == nil && len(c.Labels) > 0 {
		_, err = models.Describe(c, r.o.Taxonomy, r.choices)
	}
	if err != nil {
		return models.UnfitErrorf("%s: %w", r.o.Source, err)
	}
	return r.writeGraphs(ctx, *c, func(to string, o convert.Options) (*convert.Result, error) {
		return convert.Convert(ctx, r.o.Source, to, o)
	})
}

// writeGraphs writes the graph that convert makes of c into the draft, and also an fp32 graph if the first has another
// precision.
func (r *importer) writeGraphs(ctx context.Context, c models.Classifier,
	convertTo func(dir string, o convert.Options) (*convert.Result, error)) error {
	o := convert.Options{Precision: cmp.Or(r.o.Precision, convert.FP32), ExternalAbove: r.o.External}
	r.log("converting %s to %s", r.o.Source, o.Precision)
	result, err := convertTo(r.draft.Dir, o)
	if err != nil {
		return err
	}
	if o.Precision != convert.FP32 {
		r.log("converting it to fp32 as well, for comparison")
		twin := convert.Options{Precision: convert.FP32} // the weights in a file beside it, so that memory need not hold them
		if r.o.KeepFP32 {
			twin.ExternalAbove = r.o.External
		}
		if _, err := convertTo(filepath.Join(r.draft.Dir, path.Dir(models.FallbackFile)), twin); err != nil {
			return err
		}
	}
	r.choices.Precision, r.report.Head, r.report.Notes = o.Precision, result.Head, result.Notes
	c.Labels, c.Inputs, c.Output = result.Labels, result.Inputs, result.Output
	if result.Hidden != "" {
		c.Embedding = &models.Embedding{Tensor: result.Hidden, Layer: result.HiddenLayer, Size: c.HiddenSize}
	}
	return r.describeDraft(ctx, &c)
}

func (r *importer) copyModel() error {
	o := &r.o
	if o.Precision+o.Labels+o.Join+o.Activation+o.Segments+o.Window != "" || len(o.Thresholds) > 0 || o.Optimize {
		return models.OptionErrorf("%s has a %s, which says how it is used; leave out --optimize, --precision, --labels, "+
			"--join, --activation, --segments, --window and --threshold", o.Source, models.ManifestFile)
	}
	if _, err := models.Export(r.source, r.draft.Dir); err != nil {
		return models.UnfitErrorf("%s: %w", o.Source, err)
	}
	m, err := models.Open(r.draft.Dir, r.o.Taxonomy)
	if err != nil {
		return err
	}
	r.given, r.manifest = true, &m.Manifest
	r.manifest.Source = cmp.Or(r.manifest.Source, o.Origin)
	return nil
}

// companions are the files that a model needs besides its graph, if they exist.
var companions = []string{"config.json", "tokenizer.json", "vocab.json", "merges.txt", "vocab.txt",
	"tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"}

// describeDraft completes the draft with the tokenizer and a first manifest.
func (r *importer) describeDraft(ctx context.Context, c *models.Classifier) (err error) {
	for _, name := range companions {
		if err := r.copyFile(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if r.manifest, err = models.Describe(c, r.o.Taxonomy, r.choices); err != nil {
		return models.UnfitErrorf("%s: %w", r.o.Source, err)
	}
	r.report.Names = c.Labels
	r.manifest.Source, r.manifest.Licence = r.o.Origin, findLicence(r.source)
	seal := func() (any, error) { return nil, r.manifest.Seal(r.draft.Dir) }
	if _, err := local.UnlessInterrupted(ctx, seal); err != nil {
		return err
	}
	return r.manifest.Write(r.draft.Dir)
}

// copyFile copies a file of the source into the draft.
func (r *importer) copyFile(name string) error {
	return models.CopyFile(r.source, name, filepath.Join(r.draft.Dir, path.Base(name)))
}

func (r *importer) log(format string, args ...any) {
	if r.o.Log != nil {
		r.o.Log(format, args...)
	}
}

// Pull fetches a checkpoint from a hub and imports it. what is ORG/NAME or ORG/NAME@REVISION. The client's Cache ""
// means huggingface_hub's own. Pull sets the client's Select, and Source and Origin of o.
func Pull(ctx context.Context, client hub.Client, what string, o Options) (*Report, error) {
	// A pull may take long: check first what the import needs after it.
	_, err := o.Machine.LocateLibrary(o.Library)
	if err == nil && client.Cache == "" {
		client.Cache, err = hub.CacheDir(o.Machine.Getenv)
	}
	if err != nil {
		return nil, err
	}
	client.Select = selectWithCard
	repo, revision, _ := strings.Cut(what, "@")
	snapshot, err := client.Pull(ctx, repo, revision)
	if err != nil {
		return nil, err
	}
	o.Source, o.Origin = snapshot.Dir, snapshot.Repo+"@"+snapshot.Commit
	return Import(ctx, o)
}

// selectWithCard fetches the model card too, which names the licence.
func selectWithCard(names []string) ([]string, error) {
	picked, err := hub.SelectModel(names)
	if err == nil && slices.Contains(names, "README.md") {
		picked = append(picked, "README.md")
	}
	return picked, err
}
