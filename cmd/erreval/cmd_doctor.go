package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/identifier"
	"github.com/erreval/erreval/identifier/ort"
	"github.com/erreval/erreval/internal/fileerror"
	"github.com/erreval/erreval/internal/nativelib"
	"github.com/erreval/erreval/models"
	"github.com/erreval/erreval/taxonomy"
)

// States of a finding.
const (
	findingOK    = "ok"
	findingNote  = "note" // not needed, but good to know
	findingFault = "fault"
)

// finding is one line of the doctor's report.
type finding struct {
	Name   string `json:"name"`
	State  string `json:"state"`
	Detail string `json:"detail"`
	Next   string `json:"next,omitempty"` // the command to run, of a fault
}

type doctorOptions struct {
	library, model, taxonomy, device string
}

func doctorCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:  "doctor",
		Usage: "check library, device, model, cache and terminal; say what to do about each fault",
		Description: `When something is wrong, or to see what would be used:
   erreval doctor

A model of your own, on a GPU:
   erreval doctor --model ./my-model --device cuda

Exit code 1 if there is a fault.`,
		Flags: []cli.Flag{modelFlag(), taxonomyFlag(), deviceFlag(), libraryFlag(), jsonFlag()},
		Action: func(ctx *cli.Context) error {
			if err := wantArgs(ctx, 0, 0, "no argument"); err != nil {
				return err
			}
			o := doctorOptions{library: ctx.String("ort-lib"), model: ctx.String("model"),
				taxonomy: ctx.String("taxonomy"), device: ctx.String("device")}
			return runDoctor(ctx.Context, e, o, ctx.Bool("json"))
		},
	}
}

func runDoctor(ctx context.Context, e *env, o doctorOptions, asJSON bool) error {
	findings := examine(ctx, e, o)
	faults := 0
	for _, f := range findings {
		if f.State == findingFault {
			faults++
		}
	}
	var err error
	if asJSON {
		err = writeJSON(e.Out, map[string]any{"ok": faults == 0, "findings": findings})
	} else {
		err = printFindings(e.Out, findings)
	}
	if err == nil && faults > 0 {
		err = fmt.Errorf("%d of %d checks found a fault", faults, len(findings))
	}
	return err
}

