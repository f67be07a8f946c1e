// Package refine is the workspace in which an identifier is made better. It is a folder of plain files that holds the
// pool of unlabelled rows, the training set with its provenance, frozen development rows, review batches and trained
// iterations. Each step appears whole or not at all, is written down in log.jsonl, and can be taken back.
//
// Every step gives what it did as data, and can be called without the command line. What needs a model, such as tagging
// the pool, is handed in as a function.
package refine

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/regularfile"
	"github.com/erreval/erreval/internal/runrecord"
	"github.com/erreval/erreval/internal/wholefile"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/taxonomy"
	"github.com/erreval/erreval/training/review"
)

// Names in a workspace.
const (
	ConfigFile   = "refine.yaml"
	TaxonomyFile = "taxonomy.yaml" // only with a taxonomy of one's own
	PoolFile     = "pool.jsonl"    // unlabelled rows
	DevFile      = "dev.jsonl"     // frozen development rows, with labels
	HeldFile     = "held.jsonl"    // rows that share their group with a development row: never trained on
	LogFile      = "log.jsonl"     // one Entry a line
	TrainDir     = "train"         // *.jsonl are the training set, in the order of TrainFiles
	RandomDir    = "random"        // reviewed rows of random slices: they measure, and are never trained on
	BatchesDir   = "batches"
	IterationDir = "iterations"
	TaggedFile   = "pool.tagged.jsonl" // the pool with diagnoses, in an iteration's folder
	StartRows    = "start.jsonl"       // rows given at the beginning, in TrainDir
	autoEnd      = "-auto.jsonl"       // of the file of rows that a batch added without a reviewer, in TrainDir
	startDir     = "start"             // stands for an iteration where the model is the one to start from
)

// ColumnProvenance says who or what labelled a row: a Provenance.
const ColumnProvenance = "provenance"

// Kinds of provenance.
const (
	KindStart     = "start"     // given at init
	KindSimulated = "simulated" // an error was planted on purpose
	KindReview    = "review"    // a person decided
	KindAuto      = "auto"      // identifier and verifier agreed
)

// Provenance says where a training row's labels come from.
type Provenance struct {
	Kind      string   `json:"kind"`
	By        []string `json:"by,omitempty"`    // reviewers, the models that agreed, or what planted the error
	Iteration int      `json:"iteration"`       // whose model chose the row; 0 for rows of the start
	Batch     string   `json:"batch,omitempty"` // B001; "" for rows of the start
}

// Workspace is an opened folder.
type Workspace struct {
	Dir      string
	Config   Config
	Taxonomy *taxonomy.Taxonomy
}

// Open opens the workspace in dir. What a killed step had decided on is finished first.
func Open(dir string) (*Workspace, error) {
	data, err := regularfile.Read(filepath.Join(dir, ConfigFile), regularfile.Max)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, fmt.Errorf("%s is no workspace: it has no %s; make one with: erreval refine init %[1]s --pool FILE",
			dir, ConfigFile)
	}
	if err != nil {
		return nil, fmt.Errorf("workspace: %w", err)
	}
	w := &Workspace{Dir: dir}
	if w.Config, err = ParseConfig(data, filepath.Join(dir, ConfigFile)); err != nil {
		return nil, err
	}
	if w.Taxonomy, err = taxonomy.Open(w.TaxonomySource()); err != nil {
		return nil, err
	}
	return w, errors.Join(w.recover(), w.checkGroup())
}

var errEnough = errors.New("one row is enough")

// checkGroup finds a group that no row has: each would stand by itself, and rows of one passage be both trained on and
// measured with.
func (w *Workspace) checkGroup() error {
	group := w.Config.Group
	if group == "" || slices.Contains(w.Taxonomy.FieldNames(), group) {
		return nil
	}
	for _, file := range []string{PoolFile, HeldFile, DevFile} {
		found := false
		err := w.EachRow(w.Path(file), func(row *dataset.Row) error { _, found = row.Get(group); return errEnough })
		if errors.Is(err, errEnough) && !found {
			return fmt.Errorf("%s: group: neither a field nor a column of %s is called %q; put back what the workspace was "+
				"made with, or \"\" to take each row by itself",
				w.Path(ConfigFile), w.Path(file), group)
		}
	}
	return nil
}

// TaxonomySource is what --taxonomy takes for the workspace's taxonomy.
func (w *Workspace) TaxonomySource() string {
	if name := w.Config.Taxonomy; slices.Contains(taxonomy.Builtins(), name) || filepath.IsAbs(name) {
		return name
	}
	return w.Path(w.Config.Taxonomy)
}

// Path is a place in the workspace.
func (w *Workspace) Path(elem ...string) string {
	return filepath.Join(append([]string{w.Dir}, elem...)...)
}

// BatchName is that of the nth batch, from 1: "B001".
func BatchName(n int) string { return fmt.Sprintf("B%03d", n) }

// IterationName is that of the nth iteration, from 0: "00".
func IterationName(n int) string { return fmt.Sprintf("%02d", n) }

// Batches are the numbers of the batches made so far, rising.
func (w *Workspace) Batches() ([]int, error) { return w.numbered(BatchesDir, BatchName) }

// Iterations are the numbers of the iterations trained so far, rising.
func (w *Workspace) Iterations() ([]int, error) { return w.numbered(IterationDir, IterationName) }

