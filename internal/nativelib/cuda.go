package nativelib

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
)

// Driver is the library of NVIDIA's driver. It belongs to the machine: no package brings it.
const Driver = "libcuda.so.1"

// ErrNoCUDA says that the CUDA build was never installed.
var ErrNoCUDA = errors.New("the CUDA build of ONNX Runtime is not installed; run 'erreval setup --cuda' (about 1.6 " +
	"GB to fetch)")

// wheel is a package of which some files are installed.
type wheel struct {
	pin
	files []pin // member, size and sha256 of each
}

// CUDA is ONNX Runtime's CUDA build with its libraries, all in one folder. Nothing was loaded.
type CUDA struct {
	Library string   // path of libonnxruntime
	Preload []string // libraries to load before it, in this order: the driver by its name, the others by their path
}

// InstallCUDA installs the CUDA build and the libraries of CUDA 13 and cuDNN 9 into the cache, through pip, and tells
// whether it fetched any. It compares each file with its pinned SHA-256. It keeps correct files, so that an interrupted
// installation continues where it stopped.
func (in *Installer) InstallCUDA(ctx context.Context) (c CUDA, fetched bool, err error) {
	wheels := in.wheels
	if wheels == nil {
		if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
			return CUDA{}, false,
				fmt.Errorf("the CUDA build is pinned for linux/amd64, not for %s/%s; install one yourself and set %s to its path",
					runtime.GOOS, runtime.GOARCH, EnvVar)
		}
		wheels = cudaWheels
	}
	dir := cudaDir(in.CacheDir)
	for _, w := range wheels {
		if !in.Force && w.isVerified(dir, in.log) {
			continue
		}
		if err := in.installWheel(ctx, w, dir); err != nil {
			return CUDA{}, fetched, fmt.Errorf("%s %s: %w\nwhat is there stays; run 'erreval setup --cuda' again to go on",
				w.project, w.version, err)
		}
		fetched = true
	}
	c, err = locateCUDA(in.CacheDir, wheels)
	return c, fetched, err
}

// isVerified tells whether every file of w is in dir and has the right hash.
func (w wheel) isVerified(dir string, log func(string, ...any)) bool {
	for _, f := range w.files {
		if err := checkSum(f.pathIn(dir), f.sha256); err != nil {
			if !errors.Is(err, fs.ErrNotExist) {
				log("%v; fetching it again", err)
			}
			return false
		}
	}
	return true
}

func (in *Installer) installWheel(ctx context.Context, w wheel, dir string) error {
	w.source = PyPI
	return in.withArchive(ctx, w.pin, dir, func(archive string) error {
		for _, f := range w.files {
			if _, err := unpackLibrary(archive, f, f.pathIn(dir)); err != nil {
				return err
			}
		}
		return nil
	})
}

// pathIn is the path of a wheel's file. All are in one folder, where NVIDIA's libraries look for each other.
func (p pin) pathIn(dir string) string { return filepath.Join(dir, path.Base(p.member)) }

func cudaDir(cacheDir string) string {
	return filepath.Join(cacheDir, "onnxruntime", fmt.Sprintf("cuda-%s-linux-amd64", Version))
}

// LocateCUDA finds the CUDA build in the cache. The error is ErrNoCUDA if it was never installed; else it names every
// library that is missing or too short. It does not compute hashes, which would take seconds; InstallCUDA does.
func LocateCUDA(cacheDir string) (CUDA, error) { return locateCUDA(cacheDir, cudaWheels) }

func locateCUDA(cacheDir string, wheels []wheel) (CUDA, error) {
	dir := cudaDir(cacheDir)
	if _, err := os.Stat(dir); err != nil {
		return CUDA{}, ErrNoCUDA
	}
	c := CUDA{Preload: []string{Driver}}
	var missing []string
	for _, w := range wheels {
		for _, f := range w.files {
			name := path.Base(f.member)
			if info, err := os.Stat(f.pathIn(dir)); err != nil || info.Size() != f.size {
				missing = append(missing, name)
			}
			switch {
			case strings.HasPrefix(name, "libonnxruntime.so"):
				c.Library = f.pathIn(dir)
			case !strings.HasPrefix(name, "libonnxruntime") && !strings.HasPrefix(name, "libcudnn_"):
				c.Preload = append(c.Preload, f.pathIn(dir)) // cuDNN and ONNX Runtime load their own parts from their folder
			}
		}
	}
	if len(missing) > 0 {
		return CUDA{}, fmt.Errorf("%s lacks %s; run 'erreval setup --cuda' to complete it", dir, strings.Join(missing, ", "))
	}
	return c, nil
}
