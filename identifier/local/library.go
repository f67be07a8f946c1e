package local

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

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
	failed, ok := errors.AsType[*ort.LoadError](err)
	switch {
	case !ok:
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

// InstallOptions say where ONNX Runtime comes from and where it goes.
type InstallOptions struct {
	Dir    string // the cache; "" is the usual one
	Source string // one of nativelib.Sources()
	SHA256 string // of the release archive, hexadecimal
	Force  bool   // fetch again even if it is there
	CUDA   bool   // the CUDA build with its libraries

	Log  func(format string, args ...any) // is called with a line for each step; nil is silent
	Warn func(format string, args ...any) // is called with what prevents the use of the library
}

// Install installs ONNX Runtime into the cache, checks that it can be loaded, and returns the library's path. If the
// environment names a library, it fetches nothing.
func (m *Machine) Install(ctx context.Context, o InstallOptions) (path string, err error) {
	if o.Log == nil {
		o.Log = func(string, ...any) {}
	}
	if o.CUDA {
		return m.installCUDA(ctx, o)
	}
	f, what, err := m.installLibrary(ctx, o)
	if err != nil {
		return "", fmt.Errorf("ONNX Runtime was not set up:\n%w", err)
	}
	version, err := ort.Version(f.Path)
	if err != nil {
		return "", err
	}
	o.Log("ONNX Runtime %s %s, and loads", version, what)
	if usual, _ := nativelib.CacheDir(m.Getenv); o.Dir != "" && !strings.HasPrefix(f.Path, usual) {
		dir, err := filepath.Abs(o.Dir)
		if err != nil {
			return "", err
		}
		o.Log("set ERREVAL_CACHE=%s so that the other commands find it", dir)
	}
	return f.Path, nil
}

// installLibrary returns the library to use, and words for what it did.
func (m *Machine) installLibrary(ctx context.Context, o InstallOptions) (f nativelib.Found, what string, err error) {
	if m.Getenv(nativelib.EnvVar) != "" && !o.Force {
		f, err := m.LocateLibrary("")
		return f, "is given by " + nativelib.EnvVar, err
	}
	in, err := m.installer(o)
	if err != nil {
		return f, "", err
	}
	f, fetched, err := in.Install(ctx)
	return f, wasFetched(fetched) + ", its SHA-256 is right", err
}

// installCUDA fetches the CUDA build and logs whether it can be used here. That it cannot is no error: a machine
// without a GPU may prepare a cache for another one.
func (m *Machine) installCUDA(ctx context.Context, o InstallOptions) (string, error) {
	if o.Source != nativelib.Auto && o.Source != nativelib.PyPI || o.SHA256 != "" {
		return "", models.OptionErrorf("--cuda takes its packages from PyPI alone; leave --source and --sha256 out")
	}
	in, err := m.installer(o)
	if err != nil {
		return "", fmt.Errorf("the CUDA build was not set up: %w", err)
	}
	c, fetched, err := in.InstallCUDA(ctx)
	if err != nil {
		return "", fmt.Errorf("the CUDA build was not set up:\n%w", err)
	}
	o.Log("ONNX Runtime %s for CUDA %s, the SHA-256 of each file is right", nativelib.Version, wasFetched(fetched))
	err = explainLoad(ort.Preload(c.Preload))
	if err == nil {
		err = ort.TryDevice(c.Library, "cuda")
	}
	if err != nil {
		o.Warn("it cannot be used on this machine: %v", err)
	} else {
		o.Log("an NVIDIA GPU can be used: --device cuda")
	}
	if path := m.Getenv(nativelib.EnvVar); path != "" {
		o.Warn("%s names %s, which goes before it; unset %[1]s to use it", nativelib.EnvVar, path)
	}
	return c.Library, nil
}

func wasFetched(fetched bool) string {
	if fetched {
		return "is in the cache now"
	}
	return "was in the cache"
}

func (m *Machine) installer(o InstallOptions) (*nativelib.Installer, error) {
	cache, err := nativelib.CacheDir(m.Getenv)
	if o.Dir != "" {
		cache, err = filepath.Abs(o.Dir)
	}
	return &nativelib.Installer{CacheDir: cache, Source: o.Source, SHA256: o.SHA256, Force: o.Force, Log: o.Log}, err
}
