package refine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/regularfile"
	"github.com/erreval/erreval/internal/runrecord"
	"github.com/erreval/erreval/internal/wholefile"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/training/review"
	"github.com/erreval/erreval/training/simulate"
)

// threshold chooses the identifier's thresholds, and gives what it finds with them in the rows that chose.
func (t *training) threshold(ctx context.Context, model string) ([]*dataset.Diagnosis, error) {
	rows := t.choosing()
	found, id, err := t.o.Identify(ctx, model, t.w.Taxonomy, rows.rows)
	if err != nil {
		return nil, err
	}
	t.metrics.Model = id
	t.metrics.Thresholds = chooseThresholds(t.w.Taxonomy, rows, found, t.w.Config.Promote.MinSupport)
	if err := t.o.SetThresholds(model, t.metrics.Thresholds); err != nil {
		return nil, err
	}
	found, _, err = t.o.Identify(ctx, model, t.w.Taxonomy, rows.rows)
	return found, err
}

// verifier trains and measures the verifier. The mistakes that the identifier makes on rows it was not trained on are
// among those that the verifier learns to see.
func (t *training) verifier(ctx context.Context, found []*dataset.Diagnosis) error {
	known, wanted := judged(t.choosing(), found), judged(&t.train, nil)
	train, err := t.w.verifierRows(wanted, known)
	if err != nil {
		return err
	}
	dev, err := t.w.verifierRows(known, nil)
	if err != nil {
		return err
	}
	trainFile, devFile := t.rowsFile("verifier-train"), t.rowsFile("verifier-dev")
	if err := errors.Join(wholefile.Write(trainFile, rowsText(train)), wholefile.Write(devFile,
		rowsText(dev))); err != nil {
		return err
	}
	task := VerifierTask(t.w.Taxonomy)
	model, err := t.make(ctx, TaskVerifier, "verifier", task, trainFile, devFile)
	if err != nil {
		return err
	}
	t.metrics.Verifier, err = measureVerifier(ctx, t.o, model, task, dev)
	return err
}

func judged(l *labelled, found []*dataset.Diagnosis) []simulate.Judged {
	out := make([]simulate.Judged, len(l.rows))
	for i, row := range l.rows {
		out[i] = simulate.Judged{Row: row, Labels: l.labels[i]}
		if found != nil {
			out[i].Diagnosis = found[i]
		}
	}
	return out
}

// measure compares the new model with the one in use, on the same rows. What it finds in the rows that chose is known.
func (t *training) measure(ctx context.Context, model string, chosen []*dataset.Diagnosis) error {
	before := t.w.ModelOf(t.before)
	for _, part := range []struct {
		rows *labelled
		to   **Evaluation
	}{{&t.dev, &t.metrics.Dev}, {&t.random, &t.metrics.Random}} {
		if len(part.rows.rows) == 0 {
			continue
		}
		found, err := chosen, error(nil)
		if part.rows != t.choosing() {
			if found, _, err = t.o.Identify(ctx, model, t.w.Taxonomy, part.rows.rows); err != nil {
				return err
			}
		}
		var earlier []*dataset.Diagnosis
		if before != "" {
			if earlier, t.metrics.Before, err = t.o.Identify(ctx, before, t.w.Taxonomy, part.rows.rows); err != nil {
				return fmt.Errorf("the model in use, %s: %w", before, err)
			}
		}
		e, err := t.w.evaluate(ctx, part.rows, found, earlier, t.groups)
		if err != nil {
			return err
		}
		*part.to = e
	}
	if t.metrics.Dev == nil {
		t.metrics.Random.SameAsDev = true
	}
	return nil
}

// decide promotes by the rule of the settings, on the rows of Measured.
func (t *training) decide() {
	m, p := &t.metrics, t.w.Config.Promote
	f := m.Measured().Figures[p.Metric]
	switch {
	case f == nil:
		m.Promoted, m.Why = t.before < 0 &&
			m.Before == "", fmt.Sprintf("%s is not defined on these rows: too few of each label", p.Metric)
	case f.Difference == nil:
		constant := m.Measured().Constant[p.Metric]
		m.Promoted, m.Why = true, fmt.Sprintf("it is the first model: %s %.3f; giving every row the most frequent labels "+
			"has %s", p.Metric, float64(f.Value), constant.Text("%.3f"))
		if f.Value <= constant {
			m.Why += ". It has learnt nothing of use yet: it needs more rows, or more epochs"
		}
	default:
		d := f.Difference
		m.Promoted = p.Rule == RuleEstimate && d.Value > 0 || p.Rule == RuleInterval && d.Low > 0
		decision := "not promoted, and the one before stays in use"
		if m.Promoted {
			decision = "promoted"
		}
		m.Why = fmt.Sprintf("%s %.3f against %.3f of %s on the same %d rows, %+.3f [%+.3f, %+.3f]; by the rule %q it is %s",
			p.Metric,
			float64(f.Value), float64(d.Before), m.Before, m.Measured().Rows, float64(d.Value),
			float64(d.Low), float64(d.High), p.Rule, decision)
		if t.before < 0 { // a model trained here had its thresholds chosen on these rows, too
			m.Why += "; its thresholds and epoch were chosen on these rows and those of the model to start from were not, " +
				"which favours it"
		}
	}
}

