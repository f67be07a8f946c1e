package refine

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/training/review"
	"github.com/erreval/erreval/training/review/exchange"
	"github.com/erreval/erreval/training/review/page"
)

// batchNames are the names of the batches made so far, in their order, the first that is not merged, or "", and the
// name that the next one gets.
func (w *Workspace) batchNames() (names []string, open, next string, err error) {
	numbers, err := w.Batches()
	next = BatchName(1)
	for _, n := range numbers {
		name := BatchName(n)
		names, next = append(names, name), BatchName(n+1)
		if open == "" && !review.IsMerged(w.Path(BatchesDir, name)) {
			open = name
		}
	}
	return names, open, next, err
}

// OpenBatch opens a batch by its name; "" is the first that is not merged, else the last. The error is an *OptionError
// for an unknown name, an *UnfitError for a batch that cannot be used with the workspace's taxonomy.
func (w *Workspace) OpenBatch(name string) (*review.Frozen, error) {
	names, open, _, err := w.batchNames()
	switch {
	case err != nil:
		return nil, err
	case len(names) == 0:
		return nil, fmt.Errorf("%s has no batch yet; choose one with: erreval refine select %[1]s", w.Dir)
	case name == "" && open == "":
		name = names[len(names)-1]
	case name == "":
		name = open
	case !slices.Contains(names, name):
		return nil, optionErrorf("--batch %q: %s has %s", name, w.Dir, strings.Join(names, ", "))
	}
	f, err := review.Open(w.Path(BatchesDir, name), w.Taxonomy)
	if err != nil {
		return nil, &UnfitError{err}
	}
	return f, nil
}

// reviewConfig is the section review of refine.yaml.
func (w *Workspace) reviewConfig() (review.Config, error) {
	config, err := review.ReadConfig(w.Config.Review, w.Path(ConfigFile))
	if err != nil {
		return config, &OptionError{err}
	}
	return config, nil
}

// Review is what page.New needs to have a batch reviewed: the one of that name, or for "" the first that is not
// merged; with conflicts only what its reviewers differ on, to be decided, and what the reviewer decided, to be
// corrected, for "" of the first batch with rows to be decided, else of the last that is merged. It is an error if
// there is no such row, or if nobody named a batch and none has items left. The other errors are those of OpenBatch,
// and an *OptionError for wrong settings or a reviewer without a usable name.
func (w *Workspace) Review(name, reviewer string, conflicts bool) (r *page.Review, err error) {
	if err := review.CheckReviewer(reviewer); err != nil {
		return nil, optionErrorf("--reviewer: %w", err)
	}
	asked := name
	if conflicts && name == "" {
		if name, err = w.batchToDecide(); err != nil {
			return nil, err
		}
	}
	f, err := w.OpenBatch(name)
	if err != nil {
		return nil, err
	}
	config, err := w.reviewConfig()
	if err != nil {
		return nil, err
	}
	r = &page.Review{Batch: f, Reviewer: reviewer, Next: "erreval refine merge " + words.Quote(w.Dir),
		ShowLabels: config.Proposals != review.ShowNothing, ShowProbabilities: config.Proposals == review.ShowProbabilities}
	if name != "" || conflicts {
		r.Next += " --batch " + f.ID
	}
	earlier, err := f.Earlier()
	if err != nil {
		return nil, err
	}
	for _, a := range earlier.Answers {
		if !conflicts && !a.Resolves && strings.EqualFold(a.Reviewer, reviewer) {
			r.Merged = append(r.Merged, a)
		}
	}
	earlier.Open -= len(earlier.Conflicts)
	earlier.Conflicts, err = w.undecided(f.ID, earlier.Conflicts)
	earlier.Open += len(earlier.Conflicts)
	switch {
	case err != nil:
	case conflicts:
		err = w.toDecide(r, earlier, cmp.Or(asked, w.Dir))
	case name == "" && earlier.Number > 0 && earlier.Open == 0:
		err = fmt.Errorf("every batch is merged; choose the next with: erreval refine select %s\n"+
			"to go through %s all the same, name it: erreval refine review %[1]s %[2]s", words.Quote(w.Dir), f.ID)
	}
	return r, err
}

