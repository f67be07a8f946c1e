package bench

import (
	"cmp"
	"context"
	"errors"
	"io"
	"math"
	"runtime"
	"slices"
	"syscall"
	"time"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/identifier"
	"github.com/erreval/erreval/identifier/local"
	"github.com/erreval/erreval/identifier/ort"
	"github.com/erreval/erreval/models"
	"github.com/erreval/erreval/taxonomy"
)

// Default numbers of rows that Run measures: on a CPU a few seconds of work, on a GPU two windows.
const (
	RowsCPU = 192
	RowsGPU = 16384

	latencyRows = 256 // at most
)

// Options say what is measured.
type Options struct {
	Machine     *local.Machine
	Taxonomy    *taxonomy.Taxonomy
	Model, Join string      // as local.Machine.OpenModel takes them
	On          ort.Options // Library, Device and GPUMemory

	// Rows reads the rows to measure with, at most limit (0 is all), once the model is open; nil makes up rows.
	Rows    func(ctx context.Context, limit int) ([]*dataset.Row, error)
	Count   int    // rows; 0 is all that are read, or RowsCPU or RowsGPU made-up ones
	Rounds  int    // rounds in which all schedules run in turn; at least 1
	Workers int    // rows at a time; 0 is one a core
	Compare bool   // also run the peers
	Peers   string // the model that the peers run; "" is the same
	History string // file to which a line of ratios is appended; "" is none

	Log  func(format string, args ...any) // is called with a line for each step; nil is silent
	Warn func(format string, args ...any) // gets the warnings of local.Machine.OpenIdentifier
}

// Validate joins all faults of o: *models.OptionErrors.
func (o *Options) Validate() error {
	var errs []error
	for _, f := range []struct {
		flag     string
		n, least int
	}{{"--count", o.Count, 0}, {"--workers", o.Workers, 0}, {"--rounds", o.Rounds, 1}} {
		if f.n < f.least {
			errs = append(errs, models.OptionErrorf("%s %d is too small; give a positive number, or leave it out", f.flag, f.n))
		}
	}
	if o.Peers != "" && !o.Compare {
		errs = append(errs, models.OptionErrorf("--peers %s: the peers run with --compare", o.Peers))
	}
	if o.History != "" && !o.Compare {
		errs = append(errs, models.OptionErrorf("--history %s keeps ratios; give --compare with it", o.History))
	}
	return errors.Join(errs...)
}

type measurement struct {
	o       *Options
	model   *models.Model
	id      *identifier.Identifier
	rows    []*dataset.Row
	lengths []int
	closers []io.Closer
	figures Figures
}

// Run measures how fast a model runs on this machine: the schedule of identify and the peers, in turns, then single
// rows.
func Run(ctx context.Context, o Options) (f *Figures, err error) {
	r := &measurement{o: &o}
	defer func() {
		for _, c := range r.closers {
			err = errors.Join(err, c.Close())
		}
	}()
	for _, step := range []func(context.Context) error{r.openModel, r.warmUp, r.measureTurns} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	if o.History != "" {
		err = r.figures.appendHistory(o.History)
	}
	return &r.figures, err
}

func (r *measurement) openModel(ctx context.Context) (err error) {
	o := r.o
	if r.model, err = o.Machine.OpenModel(ctx, o.Model, o.Join, o.Taxonomy); err != nil {
		return err
	}
	if o.On.Library, err = o.Machine.DeviceLibrary(o.On.Device, o.On.Library); err != nil {
		return err
	}
	schedule := local.Schedule(o.On.Device, o.Workers)
	id, runner, err := o.Machine.OpenIdentifier(ctx, r.model, o.Taxonomy, o.On, schedule, o.Warn)
	if err != nil {
		return err
	}
	r.id, r.closers = id, append(r.closers, runner)
	if r.rows, err = r.readRows(ctx); err != nil {
		return err
	}
	enc, err := identifier.NewEncoder(r.model, o.Taxonomy)
	if err != nil {
		return &models.UnfitError{Err: err}
	}
	if r.lengths, err = Lengths(enc, r.rows); err != nil {
		return err
	}
	found, err := o.Machine.LocateLibrary(o.On.Library)
	if err != nil {
		return err
	}
	o.On.Library = found.Path
	version, err := ort.Version(found.Path)
	tokens := 0
	for _, n := range r.lengths {
		tokens += n
	}
	m := &r.model.Manifest
	r.figures = Figures{Model: m.ID(), Precision: m.Precision, Device: o.On.Device, Rows: len(r.rows), Runtime: version,
		Cores: runtime.GOMAXPROCS(0), Rounds: o.Rounds, Tokens: float64(tokens) / float64(len(r.rows))}
	return err
}