// write puts the figures, the commands and the record of the run into the iteration.
func (t *training) write() error {
	metrics, err := review.JSON(&t.metrics)
	if err != nil {
		return err
	}
	return errors.Join(t.put(metrics, MetricsFile),
		t.put([]byte(t.commandsText()), "commands.txt"), t.copy(t.log.Name(), "train.log"), t.writeRecord())
}

// put writes a file of the iteration.
func (t *training) put(data []byte, name string) error {
	return t.u.Write(data, IterationDir, IterationName(t.iteration), name)
}

// copy puts a small file into the iteration.
func (t *training) copy(from, name string) error {
	data, err := regularfile.Read(from, regularfile.MaxRows)
	if err != nil {
		return err
	}
	return t.put(data, name)
}

// commandsText is commands.txt: how the step can be done again, as a whole and one by one.
func (t *training) commandsText() string {
	lines := []string{"# The step:", t.o.Line, "",
		"# The trainer, as it was run. The two files are kept beside this one, as identifier.json and verifier.json; the " +
			"rows that they name",
		"# come from the files in run.json (inputs), and are put together again by: erreval refine train " +
			words.Quote(t.w.Dir) + " --again"}
	for _, task := range []string{TaskIdentifier, TaskVerifier} {
		if task == TaskIdentifier || t.w.Config.Train.Verifier {
			lines = append(lines, strings.Join(append(slices.Clip(t.o.Trainer), filepath.Join(t.work, task, jobFile)), " "))
		}
	}
	lines = append(lines, "", "# What else the step did, command by command:")
	for _, command := range t.commands() {
		lines = append(lines, words.QuoteAll(command))
	}
	return strings.Join(lines, "\n") + "\n"
}

// commands are those that make of the trainer's checkpoint what the step made of it, and measure it.
func (t *training) commands() [][]string {
	c, task, model := t.w.Config, t.w.TaxonomySource(), filepath.Join(t.metrics.dir, "model")
	return [][]string{
		{"erreval", "models", "import", "CHECKPOINT", "--taxonomy", task, "--precision", c.Train.Precision, "-o", model},
		{"erreval", "identify", t.w.Path(DevFile), "--taxonomy", task, "--model", asFolder(model), "-o", "dev.tagged.jsonl"},
		{"erreval", "meta", "labels", "dev.tagged.jsonl", "--taxonomy", task,
			"--min-support", fmt.Sprint(c.Promote.MinSupport), "--bootstrap", fmt.Sprint(c.Promote.Resamples)},
	}
}

// asFolder writes dir so that --model does not take it for the name of an imported model.
func asFolder(dir string) string {
	if strings.ContainsRune(dir, filepath.Separator) {
		return dir
	}
	return "." + string(filepath.Separator) + dir
}

// writeRecord puts run.json beside the figures.
func (t *training) writeRecord() error {
	path, err := t.path("run")
	if err != nil {
		return err
	}
	w := t.w
	t.record.Taxonomy = &runrecord.Artefact{ID: w.Taxonomy.ID(), SHA256: w.Taxonomy.Hash()}
	inputs, err := t.inputs()
	if err != nil {
		return err
	}
	t.record.Inputs = inputs
	t.record.Counts = map[string]int{"train": len(t.train.rows), "dev": len(t.dev.rows), "random": len(t.random.rows),
		"left_out": t.metrics.Training.Left}
	return errors.Join(t.record.Write(path), os.Rename(runrecord.Path(path), path+".json"))
}

// inputs are the files of rows, from the workspace's folder.
func (t *training) inputs() (inputs []runrecord.Input, err error) {
	files, err := t.w.TrainFiles()
	random, randomErr := t.w.RandomFiles()
	err = errors.Join(err, randomErr)
	for _, file := range append(append(files, t.w.Path(DevFile)), random...) {
		in, hashErr := runrecord.HashFile(file)
		rel, relErr := filepath.Rel(t.w.Dir, file)
		if errors.Is(hashErr, fs.ErrNotExist) { // without development rows
			continue
		}
		in.File, err = filepath.ToSlash(rel), errors.Join(err, hashErr, relErr)
		inputs = append(inputs, in)
	}
	return inputs, err
}
