package refine

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/regularfile"
	"github.com/erreval/erreval/internal/wholefile"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/report"
	"github.com/erreval/erreval/training/review"
	"github.com/erreval/erreval/training/review/exchange"
)

// MergeOptions say which answers are merged.
type MergeOptions struct {
	Batch   string   // as OpenBatch takes it
	Files   []string // of answers: FILE, or REVIEWER=FILE where the file does not say who answered
	Partial bool     // leave out items that nobody answered; else each is a fault
	Command string   // command line of the step, for the log
}

// Merged is what became of a batch's answers. Its JSON is that of the review.Merge and of Changes.
type Merged struct {
	*review.Merge
	Changes
	New      bool     `json:"-"` // it added something; else nothing was changed
	Deciding Deciding `json:"-"` // of the items on which reviewers differ
	Exported Exported `json:"-"`

	labels         string // in words
	report         string // the command that shows all of it
	page           string // the command with which decisions are corrected
	chosen, random review.Hits
	again          bool // Agreement is that of the merge before
}

// merging is one run of Merge.
type merging struct {
	w      *Workspace
	f      *review.Frozen
	marked map[string]time.Time // as Workspace.marked
	out    *review.Outcome
}

// Merge puts the answers to a batch into the training set, as one step. Where anything is wrong, nothing is merged: the
// error joins the faults, and all are kept in merge.rejected.jsonl of the batch. Items on which reviewers differ are no
// error. The other errors are ErrBusy, those of OpenBatch, and an *OptionError for a file that is not there.
func (w *Workspace) Merge(o MergeOptions) (*Merged, error) {
	m := &merging{w: w}
	var err error
	if m.f, err = w.OpenBatch(o.Batch); err != nil {
		return nil, err
	}
	earlier, err := m.earlier()
	if err != nil {
		return nil, err
	}
	answers, faults, err := m.gather(o.Files)
	if err != nil {
		return nil, err
	}
	if len(faults) == 0 && len(answers) == 0 && earlier.Number == 0 {
		return nil, fmt.Errorf("nobody has answered %s yet; review it with: erreval refine review %s, or name files",
			m.f.ID, w.Dir)
	}
	if len(faults) == 0 {
		m.out, faults = m.f.Merge(earlier, answers, review.MergeOptions{Partial: o.Partial})
	}
	if len(faults) > 0 {
		return nil, m.reject(faults)
	}
	merged := &Merged{Merge: &m.out.Merge, New: m.out.New(earlier), report: "erreval refine report " + words.Quote(w.Dir),
		page: w.deciding(m.f.ID, 0).Page}
	labels := map[string][]string{}
	for _, d := range m.out.Decisions {
		labels[d.Item.TextSHA256] = d.Labels
	}
	if merged.Changes, err = w.changes(labels); err != nil {
		return nil, err
	}
	if merged.New {
		if err := m.commit(o.Command); err != nil {
			return nil, err
		}
	}
	merged.labels = labelWords(merged.Labels, w.Taxonomy)
	merged.again = reflect.DeepEqual(merged.Agreement, earlier.Agreement)
	maps.Copy(earlier.Decided, m.out.Decided)
	earlier.Conflicts = m.out.Conflicts
	inForce, err := m.w.inForce()
	if err != nil {
		return nil, err
	}
	merged.chosen, merged.random = m.f.Hits(earlier, inForce)
	if len(merged.Conflicts) > 0 {
		number := merged.Number
		if !merged.New {
			number--
		}
		merged.Deciding = w.deciding(m.f.ID, number)
	}
	merged.Exported, err = w.exported(m.f.ID, func(name string) bool {
		return slices.ContainsFunc(merged.Reviewers, func(r review.Reviewer) bool { return strings.EqualFold(r.Name, name) })
	})
	return merged, errors.Join(err, removeFiles(m.rejectedPath()))
}

// earlier is what merges of the batch, and of marks, left.
func (m *merging) earlier() (*review.Earlier, error) {
	e, err := m.f.Earlier()
	if err != nil {
		return nil, err
	}
	m.marked, err = m.w.marked()
	e.Marked = m.marked
	return e, err
}

