package dataset

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// ErrOtherRows says that the rows of OUT.partial are not those of the input.
var ErrOtherRows = errors.New("the input has changed since the interrupted run; start again with --overwrite instead " +
	"of --resume")

var errFewerRows = fmt.Errorf("it holds more rows than the input: %w", ErrOtherRows)

// keptRows are those of an earlier run.
type keptRows struct {
	in    *bufio.Reader
	size  int64  // of the rows read so far
	again []byte // a row as it would be written now
}

// equals tells whether the row would be written as that line.
func (k *keptRows) equals(row *Row, line []byte) bool {
	k.again = append(appendObject(k.again[:0], row.columns), '\n')
	return bytes.Equal(k.again, line)
}

// Resume takes up the output of a run that was interrupted or killed. Recall must then be called for
// each row, from the first one on, until it finds no more. The rejected lines begin anew.
func Resume(path string, overwrite bool, inputs ...string) (*Output, error) {
	if err := errors.Join(CheckInputs(path, inputs...), checkTarget(path, overwrite)); err != nil {
		return nil, err
	}
	f, err := openPartial(path, 0)
	if err != nil {
		return nil, fmt.Errorf("output: %w", err)
	}
	o := &Output{path: path, file: f, writer: NewWriter(f), kept: &keptRows{in: bufio.NewReaderSize(f, 64<<10)}}
	return o, removeStale(PartialPath(RejectedPath(path)))
}

// Recalling tells whether rows of an earlier run may be left to Recall.
func (o *Output) Recalling() bool { return o.kept != nil }

// Recall gives row the columns that an earlier run wrote, if it wrote that row. All of the row's columns
// but these must be as they were then, otherwise the error is ErrOtherRows. What follows the last
// whole row is cut off, and rows can be written.
func (o *Output) Recall(row *Row, columns ...string) (bool, error) {
	if o.kept == nil {
		return false, nil
	}
	line, err := o.kept.next()
	if err != nil {
		return false, fmt.Errorf("%s: %w", PartialPath(o.path), err)
	}
	kept := parseKept(line, columns)
	if kept == nil {
		return false, o.continueAt(o.kept.size)
	}
	for _, name := range columns {
		if err := row.Set(name, kept[name]); err != nil {
			return false, err
		}
	}
	if !o.kept.equals(row, line) {
		return false, fmt.Errorf("%s: row %d is not that of %s:%d: %w", PartialPath(o.path), o.rows+1, row.Source,
			row.Line, ErrOtherRows)
	}
	o.rows++
	o.kept.size += int64(len(line))
	return true, nil
}

// EndRecall says that the input has ended. If it did before the rows kept of it, the error is ErrOtherRows.
func (o *Output) EndRecall() error {
	if o.kept == nil {
		return nil
	}
	line, err := o.kept.next()
	if err == nil && len(line) > 0 {
		err = errFewerRows
	}
	if err != nil {
		return fmt.Errorf("%s: %w", PartialPath(o.path), err)
	}
	return o.continueAt(o.kept.size)
}

// next gives a whole line with its end, or nothing.
func (k *keptRows) next() ([]byte, error) {
	line, err := k.in.ReadBytes('\n')
	if errors.Is(err, io.EOF) {
		return nil, nil
	}
	return line, err
}

// parseKept gives the columns asked for, or nil if the line is no whole row that has them all.
func parseKept(line []byte, columns []string) map[string]json.RawMessage {
	all, err := parseObject(bytes.TrimSuffix(line, []byte("\n")))
	if err != nil {
		return nil
	}
	kept := map[string]json.RawMessage{}
	for _, c := range all {
		if slices.Contains(columns, c.name) {
			kept[c.name] = c.value
		}
	}
	if len(kept) < len(columns) {
		return nil
	}
	return kept
}

// continueAt cuts the file, and writes from there.
func (o *Output) continueAt(size int64) error {
	o.kept = nil
	_, err := o.file.Seek(size, io.SeekStart)
	if err = errors.Join(err, o.file.Truncate(size)); err != nil {
		return fmt.Errorf("%s: %w", PartialPath(o.path), err)
	}
	return nil
}
