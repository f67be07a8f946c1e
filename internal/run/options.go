package run

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/runrecord"
	"github.com/erreval/erreval/internal/storage"
	"github.com/erreval/erreval/internal/wholefile"
)

// Options are what every row command takes.
type Options struct {
	Inputs    []string // files of rows, or Stdio
	Output    string   // file, folder, Stdio, or "" for none
	Files     FileOptions
	Map       []string // FIELD=COLUMN; Run.NameColumns makes Columns of it
	IDFlag    string   // COLUMN, COLUMN,COLUMN or none; New makes ID of it
	Shard     string   // I/N; "" is all rows
	Overwrite bool
	Resume    bool
	Flush     bool   // a worker: each line of standard input is answered on standard output, in its place
	GoOn      string // what to type after an interruption; "" is the line as typed, with --resume
	runrecord.Reading
}

// Validate reports every fault of o that can be told without looking at files.
func (o *Options) Validate() error {
	stdin := slices.DeleteFunc(slices.Clone(o.Inputs), func(in string) bool { return in != Stdio })
	worker := len(o.Inputs) == 1 && o.Inputs[0] == Stdio && o.Output == Stdio
	return errors.Join(
		exit.UsageIf(len(o.Inputs) == 0, `no input; give a file of rows, or "-" for standard input`),
		exit.UsageIf(o.Output == Stdio && len(o.Inputs) > 1,
			"several inputs do not go to one standard output; give -o FOLDER"),
		exit.UsageIf((o.Output == Stdio || o.Output == "") && o.Resume, "--resume goes on with a file; give it with -o OUT"),
		exit.UsageIf(o.Limit < 0, "--limit %d: give a number of rows, or 0 for all", o.Limit),
		exit.UsageIf(len(stdin) > 1, `standard input "-" can be read once`),
		exit.UsageIf(o.Flush && !worker, "--flush is for a worker, which reads standard input and writes standard output; "+
			"give - as the input, and -o -"),
		exit.UsageIf(o.Flush && !o.Files.jsonLines(), "--flush: a worker reads and writes JSON Lines in UTF-8; "+
			"leave out --format, --sheet, --delimiter and --encoding"))
}

// jsonLines tells whether o asks for nothing but JSON Lines in UTF-8.
func (o FileOptions) jsonLines() bool {
	return (o.Format == "" || o.Format == "jsonl") && o.Sheet == "" && o.Delimiter == "" && o.Encoding == ""
}

// shard reads "2/5".
func (o *Options) shard() (*runrecord.Shard, error) {
	if o.Shard == "" {
		return nil, nil
	}
	index, of, ok := strings.Cut(o.Shard, "/")
	i, errI := strconv.Atoi(index)
	n, errN := strconv.Atoi(of)
	if !ok || errI != nil || errN != nil || i < 1 || i > n {
		return nil, exit.Usagef("--shard %q: write it as I/N with I from 1 to N, as in --shard 2/5", o.Shard)
	}
	return &runrecord.Shard{Index: i, Of: n}, nil
}

// outputs names the file each input goes to; "" where there is none.
func (o *Options) outputs() ([]string, error) {
	outputs := make([]string, len(o.Inputs))
	info, err := os.Stat(o.Output)
	isDir := err == nil && info.IsDir()
	folder := len(o.Inputs) > 1 || isDir || strings.HasSuffix(o.Output, "/")
	if o.Output == "" || o.Output == Stdio || !folder {
		for i := range outputs {
			outputs[i] = o.Output
		}
		return outputs, nil
	}
	if _, known := dataset.FormatOf(o.Output); !isDir && (err == nil || known) {
		if err := CheckInputs(o.Inputs); err != nil { // as where a word of a name stood without quotes
			return nil, err
		}
		return nil, exit.Usagef("-o %s names a file, but several inputs need a folder, such as -o tagged", o.Output)
	}
	from := map[string]string{}
	for i, in := range o.Inputs {
		name := storage.Base(in)
		if in == Stdio {
			name = "stdin.jsonl"
		}
		outputs[i] = filepath.Join(o.Output, name)
		if other, taken := from[name]; taken {
			return nil, exit.Usagef("%s and %s would both become %s; tag them one by one", other, in, outputs[i])
		}
		from[name] = in
	}
	return outputs, nil
}

// CheckOutputs finds an output that exists already, or rows of an interrupted run, before anything is computed.
func (r *Run) CheckOutputs() error {
	var errs []error
	if len(r.outputs) == 1 && r.outputs[0] == r.Output { // others have the names of inputs
		errs = append(errs, r.files.CheckOutput(r.Output))
	}
	for _, out := range r.outputs {
		if out == "" || out == Stdio {
			continue
		}
		if r.Overwrite || r.Resume {
			errs = append(errs, dataset.RefuseIrregular(out))
			continue
		}
		errs = append(errs, dataset.CheckInterrupted(out), CheckNew(out))
	}
	return errors.Join(errs...)
}

// CheckNew finds an output that exists already.
func CheckNew(out string) error {
	if err := dataset.RefuseIrregular(out); err != nil {
		return err
	}
	if _, err := os.Lstat(out); err == nil {
		if made, err := runrecord.Read(out); err == nil && made != nil && !made.IsOf(out) {
			return fmt.Errorf("output %s exists already, and somebody changed it since erreval wrote it: choose another name "+
				"with -o; --overwrite would lose the changes", out)
		}
		return fmt.Errorf("output %s exists already; replace it with --overwrite, or choose another name with -o", out)
	}
	return nil
}

// makeFolder makes the folder of outputs that are not named one by one.
func (r *Run) makeFolder() error {
	if len(r.outputs) == 0 || r.outputs[0] == r.Output {
		return nil
	}
	if err := wholefile.RefuseLink(filepath.Clean(r.Output)); err != nil { // with a slash behind it, it is followed
		return fmt.Errorf("output: %w", err)
	}
	return os.MkdirAll(r.Output, 0o777)
}

// ReadID reads the names of columns with commas between them, or dataset.NoID; "" is nil.
func ReadID(flag string) ([]string, error) {
	if flag == "" {
		return nil, nil
	}
	columns := strings.Split(flag, ",")
	for i, column := range columns {
		switch {
		case column == "":
			return nil, exit.Usagef("--id %q: write COLUMN, COLUMN,COLUMN or none, as in --id passage_id,system", flag)
		case slices.Contains(columns[:i], column):
			return nil, exit.Usagef("--id: column %q is given twice", column)
		case column == dataset.NoID && len(columns) > 1:
			return nil, exit.Usagef("--id %q: give columns, or %s alone", flag, dataset.NoID)
		}
	}
	return columns, nil
}

// ReadMap reads pairs FIELD=COLUMN: field to column.
func ReadMap(pairs []string, fields []string) (map[string]string, error) {
	m, err := dataset.ParseMap("--map ", pairs, fields)
	if err != nil {
		return nil, exit.Usagef("%w", err)
	}
	return m, nil
}
