// Package nativelib finds ONNX Runtime's shared library and installs a pinned version of it into
// the user's cache. It never loads the library; identifier/ort does.
package nativelib

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
)

// Version is the ONNX Runtime version that is installed from PyPI and that erreval is tested with.
const Version = "1.31.1"

// MinMinor is the oldest usable minor version of ONNX Runtime 1.x: the binding asks for C API 24,
// which came with 1.24.
const MinMinor = 24

// Sources that Install knows, in the order in which "auto" tries them.
const (
	Auto    = "auto"    // PyPI, then npm, then the release archive if its SHA-256 was given
	PyPI    = "pypi"    // the wheel "onnxruntime", through pip
	NPM     = "npm"     // the package "onnxruntime-node", through npm
	Release = "release" // the archive that the project publishes with each release
)

// Sources lists the names that Install accepts.
func Sources() []string { return []string{Auto, PyPI, NPM, Release} }

// pin is one file of one published package.
type pin struct {
	source, version, arch string
	project               string // on PyPI; "" is onnxruntime
	platform              string // pip's platform tag
	member                string // path of the library inside the archive
	sha256                string // of the library; "" where no pin is known
	size                  int64  // bytes of the library; 0 where unknown
	download              int64  // bytes of the archive, to be printed
}

// pins were recorded on 2026-11-21 from the packages that the registries served (`sha256sum` of the unpacked file; the
// wheels of CPython 3.12 and 3.13 hold the same library). The release archive could not be fetched then: it has no pin.
var pins = []pin{
	{
		source: PyPI, version: Version, arch: "amd64", platform: "manylinux_2_28_x86_64",
		member: "onnxruntime/capi/libonnxruntime.so.1.31.1",
		sha256: "fc44112fbe06d7d689c57e11d3862031f64711007e4ee020f8eed5185fd2c1d3",
		size:   29352200, download: 23760988,
	},
	{
		source: PyPI, version: Version, arch: "arm64", platform: "manylinux_2_28_aarch64",
		member: "onnxruntime/capi/libonnxruntime.so.1.31.1",
		sha256: "8aa3b76b28c778a2b1dd660d34161adb1d508c9ccd04ff9dc80e26eca5df8467",
		size:   25265040, download: 21420803,
	},
	{
		source: NPM, version: "1.30.0", arch: "amd64",
		member: "package/bin/napi-v6/linux/x64/libonnxruntime.so.1",
		sha256: "ffb75a925ba05e47b235bb66e3e3911714a80b328a9c9425539feb204aa32a23",
		size:   45828512, download: 113507888,
	},
	{
		source: NPM, version: "1.30.0", arch: "arm64",
		member: "package/bin/napi-v6/linux/arm64/libonnxruntime.so.1",
		sha256: "1f549d46250b005580b597f4164984aaf75b3bcb9f3aeb07c7f8a8fe60b23c76",
		size:   25135496, download: 113507888,
	},
	{source: Release, version: Version, arch: "amd64",
		member: "onnxruntime-linux-x64-1.31.1/lib/libonnxruntime.so.1.31.1"},
	{source: Release, version: Version, arch: "arm64",
		member: "onnxruntime-linux-aarch64-1.31.1/lib/libonnxruntime.so.1.31.1"},
}

func (p pin) libraryPath(cacheDir string) string {
	dir := fmt.Sprintf("%s-%s-linux-%s", p.source, p.version, p.arch)
	return filepath.Join(cacheDir, "onnxruntime", dir, "libonnxruntime.so."+p.version)
}

func pinsFor(all []pin, goos, arch string) []pin {
	var found []pin
	for _, p := range all {
		if goos == "linux" && p.arch == arch {
			found = append(found, p)
		}
	}
	return found
}

func pinsHere() []pin { return pinsFor(pins, runtime.GOOS, runtime.GOARCH) }

// CacheDir is erreval's cache: ERREVAL_CACHE, else erreval below XDG_CACHE_HOME, else
// ~/.cache/erreval. The folder need not exist.
func CacheDir(getenv func(string) string) (string, error) {
	if dir := getenv("ERREVAL_CACHE"); dir != "" {
		return filepath.Abs(dir)
	}
	// The XDG base directory specification says to ignore a relative path.
	if dir := getenv("XDG_CACHE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "erreval"), nil
	}
	if home := getenv("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".cache", "erreval"), nil
	}
	return "", errors.New("no cache folder: neither ERREVAL_CACHE nor XDG_CACHE_HOME nor HOME holds an absolute path; " +
		"set ERREVAL_CACHE")
}
