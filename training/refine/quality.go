package refine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/wholefile"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/report"
	"github.com/erreval/erreval/training/review"
)

// QualityFile is the ranking that Select takes doubtful rows from: a review.Doubt a line, the most doubtful first.
const QualityFile = "quality.jsonl"

// QualityOptions say by which probabilities the training set is ranked. Without Tagged and Folds it is those that a
// model found in reviewed rows before it was trained on them.
type QualityOptions struct {
	Method string // as review.ParseQualityMethod takes it
	Tagged string // file of rows with diagnoses by a model that was not trained on them, or ""
	Folds  *int   // train so many identifiers, MinFolds to MaxFolds, each without a part of the training set, or nil
	Train  TrainOptions
}

// Ranking is the training set in the order of how doubtful its labels are.
type Ranking struct {
	Doubts  []review.Doubt // the most doubtful row first
	Unknown int            // rows without probabilities by a model that was not trained on them; they are not ranked
	File    string         // QualityFile of the workspace
}

// rating gathers the training set's rows and what was found in them.
type rating struct {
	w      *Workspace
	rows   []review.Rated
	chosen []int          // the iteration whose model chose the row; noModel where none did
	byText map[string]int // to rows
}

const noModel = -2 // -1 is the model to start from

// RankQuality ranks the training set by how doubtful its labels are, and writes QualityFile. The error is an
// *OptionError, an *UnfitError where probabilities are of another taxonomy, or one of OutOfFold.
func (w *Workspace) RankQuality(ctx context.Context, o QualityOptions) (*Ranking, error) {
	method, err := review.ParseQualityMethod(o.Method)
	if err != nil {
		return nil, optionErrorf("--method %w", err)
	}
	r := &rating{w: w, byText: map[string]int{}}
	if err := r.readTraining(); err != nil {
		return nil, err
	}
	if err := r.fillAs(ctx, &o); err != nil {
		return nil, err
	}
	rated := slices.DeleteFunc(slices.Clone(r.rows), func(x review.Rated) bool { return x.Probabilities == nil })
	if len(rated) == 0 {
		return nil, fmt.Errorf("%s: of %s, none has probabilities by a model that was not trained on it; have such models "+
			"trained with --folds 5, or tag the training set with such a model and name it with --tagged",
			w.Dir, words.Plural(len(r.rows), "training row", "training rows"))
	}
	ranking := &Ranking{Unknown: len(r.rows) - len(rated), File: w.Path(QualityFile)}
	if ranking.Doubts, err = review.RankQuality(w.Taxonomy, rated, method); err != nil {
		return nil, &UnfitError{err}
	}
	data, err := review.Lines(ranking.Doubts)
	if err != nil {
		return nil, err
	}
	return ranking, wholefile.Write(ranking.File, data)
}

// fillAs takes the probabilities from where the options say.
func (r *rating) fillAs(ctx context.Context, o *QualityOptions) error {
	switch {
	case o.Folds == nil && o.Tagged == "":
		return r.fillFromIterations()
	case o.Folds == nil:
		return r.fill(o.Tagged, -1, true)
	case o.Tagged != "":
		return optionErrorf("--folds and --tagged: both say where all the probabilities come from; give one")
	case *o.Folds < MinFolds || *o.Folds > MaxFolds:
		return optionErrorf("--folds %d: from %d to %d", *o.Folds, MinFolds, MaxFolds)
	}
	found, err := r.w.OutOfFold(ctx, *o.Folds, o.Train)
	for text, d := range found {
		if i, ok := r.byText[text]; ok {
			r.take(i, d)
		}
	}
	return err
}

