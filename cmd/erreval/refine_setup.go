package main

import (
	"cmp"
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/nativelib"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/training"
	"github.com/erreval/erreval/training/refine"
)

func refineSetupCommand(e *env) *cli.Command {
	return &cli.Command{
		Name: "setup", Usage: "make the Python environment in which train trains",
		Description: `Once on each machine; a second run finds it there and changes nothing:
   erreval refine setup

What it would do, without doing it:
   erreval refine setup --dry-run

It needs Python 3.11 or later with venv and pip, and some 6 GB in the cache; the packages are pinned. With
--cpu torch is taken without CUDA, a tenth of the size, from an index that has that build (--index). Instead,
` + refine.PythonVar + ` or python in refine.yaml can name a Python that has torch and transformers already.
The interpreter's path is printed on standard output.`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "python", Usage: "make it with this `PYTHON` (default: python3, then python)"},
			&cli.BoolFlag{Name: "cpu", Usage: "torch without CUDA"},
			&cli.BoolFlag{Name: "cuda", Usage: "torch with CUDA, and fail where no GPU can be used"},
			&cli.StringFlag{Name: "index", Usage: "`ADDRESS` of a package index to look in as well"},
			&cli.BoolFlag{Name: "dry-run", Usage: "print the commands, and run none"},
			&cli.BoolFlag{Name: "force", Usage: "install again even if it is there"},
		},
		Action: func(ctx *cli.Context) error {
			if err := wantArgs(ctx, 0, 0, "no argument"); err != nil {
				return err
			}
			return runRefineSetup(ctx, e)
		},
	}
}

func runRefineSetup(ctx *cli.Context, e *env) error {
	build := training.AnyBuild
	switch {
	case ctx.Bool("cpu") && ctx.Bool("cuda"):
		return exit.Usagef("--cpu and --cuda are two builds of torch; give one of them")
	case ctx.Bool("cpu"):
		build = training.CPUBuild
	case ctx.Bool("cuda"):
		build = training.CUDABuild
	}
	cache, err := nativelib.CacheDir(e.Getenv)
	if err != nil {
		return err
	}
	python := cmp.Or(ctx.String("python"), training.AnyPython())
	environment, err := training.NewEnvironment(cache, python, build, ctx.String("index"))
	if err != nil {
		return err
	}
	said := io.Discard
	if !e.Quiet {
		said, environment.Out = e.Err, run.Unguarded(e.Err) // pip draws on the terminal
	}
	if ctx.Bool("dry-run") {
		return environment.Plan(e.Out)
	}
	done, err := environment.Ensure(ctx.Context, ctx.Bool("force"))
	if err != nil {
		return err
	}
	fmt.Fprintln(said, done)
	_, err = fmt.Fprintln(e.Out, environment.Python())
	return err
}
