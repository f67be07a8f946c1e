package local

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/erreval/erreval/identifier/ort"
	"github.com/erreval/erreval/internal/nativelib"
	"github.com/erreval/erreval/models"
)

// InstallOptions say where ONNX Runtime comes from and where it goes.
type InstallOptions struct {
	Dir    string // the cache; "" is the usual one
	Source string // one of nativelib.Sources()
	SHA256 string // of the release archive, hexadecimal
	Force  bool   // fetch again even if it is there
	CUDA   bool   // the CUDA build with its libraries

	// Log is called with a line for each step, Warn with what prevents the use of the library. nil is silent.
	Log, Warn func(format string, args ...any)
}

// Install installs ONNX Runtime into the cache, checks that it can be loaded, and returns the library's path. If the
// environment names a library, it fetches nothing.
func (m *Machine) Install(ctx context.Context, o InstallOptions) (path string, err error) {
	silent := func(string, ...any) {}
	if o.Log == nil {
		o.Log = silent
	}
	if o.Warn == nil {
		o.Warn = silent
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
