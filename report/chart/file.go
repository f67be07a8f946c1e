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

// File is the picture that an option asks for.
type File struct {
	Option    string // as errors name it: "--plot"
	Path      string // *.svg, *.png or *.pdf; "" wants none
	Overwrite bool   // replace the file if there is one
}

// CheckPath finds out whether the file can be written, before anything is read. A wrong name is a *report.OptionError.
func (f File) CheckPath() error {
	if f.Path == "" {
		return nil
	}
	if !slices.Contains([]string{".svg", ".png", ".pdf"}, filepath.Ext(f.Path)) {
		return report.OptionErrorf("%s %s: the name ends with .svg, .png or .pdf", f.Option, f.Path)
	}
	if err := wholefile.RefuseIrregular(f.Path); err != nil {
		return fmt.Errorf("%s: %w; choose another name", f.Option, err)
	}
	if _, err := os.Lstat(f.Path); !errors.Is(err, fs.ErrNotExist) && !f.Overwrite {
		return fmt.Errorf("%s: %s exists already; replace it with --overwrite, or choose another name", f.Option, f.Path)
	}
	return nil
}

// Write writes the picture that draw makes, in the format of the file's name ("svg", "png" or "pdf"). Without a name it
// does nothing.
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
