package reporting

import (
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/erreval/erreval/report"
	"github.com/erreval/erreval/report/view"
	"github.com/erreval/erreval/training/refine"
)

// FindWorkspaces tells folders of "erreval refine" from other inputs. Of such a folder the rows are seen that the
// iteration in use tagged, or where nothing is tagged yet the pool.
func FindWorkspaces(inputs []string) (paths, workspaces []string, err error) {
	for _, in := range inputs {
		if _, err := os.Stat(filepath.Join(in, refine.ConfigFile)); err != nil {
			paths = append(paths, in)
			continue
		}
		w, err := refine.Open(in)
		if err != nil {
			return nil, nil, err
		}
		current, err := w.Current()
		if err != nil {
			return nil, nil, err
		}
		rows := w.TaggedPath(current)
		if _, err := os.Stat(rows); err != nil {
			rows = w.Path(refine.PoolFile)
		}
		paths, workspaces = append(paths, rows), append(workspaces, in)
	}
	return paths, workspaces, nil
}

// refinement shows the iterations and batches of a workspace.
func (m *maker) refinement(dir string) {
	r := Run{Name: filepath.Base(dir), Path: dir}
	w, err := refine.Open(dir)
	if err != nil {
		m.note(r, "refinement", err)
		return
	}
	if h, err := w.History(); err != nil {
		m.note(r, "learning curve", err)
	} else {
		m.sections = append(m.sections, learning(r.Name, h)...)
	}
	status, err := w.Status()
	if err != nil {
		m.note(r, "batches", err)
		return
	}
	if len(status.Batches) > 0 {
		m.sections = append(m.sections, batches(r.Name, status))
	}
}

func learning(name string, h *refine.History) []view.Section {
	curve := view.Section{View: view.ViewMeasured, Title: "Refinement of " + name + ": learning curve",
		Chart: &view.Chart{Kind: "lines", X: "iteration", Y: "share"}}
	for _, l := range h.Curves() {
		s := view.Series{Name: l.Name}
		for i, x := range l.X {
			if math.IsNaN(l.Y[i]) {
				continue
			}
			p := [4]float64{x, l.Y[i], l.Y[i], l.Y[i]}
			if !math.IsNaN(l.Low[i]) {
				p[2], p[3] = l.Low[i], l.High[i]
			}
			s.Points = append(s.Points, p)
		}
		if len(s.Points) > 0 {
			curve.Chart.Series = append(curve.Chart.Series, s)
		}
	}
	printed := h.Report()
	curve.Notes = printed.Facts
	sections := []view.Section{curve}
	for _, s := range printed.Sections {
		one := onPage(view.ViewMeasured, s)
		one.Title = "Refinement of " + name + ": " + one.Title
		sections = append(sections, one)
	}
	return sections
}

func batches(name string, status *refine.Status) view.Section {
	s := view.Section{View: view.ViewMeasured, Title: "Refinement of " + name + ": batches",
		Table: &report.Table{Columns: []report.Column{text("batch"), text("chosen by"), number("items"), number("answers"),
			number("skipped"), text("reviewers"), text("merged"), number("conflicts")}}}
	for _, b := range status.Batches {
		by, merged := "the model to start from", "no"
		if b.Iteration >= 0 {
			by = "iteration " + refine.IterationName(b.Iteration)
		}
		if b.Merged {
			merged = "yes"
		}
		s.Table.Rows = append(s.Table.Rows, []any{b.ID, by, b.Items, total(b.Answers), total(b.Skipped),
			strings.Join(slices.Sorted(maps.Keys(b.Answers)), ", "), merged, b.Conflicts})
	}
	return s
}

func total(counts map[string]int) (sum int) {
	for _, n := range counts {
		sum += n
	}
	return sum
}
