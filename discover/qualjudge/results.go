// Package qualjudge reads and writes the results of the qualitative judge (https://arxiv.org/abs/2506.09147). They are
// a folder with report.json, whose indexes are places among the analysed rows of intermediate_outputs.json, which were
// shuffled. docs/formats.md says what maps to what.
package qualjudge

import (
	"cmp"
	"context"
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

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/discover/issues"
	"github.com/erreval/erreval/internal/regularfile"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/llm/reply"
)

// Program is the qualitative judge's name in a list's Source.
const Program = "qualitative-judge"

// Files of a folder of results.
const (
	ReportFile = "report.json"
	RowsFile   = "intermediate_outputs.json"
	ConfigFile = "config.json" // how the run was called; may be missing
)

// maxReport is the most bytes of a report or a configuration, and maxIssues the most issues of a report.
const (
	maxReport = 64 << 20
	maxIssues = 5000
)

// Columns of the rows.
const (
	columnID        = "id"
	columnInput     = "user_input"
	columnReference = "label"
	columnResponse  = "response"
	columnAnalysis  = "analysis"
	columnTrace     = "analysis_trace"
)

// source is what the list of imported files says besides.
type source struct {
	Program string            `json:"program"` // Program
	Names   map[string]string `json:"names,omitempty"`
	Config  json.RawMessage   `json:"config,omitempty"`
}

// entry is an issue in a report.
type entry struct {
	Name        string `json:"error_name"`
	Description string `json:"error_description"`
	Count       int    `json:"count"`
	Indexes     []int  `json:"indexes"`
}

// Results are opened files of results.
type Results struct {
	folder  string
	path    string // of the report
	report  []entry
	list    *issues.List
	issueOf map[int][]int // places on the list, by place of an analysed row
	said    []string
	options dataset.Options
}

// Open reads the report in a folder, or that of the path itself, beside which the rows have to be. Of o, the limits
// hold.
func Open(path string, o dataset.Options) (*Results, error) {
	r := &Results{folder: path, issueOf: map[int][]int{}, options: dataset.Options{Limit: o.Limit,
		MaxRecord: o.MaxRecord, TempDir: o.TempDir}}
	report := filepath.Join(path, ReportFile)
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		report, r.folder = path, filepath.Dir(path)
	}
	r.path = report
	data, err := regularfile.Read(report, maxReport)
	if err == nil {
		r.report, err = parseReport(data)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", report, err)
	}
	if _, err := os.Stat(r.rowsPath()); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: the numbers in it are places in %s, which is not beside it; put it there, since they "+
			"mean nothing without it", report, RowsFile)
	}
	if err := r.makeList(); err != nil {
		return nil, fmt.Errorf("%s: %w", report, err)
	}
	return r, nil
}

func (r *Results) rowsPath() string { return filepath.Join(r.folder, RowsFile) }

// Files are those that are read.
func (r *Results) Files() []string { return []string{r.path, r.rowsPath()} }

// Columns are those that hold the fields of the task "response", as far as the row has texts in them.
func Columns(row *dataset.Row) map[string]string {
	return issues.TextColumns(row, map[string][]string{"input": {columnInput}, "reference": {columnReference}})
}

// Notes say what was assumed; they are complete after Read.
func (r *Results) Notes() []string { return r.said }

// parseReport reads issues by number, as the cumulative way of the judge writes them, as a list, or under "summary".
func parseReport(data []byte) ([]entry, error) {
	var byKey map[string]json.RawMessage
	var list []json.RawMessage
	if err := json.Unmarshal(data, &byKey); err != nil && json.Unmarshal(data, &list) != nil {
		return nil, fmt.Errorf("no report, as the qualitative judge writes it: %w", err)
	}
	if raw, ok := byKey["summary"]; ok && len(byKey) == 1 {
		byKey = nil
		if err := json.Unmarshal(raw, &byKey); err != nil {
			return nil, fmt.Errorf("no report, as the qualitative judge writes it: \"summary\": %w", err)
		}
	}
	keys := slices.SortedFunc(maps.Keys(byKey), func(a, b string) int {
		n, errN := strconv.Atoi(a)
		m, errM := strconv.Atoi(b)
		if errN == nil && errM == nil {
			return cmp.Or(cmp.Compare(n, m), cmp.Compare(a, b))
		}
		return cmp.Compare(a, b)
	})
	for _, key := range keys {
		list = append(list, byKey[key])
	}
	if len(list) > maxIssues {
		return nil, fmt.Errorf("it has %d issues, more than %d", len(list), maxIssues)
	}
	entries := make([]entry, len(list))
	for i, raw := range list {
		var e struct {
			entry
			Examples int `json:"num_examples"` // in place of the count, where all was asked at once
		}
		if err := json.Unmarshal(raw, &e); err != nil {
			return nil, fmt.Errorf("issue %d: %w", i, err)
		}
		if e.Name = strings.TrimSpace(e.Name); e.Name == "" {
			return nil, fmt.Errorf("issue %d has no \"error_name\"", i)
		}
		e.Count = cmp.Or(e.Count, e.Examples)
		entries[i] = e.entry
	}
	return entries, nil
}

