package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/identifier"
	"github.com/erreval/erreval/identifier/ort"
	"github.com/erreval/erreval/internal/regularfile"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/models"
	"github.com/erreval/erreval/models/convert"
	"github.com/erreval/erreval/models/importing"
	"github.com/erreval/erreval/taxonomy"
	"github.com/erreval/erreval/training/refine"
)

func refineTrainCommand(e *env) *cli.Command {
	return &cli.Command{
		Name: "train", Usage: "train the next identifier and verifier, measure them, and put them to use if they are better",
		ArgsUsage: "DIR",
		Description: `How is in refine.yaml; the Python for it comes from erreval refine setup:
   erreval refine train work

Stopped with Ctrl-C, killed, or cut off, the same line goes on where it was; with --finish it ends with the
best epoch so far. How far it is, erreval refine status says meanwhile. Thresholds are chosen on the
development rows; on those, and on the reviewed rows of random slices, the new identifier is compared with
the one in use. It takes its place only by the rule under promote in refine.yaml.`,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "again", Usage: "train even if neither rows nor settings have changed since the last " +
				"iteration; where they have, give up a training that was stopped"},
			&cli.BoolFlag{Name: "finish", Usage: "end a training that was stopped with its best epoch so far; a verifier " +
				"without one is left out"},
			&cli.BoolFlag{Name: "dry-run", Usage: "say what it would train with, or what is missing, and start nothing"},
			libraryFlag(), jsonFlag(),
		},
		Action: func(ctx *cli.Context) error { return runRefineTrain(ctx, e) },
	}
}

// refineTrainer gives training what it needs of models, and shows how far it is.
type refineTrainer struct {
	e       *env
	w       *refine.Workspace
	library string
	open    bool   // a line of progress waits for its end
	timed   string // the task of which was said what it takes
}

func runRefineTrain(ctx *cli.Context, e *env) error {
	w, err := openWorkspace(ctx)
	if err != nil {
		return err
	}
	s, err := w.Status()
	if err != nil {
		return err
	}
	o, err := trainOptions(ctx, e, w)
	err = errors.Join(s.CheckRows(), err)
	if ctx.Bool("dry-run") {
		plan := w.Plan(o.Trainer, cmp.Or(o.Encoder, w.Config.Train.Encoder), s.Training.Rows, cmp.Or(s.Dev, s.Random))
		err = errors.Join(w.Weigh(plan, s), err)
		return errors.Join(printResult(ctx, e, plan), err)
	}
	if err != nil {
		return err
	}
	o.Again, o.Finish = ctx.Bool("again"), ctx.Bool("finish")
	m, err := w.Train(ctx.Context, o)
	if errors.Is(err, refine.ErrDone) {
		o.Say("%v", err)
		return nil
	}
	if err != nil {
		return explainInterrupted(ctx, e, err)
	}
	return printResult(ctx, e, m)
}

// trainOptions are those of a training in w, by the flags of the command.
func trainOptions(ctx *cli.Context, e *env, w *refine.Workspace) (o refine.TrainOptions, err error) {
	t := &refineTrainer{e: e, w: w, library: ctx.String("ort-lib")}
	_, noLibrary := e.machine().LocateLibrary(t.library)
	o = refine.TrainOptions{Line: e.typedLine(), Import: t.importModel, SetThresholds: setThresholds, Identify: t.identify,
		Say: t.say, Progress: t.progress}
	if o.Trainer, o.Encoder, err = w.Trainer(ctx.Context, e.Getenv); err == nil {
		o.Encoder, err = e.encoder(o.Encoder)
	}
	return o, errors.Join(noLibrary, err)
}

func (t *refineTrainer) importModel(ctx context.Context, checkpoint, to string, task *taxonomy.Taxonomy,
	name string) error {
	_, err := importing.Import(ctx, importing.Options{Machine: t.e.machine(), Source: checkpoint,
		Origin: "erreval refine train",
		Name:   name, Output: to, Precision: t.w.Config.Train.Precision, Window: t.w.Config.Train.Window, Taxonomy: task,
		External: convert.DefaultOptions().ExternalAbove, Library: t.library})
	return err
}

func setThresholds(dir string, thresholds map[string]float64) error {
	data, err := regularfile.Read(filepath.Join(dir, models.ManifestFile), regularfile.MaxManifest)
	if err != nil {
		return err
	}
	m, err := models.ParseManifest(data)
	if err != nil {
		return err
	}
	for label, p := range thresholds {
		m.Thresholds[label] = p
	}
	return m.Write(dir)
}

func (t *refineTrainer) identify(ctx context.Context, model string, task *taxonomy.Taxonomy,
	rows []*dataset.Row) (found []*dataset.Diagnosis, id string, err error) {
	m, err := t.e.machine().OpenModel(ctx, model, "", task)
	if err != nil {
		return nil, "", err
	}
	id = m.Manifest.ID()
	finder, runner, err := t.e.machine().NewIdentifier(ctx, m, task, ort.Options{Device: "cpu", Library: t.library},
		identifier.DefaultOptions())
	if err != nil {
		return nil, "", err
	}
	defer func() { err = errors.Join(err, runner.Close()) }()
	next := 0
	err = finder.Identify(ctx, func() (*dataset.Row, error) {
		if next == len(rows) {
			return nil, io.EOF
		}
		next++
		return rows[next-1], nil
	}, func(_ *dataset.Row, d *dataset.Diagnosis) error {
		found = append(found, d)
		return nil
	})
	return found, id, err
}

func (t *refineTrainer) say(format string, args ...any) {
	if t.e.Quiet {
		return
	}
	if t.open {
		fmt.Fprintln(t.e.Err)
		t.open = false
	}
	fmt.Fprintf(t.e.Err, "erreval: "+format+"\n", args...)
}

// progress shows each look at the development rows, on a terminal each step, and once what a task takes.
func (t *refineTrainer) progress(task string, p refine.Progress) {
	if text := p.TimeText(task); text != "" && t.timed != task {
		t.say("%s", text)
		t.timed = task
	}
	switch {
	case t.e.Quiet:
	case p.Dev != nil:
		t.say("%s", p.Text(task))
	case t.e.IsTerminal(t.e.Err):
		fmt.Fprintf(run.Unguarded(t.e.Err), "\r\x1b[Kerreval: %s", words.Printable(p.Text(task)))
		t.open = true
	}
}
