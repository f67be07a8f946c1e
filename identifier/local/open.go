package local

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"

	"golang.org/x/sys/cpu"

	"github.com/erreval/erreval/identifier"
	"github.com/erreval/erreval/identifier/ort"
	"github.com/erreval/erreval/internal/nativelib"
	"github.com/erreval/erreval/internal/regularfile"
	"github.com/erreval/erreval/internal/wholefile"
	"github.com/erreval/erreval/models"
	"github.com/erreval/erreval/taxonomy"
)

// OpenRunner opens a model's graph, and frees the graph's bytes in model. In o, Library is a path for LocateLibrary,
// and Threads 0 is 1; Inputs and Output are set to the model's. A wrong option is a *models.OptionError, a model that
// the device cannot run a *models.UnfitError.
func (m *Machine) OpenRunner(ctx context.Context, model *models.Model, o ort.Options) (*ort.Runner, error) {
	found, err := m.LocateLibrary(o.Library)
	if err != nil {
		return nil, err
	}
	o.Library, o.Threads = found.Path, max(o.Threads, 1)
	o.Inputs, o.Output = model.Manifest.Inputs, model.Manifest.Output
	if err := o.Validate(); err != nil {
		return nil, &models.OptionError{Err: err}
	}
	if err := checkUsable(model, o.Device, o.Library); err != nil {
		return nil, err
	}
	runner, err := UnlessInterrupted(ctx, func() (*ort.Runner, error) { return ort.Open(model, o) })
	if err == nil {
		model.Graph = nil
		debug.FreeOSMemory() // what was the graph is not needed again, and rows may be large
	}
	return runner, err
}

// NewIdentifier opens a model's graph as OpenRunner does, and makes its identifier. It does not check the probe rows.
// The caller closes the runner.
func (m *Machine) NewIdentifier(ctx context.Context, model *models.Model, t *taxonomy.Taxonomy, on ort.Options,
	o identifier.Options) (*identifier.Identifier, *ort.Runner, error) {
	runner, err := m.OpenRunner(ctx, model, on)
	if err != nil {
		return nil, nil, err
	}
	id, err := identifier.New(model, t, runner, o)
	if err != nil {
		return nil, nil, errors.Join(&models.UnfitError{Err: err}, runner.Close())
	}
	return id, runner, nil
}

// OpenIdentifier opens a model's graph and makes its identifier. The first time with this processor, library and
// device, it runs the probe rows. If their logits differ from the manifest's, it opens the model's fp32 graph instead,
// or calls warn with what to do; if they differ by more than rounding can explain, that is a *models.UnfitError. The
// caller closes the runner.
func (m *Machine) OpenIdentifier(ctx context.Context, model *models.Model, t *taxonomy.Taxonomy, on ort.Options,
	o identifier.Options, warn func(format string, args ...any)) (*identifier.Identifier, *ort.Runner, error) {
	library, err := m.DeviceLibrary(on.Device, on.Library)
	if err != nil {
		return nil, nil, err
	}
	on.Library = library
	id, runner, err := m.NewIdentifier(ctx, model, t, on, o)
	if err != nil {
		return nil, nil, err
	}
	c, err := m.compareProbes(ctx, model, id, on)
	if err != nil {
		return nil, nil, errors.Join(err, runner.Close())
	}
	switch {
	case c.Fault == "":
		return id, runner, nil
	case !model.HasFallback() && id.Unusable(c.Worst):
		return nil, nil, errors.Join(models.UnfitErrorf("%s; no rounding explains that, so its labels would be wrong. "+
			"Use another version of ONNX Runtime (--ort-lib) or another --device, or import a model with --precision fp32",
			c.Fault), runner.Close())
	case !model.HasFallback():
		warn("%s; its labels may differ from those of the machine it was made on. "+
			"Import the model here with --precision fp32, or with --keep-fp32, to be safe", c.Fault)
		return id, runner, nil
	}
	warn("%s, so its fp32 graph takes its place", c.Fault)
	if err := runner.Close(); err != nil {
		return nil, nil, err
	}
	return m.OpenFallback(ctx, model, t, on, o)
}

// OpenFallback is NewIdentifier with the model's fp32 graph, which also replaces the graph in model.
func (m *Machine) OpenFallback(ctx context.Context, model *models.Model, t *taxonomy.Taxonomy, on ort.Options,
	o identifier.Options) (*identifier.Identifier, *ort.Runner, error) {
	fallback, err := UnlessInterrupted(ctx, model.Fallback)
	if err != nil {
		return nil, nil, err
	}
	*model = *fallback
	return m.NewIdentifier(ctx, model, t, on, o)
}

// ErrInterrupted is the error of a call that was interrupted while it made or opened a model; it is a context.Canceled.
var ErrInterrupted error = interrupted{}

type interrupted struct{}

func (interrupted) Error() string { return "interrupted before the model was ready" }
func (interrupted) Unwrap() error { return context.Canceled }

