package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/internal/wholefile"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/training/refine"
	"github.com/erreval/erreval/training/review"
	"github.com/erreval/erreval/training/review/exchange"
)

func refineMergeCommand(e *env) *cli.Command {
	return &cli.Command{
		Name: "merge", Usage: "put the answers to a batch into the training set", ArgsUsage: "DIR [[NAME=]FILE...]",
		Description: `What was answered on the review page:
   erreval refine merge work

Files that were filled in, of any format that export writes; NAME says who did it where the file does not:
   erreval refine merge work anna=review.xlsx ben=review-ben.csv
   erreval refine merge work records.json project-3.json

Nothing is merged while anything is wrong: each fault is named with its place, and all are kept in
merge.rejected.jsonl in the batch's folder. Rows that reviewers answered differently stay out, and are listed in
conflicts.jsonl there: write "labels" and "reviewer" into its lines, and merge that file.`,
		Flags: []cli.Flag{batchFlag(),
			&cli.BoolFlag{Name: "partial", Usage: "leave out rows that nobody answered; they can be merged later"},
			jsonFlag()},
		Action: func(ctx *cli.Context) error { return runRefineMerge(ctx, e) },
	}
}

// mergeRun is one run of refine merge.
type mergeRun struct {
	w    *refine.Workspace
	f    *review.Frozen
	out  *review.Outcome
	auto []*dataset.Row
}

func runRefineMerge(ctx *cli.Context, e *env) error {
	if err := wantArgs(ctx, 1, -1, "the folder of a workspace, and files of answers"); err != nil {
		return err
	}
	m := &mergeRun{}
	var err error
	if m.w, err = openWorkspaceAt(ctx.Args().First()); err != nil {
		return err
	}
	if m.f, err = openBatch(m.w, ctx.String("batch")); err != nil {
		return err
	}
	earlier, err := m.f.Earlier()
	if err != nil {
		return err
	}
	answers, faults, err := m.gather(ctx.Args().Tail())
	if err != nil {
		return err
	}
	if len(faults) == 0 && len(answers) == 0 && earlier.Number == 0 {
		return fmt.Errorf("nobody has answered %s yet; review it with: erreval refine review %s, or name files", m.f.ID, m.w.Dir)
	}
	if len(faults) == 0 {
		m.out, faults = m.f.Merge(earlier, answers, review.MergeOptions{Partial: ctx.Bool("partial")})
	}
	if len(faults) > 0 {
		return m.reject(faults)
	}
	fresh := m.out.New(earlier)
	if fresh {
		if err := m.commit(e.typedLine()); err != nil {
			return explainBusy(m.w, err)
		}
	}
	if err := run.RemoveIfThere(m.rejectedPath()); err != nil {
		return err
	}
	return m.print(e, fresh, ctx.Bool("json"))
}

// gather reads the review page's answers and the files.
func (m *mergeRun) gather(args []string) (all []review.Answer, faults []*review.Fault, err error) {
	all, err = m.f.Answers()
	faults = flatten(m.f.Dir, err)
	for _, arg := range args {
		path, reviewer := arg, ""
		if name, file, ok := strings.Cut(arg, "="); ok {
			if _, err := os.Stat(arg); err != nil { // a file may have = in its name
				path, reviewer = file, name
			}
		}
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return nil, nil, exit.Usagef("%w", err)
		}
		answers, err := exchange.Read(path, m.f, reviewer)
		all, faults = append(all, answers...), append(faults, flatten(path, err)...)
	}
	return all, faults, nil
}

// flatten takes joined faults apart.
func flatten(file string, err error) []*review.Fault {
	if err == nil {
		return nil
	}
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) {
		var out []*review.Fault
		for _, part := range joined.Unwrap() {
			out = append(out, flatten(file, part)...)
		}
		return out
	}
	return []*review.Fault{review.FaultOf(file, err)}
}

func (m *mergeRun) rejectedPath() string { return filepath.Join(m.f.Dir, "merge.rejected.jsonl") }

// mostFaults are named on the screen.
const mostFaults = 20

// reject keeps the faults in a file and names them.
func (m *mergeRun) reject(faults []*review.Fault) error {
	var errs []error
	for _, f := range faults[:min(mostFaults, len(faults))] {
		errs = append(errs, f)
	}
	if more := len(faults) - len(errs); more > 0 {
		errs = append(errs, fmt.Errorf("and %d more", more))
	}
	data, err := review.Lines(faults)
	if err == nil {
		err = wholefile.Write(m.rejectedPath(), data)
	}
	return errors.Join(append(errs, err, fmt.Errorf("%s: nothing was merged; %s listed in %s", m.f.ID, words.Plural(len(faults), "fault is", "faults are"), m.rejectedPath()))...)
}

// commit writes the merge as one unit of the workspace.
func (m *mergeRun) commit(line string) (err error) {
	step := m.f.ID
	if m.out.Number > 1 {
		step = fmt.Sprintf("%s-%d", m.f.ID, m.out.Number)
	}
	unit, err := m.w.Begin(refine.StepMerge + step)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unit.Discard()) }()
	provenance := func(kind string, by []string) any {
		return refine.Provenance{Kind: kind, By: by, Iteration: m.f.Iteration, Batch: m.f.ID}
	}
	train, random, err := m.out.Rows(m.f, func(d *review.Decision) any { return provenance(refine.KindReview, d.By) })
	if err != nil {
		return err
	}
	if m.out.Number == 1 {
		if m.auto, err = m.f.Auto(func(by []string) any { return provenance(refine.KindAuto, by) }); err != nil {
			return err
		}
		m.out.Auto = len(m.auto)
	}
	err = errors.Join(writeUnitRows(unit, train, refine.TrainDir, step+".jsonl"), writeUnitRows(unit, random, refine.RandomDir, step+".jsonl"),
		writeUnitRows(unit, m.auto, refine.TrainDir, step+"-auto.jsonl"), m.writeRecord(unit))
	if err != nil {
		return err
	}
	return unit.Commit(line)
}

