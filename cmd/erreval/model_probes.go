package main

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
	"strings"

	"golang.org/x/sys/cpu"

	"github.com/erreval/erreval/identifier"
	"github.com/erreval/erreval/identifier/ort"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/nativelib"
	"github.com/erreval/erreval/internal/wholefile"
	"github.com/erreval/erreval/models"
	"github.com/erreval/erreval/taxonomy"
)

// probeResult is what came of running a model's probe rows on this machine, as the cache keeps it.
type probeResult struct {
	Key   string  `json:"key"`   // model, library, device and processor
	Worst float64 `json:"worst"` // largest difference of a logit
	Fault string  `json:"fault"` // "" if all lie within their tolerance
}

// openIdentifier opens a model's graph and its identifier. When this processor, library and device see the model for
// the first time, its probe rows are run; where they give other logits than the manifest's, the model's fp32 graph
// takes its place, or warn is told what to do.
func (e *env) openIdentifier(ctx context.Context, m *models.Model, t *taxonomy.Taxonomy, device, library string, o identifier.Options,
	warn func(format string, args ...any)) (*identifier.Identifier, *ort.Runner, error) {
	library, err := e.deviceLibrary(device, library)
	if err != nil {
		return nil, nil, err
	}
	id, runner, err := e.newIdentifier(ctx, m, t, device, library, o)
	if err != nil {
		return nil, nil, err
	}
	c, err := e.compareProbes(ctx, m, id, device, library)
	if err != nil {
		return nil, nil, errors.Join(err, runner.Close())
	}
	switch {
	case c.Fault == "":
		return id, runner, nil
	case !m.HasFallback():
		warn("%s; its labels may differ from those of the machine it was made on. Import the model here with --precision fp32, or with --keep-fp32, to be safe", c.Fault)
		return id, runner, nil
	}
	warn("%s, so its fp32 graph takes its place", c.Fault)
	if err := runner.Close(); err != nil {
		return nil, nil, err
	}
	return e.openFallback(ctx, m, t, device, library, o)
}

// openFallback opens m's fp32 graph, which takes the place of its own.
func (e *env) openFallback(ctx context.Context, m *models.Model, t *taxonomy.Taxonomy, device, library string, o identifier.Options) (*identifier.Identifier, *ort.Runner, error) {
	fallback, err := unlessInterrupted(ctx, m.Fallback)
	if err != nil {
		return nil, nil, exit.With(exit.Unfit, err)
	}
	*m = *fallback
	return e.newIdentifier(ctx, m, t, device, library, o)
}

func (e *env) newIdentifier(ctx context.Context, m *models.Model, t *taxonomy.Taxonomy, device, library string, o identifier.Options) (*identifier.Identifier, *ort.Runner, error) {
	runner, err := e.openRunner(ctx, m, device, library)
	if err != nil {
		return nil, nil, err
	}
	id, err := identifier.New(m, t, runner, o)
	if err != nil {
		return nil, nil, errors.Join(exit.With(exit.Unfit, err), runner.Close())
	}
	return id, runner, nil
}

// compareProbes runs the probe rows of id, unless the cache knows what comes of it.
func (e *env) compareProbes(ctx context.Context, m *models.Model, id *identifier.Identifier, device, library string) (*probeResult, error) {
	if len(m.Manifest.Probes) == 0 {
		return &probeResult{}, nil
	}
	key, err := e.probeKey(m, device, library)
	if err != nil {
		return nil, err
	}
	path := ""
	if cache, err := nativelib.CacheDir(e.Getenv); err == nil {
		sum := sha256.Sum256([]byte(key))
		path = filepath.Join(cache, "probes", hex.EncodeToString(sum[:16])+".json")
		if c, ok := readProbeResult(path, key); ok {
			return c, nil
		}
	}
	c := &probeResult{Key: key}
	if c.Worst, err = id.Check(ctx); err != nil {
		if ctx.Err() != nil {
			return nil, errInterrupted
		}
		c.Fault = fmt.Sprintf("the model %s computes otherwise here: %v", m.Manifest.ID(), err)
	}
	c.keep(path)
	return c, nil
}

// probeKey names everything that decides how a graph is computed. Manifests differ by their probes as well.
func (e *env) probeKey(m *models.Model, device, library string) (string, error) {
	found, err := e.locateLibrary(library)
	if err != nil {
		return "", err
	}
	version, err := ort.Version(found.Path)
	if err != nil {
		return "", err
	}
	probes, err := json.Marshal([]any{m.Manifest.Probes, m.Manifest.ProbeTolerance})
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(probes)
	return strings.Join([]string{m.SHA256, hex.EncodeToString(sum[:8]), version, cmp.Or(device, "cpu"), processor()}, " "), nil
}

// processor names the kind of processor by the instructions for which ONNX Runtime has kernels of their own.
func processor() string {
	parts := []string{runtime.GOOS, runtime.GOARCH}
	for _, f := range []struct {
		name string
		has  bool
	}{
		{"avx", cpu.X86.HasAVX}, {"avx2", cpu.X86.HasAVX2}, {"fma", cpu.X86.HasFMA}, {"avx512", cpu.X86.HasAVX512BW}, {"vnni", cpu.X86.HasAVX512VNNI},
		{"avxvnni", cpu.X86.HasAVXVNNI}, {"amx", cpu.X86.HasAMXInt8}, {"dot", cpu.ARM64.HasASIMDDP}, {"i8mm", cpu.ARM64.HasI8MM}, {"sve", cpu.ARM64.HasSVE},
	} {
		if f.has {
			parts = append(parts, f.name)
		}
	}
	return strings.Join(parts, "/")
}

func readProbeResult(path, key string) (*probeResult, bool) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, false
	}
	c := &probeResult{}
	return c, json.Unmarshal(data, c) == nil && c.Key == key
}

// keep writes c whole or not at all. A cache that cannot be written costs a comparison each time, nothing else.
func (c *probeResult) keep(path string) {
	data, err := json.Marshal(c)
	if err != nil || path == "" || os.MkdirAll(filepath.Dir(path), 0o755) != nil {
		return
	}
	_ = wholefile.Write(path, data)
}
