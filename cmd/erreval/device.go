package main

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/identifier"
	"github.com/erreval/erreval/identifier/ort"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/nativelib"
	"github.com/erreval/erreval/models"
)

func gpuMemoryFlag() cli.Flag {
	return &cli.StringFlag{Name: "gpu-memory", EnvVars: envName("gpu-memory"),
		Usage: "let ONNX Runtime hold at most `SIZE` on the GPU, as in 8GB or 900MB; no limit where not given"}
}

// isCUDA tells whether device is an NVIDIA GPU: "cuda" or "cuda:N".
func isCUDA(device string) bool { return device == "cuda" || strings.HasPrefix(device, "cuda:") }

// scheduleFor is the schedule that suits a device: rows one at a time on a CPU, batches on a GPU.
func scheduleFor(device string, workers int) identifier.Options {
	o := identifier.DefaultOptions()
	if isCUDA(device) {
		o = identifier.GPUOptions()
	}
	if workers > 0 {
		o.Workers = workers
		o.Window = max(o.Window, 4*workers)
		if !isCUDA(device) {
			o.Window = 4 * workers
		}
	}
	return o
}

// parseSize reads "8GB", "900MB" or a number of bytes; "" is 0.
func parseSize(text string) (int64, error) {
	number, unit := strings.ToUpper(strings.TrimSpace(text)), 1.0
	for _, u := range []struct {
		suffix string
		bytes  float64
	}{{"GB", 1e9}, {"MB", 1e6}, {"GIB", 1 << 30}, {"MIB", 1 << 20}} {
		if rest, ok := strings.CutSuffix(number, u.suffix); ok {
			number, unit = strings.TrimSpace(rest), u.bytes
			break
		}
	}
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseFloat(number, 64)
	if err != nil || !(n > 0) || n*unit > math.MaxInt64/2 {
		return 0, exit.Usagef("--gpu-memory %q: write a size, as in 8GB or 900MB", text)
	}
	return int64(n * unit), nil
}

// deviceLibrary is the ONNX Runtime to use for a device: what the user names, else for a GPU the CUDA build in the cache,
// whose libraries it loads.
func (e *env) deviceLibrary(device, library string) (string, error) {
	if !isCUDA(device) || library != "" || e.Getenv(nativelib.EnvVar) != "" {
		return library, nil
	}
	path, err := e.cudaLibrary()
	if err != nil {
		return "", fmt.Errorf("device %s cannot be used: %w; or use --device cpu", device, err)
	}
	return path, nil
}

func (e *env) cudaLibrary() (string, error) {
	cache, err := nativelib.CacheDir(e.Getenv)
	if err != nil {
		return "", err
	}
	c, err := nativelib.LocateCUDA(cache)
	if errors.Is(err, nativelib.ErrNoCUDA) {
		if f, sysErr := e.locateLibrary(""); sysErr == nil && f.From == "system" {
			return f.Path, nil // perhaps a CUDA build; it will say
		}
	}
	if err != nil {
		return "", err
	}
	return c.Library, explainLoad(ort.Preload(c.Preload))
}

// explainLoad says what to do about a library that does not load.
func explainLoad(err error) error {
	var failed *ort.LoadError
	switch {
	case !errors.As(err, &failed):
		return err
	case failed.Path == nativelib.Driver:
		return fmt.Errorf("there is no NVIDIA driver: %w; CUDA 13 needs driver 580 or newer: install it and check that 'nvidia-smi' runs", err)
	}
	return fmt.Errorf("%w; run 'erreval setup --cuda' to check and repair it", err)
}

// checkUsable reports why a model cannot run on a device.
func checkUsable(m *models.Model, device, library string) error {
	if !isCUDA(device) {
		return nil
	}
	if err := ort.TryDevice(library, device); err != nil {
		return err
	}
	if m.Manifest.Precision == "int8" {
		return exit.With(exit.Unfit, fmt.Errorf("device %s cannot be used: the model %s is int8, whose operators run on a CPU only; "+
			"import its checkpoint with --precision fp16, or use --device cpu", device, m.Manifest.ID()))
	}
	return nil
}
