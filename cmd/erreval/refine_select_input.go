package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/training/refine"
	"github.com/erreval/erreval/training/review"
	"github.com/erreval/erreval/training/selection"
)

// input is what a batch is chosen from: the tagged pool, without the rows that are in use.
func (s *selectRun) input() (*selection.Input, error) {
	in := &selection.Input{Options: s.options, Pool: s.pool, Used: selection.NewUsed(), Counts: map[string]int{}, Seed: s.seed}
	thresholds, err := s.thresholds()
	if err != nil {
		return nil, err
	}
	if in.Meter, err = selection.NewMeter(s.w.Taxonomy, thresholds); err != nil {
		return nil, fmt.Errorf("%s: %w", s.tagged, err)
	}
	doubts, err := s.doubts()
	if err != nil {
		return nil, err
	}
	if err := s.useTraining(in, doubts); err != nil {
		return nil, err
	}
	if err := s.useMeasuring(in.Used); err != nil {
		return nil, err
	}
	checked, err := s.useBatches(in.Used)
	if err != nil {
		return nil, err
	}
	for id, d := range doubts {
		if d.Row != nil && !checked[id] {
			in.Mistakes = append(in.Mistakes, *d)
		}
	}
	return in, nil
}

// thresholds are those with which the pool was tagged. What came of a tagged file, as by erreval score, has no record of them, but
// names the model.
func (s *selectRun) thresholds() (dataset.Probabilities, error) {
	first, err := s.firstDiagnosis()
	if err != nil {
		return nil, err
	}
	if of, want := first.Taxonomy, s.w.Taxonomy.ID(); of != "" && of != want {
		return nil, exit.With(exit.Unfit, fmt.Errorf("%s was tagged by the taxonomy %s, and the workspace has %s", s.tagged, of, want))
	}
	if made := run.ReadMade(s.tagged); made != nil && len(made.Options.Thresholds) > 0 {
		return made.Options.Thresholds, nil
	}
	if name := s.w.ModelOf(s.current); name != "" {
		if m, err := s.e.openModel(s.ctx.Context, name, "", s.w.Taxonomy); err == nil && m.Manifest.ID() == first.Model {
			var out dataset.Probabilities
			for label, p := range m.Manifest.Thresholds {
				out = append(out, dataset.Probability{Label: label, P: p})
			}
			return out, nil
		}
	}
	s.e.Warn("%s has no run record that tells the model's thresholds; each is taken for 0.5", s.tagged)
	return nil, nil
}

// firstDiagnosis is that of the first row that has one; an empty one where none has.
func (s *selectRun) firstDiagnosis() (first dataset.Diagnosis, err error) {
	err = s.pool(func(row *dataset.Row) error {
		d, err := row.Diagnosis()
		if err != nil || d == nil {
			return err
		}
		first = *d
		return errFirst
	})
	if errors.Is(err, errFirst) {
		err = nil
	}
	return first, err
}

var errFirst = errors.New("the first row is enough")

// useTraining counts the labels of the training set, and finds the rows that doubts are about.
func (s *selectRun) useTraining(in *selection.Input, doubts map[string]*selection.Doubt) error {
	return s.w.EachTraining(func(file string, row *dataset.Row) error {
		labels, err := row.Labels(s.w.Taxonomy)
		for _, l := range labels {
			in.Counts[l]++
		}
		if d := doubts[row.ID]; d != nil {
			d.Row = row
		}
		in.Used.Add(row, "the training set ("+filepath.Base(file)+")")
		return err
	})
}

// useMeasuring leaves out the rows that measure.
func (s *selectRun) useMeasuring(used *selection.Used) error {
	files, err := s.w.RandomFiles()
	if err != nil {
		return err
	}
	for _, file := range append(files, s.w.Path(refine.DevFile)) {
		rel, _ := filepath.Rel(s.w.Dir, file)
		if err := s.w.EachRow(file, func(row *dataset.Row) error { used.Add(row, rel); return nil }); err != nil {
			return err
		}
	}
	return nil
}

// useBatches leaves out the rows of earlier batches, those proposed without a person too. It gives the ids of those that were
// shown as possible mistakes: a doubt that was looked at does not come back.
func (s *selectRun) useBatches(used *selection.Used) (checked map[string]bool, err error) {
	checked = map[string]bool{}
	for _, n := range s.batches {
		name := refine.BatchName(n)
		if name == s.open {
			continue
		}
		for _, file := range []string{review.ItemsFile, review.AutoFile} {
			path := s.w.Path(refine.BatchesDir, name, file)
			err := s.eachLine(path, func(line *dataset.Row) error {
				it := &review.Item{ItemID: name}
				if raw, ok := line.Get("row"); ok {
					it.Row = raw
				}
				row, err := it.Source(s.w.Taxonomy)
				if err != nil {
					return err
				}
				row.ID = columnText(line, "row_id")
				used.Add(row, "batch "+name)
				if columnText(line, "reason") == review.Mistake {
					checked[row.ID] = true
				}
				return nil
			})
			if err != nil {
				return nil, err
			}
		}
	}
	return checked, nil
}

// eachLine gives the objects of a JSON Lines file, in which other columns than a task's stand.
func (s *selectRun) eachLine(path string, f func(*dataset.Row) error) error {
	w := *s.w
	w.Taxonomy = nil
	return w.EachRow(path, f)
}

func columnText(row *dataset.Row, column string) (text string) {
	raw, _ := row.Get(column)
	_ = json.Unmarshal(raw, &text) // another kind of value is no text
	return text
}

// doubtsPath is the ranking by label quality, or "" where there is none.
func (s *selectRun) doubtsPath() (string, error) {
	if given := s.ctx.String("mistakes"); given != "" {
		return given, run.CheckInputs([]string{given})
	}
	path := s.w.Path(qualityFile)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return "", nil
	} else if err != nil {
		return "", err
	}
	return path, nil
}

// doubts is the ranking, by row id; its rows are not there yet.
func (s *selectRun) doubts() (map[string]*selection.Doubt, error) {
	doubts := map[string]*selection.Doubt{}
	path, err := s.doubtsPath()
	if path == "" || err != nil {
		return nil, err
	}
	return doubts, s.eachLine(path, func(line *dataset.Row) error {
		id, score := columnText(line, "row_id"), 0.0
		raw, ok := line.Get("score")
		if id == "" || !ok || json.Unmarshal(raw, &score) != nil {
			return errors.New(`want {"row_id": "…", "score": number}`)
		}
		doubts[id] = &selection.Doubt{Score: score}
		return nil
	})
}
