package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/stats"
	"github.com/erreval/erreval/internal/wholefile"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/training/refine"
	"github.com/erreval/erreval/training/review"
)

// qualityFile is the ranking that refine select takes doubtful rows from.
const qualityFile = "quality.jsonl"

var qualityMethods = map[string]stats.QualityMethod{
	"self_confidence":             stats.SelfConfidence,
	"normalized_margin":           stats.NormalizedMargin,
	"confidence_weighted_entropy": stats.ConfidenceWeightedEntropy,
}

func refineQualityCommand(e *env) *cli.Command {
	return &cli.Command{
		Name: "quality", Usage: "rank the training set by how doubtful its labels are", ArgsUsage: "DIR",
		Description: `Reviewed rows, against what the model found before it was trained on them:
   erreval refine quality work

All rows, those of the start too, against identifiers that are each trained without a fifth of the groups:
   erreval refine quality work --folds 5

All rows, against probabilities of your own, by a model that was not trained on the row (as in cross-validation):
   erreval refine quality work --tagged out_of_sample.jsonl

The ranking is written to DIR/quality.jsonl, the most doubtful row first; the next refine select puts some of
its first rows before a reviewer. --folds trains as refine train does (settings, Python or trainer of refine.yaml),
goes on where it was when it is stopped, and keeps what it found until rows or settings change. The figures are cleanlab's label quality scores for several labels a row.`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "tagged", Usage: "`FILE` of training rows with a diagnosis, tagged by a model that was not trained on them"},
			&cli.IntFlag{Name: "folds", Usage: fmt.Sprintf("train `N` identifiers (%d to %d), each without one of N parts of the training set, and rank all rows by them", refine.MinFolds, refine.MaxFolds)},
			&cli.StringFlag{Name: "method", Value: "self_confidence", Usage: "`METHOD`: self_confidence, normalized_margin or confidence_weighted_entropy"},
			&cli.IntFlag{Name: "show", Value: 10, Usage: "print the `N` most doubtful rows"},
			libraryFlag(), quietFlag()},
		Action: func(ctx *cli.Context) error { return runRefineQuality(ctx, e) },
	}
}

// rating gathers the training set's rows and what was found in them.
type rating struct {
	w      *refine.Workspace
	rows   []review.Rated
	chosen []int          // the iteration whose model chose the row; noModel where none did
	byText map[string]int // to rows
}

const noModel = -2 // -1 is the model to start from

func runRefineQuality(ctx *cli.Context, e *env) error {
	w, err := openWorkspace(ctx)
	if err != nil {
		return err
	}
	method, ok := qualityMethods[ctx.String("method")]
	if !ok {
		return exit.Usagef("--method %q: there are self_confidence, normalized_margin and confidence_weighted_entropy", ctx.String("method"))
	}
	r := &rating{w: w, byText: map[string]int{}}
	if err := r.readTraining(); err != nil {
		return err
	}
	if err := r.fillAs(ctx, e); err != nil {
		return err
	}
	rated := slices.DeleteFunc(slices.Clone(r.rows), func(x review.Rated) bool { return x.Probabilities == nil })
	if len(rated) == 0 {
		return fmt.Errorf("%s: of %s, none has probabilities by a model that was not trained on it; have such models trained with --folds 5, or tag the training set with such a model and name it with --tagged", w.Dir, words.Plural(len(r.rows), "training row", "training rows"))
	}
	doubts, err := review.RankQuality(w.Taxonomy, rated, method)
	if err != nil {
		return exit.With(exit.Unfit, err)
	}
	data, err := review.Lines(doubts)
	if err != nil {
		return err
	}
	if err := wholefile.Write(w.Path(qualityFile), data); err != nil {
		return err
	}
	if !ctx.Bool("quiet") {
		r.say(e, doubts)
	}
	return printDoubts(e, doubts[:min(max(0, ctx.Int("show")), len(doubts))])
}

// fillAs takes the probabilities from where the command line says.
func (r *rating) fillAs(ctx *cli.Context, e *env) error {
	file, n := ctx.String("tagged"), ctx.Int("folds")
	switch {
	case !ctx.IsSet("folds") && file == "":
		return r.fillFromIterations()
	case !ctx.IsSet("folds"):
		return r.fill(file, -1, true)
	case file != "":
		return exit.Usagef("--folds and --tagged: both say where all the probabilities come from; give one")
	case n < refine.MinFolds || n > refine.MaxFolds:
		return exit.Usagef("--folds %d: from %d to %d", n, refine.MinFolds, refine.MaxFolds)
	}
	o, err := trainOptions(ctx, e, r.w)
	if err != nil {
		return err
	}
	found, err := r.w.OutOfFold(ctx.Context, n, o)
	if err != nil {
		return explainTraining(ctx, e, r.w, err)
	}
	for text, d := range found {
		if i, ok := r.byText[text]; ok {
			r.take(i, d)
		}
	}
	return nil
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
			p, err := refine.ProvenanceOf(row)
			if _, again := first[row.TextHash()]; !again && p.Batch != "" {
				first[row.TextHash()] = p.Iteration
			} else if !again {
				first[row.TextHash()] = noModel
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return r.w.EachTraining(func(_ string, row *dataset.Row) error {
		labels, err := row.Labels(r.w.Taxonomy)
		r.byText[row.TextHash()] = len(r.rows)
		r.rows, r.chosen = append(r.rows, review.Rated{RowID: row.ID, Labels: labels}), append(r.chosen, first[row.TextHash()])
		return err
	})
}

// fillFromIterations takes each reviewed row's probabilities from the last pool that was tagged before the row was trained on.
func (r *rating) fillFromIterations() error {
	iterations, err := r.w.Iterations()
	if err != nil {
		return err
	}
	slices.Reverse(iterations)
	for _, n := range append(iterations, -1) {
		path := r.w.TaggedPath(n)
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := r.fill(path, n, false); err != nil {
			return err
		}
	}
	return nil
}

// fill takes the probabilities of a tagged file for the rows that have none yet and that the iteration's model, or with all
// any, was not trained on.
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

func (r *rating) say(e *env, doubts []review.Doubt) {
	issues := 0
	for _, d := range doubts {
		if d.Issue {
			issues++
		}
	}
	fmt.Fprintf(e.Err, "%s: %s ranked, %d probably labelled wrongly; %d without probabilities by a model that was not trained on them\n",
		r.w.Path(qualityFile), words.Plural(len(doubts), "row", "rows"), issues, len(r.rows)-len(doubts))
}

func printDoubts(e *env, doubts []review.Doubt) error {
	line, flush := namedLines(e.Out)
	for _, d := range doubts {
		var parts []string
		for _, s := range d.Suspects {
			words := "lacks"
			if s.Given {
				words = "has"
			}
			parts = append(parts, fmt.Sprintf("%s %s (%.2f)", words, s.Label, s.Probability))
		}
		line(d.RowID, "%.3f\t%s\t%s", d.Score, strings.Join(d.Labels, ", "), strings.Join(parts, ", "))
	}
	return flush()
}
