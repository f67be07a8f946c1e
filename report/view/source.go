package view

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
	"strings"
	"time"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/discover/clear"
	"github.com/erreval/erreval/discover/issues"
	"github.com/erreval/erreval/internal/regularfile"
	"github.com/erreval/erreval/internal/runrecord"
	"github.com/erreval/erreval/pairwise/verdicts"
	"github.com/erreval/erreval/report"
	"github.com/erreval/erreval/taxonomy"
)

// source is one file of rows with what its record says.
type source struct {
	input
	record  *runrecord.Record // nil: none
	reading struct {
		runrecord.Reading
		Thresholds map[string]float64 `json:"thresholds"`
		Judge      json.RawMessage    `json:"judge"`
	}
	list    *issues.List // nil: none
	rows    dataset.Options
	columns map[string]string // field to column, where the names differ
	about   clear.About       // of a file of CLEAR
	first   *dataset.Row      // nil: there is none

	others     map[string]string // columns of fields that another source's record names, for one without a record
	repeated   map[string]bool   // ids of rows that are read from another source
	readFrom   *source           // that source; nil: none
	origin     *source           // all of whose rows are read from this one, and no others; nil: none
	file       string            // its own name, where it goes by that of its first origin
	said       []string          // what was assumed about its storage, and cut of rows
	unlabelled int               // tagged rows without even the label for no error
	lacks      error             // what the file lacks of the task's columns; nil: nothing
}

// openSource reads what lies beside a file. What cannot be read is noted: the rows can be looked at without.
func openSource(in input) (s *source, note string) {
	s = &source{input: in}
	s.record = runrecord.ReadOptions(in.path, &s.reading)
	if s.record != nil && !s.isZIP && !s.record.IsOf(in.path) {
		note = in.name + ": " + runrecord.Changed
	}
	list, err := issues.Read(issues.Path(in.path))
	if err == nil {
		s.list = list
	} else if !errors.Is(err, fs.ErrNotExist) {
		note = fmt.Sprintf("%s: the list of its issues cannot be read: %v", in.name, err)
	}
	return s, note
}

// chooseTask finds the taxonomy of the rows where none is given. It may be nil.
func chooseTask(ctx context.Context, sources []*source, o *Options) (t *taxonomy.Taxonomy, note string, err error) {
	if o.Taxonomy != nil {
		return o.Taxonomy, "", nil
	}
	unknown := ""
	for _, s := range sources {
		id := ""
		if s.isZIP {
			id = "response"
		} else if s.record != nil && s.record.Taxonomy != nil {
			id = s.record.Taxonomy.ID
		} else if row, err := s.peekWith(ctx, o, nil); err == nil && row != nil {
			if d, err := row.Diagnosis(); err == nil && d != nil {
				id = d.Taxonomy
			}
		}
		name, _, _ := strings.Cut(id, "@")
		if slices.Contains(taxonomy.Builtins(), name) {
			t, err := taxonomy.Builtin(name)
			return t, "", err
		}
		unknown = cmp.Or(unknown, id)
	}
	if unknown != "" {
		return nil, fmt.Sprintf("the rows are of the taxonomy %s, which is not built in: give its file with --taxonomy",
			unknown), nil
	}
	all, err := taxonomy.OpenBuiltins()
	if err != nil {
		return nil, "", err
	}
	for _, s := range sources {
		for _, t := range all {
			if row, err := s.peekWith(ctx, o, t); err == nil && row != nil {
				return t, "", nil
			}
		}
	}
	return nil, "no taxonomy has the columns of the rows: --taxonomy and --map say what they are; erreval identify " +
		"makes a file with errors", nil
}

// options are those to read the rows with.
func (s *source) options(o *Options, t *taxonomy.Taxonomy) dataset.Options {
	opt := dataset.Options{Taxonomy: t, Map: o.Columns, OwnNames: true, ID: o.ID, TempDir: o.TempDir, Clip: true}
	opt.Format, _ = dataset.FormatOf(s.path)
	opt.Recorded = s.others
	if s.record != nil {
		opt.Recorded, opt.RecordedID = s.record.ReadFrom(&s.reading.Reading)
	}
	return opt
}

