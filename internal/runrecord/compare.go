package runrecord

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/erreval/erreval/internal/regularfile"
	"github.com/erreval/erreval/internal/storage"
)

// Read reads the record of an output. An absent one is fs.ErrNotExist.
func Read(out string) (*Record, error) {
	r, err := readRecord(out)
	if !errors.Is(err, fs.ErrNotExist) {
		return r, err
	}
	// A run that died between its last two renames left the record under its temporary name.
	partial := out + ".partial"
	if left, leftErr := readRecord(partial); leftErr == nil && left.isFinished() && fileExists(out) &&
		!fileExists(partial) {
		return left, nil
	}
	return nil, err
}

// ReadOptions reads an output's record, and into v, a pointer to a struct, the options that v has fields for. nil means
// that there is no record that can be read, which is not a fault of the rows.
func ReadOptions(out string, v any) *Record {
	r, err := Read(out)
	if err != nil {
		return nil
	}
	data, err := json.Marshal(r.Options)
	if err != nil || json.Unmarshal(data, v) != nil {
		return nil
	}
	return r
}

func fileExists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// isFinished tells whether the record was written at the end of a run, not at its beginning.
func (r *Record) isFinished() bool {
	return len(r.Inputs) > 0 && r.Inputs[0].SHA256 != "" && r.Stopped == ""
}

func readRecord(out string) (*Record, error) {
	data, err := storage.ReadPath(context.Background(), Path(out), regularfile.Max)
	if err != nil {
		return nil, fmt.Errorf("run record: %w", err)
	}
	r := &Record{}
	if err := json.Unmarshal(data, r); err != nil {
		return nil, fmt.Errorf("run record %s: %w", Path(out), err)
	}
	if err := r.checkSum(data); err != nil {
		return nil, fmt.Errorf("run record %s: %w", Path(out), err)
	}
	if r.Format > 1 {
		return nil, fmt.Errorf("run record %s: its format is %d; this program reads 1", Path(out), r.Format)
	}
	return r, nil
}

// SameRows are the options that do not change what becomes of a row.
func SameRows() []string { return []string{"workers"} }

// Differences says what makes two runs' rows differ: command, model, taxonomy, options. Options named in
// ignore, which do not change rows, may differ, as may builds and inputs.
func Differences(a, b *Record, ignore ...string) ([]string, error) {
	var all []string
	add := func(what, x, y string) {
		if x != y {
			all = append(all, fmt.Sprintf("%s: %s, now %s", what, x, y))
		}
	}
	add("command", a.Command, b.Command)
	add("model", a.Model.text(b.Model), b.Model.text(a.Model))
	add("taxonomy", a.Taxonomy.text(b.Taxonomy), b.Taxonomy.text(a.Taxonomy))
	x, errX := flatten(a.Options)
	y, errY := flatten(b.Options)
	if err := errors.Join(errX, errY); err != nil {
		return nil, err
	}
	for _, name := range ignore {
		delete(x, name)
		delete(y, name)
	}
	names := maps.Clone(x)
	maps.Copy(names, y)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		add(name, x.valueOf(name), y.valueOf(name))
	}
	return all, nil
}

// text names an artefact, with its hash if the name is equal to the other's.
func (a *Artefact) text(other *Artefact) string {
	switch {
	case a == nil:
		return "none"
	case other != nil && a.ID == other.ID && a.SHA256 != other.SHA256:
		return fmt.Sprintf("%s with SHA-256 %.12s…", a.ID, a.SHA256)
	}
	return a.ID
}

// flat is an options struct as names with JSON values; a name inside of an object has a dot.
type flat map[string]string

func (f flat) valueOf(name string) string {
	if v, ok := f[name]; ok {
		return v
	}
	return "not given"
}

func flatten(options any) (flat, error) {
	data, err := json.Marshal(options)
	if err != nil {
		return nil, fmt.Errorf("run record: %w", err)
	}
	f := flat{}
	return f, f.addValue("", data)
}

func (f flat) addValue(name string, data []byte) error {
	if !bytes.HasPrefix(data, []byte("{")) {
		f[name] = string(data)
		return nil
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(data, &object); err != nil {
		return fmt.Errorf("run record: %w", err)
	}
	for key, value := range object {
		if err := f.addValue(strings.TrimPrefix(name+"."+key, "."), value); err != nil {
			return err
		}
	}
	return nil
}