// readTraining reads the rows. The earliest file that has a text says which models cannot have been trained on it.
func (r *rating) readTraining() error {
	first := map[string]int{}
	files, err := r.w.TrainFiles()
	if err != nil {
		return err
	}
	for _, file := range files {
		err := r.w.EachRow(file, func(row *dataset.Row) error {
			p, err := ProvenanceOf(row)
			if _, again := first[row.TextHash()]; again {
				return err
			}
			if first[row.TextHash()] = noModel; p.Batch != "" {
				first[row.TextHash()] = p.Iteration
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	given, err := r.w.firstAnswers()
	return errors.Join(err, r.w.EachTraining(func(_ string, row *dataset.Row) error {
		labels, err := row.Labels(r.w.Taxonomy)
		text := row.TextHash()
		r.byText[text] = len(r.rows)
		r.rows = append(r.rows, review.Rated{RowID: row.ID, Labels: labels, Voices: voicesOf(given[text], labels)})
		r.chosen = append(r.chosen, first[text])
		return err
	}))
}

// firstAnswers are what people answered in the last batch that has a text, by text and person: labels as JSON. Of a row
// that the batch repeats the first answer counts, as in its agreement.
func (w *Workspace) firstAnswers() (map[string]map[string]string, error) {
	given := map[string]map[string]string{}
	numbers, err := w.Batches()
	for _, n := range numbers {
		dir := w.Path(BatchesDir, BatchName(n))
		merges, readErr := review.ReadMerges(dir)
		err = errors.Join(err, readErr)
		used := filepath.Join(dir, review.MergeName(review.UsedStem, len(merges), ".jsonl"))
		of := map[string]map[string]string{}
		err = errors.Join(err, eachRow(context.Background(), used, nil, func(line *dataset.Row) error {
			text, who := review.ColumnText(line, "text_sha256"), review.ColumnText(line, "reviewer")
			if review.ColumnText(line, "resolves") == "true" || review.ColumnText(line, "skipped") == "true" {
				return nil
			}
			if of[text] == nil {
				of[text] = map[string]string{}
			}
			of[text][who] = cmp.Or(of[text][who], review.ColumnText(line, "labels"))
			return nil
		}))
		maps.Copy(given, of)
	}
	return given, err
}

// voicesOf counts who answered a row, and compares that with its labels.
func voicesOf(given map[string]string, labels []string) review.Voices {
	v := review.Voices{People: len(given), Alike: len(given) > 0}
	for _, answer := range given {
		var said []string
		v.Alike = json.Unmarshal([]byte(answer), &said) == nil && slices.Equal(said, labels) && v.Alike
	}
	return v
}

// fillFromIterations takes each reviewed row's probabilities from the last pool that was tagged before the row was
// trained on.
func (r *rating) fillFromIterations() error {
	iterations, err := r.w.Iterations()
	if err != nil {
		return err
	}
	slices.Reverse(iterations)
	for _, n := range append(iterations, -1) {
		if err := r.fill(r.w.TaggedPath(n), n, false); err != nil {
			return err
		}
	}
	return nil
}

// fill takes the probabilities of a tagged file for the rows that have none yet and that the iteration's model, or with
// all any, was not trained on.
func (r *rating) fill(path string, iteration int, all bool) error {
	return r.w.EachRow(path, func(row *dataset.Row) error {
		i, ok := r.byText[row.TextHash()]
		if !ok || r.rows[i].Probabilities != nil || !all && r.chosen[i] < iteration {
			return nil
		}
		d, err := row.Diagnosis()
		r.take(i, d)
		return err
	})
}

// take gives a row its probabilities, if there are any.
func (r *rating) take(i int, d *dataset.Diagnosis) {
	if d != nil && d.Status == "" && len(d.Probabilities) > 0 {
		r.rows[i].Probabilities, r.rows[i].NotJudged = d.Probabilities, d.NotJudged
	}
}

// Summary says how many rows were ranked, with the labels of how many the model disagrees, and how many of these
// several people gave alike.
func (r *Ranking) Summary() string {
	issues, alike := 0, 0
	for _, d := range r.Doubts {
		issues += count(d.Issue)
		alike += count(d.Issue && d.Alike && d.People > 1)
	}
	text := fmt.Sprintf("%s: %s ranked; the model disagrees most with the labels of %d: it or they are wrong",
		r.File, words.Plural(len(r.Doubts), "row", "rows"), issues)
	if alike > 0 {
		text += fmt.Sprintf(" (%s labelled alike by several people: look for the model's fault first)",
			words.Plural(alike, "of these was", "of these were"))
	}
	return fmt.Sprintf("%s; %d without probabilities by a model that was not trained on them", text, r.Unknown)
}

// Text writes the first n rows, each with its score, its labels, and what speaks against them.
func (r *Ranking) Text(w io.Writer, n int) error {
	var out report.Lines
	for _, d := range r.Doubts[:min(max(0, n), len(r.Doubts))] {
		out.Add(d.RowID, "%.3f\t%s\t%s%s", d.Score, strings.Join(d.Labels, ", "), d.Summary(),
			words.Prefixed("; ", d.Voices.Text()))
	}
	return out.Text(w)
}
