package reporting

import (
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/words"
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
	left := dataset.RejectedPath(w.Path(refine.PoolFile))
	if info, err := os.Stat(left); err == nil && info.Size() > 0 {
		m.notes = append(m.notes, words.Printable(r.Name+": its pool lacks the rows in "+filepath.Base(left)+
			", most of which have the text of another row: shares are those of the pool, not of all rows given"))
	}
	h, err := w.History()
	if err != nil {
		m.note(r, "batches and no learning curve", err)
		return
	}
	var made []view.Section
	if len(h.Iterations) > 0 {
		made = append(made, curve(h))
	}
	printed := h.Report()
	for _, s := range printed.Sections {
		made = append(made, onPage(view.ViewMeasured, s))
	}
	made[0].Notes = slices.Concat(printed.Facts, made[0].Notes)
	for i := range made {
		made[i].Title = "Refinement of " + r.Name + ": " + made[i].Title
	}
	m.sections = append(m.sections, made...)
}

// curve is the learning curve.
func curve(h *refine.History) view.Section {
	s := view.Section{View: view.ViewMeasured, Title: "learning curve",
		Chart: &view.Chart{Kind: "lines", X: "iteration", Y: "share"}}
	for _, l := range h.Curves() {
		one := view.Series{Name: l.Name}
		for i, x := range l.X {
			if math.IsNaN(l.Y[i]) {
				continue
			}
			p := [4]float64{x, l.Y[i], l.Y[i], l.Y[i]}
			if !math.IsNaN(l.Low[i]) {
				p[2], p[3] = l.Low[i], l.High[i]
			}
			one.Points = append(one.Points, p)
		}
		if len(one.Points) > 0 {
			s.Chart.Series = append(s.Chart.Series, one)
		}
	}
	return s
}
