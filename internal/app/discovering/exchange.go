package discovering

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/discover/clear"
	"github.com/erreval/erreval/discover/issues"
	"github.com/erreval/erreval/discover/qualjudge"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/plainjson"
	"github.com/erreval/erreval/internal/regularfile"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/internal/runrecord"
	"github.com/erreval/erreval/internal/wholefile"
	"github.com/erreval/erreval/internal/words"
)

// ImportIssues makes rows and a list of issues of another program's files.
type ImportIssues struct {
	Process   *run.Process
	File      string // results of CLEAR, or of the qualitative judge: its folder or report
	Member    string // ZIP file inside of File that is read; "" is File itself, or the only one
	Rows      run.Rows
	MaxRecord int // bytes that a row may take; 0 is 16 MiB
	Output    string
	Overwrite bool
	JSON      bool // prints the list as JSON, on standard output
}

// importRecord is the options part of OUT.run.json.
type importRecord struct {
	runrecord.Reading
	Program string `json:"program"`
	Member  string `json:"member,omitempty"`
}

// foreign are another program's files.
type foreign struct {
	program string
	files   []string
	id      string // column of the rows' ids
	columns func(*dataset.Row) map[string]string
	results interface {
		Read(ctx context.Context, visit func(*dataset.Row, *issues.Finding) error,
			reject func(*dataset.LineError) error) (*issues.List, error)
		Notes() []string
	}
	close func() error
}

// Run reads and writes.
func (i *ImportIssues) Run(ctx context.Context) (err error) {
	if err := dataset.CheckOutput(i.Output, i.Overwrite, i.File); err != nil {
		return err
	}
	from, err := i.open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.close()) }()
	options := &importRecord{Program: from.program, Member: i.Member, Reading: i.Rows.Reading}
	record, err := i.Rows.NewRecord("issues import", options, from.files...)
	if err != nil {
		return err
	}
	out, err := i.Rows.Create(i.Output, i.Overwrite, record, from.files...)
	if err != nil {
		return err
	}
	var faults []error
	list, err := from.results.Read(ctx, func(row *dataset.Row, _ *issues.Finding) error {
		if out.Rows() == 0 {
			record.Columns = from.columns(row)
			options.Columns = record.Columns
		}
		if options.ID == nil && row.GivenID() != "" && from.id != dataset.ColumnID {
			options.ID = []string{from.id}
		}
		return out.Write(row)
	}, func(fault *dataset.LineError) error {
		faults = append(faults, fault)
		return out.Reject(fault)
	})
	if err == nil {
		list.Task = i.Rows.Taxonomy.ID()
		err = list.Write(i.Output)
	}
	if err == nil {
		i.Process.Note(from.results.Notes())
		record.Notes, record.Counts = from.results.Notes(), countIssues(list, out)
	}
	if err := out.End(err); err != nil {
		return err
	}
	return errors.Join(i.publish(list), i.Process.WarnFaults(faults), unassigned(list, nil))
}

func (i *ImportIssues) publish(list *issues.List) error {
	switch {
	case i.JSON:
		return plainjson.Write(i.Process.Out, list)
	case i.Process.Quiet:
		return nil
	}
	i.Process.Warn("rows: %s; issues with examples: %s", i.Output, issues.Path(i.Output))
	return list.Summary().Text(run.Guard(i.Process.Out), i.Process.TerminalWidth())
}

// open tells by the file's first bytes whose it is.
func (i *ImportIssues) open() (*foreign, error) {
	o := dataset.Options{Limit: i.Rows.Limit, MaxRecord: i.MaxRecord}
	f, err := regularfile.Open(i.File)
	if err == nil && startsAsZip(f) {
		return i.openZIP(f, o)
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil && !errors.Is(err, syscall.EISDIR) {
		return nil, err
	}
	if i.Member != "" {
		return nil, exit.Usagef("--member goes with a ZIP file, and %s is none", i.File)
	}
	results, err := qualjudge.Open(i.File, o)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, exit.Usagef("%s holds no results: neither a ZIP file of CLEAR, nor %s with %s beside it", i.File,
			qualjudge.ReportFile, qualjudge.RowsFile)
	}
	if err != nil {
		return nil, err
	}
	return &foreign{program: qualjudge.Program, files: results.Files(), id: dataset.ColumnID, columns: qualjudge.Columns,
		results: results, close: func() error { return nil }}, nil
}

