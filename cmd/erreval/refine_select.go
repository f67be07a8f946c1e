package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/internal/runrecord"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/training/refine"
	"github.com/erreval/erreval/training/review"
	"github.com/erreval/erreval/training/selection"
)

func refineSelectCommand(e *env) *cli.Command {
	return &cli.Command{
		Name: "select", Usage: "choose the rows of the pool that are worth a person's time: a frozen batch", ArgsUsage: "DIR",
		Description: `Tags the pool with the model in use, and its verifier if it has one, then freezes a batch for review, beside
rows that are sure enough to be added without a person. refine.yaml (select:) says how; docs/refinement.md why.
   erreval refine select work
   erreval refine select work --size 50 --seed 7 --dry-run

Why a row was chosen, or what kept it out:
   erreval refine select work --explain q17

A pool that was tagged elsewhere, by parts or on a GPU:
   erreval identify work/pool.jsonl -o tagged.jsonl --device cuda --model work/iterations/01/model --verifier work/iterations/01/verifier
   erreval refine select work --pool tagged.jsonl`,
		Flags: []cli.Flag{
			&cli.IntFlag{Name: "size", Usage: "`N` rows for a person, instead of refine.yaml's"},
			&cli.Int64Flag{Name: "seed", Value: 1, Usage: "`SEED`: the same one chooses the same rows"},
			&cli.StringFlag{Name: "pool", Usage: "`FILE` of rows that erreval identify tagged, instead of the workspace's pool"},
			&cli.StringFlag{Name: "mistakes", Usage: "`FILE` that ranks rows of the training set, {\"row_id\": …, \"score\": …} a line, the lowest score the most doubtful (default: DIR/" + qualityFile + ", if it is there)"},
			&cli.StringFlag{Name: "explain", Usage: "say why the row `ID` is chosen or not, and change nothing"},
			&cli.BoolFlag{Name: "dry-run", Usage: "say what would be chosen, and freeze nothing"},
			deviceFlag(), gpuMemoryFlag(), libraryFlag(), workersFlag(), jsonFlag(), quietFlag()},
		Action: func(ctx *cli.Context) error { return runRefineSelect(ctx, e) },
	}
}

// selectRun is one run of the command.
type selectRun struct {
	e       *env
	ctx     *cli.Context
	w       *refine.Workspace
	tagged  string // file
	options selection.Options
	seed    int64
	current int    // iteration in use; -1 is the model to start from
	batches []int  // made so far
	open    string // the batch that waits for its answers, or ""
}

func runRefineSelect(ctx *cli.Context, e *env) error {
	w, err := openWorkspace(ctx)
	if err != nil {
		return err
	}
	s := &selectRun{e: e, ctx: ctx, w: w, seed: ctx.Int64("seed")}
	if e.gpuMemory, err = parseSize(ctx.String("gpu-memory")); err != nil {
		return err
	}
	if err := s.look(); err != nil {
		return err
	}
	explain := ctx.String("explain")
	if s.open != "" && explain == "" {
		fmt.Fprintf(e.Err, "erreval: %s waits for its answers, and nothing was changed; review it (erreval refine review), merge it (erreval refine merge), or take it back with: erreval refine undo %s\n",
			s.open, words.Quote(w.Dir))
		return nil
	}
	if err := s.tag(ctx.Context); err != nil {
		return err
	}
	in, err := s.input()
	if err != nil {
		return err
	}
	in.Watch = explain
	b, err := selection.Select(*in)
	if err != nil {
		return err
	}
	switch {
	case explain != "":
		return s.explain(b)
	case len(b.Items) == 0:
		return fmt.Errorf("nothing to choose from: %s", s.poolWords(&b.Counts))
	case ctx.Bool("dry-run"):
		return s.print(b, "")
	}
	if err := s.freeze(b); err != nil {
		return err
	}
	return s.print(b, refine.BatchName(s.next()))
}

// look reads the settings, and where the workspace stands.
func (s *selectRun) look() (err error) {
	if s.options, err = selection.ReadConfig(s.w.Config.Select, s.w.Path(refine.ConfigFile)); err != nil {
		return exit.With(exit.Usage, err)
	}
	s.options.Group = s.w.Config.Group
	if s.ctx.IsSet("size") {
		s.options.Size = s.ctx.Int("size")
	}
	if err := s.options.Validate(); err != nil {
		return exit.With(exit.Usage, err)
	}
	if s.current, err = s.w.Current(); err != nil {
		return err
	}
	if s.batches, err = s.w.Batches(); err != nil {
		return err
	}
	for _, n := range s.batches {
		name := refine.BatchName(n)
		if _, err := os.Stat(s.w.Path(refine.BatchesDir, name, review.MergeName(review.MergeStem, 1, ".json"))); err == nil {
			continue
		}
		s.open = name
		return s.asFrozen(name)
	}
	return nil
}

