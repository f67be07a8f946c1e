package local

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/erreval/erreval/identifier"
	"github.com/erreval/erreval/identifier/ort"
	"github.com/erreval/erreval/internal/nativelib"
	"github.com/erreval/erreval/internal/regularfile"
	"github.com/erreval/erreval/internal/wholefile"
	"github.com/erreval/erreval/models"
	"golang.org/x/sys/cpu"
)

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
