package main

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/identifier/local"
	"github.com/erreval/erreval/internal/nativelib"
)

func setupCommand(e *env) *cli.Command {
	var o local.InstallOptions
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
			&cli.StringFlag{Name: "source", Value: nativelib.Auto, Destination: &o.Source,
				Usage: "`SOURCE` to fetch from: " + strings.Join(nativelib.Sources(), ", ")},
			&cli.BoolFlag{Name: "cuda", Destination: &o.CUDA,
				Usage: "fetch the CUDA build and its libraries, for --device cuda"},
			&cli.BoolFlag{Name: "force", Destination: &o.Force, Usage: "fetch again even if it is there"},
			&cli.StringFlag{Name: "dir", Destination: &o.Dir, EnvVars: []string{"ERREVAL_CACHE"},
				Usage: "`CACHE` folder to put it in (default: $XDG_CACHE_HOME/erreval or ~/.cache/erreval)"},
			&cli.StringFlag{Name: "sha256", Destination: &o.SHA256, Usage: "`HEX` digest of the release archive"},
		},
		Action: withArgs(0, 0, "no argument", func(ctx *cli.Context) error {
			if o.Warn = e.Warn; !e.Quiet {
				o.Log = func(format string, args ...any) { fmt.Fprintf(e.Err, format+"\n", args...) }
			}
			path, err := e.machine().Install(ctx.Context, o)
			if err == nil {
				_, err = fmt.Fprintln(e.Out, path)
			}
			return err
		}),
	}
}