// toDecide has a review show what reviewers differ on, and what the one of the review decided.
func (w *Workspace) toDecide(r *page.Review, earlier *review.Earlier, of string) error {
	mine, decisions, others := r.Batch.DecidedBy(earlier, r.Reviewer)
	earlier.Conflicts, r.Merged = append(earlier.Conflicts, mine...), decisions
	id := r.Batch.ID
	if r.Batch = r.Batch.Differing(earlier); len(earlier.Conflicts) > 0 {
		return nil
	}
	err := fmt.Errorf("%s has no row that waits for a decision between reviewers", of)
	for _, name := range others {
		err = fmt.Errorf("%w; what %s decided of %s is corrected with: %s --reviewer %[2]s", err, words.Quote(name), id,
			w.deciding(id, 0).Page)
	}
	return err
}

// batchToDecide is the first batch with rows that wait for a decision, else the last one that is merged; "" is none.
func (w *Workspace) batchToDecide() (name string, err error) {
	s := &Status{}
	err = w.lookAtBatches(s)
	for _, b := range s.Batches {
		if b.Conflicts > 0 {
			return b.ID, err
		}
		if b.Merged {
			name = b.ID
		}
	}
	return name, err
}

// AllFormats stands for every format of exchange.Formats.
const AllFormats = "all"

// ExportOptions say how a batch is given to reviewers.
type ExportOptions struct {
	Batch     string   // as OpenBatch takes it
	Format    string   // one of exchange.Formats, or AllFormats; "" is that of Dir's extension, else exchange.XLSX
	Proposals string   // one of review.Shows; "" is what refine.yaml says
	Reviewers []string // who will answer, a copy for each; nil is a copy for nobody by name
	// Dir is the folder to write to, with several reviewers a folder for each in it, or a file that ends with .xlsx, .csv
	// or .jsonl; "" is the batch's folder export, with reviewers a folder for each in it.
	Dir       string
	Overwrite bool // replace files that are there with other content
}

// Export writes a batch for reviewers. A format that cannot hold the batch keeps no other back, so that there may be
// both files and an error. The error is an *OptionError, one of OpenBatch, or one of writing.
func (w *Workspace) Export(o ExportOptions) (files []exchange.Saved, err error) {
	f, err := w.OpenBatch(o.Batch)
	if err != nil {
		return nil, err
	}
	config, err := w.reviewConfig()
	if err != nil {
		return nil, err
	}
	if o.Proposals == "" {
		o.Proposals = config.Proposals
	}
	formats, err := o.formats()
	if err != nil {
		return nil, err
	}
	if len(o.Reviewers) == 0 {
		o.Reviewers = []string{""}
	}
	for _, name := range o.Reviewers {
		own := filepath.Join(f.Dir, review.ExportDir, name)
		dir := cmp.Or(o.Dir, own)
		if o.Dir != "" && len(o.Reviewers) > 1 {
			dir = filepath.Join(o.Dir, name)
		}
		saved := 0
		for _, format := range formats {
			more, saveErr := exchange.Save(f, format, dir, o.Overwrite, exchange.Options{Proposals: o.Proposals, Reviewer: name})
			files, saved, err = append(files, more...), saved+len(more), errors.Join(err, saveErr)
		}
		if saved > 0 && name != "" { // also where the files are elsewhere, it is known who has some
			err = errors.Join(err, os.MkdirAll(own, 0o777))
		}
	}
	return files, err
}

// Exported are those for whom a batch was exported into its own folder.
type Exported struct {
	For    []string `json:"exported,omitempty"`     // reviewers, by name
	Absent []string `json:"not_answered,omitempty"` // those of them who have not answered all items
}

