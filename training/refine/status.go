package refine

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/regularfile"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/report"
	"github.com/erreval/erreval/taxonomy"
	"github.com/erreval/erreval/training/review"
	"github.com/erreval/erreval/training/review/exchange"
)

// Status says where a workspace stands. Its JSON keys are stable.
type Status struct {
	Dir        string          `json:"dir"`
	Taxonomy   string          `json:"taxonomy"` // name@version
	Group      string          `json:"group"`    // "" is each row by itself
	Pool       int             `json:"pool"`     // rows
	Dev        int             `json:"dev"`
	Held       int             `json:"held"`
	Random     int             `json:"random"` // reviewed rows of random slices
	Training   TrainingCounts  `json:"training"`
	Batches    []BatchStatus   `json:"batches"`
	Iterations []IterationLine `json:"iterations"`
	Current    int             `json:"current"` // iteration in use; -1 is the model to start from
	Model      string          `json:"model"`   // as in --model; "" is none
	Steps      int             `json:"steps"`   // in the log
	Last       Entry           `json:"last"`
	Underway   *Underway       `json:"underway,omitempty"` // a training that has not ended
	Next       string          `json:"next"`               // the command to type
	Why        string          `json:"why"`                // a sentence
	Lacks      string          `json:"lacks,omitempty"`    // what training lacks on this machine; Workspace.CheckTrainer says it

	unseen string // the last batch merged after the last training, or ""
	of     *taxonomy.Taxonomy
}

// BatchStatus is one batch.
type BatchStatus struct {
	ID        string         `json:"id"`
	Iteration int            `json:"iteration"` // whose model chose it; -1 is the model to start from
	Items     int            `json:"items"`
	Answers   map[string]int `json:"answers"` // reviewer to items answered, skipped ones not counted
	Skipped   map[string]int `json:"skipped"` // reviewer to items skipped
	Merged    bool           `json:"merged"`
	Missing   int            `json:"missing"`            // items that nobody had answered at the last merge
	Conflicts int            `json:"conflicts"`          // items on which reviewers differed at the last merge, undecided since
	Settled   int            `json:"settled"`            // of these, decided on the review page and not merged yet
	Dropped   int            `json:"dropped"`            // items left out for good at the last merge
	Unmerged  map[string]int `json:"unmerged,omitempty"` // of a merged batch: reviewer to answers on the page since
	// of the last merge; nil without an item that two answered
	Agreement *review.Agreement `json:"agreement,omitempty"`
	// how often the identifier was right, of the rows chosen and of the random slice; nil before a merge, and in Status
	Chosen *review.Hits `json:"chosen,omitempty"`
	Random *review.Hits `json:"random,omitempty"`
	Exported
	Deciding
}

// Deciding is where somebody settles what reviewers differ on; zero where they do not.
type Deciding struct {
	Page string `json:"conflicts_page,omitempty"` // the command that opens the page of these rows
	File string `json:"conflicts_file,omitempty"` // their workbook; "" where a text is too long for one
}

// deciding is where what the nth merge of a batch left in conflict is settled.
func (w *Workspace) deciding(batch string, number int) Deciding {
	d := Deciding{Page: fmt.Sprintf("erreval refine review %s %s --conflicts", words.Quote(w.Dir), batch)}
	book := filepath.Join(review.ConflictsDir(w.Path(BatchesDir, batch), number), exchange.WorkbookFile)
	if fileThere(book) {
		d.File = book
	}
	return d
}

// Places names the page and the workbook.
func (d Deciding) Places() string {
	if d.File == "" {
		return "with: " + d.Page
	}
	return fmt.Sprintf("with: %s (or fill in %s, and merge it as NAME=FILE)", d.Page, words.Quote(d.File))
}

// IterationLine is one iteration in short.
type IterationLine struct {
	Iteration int                      `json:"iteration"`
	Promoted  bool                     `json:"promoted"`
	Figures   map[string]report.Number `json:"figures"`            // on the development rows
	Verifier  *report.Number           `json:"verifier,omitempty"` // F1
	Why       string                   `json:"why"`
}

