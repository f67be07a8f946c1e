package clear

import (
	"archive/zip"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/discover/issues"
	"github.com/erreval/erreval/internal/words"
)

// WriterOptions say how a file is written.
type WriterOptions struct {
	Texts   issues.Texts // of rows without the columns model_input, response and ground_truth
	Name    string       // of the run, for the dashboard
	TempDir string       // for rows on their way; "" is the system's
}

// Writer writes a file of results. Nothing is whole before Close.
type Writer struct {
	o       WriterOptions
	zip     *zip.Writer
	rows    dataset.Sink
	names   map[string]string // of issues, by id
	numbers map[string]int
	k       *catalogue
	source  *source  // of a list that was imported from CLEAR, or nil
	inputs  []string // columns that the dashboard shows as inputs
	losses  *issues.Losses
	scored  int // rows whose score was made
	hidden  int // unassigned rows, without a score
}

// NewWriter writes the rows of a list to w.
func NewWriter(w io.Writer, list *issues.List, o WriterOptions) (*Writer, error) {
	out := &Writer{o: o, zip: zip.NewWriter(w), names: map[string]string{}, numbers: map[string]int{},
		losses: issues.NewLosses(list, true), k: &catalogue{idOf: map[string]string{}, byNumber: map[int]string{}}}
	var s source
	if list.Source != nil && json.Unmarshal(list.Source, &s) == nil && s.Program == Program {
		out.source = &s
		m, err := readMetadata(s.Metadata)
		if err != nil {
			return nil, fmt.Errorf("the list's source has no metadata that can be read: %w", err)
		}
		out.k.highScore, out.k.fullText = m.highScore, m.fullText
	}
	out.number(list, &s)
	results, err := out.zip.CreateHeader(&zip.FileHeader{Name: "results.parquet", Method: zip.Store})
	if err != nil {
		return nil, err
	}
	out.rows, err = dataset.NewSink(results, dataset.Format{Name: dataset.Parquet},
		dataset.SinkOptions{Brotli: true, TempDir: o.TempDir})
	return out, err
}

// number gives the issues their numbers: those of the file they come from, else their places, as far as these are free.
func (w *Writer) number(list *issues.List, s *source) {
	for _, issue := range list.Issues {
		w.names[issue.ID], w.k.idOf[issue.Name] = issue.Name, issue.ID
		if n := s.Numbers[issue.ID]; n > 0 && w.k.byNumber[n] == "" {
			w.numbers[issue.ID], w.k.byNumber[n] = n, issue.Name
		}
	}
	next := 1
	for _, issue := range list.Issues {
		if w.numbers[issue.ID] > 0 {
			continue
		}
		for w.k.byNumber[next] != "" {
			next++
		}
		w.numbers[issue.ID], w.k.byNumber[next] = next, issue.Name
	}
}

// Write writes a row with its finding.
func (w *Writer) Write(row *dataset.Row) error {
	f, err := issues.Of(row)
	if err != nil {
		return err
	}
	if f == nil {
		f = &issues.Finding{Status: issues.Unassigned, Reason: issues.Unanalysed}
	}
	out, err := issues.RowWithout(row, issues.Column)
	if err != nil {
		return err
	}
	out.ID = row.ID
	w.losses.Add(f, false)
	if w.inputs == nil {
		w.inputs = w.inputsOf(out)
	}
	if err := w.setTexts(out); err != nil {
		return err
	}
	if !w.says(out, f) {
		if err := w.setFinding(out, f); err != nil {
			return err
		}
	}
	return w.rows.Write(out)
}

// inputsOf are the columns of the inputs that have no place of their own.
func (w *Writer) inputsOf(row *dataset.Row) []string {
	inputs := []string{}
	for _, in := range w.o.Texts.Inputs {
		if _, there := row.Get(in.Column); there && in.Column != columnInput {
			inputs = append(inputs, in.Column)
		}
	}
	return inputs
}

// setTexts sets the columns of texts that the row lacks.
func (w *Writer) setTexts(out *dataset.Row) error {
	t := &w.o.Texts
	var errs []error
	for _, c := range []struct{ name, value string }{{ColumnID, out.ID}, {columnInput, t.Input(out)},
		{columnResponse, issues.CellText(out, t.Response)}, {columnReference, issues.CellText(out, t.Reference)}} {
		if _, there := out.Get(c.name); !there {
			errs = append(errs, out.Set(c.name, orNull(c.value)))
		}
	}
	return errors.Join(errs...)
}

