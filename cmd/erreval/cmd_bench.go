package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/identifier"
	"github.com/erreval/erreval/identifier/bench"
	"github.com/erreval/erreval/identifier/ort"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/models"
)

// Rows that bench measures by default: on a CPU a few seconds' worth, on a GPU two windows.
const (
	benchRowsCPU = 192
	benchRowsGPU = 16384
	latencyRows  = 256 // at most
)

// peakSlice is how long each product runs in each round.
const peakSlice = 100 * time.Millisecond

type benchOptions struct {
	run.Rows
	model, join, device, library string
	file                         string // of rows; "" is made-up ones
	peers                        string // the model that the peers run; "" is the same
	history                      string // file to which ratios are appended; "" is none
	count, rounds, workers       int
	compare, quiet               bool
}

func benchCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:  "bench",
		Usage: "measure how fast a model runs on this machine",
		Description: `Rows and tokens a second, the share of the machine's matrix peak, latency and memory:
   erreval bench

Beside emulated peers (a script that pads all rows to one length, a pipeline with batches of
32, a careful loop of one row at a time), on the same runtime, rows and weights, in turns:
   erreval bench --compare

The peers with another graph of the same weights, such as the plain fp32 export:
   erreval bench --model ./my-int8 --compare --peers ./my-fp32

Rows of your own, for scripts:
   erreval bench --model ./my-model --rows questions.jsonl --json`,
		Flags: append([]cli.Flag{
			modelFlag(), joinFlag(), taxonomyFlag(), deviceFlag(), gpuMemoryFlag(), libraryFlag(), workersFlag(),
			&cli.StringFlag{Name: "rows", Usage: "measure with the rows of `FILE` (default: made-up ones, of the lengths of real ones)"},
			&cli.IntFlag{Name: "count", Usage: fmt.Sprintf("measure with `N` rows (default: %d on a CPU, %d on a GPU)", benchRowsCPU, benchRowsGPU)},
			&cli.IntFlag{Name: "rounds", Value: 3, Usage: "run everything `N` times, in turns"},
			&cli.BoolFlag{Name: "compare", Usage: "run the emulated peers beside it"},
			&cli.StringFlag{Name: "peers", Usage: "`MODEL` that the peers run (default: the same)"},
			&cli.StringFlag{Name: "history", Usage: "append the ratios to `FILE`, tab-separated"},
			jsonFlag(), quietFlag(),
		}, rowFlags()...),
		Action: func(ctx *cli.Context) error {
			o := &benchOptions{model: ctx.String("model"), join: ctx.String("join"), device: ctx.String("device"), library: ctx.String("ort-lib"),
				file: ctx.String("rows"), peers: ctx.String("peers"), history: ctx.String("history"), count: ctx.Int("count"), rounds: ctx.Int("rounds"),
				workers: ctx.Int("workers"), compare: ctx.Bool("compare"), quiet: ctx.Bool("quiet")}
			if err := errors.Join(wantArgs(ctx, 0, 0, "no argument; give rows with --rows FILE"), o.validate()); err != nil {
				return err
			}
			t, err := openTaxonomy(ctx.String("taxonomy"))
			if err != nil {
				return err
			}
			if o.Rows, err = openRowInput(ctx, t); err != nil {
				return err
			}
			if e.gpuMemory, err = parseSize(ctx.String("gpu-memory")); err != nil {
				return err
			}
			f, err := runBench(ctx.Context, e, o)
			if err == nil && o.history != "" {
				err = f.remember(o.history)
			}
			if err != nil {
				return err
			}
			if ctx.Bool("json") {
				return writeJSON(e.Out, f)
			}
			return f.print(e.Out)
		},
	}
}

