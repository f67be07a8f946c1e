// Package doctor looks at what a run needs of a machine: library, device, model, cache and terminal.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/erreval/erreval/identifier"
	"github.com/erreval/erreval/identifier/local"
	"github.com/erreval/erreval/identifier/ort"
	"github.com/erreval/erreval/internal/fileerror"
	"github.com/erreval/erreval/internal/nativelib"
	"github.com/erreval/erreval/models"
	"github.com/erreval/erreval/taxonomy"
)

// States of a Finding.
const (
	OK    = "ok"
	Note  = "note" // not needed, but good to know
	Fault = "fault"
)

// Finding is the result of one check.
type Finding struct {
	Name   string `json:"name"`
	State  string `json:"state"`
	Detail string `json:"detail"`
	Next   string `json:"next,omitempty"` // the command to run after a fault
}

// Report is all findings.
type Report struct {
	Findings []Finding `json:"findings"`
	OK       bool      `json:"ok"` // no fault
}

// Err says how many checks found a fault; nil is none.
func (r *Report) Err() error {
	faults := 0
	for _, f := range r.Findings {
		if f.State == Fault {
			faults++
		}
	}
	if faults == 0 {
		return nil
	}
	return fmt.Errorf("%d of %d checks found a fault", faults, len(r.Findings))
}

