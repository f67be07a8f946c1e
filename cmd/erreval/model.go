package main

import (
	"context"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/identifier/ort"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/nativelib"
	"github.com/erreval/erreval/models"
	"github.com/erreval/erreval/models/embedded"
	"github.com/erreval/erreval/taxonomy"
)

// defaultModel is the name of the model inside the program.
const defaultModel = models.DefaultName

// embeddedModels are the models inside the program, by name.
var embeddedModels = map[string]func() fs.FS{models.DefaultName: embedded.Default}

func joinFlag() cli.Flag {
	return &cli.StringFlag{Name: "join",
		Usage: "how a plain export's fields become one input: `fields` (apart, default) or text (one string)"}
}

// store is the folder of imported models in the cache.
func (e *env) store() (models.Store, error) {
	cache, err := nativelib.CacheDir(e.Getenv)
	return models.Store{Dir: filepath.Join(cache, "models")}, err
}

// modelDir is the folder of the model called name: an imported model's, else the folder of that name. A name with a slash
// is always a folder.
func (e *env) modelDir(name string) string {
	if s, err := e.store(); err == nil {
		if dir := s.Path(name); dir != "" {
			return dir
		}
	}
	return name
}

// openModel opens the embedded model, an imported one or one in a directory, and checks it against t.
func (e *env) openModel(ctx context.Context, name, join string, t *taxonomy.Taxonomy) (*models.Model, error) {
	m, err := unlessInterrupted(ctx, func() (*models.Model, error) {
		if own, ok := embeddedModels[name]; ok {
			return models.OpenFS(own(), name, t)
		}
		return models.Open(e.modelDir(name), t)
	})
	if err != nil {
		return nil, exit.With(exit.Unfit, err)
	}
	if join == "" || join == m.Manifest.Join {
		return m, nil
	}
	if !m.Plain {
		return nil, exit.Usagef("--join %s: the manifest of %s says %s; leave the flag out, which is for plain exports", join, name, m.Manifest.Join)
	}
	m.Manifest.Join = join
	if err := m.Manifest.Validate(); err != nil {
		return nil, exit.With(exit.Usage, err)
	}
	return m, nil
}

// openRunner opens a model's graph, whose bytes it lets go, for Runs of one thread each.
func (e *env) openRunner(ctx context.Context, m *models.Model, device, library string) (*ort.Runner, error) {
	return e.openThreads(ctx, m, device, library, 1)
}

// openThreads is openRunner with threads in each Run.
func (e *env) openThreads(ctx context.Context, m *models.Model, device, library string, threads int) (*ort.Runner, error) {
	found, err := e.locateLibrary(library)
	if err != nil {
		return nil, err
	}
	o := ort.Options{Library: found.Path, Device: device, Threads: threads, Inputs: m.Manifest.Inputs, Output: m.Manifest.Output,
		GPUMemory: e.gpuMemory}
	if err := o.Validate(); err != nil {
		return nil, exit.With(exit.Usage, err)
	}
	if err := checkUsable(m, device, found.Path); err != nil {
		return nil, err
	}
	runner, err := unlessInterrupted(ctx, func() (*ort.Runner, error) { return ort.Open(m, o) })
	if err == nil {
		m.Graph = nil
	}
	return runner, err
}

// parseThresholds reads the values of --threshold: one number for every error type, or LABEL=NUMBER, which wins.
func parseThresholds(given []string, t *taxonomy.Taxonomy, labels []string) (map[string]float64, error) {
	all, own := map[string]float64{}, map[string]float64{}
	for _, text := range given {
		name, number, named := strings.Cut(text, "=")
		if !named {
			name, number = "", text
		}
		p, err := strconv.ParseFloat(number, 64)
		if err != nil || !(p >= 0 && p <= 1) {
			return nil, exit.Usagef("--threshold %q: write a number in 0..1, as in 0.4, or LABEL=NUMBER, as in \"Vague=0.3\"", text)
		}
		if !named {
			setAll(all, t, labels, p)
			continue
		}
		i, ok := t.Index(name)
		if !ok {
			return nil, exit.Usagef("--threshold %q: the taxonomy has no error type %q; its types are %s", text, name, strings.Join(t.Labels(), ", "))
		}
		if t.Types[i].NoError {
			return nil, exit.Usagef("--threshold %q: %s is what is left when no error is found; it has no threshold", text, name)
		}
		own[t.Types[i].Name] = p
	}
	for name, p := range own {
		all[name] = p
	}
	return all, nil
}

func setAll(thresholds map[string]float64, t *taxonomy.Taxonomy, labels []string, p float64) {
	for _, label := range labels {
		if i, ok := t.Index(label); ok && !t.Types[i].NoError {
			thresholds[t.Types[i].Name] = p
		}
	}
}
