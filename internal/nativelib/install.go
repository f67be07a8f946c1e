package nativelib

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/erreval/erreval/internal/regularfile"
	"github.com/erreval/erreval/internal/wholefile"
)

// Installer puts a pinned version of the library into a cache. The zero value of the optional fields
// is usable.
type Installer struct {
	CacheDir string                           // required; made when missing
	Source   string                           // one of Sources(); "" is Auto
	SHA256   string                           // of the release archive, in hexadecimal; needed for Release alone
	Force    bool                             // fetch again even if a complete library is there
	Log      func(format string, args ...any) // progress, one line a call; nil is silent

	pins        []pin   // tests; nil is the built-in list
	wheels      []wheel // tests; nil is the built-in list
	releaseBase string  // tests
}

// Install installs the library into the cache and tells whether it fetched one. It keeps a library with the right hash
// unless Force is set. The error joins the errors of all sources.
func (in *Installer) Install(ctx context.Context) (f Found, fetched bool, err error) {
	candidates, err := in.listCandidates()
	if err != nil {
		return Found{}, false, err
	}
	if f, ok := in.findPresent(candidates); ok {
		return f, false, nil
	}
	var errs []error
	for _, p := range candidates {
		if err := in.installFrom(ctx, p); err != nil {
			in.log("%s: not installed", p.source)
			errs = append(errs, fmt.Errorf("source %s: %w", p.source, err))
			if ctx.Err() != nil {
				break
			}
			continue
		}
		return in.foundPin(p), true, nil
	}
	return Found{}, false, errors.Join(errs...)
}

func (in *Installer) log(format string, args ...any) {
	if in.Log != nil {
		in.Log(format, args...)
	}
}

func (in *Installer) foundPin(p pin) Found {
	return Found{Path: p.libraryPath(in.CacheDir), From: "cache", Version: p.version, pin: p}
}

func (in *Installer) listCandidates() ([]pin, error) {
	source := cmp.Or(in.Source, Auto)
	if !slices.Contains(Sources(), source) {
		return nil, fmt.Errorf("no source %q; there is %s", source, strings.Join(Sources(), ", "))
	}
	if sum, err := hex.DecodeString(in.SHA256); in.SHA256 != "" && (err != nil || len(sum) != 32) {
		return nil, fmt.Errorf("--sha256 %q is not 64 hexadecimal digits", in.SHA256)
	}
	known := in.pins
	if known == nil {
		known = pinsHere()
	}
	var chosen []pin
	for _, p := range known {
		if p.source == source || source == Auto && (p.source != Release || in.SHA256 != "") {
			chosen = append(chosen, p)
		}
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("no library is pinned for %s/%s; install ONNX Runtime 1.%d or newer yourself and set %s to "+
			"its path",
			runtime.GOOS, runtime.GOARCH, MinMinor, EnvVar)
	}
	return chosen, nil
}

// findPresent returns the first library that is in the cache and complete.
func (in *Installer) findPresent(candidates []pin) (Found, bool) {
	if in.Force {
		return Found{}, false
	}
	for _, p := range candidates {
		f := in.foundPin(p)
		switch err := f.Verify(); {
		case err == nil:
			return f, true
		case !errors.Is(err, fs.ErrNotExist):
			in.log("%v; fetching it again", err)
		}
	}
	return Found{}, false
}

func (in *Installer) installFrom(ctx context.Context, p pin) error {
	target := p.libraryPath(in.CacheDir)
	return in.withArchive(ctx, p, filepath.Dir(target), func(archive string) error {
		sum, err := unpackLibrary(archive, p, target)
		if err != nil {
			return fmt.Errorf("%w; try again, or another --source", err)
		}
		if p.sha256 != "" {
			return nil
		}
		return wholefile.Write(sumFile(target), []byte(sum+"\n")) // Verify compares with it
	})
}

// withArchive fetches p's archive for as long as unpack runs. It makes the folder dir, for which unpack is.
func (in *Installer) withArchive(ctx context.Context, p pin, dir string,
	unpack func(archive string) error) (err error) {
	err = os.MkdirAll(dir, 0o755)
	tmp := ""
	if err == nil { // beside the target: /tmp may be too small for the archive
		tmp, err = os.MkdirTemp(dir, ".fetch-*")
	}
	if err != nil {
		return fmt.Errorf("cache folder: %w; give another with --dir or ERREVAL_CACHE", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	archive, err := in.fetchPin(ctx, p, tmp)
	if err != nil {
		return err
	}
	return unpack(archive)
}

func sumFile(library string) string { return library + ".sha256" }

// Verify compares a library in the cache with its pin, or, without a pin, with the hash written when it was installed.
// It accepts a library from elsewhere, since there is no hash to compare with.
func (f Found) Verify() error {
	if f.From != "cache" {
		return nil
	}
	want := f.pin.sha256
	if want == "" {
		noted, err := regularfile.Read(sumFile(f.Path), regularfile.Max)
		if err != nil {
			return err
		}
		want = strings.TrimSpace(string(noted))
	}
	return checkSum(f.Path, want)
}
