package refine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/runrecord"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/report"
	"github.com/erreval/erreval/training/review"
	"github.com/erreval/erreval/training/selection"
)

// SelectOptions say how a batch is chosen, and give Select what it cannot do itself; none of the functions may be nil.
type SelectOptions struct {
	Size     *int   // rows for a person; nil is what refine.yaml says
	Seed     int64  // the same one chooses the same rows
	Pool     string // file of rows with diagnoses; "" is the workspace's pool, which Tag tags
	Only     string // file of rows: of the pool, those with their ids alone are chosen from; "" is all
	Mistakes string // file that ranks rows of the training set, as QualityFile does; "" is that one, if it is there
	DryRun   bool   // freeze nothing
	Command  string // command line of the step, for the log

	// Tag tags the pool; a row that cannot be tagged is no error. ErrTaggedOtherwise is in the error where the file is
	// there and was made of other rows or otherwise.
	Tag func(ctx context.Context, job TagJob) error
	// Thresholds gives a model's id and its thresholds, by label. An error is taken for not known.
	Thresholds func(ctx context.Context, model string) (id string, thresholds map[string]float64, err error)
	Warn       func(format string, args ...any)
}

// TagJob is what the pool is tagged with, all as the options of erreval identify take it.
type TagJob struct {
	Pool, Out string // files of rows; a run that was interrupted goes on, and a finished one stands
	Model     string
	Verifier  string // "" is none
	Taxonomy  string
	Begun     bool // Out was there before
}

// ErrTaggedOtherwise says that a file of tagged rows was made of other rows, or otherwise.
var ErrTaggedOtherwise = errors.New("the file was made otherwise")

// WaitingError says that no batch was chosen, since the last one waits for its answers.
type WaitingError struct {
	Batch string
	Dir   string // of the workspace
}

func (e *WaitingError) Error() string {
	return fmt.Sprintf("%s waits for its answers, and no other batch was chosen; review it (erreval refine review), "+
		"merge it (erreval refine merge), or take it back with: erreval refine undo %s",
		e.Batch, words.Quote(e.Dir))
}

// choice is one run of Select or Explain.
type choice struct {
	w       *Workspace
	o       *SelectOptions
	options selection.Options
	seed    int64
	tagged  string // file
	current int    // iteration in use; -1 is the model to start from
	batches []string
	open    string // the batch that waits for its answers, or ""
	next    string // name of the next batch
}

// Select chooses the rows of the pool that are worth a person's time, and freezes them as a batch. The error is a
// *WaitingError, an *OptionError, an *UnfitError where rows were tagged with another taxonomy, or ErrBusy.
func (w *Workspace) Select(ctx context.Context, o SelectOptions) (*Selected, error) {
	s, err := w.look(&o)
	if err != nil {
		return nil, err
	}
	if s.open != "" {
		return nil, &WaitingError{Batch: s.open, Dir: w.Dir}
	}
	b, err := s.choose(ctx, "")
	if err != nil {
		return nil, err
	}
	chosen := &Selected{Summary: b.Summary(w.Taxonomy), w: w, asked: s.options.Size}
	switch {
	case len(b.Items) == 0:
		return nil, fmt.Errorf("nothing to choose from: %s", b.Counts.Text())
	case o.DryRun:
		return chosen, nil
	}
	chosen.Batch, err = s.freeze(b)
	return chosen, err
}

// Explain says why a row is chosen for the batch that is open, or for the next one, or what keeps it out. Nothing is
// frozen. The errors are those of Select, but for WaitingError.
func (w *Workspace) Explain(ctx context.Context, id string, o SelectOptions) (*Explained, error) {
	s, err := w.look(&o)
	if err != nil {
		return nil, err
	}
	b, err := s.choose(ctx, id)
	if err != nil {
		return nil, err
	}
	x := &Explained{Explanation: b.Watched, batch: s.open}
	if x.Missing {
		err = w.EachRow(w.Path(HeldFile), func(row *dataset.Row) error {
			if row.ID == x.ID {
				x.Verdict = "It cannot be chosen: it is in " + HeldFile + ", since its group has a development row."
			}
			return nil
		})
	}
	return x, err
}

// look reads the settings, and where the workspace stands.
func (w *Workspace) look(o *SelectOptions) (*choice, error) {
	s := &choice{w: w, o: o, seed: o.Seed}
	var err error
	if s.options, err = selection.ReadConfig(w.Config.Select, w.Path(ConfigFile)); err != nil {
		return nil, &OptionError{err}
	}
	s.options.Group = w.Config.Group
	if o.Size != nil {
		s.options.Size = *o.Size
	}
	if err := s.options.Validate(); err != nil {
		return nil, &OptionError{err}
	}
	if s.current, err = w.Current(); err != nil {
		return nil, err
	}
	if s.batches, s.open, s.next, err = w.batchNames(); err != nil || s.open == "" {
		return s, err
	}
	// An open batch is explained with the settings with which it was chosen.
	b, err := review.ReadBatch(w.Path(BatchesDir, s.open))
	if err != nil {
		return nil, err
	}
	s.seed, s.current = b.Seed, b.Iteration
	if len(b.Config) > 0 {
		err = json.Unmarshal(b.Config, &s.options)
	}
	return s, err
}

// choose tags the pool and chooses from it; watch is the id of a row to be explained, or "".
func (s *choice) choose(ctx context.Context, watch string) (*selection.Batch, error) {
	if err := s.tag(ctx); err != nil {
		return nil, err
	}
	in, err := s.input(ctx)
	if err != nil {
		return nil, err
	}
	in.Watch = watch
	return selection.Select(*in)
}

