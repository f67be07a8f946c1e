package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/training/refine"
	"github.com/erreval/erreval/training/review"
	"github.com/erreval/erreval/training/selection"
)

// input is what a batch is chosen from: the tagged pool, without the rows that are in use.
func (s *selectRun) input() (*selection.Input, error) {
	in := &selection.Input{Options: s.options, Pool: s.pool, Used: selection.NewUsed(), Counts: map[string]int{}, Seed: s.seed}
	var thresholds dataset.Probabilities
	if made := readRecord(s.tagged); made != nil {
		thresholds = made.Options.Thresholds
	}
	if len(thresholds) == 0 {
		s.e.warn("%s has no run record that tells the model's thresholds; each is taken for 0.5", s.tagged)
	}
	var err error
	if in.Meter, err = selection.NewMeter(s.w.Taxonomy, thresholds); err != nil {
		return nil, fmt.Errorf("%s: %w", s.tagged, err)
	}
	trained, err := s.useTraining(in)
	if err != nil {
		return nil, err
	}
	if err := s.useMeasuring(in.Used); err != nil {
		return nil, err
	}
	if err := s.useBatches(in.Used); err != nil {
		return nil, err
	}
	return in, s.doubts(in, trained)
}

// useTraining counts the labels of the training set. It gives the rows that doubts are about.
func (s *selectRun) useTraining(in *selection.Input) (doubted map[string]*dataset.Row, err error) {
	doubted, err = s.doubtedIDs()
	if err != nil {
		return nil, err
	}
	return doubted, s.w.EachTraining(func(file string, row *dataset.Row) error {
		labels, err := row.Labels(s.w.Taxonomy)
		for _, l := range labels {
			in.Counts[l]++
		}
		if _, ok := doubted[row.ID]; ok {
			doubted[row.ID] = row
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

// useBatches leaves out the rows of earlier batches, those proposed without a person too.
func (s *selectRun) useBatches(used *selection.Used) error {
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
				return nil
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
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
		return given, checkInputs([]string{given})
	}
	path := s.w.Path(qualityFile)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return "", nil
	} else if err != nil {
		return "", err
	}
	return path, nil
}

func (s *selectRun) eachDoubt(f func(id string, score float64) error) error {
	path, err := s.doubtsPath()
	if path == "" || err != nil {
		return err
	}
	return s.eachLine(path, func(line *dataset.Row) error {
		id, score := columnText(line, "row_id"), 0.0
		raw, ok := line.Get("score")
		if id == "" || !ok || json.Unmarshal(raw, &score) != nil {
			return errors.New(`want {"row_id": "…", "score": number}`)
		}
		return f(id, score)
	})
}

func (s *selectRun) doubtedIDs() (map[string]*dataset.Row, error) {
	ids := map[string]*dataset.Row{}
	return ids, s.eachDoubt(func(id string, _ float64) error { ids[id] = nil; return nil })
}

// doubts takes the ranking over, but for rows that a person was shown for that reason before.
func (s *selectRun) doubts(in *selection.Input, trained map[string]*dataset.Row) error {
	seen, err := s.checked()
	if err != nil {
		return err
	}
	return s.eachDoubt(func(id string, score float64) error {
		row := trained[id]
		if row != nil && !seen[id] {
			in.Mistakes = append(in.Mistakes, selection.Doubt{Row: row, Score: score})
		}
		return nil
	})
}

// checked are the ids of rows that earlier batches had as possible mistakes. A doubt that was looked at does not come back.
func (s *selectRun) checked() (map[string]bool, error) {
	ids := map[string]bool{}
	for _, n := range s.batches {
		name := refine.BatchName(n)
		if name == s.open {
			continue
		}
		if err := s.eachLine(s.w.Path(refine.BatchesDir, name, review.ItemsFile), func(line *dataset.Row) error {
			if columnText(line, "reason") == review.Mistake {
				ids[columnText(line, "row_id")] = true
			}
			return nil
		}); err != nil {
			return nil, err
		}
	}
	return ids, nil
}