// Status looks at everything. What a person changed by hand so that it cannot be read is an error that names the place.
func (w *Workspace) Status() (*Status, error) {
	s := &Status{Dir: w.Dir, Taxonomy: w.Taxonomy.ID(), of: w.Taxonomy, Group: w.Config.Group,
		Batches: []BatchStatus{}, Iterations: []IterationLine{}}
	var err error
	for _, part := range []func(*Status) error{w.countRows, w.countTraining, w.lookAtBatches,
		w.lookAtIterations, w.lookAtLog, w.lookAtTraining} {
		err = errors.Join(err, part(s))
	}
	if err != nil {
		return nil, err
	}
	w.next(s)
	s.awaitAbsent()
	return s, nil
}

// awaitAbsent says what is to come of merged batches: nobody waits for it otherwise.
func (s *Status) awaitAbsent() {
	for _, b := range s.Batches {
		if b.Merged && b.Missing > 0 {
			s.Why = fmt.Sprintf("nobody answered %s of %s: erreval refine review %s %[2]s; meanwhile %[4]s",
				words.Plural(b.Missing, "item", "items"), b.ID, words.Quote(s.Dir), s.Why)
		}
		if merge := fmt.Sprintf("erreval refine merge %s --batch %s", words.Quote(s.Dir), b.ID); len(b.Unmerged) > 0 &&
			s.Next != merge {
			s.Why = fmt.Sprintf("%s: %s: %s; meanwhile %s", b.ID, b.unmergedWords(), merge, s.Why)
		} else if b.Merged && len(b.Absent) > 0 && len(b.Unmerged) == 0 {
			s.Why = fmt.Sprintf("the answers of %s to %s are merged when they come (--batch %[2]s, if a later batch waits); "+
				"meanwhile %s", strings.Join(b.Absent, " and "), b.ID, s.Why)
		}
	}
}

func (w *Workspace) countRows(s *Status) (err error) {
	for _, c := range []struct {
		file string
		n    *int
	}{{PoolFile, &s.Pool}, {DevFile, &s.Dev}, {HeldFile, &s.Held}} {
		n, lineErr := lines(w.Path(c.file))
		*c.n, err = n, errors.Join(err, lineErr)
	}
	return errors.Join(err, w.EachRandom(func(*dataset.Row) error { s.Random++; return nil }))
}

// lines counts the lines of a file of erreval's own, each of which is a row.
func lines(path string) (int, error) {
	f, err := regularfile.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer f.Close()
	var n lineCount
	_, err = io.Copy(&n, f)
	return int(n), err
}

// lineCount counts the lines of what is written to it.
type lineCount int

func (n *lineCount) Write(text []byte) (int, error) {
	*n += lineCount(bytes.Count(text, []byte("\n")))
	return len(text), nil
}

func (w *Workspace) countTraining(s *Status) error {
	s.Training = TrainingCounts{Kinds: map[string]int{}, Labels: map[string]int{}}
	return w.EachTraining(func(_ string, row *dataset.Row) error { return s.Training.add(w.Taxonomy, row) })
}

func (c *TrainingCounts) add(t *taxonomy.Taxonomy, row *dataset.Row) error {
	labels, err := row.Labels(t)
	if err != nil {
		return err
	}
	p, err := ProvenanceOf(row)
	if err != nil {
		return err
	}
	c.Rows++
	c.Kinds[p.Kind]++
	for _, label := range labels {
		c.Labels[label]++
	}
	return nil
}

func (w *Workspace) lookAtBatches(s *Status) error {
	numbers, err := w.Batches()
	for _, n := range numbers {
		b, batchErr := w.batchStatus(BatchName(n))
		err = errors.Join(err, batchErr)
		s.Batches = append(s.Batches, b)
	}
	return err
}

