package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/identifier"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/models"
	"github.com/erreval/erreval/models/convert"
	"github.com/erreval/erreval/models/importing"
	"github.com/erreval/erreval/report"
	"github.com/erreval/erreval/taxonomy"
	"github.com/erreval/erreval/training/refine"
)

func refineTrainCommand(e *env) *cli.Command {
	return &cli.Command{
		Name: "train", Usage: "train the next identifier and verifier, measure them, and put them to use if they are better", ArgsUsage: "DIR",
		Description: `How is in refine.yaml; the Python for it comes from erreval refine setup:
   erreval refine train work

Stopped with Ctrl-C, killed, or cut off, the same line goes on where it was. Thresholds are chosen on the
development rows; on those, and on the reviewed rows of random slices, the new identifier is compared with
the one in use. It takes its place only by the rule under promote in refine.yaml.`,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "again", Usage: "train even if neither rows nor settings have changed since the last iteration"},
			libraryFlag(), jsonFlag(), quietFlag(),
		},
		Action: func(ctx *cli.Context) error {
			w, err := openWorkspace(ctx)
			if err != nil {
				return err
			}
			return runRefineTrain(ctx, e, w)
		},
	}
}

// trainer gives refine.Train its hands.
type refineTrainer struct {
	e       *env
	w       *refine.Workspace
	library string
	quiet   bool
	open    bool // a line of progress waits for its end
}

func runRefineTrain(ctx *cli.Context, e *env, w *refine.Workspace) error {
	o, err := trainOptions(ctx, e, w)
	if err != nil {
		return err
	}
	o.Again = ctx.Bool("again")
	m, err := w.Train(ctx.Context, o)
	if errors.Is(err, refine.ErrDone) {
		o.Say("%v", err)
		return nil
	}
	if err != nil {
		return explainTraining(ctx, e, w, err)
	}
	if ctx.Bool("json") {
		return writeJSON(e.Out, m)
	}
	return printTrained(e, w, m)
}

// trainOptions are the hands of a training in w, by the flags of the command.
func trainOptions(ctx *cli.Context, e *env, w *refine.Workspace) (o refine.TrainOptions, err error) {
	t := &refineTrainer{e: e, w: w, library: ctx.String("ort-lib"), quiet: ctx.Bool("quiet")}
	if _, err := e.locateLibrary(t.library); err != nil {
		return o, err
	}
	command, encoder, err := e.trainer(ctx.Context, w)
	return refine.TrainOptions{Trainer: command, Encoder: encoder, Line: e.typedLine(),
		Import: t.importModel, SetThresholds: setThresholds, Identify: t.identify, Commands: t.commands, Say: t.say, Progress: t.progress}, err
}

// explainTraining adds to the error of a training what to do next.
func explainTraining(ctx *cli.Context, e *env, w *refine.Workspace, err error) error {
	if ctx.Context.Err() != nil {
		return exit.With(exit.Interrupted, fmt.Errorf("interrupted; to go on: %s", e.typedLine()))
	}
	return explainBusy(w, err)
}

func (t *refineTrainer) importModel(ctx context.Context, checkpoint, to string, task *taxonomy.Taxonomy, name string) error {
	_, err := importing.Import(ctx, importing.Options{Machine: t.e.machine(), Source: checkpoint, Origin: "erreval refine train", Name: name,
		Output: to, Precision: t.w.Config.Train.Precision, Taxonomy: task, External: convert.DefaultOptions().ExternalAbove, Library: t.library})
	return err
}