// says tells whether the row's cells, as they are, say what the finding says.
func (w *Writer) says(out *dataset.Row, f *issues.Finding) bool {
	if _, there := out.Get(columnNames); !there || w.source == nil {
		return false
	}
	g := w.k.finding(readCells(out))
	score := f.Score == nil && g.Score == nil || f.Score != nil && g.Score != nil && *f.Score == *g.Score
	return score && f.Status == g.Status && slices.Equal(f.IDs, g.IDs) && f.Reason == g.Reason &&
		f.Analysis == g.Analysis && f.Evaluation == g.Evaluation
}

// setFinding sets the columns about issues. The dashboard leaves out rows without a score and takes all others without
// an issue for good ones: a row of which nothing is known gets none, and all others get one.
func (w *Writer) setFinding(out *dataset.Row, f *issues.Finding) error {
	score, numbers, names := f.Score, []int{}, []string{}
	switch {
	case f.Status == issues.Unassigned:
		score = nil
		w.hidden++
	case score == nil:
		made := 0.0
		if f.Status == issues.None {
			made = 1
		}
		score = &made
		w.scored++
	}
	ids := slices.Clone(f.IDs)
	slices.SortFunc(ids, func(a, b string) int { return cmp.Compare(w.numbers[a], w.numbers[b]) })
	for _, id := range ids {
		if w.numbers[id] == 0 {
			return fmt.Errorf("row %s has the issue %q, which is not on the list", out.ID, id)
		}
		numbers, names = append(numbers, w.numbers[id]), append(names, w.names[id])
	}
	list, err := jsonList(names)
	messages := "[]"
	if f.Status == issues.Unassigned {
		messages = pythonTexts([]string{f.Reason})
	}
	return errors.Join(err, out.Set(ColumnScore, double(score)), out.Set(columnEvaluation, orNull(f.Evaluation)),
		out.Set(columnSummary, orNull(f.Analysis)), out.Set(columnNumbers, pythonNumbers(numbers)),
		out.Set(columnNames, list), out.Set(columnError, messages))
}

// double always has a point or an exponent, so that the column is one of doubles, as CLEAR's is.
func double(n *float64) any {
	if n == nil {
		return nil
	}
	text := strconv.FormatFloat(*n, 'g', -1, 64)
	if !strings.ContainsAny(text, ".e") {
		text += ".0"
	}
	return json.RawMessage(text)
}

func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// Close writes what is left.
func (w *Writer) Close() error {
	if err := w.rows.Close(); err != nil {
		return err
	}
	metadata := []byte(nil)
	if w.source != nil {
		metadata = w.source.Metadata
	} else {
		var err error
		metadata, err = json.MarshalIndent(map[string]any{"run_name": w.o.Name, "task": "general",
			"input_columns": slices.Concat([]string{}, w.inputs), "high_score_threshold": 0, "written_by": "erreval"}, "", "  ")
		if err != nil {
			return err
		}
	}
	out, err := w.zip.CreateHeader(&zip.FileHeader{Name: "metadata.json", Method: zip.Store})
	if err != nil {
		return err
	}
	if _, err := out.Write(metadata); err != nil {
		return err
	}
	return w.zip.Close()
}

// Notes say what CLEAR's results cannot hold, and what was made in its place; they are complete after Close.
func (w *Writer) Notes() (notes []string) {
	if lost := w.losses.String(); lost != "" {
		notes = append(notes, "CLEAR's results cannot hold, and lack: "+lost)
	}
	if w.scored > 0 {
		notes = append(notes, fmt.Sprintf("%s no score, without which CLEAR's dashboard leaves a row out: 0 with an issue, "+
			"1 without stands there", words.Plural(w.scored, "row has", "rows have")))
	}
	if w.hidden > 0 {
		notes = append(notes, fmt.Sprintf("%s unassigned: without a score, so that the dashboard leaves them out and does "+
			"not count them as right, and with the reason in the column error", words.Plural(w.hidden, "row is", "rows are")))
	}
	return notes
}