// exported finds for whom a batch was exported, and who of them has not answered.
func (w *Workspace) exported(batch string, hasAnswered func(name string) bool) (e Exported, err error) {
	entries, err := w.entries(filepath.Join(BatchesDir, batch, review.ExportDir))
	for _, entry := range entries {
		name := entry.Name()
		if !entry.IsDir() || slices.Contains(exchange.Formats(), name) { // a format's own folder
			continue
		}
		e.For = append(e.For, name)
		if !hasAnswered(name) {
			e.Absent = append(e.Absent, name)
		}
	}
	return e, err
}

// Others says that a batch was exported for other people than the one who answers; "" where it was not.
func (w *Workspace) Others(batch, reviewer string) (string, error) {
	e, err := w.exported(batch, func(name string) bool { return strings.EqualFold(name, reviewer) })
	if len(e.For) == 0 || len(e.Absent) < len(e.For) {
		return "", err
	}
	return fmt.Sprintf("%s has files for %s, and %s is none of them: a further reviewer; --reviewer NAME answers as one "+
		"of them", batch, strings.Join(e.For, ", "), reviewer), err
}

// words are "exported for anna, ben; ben has not finished"; "" where nobody is outstanding.
func (e *Exported) words() string {
	if len(e.Absent) == 0 {
		return ""
	}
	verb := "has"
	if len(e.Absent) > 1 {
		verb = "have"
	}
	return fmt.Sprintf("exported for %s; %s %s not finished", strings.Join(e.For, ", "),
		strings.Join(e.Absent, " and "), verb)
}

// answerFiles are the files of a batch to be filled in, as refine merge takes them: those for the absent, where FILE is
// what comes back of another tool, and that for nobody by name.
func (w *Workspace) answerFiles(batch string, e *Exported) (files []string) {
	dir := w.Path(BatchesDir, batch, review.ExportDir)
	if file := toFillIn(dir); file != "" {
		files = append(files, "NAME="+file)
	}
	for _, name := range e.Absent {
		files = append(files, cmp.Or(toFillIn(filepath.Join(dir, name)), name+"=FILE"))
	}
	return files
}

// toFillIn is the file in a folder of exports that is filled in as it is; "" is none.
func toFillIn(dir string) string {
	for _, format := range []string{exchange.XLSX, exchange.CSV, exchange.JSONL} {
		if file := filepath.Join(dir, "review."+format); fileThere(file) {
			return file
		}
	}
	return ""
}

// CheckReviewers tells whether a batch can be exported for people of these names. The error is an *OptionError.
func CheckReviewers(names []string) error {
	for i, name := range names {
		if review.CheckReviewer(name) != nil || strings.ContainsAny(name, `/\`) || strings.Trim(name, ".") == "" {
			return optionErrorf("--reviewer %q is no name that a folder can have", name)
		}
		for _, other := range names[:i] {
			if strings.EqualFold(other, name) {
				return optionErrorf("--reviewer names %s twice", name)
			}
		}
	}
	return nil
}

// formats checks the options and gives the formats that they ask for.
func (o *ExportOptions) formats() ([]string, error) {
	all := exchange.Formats()
	file := strings.TrimPrefix(filepath.Ext(o.Dir), ".")
	if !slices.Contains(all, file) {
		file = ""
	}
	o.Format = cmp.Or(o.Format, file, exchange.XLSX)
	if err := CheckReviewers(o.Reviewers); err != nil {
		return nil, err
	}
	switch {
	case file != "" && file != o.Format:
		return nil, optionErrorf("-o %s: its name says %s, and --format %s; leave --format out, or name a folder", o.Dir,
			file, o.Format)
	case !slices.Contains(review.Shows(), o.Proposals):
		return nil, optionErrorf("--proposals %q: there are %s", o.Proposals, strings.Join(review.Shows(), ", "))
	case file != "" && len(o.Reviewers) > 1:
		return nil, optionErrorf("-o %s is one file, and --reviewer names %d people; name a folder", o.Dir, len(o.Reviewers))
	case o.Format == AllFormats:
		return all, nil
	case !slices.Contains(all, o.Format):
		return nil, optionErrorf("--format %q: there are %s, and all", o.Format, strings.Join(all, ", "))
	}
	return []string{o.Format}, nil
}