func setThresholds(dir string, thresholds map[string]float64) error {
	data, err := os.ReadFile(filepath.Join(dir, models.ManifestFile))
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

func (t *refineTrainer) identify(ctx context.Context, model string, task *taxonomy.Taxonomy, rows []*dataset.Row) (found []*dataset.Diagnosis, id string, err error) {
	m, err := t.e.openModel(ctx, model, "", task)
	if err != nil {
		return nil, "", err
	}
	id = m.Manifest.ID()
	finder, runner, err := t.e.newIdentifier(ctx, m, task, "cpu", t.library, identifier.DefaultOptions())
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

// commands are those that make of the trainer's checkpoint what the step made of it, and measure it.
func (t *refineTrainer) commands(iteration int) []string {
	w, dir := t.w, t.w.Path(refine.IterationDir, refine.IterationName(iteration))
	model := filepath.Join(dir, "model")
	lines := [][]string{
		{"erreval", "models", "import", "CHECKPOINT", "--taxonomy", w.TaxonomySource(), "--precision", w.Config.Train.Precision, "-o", model},
		{"erreval", "identify", w.Path(refine.DevFile), "--taxonomy", w.TaxonomySource(), "--model", asFolder(model), "-o", "dev.tagged.jsonl"},
		{"erreval", "meta", "labels", "dev.tagged.jsonl", "--taxonomy", w.TaxonomySource(), "--min-support", fmt.Sprint(w.Config.Promote.MinSupport), "--bootstrap", fmt.Sprint(w.Config.Promote.Resamples)},
	}
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i] = words.QuoteAll(line)
	}
	return out
}

func (t *refineTrainer) say(format string, args ...any) {
	if t.quiet {
		return
	}
	t.endLine()
	fmt.Fprintf(t.e.Err, "erreval: "+format+"\n", args...)
}

func (t *refineTrainer) endLine() {
	if t.open {
		fmt.Fprintln(t.e.Err)
		t.open = false
	}
}

// progress shows each look at the development rows, and on a terminal each step.
func (t *refineTrainer) progress(task string, p refine.Progress) {
	if t.quiet || p.Dev == nil && !t.e.IsTerminal(t.e.Err) {
		return
	}
	text := fmt.Sprintf("%s: step %d", task, p.Step)
	if p.Steps > 0 {
		text += fmt.Sprintf(" of at most %d", p.Steps)
	}
	text += fmt.Sprintf(", epoch %d, loss %.4f", p.Epoch, p.Loss)
	if p.Dev != nil {
		t.say("%s, micro-F1 %.3f on the development rows", text, *p.Dev)
		return
	}
	fmt.Fprintf(t.e.Err, "\r\x1b[Kerreval: %s", text)
	t.open = true
}

func printTrained(e *env, w *refine.Workspace, m *refine.Metrics) error {
	line, flush := namedLines(e.Out)
	name := refine.IterationName(m.Iteration)
	line("iteration", "%s, %s", name, m.Model)
	line("trained on", "%s: %s", words.Plural(m.Training.Rows, "row", "rows"), kindWords(m.Training.Kinds))
	for _, part := range []struct {
		name string
		e    *refine.Evaluation
	}{{"development", m.Dev}, {"random slices", m.Random}} {
		if part.e != nil {
			line(part.name, "%s", evaluationWords(part.e))
		}
	}
	if v := m.Verifier; v != nil {
		line("verifier", "accuracy %s, precision %s, recall %s, F1 %s on %d label sets", three(v.Accuracy), three(v.Precision), three(v.Recall), three(v.F1), v.Rows)
	}
	line("decision", "%s", words.Printable(m.Why))
	line("written", "%s", w.Path(refine.IterationDir, name))
	return flush()
}

// shownFigures are the columns of the paper's Table 7.
var shownFigures = []struct{ key, name, short string }{
	{"micro_f1", "micro-F1", "F1 micro"}, {"macro_f1", "macro-F1", "F1 macro"}, {"weighted_f1", "weighted F1", "F1 weighted"},
	{"exact_match", "exact match", "EMR"}, {"over_prediction", "over-prediction", "OPR"},
}

func evaluationWords(v *refine.Evaluation) string {
	words := words.Plural(v.Rows, "row", "rows")
	for _, s := range shownFigures {
		f := v.Figures[s.key]
		if f == nil {
			continue
		}
		words += fmt.Sprintf(", %s %s", s.name, three(f.Value))
		if f.Difference != nil {
			words += fmt.Sprintf(" (%+.3f)", float64(f.Difference.Value))
		}
	}
	if v.Trained > 0 {
		words += fmt.Sprintf("; %d of them share their group with a training row, which favours models trained on it", v.Trained)
	}
	return words
}

func three(n report.Number) string { return fmt.Sprintf("%.3f", float64(n)) }
