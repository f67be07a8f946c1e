package chart

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/erreval/erreval/internal/wholefile"
	"github.com/erreval/erreval/report"
)

// File is where an option wants a picture.
type File struct {
	Option    string // as errors name it: "--plot"
	Path      string // *.svg or *.png; "" wants none
	Overwrite bool   // replace the file if there is one
}

// Check finds a file that cannot be drawn to, before anything is read: an *report.OptionError where its name is wrong.
func (f File) Check() error {
	if f.Path == "" {
		return nil
	}
	if !slices.Contains([]string{".svg", ".png"}, filepath.Ext(f.Path)) {
		return report.OptionErrorf("%s %s: the name ends with .svg or .png", f.Option, f.Path)
	}
	if _, err := os.Lstat(f.Path); !errors.Is(err, fs.ErrNotExist) && !f.Overwrite {
		return fmt.Errorf("%s: %s exists already; replace it with --overwrite, or choose another name", f.Option, f.Path)
	}
	return nil
}

// Write writes what draw draws in the format that the file's name asks for ("svg" or "png"); where no picture is wanted
// it does nothing.
func (f File) Write(draw func(format string) ([]byte, error)) error {
	if f.Path == "" {
		return nil
	}
	data, err := draw(strings.TrimPrefix(filepath.Ext(f.Path), "."))
	if err != nil {
		return fmt.Errorf("%s %s: %w", f.Option, f.Path, err)
	}
	if err := wholefile.Write(f.Path, data); err != nil {
		return fmt.Errorf("%s: %w", f.Option, err)
	}
	return nil
}