func (o *benchOptions) validate() error {
	var errs []error
	for _, f := range []struct {
		flag     string
		n, least int
	}{{"--count", o.count, 0}, {"--workers", o.workers, 0}, {"--rounds", o.rounds, 1}} {
		if f.n < f.least {
			errs = append(errs, exit.Usagef("%s %d is too small; give a positive number, or leave it out", f.flag, f.n))
		}
	}
	if o.peers != "" && !o.compare {
		errs = append(errs, exit.Usagef("--peers %s: the peers run with --compare", o.peers))
	}
	if o.history != "" && !o.compare {
		errs = append(errs, exit.Usagef("--history %s keeps ratios; give --compare with it", o.history))
	}
	return errors.Join(errs...)
}

// benchFigures are what bench measures. Peers are nil without --compare.
type benchFigures struct {
	RowsPerS    float64            `json:"rows_per_s"`
	TokensPerS  float64            `json:"tokens_per_s"`  // without padding
	ShareOfPeak *float64           `json:"share_of_peak"` // 0..1; null where no peak was measured: on a GPU
	RSS         int64              `json:"rss_bytes"`     // the most held, peers and measuring left out
	Latency     latency            `json:"latency_ms"`
	Peers       map[string]float64 `json:"peers,omitempty"`  // rows a second
	Ratios      map[string]float64 `json:"ratios,omitempty"` // rows a second of erreval over the peer's
	PeersModel  string             `json:"peers_model,omitempty"`
	Model       string             `json:"model"`
	Precision   string             `json:"precision"`
	Device      string             `json:"device"`
	Rows        int                `json:"rows"`
	Tokens      float64            `json:"tokens_per_row"`
	Operations  bench.Operations   `json:"operations_per_row"` // in matrix products, as the runtime executes them
	Peak        bench.Operations   `json:"peak_per_s"`         // fastest plain products, all cores
	Cores       int                `json:"cores"`
	Runtime     string             `json:"onnxruntime"`
	Rounds      int                `json:"rounds"`
}

// latency is the time of one row that comes alone, in milliseconds.
type latency struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
}

// benchRun is what the parts of a measurement share.
type benchRun struct {
	e       *env
	o       *benchOptions
	model   *models.Model
	id      *identifier.Identifier
	library string
	rows    []*dataset.Row
	lengths []int
	closers []io.Closer
	peak    *bench.PeakMeter // nil on a GPU
	figures benchFigures
}

func runBench(ctx context.Context, e *env, o *benchOptions) (f *benchFigures, err error) {
	r := &benchRun{e: e, o: o}
	defer func() {
		for _, c := range r.closers {
			err = errors.Join(err, c.Close())
		}
	}()
	for _, step := range []func(context.Context) error{r.open, r.warm, r.count, r.measure} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	return &r.figures, nil
}

func (r *benchRun) say(format string, args ...any) {
	if !r.o.quiet {
		fmt.Fprintf(r.e.Err, "erreval: "+format+"\n", args...)
	}
}

// open opens the model and its rows.
func (r *benchRun) open(ctx context.Context) (err error) {
	o := r.o
	if err := o.CheckColumns(ctx, r.e.Process, o.file); err != nil {
		return err
	}
	if r.model, err = r.e.openModel(ctx, o.model, o.join, o.Taxonomy); err != nil {
		return err
	}
	if r.library, err = r.e.deviceLibrary(o.device, o.library); err != nil {
		return err
	}
	id, runner, err := r.e.openIdentifier(ctx, r.model, o.Taxonomy, o.device, r.library, scheduleFor(o.device, o.workers), r.e.Warn)
	if err != nil {
		return err
	}
	r.id, r.closers = id, append(r.closers, runner)
	if r.rows, err = r.readRows(ctx); err != nil {
		return err
	}
	enc, err := identifier.NewEncoder(r.model, o.Taxonomy)
	if err != nil {
		return exit.With(exit.Unfit, err)
	}
	if r.lengths, err = bench.Lengths(enc, r.rows); err != nil {
		return err
	}
	found, err := r.e.locateLibrary(r.library)
	if err != nil {
		return err
	}
	r.library = found.Path
	version, err := ort.Version(r.library)
	m := &r.model.Manifest
	r.figures = benchFigures{Model: m.ID(), Precision: m.Precision, Device: o.device, Rows: len(r.rows), Runtime: version,
		Cores: runtime.GOMAXPROCS(0), Rounds: o.rounds, Tokens: float64(sum(r.lengths)) / float64(len(r.rows))}
	return err
}