// gather reads the review page's answers and the files.
func (m *merging) gather(files []string) (all []review.Answer, faults []*review.Fault, err error) {
	all, err = m.f.Answers()
	faults = review.FaultsOf(m.f.Dir, err)
	byContent := map[[sha256.Size]byte]string{}
	for _, path := range files {
		reviewer := ""
		if name, file, ok := strings.Cut(path, "="); ok && !fileThere(path) { // a file may have = in its name
			reviewer, path = name, file
		}
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return nil, nil, &OptionError{err}
		}
		if data, err := regularfile.Read(path, regularfile.MaxRows); err == nil { // what cannot be, exchange.Read says
			sum := sha256.Sum256(data)
			if first, again := byContent[sum]; again {
				return nil, nil, fmt.Errorf("%s and %s hold the same answers: one person's would count as two's; leave one out, "+
					"or, where two people did answer alike, write each name into the column \"reviewer\"", first, path)
			}
			byContent[sum] = path
		}
		if reviewer == "" && m.isConflicts(path) {
			reviewer = review.Account() // who decides where reviewers differ, as on the page
		}
		answers, err := exchange.Read(path, m.f, reviewer)
		all, faults = append(all, answers...), append(faults, review.FaultsOf(path, err)...)
	}
	return all, faults, nil
}

// isConflicts tells whether a file is in one of the batch's folders of what reviewers differ on.
func (m *merging) isConflicts(path string) bool {
	dir := filepath.Dir(path)
	return strings.HasPrefix(filepath.Base(dir), review.ConflictsStem) && dataset.SameFile(filepath.Dir(dir), m.f.Dir)
}