// tag sees to it that the pool is tagged, and goes on where an earlier run was interrupted.
func (s *choice) tag(ctx context.Context) error {
	if s.tagged = s.o.Pool; s.tagged != "" {
		_, err := os.Stat(s.tagged)
		return err
	}
	s.tagged = s.w.TaggedPath(s.current)
	job := TagJob{Pool: s.w.Path(PoolFile), Out: s.tagged, Model: s.w.ModelOf(s.current),
		Verifier: s.w.VerifierOf(s.current), Taxonomy: s.w.TaxonomySource(), Begun: fileThere(s.tagged)}
	if job.Model == "" {
		return optionErrorf("%s has no model yet that could look at the pool: train one on its labelled rows with erreval "+
			"refine train %s; without labelled rows, make it anew with --train, or name a model as start in refine.yaml",
			s.w.Dir, words.Quote(s.w.Dir))
	}
	if err := errors.Join(s.w.CheckWeights(s.current), os.MkdirAll(filepath.Dir(s.tagged), 0o777)); err != nil {
		return err
	}
	err := s.o.Tag(ctx, job)
	if !errors.Is(err, ErrTaggedOtherwise) { // pool, taxonomy and model are as they were
		return err
	}
	s.o.Warn("%s was made of another pool, or otherwise; the pool is tagged anew", s.tagged)
	begun := dataset.PartialPath(s.tagged)
	if err := removeFiles(s.tagged, runrecord.Path(s.tagged), begun, runrecord.Path(begun)); err != nil {
		return err
	}
	job.Begun = false
	return s.o.Tag(ctx, job)
}

// freeze writes the batch, which appears whole or not at all, and gives its name.
func (s *choice) freeze(chosen *selection.Batch) (name string, err error) {
	name = s.next
	items, auto, err := chosen.Lines(name)
	if err != nil {
		return "", err
	}
	config, err := json.Marshal(s.options)
	if err != nil {
		return "", err
	}
	b := &review.Batch{ID: name, Iteration: s.current, Seed: s.seed, Taxonomy: s.w.Taxonomy.ID(),
		TaxonomySHA256: s.w.Taxonomy.Hash(),
		Config:         config, Made: time.Now().UTC().Truncate(time.Second), Tool: runrecord.ReadBuild()}
	return name, s.w.doStep(StepBatch+name, s.o.Command, func(u *Unit) error {
		dir, err := u.Path(BatchesDir, name)
		if err = errors.Join(err, u.Write(auto, BatchesDir, name, review.AutoFile)); err != nil {
			return err
		}
		return review.Freeze(dir, b, items)
	})
}

// Selected is what was chosen. Its JSON keys are stable.
type Selected struct {
	Batch string `json:"batch"` // "" where nothing was frozen
	*selection.Summary

	HandedOut bool `json:"-"` // Text is short, and does not say how reviewers get it
	asked     int
	w         *Workspace
}

// Text writes what was chosen, from what, and what comes next.
func (s *Selected) Text(w io.Writer) error {
	var out report.Lines
	if s.Batch == "" {
		out.Add("dry run", "nothing was frozen")
	} else {
		out.Add("batch", "%s, frozen in %s", s.Batch, s.w.Path(BatchesDir, s.Batch))
	}
	out.Add("review", "%s", s.Review())
	if s.Items < s.asked {
		others := "there are no others"
		if n := s.Pool.Free - s.Items + s.Reasons[review.Control]; n > 0 {
			others = fmt.Sprintf("the bounds under select in %s, as uncertainty, leave out %s (--explain ID says why)",
				ConfigFile, words.Plural(n, "row", "rows"))
		}
		out.Add("fewer", "than the %d asked for: %s", s.asked, others)
	}
	if !s.HandedOut {
		out.Add("chosen from", "%s", s.Pool.Text())
		out.Add("labels found", "%s", labelWords(s.Labels, s.w.Taxonomy))
		out.Add("spread", "%s", s.Spread())
	}
	if s.Auto > 0 {
		out.Add("automatic", "%s proposed: %s", words.Plural(s.Auto, "row", "rows"), labelWords(s.AutoLabels, s.w.Taxonomy))
	}
	if n := s.Pool.Free - s.Pool.Verified; n > 0 && s.Pool.Verified > 0 {
		out.Add("verifier", "%s without one: uncertainty alone tells whether they are reliable, and they are not added "+
			"without a person",
			words.Plural(n, "row is", "rows are"))
	}
	if s.Batch != "" && !s.HandedOut {
		dir := words.Quote(s.w.Dir)
		out.Add("next", "in the browser: erreval refine review %s; or a workbook each: erreval refine export %[1]s "+
			"--reviewer NAME,NAME", dir)
	}
	return out.Text(w)
}

// Explained is why a row is chosen or not.
type Explained struct {
	*selection.Explanation

	batch string // that is open, or ""
}

// Text writes the explanation.
func (x *Explained) Text(w io.Writer) error {
	of := "the next batch, as it would be chosen now"
	if x.batch != "" {
		of = x.batch + ", with its settings"
	}
	fmt.Fprintf(w, "row %s and %s:\n", words.Printable(x.ID), of)
	for _, line := range x.Lines() {
		if _, err := fmt.Fprintln(w, words.Printable(line)); err != nil {
			return err
		}
	}
	return nil
}
