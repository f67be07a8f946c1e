// Package local runs encoder models on this machine. It finds models and ONNX Runtime, installs the latter, and opens a
// model for a device, with its probe rows compared first.
package local

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/erreval/erreval/internal/nativelib"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/models"
	"github.com/erreval/erreval/report"
	"github.com/erreval/erreval/taxonomy"
)

// Machine says where to look for models and ONNX Runtime.
type Machine struct {
	// Getenv reads the environment: ERREVAL_CACHE, ERREVAL_ORT_LIB, and the variables that decide the default cache.
	Getenv func(name string) string
	// Embedded are the models inside the program, one a task; there may be none. Each is models.DefaultName for the
	// taxonomies that it fits, and the first for those that none fits.
	Embedded []fs.FS
}

// Store is the folder of imported models in the cache.
func (m *Machine) Store() (models.Store, error) {
	cache, err := nativelib.CacheDir(m.Getenv)
	return models.Store{Dir: filepath.Join(cache, "models")}, err
}

// modelDir is the folder of the model called name: an imported model's, else the folder of that name. A name with a
// slash is always a folder.
func (m *Machine) modelDir(name string) string {
	if s, err := m.Store(); err == nil {
		if dir := s.Path(name); dir != "" {
			return dir
		}
	}
	return name
}

// embedded finds what models.DefaultName is for a taxonomy; nil where name is another.
func (m *Machine) embedded(name string, t *taxonomy.Taxonomy) (fs.FS, error) {
	if name != models.DefaultName || len(m.Embedded) == 0 {
		return nil, nil
	}
	files, manifest, err := m.find(fits(t))
	if manifest == nil && err == nil {
		files = m.Embedded[0]
	}
	return files, err
}

// find finds the first model inside the program of which is tells true; nil where there is none.
func (m *Machine) find(is func(*models.Manifest) bool) (fs.FS, *models.Manifest, error) {
	for _, files := range m.Embedded {
		manifest, err := models.ReadManifest(files)
		if err != nil || is(manifest) {
			return files, manifest, err
		}
	}
	return nil, nil, nil
}

func fits(t *taxonomy.Taxonomy) func(*models.Manifest) bool {
	return func(m *models.Manifest) bool { return m.Fits(t) == nil }
}

// DefaultFor is the manifest of the model inside the program that fits a taxonomy; nil where there is none.
func (m *Machine) DefaultFor(t *taxonomy.Taxonomy) (*models.Manifest, error) {
	_, manifest, err := m.find(fits(t))
	return manifest, err
}

// Tasks are the built-in taxonomies that the models inside the program were trained on, in their order.
func (m *Machine) Tasks() (tasks []*taxonomy.Taxonomy, err error) {
	for _, files := range m.Embedded {
		manifest, err := models.ReadManifest(files)
		if err != nil {
			return nil, err
		}
		name, _, _ := strings.Cut(manifest.Taxonomy, "@")
		t, err := taxonomy.Builtin(name)
		if err != nil {
			return nil, err
		}
		tasks = append(tasks, t)
	}
	return tasks, nil
}

// Trained finds the model inside the program that was trained on the built-in taxonomy called task; nil where there is
// none.
func (m *Machine) Trained(task string) (fs.FS, *models.Manifest, error) {
	return m.find(func(m *models.Manifest) bool { return strings.HasPrefix(m.Taxonomy, task+"@") })
}

// OpenModel opens an embedded model, an imported one or one in a directory, and checks it against t: if it does not
// fit, the error is a *models.UnfitError. join is one of models.Join…, for plain exports, whose files do not say; ""
// leaves the model's own. For another join the error is a *models.OptionError.
func (m *Machine) OpenModel(ctx context.Context, name, join string, t *taxonomy.Taxonomy) (*models.Model, error) {
	model, err := UnlessInterrupted(ctx, func() (*models.Model, error) {
		if files, err := m.embedded(name, t); files != nil || err != nil {
			return models.OpenFS(files, name, t)
		}
		return models.Open(m.modelDir(name), t)
	})
	if err != nil || join == "" || join == model.Manifest.Join {
		return model, err
	}
	if !model.Plain {
		return nil, models.OptionErrorf("--join %s: the manifest of %s says %s; leave the flag out, which is for plain "+
			"exports",
			join, name, model.Manifest.Join)
	}
	model.Manifest.Join = join
	if err := model.Manifest.Validate(); err != nil {
		return nil, &models.OptionError{Err: err}
	}
	return model, nil
}

