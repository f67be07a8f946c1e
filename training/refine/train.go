package refine

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/runrecord"
	"github.com/erreval/erreval/internal/wholefile"
	"github.com/erreval/erreval/taxonomy"
	"github.com/erreval/erreval/training/review"
)

// workDir holds what a training needs to go on; it is gone when the iteration stands.
const workDir = ".work"

// TrainOptions give Train what it cannot do itself: it can neither run a model nor make one. No function may be nil.
type TrainOptions struct {
	Trainer []string // command; the path of a Job is appended
	Encoder string   // for the Job
	Line    string   // command line of the step, for the log
	// Again trains even if nothing has changed since the last iteration, and gives up a stopped training of other rows or
	// settings.
	Again  bool
	Finish bool // end a stopped training with its best epoch so far

	// Import makes a model directory of a checkpoint.
	Import func(ctx context.Context, checkpoint, to string, task *taxonomy.Taxonomy, name string) error
	// SetThresholds writes thresholds, by label, into a model directory.
	SetThresholds func(dir string, thresholds map[string]float64) error
	// Identify diagnoses rows with a model, as --model names it, and gives the model's id.
	Identify func(ctx context.Context, model string, task *taxonomy.Taxonomy,
		rows []*dataset.Row) (found []*dataset.Diagnosis, id string, err error)
	Say      func(format string, args ...any)
	Progress func(task string, p Progress)
}

// ErrDone says that the last iteration was trained on these rows with these settings.
var ErrDone = errors.New("nothing has changed since it was trained; to train again all the same, give --again")

// ErrNoDev says that there are no rows to measure on.
var ErrNoDev = errors.New("no development rows and no reviewed rows of a random slice: without them nothing can be " +
	"measured; make the workspace with --train or --dev, or review a batch first")

// ErrNoRows says that there is nothing to train on.
var ErrNoRows = errors.New("the training set has no rows; review a batch and merge it, or make the workspace with " +
	"--train")

// training is one run of Train.
type training struct {
	w         *Workspace
	o         *TrainOptions
	u         *Unit
	iteration int
	before    int    // iteration in use
	work      string // folder of this run
	log       *os.File
	train     labelled
	left      []*dataset.Row // of the training set, not to be trained on
	dev       labelled
	random    labelled
	groups    map[string]bool // of the training rows
	metrics   Metrics
	record    *runrecord.Record
}

// Train makes the next iteration: identifier and verifier are trained, imported, measured against the model in use, and
// promoted if they are better. Stopped at any point, it goes on where it was when it is called again.
func (w *Workspace) Train(ctx context.Context, o TrainOptions) (m *Metrics, err error) {
	t := &training{w: w, o: &o, groups: map[string]bool{}, record: runrecord.New("refine train", w.Config.Train)}
	if t.u, err = w.Begin(StepTrain); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, t.u.Discard()) }()
	for _, part := range []func() error{t.number, t.collect, t.prepare} {
		if err := part(); err != nil {
			return nil, err
		}
	}
	err = t.run(ctx)
	if err = errors.Join(err, t.log.Close()); err != nil {
		return nil, err
	}
	if err := t.u.Commit(o.Line); err != nil {
		return nil, err
	}
	return &t.metrics, os.RemoveAll(w.Path(workDir))
}

// number finds the iteration's number, and the one in use. No other process can change them now.
func (t *training) number() error {
	all, err := t.w.Iterations()
	if err != nil {
		return err
	}
	if len(all) > 0 {
		t.iteration = all[len(all)-1] + 1
	}
	t.u.step = StepTrain + IterationName(t.iteration)
	if t.before, err = t.w.Current(); err != nil {
		return err
	}
	return t.w.CheckWeights(t.before)
}