// Text writes the findings for a terminal or a log.
func (r *Report) Text(w io.Writer) error {
	var b strings.Builder
	for _, f := range r.Findings {
		fmt.Fprintf(&b, "%-6s %-9s %s\n", f.State, f.Name, strings.ReplaceAll(f.Detail, "\n", "\n"+strings.Repeat(" ", 17)))
		if f.Next != "" {
			fmt.Fprintf(&b, "%17snext: %s\n", "", f.Next)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Options say what is checked.
type Options struct {
	Machine  *local.Machine
	Library  string // path of ONNX Runtime as the user gives it; "" looks for it
	Model    string // as local.Machine.OpenModel takes it
	Taxonomy string // built-in name or file; "" is that of each model inside the program
	Device   string // "cpu", "cuda" or "cuda:N"
	Terminal bool   // standard error is one
}

// Examine makes all checks. Earlier faults explain later ones.
func Examine(ctx context.Context, o Options) *Report {
	checkLibraries := o.checkRuntime
	if ort.IsCUDA(o.Device) {
		checkLibraries = o.checkCUDA
	}
	findings, library, usable := checkLibraries()
	if !usable {
		o.Device = "cpu" // so that the model is checked nevertheless
	}
	o.Library = library
	r := &Report{Findings: slices.Concat(findings, o.checkModels(ctx), []Finding{o.checkCache(), o.checkTerminal()})}
	r.OK = r.Err() == nil
	return r
}

// checkRuntime checks the library and the CPU. path is the library's, "" on a fault; usable tells whether the device
// can be used.
func (o *Options) checkRuntime() (findings []Finding, path string, usable bool) {
	library, path := o.checkLibrary(o.Library)
	findings = []Finding{library}
	if path != "" {
		findings = append(findings, checkDevice(path, "cpu", "erreval setup --force"), o.noteCUDA())
	}
	return findings, path, true
}

// checkCUDA is checkRuntime where a GPU is asked for.
func (o *Options) checkCUDA() (findings []Finding, path string, usable bool) {
	named, missing := o.Machine.DeviceLibrary(o.Device, o.Library)
	if missing != nil {
		named = o.Library
	}
	library, path := o.checkLibrary(named)
	next := "unset " + nativelib.EnvVar + "; erreval setup --cuda" // the user named the library
	if named != o.Library {
		library.Detail = strings.Replace(library.Detail, "from the flag", "for CUDA from the cache", 1)
		next = "nvidia-smi" // all libraries are loaded, so the driver or the card fails
	}
	findings = []Finding{library}
	if path != "" {
		findings = append(findings, checkDevice(path, "cpu", "erreval setup --force"))
	}
	switch {
	case missing != nil:
		findings = append(findings, Finding{"cuda", Fault, missing.Error(), cudaRemedy(missing)})
	case path != "":
		findings = append(findings, checkDevice(path, o.Device, next))
	}
	return findings, path, findings[len(findings)-1].State != Fault
}

// checkLibrary finds, verifies and loads the library; path is "" on a fault.
func (o *Options) checkLibrary(flag string) (f Finding, path string) {
	fault := func(err error, next string) (Finding, string) {
		return Finding{"library", Fault, fileerror.Plain(err).Error(), next}, ""
	}
	found, err := o.Machine.LocateLibrary(flag)
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
	return Finding{Name: "library", State: OK, Detail: detail}, found.Path
}

// checkDevice tries an execution provider; next is the command to run if it cannot be used.
func checkDevice(library, device, next string) Finding {
	name, _, _ := strings.Cut(device, ":")
	if err := ort.TryDevice(library, device); err != nil {
		return Finding{name, Fault, err.Error(), next}
	}
	return Finding{Name: name, State: OK, Detail: "can be used"}
}

// cudaRemedy is the next command after a fault of the CUDA build.
func cudaRemedy(fault error) string {
	if failed, ok := errors.AsType[*ort.LoadError](fault); ok && failed.Path == nativelib.Driver {
		return "nvidia-smi"
	}
	return "erreval setup --cuda"
}

// noteCUDA says what is installed for GPUs if the user asked for the CPU. It does not load it: a process loads one
// library.
func (o *Options) noteCUDA() Finding {
	c, err := o.Machine.LocateCUDA()
	if err != nil {
		return Finding{Name: "cuda", State: Note, Detail: err.Error()}
	}
	detail := "is installed: " + c.Library + "; 'erreval doctor --device cuda' tries it"
	return Finding{Name: "cuda", State: Note, Detail: detail}
}

// checkModels checks the model, or every one inside the program.
func (o *Options) checkModels(ctx context.Context) (findings []Finding) {
	tasks, err := o.Machine.Tasks()
	if o.Taxonomy != "" {
		tasks = make([]*taxonomy.Taxonomy, 1)
		tasks[0], err = taxonomy.Open(o.Taxonomy)
	}
	if err != nil {
		return []Finding{o.modelFault(err)}
	}
	for _, t := range tasks {
		findings = append(findings, o.checkModel(ctx, t))
	}
	return findings
}

// checkModel opens the model for t and, where there is a library, runs its probe rows.
func (o *Options) checkModel(ctx context.Context, t *taxonomy.Taxonomy) Finding {
	m, err := o.Machine.OpenModel(ctx, o.Model, "", t)
	if err != nil {
		return o.modelFault(err)
	}
	name := m.Manifest.ID()
	if o.Library == "" {
		return Finding{Name: "model", State: Note, Detail: name + ": files are right; its probe rows need the library"}
	}
	f, err := o.runProbes(ctx, m, t)
	if err != nil {
		return o.modelFault(fmt.Errorf("%s: %w", name, err))
	}
	f.Detail = name + ": " + f.Detail
	return f
}

func (o *Options) modelFault(err error) Finding {
	next := "erreval models info " + o.Model
	if o.Model == models.DefaultName {
		next = "build erreval again (make build); if that does not help, report it with this line"
	}
	return Finding{"model", Fault, fileerror.Plain(err).Error(), next}
}

// runProbes runs the probe rows. If their logits differ, and the model has an fp32 graph, it opens that graph, as
// identify does.
func (o *Options) runProbes(ctx context.Context, m *models.Model, t *taxonomy.Taxonomy) (f Finding, err error) {
	start, on := time.Now(), ort.Options{Device: o.Device, Library: o.Library}
	id, runner, err := o.Machine.NewIdentifier(ctx, m, t, on, identifier.DefaultOptions())
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, runner.Close()) }()
	worst, off := id.Check(ctx)
	if off == nil {
		return Finding{Name: "model", State: OK,
			Detail: fmt.Sprintf("%d probe rows in %d ms, largest difference of a logit %.2g",
				len(m.Manifest.Probes), time.Since(start).Milliseconds(), worst)}, nil
	}
	if ctx.Err() != nil {
		return f, off
	}
	if !m.HasFallback() && id.Unusable(worst) {
		return f, fmt.Errorf("%w; identify refuses it", off)
	}
	if !m.HasFallback() {
		return f, fmt.Errorf("%w; identify runs it all the same, and says so at every run", off)
	}
	_, fallback, err := o.Machine.OpenFallback(ctx, m, t, on, identifier.DefaultOptions())
	if err != nil {
		return f, errors.Join(off, err)
	}
	detail := fmt.Sprintf("its fp32 graph runs here, as in identify, since its own computes otherwise: %v", off)
	return Finding{Name: "model", State: Note, Detail: detail}, fallback.Close()
}

// checkCache makes the folder if it does not exist, and writes a file there.
func (o *Options) checkCache() Finding {
	dir, err := nativelib.CacheDir(o.Machine.Getenv)
	if err == nil {
		err = checkWritable(dir)
	}
	if err != nil {
		next := "export ERREVAL_CACHE=FOLDER, one that you may write to"
		return Finding{"cache", Fault, fileerror.Plain(err).Error(), next}
	}
	return Finding{Name: "cache", State: OK, Detail: dir + " can be written"}
}

func checkWritable(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".doctor-*")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

func (o *Options) checkTerminal() Finding {
	detail := "standard error is no terminal: no progress is shown"
	if o.Terminal {
		detail = fmt.Sprintf("progress is shown on standard error (TERM=%s)", o.Machine.Getenv("TERM"))
	}
	return Finding{Name: "terminal", State: OK, Detail: detail}
}
