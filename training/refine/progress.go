package refine

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/regularfile"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/taxonomy"
	"github.com/erreval/erreval/training/review"
)

// Progress is one line of a trainer. What a line does not say is zero.
type Progress struct {
	Step    int      `json:"step"`
	Steps   int      `json:"steps"` // at most
	Epoch   int      `json:"epoch"`
	Loss    float64  `json:"loss"`
	Dev     *float64 `json:"dev_micro_f1"` // nil between the looks at the development rows
	Seconds float64  `json:"seconds"`      // that all steps so far took, before a stop too; 0 is not known
}

// Text is the progress of a task in a line.
func (p *Progress) Text(task string) string {
	text := fmt.Sprintf("%s: step %d", task, p.Step)
	if p.Steps > 0 {
		text += fmt.Sprintf(" of at most %d", p.Steps)
	}
	text += fmt.Sprintf(", epoch %d, loss %.4f", p.Epoch, p.Loss)
	if p.Dev != nil {
		text += fmt.Sprintf(", micro-F1 %.3f on the development rows", *p.Dev)
	}
	return text + p.leftWords()
}

// TimeText says what the whole of a task takes by the steps so far; "" is not known yet.
func (p *Progress) TimeText(task string) string {
	if p.Steps == 0 || p.Seconds == 0 {
		return ""
	}
	step := p.Seconds / float64(p.Step)
	return fmt.Sprintf("training the %s takes about %s: %d steps of %.3g s", task, duration(step*float64(p.Steps)),
		p.Steps, step)
}

// left is how many seconds all steps to come take, by those so far; 0 is not known.
func (p *Progress) left() float64 {
	return p.Seconds / float64(max(p.Step, 1)) * float64(max(p.Steps-p.Step, 0))
}

func (p *Progress) leftWords() string {
	if left := p.left(); left > 0 {
		return fmt.Sprintf(", about %s left", duration(left))
	}
	return ""
}

func duration(seconds float64) string {
	switch {
	case seconds < 90:
		return fmt.Sprintf("%.0f s", math.Ceil(seconds))
	case seconds < 90*60:
		return fmt.Sprintf("%.0f min", seconds/60)
	}
	return fmt.Sprintf("%.1f h", seconds/3600)
}

// Standing is how far the training of one model is: progress.json in its folder.
type Standing struct {
	Progress          // the last line of the trainer
	Best     *float64 `json:"best"` // highest figure on the development rows so far; nil before the first look
	// BestEpoch is the first epoch that had it; Done are those at whose end there was a look.
	BestEpoch int `json:"best_epoch"`
	Done      int `json:"epochs_done"`
}

// progressFile in the folder of a job, beside jobFile.
const progressFile = "progress.json"

// readStanding reads how far a job is; zero where it has not begun.
func readStanding(dir string) (s Standing) {
	// it is written whole, and nothing but what is said depends on it
	_ = review.ReadJSON(filepath.Join(dir, progressFile), regularfile.Max, &s)
	return s
}

// add takes a line of the trainer, and writes where that leaves the job.
func (s *Standing) add(p Progress, dir string) {
	s.Progress = p
	if p.Dev != nil {
		s.Done = p.Epoch
		if s.Best == nil || *p.Dev > *s.Best {
			s.Best, s.BestEpoch = p.Dev, p.Epoch
		}
	}
	_ = review.WriteJSON(filepath.Join(dir, progressFile), s) // a full disk ends the trainer, which says so
}

// Underway is a training that runs now, or that was stopped and can go on.
type Underway struct {
	Standing
	Task    string  `json:"task"` // TaskIdentifier or TaskVerifier
	Running bool    `json:"running"`
	Left    float64 `json:"seconds_left"` // of all steps, by those so far; 0 is not known
	dir     string  // of the run
}

// underway finds a training that has not ended; nil is none.
func (w *Workspace) underway() (*Underway, error) {
	runs, err := w.entries(workDir)
	if err != nil || len(runs) == 0 {
		return nil, err
	}
	u := &Underway{Task: TaskIdentifier, dir: w.Path(workDir, runs[0].Name())}
	if fileThere(filepath.Join(u.dir, TaskVerifier, jobFile)) {
		u.Task = TaskVerifier
	}
	u.Standing = readStanding(filepath.Join(u.dir, u.Task))
	u.Left = u.left()
	return u, nil
}

func (w *Workspace) lookAtTraining(s *Status) (err error) {
	if s.Underway, err = w.underway(); s.Underway != nil {
		s.Underway.Running = w.isAt(StepTrain)
	}
	return err
}

// isAt tells whether another process is at a step of a kind. To ask, it holds the lock for a moment.
func (w *Workspace) isAt(step string) bool {
	lock, err := w.lock(syscall.LOCK_NB)
	if err == nil {
		_ = lock.Close()
	}
	if !errors.Is(err, ErrBusy) {
		return false
	}
	data, err := regularfile.Read(w.Path(lockFile), regularfile.Max)
	return err == nil && string(data) == step
}

func (u *Underway) words() string {
	text := "runs: "
	if !u.Running {
		text = "was stopped: "
	}
	text += u.Task
	if u.Step == 0 {
		return text + ", before its first steps"
	}
	text += fmt.Sprintf(", epoch %d, step %d of at most %d", u.Epoch, u.Step, u.Steps)
	if u.Best != nil {
		text += fmt.Sprintf(", best so far micro-F1 %.3f after epoch %d", *u.Best, u.BestEpoch)
	}
	return text + u.leftWords()
}