// collect reads the rows. None of the training set shares its group with a development row.
func (t *training) collect() error {
	w, held := t.w, map[string]bool{}
	err := w.EachRow(w.Path(DevFile), func(row *dataset.Row) error {
		held[w.GroupOf(row)] = true
		return t.dev.add(w.Taxonomy, row)
	})
	err = errors.Join(err, w.EachRandom(func(row *dataset.Row) error { return t.random.add(w.Taxonomy, row) }))
	never := map[string]bool{}
	for _, row := range t.random.rows {
		never[row.TextHash()] = true
	}
	t.metrics.Training = TrainingCounts{Kinds: map[string]int{}, Labels: map[string]int{}}
	err = errors.Join(err, w.EachTraining(func(_ string, row *dataset.Row) error {
		if held[w.GroupOf(row)] || never[row.TextHash()] {
			t.metrics.Training.Left++
			t.left = append(t.left, row)
			return nil
		}
		t.groups[w.GroupOf(row)] = true
		return errors.Join(t.metrics.Training.add(w.Taxonomy, row), t.train.add(w.Taxonomy, row))
	}))
	switch {
	case err != nil:
		return err
	case len(t.train.rows) == 0:
		return ErrNoRows
	case len(t.dev.rows)+len(t.random.rows) == 0:
		return ErrNoDev
	}
	return nil
}

// choosing are the rows that choose thresholds and the best epoch.
func (t *training) choosing() *labelled {
	if len(t.dev.rows) > 0 {
		return &t.dev
	}
	return &t.random
}

// prepare makes the folder of this run, whose name says what is trained on and how, or finds it.
func (t *training) prepare() error {
	m := &t.metrics
	train, dev := rowsText(t.train.rows), rowsText(t.choosing().rows)
	m.Iteration, m.Taxonomy, m.dir = t.iteration, t.w.Taxonomy.ID(), t.w.Path(IterationDir, IterationName(t.iteration))
	var err error
	m.Inputs, err = hashOf(t.w.Taxonomy.Hash(), t.w.Config.Train, t.o.Trainer, t.o.Encoder, train, dev,
		t.init(TaskIdentifier))
	if err != nil {
		return err
	}
	t.work = t.w.Path(workDir, m.Inputs[:16])
	made, err := t.madeOf(train, dev)
	if err != nil {
		return err
	}
	if err := cmp.Or(t.checkLost(made), t.checkFinish()); err != nil {
		return err
	}
	if err := t.w.clear(workDir, t.work); err != nil {
		return err
	}
	if done, err := t.done(); err != nil {
		return err
	} else if done {
		return errors.Join(os.RemoveAll(t.w.Path(workDir)), fmt.Errorf("iteration %s: %w",
			IterationName(t.iteration-1), ErrDone))
	}
	if err := t.furnish(train, dev); err != nil {
		return err
	}
	return review.WriteJSON(filepath.Join(t.work, madeOfFile), made)
}

