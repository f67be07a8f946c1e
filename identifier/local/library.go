package local

import (
	"errors"
	"fmt"

	"github.com/erreval/erreval/identifier"
	"github.com/erreval/erreval/identifier/ort"
	"github.com/erreval/erreval/internal/nativelib"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/models"
)

// LocateLibrary finds ONNX Runtime: at path, unless that is "", then by the environment, in the cache, in the system.
func (m *Machine) LocateLibrary(path string) (nativelib.Found, error) {
	env := m.Getenv(nativelib.EnvVar)
	cache, err := nativelib.CacheDir(m.Getenv)
	if err != nil && path == "" && env == "" {
		return nativelib.Found{}, err
	}
	return nativelib.Locate(nativelib.Options{Flag: path, Env: env, CacheDir: cache})
}

// DeviceLibrary is the ONNX Runtime to use for a device: the one that the user names, else for a GPU the CUDA build in
// the cache, whose libraries it loads. "" means that LocateLibrary decides.
func (m *Machine) DeviceLibrary(device, path string) (string, error) {
	if !ort.IsCUDA(device) || path != "" || m.Getenv(nativelib.EnvVar) != "" {
		return path, nil
	}
	path, err := m.cudaLibrary()
	if err != nil {
		return "", fmt.Errorf("device %s cannot be used: %w; or use --device cpu", device, err)
	}
	return path, nil
}

func (m *Machine) cudaLibrary() (string, error) {
	c, err := m.LocateCUDA()
	if errors.Is(err, nativelib.ErrNoCUDA) {
		if f, sysErr := m.LocateLibrary(""); sysErr == nil && f.From == "system" {
			return f.Path, nil // perhaps a CUDA build; opening it will show
		}
	}
	if err != nil {
		return "", err
	}
	return c.Library, explainLoad(ort.Preload(c.Preload))
}

// LocateCUDA finds the CUDA build of ONNX Runtime in the cache without loading it.
func (m *Machine) LocateCUDA() (nativelib.CUDA, error) {
	cache, err := nativelib.CacheDir(m.Getenv)
	if err != nil {
		return nativelib.CUDA{}, err
	}
	return nativelib.LocateCUDA(cache)
}

// explainLoad says what to do about a library that does not load.
func explainLoad(err error) error {
	var failed *ort.LoadError
	switch {
	case !errors.As(err, &failed):
		return err
	case failed.Path == nativelib.Driver:
		return fmt.Errorf("there is no NVIDIA driver: %w; CUDA 13 needs driver 580 or newer: install it and check that "+
			"'nvidia-smi' runs", err)
	}
	return fmt.Errorf("%w; run 'erreval setup --cuda' to check and repair it", err)
}

// checkUsable is an error if a model cannot run on a device. It says why.
func checkUsable(m *models.Model, device, library string) error {
	if !ort.IsCUDA(device) {
		return nil
	}
	if err := ort.TryDevice(library, device); err != nil {
		return err
	}
	if m.Manifest.Precision == "int8" {
		return models.UnfitErrorf("device %s cannot be used: the model %s is int8, whose operators run on a CPU only; "+
			"import its checkpoint with --precision fp16, or use --device cpu", device, m.Manifest.ID())
	}
	return nil
}

// Schedule is the best schedule for a device: rows one at a time on a CPU, batches on a GPU. workers 0 is one a core.
func Schedule(device string, workers int) identifier.Options {
	o := identifier.DefaultOptions()
	if ort.IsCUDA(device) {
		o = identifier.GPUOptions()
	}
	if workers > 0 {
		o.Workers = workers
		o.Window = max(o.Window, 4*workers)
		if !ort.IsCUDA(device) {
			o.Window = 4 * workers
		}
	}
	return o
}

// ParseSize reads "8GB", "900MB" or a number of bytes, as --gpu-memory takes it; "" is 0. A fault is a
// *models.OptionError.
func ParseSize(text string) (int64, error) {
	n, err := words.ParseSize(text)
	if err != nil {
		return 0, models.OptionErrorf("--gpu-memory %w", err)
	}
	return n, nil
}