func printFindings(w io.Writer, findings []finding) error {
	var b strings.Builder
	for _, f := range findings {
		fmt.Fprintf(&b, "%-6s %-9s %s\n", f.State, f.Name, strings.ReplaceAll(f.Detail, "\n", "\n"+strings.Repeat(" ", 17)))
		if f.Next != "" {
			fmt.Fprintf(&b, "%17snext: %s\n", "", f.Next)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// examine makes the checks in the order in which a fault explains the later ones.
func examine(ctx context.Context, e *env, o doctorOptions) []finding {
	check := checkRuntime
	if isCUDA(o.device) {
		check = checkCUDA
	}
	findings, library, usable := check(e, o)
	if !usable {
		o.device = "cpu" // so that the model is looked at all the same
	}
	return append(findings, checkModel(ctx, e, library, o), checkCache(e), checkTerminal(e))
}

// checkRuntime looks at the library, whose path is "" on a fault, and at the CPU; usable tells of the device asked for.
func checkRuntime(e *env, o doctorOptions) (findings []finding, path string, usable bool) {
	library, path := checkLibrary(e, o.library)
	findings = []finding{library}
	if path != "" {
		findings = append(findings, checkDevice(path, "cpu", "erreval setup --force"), noteCUDA(e))
	}
	return findings, path, true
}

// checkCUDA is checkRuntime where a GPU is asked for.
func checkCUDA(e *env, o doctorOptions) (findings []finding, path string, usable bool) {
	named, missing := e.deviceLibrary(o.device, o.library)
	if missing != nil {
		named = o.library
	}
	library, path := checkLibrary(e, named)
	next := "unset " + nativelib.EnvVar + "; erreval setup --cuda" // the library is one that the user named
	if named != o.library {
		library.Detail = strings.Replace(library.Detail, "from the flag", "for CUDA from the cache", 1)
		next = "nvidia-smi" // all libraries are loaded: what fails is the driver or the card
	}
	findings = []finding{library}
	if path != "" {
		findings = append(findings, checkDevice(path, "cpu", "erreval setup --force"))
	}
	switch {
	case missing != nil:
		findings = append(findings, finding{"cuda", findingFault, missing.Error(), cudaRemedy(missing)})
	case path != "":
		findings = append(findings, checkDevice(path, o.device, next))
	}
	return findings, path, findings[len(findings)-1].State != findingFault
}

// checkLibrary finds, verifies and loads the library; path is "" on a fault.
func checkLibrary(e *env, flag string) (f finding, path string) {
	fault := func(err error, next string) (finding, string) {
		return finding{"library", findingFault, fileerror.Plain(err).Error(), next}, ""
	}
	found, err := e.locateLibrary(flag)
	if err != nil {
		return fault(err, "erreval setup")
	}
	if err := found.Verify(); err != nil {
		return fault(err, "erreval setup --force")
	}
	version, err := ort.Version(found.Path)
	if err != nil {
		return fault(err, "unset "+nativelib.EnvVar+"; erreval setup --force")
	}
	detail := fmt.Sprintf("ONNX Runtime %s from the %s: %s", version, found.From, found.Path)
	return finding{Name: "library", State: findingOK, Detail: detail}, found.Path
}

// checkDevice tries an execution provider; next is the command to run if it cannot be used.
func checkDevice(library, device, next string) finding {
	name, _, _ := strings.Cut(device, ":")
	if err := ort.TryDevice(library, device); err != nil {
		return finding{name, findingFault, err.Error(), next}
	}
	return finding{Name: name, State: findingOK, Detail: "can be used"}
}

// cudaRemedy is the next command after a fault of the CUDA build.
func cudaRemedy(fault error) string {
	var failed *ort.LoadError
	if errors.As(fault, &failed) && failed.Path == nativelib.Driver {
		return "nvidia-smi"
	}
	return "erreval setup --cuda"
}

// noteCUDA says what is there for GPUs, which nobody asked for. It is not tried: a process loads one library.
func noteCUDA(e *env) finding {
	f := finding{Name: "cuda", State: findingNote}
	cache, err := nativelib.CacheDir(e.Getenv)
	if err == nil {
		var c nativelib.CUDA
		if c, err = nativelib.LocateCUDA(cache); err == nil {
			f.Detail = "is installed: " + c.Library + "; 'erreval doctor --device cuda' tries it"
			return f
		}
	}
	f.Detail = err.Error()
	return f
}

// checkModel opens the model and, where there is a library, runs its probe rows.
func checkModel(ctx context.Context, e *env, library string, o doctorOptions) finding {
	t, err := taxonomy.Open(o.taxonomy)
	if err != nil {
		return modelFault(err, o)
	}
	m, err := e.openModel(ctx, o.model, "", t)
	if err != nil {
		return modelFault(err, o)
	}
	name := m.Manifest.ID()
	if library == "" {
		return finding{Name: "model", State: findingNote, Detail: name + ": files are right; its probe rows need the library"}
	}
	f, err := runProbes(ctx, e, m, t, library, o.device)
	if err != nil {
		return modelFault(fmt.Errorf("%s: %w", name, err), o)
	}
	f.Detail = name + ": " + f.Detail
	return f
}

func modelFault(err error, o doctorOptions) finding {
	next := "erreval models info " + o.model
	if o.model == defaultModel {
		next = "build erreval again (make build); if that does not help, report it with this line"
	}
	return finding{"model", findingFault, fileerror.Plain(err).Error(), next}
}

// runProbes runs the probe rows. Where they are off, and the model has an fp32 graph, which identify then runs, it opens that.
func runProbes(ctx context.Context, e *env, m *models.Model, t *taxonomy.Taxonomy, library, device string) (f finding, err error) {
	start := time.Now()
	id, runner, err := e.newIdentifier(ctx, m, t, device, library, identifier.DefaultOptions())
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, runner.Close()) }()
	worst, off := id.Check(ctx)
	if off == nil {
		return finding{Name: "model", State: findingOK, Detail: fmt.Sprintf("%d probe rows in %d ms, largest difference of a logit %.2g",
			len(m.Manifest.Probes), time.Since(start).Milliseconds(), worst)}, nil
	}
	if ctx.Err() != nil {
		return f, off
	}
	if !m.HasFallback() {
		return f, fmt.Errorf("%w; identify runs it all the same, and says so at every run", off)
	}
	_, fallback, err := e.openFallback(ctx, m, t, device, library, identifier.DefaultOptions())
	if err != nil {
		return f, errors.Join(off, err)
	}
	return finding{Name: "model", State: findingNote, Detail: fmt.Sprintf("its fp32 graph runs here, as in identify, since its own computes otherwise: %v", off)}, fallback.Close()
}

// checkCache makes the folder if need be and writes a file there.
func checkCache(e *env) finding {
	dir, err := nativelib.CacheDir(e.Getenv)
	if err == nil {
		err = writable(dir)
	}
	if err != nil {
		next := "export ERREVAL_CACHE=FOLDER, one that you may write to"
		return finding{"cache", findingFault, fileerror.Plain(err).Error(), next}
	}
	return finding{Name: "cache", State: findingOK, Detail: dir + " can be written"}
}

func writable(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".doctor-*")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

func checkTerminal(e *env) finding {
	detail := "standard error is no terminal: no progress is shown"
	if e.IsTerminal(e.Err) {
		detail = fmt.Sprintf("progress is shown on standard error (TERM=%s)", e.Getenv("TERM"))
	}
	return finding{Name: "terminal", State: findingOK, Detail: detail}
}