func fileThere(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func (m *merging) rejectedPath() string { return filepath.Join(m.f.Dir, "merge.rejected.jsonl") }

// mostFaults are in the error of a merge.
const mostFaults = 20

// faultErrors names each reason once, with the first place that it holds for.
func faultErrors(faults []*review.Fault) (errs []error) {
	var first []*review.Fault
	count := map[string]int{}
	for _, f := range faults {
		if count[f.Reason]++; count[f.Reason] == 1 {
			first = append(first, f)
		}
	}
	left := len(faults)
	for _, f := range first[:min(mostFaults, len(first))] {
		left -= count[f.Reason]
		if n := count[f.Reason]; n > 1 {
			errs = append(errs, fmt.Errorf("%w (and the same in %s)", f, words.Plural(n-1, "other place", "other places")))
		} else {
			errs = append(errs, f)
		}
	}
	if left > 0 {
		errs = append(errs, fmt.Errorf("and %d more", left))
	}
	return errs
}

// reject keeps the faults in a file and names them.
func (m *merging) reject(faults []*review.Fault) error {
	errs := faultErrors(faults)
	data, err := review.Lines(faults)
	if err == nil {
		err = wholefile.Write(m.rejectedPath(), data)
	}
	return errors.Join(append(errs, err, fmt.Errorf("%s: nothing was merged; %s listed in %s", m.f.ID,
		words.Plural(len(faults), "fault is", "faults are"), m.rejectedPath()))...)
}

// commit writes the merge as one unit of the workspace.
func (m *merging) commit(command string) error {
	name := review.MergeName(m.f.ID, m.out.Number, "")
	return m.w.doStep(StepMerge+name, command, func(u *Unit) error { return m.fill(u, name) })
}

// fill writes the rows, and what is kept of the merge.
func (m *merging) fill(unit *Unit, name string) error {
	provenance := func(kind string, by []string) any {
		return Provenance{Kind: kind, By: by, Iteration: m.f.Iteration, Batch: m.f.ID}
	}
	train, random, err := m.out.Rows(m.f, func(d *review.Decision) any { return provenance(KindReview, d.By) })
	if err != nil {
		return err
	}
	var auto []*dataset.Row
	if m.out.Number == 1 {
		if auto, err = m.f.Auto(m.marked, func(by []string) any { return provenance(KindAuto, by) }); err != nil {
			return err
		}
		m.out.Auto = len(auto)
	}
	files, err := m.record()
	if err != nil {
		return err
	}
	files[filepath.Join(TrainDir, name+".jsonl")] = rowsText(train)
	files[filepath.Join(RandomDir, name+".jsonl")] = rowsText(random)
	files[filepath.Join(TrainDir, name+autoEnd)] = rowsText(auto)
	for path, data := range files {
		if len(data) > 0 {
			err = errors.Join(err, unit.Write(data, path))
		}
	}
	return err
}

// record is merge.json, the answers that were used, and the workbook of the open conflicts, by path.
func (m *merging) record() (map[string][]byte, error) {
	record, err := review.JSON(m.out.Merge)
	answers, answersErr := review.Lines(m.out.Answers)
	path := func(stem, extension string) string {
		return filepath.Join(BatchesDir, m.f.ID, review.MergeName(stem, m.out.Number, extension))
	}
	files := map[string][]byte{path(review.MergeStem, ".json"): record,
		path(review.UsedStem, ".jsonl"): answers}
	if len(m.out.Conflicts) > 0 {
		differing := m.f.Differing(&review.Earlier{Number: m.out.Number, Conflicts: m.out.Conflicts, Answers: m.out.Answers})
		// A text that is too long for a cell keeps no row back: the page shows it.
		if book, err := exchange.Export(differing, exchange.XLSX, exchange.Options{}); err == nil {
			files[filepath.Join(path(review.ConflictsStem, ""), book[0].Name)] = book[0].Data
		}
	}
	return files, errors.Join(err, answersErr)
}

// singleWords names the first of the rows that rest on one reviewer alone.
func (m *Merged) singleWords() string {
	text := strings.Join(m.SingleOf, ", ")
	if m.Single > len(m.SingleOf) {
		text += ", …"
	}
	return text
}

// droppers are those who skipped what they were to decide.
func (m *Merged) droppers() (names []string) {
	for _, by := range m.Dropped {
		names = append(names, by...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Text writes what was merged and what not, what each reviewer did, and how far they agree.
func (m *Merged) Text(w io.Writer) error {
	var out report.Lines
	if m.New {
		text := fmt.Sprintf("%s: %d to the training set, %d of the random slice", m.Batch, m.Train, m.Random)
		if m.Auto > 0 {
			text += fmt.Sprintf(", %d without a reviewer", m.Auto)
		}
		out.Add("merged", "%s", text)
		out.Add("labels", "%s", m.labels)
		m.Changes.add(&out)
		switch {
		case m.Single > 0 && len(m.Reviewers) > 1:
			out.Add("of them", "%s on one reviewer alone: %s", words.Plural(m.Single, "row rests", "rows rest"), m.singleWords())
		case m.Single > 0:
			out.Add("rows", "all rest on %s alone", m.Reviewers[0].Name)
		}
		if m.Settled > 0 {
			out.Add("settled", "%s of the merge before", words.Plural(m.Settled, "conflict", "conflicts"))
		}
	} else {
		out.Add("merged", "%s: nothing new; %d of %s were merged before", m.Batch, m.Before,
			words.Plural(m.Items, "item", "items"))
	}
	m.addLeft(&out)
	for i, r := range m.Reviewers {
		if !m.isOnlySettled() {
			out.Add(r.Name, "%s", r.Summary())
		}
		for _, other := range m.Reviewers[:i] {
			if strings.EqualFold(r.Name, other.Name) {
				out.Add("names", "%s and %s count as two people", other.Name, r.Name)
			}
		}
	}
	if len(m.Conflicts) == 0 && m.chosen.Rows+m.random.Rows > 0 {
		out.Add("the model", "had found just what was decided in %s; it was unsure of the chosen ones (%s shows the others)",
			hitWords(m.chosen, m.random), m.report)
	}
	if err := out.Text(w); err != nil || m.Agreement == nil || m.New && m.again {
		return err
	}
	fmt.Fprintln(w)
	return m.Agreement.Text(w)
}

// addLeft says what the merge left out.
func (m *Merged) addLeft(out *report.Lines) {
	if left := words.Some(words.Count{N: len(m.Skipped), What: "skipped"}, words.Count{N: len(m.Missing),
		What: "not answered"}, words.Count{N: len(m.Conflicts), What: "in conflict"}); left != "" {
		out.Add("left out", "%s", left)
	}
	if m.Late > 0 {
		out.Add("of these", "%s merged before, with labels that stay until somebody decides",
			words.Plural(m.Late, "row in conflict was", "rows in conflict were"))
	}
	if m.Later > 0 {
		out.Add("left out", "what was said later of %s that somebody decided: whoever did corrects it with %s, "+
			"or a mark does", words.Plural(m.Later, "row", "rows"), m.page)
	}
	if n := len(m.Dropped); n > 0 {
		out.Add("left out", "%d that %s skipped", n, strings.Join(m.droppers(), " and "))
	}
	if m.Kept > 0 {
		out.Add("of these", "%s merged before, with labels that stay", words.Plural(m.Kept, "row was", "rows were"))
	}
	if m.Marked > 0 {
		out.Add("left out", "%s that a mark decided: mark such rows again to change that",
			words.Plural(m.Marked, "item", "items"))
	}
}

// isOnlySettled tells whether nobody answered more than what reviewers differed on.
func (m *Merged) isOnlySettled() bool { return m.New && m.Settled > 0 && m.again }

// hitWords are "3 of 10 chosen rows and 2 of 2 rows of the random slice (in the pool: 1 to 100 %)".
func hitWords(chosen, random review.Hits) string {
	var parts []string
	for _, of := range []struct {
		review.Hits
		what string
	}{{chosen, "chosen rows"}, {random, "rows of the random slice"}} {
		if of.Rows > 0 {
			parts = append(parts, fmt.Sprintf("%d of %d %s", of.Same, of.Rows, of.what))
		}
	}
	if low, high := random.Interval(); random.Rows > 0 {
		parts[len(parts)-1] += fmt.Sprintf(" (in the pool: %.0f to %.0f %%)", 100*low, 100*high)
	}
	return strings.Join(parts, " and ")
}
