package refine

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/erreval/erreval/internal/runrecord"
	"github.com/erreval/erreval/internal/words"
)

// write puts the figures, the commands and the record of the run into the iteration.
func (t *training) write() error {
	metrics, err := json.MarshalIndent(&t.metrics, "", "  ")
	if err != nil {
		return err
	}
	return errors.Join(t.put(append(metrics, '\n'), MetricsFile), t.put([]byte(t.commandsText()), "commands.txt"), t.copy(t.log.Name(), "train.log"), t.writeRecord())
}

// put writes a file of the iteration.
func (t *training) put(data []byte, name string) error {
	return t.u.Write(data, IterationDir, IterationName(t.iteration), name)
}

// copy puts a small file into the iteration.
func (t *training) copy(from, name string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return t.put(data, name)
}

// commandsText is commands.txt: how the step can be done again, as a whole and one by one.
func (t *training) commandsText() string {
	lines := []string{"# The step:", t.o.Line, "", "# The trainer, as it was run. The two files are kept beside this one, as identifier.json and verifier.json; the rows that they name",
		"# come from the files in run.json (inputs), and are put together again by: erreval refine train " + words.Quote(t.w.Dir) + " --again"}
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
		{"erreval", "meta", "labels", "dev.tagged.jsonl", "--taxonomy", task, "--min-support", fmt.Sprint(c.Promote.MinSupport), "--bootstrap", fmt.Sprint(c.Promote.Resamples)},
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
	t.record.Counts = map[string]int{"train": len(t.train.rows), "dev": len(t.dev.rows), "random": len(t.random.rows), "left_out": t.metrics.Training.Left}
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
