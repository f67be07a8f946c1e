package refine

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/training/review"
	"github.com/erreval/erreval/training/review/exchange"
)

// batchNames are the names of the batches made so far, in their order, and the first that is not merged, or "".
func (w *Workspace) batchNames() (names []string, open string, err error) {
	numbers, err := w.Batches()
	for _, n := range numbers {
		name := BatchName(n)
		names = append(names, name)
		if open == "" && !review.IsMerged(w.Path(BatchesDir, name)) {
			open = name
		}
	}
	return names, open, err
}

// OpenBatch opens a batch by its name; "" is the first that is not merged, else the last. The error is an *OptionError for an
// unknown name, an *UnfitError for a batch that cannot be used with the workspace's taxonomy.
func (w *Workspace) OpenBatch(name string) (*review.Frozen, error) {
	names, open, err := w.batchNames()
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

// Reviewing is a batch that is to be reviewed.
type Reviewing struct {
	Batch *review.Frozen
	review.Config
	Next string // the command that merges the answers
}

// Review finds the batch to be reviewed: the one of that name, or for "" the first that is not merged. It is an error if
// nobody named a batch and none has items left. The other errors are those of OpenBatch, and an *OptionError for wrong settings.
func (w *Workspace) Review(name string) (*Reviewing, error) {
	f, err := w.OpenBatch(name)
	if err != nil {
		return nil, err
	}
	r := &Reviewing{Batch: f, Next: "erreval refine merge " + words.Quote(w.Dir)}
	if r.Config, err = w.reviewConfig(); err != nil {
		return nil, err
	}
	if name != "" {
		r.Next += " --batch " + f.ID
		return r, nil
	}
	earlier, err := f.Earlier()
	if err == nil && earlier.Number > 0 && earlier.Open == 0 {
		err = fmt.Errorf("every batch is merged; choose the next with: erreval refine select %s\nto go through %s all the same, name it: erreval refine review %[1]s %[2]s",
			words.Quote(w.Dir), f.ID)
	}
	return r, err
}

// AllFormats stands for every format of exchange.Formats.
const AllFormats = "all"

// ExportOptions say how a batch is given to reviewers.
type ExportOptions struct {
	Batch     string // as OpenBatch takes it
	Format    string // one of exchange.Formats, or AllFormats
	Proposals string // one of review.Shows; "" is what refine.yaml says
	Reviewer  string // who will answer, or ""
	Dir       string // where to; "" is the batch's folder export, with a reviewer a folder of that name in it
	Overwrite bool   // replace files that are there with other content
}

// Exported are the files of an export.
type Exported struct {
	Batch string
	Items int // of the batch
	Files []exchange.Saved
}

// Export writes a batch for reviewers. A format that cannot hold the batch keeps no other back, so that there may be both
// files and an error. The error is an *OptionError, one of OpenBatch, or one of writing.
func (w *Workspace) Export(o ExportOptions) (*Exported, error) {
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
	if o.Dir == "" {
		o.Dir = filepath.Join(f.Dir, review.ExportDir, o.Reviewer)
	}
	x := &Exported{Batch: f.ID, Items: len(f.All)}
	for _, format := range formats {
		files, saveErr := exchange.Save(f, format, o.Dir, o.Overwrite, exchange.Options{Proposals: o.Proposals, Reviewer: o.Reviewer})
		x.Files, err = append(x.Files, files...), errors.Join(err, saveErr)
	}
	return x, err
}

// formats checks the options and gives the formats that they ask for.
func (o *ExportOptions) formats() ([]string, error) {
	all := exchange.Formats()
	switch {
	case !slices.Contains(review.Shows(), o.Proposals):
		return nil, optionErrorf("--proposals %q: there are %s", o.Proposals, strings.Join(review.Shows(), ", "))
	case o.Reviewer != "" && (review.CheckReviewer(o.Reviewer) != nil || strings.ContainsAny(o.Reviewer, `/\`)):
		return nil, optionErrorf("--reviewer %q is no name that a folder can have", o.Reviewer)
	case o.Format == AllFormats:
		return all, nil
	case !slices.Contains(all, o.Format):
		return nil, optionErrorf("--format %q: there are %s, and all", o.Format, strings.Join(all, ", "))
	}
	return []string{o.Format}, nil
}

// Text lists the files.
func (x *Exported) Text(w io.Writer) error {
	for _, file := range x.Files {
		said := fmt.Sprintf(": %s of %s", words.Plural(x.Items, "item", "items"), x.Batch)
		if file.Found {
			said = " is there already"
		}
		if _, err := fmt.Fprintln(w, file.Path+said); err != nil {
			return err
		}
	}
	return nil
}