// furnish puts into the folder of this run what a trainer reads, and opens its log.
func (t *training) furnish(train, dev []byte) error {
	if err := os.MkdirAll(t.work, 0o777); err != nil {
		return err
	}
	err := errors.Join(wholefile.Write(t.rowsFile("train"), train), wholefile.Write(t.rowsFile("dev"), dev))
	if err != nil {
		return err
	}
	t.log, err = wholefile.OpenUnlinked(filepath.Join(t.work, "train.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	return err
}

func (t *training) rowsFile(name string) string { return filepath.Join(t.work, name+".jsonl") }

// clear removes what runs with other rows or settings left in a folder, beside that of this one.
func (w *Workspace) clear(folder, keep string) error {
	others, err := w.entries(folder)
	for _, other := range others {
		if other.Name() != filepath.Base(keep) {
			err = errors.Join(err, os.RemoveAll(w.Path(folder, other.Name())))
		}
	}
	return err
}

// done tells whether the last iteration was trained on these rows with these settings.
func (t *training) done() (bool, error) {
	if t.iteration == 0 || t.o.Again {
		return false, nil
	}
	last, err := t.w.Metrics(t.iteration - 1)
	return err == nil && last.Inputs == t.metrics.Inputs, err
}

func hashOf(parts ...any) (string, error) {
	h := sha256.New()
	for _, part := range parts {
		data, err := json.Marshal(part)
		if err != nil {
			return "", err
		}
		h.Write(append(data, '\n'))
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// rowsText is a JSON Lines file.
func rowsText(rows []*dataset.Row) (text []byte) {
	for _, row := range rows {
		text = append(append(text, row.JSON()...), '\n')
	}
	return text
}

// init is the checkpoint to begin with, or "".
func (t *training) init(task string) string {
	dir := t.w.Path(IterationDir, IterationName(t.before), checkpointDir, task)
	if t.w.Config.Train.From != FromLast || t.before < 0 || !fileThere(dir) {
		return ""
	}
	return dir
}

// checkpointDir of an iteration holds what a later one goes on from; it is kept only where the settings ask for that.
const checkpointDir = "checkpoint"

func (t *training) run(ctx context.Context) error {
	t.o.Say("iteration %s: %d rows to train on, %d to choose by; %d left out, since a development row shares their group",
		IterationName(t.iteration), len(t.train.rows), len(t.choosing().rows), t.metrics.Training.Left)
	t.o.Say("%s", t.w.Plan(t.o.Trainer, t.o.Encoder, len(t.train.rows), len(t.choosing().rows)).timeWords())
	model, err := t.make(ctx, TaskIdentifier, "model", t.w.Taxonomy, t.rowsFile("train"), t.rowsFile("dev"))
	if err != nil {
		return err
	}
	found, err := t.threshold(ctx, model)
	if err != nil {
		return err
	}
	if t.wantsVerifier() {
		if err := t.verifier(ctx, found); err != nil {
			return err
		}
	}
	if err := t.measure(ctx, model, found); err != nil {
		return err
	}
	t.decide()
	return t.write()
}

// make trains a model of the iteration; it gives the folder.
func (t *training) make(ctx context.Context, task, folder string, of *taxonomy.Taxonomy, train,
	dev string) (string, error) {
	job, err := t.job(task, t.init(task), train, dev)
	if err != nil {
		return "", err
	}
	job.Finish = t.o.Finish
	to, err := t.path(folder)
	if err != nil {
		return "", err
	}
	if err := t.build(ctx, job, to, of, IterationName(t.iteration)); err != nil {
		return "", err
	}
	return to, t.keep(job, task)
}

// job is what the trainer is to do with two files of rows; init is a checkpoint to begin with, or "".
func (t *training) job(task, init, train, dev string) (*Job, error) {
	out, err := filepath.Abs(filepath.Join(t.work, task, "out"))
	train, trainErr := filepath.Abs(train)
	dev, devErr := filepath.Abs(dev)
	c := t.w.Config.Train
	return &Job{Task: task, Encoder: t.o.Encoder, Init: init, Fields: t.w.Taxonomy.FieldNames(),
		Labels: t.w.Taxonomy.Labels(), NoError: t.w.Taxonomy.NoError(), Needs: needs(t.w.Taxonomy),
		Train: train, Dev: dev, Out: out, Device: c.Device, Epochs: c.Epochs, Batch: c.Batch, Rate: c.Rate,
		Patience: c.Patience, Seed: c.Seed, MaxTokens: c.MaxTokens, Window: c.Window}, errors.Join(err, trainErr, devErr)
}

// needs are the optional fields that labels need, by label.
func needs(t *taxonomy.Taxonomy) map[string][]string {
	out := map[string][]string{}
	for _, y := range t.Types {
		if len(y.Needs) > 0 {
			out[y.Name] = y.Needs
		}
	}
	return out
}

// build trains a model and imports it into the folder to; its name ends with turn.
func (t *training) build(ctx context.Context, job *Job, to string, of *taxonomy.Taxonomy, turn string) error {
	t.o.Say("training the %s", job.Task)
	dir := filepath.Join(t.work, job.Task)
	if err := job.run(ctx, dir, t.o.Trainer, t.log, func(p Progress) { t.o.Progress(job.Task, p) }); err != nil {
		return fmt.Errorf("%w\nall that the trainer wrote is in %s", err, t.log.Name())
	}
	if err := t.o.Import(ctx, job.Out, to, of, of.Name+"-"+turn); err != nil {
		return errors.Join(fmt.Errorf("importing the %s: %w", job.Task, err), job.unfinished(ctx, dir))
	}
	return nil
}

// keep puts what stays of a training into the iteration.
func (t *training) keep(job *Job, task string) error {
	err := errors.Join(t.copy(filepath.Join(filepath.Dir(job.Out), jobFile), task+".json"),
		t.copy(filepath.Join(job.Out, "result.json"), task+".result.json"))
	if err != nil || t.w.Config.Train.From != FromLast {
		return err
	}
	to, err := t.path(checkpointDir, task)
	if err != nil {
		return err
	}
	return os.CopyFS(to, os.DirFS(job.Out))
}

func (t *training) path(elem ...string) (string, error) {
	return t.u.Path(append([]string{IterationDir, IterationName(t.iteration)}, elem...)...)
}