// asFrozen takes the settings with which an open batch was chosen, so that it can be explained.
func (s *selectRun) asFrozen(name string) error {
	file := s.w.Path(refine.BatchesDir, name, review.BatchFile)
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var b review.Batch
	if err := json.Unmarshal(data, &b); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	s.seed, s.current = b.Seed, b.Iteration
	if len(b.Config) > 0 {
		err = json.Unmarshal(b.Config, &s.options)
	}
	return err
}

func (s *selectRun) next() int {
	if n := len(s.batches); n > 0 {
		return s.batches[n-1] + 1
	}
	return 1
}

// tag sees to it that the pool is tagged, and goes on where an earlier run was interrupted.
func (s *selectRun) tag(ctx context.Context) error {
	if s.tagged = s.ctx.String("pool"); s.tagged != "" {
		return run.CheckInputs([]string{s.tagged})
	}
	s.tagged = s.w.TaggedPath(s.current)
	model := s.w.ModelOf(s.current)
	if model == "" {
		return exit.Usagef("%s has no model yet that could look at the pool; train one with: erreval refine train %s", s.w.Dir, words.Quote(s.w.Dir))
	}
	if err := errors.Join(s.w.CheckWeights(s.current), os.MkdirAll(filepath.Dir(s.tagged), 0o777)); err != nil {
		return err
	}
	_, missing := os.Stat(s.tagged)
	o := &identifyOptions{Options: run.Options{Inputs: []string{s.w.Path(refine.PoolFile)}, Output: s.tagged, Resume: true,
		Quiet: missing == nil || s.ctx.Bool("quiet"), GoOn: s.e.typedLine()}, Taxonomy: s.w.TaxonomySource(),
		localOptions: localOptions{Model: model, Verifier: s.w.VerifierOf(s.current), Device: s.ctx.String("device"),
			Library: s.ctx.String("ort-lib"), Workers: s.ctx.Int("workers")}}
	err := s.identify(ctx, o)
	if other := (run.OtherRunError{}); errors.As(err, &other) { // pool, taxonomy or model are no longer as they were
		s.e.Warn("%s was made of another pool, or otherwise; the pool is tagged anew", s.tagged)
		if err := removeTagged(s.tagged); err != nil {
			return err
		}
		o.Quiet = s.ctx.Bool("quiet")
		err = s.identify(ctx, o)
	}
	return err
}

// removeTagged removes what identify made, and what it has begun.
func removeTagged(path string) (err error) {
	for _, out := range []string{path, dataset.PartialPath(path)} {
		err = errors.Join(err, run.RemoveIfThere(out), run.RemoveIfThere(runrecord.Path(out)))
	}
	return err
}

func (s *selectRun) identify(ctx context.Context, o *identifyOptions) error {
	err := runIdentify(ctx, s.e.silent(), o)
	if codeOf(err) == exit.Incomplete { // untagged rows are counted, and cannot be chosen
		return nil
	}
	return err
}

// freeze writes the batch, which appears whole or not at all.
func (s *selectRun) freeze(chosen *selection.Batch) (err error) {
	name := refine.BatchName(s.next())
	items, auto, err := chosen.Lines(name)
	if err != nil {
		return err
	}
	config, err := json.Marshal(s.options)
	if err != nil {
		return err
	}
	u, err := s.w.Begin(refine.StepBatch + name)
	if err != nil {
		return explainBusy(s.w, err)
	}
	defer func() { err = errors.Join(err, u.Discard()) }()
	file, err := u.Path(refine.BatchesDir, name, review.AutoFile)
	if err != nil {
		return err
	}
	if err := os.WriteFile(file, auto, 0o666); err != nil {
		return err
	}
	b := &review.Batch{ID: name, Iteration: s.current, Seed: s.seed, Taxonomy: s.w.Taxonomy.ID(), TaxonomySHA256: s.w.Taxonomy.Hash(),
		Config: config, Made: time.Now().UTC().Truncate(time.Second), Tool: runrecord.ReadBuild()}
	if err := review.Freeze(filepath.Dir(file), b, items); err != nil {
		return err
	}
	return u.Commit(s.e.typedLine())
}

// pool gives the tagged rows, once for each pass.
func (s *selectRun) pool(each func(*dataset.Row) error) error {
	r, err := dataset.Open(s.tagged, dataset.Options{Taxonomy: s.w.Taxonomy})
	if err != nil {
		return err
	}
	for err == nil {
		var row *dataset.Row
		if err = s.ctx.Context.Err(); err == nil {
			row, err = r.Read()
		}
		if err == nil {
			if err = each(row); err != nil {
				err = fmt.Errorf("%s:%d: %w", s.tagged, row.Line, err)
			}
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return errors.Join(err, r.Close())
}
