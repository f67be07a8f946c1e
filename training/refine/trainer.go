package refine

import (
	"cmp"
	"context"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/erreval/erreval/internal/nativelib"
	trainenv "github.com/erreval/erreval/training"
)

// PythonVar is the environment variable that names the Python to train with, before refine.yaml does.
const PythonVar = "ERREVAL_PYTHON"

// DefaultEncoder in refine.yaml stands for the encoder that the model inside the program was made from.
const DefaultEncoder = "default"

// Trainer finds the command that trains by refine.yaml, and the encoder that it begins with, for TrainOptions. getenv
// gives PythonVar, and where the cache is. The error is an *OptionError where no Python is there to train with.
func (w *Workspace) Trainer(ctx context.Context, getenv func(string) string) (command []string, encoder string,
	err error) {
	encoder = w.Config.Train.Encoder
	if encoder != DefaultEncoder && !filepath.IsAbs(encoder) {
		local, err := filepath.Abs(w.Path(encoder))
		if err != nil {
			return nil, "", err
		}
		if info, err := os.Stat(local); err == nil && info.IsDir() {
			encoder = local
		}
	}
	if command = w.Config.Trainer; len(command) > 0 {
		return command, encoder, nil
	}
	python, err := w.python(getenv)
	if err != nil {
		return nil, "", err
	}
	cache, err := nativelib.CacheDir(getenv)
	if err != nil {
		return nil, "", err
	}
	scripts, err := trainenv.Unpack(cache)
	if err == nil && encoder == DefaultEncoder {
		encoder, err = trainenv.FindEncoder(ctx, python)
	}
	return []string{python, filepath.Join(scripts, "finetune.py")}, encoder, err
}

// python is that of the environment variable, of refine.yaml, or of an environment in the cache.
func (w *Workspace) python(getenv func(string) string) (string, error) {
	if python := cmp.Or(getenv(PythonVar), w.Config.Python); python != "" {
		if _, err := exec.LookPath(python); err != nil {
			return "", optionErrorf("the Python to train with, %s, is not a program that can be run; see %s and python in %s",
				python, PythonVar, w.Path(ConfigFile))
		}
		return python, nil
	}
	cache, err := nativelib.CacheDir(getenv)
	if err != nil {
		return "", err
	}
	for _, build := range []string{trainenv.AnyBuild, trainenv.CPUBuild} {
		environment, err := trainenv.NewEnvironment(cache, "", build, "")
		if err == nil && environment.Ready() {
			return environment.Python(), nil
		}
	}
	return "", optionErrorf("there is no Python to train with; make one: erreval refine setup\n"+
		"or name one that has torch and transformers: %s=PATH, or python in %s",
		PythonVar, w.Path(ConfigFile))
}