// UnlessInterrupted returns the result of f, or ErrInterrupted as soon as ctx ends. It is for calls that take seconds
// with large models and cannot be stopped, such as opening a session of ONNX Runtime: f then goes on until the process
// ends. f must not write files, or variables that its caller reads later.
func UnlessInterrupted[T any](ctx context.Context, f func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := f()
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, ErrInterrupted
	}
}

// OpenEmbedder opens the part of a model's graph that gives vectors of texts, in a session of its own: identifying
// costs nothing for it. A model that gives no vectors is a *models.UnfitError. The caller closes the runner.
func (m *Machine) OpenEmbedder(ctx context.Context, model *models.Model,
	on ort.Options) (*identifier.Embedder, *ort.Runner, error) {
	graph, err := UnlessInterrupted(ctx, model.EmbeddingGraph)
	if err != nil {
		return nil, nil, err
	}
	library, err := m.DeviceLibrary(on.Device, on.Library)
	if err != nil {
		return nil, nil, err
	}
	part := *model
	part.Graph, part.Path, part.Manifest.Output = graph, "", models.EmbeddingOutput
	on.Library = library
	runner, err := m.OpenRunner(ctx, &part, on)
	if err != nil {
		return nil, nil, err
	}
	e, err := identifier.NewEmbedder(model, runner)
	if err != nil {
		return nil, nil, errors.Join(&models.UnfitError{Err: err}, runner.Close())
	}
	return e, runner, nil
}

// probeResult is the result of a model's probe rows on this machine, in the form of the cache.
type probeResult struct {
	Key   string  `json:"key"`   // model, library, device and processor
	Worst float64 `json:"worst"` // largest difference of a logit
	Fault string  `json:"fault"` // "" if all lie within their tolerance
}

// compareProbes runs the probe rows of id, unless the cache has their result.
func (m *Machine) compareProbes(ctx context.Context, model *models.Model, id *identifier.Identifier,
	on ort.Options) (*probeResult, error) {
	if len(model.Manifest.Probes) == 0 {
		return &probeResult{}, nil
	}
	key, err := m.probeKey(model, on)
	if err != nil {
		return nil, err
	}
	path := ""
	if cache, err := nativelib.CacheDir(m.Getenv); err == nil {
		sum := sha256.Sum256([]byte(key))
		path = filepath.Join(cache, "probes", hex.EncodeToString(sum[:16])+".json")
		if c, ok := readProbeResult(path, key); ok {
			return c, nil
		}
	}
	c := &probeResult{Key: key}
	if c.Worst, err = id.Check(ctx); err != nil {
		if ctx.Err() != nil {
			return nil, ErrInterrupted
		}
		c.Fault = fmt.Sprintf("the model %s computes otherwise here: %v", model.Manifest.ID(), err)
	}
	c.writeFile(path)
	return c, nil
}

// probeKey names everything that decides how a graph is computed. Manifests differ by their probes as well.
func (m *Machine) probeKey(model *models.Model, on ort.Options) (string, error) {
	found, err := m.LocateLibrary(on.Library)
	if err != nil {
		return "", err
	}
	version, err := ort.Version(found.Path)
	if err != nil {
		return "", err
	}
	probes, err := json.Marshal([]any{model.Manifest.Probes, model.Manifest.ProbeTolerance})
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(probes)
	parts := []string{model.SHA256, hex.EncodeToString(sum[:8]), version, cmp.Or(on.Device, "cpu"), processor()}
	return strings.Join(parts, " "), nil
}

// processor names the kind of processor by the instructions for which ONNX Runtime has special kernels.
func processor() string {
	parts := []string{runtime.GOOS, runtime.GOARCH}
	for _, f := range []struct {
		name string
		has  bool
	}{
		{"avx", cpu.X86.HasAVX}, {"avx2", cpu.X86.HasAVX2}, {"fma", cpu.X86.HasFMA}, {"avx512", cpu.X86.HasAVX512BW},
		{"vnni", cpu.X86.HasAVX512VNNI}, {"avxvnni", cpu.X86.HasAVXVNNI}, {"amx", cpu.X86.HasAMXInt8},
		{"dot", cpu.ARM64.HasASIMDDP}, {"i8mm", cpu.ARM64.HasI8MM}, {"sve", cpu.ARM64.HasSVE},
	} {
		if f.has {
			parts = append(parts, f.name)
		}
	}
	return strings.Join(parts, "/")
}

func readProbeResult(path, key string) (*probeResult, bool) {
	data, err := regularfile.Read(path, regularfile.Max)
	if err != nil {
		return nil, false
	}
	c := &probeResult{}
	return c, json.Unmarshal(data, c) == nil && c.Key == key
}

// writeFile writes c to the cache. If that fails, the probes are only compared again the next time.
func (c *probeResult) writeFile(path string) {
	data, err := json.Marshal(c)
	if err != nil || path == "" || os.MkdirAll(filepath.Dir(path), 0o755) != nil {
		return
	}
	_ = wholefile.Write(path, data)
}
