package nativelib

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"github.com/erreval/erreval/internal/regularfile"
)

// EnvVar names the environment variable that gives the library's path.
const EnvVar = "ERREVAL_ORT_LIB"

// Options says where to look, first to last. Empty fields are left out.
type Options struct {
	Flag     string   // a command-line flag's value: the library, or a folder that holds it
	Env      string   // the value of EnvVar: the same
	CacheDir string   // erreval's cache, see CacheDir
	System   []string // folders; nil is SystemDirs()
}

// Found is a library file that was found, but not loaded.
type Found struct {
	Path    string
	From    string // "flag", "environment", "cache" or "system"
	Version string // from the file's name; "" if that has none
	pin     pin    // of a library in the cache
}

// Locate finds ONNX Runtime's shared library. A flag or environment variable that names no library is an error. The
// error says where Locate looked and what to do.
func Locate(o Options) (Found, error) {
	if o.Flag != "" {
		return locateNamed(o.Flag, "flag", "the flag")
	}
	if o.Env != "" {
		return locateNamed(o.Env, "environment", EnvVar)
	}
	if o.CacheDir != "" {
		if f, ok := findInCache(o.CacheDir); ok {
			return f, nil
		}
	}
	system := o.System
	if system == nil {
		system = SystemDirs()
	}
	f, old := findInDirs(system)
	if f.Path != "" {
		return f, nil
	}
	return Found{}, notFound(o, old)
}

func notFound(o Options, old []string) error {
	text := fmt.Sprintf("ONNX Runtime's shared library was not found in the cache (%s) or the system's library folders",
		o.CacheDir)
	for _, path := range old {
		text += fmt.Sprintf("; %s is too old, 1.%d or newer is needed", path, MinMinor)
	}
	return errors.New(text + "; run 'erreval setup' to fetch it, or set " + EnvVar + " to its path")
}

// locateNamed resolves a path that the user gave.
func locateNamed(path, from, what string) (Found, error) {
	info, err := os.Stat(path)
	if err == nil && !info.IsDir() {
		err = checkRegular(path)
	}
	if err != nil {
		return Found{}, fmt.Errorf("ONNX Runtime's shared library as %s gives it: %w; correct the path, or leave it out "+
			"and run 'erreval setup'", what, err)
	}
	if !info.IsDir() {
		return Found{Path: path, From: from, Version: versionOf(path)}, nil
	}
	f, _ := findInDirs([]string{path})
	if f.Path == "" {
		return Found{}, fmt.Errorf("%s names the folder %s, which holds no libonnxruntime.so of version 1.%d or newer; "+
			"give the file's own path", what, path, MinMinor)
	}
	f.From = from
	return f, nil
}

// checkRegular is an error for what is no regular file: loading a pipe would wait for good, and no signal ends that.
func checkRegular(path string) error {
	f, err := regularfile.Open(path)
	if err != nil {
		return err
	}
	return f.Close()
}

func findInCache(dir string) (Found, bool) {
	for _, p := range pinsHere() {
		if info, err := os.Stat(p.libraryPath(dir)); err == nil && info.Mode().IsRegular() {
			return Found{Path: p.libraryPath(dir), From: "cache", Version: p.version, pin: p}, true
		}
	}
	return Found{}, false
}

// findInDirs returns the first usable library, and those that are too old.
func findInDirs(dirs []string) (f Found, old []string) {
	for _, dir := range dirs {
		matches, _ := filepath.Glob(filepath.Join(dir, "libonnxruntime.so*"))
		slices.SortFunc(matches, func(a, b string) int { return minorOf(b) - minorOf(a) })
		for _, path := range matches {
			if checkRegular(path) != nil {
				continue
			}
			minor := minorOf(path)
			if minor >= MinMinor || minor < 0 {
				return Found{Path: path, From: "system", Version: versionOf(path)}, old
			}
			old = append(old, path)
		}
	}
	return Found{}, old
}

var versionPattern = regexp.MustCompile(`\.so\.(\d+\.\d+(?:\.\d+)*)$`)

// versionOf reads the version from the name that path stands for, links followed.
func versionOf(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	if m := versionPattern.FindStringSubmatch(path); m != nil {
		return m[1]
	}
	return ""
}

// minorOf is the 31 of 1.31.1, or -1 if the version is unknown.
func minorOf(path string) int {
	var major, minor int
	if _, err := fmt.Sscanf(versionOf(path), "%d.%d", &major, &minor); err != nil {
		return -1
	}
	return minor
}

// SystemDirs lists the folders in which the dynamic loader and local installations keep libraries.
func SystemDirs() []string {
	dirs := []string{"/usr/local/lib", "/usr/local/lib64", "/opt/onnxruntime/lib"}
	triplet := map[string]string{"amd64": "x86_64-linux-gnu", "arm64": "aarch64-linux-gnu"}[runtime.GOARCH]
	if triplet != "" {
		dirs = append(dirs, "/usr/lib/"+triplet)
	}
	dirs = append(dirs, "/usr/lib64", "/usr/lib")
	files, _ := filepath.Glob("/etc/ld.so.conf.d/*.conf")
	for _, file := range files {
		data, _ := os.ReadFile(file)
		for line := range strings.Lines(string(data)) {
			if dir := strings.TrimSpace(line); filepath.IsAbs(dir) && !slices.Contains(dirs, dir) {
				dirs = append(dirs, dir)
			}
		}
	}
	return dirs
}