func (w *Workspace) batchStatus(id string) (BatchStatus, error) {
	b, dir := BatchStatus{ID: id, Answers: map[string]int{}, Skipped: map[string]int{}}, w.Path(BatchesDir, id)
	frozen, err := review.ReadBatch(dir)
	if err != nil {
		return b, err
	}
	b.Iteration = frozen.Iteration
	if b.Items, err = lines(filepath.Join(dir, review.ItemsFile)); err != nil {
		return b, err
	}
	merges, err := review.ReadMerges(dir)
	err = errors.Join(err, w.countAnswers(&b))
	if n := len(merges); n > 0 {
		last := merges[n-1]
		conflicts, openErr := w.undecided(id, last.Conflicts)
		err = errors.Join(err, openErr)
		b.Merged, b.Missing, b.Conflicts = true, len(last.Missing), len(conflicts)
		b.Dropped, b.Agreement = len(last.Dropped), last.Agreement
		if b.Conflicts > 0 {
			b.Deciding = w.deciding(id, n)
		}
		decided := map[string]bool{}
		folder := filepath.Join(BatchesDir, id, filepath.Base(review.ConflictsDir(dir, n)), review.AnswersDir)
		err = errors.Join(err, w.eachAnswer(folder, func(_ string, a savedAnswer) { decided[a.Item] = true }))
		for _, c := range conflicts {
			b.Settled += count(decided[c.ItemID])
		}
		b.Unmerged = w.unmerged(id)
		for _, r := range last.Reviewers { // answers that came as files too
			b.Answers[r.Name], b.Skipped[r.Name] = max(b.Answers[r.Name], r.Answered), max(b.Skipped[r.Name], r.Skipped)
		}
	}
	exported, exportErr := w.exported(id, func(name string) bool {
		done := 0
		for _, of := range []map[string]int{b.Answers, b.Skipped} {
			for who, n := range of {
				if strings.EqualFold(who, name) { // on the page a name is typed anew
					done += n
				}
			}
		}
		return done >= b.Items
	})
	b.Exported = exported
	return b, errors.Join(err, exportErr)
}

func (w *Workspace) lookAtIterations(s *Status) error {
	all, current, err := w.allMetrics()
	for _, m := range all {
		line := IterationLine{Iteration: m.Iteration, Promoted: m.Promoted, Why: m.Why, Figures: map[string]report.Number{}}
		if measured := m.Measured(); measured != nil {
			for key, f := range measured.Figures {
				line.Figures[key] = f.Value
			}
		}
		if m.Verifier != nil {
			line.Verifier = &m.Verifier.F1
		}
		s.Iterations = append(s.Iterations, line)
	}
	s.Current, s.Model = current, w.ModelOf(current)
	return err
}

// Measured are the figures by which an iteration is judged: on the development rows, or without such on those of random
// slices.
func (m *Metrics) Measured() *Evaluation {
	if m.Dev != nil {
		return m.Dev
	}
	return m.Random
}

func (w *Workspace) lookAtLog(s *Status) error {
	log, err := w.Log()
	s.Steps = len(log)
	for _, entry := range log {
		s.Last = entry
		s.Last.Files, s.Last.Checksum = nil, "" // what a step made is enough
		switch {
		case strings.HasPrefix(entry.Step, StepTrain):
			s.unseen = ""
		case strings.HasPrefix(entry.Step, StepMerge):
			s.unseen = strings.TrimPrefix(entry.Step, StepMerge)
		}
	}
	return err
}