// numbered are the numbers of a folder's folders that have such a name.
func (w *Workspace) numbered(folder string, name func(int) string) (out []int, err error) {
	entries, err := w.entries(folder)
	for _, entry := range entries {
		n, notOne := strconv.Atoi(strings.TrimPrefix(entry.Name(), "B"))
		if notOne == nil && n >= 0 && name(n) == entry.Name() && entry.IsDir() {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return out, err
}

// entries are those of a folder in name order; none where it is missing.
func (w *Workspace) entries(folder string) ([]fs.DirEntry, error) {
	entries, err := os.ReadDir(w.Path(folder))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("workspace: %w", err)
	}
	return entries, nil
}

// Current is the iteration whose model is in use: the last promoted one; -1 is the model to start from.
func (w *Workspace) Current() (int, error) {
	all, err := w.Iterations()
	if err != nil {
		return -1, err
	}
	for _, n := range slices.Backward(all) {
		if m, err := w.Metrics(n); err != nil || m.Promoted {
			return n, err
		}
	}
	return -1, nil
}

// ModelOf is what --model takes for an iteration's identifier: its folder, or for -1 the model to start from, which is
// "" where the workspace starts without one.
func (w *Workspace) ModelOf(iteration int) string {
	switch {
	case iteration >= 0:
		return w.Path(IterationDir, IterationName(iteration), "model")
	case w.Config.Start == StartNone:
		return ""
	case strings.ContainsRune(w.Config.Start, filepath.Separator) && !filepath.IsAbs(w.Config.Start):
		return w.Path(w.Config.Start)
	}
	return w.Config.Start
}

// CheckWeights says what to do where an iteration's model is not there.
func (w *Workspace) CheckWeights(iteration int) error {
	if iteration < 0 {
		return nil
	}
	if _, err := os.Stat(w.Path(IterationDir, IterationName(iteration), "model")); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return fmt.Errorf("the model in use, that of iteration %s, is not here (version control leaves weights out): copy "+
		"the folders model and verifier to %s, or take steps back (erreval refine undo %s) and train again",
		IterationName(iteration), w.Path(IterationDir, IterationName(iteration)), words.Quote(w.Dir))
}

// VerifierOf is the folder of an iteration's verifier, which --verifier takes, or "" where there is none, as before the
// first.
func (w *Workspace) VerifierOf(iteration int) string {
	dir := w.Path(IterationDir, IterationName(iteration), "verifier")
	if iteration < 0 || !fileThere(dir) {
		return ""
	}
	return dir
}

// TaggedPath is where the pool stands with an iteration's diagnoses; -1 is the model to start from.
func (w *Workspace) TaggedPath(iteration int) string {
	if iteration < 0 {
		return w.Path(startDir, TaggedFile)
	}
	return w.Path(IterationDir, IterationName(iteration), TaggedFile)
}

// ProvenanceOf reads a row's provenance; a row without any is one of the start.
func ProvenanceOf(row *dataset.Row) (p Provenance, err error) {
	object, err := row.Object(ColumnProvenance)
	if err == nil && object == nil {
		return Provenance{Kind: KindStart}, nil
	}
	if json.Unmarshal(object, &p) != nil || p.Kind == "" {
		raw, _ := row.Get(ColumnProvenance)
		return p, fmt.Errorf("row %s: the column %q holds %.60s, where {\"kind\": …} is expected", row.ID,
			ColumnProvenance, raw)
	}
	return p, nil
}

// GroupOf is what a row shares with others of its group; "" groups every row by itself. So does a row without a value.
func (w *Workspace) GroupOf(row *dataset.Row) string { return groupOf(row, w.Taxonomy, w.Config.Group) }

func groupOf(row *dataset.Row, t *taxonomy.Taxonomy, group string) string {
	text := review.ColumnText(row, group)
	if i := slices.Index(t.FieldNames(), group); i >= 0 {
		text = row.Values[i] // whatever its column is called
	}
	return cmp.Or(text, row.TextHash())
}

// Entry is one step in the log.
type Entry struct {
	Time    time.Time `json:"time"` // UTC
	Step    string    `json:"step"` // "init", "batch B001"
	Command string    `json:"command"`
	Made    []string  `json:"made"` // files and folders, from the workspace's folder
	// each file made; absent in entries of older programs, as is Checksum, the SHA-256 of the entry without it
	Files    map[string]runrecord.Content `json:"files,omitempty"`
	Checksum string                       `json:"checksum,omitempty"`
}

// parse reads an entry. What a step made is moved by those that finish it or take it back, and so lies in the
// workspace.
func (e *Entry) parse(data []byte) error {
	if err := json.Unmarshal(data, e); err != nil {
		return err
	}
	for _, path := range slices.AppendSeq(slices.Clip(e.Made), maps.Keys(e.Files)) {
		if !filepath.IsLocal(path) {
			return fmt.Errorf("%q does not lie in the workspace", path)
		}
	}
	return nil
}

// Log lists the steps, oldest first.
func (w *Workspace) Log() ([]Entry, error) {
	data, err := regularfile.Read(w.Path(LogFile), regularfile.Max)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("workspace: %w", err)
	}
	var out []Entry
	for line := range bytes.Lines(data) {
		var entry Entry
		if err := entry.parse(line); err != nil {
			return nil, fmt.Errorf("%s:%d: no step: %w; put the line right or take it out", w.Path(LogFile), len(out)+1, err)
		}
		out = append(out, entry)
	}
	return out, nil
}

func (w *Workspace) writeLog(entries []Entry) error {
	lines, err := review.Lines(entries)
	if err != nil {
		return err
	}
	all, err := w.entries(".")
	for _, entry := range all { // what a process that was killed here left
		if strings.HasPrefix(entry.Name(), "."+LogFile+".") {
			err = errors.Join(err, os.Remove(w.Path(entry.Name())))
		}
	}
	return errors.Join(err, wholefile.Write(w.Path(LogFile), lines))
}
