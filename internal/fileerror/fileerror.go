// Package fileerror words errors of files for people.
package fileerror

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/erreval/erreval/internal/spelling"
)

// Plain is err with plain words about files: "rows.csv: there is no such file" instead of "open rows.csv: no such file
// or directory". It wraps err, so errors.Is and errors.As still work. nil stays nil.
func Plain(err error) error {
	if err == nil {
		return nil
	}
	text := rewordError(err.Error(), err)
	if text == err.Error() {
		return err
	}
	return &plain{text, err}
}

type plain struct {
	text string
	err  error
}

func (p *plain) Error() string { return p.text }
func (p *plain) Unwrap() error { return p.err }

// rewordError replaces in text the messages of all file errors in the tree of err.
func rewordError(text string, err error) string {
	switch e := err.(type) { //nolint:errorlint // it walks the tree of wrapped errors itself
	case *fs.PathError:
		return replacePath(text, e, e.Path, reason(e.Path, e.Err))
	case *os.LinkError:
		if _, gone := os.Lstat(e.Old); gone != nil {
			return replacePath(text, e, e.Old, reason(e.Old, e.Err))
		}
		return replacePath(text, e, e.New, reason(e.New, e.Err))
	case interface{ Unwrap() []error }:
		for _, part := range e.Unwrap() {
			text = rewordError(text, part)
		}
	case interface{ Unwrap() error }:
		if inner := e.Unwrap(); inner != nil {
			return rewordError(text, inner)
		}
	}
	return text
}

func replacePath(text string, e error, path, why string) string {
	words := path + ": " + why
	return strings.ReplaceAll(strings.ReplaceAll(text, e.Error(), words), path+": "+words, words)
}

// meant asks for the file of the folder that was probably meant; "" where there is none.
func meant(folder, name string) string {
	entries, err := os.ReadDir(folder)
	if err != nil || len(entries) > mostLooked {
		return ""
	}
	var stems []string
	ending := filepath.Ext(name)
	for _, e := range entries {
		if stem, ok := strings.CutSuffix(e.Name(), ending); ok && !e.IsDir() && ending != "" {
			stems = append(stems, stem)
		}
	}
	if stem := spelling.Meant(strings.TrimSuffix(name, ending), stems); stem != "" {
		return "; did you mean " + stem + ending + "?"
	}
	return ""
}

// mostLooked is how many files a folder may have in which meant looks.
const mostLooked = 1000

func reason(path string, err error) string {
	folder := filepath.Dir(path)
	_, noFolder := os.Stat(folder)
	switch {
	case errors.Is(err, fs.ErrNotExist) && errors.Is(noFolder, fs.ErrNotExist):
		return "there is no folder " + folder
	case errors.Is(err, fs.ErrNotExist):
		return "there is no such file" + meant(folder, filepath.Base(path))
	case errors.Is(err, syscall.EISDIR):
		return "it is a folder, not a file"
	}
	return err.Error()
}