func (i *ImportIssues) openZIP(f *os.File, o dataset.Options) (*foreign, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	results, err := clear.Open(f, info.Size(), i.File, i.Member, o)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &foreign{program: clear.Program, files: []string{i.File}, id: clear.ColumnID, columns: clear.Columns,
		results: results, close: func() error { return errors.Join(results.Close(), f.Close()) }}, nil
}

func startsAsZip(f io.ReaderAt) bool {
	head := make([]byte, 2)
	_, err := f.ReadAt(head, 0)
	return err == nil && string(head) == "PK"
}

// ExportPrograms are those for which issues can be exported.
func ExportPrograms() []string { return []string{clear.Program, qualjudge.Program} }

// ExportIssues writes rows and their list of issues as another program's files.
type ExportIssues struct {
	Process   *run.Process
	Rows      run.Rows // how Input is read
	Input     string   // with its list beside it
	To        string   // one of ExportPrograms
	Output    string   // file, or folder of qualjudge.Program
	Overwrite bool
}

// exporter is a writer of another program's files.
type exporter interface {
	Write(*dataset.Row) error
	Close() error
	Notes() []string
}

// Run writes the files.
func (x *ExportIssues) Run(ctx context.Context) error {
	list, err := issues.Read(issues.Path(x.Input))
	if err != nil {
		return exit.With(exit.Usage, err)
	}
	if err := x.checkOutput(); err != nil {
		return err
	}
	texts := issues.NewTexts(x.Rows.Taxonomy, x.columns())
	rows := x.Rows
	if list.Source != nil { // these rows are as another program wrote them: they may lack texts that the task needs
		rows.Taxonomy = nil
	}
	var to exporter
	var faults []error
	fill := func(w io.Writer) error {
		var err error
		if x.To == clear.Program {
			name := strings.TrimSuffix(filepath.Base(x.Input), filepath.Ext(x.Input))
			to, err = clear.NewWriter(w, list, clear.WriterOptions{Texts: texts, Name: name})
		} else {
			to, err = qualjudge.NewWriter(w, list, texts)
		}
		if err != nil {
			return err
		}
		faults, err = rows.Each(ctx, x.Process, x.Input, to.Write)
		return errors.Join(err, to.Close())
	}
	if x.To == clear.Program {
		err = wholefile.Fill(x.Output, fill)
	} else {
		err = wholefile.Fill(filepath.Join(x.Output, qualjudge.RowsFile), fill)
	}
	if err != nil {
		return err
	}
	if w, ok := to.(*qualjudge.Writer); ok {
		if err := x.writeReport(w); err != nil {
			return err
		}
	}
	for _, note := range to.Notes() {
		x.Process.Warn("%s", words.Printable(note))
	}
	return x.Process.WarnFaults(faults)
}

// columns are those of fields that the rows have under another name.
func (x *ExportIssues) columns() map[string]string {
	columns := map[string]string{}
	if record, err := runrecord.Read(x.Input); err == nil {
		maps.Copy(columns, record.Columns)
	}
	maps.Copy(columns, x.Rows.Columns)
	return columns
}

// checkOutput refuses an output that is there, and makes the folder that one is.
func (x *ExportIssues) checkOutput() error {
	if x.To == clear.Program {
		return dataset.CheckOutput(x.Output, x.Overwrite, x.Input, issues.Path(x.Input))
	}
	if err := os.MkdirAll(x.Output, 0o777); err != nil {
		return err
	}
	var errs []error
	for _, name := range []string{qualjudge.RowsFile, qualjudge.ReportFile, qualjudge.ConfigFile} {
		errs = append(errs, dataset.CheckOutput(filepath.Join(x.Output, name), x.Overwrite, x.Input, issues.Path(x.Input)))
	}
	return errors.Join(errs...)
}

func (x *ExportIssues) writeReport(w *qualjudge.Writer) error {
	report, err := w.Report()
	if err != nil {
		return err
	}
	config, err := w.Config()
	if err != nil {
		return err
	}
	return errors.Join(wholefile.Write(filepath.Join(x.Output, qualjudge.ConfigFile), config),
		wholefile.Write(filepath.Join(x.Output, qualjudge.ReportFile), report))
}