// peek reads the first row as rows says. It is nil where there is none.
func (s *source) peek(ctx context.Context, o *Options) (first *dataset.Row, err error) {
	if s.isZIP {
		stop := errors.New("enough")
		_, err = s.eachOfZIP(ctx, o, func(row *dataset.Row) error {
			first = row
			return stop
		}, dataset.Skip)
		if errors.Is(err, stop) {
			s.columns = clear.Columns(first)
			return first, nil
		}
		return nil, err
	}
	in, err := dataset.Open(s.path, s.rows)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	first, err = dataset.First(in.Read)
	s.columns = in.Columns()
	return first, err
}

func (s *source) peekWith(ctx context.Context, o *Options, t *taxonomy.Taxonomy) (*dataset.Row, error) {
	s.rows = s.options(o, t)
	return s.peek(ctx, o)
}

// prepareReading finds out how the rows are read: with the task where the file has its columns, those that the user
// named or, in a file without these, its own; else without.
func (s *source) prepareReading(ctx context.Context, o *Options, t *taxonomy.Taxonomy) (err error) {
	own := *o
	own.Columns, own.ID = nil, nil
	for _, try := range []dataset.Options{s.options(o, t), s.options(&own, t), s.options(&own, nil)} {
		s.rows = try
		s.first, err = s.peek(ctx, o)
		if _, lacks := errors.AsType[*dataset.ColumnsError](err); !lacks {
			return err
		}
		s.lacks = cmp.Or(s.lacks, err)
	}
	return err
}

// textsNote says that rows with errors are read without their texts, or "".
func (s *source) textsNote() string {
	if s.rows.Taxonomy != nil || s.lacks == nil || s.first == nil {
		return ""
	}
	if _, tagged := s.first.Get(dataset.ColumnDiagnosis); !tagged {
		return ""
	}
	return fmt.Sprintf("%v; without it no texts are shown, and intervals take each row for a group of its own", s.lacks)
}

// missingNote says of a tagged file that people may have changed in another program that it has no record, or "".
func (s *source) missingNote() string {
	if s.record != nil || s.first == nil {
		return ""
	}
	format, _ := dataset.FormatOf(s.path)
	if _, tagged := s.first.Get(dataset.ColumnDiagnosis); !tagged || !format.IsEdited() {
		return ""
	}
	return runrecord.Missing
}

// idColumns are columns that are not offered as facets: those of ids, and of CLEAR's those that its issues stand in.
func (s *source) idColumns(o *Options) []string {
	if s.isZIP {
		return []string{clear.ColumnID, "recurring_issues", "recurring_issues_str"}
	}
	return append(slices.Clone(o.ID), s.rows.RecordedID...)
}

// isOurs tells whether anything says that these are rows: a record, the task's columns, or columns that erreval writes.
func (s *source) isOurs() bool {
	if s.record != nil || s.isZIP || s.rows.Taxonomy != nil || s.first == nil {
		return true
	}
	return slices.ContainsFunc([]string{dataset.ColumnDiagnosis, dataset.ColumnScores, issues.Column, verdicts.Column,
		dataset.ColumnLabels}, func(name string) bool { _, there := s.first.Get(name); return there })
}

// each calls visit for every row, in order, and reject for every line that is none.
func (s *source) each(ctx context.Context, o *Options, visit func(*dataset.Row) error,
	reject func(*dataset.LineError) error) error {
	if s.isZIP {
		list, err := s.eachOfZIP(ctx, o, visit, reject)
		s.list = list
		return err
	}
	in, err := dataset.Open(s.path, s.rows)
	if err != nil {
		return err
	}
	defer in.Close()
	err = dataset.Each(ctx, in.Read, reject, visit)
	s.said = nil
	for _, note := range in.StorageNotes() { // there is no --sheet where several files are shown
		s.said = append(s.said, strings.Replace(note, "--sheet names another", "save the others as files of their own", 1))
	}
	if note := in.ClipNote(); note != "" {
		s.said = append(s.said, note)
	}
	return err
}