func (r *measurement) readRows(ctx context.Context) ([]*dataset.Row, error) {
	o := r.o
	if o.Rows != nil {
		return o.Rows(ctx, o.Count)
	}
	made := RowsCPU
	if ort.IsCUDA(o.On.Device) {
		made = RowsGPU
	}
	return Rows(r.model, o.Taxonomy, cmp.Or(o.Count, made))
}

// warmUp runs all rows once, and measures the memory.
func (r *measurement) warmUp(ctx context.Context) error {
	if r.o.Log != nil {
		r.o.Log("%s on %s, %d rows of %.0f tokens on average", r.figures.Model, r.o.On.Device, len(r.rows), r.figures.Tokens)
	}
	if err := r.identifyRows(ctx); err != nil {
		return err
	}
	var usage syscall.Rusage
	err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	r.figures.RSS = usage.Maxrss * 1024 // Linux counts in kilobytes
	return err
}

func (r *measurement) identifyRows(ctx context.Context) error { return Identify(ctx, r.id, r.rows) }

// measureTurns runs the schedules in turns, then single rows.
func (r *measurement) measureTurns(ctx context.Context) error {
	names, turns := []string{""}, []func(context.Context) error{r.identifyRows}
	if r.o.Compare {
		peers, err := r.openPeers(ctx)
		if err != nil {
			return err
		}
		for _, name := range []string{Careful, Pipeline, Script} {
			names = append(names, name)
			turns = append(turns, func(ctx context.Context) error { _, err := peers.Run(ctx, name); return err })
		}
	}
	took, err := Turns(ctx, r.o.Rounds, turns...)
	if err != nil {
		return err
	}
	r.fillFigures(names, took)
	r.figures.Latency, err = r.measureLatency(ctx)
	return err
}

func (r *measurement) openPeers(ctx context.Context) (*Peers, error) {
	m, err := r.o.Machine.OpenModel(ctx, cmp.Or(r.o.Peers, r.o.Model), r.o.Join, r.o.Taxonomy)
	if err == nil && r.o.Peers == "" && m.SHA256 != r.model.SHA256 { // the fp32 graph runs here
		m, err = local.UnlessInterrupted(ctx, m.Fallback)
	}
	if err != nil {
		return nil, err
	}
	r.figures.PeersModel = m.Manifest.ID() + ", " + models.PrecisionText(m.Manifest.Precision)
	on := r.o.On
	on.Threads = r.figures.Cores
	runner, err := r.o.Machine.OpenRunner(ctx, m, on)
	if err != nil {
		return nil, err
	}
	r.closers = append(r.closers, runner)
	return NewPeers(m, r.o.Taxonomy, runner, r.rows)
}

// fillFigures turns times into figures; names are those of the schedules, erreval's own first.
func (r *measurement) fillFigures(names []string, took []time.Duration) {
	f := &r.figures
	rate := func(d time.Duration) float64 { return float64(r.o.Rounds*f.Rows) / d.Seconds() }
	f.RowsPerS = rate(took[0])
	f.TokensPerS = f.RowsPerS * f.Tokens
	for i, name := range names[1:] {
		if i == 0 {
			f.Peers, f.Ratios = map[string]float64{}, map[string]float64{}
		}
		f.Peers[name] = rate(took[i+1])
		f.Ratios[name] = f.RowsPerS / f.Peers[name]
	}
}

// measureLatency tags rows one at a time.
func (r *measurement) measureLatency(ctx context.Context) (Latency, error) {
	var took []float64
	for _, row := range r.rows[:min(len(r.rows), latencyRows)] {
		start := time.Now()
		if _, err := r.id.Tag(ctx, row.Values...); err != nil {
			return Latency{}, err
		}
		took = append(took, float64(time.Since(start))/1e6)
	}
	slices.Sort(took)
	at := func(p float64) float64 { return took[int(math.Ceil(p*float64(len(took))))-1] } // nearest rank
	return Latency{at(0.50), at(0.99)}, nil
}