// ExportModel writes the files of the model called name, or of the default for t, to dir, which must be empty or not
// exist, and returns their names. It must have a manifest.
func (m *Machine) ExportModel(name string, t *taxonomy.Taxonomy, dir string) ([]string, error) {
	if files, err := m.embedded(name, t); files != nil || err != nil {
		return models.Export(files, dir)
	}
	found := m.modelDir(name)
	if _, err := os.Stat(filepath.Join(found, models.ManifestFile)); err != nil {
		return nil, models.OptionErrorf("there is no model %q; 'erreval models list' shows those that are there", name)
	}
	return models.Export(os.DirFS(found), dir)
}

// RemoveModels removes imported models from the cache, and returns the names of those removed. After an error it
// continues with the others.
func (m *Machine) RemoveModels(names []string) (removed []string, err error) {
	store, err := m.Store()
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, name := range names {
		if err := store.Remove(name); err != nil {
			errs = append(errs, err)
			continue
		}
		removed = append(removed, name)
	}
	return removed, errors.Join(errs...)
}

// Listed is a model in a List.
type Listed struct {
	Model     string `json:"model"` // as in --model
	ID        string `json:"id"`
	Taxonomy  string `json:"taxonomy"`
	Precision string `json:"precision"`
	Size      int64  `json:"size"` // bytes of all files
	Source    string `json:"source,omitempty"`
}

// List lists models.
type List []Listed

func (l *List) add(name string, m *models.Manifest) {
	*l = append(*l, Listed{Model: name, ID: m.ID(), Taxonomy: m.Taxonomy, Precision: m.Precision, Size: m.Size(),
		Source: m.Source})
}

// ListModels lists the embedded models, then the imported ones by name, without checking their files. If models
// cannot be read, it returns an error and the other models.
func (m *Machine) ListModels() (List, error) {
	var all List
	for _, files := range m.Embedded {
		manifest, err := models.ReadManifest(files)
		if err != nil {
			return nil, err
		}
		all.add(models.DefaultName, manifest)
	}
	store, err := m.Store()
	if err != nil {
		return all, nil // without a cache folder there are no imported models
	}
	found, err := store.List()
	for _, stored := range found {
		all.add(stored.Name, &stored.Manifest)
	}
	return all, err
}

// Lines has a line for each model.
func (l List) Lines() *report.Lines {
	lines := &report.Lines{}
	for _, m := range l {
		lines.Add(m.Model, "%s, %s, %s, %.1f MB%s", m.ID, m.Taxonomy, models.PrecisionText(m.Precision), float64(m.Size)/1e6,
			words.Prefixed(", from ", m.Source))
	}
	return lines
}

// Describe describes a model's manifest for people. The thresholds are those of the error types of t.
func Describe(model *models.Model, t *taxonomy.Taxonomy) *report.Lines {
	m, lines := &model.Manifest, &report.Lines{}
	lines.Add("model", "%s (%s)", m.ID(), model.Source)
	if m.Source != "" {
		lines.Add("imported", "from %s", m.Source)
	}
	lines.Add("encoder", "%s, %s", m.EncoderText(), models.PrecisionText(m.Precision))
	lines.Add("taxonomy", "%s", m.Taxonomy)
	lines.Add("input", "%s", m.InputText())
	lines.Add("reads", "%s", m.LanguagesText())
	for _, name := range slices.Sorted(maps.Keys(m.Files)) {
		lines.Add("file", "%s, %d bytes, SHA-256 %s", name, m.Files[name].Size, m.Files[name].SHA256)
	}
	lines.Add("licence", "%s", cmp.Or(m.Licence, "not stated"))
	for _, d := range m.TrainingData {
		lines.Add("trained on", "%s, %d rows, %s", d.Name, d.Rows, d.Licence)
	}
	for _, name := range slices.Sorted(maps.Keys(m.Quality)) {
		lines.Add("measured", "%s: %s", name, compactJSON(m.Quality[name]))
	}
	lines.Add("probe rows", "%d (erreval doctor runs them)", len(m.Probes))
	if len(m.NotJudged) > 0 {
		lines.Add("not judged", "%s", strings.Join(m.NotJudged, ", "))
	}
	for _, label := range m.Labels {
		if i, ok := t.Index(label); ok && !t.Types[i].NoError && !slices.Contains(m.NotJudged, label) {
			lines.Add("threshold", "%.3f %s", m.Thresholds[label], label)
		}
	}
	return lines
}

// compactJSON is a figure, or a group of figures, on one line.
func compactJSON(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	data, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(data)
}
