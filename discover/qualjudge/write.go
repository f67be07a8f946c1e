package qualjudge

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/discover/issues"
	"github.com/erreval/erreval/internal/words"
)

// Order says what indexes of a written report mean.
const Order = "indexes in " + ReportFile + " are places, from 0, among the rows of " + RowsFile +
	" that have an analysis; the rows stand in the order of erreval's file"

// Writer writes the rows of a list, and then its report.
type Writer struct {
	out    io.Writer
	texts  issues.Texts
	list   *issues.List
	source source
	report []entry
	at     map[string]int // issues by id
	rows   int
	places int
	losses *issues.Losses
	none   int // rows without an issue
	lost   int // unassigned rows
	named  int // rows whose analysis is the names of their issues
}

// NewWriter writes the rows of a list, as in RowsFile, to w; texts are those of rows without user_input, label and
// response.
func NewWriter(w io.Writer, list *issues.List, texts issues.Texts) (*Writer, error) {
	out := &Writer{out: w, texts: texts, list: list, at: map[string]int{}, losses: issues.NewLosses(list, false)}
	var s source
	if list.Source != nil && json.Unmarshal(list.Source, &s) == nil && s.Program == Program {
		out.source = s
	}
	for n, issue := range list.Issues {
		name := issue.Name
		if given := out.source.Names[issue.ID]; given != "" {
			name = given
		}
		out.report = append(out.report, entry{Name: name, Description: issue.Description, Indexes: []int{}})
		out.at[issue.ID] = n
	}
	_, err := io.WriteString(w, "{\"per_instance_analysis\": [")
	return out, err
}

// Write writes a row with its finding; rows without an issue are left out, as the judge does.
func (w *Writer) Write(row *dataset.Row) error {
	f, err := issues.Of(row)
	if err != nil {
		return err
	}
	if f == nil {
		f = &issues.Finding{Status: issues.Unassigned, Reason: issues.Unanalysed}
	}
	analysis := cmp.Or(f.Analysis, f.Evaluation)
	lost := *f
	if lost.Evaluation == analysis {
		lost.Evaluation = ""
	}
	w.losses.Add(&lost, true)
	switch f.Status {
	case issues.None:
		w.none++
		return nil
	case issues.Unassigned:
		w.lost++
	}
	var names []string
	for _, id := range f.IDs {
		n, ok := w.at[id]
		if !ok {
			return fmt.Errorf("row %s has the issue %q, which is not on the list", row.ID, id)
		}
		w.report[n].Indexes = append(w.report[n].Indexes, w.places)
		w.report[n].Count++
		names = append(names, w.list.Issues[n].Name)
	}
	if analysis == "" && names != nil {
		w.named++
	}
	return w.write(row, cmp.Or(analysis, strings.Join(names, "; ")))
}

func (w *Writer) write(row *dataset.Row, analysis string) error {
	without := []string{issues.Column}
	if analysis == "" {
		without = append(without, columnAnalysis)
	}
	out, err := issues.RowWithout(row, without...)
	if err != nil {
		return err
	}
	var errs []error
	if analysis != "" {
		w.places++
		if issues.CellText(out, columnAnalysis) != analysis {
			errs = append(errs, out.Set(columnAnalysis, analysis))
		}
	}
	for _, c := range []struct {
		name  string
		value any
	}{{columnID, row.ID}, {columnInput, w.texts.Input(row)}, {columnReference, issues.CellText(row, w.texts.Reference)},
		{columnResponse, issues.CellText(row, w.texts.Response)}, {columnTrace, struct{}{}}} {
		if !slices.Contains(out.Columns(), c.name) {
			errs = append(errs, out.Set(c.name, c.value))
		}
	}
	comma := ",\n"
	if w.rows++; w.rows == 1 {
		comma = "\n"
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	_, err = io.WriteString(w.out, comma+string(out.JSON()))
	return err
}

// Close ends the rows.
func (w *Writer) Close() error {
	_, err := io.WriteString(w.out, "\n], \"clustering_debug\": []}\n")
	return err
}

// Report is the content of ReportFile, once all rows are written.
func (w *Writer) Report() ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("{")
	for n := range w.report {
		if n > 0 {
			b.WriteString(",")
		}
		fmt.Fprintf(&b, "\n  \"%d\": ", n)
		data, err := json.Marshal(&w.report[n])
		if err != nil {
			return nil, err
		}
		b.Write(data)
	}
	b.WriteString("\n}\n")
	return b.Bytes(), nil
}

// Config is the content of ConfigFile: that of the files that the list comes from, else what indexes mean.
func (w *Writer) Config() ([]byte, error) {
	if w.source.Config != nil {
		return w.source.Config, nil
	}
	return json.MarshalIndent(map[string]string{"written_by": "erreval", "order": Order}, "", "  ")
}

// Notes say what the files cannot hold, and what was made in its place; they are complete after Close.
func (w *Writer) Notes() (notes []string) {
	notes = append(notes, Order)
	if lost := w.losses.String(); lost != "" {
		notes = append(notes, "the qualitative judge's files cannot hold, and lack: "+lost)
	}
	if w.none > 0 {
		notes = append(notes, fmt.Sprintf("%s no issue: left out, as the qualitative judge does",
			words.Plural(w.none, "row has", "rows have")))
	}
	if w.lost > 0 {
		notes = append(notes, fmt.Sprintf("%s unassigned: in the rows, but in no issue, and without the reason",
			words.Plural(w.lost, "row is", "rows are")))
	}
	if w.named > 0 {
		notes = append(notes, fmt.Sprintf("%s no analysis, without which a row has no place: the names of issues stand "+
			"there", words.Plural(w.named, "row has", "rows have")))
	}
	return notes
}
