package refine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/runrecord"
	"github.com/erreval/erreval/taxonomy"
)

// TrainFiles are the files of the training set: the start, those of merges in the order of their steps, and what
// somebody put there by hand.
func (w *Workspace) TrainFiles() ([]string, error) {
	return w.mergedFiles(TrainDir)
}

// mergedFiles are the files of a folder in the order of the steps that wrote them.
func (w *Workspace) mergedFiles(folder string) ([]string, error) {
	files, err := w.files(folder)
	log, logErr := w.Log()
	step := map[string]int{StartRows: -1}
	for i, entry := range log {
		if name, ok := strings.CutPrefix(entry.Step, StepMerge); ok {
			step[name+".jsonl"], step[name+autoEnd] = i, i
		}
	}
	place := func(file string) int {
		if i, ok := step[filepath.Base(file)]; ok {
			return i
		}
		return len(log)
	}
	slices.SortStableFunc(files, func(a, b string) int { return place(a) - place(b) })
	return files, errors.Join(err, logErr)
}

// RandomFiles are the files of reviewed rows of random slices, in the order of their steps.
func (w *Workspace) RandomFiles() ([]string, error) { return w.mergedFiles(RandomDir) }

func (w *Workspace) files(folder string) ([]string, error) {
	entries, err := w.entries(folder)
	var files []string
	for _, entry := range entries {
		if filepath.Ext(entry.Name()) == ".jsonl" {
			files = append(files, w.Path(folder, entry.Name()))
		}
	}
	return files, err
}

// EachRow calls f for the rows of a JSON Lines file of the workspace; no file is no rows. A line that is no row ends
// it: erreval wrote the file.
func (w *Workspace) EachRow(path string, f func(*dataset.Row) error) error {
	return eachRow(context.Background(), path, w.Taxonomy, f)
}

// EachTraining calls f for the rows of the training set, with the file that each is from. A text that several files
// have counts once, as the last of them has it: the latest decision, whichever way it came.
func (w *Workspace) EachTraining(f func(file string, row *dataset.Row) error) error {
	files, err := w.TrainFiles()
	if err != nil {
		return err
	}
	return w.eachLatest(files, f)
}

// IsOfBatch tells whether a file of TrainDir has rows that people labelled in a batch: those at the start, marks, and
// rows that were added without a person are none.
func IsOfBatch(file string) bool {
	name := filepath.Base(file)
	return name != StartRows && !strings.HasPrefix(name, marksName) && !strings.HasSuffix(name, autoEnd)
}

// EachRandom is EachTraining for the reviewed rows of random slices.
func (w *Workspace) EachRandom(f func(row *dataset.Row) error) error {
	files, err := w.RandomFiles()
	if err != nil {
		return err
	}
	return w.eachLatest(files, func(_ string, row *dataset.Row) error { return f(row) })
}

// inForce are the labels of texts in the training set and in the reviewed rows of random slices.
func (w *Workspace) inForce() (map[string][]string, error) {
	labels := map[string][]string{}
	take := func(row *dataset.Row) (err error) {
		labels[row.TextHash()], err = row.Labels(w.Taxonomy)
		return err
	}
	err := w.EachTraining(func(_ string, row *dataset.Row) error { return take(row) })
	return labels, errors.Join(err, w.EachRandom(take))
}

// eachLatest calls f for the rows of files, of a text that several have for that of the last.
func (w *Workspace) eachLatest(files []string, f func(file string, row *dataset.Row) error) error {
	last := map[string]int{} // text to the number of its last file
	for i, file := range files {
		if err := w.EachRow(file, func(row *dataset.Row) error { last[row.TextHash()] = i; return nil }); err != nil {
			return err
		}
	}
	for i, file := range files {
		err := w.EachRow(file, func(row *dataset.Row) error {
			if last[row.TextHash()] != i {
				return nil
			}
			return f(file, row)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// eachRow is EachRow of rows with the fields of a taxonomy, each in a column of its name; for nil of any JSON objects.
// A file is read by the record of the run that made it; one without a record by that of the first of others that has
// one. It ends with ctx.
func eachRow(ctx context.Context, path string, t *taxonomy.Taxonomy, f func(*dataset.Row) error,
	others ...string) (err error) {
	o := dataset.Options{Taxonomy: t}
	for _, file := range append([]string{path}, others...) {
		var reading runrecord.Reading
		if made := runrecord.ReadOptions(file, &reading); made != nil && o.Recorded == nil {
			o.Recorded, o.RecordedID = made.ReadFrom(&reading)
		}
	}
	r, err := dataset.Open(path, o)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	return dataset.Each(ctx, r.Read, nil, func(row *dataset.Row) error {
		if err := cmp.Or(setFields(row, t), f(row)); err != nil {
			return fmt.Errorf("%s:%d: %w", path, row.Line, err)
		}
		return nil
	})
}

// setFields puts the row's texts where its fields are looked for by name, as trainers do.
func setFields(row *dataset.Row, t *taxonomy.Taxonomy) (err error) {
	if t == nil {
		return nil
	}
	for i, field := range t.FieldNames() {
		raw, there := row.Get(field)
		text, want := "", row.Values[i]
		if (there || want != "") && (json.Unmarshal(raw, &text) != nil || text != want) {
			err = errors.Join(err, row.Set(field, want))
		}
	}
	return err
}