// makeList gives the issues ids, and those of equal names another.
func (r *Results) makeList() error {
	s := source{Program: Program, Names: map[string]string{}}
	l := &issues.List{Format: issues.Format, Analysis: Program}
	names, ids := map[string]int{}, map[string]bool{}
	for n, e := range r.report {
		name, first := e.Name, issues.Fold(e.Name)
		for names[issues.Fold(name)] > 0 {
			names[first]++
			name = fmt.Sprintf("%s (%d)", e.Name, names[first])
		}
		names[issues.Fold(name)] = 1
		id := issues.NewID(name, func(id string) bool { return ids[id] })
		ids[id] = true
		if name != e.Name {
			s.Names[id] = e.Name
			r.said = append(r.said, fmt.Sprintf("%s: two issues have the name %q; one is %q here", r.folder, e.Name, name))
		}
		l.Issues = append(l.Issues, issues.Issue{ID: id, Name: name, Description: e.Description})
		for _, index := range e.Indexes {
			if index < 0 {
				return fmt.Errorf("issue %q has the index %d; they begin with 0", e.Name, index)
			}
			if of := r.issueOf[index]; len(of) == 0 || of[len(of)-1] != n {
				r.issueOf[index] = append(of, n)
			}
		}
		if e.Count != len(e.Indexes) {
			r.said = append(r.said, fmt.Sprintf("%s: issue %q says it has %d rows, and lists %d", r.folder, e.Name, e.Count,
				len(e.Indexes)))
		}
	}
	config, err := regularfile.Read(filepath.Join(r.folder, ConfigFile), maxReport)
	if err == nil && json.Valid(config) {
		s.Config = config
	}
	r.list = l
	l.Source, err = json.Marshal(s)
	return err
}

// Read gives each row, in the order of its file, with its finding, which stands in its column too, and what is no row.
// It returns the list, without Task.
func (r *Results) Read(ctx context.Context, visit func(*dataset.Row, *issues.Finding) error,
	reject func(*dataset.LineError) error) (*issues.List, error) {
	f, err := regularfile.Open(r.rowsPath())
	if err != nil {
		return nil, err
	}
	defer f.Close()
	items := newItems(f)
	ids := make([]string, len(r.list.Issues))
	for n := range r.list.Issues {
		ids[n] = r.list.Issues[n].ID
	}
	tally := issues.NewTally(r.list)
	in := dataset.NewReader(items, r.rowsPath(), r.options)
	defer in.Close()
	rejectItem := func(fault *dataset.LineError) error { fault.Unit = "item"; return reject(fault) }
	for row, err := range dataset.Rows(ctx, in.Read, rejectItem) {
		if err != nil {
			return nil, err
		}
		if issues.CellText(row, columnID) == "" {
			row.ID = strconv.Itoa(row.Line - 1)
			if err := row.Set(columnID, row.ID); err != nil {
				return nil, err
			}
		}
		finding := &issues.Finding{Analysis: issues.CellText(row, columnAnalysis)}
		place := items.places[row.Line-1]
		for _, n := range r.issueOf[place] {
			finding.IDs = append(finding.IDs, ids[n])
		}
		switch {
		case place < 0:
			finding.Status, finding.Reason = issues.Unassigned, issues.Unanalysed
		case finding.IDs == nil:
			finding.Status, finding.Reason = issues.Unassigned, reply.Missing+": in no issue of "+ReportFile
		default:
			finding.Status = issues.Assigned
		}
		tally.Add(row.ID, finding)
		if err := errors.Join(finding.Set(row), visit(row, finding)); err != nil {
			return nil, err
		}
	}
	tally.Finish()
	return r.list, r.checkPlaces(items)
}

// checkPlaces finds a report that is not of these rows.
func (r *Results) checkPlaces(items *items) error {
	if r.options.Limit > 0 {
		return nil
	}
	for index, of := range r.issueOf {
		if index >= items.analysed {
			return fmt.Errorf("%s: issue %q has the index %d, and %s has %s: they are of two runs",
				r.path, r.report[of[0]].Name, index, RowsFile,
				words.Plural(items.analysed, "analysed row", "analysed rows"))
		}
	}
	if items.debug {
		r.said = append(r.said, r.rowsPath()+": \"clustering_debug\" is not kept")
	}
	return nil
}
