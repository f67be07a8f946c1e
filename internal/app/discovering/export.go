package discovering

import (
	"context"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/discover/clear"
	"github.com/erreval/erreval/discover/issues"
	"github.com/erreval/erreval/discover/qualjudge"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/internal/runrecord"
	"github.com/erreval/erreval/internal/wholefile"
	"github.com/erreval/erreval/internal/words"
)

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