// next finds the command that goes on from here.
func (w *Workspace) next(s *Status) {
	say := func(command, why string, args ...any) {
		s.Next, s.Why = "erreval refine "+command+" "+words.Quote(w.Dir), fmt.Sprintf(why, args...)
	}
	if s.Underway != nil && s.Underway.Running {
		s.Next, s.Why = "", "wait for the training; Ctrl-C stops it where it runs, and it can go on later"
		return
	}
	if at := slices.IndexFunc(s.Batches, func(b BatchStatus) bool { return !b.Merged }); at >= 0 {
		w.waiting(s, s.Batches[at], say)
		return
	}
	if at := slices.IndexFunc(s.Batches, func(b BatchStatus) bool { return len(b.Unmerged) > 0 }); at >= 0 {
		b := &s.Batches[at]
		say("merge", "%s: %s", b.ID, b.unmergedWords())
		s.Next += " --batch " + b.ID
		return
	}
	if at := slices.IndexFunc(s.Batches, func(b BatchStatus) bool { return b.Conflicts > 0 }); at >= 0 {
		b := &s.Batches[at]
		if b.Settled == b.Conflicts {
			say("merge", "all conflicts of %s are decided, and not merged yet", b.ID)
			return
		}
		s.Next, s.Why = b.Page, fmt.Sprintf("reviewers differ on %s of %s: decide %s",
			words.Plural(b.Conflicts, "item", "items"), b.ID, b.Places())
		return
	}
	trained, measured := len(s.Iterations), s.Dev+s.Random > 0
	missing := w.CheckWeights(s.Current)
	switch {
	case missing != nil:
		s.Next, s.Why = "", missing.Error()
	case s.Underway != nil:
		say("train", "the training that was stopped goes on; with --finish it ends with its best epoch so far")
	case !measured && s.Model != "" && len(s.Batches) > 0:
		say("select", "nothing measures a model yet, and no batch had a random slice: give it one first, select: shares: "+
			"random: 0.1 in refine.yaml")
	case !measured && s.Model != "":
		say("select", "nothing measures a model yet; the random slice of a batch will")
	case !measured && s.Training.Rows > 0:
		s.Next, s.Why = "", "there are no development rows to measure a model on: make the workspace anew with more rows "+
			"in --train, or with --dev"
	case s.Training.Rows > 0 && s.Training.Rows < fewRows && (trained == 0 || s.unseen != ""):
		s.tooFew(say)
	case s.unseen != "":
		say("train", "the answers of %s are in the training set, and no model has seen them", s.unseen)
	case trained == 0 && s.Training.Rows > 0:
		say("train", "no model was trained yet, and there are %d labelled rows", s.Training.Rows)
	case trained == 0 && s.Model == "":
		s.Next, s.Why = "", "there is neither a model to start from nor a labelled row: make the workspace anew with "+
			"--train, or name a model as start in refine.yaml"
	default:
		say("select", "the rows of the pool that teach most are worth a look")
	}
}

// fewRows is the number of training rows below which a training teaches next to nothing: see docs/own-task.md.
const fewRows = 200

// tooFew says how a training set that is too small grows.
func (s *Status) tooFew(say func(command, why string, args ...any)) {
	why := s.fewWords()
	say("select", "%s: label the rows of the pool that teach most", why)
	if s.Model == "" { // that could choose rows
		s.Next, s.Why = "", why+": label more of them, plant errors with erreval simulate, and make the workspace anew"
	}
}

func (s *Status) fewWords() string {
	return fmt.Sprintf("%s a model next to nothing, some %d are a beginning", words.Plural(s.Training.Rows,
		"labelled row teaches", "labelled rows teach"), fewRows)
}

// CheckRows says what training lacks of rows: ErrNoRows, ErrNoDev, or both of them joined.
func (s *Status) CheckRows() error {
	var noRows, noDev error
	if s.Training.Rows == 0 {
		noRows = ErrNoRows
	}
	if s.Dev+s.Random == 0 {
		noDev = ErrNoDev
	}
	return errors.Join(noRows, noDev)
}

// waiting says what goes on with a batch that is not merged.
func (w *Workspace) waiting(s *Status, b BatchStatus, say func(command, why string, args ...any)) {
	done := 0
	for who, n := range b.Answers {
		done = max(done, n+b.Skipped[who])
	}
	if done >= b.Items && done > 0 {
		say("merge", "all %d items of %s are answered%s", b.Items, b.ID, words.Prefixed("; ", b.Exported.words()))
		return
	}
	say("review", "%s waits for a reviewer: %d of %d items are answered", b.ID, done, b.Items)
	if files := w.answerFiles(b.ID, &b.Exported); len(files) > 0 {
		browser := s.Next
		say("merge", "%s; merge the exported files when they are filled in, or label in the browser: %s", s.Why, browser)
		s.Next += " " + words.QuoteAll(files)
	}
}
