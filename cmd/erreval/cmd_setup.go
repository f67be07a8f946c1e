package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/identifier/ort"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/nativelib"
)

// libraryFlag names ONNX Runtime's shared library. The environment variable is read by
// locateLibrary, which has to tell the two apart.
func libraryFlag() cli.Flag {
	return &cli.StringFlag{Name: "ort-lib",
		Usage: "`PATH` of ONNX Runtime's shared library [$" + nativelib.EnvVar + "] (default: the cache, then the system)"}
}

// locateLibrary finds ONNX Runtime by flag, environment, cache, system.
func (e *env) locateLibrary(flag string) (nativelib.Found, error) {
	cache, err := nativelib.CacheDir(e.Getenv)
	if err != nil && flag == "" && e.Getenv(nativelib.EnvVar) == "" {
		return nativelib.Found{}, err
	}
	return nativelib.Locate(nativelib.Options{Flag: flag, Env: e.Getenv(nativelib.EnvVar), CacheDir: cache})
}

type setupOptions struct {
	source, dir, sha256 string
	force, cuda         bool
}

func setupCommand(e *env) *cli.Command {
	var o setupOptions
	return &cli.Command{
		Name:  "setup",
		Usage: "fetch ONNX Runtime's shared library into the cache",
		Description: `Once on each machine; a second run finds it there and changes nothing:
   erreval setup

Through npm where there is no pip:
   erreval setup --source npm

From the project's release page, with the SHA-256 that the page shows for the archive:
   erreval setup --source release --sha256 64_HEX_DIGITS

For NVIDIA GPUs, with the libraries of CUDA 13 and cuDNN 9 (1.6 GB to fetch, 2.3 GB in the cache):
   erreval setup --cuda

Each file is compared with a pinned SHA-256 before it is used. With ` + nativelib.EnvVar + `
set there is nothing to fetch. The library's path is printed on standard output.`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "source", Value: nativelib.Auto, Destination: &o.source,
				Usage: "`SOURCE` to fetch from: " + strings.Join(nativelib.Sources(), ", ")},
			&cli.BoolFlag{Name: "cuda", Destination: &o.cuda, Usage: "fetch the CUDA build and its libraries, for --device cuda"},
			&cli.BoolFlag{Name: "force", Destination: &o.force, Usage: "fetch again even if it is there"},
			&cli.StringFlag{Name: "dir", Destination: &o.dir, EnvVars: []string{"ERREVAL_CACHE"},
				Usage: "`CACHE` folder to put it in (default: $XDG_CACHE_HOME/erreval or ~/.cache/erreval)"},
			&cli.StringFlag{Name: "sha256", Destination: &o.sha256, Usage: "`HEX` digest of the release archive"},
			quietFlag(),
		},
		Action: func(ctx *cli.Context) error {
			if err := wantArgs(ctx, 0, 0, "no argument"); err != nil {
				return err
			}
			return runSetup(ctx.Context, e, o, ctx.Bool("quiet"))
		},
	}
}

func runSetup(ctx context.Context, e *env, o setupOptions, quiet bool) error {
	say := func(format string, args ...any) {
		if !quiet {
			fmt.Fprintf(e.Err, format+"\n", args...)
		}
	}
	if o.cuda {
		return setUpCUDA(ctx, e, o, say)
	}
	f, what, err := setUp(ctx, e, o, say)
	if err != nil {
		return fmt.Errorf("ONNX Runtime was not set up:\n%w", err)
	}
	version, err := ort.Version(f.Path)
	if err != nil {
		return err
	}
	say("ONNX Runtime %s %s, and loads", version, what)
	if usual, _ := nativelib.CacheDir(e.Getenv); o.dir != "" && !strings.HasPrefix(f.Path, usual) {
		dir, err := filepath.Abs(o.dir)
		if err != nil {
			return err
		}
		say("set ERREVAL_CACHE=%s so that the other commands find it", dir)
	}
	_, err = fmt.Fprintln(e.Out, f.Path)
	return err
}

// setUpCUDA fetches the CUDA build and says whether it can be used here. A machine without a GPU may prepare a cache for
// one that has: that is no failure.
func setUpCUDA(ctx context.Context, e *env, o setupOptions, say func(string, ...any)) error {
	if o.source != nativelib.Auto && o.source != nativelib.PyPI || o.sha256 != "" {
		return exit.Usagef("--cuda takes its packages from PyPI alone; leave --source and --sha256 out")
	}
	in, err := o.installer(e, say)
	if err != nil {
		return fmt.Errorf("the CUDA build was not set up: %w", err)
	}
	c, fetched, err := in.InstallCUDA(ctx)
	if err != nil {
		return fmt.Errorf("the CUDA build was not set up:\n%w", err)
	}
	what := "was in the cache"
	if fetched {
		what = "is in the cache now"
	}
	say("ONNX Runtime %s for CUDA %s, the SHA-256 of each file is right", nativelib.Version, what)
	if err := tryCUDA(c); err != nil {
		e.Warn("it cannot be used on this machine: %v", err)
	} else {
		say("an NVIDIA GPU can be used: --device cuda")
	}
	if path := e.Getenv(nativelib.EnvVar); path != "" {
		e.Warn("%s names %s, which goes before it; unset %[1]s to use it", nativelib.EnvVar, path)
	}
	_, err = fmt.Fprintln(e.Out, c.Library)
	return err
}

func tryCUDA(c nativelib.CUDA) error {
	if err := explainLoad(ort.Preload(c.Preload)); err != nil {
		return err
	}
	return ort.TryDevice(c.Library, "cuda")
}

// setUp returns the library to use, and what was done: a part of a sentence.
func setUp(ctx context.Context, e *env, o setupOptions, say func(string, ...any)) (f nativelib.Found, what string, err error) {
	if e.Getenv(nativelib.EnvVar) != "" && !o.force {
		f, err := e.locateLibrary("")
		return f, "is given by " + nativelib.EnvVar, err
	}
	in, err := o.installer(e, say)
	if err != nil {
		return f, "", err
	}
	f, fetched, err := in.Install(ctx)
	if fetched {
		return f, "is in the cache now, its SHA-256 is right", err
	}
	return f, "was in the cache, its SHA-256 is right", err
}

func (o setupOptions) installer(e *env, say func(string, ...any)) (*nativelib.Installer, error) {
	cache, err := nativelib.CacheDir(e.Getenv)
	if o.dir != "" {
		cache, err = filepath.Abs(o.dir)
	}
	return &nativelib.Installer{CacheDir: cache, Source: o.source, SHA256: o.sha256, Force: o.force, Log: say}, err
}
