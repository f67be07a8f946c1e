package dataset

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"unicode/utf8"

	"github.com/erreval/erreval/dataset/internal/jsontext"
	"github.com/erreval/erreval/internal/wholefile"
)

// Output is a file of rows that appears under its name only when it is whole. While it is written
// it is called OUT.partial, which is JSON Lines whatever OUT will be; lines that are no rows go to
// OUT.rejected.jsonl. Not safe for concurrent use.
type Output struct {
	Format  Format      // of OUT, which is made of OUT.partial when all rows are there; may be set until Commit
	Options SinkOptions // for Format

	path     string
	file     *os.File
	writer   *Writer
	kept     *keptRows // of an earlier run, while they are read
	rows     int
	rejected int
	rejects  *os.File // nil until there is something
	prepared string   // the whole output, closed, under another name; "" before Prepare
}

// PartialPath is what out is called while it is written.
func PartialPath(out string) string { return out + ".partial" }

// MarksPath is the file of what a person says of single rows of a file, where erreval serve shows it.
func MarksPath(rows string) string { return rows + ".marks.jsonl" }

// RejectedPath is the file of the lines of out's input that are no rows.
func RejectedPath(out string) string { return out + ".rejected.jsonl" }

// Create starts an output at path. An existing file, or the rows of an interrupted run, are refused
// unless overwrite is set; one of the inputs is refused always.
func Create(path string, overwrite bool, inputs ...string) (*Output, error) {
	if err := CheckOutput(path, overwrite, inputs...); err != nil {
		return nil, err
	}
	if err := CheckInterrupted(path); err != nil && !overwrite {
		return nil, err
	}
	f, err := openPartial(path, os.O_CREATE)
	if err != nil {
		return nil, fmt.Errorf("output: %w", err)
	}
	if err := checkTarget(path, overwrite); err != nil { // again: another run may have ended
		return nil, errors.Join(err, os.Remove(PartialPath(path)), f.Close())
	}
	if err := f.Truncate(0); err != nil {
		return nil, errors.Join(fmt.Errorf("output: %w", err), f.Close())
	}
	return &Output{path: path, file: f, writer: NewWriter(f)}, removeStale(PartialPath(RejectedPath(path)))
}

// CheckInterrupted refuses an output of which an interrupted run left rows.
func CheckInterrupted(path string) error {
	partial := PartialPath(path)
	if info, err := os.Stat(partial); err == nil && info.Size() > 0 {
		return fmt.Errorf("%s holds the rows of an interrupted run; go on with --resume, or start again with --overwrite",
			partial)
	}
	return nil
}

// CheckOutput finds what Create would refuse, but for the rows of an interrupted run, before anything is written.
func CheckOutput(path string, overwrite bool, inputs ...string) error {
	return errors.Join(CheckInputs(path, inputs...), checkTarget(path, overwrite), checkFolder(path))
}

func checkFolder(path string) error {
	if _, err := os.Stat(filepath.Dir(path)); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("output %s: the folder %s does not exist; make it first, as in: mkdir -p %[2]s", path,
			filepath.Dir(path))
	}
	return nil
}

// CheckInputs refuses an output that one of the inputs is, under another name or a link too.
func CheckInputs(path string, inputs ...string) error {
	for _, in := range inputs {
		for _, out := range []string{path, PartialPath(path), RejectedPath(path)} {
			if SameFile(in, out) {
				return fmt.Errorf("output %s is also an input (%s); choose another name", out, in)
			}
		}
	}
	return nil
}

// removeStale removes a file that a killed run may have left.
func removeStale(path string) error {
	if err := wholefile.RemoveIfThere(path); err != nil {
		return fmt.Errorf("left by an earlier run: %w", err)
	}
	return nil
}

// RefuseIrregular refuses an output that is a pipe or a device.
func RefuseIrregular(path string) error {
	if err := wholefile.RefuseIrregular(path); err != nil {
		return fmt.Errorf("output %w; -o - writes to standard output", err)
	}
	return nil
}

func checkTarget(path string, overwrite bool) error {
	if err := RefuseIrregular(path); err != nil {
		return err
	}
	if err := wholefile.RefuseLink(path); err != nil {
		return fmt.Errorf("output: %w", err)
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("output: %w", err)
	case info.IsDir():
		return fmt.Errorf("output %s is a folder; name a file in it", path)
	case !overwrite:
		return fmt.Errorf("output %s exists already; replace it with --overwrite, or choose another name with -o", path)
	}
	return nil
}