func (s *source) eachOfZIP(ctx context.Context, o *Options, visit func(*dataset.Row) error,
	reject func(*dataset.LineError) error) (*issues.List, error) {
	f, err := regularfile.Open(s.path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	results, err := clear.Open(f, info.Size(), s.path, "", dataset.Options{TempDir: o.TempDir})
	if err != nil {
		return nil, err
	}
	defer results.Close()
	s.about = results.About()
	return results.Read(ctx, func(row *dataset.Row, _ *issues.Finding) error { return visit(row) }, reject)
}

// describe makes the run as far as it is known before its rows are read.
func (s *source) describe(o *Options) (Run, File) {
	run := Run{Name: s.name, Columns: s.columns, Facts: []Fact{}}
	file := File{Name: s.name, Path: s.path, Columns: s.columns}
	if abs, err := filepath.Abs(s.path); err == nil {
		file.Path = abs
	}
	if info, err := os.Stat(s.path); err == nil {
		file.Size, file.Time = info.Size(), info.ModTime()
	}
	if s.isZIP {
		for _, f := range []Fact{{"Made by", "CLEAR"}, {"Run name", s.about.Name}, {"Generator", s.about.Generator},
			{"Judge", s.about.Judge}} {
			if f.Value != "" {
				run.Facts = append(run.Facts, f)
			}
		}
	}
	model := ""
	if s.first != nil {
		if d, err := s.first.Diagnosis(); err == nil && d != nil {
			model = d.Model
		}
	}
	if r := s.record; r != nil {
		run.Command, run.Rejected, run.Facts = r.Command, max(0, r.Counts["rejected"]), s.facts()
		if file.Command = r.Command; r.Taxonomy != nil {
			file.Taxonomy = r.Taxonomy.ID
		}
		if r.Model != nil {
			model = r.Model.ID
		}
	}
	thresholds := s.reading.Thresholds
	if thresholds == nil && o.Thresholds != nil && model != "" {
		thresholds = o.Thresholds(model)
	}
	for name, t := range thresholds {
		if run.Thresholds == nil {
			run.Thresholds = map[string]report.Number{}
		}
		run.Thresholds[name] = report.Number(t)
	}
	return run, file
}

// facts are what a record says, for people.
func (s *source) facts() []Fact {
	r := s.record
	facts := []Fact{}
	add := func(name, format string, args ...any) {
		facts = append(facts, Fact{name, fmt.Sprintf(format, args...)})
	}
	if s.file != "" {
		add("File", "%s", s.file)
	}
	if r.Model != nil {
		add("Model", "%s", r.Model.ID)
	}
	if r.Taxonomy != nil {
		add("Taxonomy", "%s", r.Taxonomy.ID)
	}
	if judges := judgeNames(s.reading.Judge); len(judges) > 0 {
		add("Judge", "%s", strings.Join(judges, ", "))
	}
	facts = append(facts, usageFacts(r.Usage)...)
	if !r.Started.IsZero() {
		add("Started", "%s", r.Started.UTC().Format(time.RFC3339))
		if took := r.Ended.Sub(r.Started); took > 0 {
			add("Took", "%s", took.Round(time.Millisecond))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Counts)) {
		if n := r.Counts[name]; name == "untagged" || name == "unscored" || name == "unassigned" || name == "unjudged" {
			add(strings.ToUpper(name[:1])+name[1:], "%d", n)
		}
	}
	if r.Stopped != "" {
		add("Stopped", "%s", r.Stopped)
	}
	if build := r.Tool.String(); build != "" {
		add("Build", "%s", build)
	}
	return facts
}

// judgeNames reads a name or a list of names.
func judgeNames(raw json.RawMessage) (names []string) {
	var name string
	switch {
	case json.Unmarshal(raw, &name) == nil && name != "":
		return []string{name}
	case json.Unmarshal(raw, &names) == nil:
		return names
	}
	return nil
}

// usageFacts are calls, tokens and cost of a run that asked models.
func usageFacts(usage any) (facts []Fact) {
	var u struct {
		Journal struct {
			Calls  float64 `json:"calls"`
			Input  float64 `json:"input_tokens"`
			Output float64 `json:"output_tokens"`
			Cost   float64 `json:"cost"`
		} `json:"journal"`
		Currency string                     `json:"currency"`
		Prices   map[string]json.RawMessage `json:"prices"` // null where it is not known
	}
	data, err := json.Marshal(usage)
	if err != nil || json.Unmarshal(data, &u) != nil || u.Journal.Calls == 0 {
		return nil
	}
	cost := strings.TrimSpace(fmt.Sprintf("%.4f %s", u.Journal.Cost, u.Currency))
	for _, price := range u.Prices {
		if string(price) == "null" {
			cost = "not known"
		}
	}
	return []Fact{{"Calls", fmt.Sprintf("%.0f", u.Journal.Calls)},
		{"Tokens", fmt.Sprintf("%.0f in, %.0f out", u.Journal.Input, u.Journal.Output)},
		{"Cost", cost}}
}