func (r *benchRun) readRows(ctx context.Context) ([]*dataset.Row, error) {
	count := r.o.count
	if r.o.file == "" {
		if count == 0 {
			count = benchRowsCPU
			if isCUDA(r.o.device) {
				count = benchRowsGPU
			}
		}
		return bench.Rows(r.model, r.o.Taxonomy, count)
	}
	var rows []*dataset.Row
	r.o.Limit = count
	faults, err := r.o.Each(ctx, r.e.Process, r.o.file, func(row *dataset.Row) error {
		rows = append(rows, row)
		return nil
	})
	if err == nil && len(rows) == 0 {
		err = errors.Join(fmt.Errorf("%s: there are no rows", r.o.file), errors.Join(faults...))
	}
	return rows, err
}

// warm runs all rows once, and sees how much memory that takes.
func (r *benchRun) warm(ctx context.Context) error {
	r.say("%s on %s, %d rows of %.0f tokens on average", r.figures.Model, r.o.device, len(r.rows), r.figures.Tokens)
	if err := r.identify(ctx); err != nil {
		return err
	}
	var usage syscall.Rusage
	err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	r.figures.RSS = usage.Maxrss * 1024 // Linux counts in kilobytes
	return err
}

func (r *benchRun) identify(ctx context.Context) error { return bench.Identify(ctx, r.id, r.rows) }

// reopen opens the graph that is measured once more.
func (r *benchRun) reopen(ctx context.Context) (*models.Model, error) {
	m, err := r.e.openModel(ctx, r.o.model, r.o.join, r.o.Taxonomy)
	if err == nil && m.SHA256 != r.model.SHA256 {
		return unlessInterrupted(ctx, m.Fallback)
	}
	return m, err
}

// count learns what the graph executes, and makes ready to measure the machine's peak.
func (r *benchRun) count(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "erreval-bench-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	open := func(profile string) (*ort.Runner, error) {
		m, err := r.reopen(ctx)
		if err != nil {
			return nil, err
		}
		o := ort.Options{Library: r.library, Device: r.o.device, Threads: 1, GPUMemory: r.e.gpuMemory, Profile: profile}
		return unlessInterrupted(ctx, func() (*ort.Runner, error) { return ort.Open(m, o) })
	}
	sum, products, err := bench.Count(ctx, open, len(r.model.Manifest.Labels), r.lengths, dir)
	if err != nil {
		return err
	}
	n := float64(len(r.rows))
	r.figures.Operations = bench.Operations{Int8: sum.Int8 / n, Float: sum.Float / n}
	if isCUDA(r.o.device) {
		return nil
	}
	r.peak, err = bench.NewPeakMeter(r.library, products, r.figures.Cores)
	if err == nil {
		r.closers = append(r.closers, r.peak)
	}
	return err
}

// measure runs the schedules and the plain products in turns, then single rows.
func (r *benchRun) measure(ctx context.Context) error {
	names, turns := []string{""}, []func(context.Context) error{r.identify}
	if r.o.compare {
		peers, err := r.openPeers(ctx)
		if err != nil {
			return err
		}
		for _, name := range []string{bench.Careful, bench.Pipeline, bench.Script} {
			names = append(names, name)
			turns = append(turns, func(ctx context.Context) error { _, err := peers.Run(ctx, name); return err })
		}
	}
	if r.peak != nil {
		turns = append(turns, func(ctx context.Context) error { return r.peak.Measure(ctx, peakSlice) })
	}
	took, err := bench.Turns(ctx, r.o.rounds, turns...)
	if err != nil {
		return err
	}
	r.fill(names, took)
	r.figures.Latency, err = r.latency(ctx)
	return err
}