// SameFile tells whether two names are of one file.
func SameFile(a, b string) bool {
	if filepath.Clean(a) == filepath.Clean(b) {
		return true
	}
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

// Write appends a row.
func (o *Output) Write(r *Row) error {
	if o.kept != nil {
		return fmt.Errorf("output %s: row %s is written before all kept rows were recalled", o.path, r.ID)
	}
	if err := o.writer.Write(r); err != nil {
		return fmt.Errorf("output %s: %w", o.path, err)
	}
	o.rows++
	return nil
}

// Rows is the number of rows written.
func (o *Output) Rows() int { return o.rows }

// Rejected is the number of lines rejected.
func (o *Output) Rejected() int { return o.rejected }

// rejection is one line of OUT.rejected.jsonl.
type rejection struct {
	File     string `json:"file"`
	Line     int    `json:"line"`
	Unit     string `json:"unit,omitempty"` // what Line counts; absent for lines
	Reason   string `json:"reason"`
	Raw      string `json:"raw"`
	Encoding string `json:"encoding,omitempty"` // "base64" where the line is not UTF-8
}

// Reject keeps a line that is no row beside the output.
func (o *Output) Reject(e *LineError) error {
	rec := rejection{File: e.File, Line: e.Line, Unit: e.Unit, Reason: e.Err.Error()}
	rec.Raw, rec.Encoding = e.rawText()
	line, err := jsontext.Marshal(rec)
	if err != nil {
		return fmt.Errorf("rejected lines: %w", err)
	}
	return o.CopyRejected(append(line, '\n'))
}

// rawText is the line as a JSON string can hold it, and how it is encoded if not as it stood.
func (e *LineError) rawText() (text, encoding string) {
	if !utf8.Valid(e.Raw) {
		return base64.StdEncoding.EncodeToString(e.Raw), "base64"
	}
	return string(e.Raw), ""
}

// Answer is what a worker writes in the place of the line: a row with the columns status ("rejected"), line, reason and
// raw, and encoding ("base64") where the line is not UTF-8.
func (e *LineError) Answer() (*Row, error) {
	r := &Row{Line: e.Line, Source: e.File}
	raw, encoding := e.rawText()
	err := errors.Join(r.Set("status", "rejected"), r.Set("line", e.Line), r.Set("reason", e.Err.Error()),
		r.Set("raw", raw))
	if encoding != "" {
		err = errors.Join(err, r.Set("encoding", encoding))
	}
	return r, err
}

// CopyRejected keeps a line of another output's rejected lines, its end included.
func (o *Output) CopyRejected(line []byte) error {
	if o.rejects == nil {
		f, err := wholefile.OpenUnlinked(PartialPath(RejectedPath(o.path)), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o666)
		if err != nil {
			return fmt.Errorf("rejected lines: %w", err)
		}
		o.rejects = f
	}
	if _, err := o.rejects.Write(line); err != nil {
		return fmt.Errorf("rejected lines: %w", err)
	}
	o.rejected++
	return nil
}

// RejectRow keeps a row that was made, and is not to be used, beside the output.
func (o *Output) RejectRow(r *Row) error {
	return o.CopyRejected(append(appendObject(nil, r.columns), '\n'))
}

// Prepare makes all of the output but its name; nothing can be written after it. Commit calls it where it was not
// called.
func (o *Output) Prepare() error {
	if o.prepared != "" {
		return nil
	}
	if err := o.EndRecall(); err != nil {
		return errors.Join(err, o.close())
	}
	done := PartialPath(o.path)
	if !o.Format.Plain() {
		done = o.path + ".converting"
		if err := o.convert(done); err != nil {
			return errors.Join(fmt.Errorf("output %s: %w; the rows are in %s, as JSON Lines", o.path, err,
				PartialPath(o.path)), o.close(), os.Remove(done))
		}
	}
	if err := o.close(); err != nil {
		return err
	}
	o.prepared = done
	return nil
}

// PreparedPath is the file that Prepare made.
func (o *Output) PreparedPath() string { return o.prepared }

// Commit gives the output its name. Rejected lines of an earlier run that this one did not meet again are removed.
// A process that dies in its middle leaves OUT.partial, which Resume takes up.
func (o *Output) Commit() error {
	if err := o.Prepare(); err != nil {
		return err
	}
	if err := o.commitRejected(); err != nil {
		return err
	}
	if err := os.Rename(o.prepared, o.path); err != nil {
		return fmt.Errorf("output: %w", err)
	}
	return removeStale(PartialPath(o.path))
}

// convert writes the rows in OUT's own format to a file of its own.
func (o *Output) convert(path string) error {
	if err := o.writer.Flush(); err != nil {
		return err
	}
	f, err := wholefile.OpenUnlinked(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o666)
	if err != nil {
		return err
	}
	if err = convert(o.file, f, o.Format, o.Options); err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

func (o *Output) commitRejected() error {
	rejected := RejectedPath(o.path)
	if o.rejected == 0 {
		return removeStale(rejected)
	}
	if err := os.Rename(PartialPath(rejected), rejected); err != nil {
		return fmt.Errorf("rejected lines: %w", err)
	}
	return nil
}

// Abort ends the output without giving it its name. OUT.partial keeps the rows written so far; it
// is removed if there are none.
func (o *Output) Abort() error {
	var err error
	switch o.prepared {
	case "":
		err = o.close()
	case PartialPath(o.path):
	default:
		err = os.Remove(o.prepared)
	}
	if o.rejected > 0 {
		err = errors.Join(err, os.Remove(PartialPath(RejectedPath(o.path))))
	}
	if o.rows == 0 && o.kept == nil {
		err = errors.Join(err, os.Remove(PartialPath(o.path)))
	}
	return err
}

func (o *Output) close() error {
	err := errors.Join(o.writer.Flush(), o.file.Sync(), o.file.Close())
	if o.rejects != nil {
		err = errors.Join(err, o.rejects.Close())
	}
	if err != nil {
		return fmt.Errorf("output %s: %w", o.path, err)
	}
	return nil
}