func writeUnitRows(u *refine.Unit, rows []*dataset.Row, elem ...string) error {
	if len(rows) == 0 {
		return nil
	}
	path, err := u.Path(elem...)
	if err != nil {
		return err
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	w := dataset.NewWriter(f)
	for _, row := range rows {
		if err := w.Write(row); err != nil {
			return errors.Join(err, f.Close())
		}
	}
	return errors.Join(w.Flush(), f.Close())
}

// writeRecord writes merge.json, the answers that were used, and the open conflicts.
func (m *mergeRun) writeRecord(u *refine.Unit) error {
	record, err := json.MarshalIndent(m.out.Merge, "", "  ")
	if err != nil {
		return err
	}
	answers, err := review.Lines(m.out.Answers)
	if err != nil {
		return err
	}
	conflicts, err := exchange.Conflicts(m.f, m.out.Conflicts)
	if err != nil {
		return err
	}
	for _, part := range []struct {
		stem, extension string
		data            []byte
	}{{review.MergeStem, ".json", append(record, '\n')}, {review.UsedStem, ".jsonl", answers}, {review.ConflictsStem, ".jsonl", conflicts}} {
		if len(part.data) == 0 {
			continue
		}
		path, err := u.Path(refine.BatchesDir, m.f.ID, review.MergeName(part.stem, m.out.Number, part.extension))
		if err == nil {
			err = os.WriteFile(path, part.data, 0o666)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (m *mergeRun) print(e *env, fresh, asJSON bool) error {
	if asJSON {
		if err := writeJSON(e.Out, m.out.Merge); err != nil {
			return err
		}
	} else if err := m.printText(e, fresh); err != nil {
		return err
	}
	if n := len(m.out.Conflicts); n > 0 {
		number := m.out.Number
		if !fresh {
			number--
		}
		return exit.With(exit.Incomplete, fmt.Errorf("%s: reviewers differ on %s; write labels and reviewer into %s, and merge that file", m.f.ID, words.Plural(n, "row", "rows"),
			filepath.Join(m.f.Dir, review.MergeName(review.ConflictsStem, number, ".jsonl"))))
	}
	return nil
}

func (m *mergeRun) printText(e *env, fresh bool) error {
	o := &m.out.Merge
	line, flush := namedLines(e.Out)
	if fresh {
		line("merged", "%s: %d to the training set, %d of the random slice, %d without a reviewer", m.f.ID, o.Train, o.Random, o.Auto)
		line("labels", "%s", labelWords(o.Labels, m.w.Taxonomy))
	} else {
		line("merged", "%s: nothing new; %d of %s were merged before", m.f.ID, o.Before, words.Plural(o.Items, "item", "items"))
	}
	line("left out", "%d skipped, %d not answered, %d in conflict", len(o.Skipped), len(o.Missing), len(o.Conflicts))
	for _, r := range o.Reviewers {
		line(r.Name, "%s", reviewerWords(&r))
	}
	if err := flush(); err != nil || o.Agreement == nil {
		return err
	}
	return printAgreement(e, o.Agreement)
}

func reviewerWords(r *review.Reviewer) string {
	text := fmt.Sprintf("%s, %d skipped", words.Plural(r.Answered, "answer", "answers"), r.Skipped)
	if r.Control == 0 {
		return text
	}
	text += fmt.Sprintf("; the same labels on %d of %s", r.Same, words.Plural(r.Control, "repeated row", "repeated rows"))
	if len(r.Differ) > 0 {
		text += " (others on " + strings.Join(r.Differ[:min(5, len(r.Differ))], ", ") + ")"
	}
	return text
}

// printAgreement prints what reviewers who saw the same rows agree on.
func printAgreement(e *env, a *review.Agreement) error {
	fmt.Fprintf(e.Out, "\nagreement on %s that two or more decided: the same labels on %.0f %%, alpha %s%s\n\n", words.Plural(a.Items, "row", "rows"), 100*a.Exact, orDash(a.Alpha), overlap(a))
	kappa := slices.ContainsFunc(a.Labels, func(l review.LabelAgreement) bool { return l.Kappa != nil })
	tw := tabwriter.NewWriter(e.Out, 0, 0, 2, ' ', tabwriter.AlignRight)
	head := "LABEL\tANY\tALL\tALPHA\t"
	if kappa {
		head += "KAPPA\t"
	}
	fmt.Fprintln(tw, head)
	for _, l := range a.Labels {
		fmt.Fprintf(tw, "%s\t%d\t%d\t%s\t", l.Label, l.Given, l.Both, orDash(l.Alpha))
		if kappa {
			fmt.Fprintf(tw, "%s\t", orDash(l.Kappa))
		}
		fmt.Fprintln(tw)
	}
	return tw.Flush()
}

func overlap(a *review.Agreement) string {
	if a.Jaccard == nil {
		return ""
	}
	return ", overlap " + orDash(a.Jaccard)
}

func orDash(x *float64) string {
	if x == nil {
		return "–"
	}
	return fmt.Sprintf("%.3f", *x)
}
