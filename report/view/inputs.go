package view

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/discover/issues"
	"github.com/erreval/erreval/internal/runrecord"
)

// input is a file of rows that was found.
type input struct {
	path   string
	name   string
	isZIP  bool
	listed bool // found in a folder: what is no file of rows is left out with a note
}

// findInputs gives the files that paths stand for, each once, with names that tell them apart.
func findInputs(paths []string) (found []input, notes []string, err error) {
	var seen []fs.FileInfo
	add := func(in input) error {
		info, err := os.Stat(in.path)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(seen, func(other fs.FileInfo) bool { return os.SameFile(other, info) }) {
			notes = append(notes, fmt.Sprintf("%s: given twice; it is shown once", filepath.Base(in.path)))
			return nil
		}
		in.isZIP = strings.EqualFold(filepath.Ext(in.path), ".zip")
		seen, found = append(seen, info), append(found, in)
		return nil
	}
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, nil, err
		}
		inside := []string{path}
		if info.IsDir() {
			if inside, err = rowFiles(path); err != nil {
				return nil, nil, err
			}
			if len(inside) == 0 {
				return nil, nil, fmt.Errorf("%s: no file of rows in this folder; the names of such files end with .jsonl, "+
					".json, .csv, .tsv, .xlsx, .parquet or, of CLEAR, .zip", path)
			}
		}
		for _, file := range inside {
			if err := add(input{path: file, listed: info.IsDir()}); err != nil {
				return nil, nil, err
			}
		}
	}
	if len(found) == 0 {
		return nil, nil, errors.New("no files of rows are given")
	}
	nameInputs(found)
	return found, notes, nil
}

// rowFiles are the regular files of a folder that may hold rows.
func rowFiles(dir string) (files []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if e.Type().IsRegular() && mayHoldRows(e.Name()) {
			files = append(files, filepath.Join(dir, e.Name()))
		}
	}
	return files, nil
}

// mayHoldRows tells by a name: what runs write beside their rows is none.
func mayHoldRows(name string) bool {
	for _, record := range []string{runrecord.Path(""), issues.Path(""), dataset.RejectedPath(""),
		dataset.PartialPath(""), dataset.MarksPath("")} {
		if strings.HasSuffix(name, record) {
			return false
		}
	}
	_, known := dataset.FormatOf(name)
	hidden := strings.HasPrefix(name, ".") || strings.HasPrefix(name, "~$") // the latter locks an open workbook
	return !hidden && (known || strings.EqualFold(filepath.Ext(name), ".zip"))
}

// nameInputs names each by its file, with as much of its folder as tells it from the others.
func nameInputs(found []input) {
	parts := make([][]string, len(found)) // from the file's name up
	for i, in := range found {
		path := in.path
		if abs, err := filepath.Abs(path); err == nil {
			path = abs
		}
		parts[i] = strings.Split(filepath.ToSlash(path), "/")
		slices.Reverse(parts[i])
		found[i].name = parts[i][0]
	}
	for depth := 2; ; depth++ {
		count := map[string]int{}
		for i := range found {
			count[found[i].name]++
		}
		more := false
		for i := range found {
			if count[found[i].name] > 1 && len(parts[i]) > depth {
				up := slices.Clone(parts[i][:depth])
				slices.Reverse(up)
				found[i].name, more = strings.Join(up, "/"), true
			}
		}
		if !more {
			return
		}
	}
}

// cacheKey is of all that an index depends on: the files and what lies beside them by path, size and time, and options.
func cacheKey(found []input, o *Options) (string, error) {
	var all [][]any
	for _, in := range found {
		for _, path := range []string{in.path, runrecord.Path(in.path), issues.Path(in.path),
			dataset.RejectedPath(in.path)} {
			abs, err := filepath.Abs(path)
			if err != nil {
				return "", err
			}
			file := []any{abs, in.name}
			if info, err := os.Stat(path); err == nil {
				file = append(file, info.Size(), info.ModTime().UnixNano())
			}
			all = append(all, file)
		}
	}
	hash := ""
	if o.Taxonomy != nil {
		hash = o.Taxonomy.ID() + " " + o.Taxonomy.Hash()
	}
	data, err := json.Marshal([]any{fileFormat, all, hash, o.Columns, o.ID, o.System, o.Title, o.Build,
		o.Thresholds != nil})
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:16]), nil
}