// TrainPlan is what training would begin with.
type TrainPlan struct {
	Command []string `json:"command"` // the trainer's
	Encoder string   `json:"encoder"`
	Rows    int      `json:"rows"` // to train on
	Dev     int      `json:"dev"`  // to choose by
	// Steps are those of each task, at most: fewer where patience ends it.
	Steps       map[string]int `json:"steps"`
	StepSeconds float64        `json:"step_seconds"` // of the last training that was alike; 0 is not known
	// Few says of what there are too few rows for a training that is worth its time.
	Few    []string `json:"few,omitempty"`
	epochs int
}

// Plan is what training on so many rows would begin with, and how long that takes by what steps took before.
func (w *Workspace) Plan(command []string, encoder string, rows, dev int) *TrainPlan {
	c := w.Config.Train
	p := &TrainPlan{Command: command, Encoder: encoder, Rows: rows, Dev: dev, epochs: c.Epochs,
		Steps: map[string]int{TaskIdentifier: c.steps(rows)}}
	if c.Verifier {
		p.Steps[TaskVerifier] = c.steps(rows * (1 + c.Negatives))
	}
	all, _ := w.Iterations() // none in a workspace that cannot be read: then training says why
	for _, n := range all {
		dir := w.Path(IterationDir, IterationName(n))
		p.measure(c, filepath.Join(dir, TaskIdentifier+".json"), filepath.Join(dir, TaskIdentifier+".result.json"))
	}
	if u, err := w.underway(); err == nil && u != nil {
		p.measure(c, filepath.Join(u.dir, TaskIdentifier, jobFile), filepath.Join(u.dir, TaskIdentifier, progressFile))
	}
	return p
}

// Weigh says in the plan whether there are enough rows for it.
func (w *Workspace) Weigh(p *TrainPlan, s *Status) error {
	if 0 < p.Rows && p.Rows < fewRows {
		p.Few = append(p.Few, s.fewWords())
	}
	chooses := TrainingCounts{Kinds: map[string]int{}, Labels: map[string]int{}}
	add := func(row *dataset.Row) error { return chooses.add(w.Taxonomy, row) }
	err := w.EachRow(w.Path(DevFile), add)
	if err == nil && chooses.Rows == 0 {
		err = w.EachRandom(add)
	}
	least := w.Config.Promote.MinSupport
	enough := slices.ContainsFunc(w.Taxonomy.Types, func(y taxonomy.Type) bool {
		return !y.NoError && chooses.Labels[y.Name] >= least
	})
	if chooses.Rows > 0 && !enough {
		p.Few = append(p.Few, fmt.Sprintf("%s cannot choose thresholds: no error has %d of them, and all errors share one",
			words.Plural(chooses.Rows, "development row", "development rows"), least))
	}
	return err
}

// steps of a training on so many rows, at most.
func (c *TrainConfig) steps(rows int) int { return (rows + c.Batch - 1) / c.Batch * c.Epochs }

// measure takes over what a step took in another training, if that was alike.
func (p *TrainPlan) measure(c TrainConfig, settings, result string) {
	var job Job
	var took struct {
		Step    int     `json:"step"`
		Steps   int     `json:"steps"`
		Seconds float64 `json:"seconds"`
	}
	if review.ReadJSON(settings, regularfile.Max, &job) != nil || review.ReadJSON(result, regularfile.Max, &took) != nil {
		return
	}
	// a result has the steps that were made, progress those to come as well
	if made := max(took.Step, count(took.Step == 0)*took.Steps); made > 0 && job.Encoder == p.Encoder &&
		job.Batch == c.Batch && job.MaxTokens == c.MaxTokens && job.Window == c.Window && job.Device == c.Device {
		p.StepSeconds = took.Seconds / float64(made)
	}
}

func (p *TrainPlan) stepWords() string {
	text := fmt.Sprintf("at most %d for the identifier, %s of %d", p.Steps[TaskIdentifier],
		words.Plural(p.epochs, "epoch", "epochs"), p.Steps[TaskIdentifier]/p.epochs)
	if n := p.Steps[TaskVerifier]; n > 0 {
		text += fmt.Sprintf(", and %d for the verifier", n)
	}
	return text
}

// usualStep is how many seconds a step of 32 rows took two cores without a GPU, with an encoder inside the program: the
// default model's last 1,445 steps (models/embedded/default/CARD.md) took 97 minutes.
const usualStep = 4

func (p *TrainPlan) timeWords() string {
	steps := p.Steps[TaskIdentifier] + p.Steps[TaskVerifier]
	if p.StepSeconds == 0 {
		text := "no step was measured on this machine yet: training says it after the first ones"
		if p.Encoder == "default" || slices.Contains(taxonomy.Builtins(), p.Encoder) {
			text += fmt.Sprintf("; two cores without a GPU took some %d s a step elsewhere, %s in all", usualStep,
				duration(usualStep*float64(steps)))
		}
		return text
	}
	return fmt.Sprintf("about %s, at the %.2g s that a step took before", duration(p.StepSeconds*float64(steps)),
		p.StepSeconds)
}
