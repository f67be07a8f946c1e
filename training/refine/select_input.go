package refine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/runrecord"
	"github.com/erreval/erreval/training/review"
	"github.com/erreval/erreval/training/selection"
)

// input is what a batch is chosen from: the tagged pool, without the rows that are in use.
func (s *choice) input(ctx context.Context) (*selection.Input, error) {
	in := &selection.Input{Options: s.options, Used: selection.NewUsed(), Counts: map[string]int{}, Seed: s.seed,
		Pool: func(each func(*dataset.Row) error) error { return eachRow(ctx, s.tagged, s.w.Taxonomy, each) }}
	thresholds, err := s.thresholds(ctx, in.Pool)
	if err != nil {
		return nil, err
	}
	if err := s.keepOnly(ctx, in); err != nil {
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

// keepOnly leaves in the pool the rows that somebody picked, as on the page of a report.
func (s *choice) keepOnly(ctx context.Context, in *selection.Input) error {
	if s.o.Only == "" {
		return nil
	}
	picked := map[string]bool{}
	take := func(row *dataset.Row) error { picked[row.ID] = true; return nil }
	err := eachRow(ctx, s.o.Only, s.w.Taxonomy, take, s.tagged) // rows of the tagged file have its columns
	if err != nil {
		return err
	}
	all := in.Pool
	in.Pool = func(each func(*dataset.Row) error) error {
		return all(func(row *dataset.Row) error {
			if !picked[row.ID] {
				return nil
			}
			return each(row)
		})
	}
	return nil
}

// thresholds are those with which the pool was tagged. What came of a tagged file, as by erreval score, has no record
// of them, but names the model.
func (s *choice) thresholds(ctx context.Context, pool selection.Pool) (dataset.Probabilities, error) {
	first, err := firstDiagnosis(pool)
	if err != nil {
		return nil, err
	}
	if of, want := first.Taxonomy, s.w.Taxonomy.ID(); of != "" && of != want {
		return nil, &UnfitError{fmt.Errorf("%s was tagged by the taxonomy %s, and the workspace has %s", s.tagged, of, want)}
	}
	var o struct {
		Thresholds dataset.Probabilities `json:"thresholds"`
	}
	if runrecord.ReadOptions(s.tagged, &o) != nil && len(o.Thresholds) > 0 {
		return o.Thresholds, nil
	}
	if name := s.w.ModelOf(s.current); name != "" {
		if id, thresholds, err := s.o.Thresholds(ctx, name); err == nil && id == first.Model {
			var out dataset.Probabilities
			for label, p := range thresholds {
				out = append(out, dataset.Probability{Label: label, P: p})
			}
			return out, nil
		}
	}
	s.o.Warn("%s has no run record that tells the model's thresholds; each is taken for 0.5", s.tagged)
	return nil, nil
}

// firstDiagnosis is that of the first row that has one; an empty one where none has.
func firstDiagnosis(pool selection.Pool) (first dataset.Diagnosis, err error) {
	err = pool(func(row *dataset.Row) error {
		d, err := row.Diagnosis()
		if err != nil || d == nil {
			return err
		}
		first = *d
		return errEnough
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return first, err
}

// useTraining counts the labels of the training set, and finds the rows that doubts are about.
func (s *choice) useTraining(in *selection.Input, doubts map[string]*selection.Doubt) error {
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
func (s *choice) useMeasuring(used *selection.Used) error {
	files, err := s.w.RandomFiles()
	for _, file := range append(files, s.w.Path(DevFile)) {
		rel, relErr := filepath.Rel(s.w.Dir, file)
		err = errors.Join(err, relErr, s.w.EachRow(file, func(row *dataset.Row) error { used.Add(row, rel); return nil }))
	}
	return err
}

// useBatches leaves out the rows of earlier batches, those proposed without a person too. It gives the ids of those
// that were shown as possible mistakes: a doubt that was looked at does not come back.
func (s *choice) useBatches(used *selection.Used) (checked map[string]bool, err error) {
	checked = map[string]bool{}
	for _, name := range s.batches {
		if name == s.open {
			continue
		}
		for _, file := range []string{review.ItemsFile, review.AutoFile} {
			path := s.w.Path(BatchesDir, name, file)
			err := eachRow(context.Background(), path, nil, func(line *dataset.Row) error {
				it := &review.Item{ItemID: name}
				it.Row, _ = line.Get("row")
				row, err := it.Source(s.w.Taxonomy)
				if err != nil {
					return err
				}
				row.ID = review.ColumnText(line, "row_id")
				used.Add(row, "batch "+name)
				if review.ColumnText(line, "reason") == review.Mistake {
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

// doubts is the ranking by label quality, by row id; its rows are not there yet. It is empty where nobody has ranked
// them.
func (s *choice) doubts() (map[string]*selection.Doubt, error) {
	path := s.o.Mistakes
	if path == "" {
		path = s.w.Path(QualityFile)
	} else if _, err := os.Stat(path); err != nil {
		return nil, err
	}
	doubts := map[string]*selection.Doubt{}
	return doubts, eachRow(context.Background(), path, nil, func(line *dataset.Row) error {
		id, score := review.ColumnText(line, "row_id"), 0.0
		raw, ok := line.Get("score")
		if id == "" || !ok || json.Unmarshal(raw, &score) != nil {
			return errors.New(`want {"row_id": "…", "score": number}`)
		}
		doubts[id] = &selection.Doubt{Score: score}
		return nil
	})
}