func (r *benchRun) openPeers(ctx context.Context) (*bench.Peers, error) {
	m, err := r.reopen(ctx)
	if r.o.peers != "" {
		m, err = r.e.openModel(ctx, r.o.peers, r.o.join, r.o.Taxonomy)
	}
	if err != nil {
		return nil, err
	}
	r.figures.PeersModel = m.Manifest.ID() + ", " + cmp.Or(m.Manifest.Precision, "precision not stated")
	runner, err := r.e.openThreads(ctx, m, r.o.device, r.library, r.figures.Cores)
	if err != nil {
		return nil, err
	}
	r.closers = append(r.closers, runner)
	return bench.NewPeers(m, r.o.Taxonomy, runner, r.rows)
}

// fill turns times into figures; names are those of the schedules, erreval's own first.
func (r *benchRun) fill(names []string, took []time.Duration) {
	f := &r.figures
	rate := func(d time.Duration) float64 { return float64(r.o.rounds*f.Rows) / d.Seconds() }
	f.RowsPerS = rate(took[0])
	f.TokensPerS = f.RowsPerS * f.Tokens
	if r.peak != nil {
		f.Peak = bench.Operations(r.peak.Peak)
		share := r.peak.Peak.Share(f.Operations, time.Duration(float64(time.Second)/f.RowsPerS))
		f.ShareOfPeak = &share
	}
	for i, name := range names[1:] {
		if i == 0 {
			f.Peers, f.Ratios = map[string]float64{}, map[string]float64{}
		}
		f.Peers[name] = rate(took[i+1])
		f.Ratios[name] = f.RowsPerS / f.Peers[name]
	}
}

// latency tags rows that come alone.
func (r *benchRun) latency(ctx context.Context) (latency, error) {
	var took []float64
	for _, row := range r.rows[:min(len(r.rows), latencyRows)] {
		start := time.Now()
		if _, err := r.id.Tag(ctx, row.Values...); err != nil {
			return latency{}, err
		}
		took = append(took, float64(time.Since(start))/1e6)
	}
	slices.Sort(took)
	at := func(p float64) float64 { return took[int(math.Ceil(p*float64(len(took))))-1] } // nearest rank
	return latency{at(0.50), at(0.99)}, nil
}

func (f *benchFigures) print(w io.Writer) error {
	line, flush := namedLines(w)
	line("model", "%s, %s, on %s with %d cores, ONNX Runtime %s", f.Model, cmp.Or(f.Precision, "precision not stated"), f.Device, f.Cores, f.Runtime)
	line("rows", "%d of %.0f tokens on average, %d rounds", f.Rows, f.Tokens, f.Rounds)
	line("rows/s", "%.1f", f.RowsPerS)
	line("tokens/s", "%.0f", f.TokensPerS)
	if f.ShareOfPeak != nil {
		line("share of peak", "%.0f %% (%.2f billion operations a row; %s)", 100**f.ShareOfPeak, f.Operations.Total()/1e9, f.peak())
	} else {
		line("operations", "%.2f billion a row; the peak of a GPU is not measured", f.Operations.Total()/1e9)
	}
	line("one row", "%.1f ms (p50), %.1f ms (p99)", f.Latency.P50, f.Latency.P99)
	line("memory", "%d MB", f.RSS/1e6)
	for _, name := range []string{bench.Script, bench.Pipeline, bench.Careful} {
		if rate, ok := f.Peers[name]; ok {
			line("against "+name, "%.1f× (%.1f rows/s, %s)", f.Ratios[name], rate, f.PeersModel)
		}
	}
	return flush()
}

func (f *benchFigures) peak() string {
	var parts []string
	if f.Peak.Int8 > 0 {
		parts = append(parts, fmt.Sprintf("peak int8 %.0f billion/s", f.Peak.Int8/1e9))
	}
	return strings.Join(append(parts, fmt.Sprintf("peak fp32 %.0f billion/s", f.Peak.Float/1e9)), ", ")
}

func sum(n []int) int {
	total := 0
	for _, x := range n {
		total += x
	}
	return total
}
