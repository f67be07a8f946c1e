package refine

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/erreval/erreval/internal/nativelib"
	"github.com/erreval/erreval/internal/trust"
	"github.com/erreval/erreval/internal/words"
	trainenv "github.com/erreval/erreval/training"
)

// PythonVar is the environment variable that names the Python to train with, before refine.yaml does.
const PythonVar = "ERREVAL_PYTHON"

// DefaultEncoder in refine.yaml stands for the encoder that the model inside the program was made from.
const DefaultEncoder = "default"

// Trainer finds the command that trains by refine.yaml, and the encoder that it begins with, for TrainOptions. getenv
// gives PythonVar, and where the cache and the user's configuration are. The error is an *OptionError where no Python
// is there to train with, and where refine.yaml names a program that nobody has trusted.
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
	python, err := w.findPrograms(ctx, getenv)
	if err != nil {
		return nil, "", err
	}
	if command = w.Config.Trainer; len(command) > 0 {
		return command, encoder, nil
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

// CheckTrainer is an error that says what is missing on this machine before training can begin: trust, Python, or what
// Python needs.
func (w *Workspace) CheckTrainer(ctx context.Context, getenv func(string) string) error {
	_, err := w.findPrograms(ctx, getenv)
	return err
}

// findPrograms finds the Python to train with, unless refine.yaml names the whole command.
func (w *Workspace) findPrograms(ctx context.Context, getenv func(string) string) (python string, err error) {
	if err := w.checkTrust(getenv); err != nil || len(w.Config.Trainer) > 0 {
		return "", err
	}
	return w.python(ctx, getenv)
}

// Programs are the commands in refine.yaml that training runs; nil where it names none. Trust in refine.yaml is trust
// in them: other settings may change.
func (c *Config) Programs() []byte {
	if len(c.Trainer) == 0 && c.Python == "" {
		return nil
	}
	return fmt.Appendf(nil, "trainer %q\npython %q\n", c.Trainer, c.Python)
}

// checkTrust refuses programs that refine.yaml names and that the user has not looked at: who handed over the workspace
// may have written them.
func (w *Workspace) checkTrust(getenv func(string) string) error {
	programs := w.Config.Programs()
	if programs == nil || len(w.Config.Trainer) == 0 && getenv(PythonVar) != "" { // which goes before python
		return nil
	}
	file := w.Path(ConfigFile)
	ok, err := trust.NewStore(getenv).Trusted(file, programs)
	if err != nil || ok {
		return err
	}
	return optionErrorf("%s names programs to run, and is not trusted with them: read python and trainer there, then "+
		"type: erreval trust %s", file, words.Quote(w.Dir))
}

// python is that of the environment variable, of refine.yaml, or of an environment in the cache.
func (w *Workspace) python(ctx context.Context, getenv func(string) string) (string, error) {
	if python := cmp.Or(getenv(PythonVar), w.Config.Python); python != "" {
		if _, err := exec.LookPath(python); err != nil {
			return "", optionErrorf("the Python to train with, %s, is not a program that can be run; see %s and python in %s",
				python, PythonVar, w.Path(ConfigFile))
		}
		if err := trainenv.CheckPackages(ctx, python); err != nil {
			return "", optionErrorf("%w; make another Python to train with: %s", err, trainenv.HowToInstall())
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
	return "", optionErrorf("there is no Python to train with; make one: %s\n"+
		"or name one that has torch and transformers: %s=PATH, or python in %s",
		trainenv.HowToInstall(), PythonVar, w.Path(ConfigFile))
}
