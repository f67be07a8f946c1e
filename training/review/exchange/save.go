package exchange

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/erreval/erreval/internal/wholefile"
	"github.com/erreval/erreval/training/review"
)

// Saved is a file that Save wrote or found.
type Saved struct {
	Path  string
	Found bool // it was there, with the same content
}

// Save writes a batch in a format into a folder, which is made. A file that is there with other content may be filled in
// already: it is replaced only with overwrite, else it is an error. Files that come before an error are written and given.
func Save(f *review.Frozen, format, dir string, overwrite bool, o Options) (saved []Saved, err error) {
	files, err := Export(f, format, o)
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		path := filepath.Join(dir, filepath.FromSlash(file.Name))
		old, err := os.ReadFile(path)
		found := err == nil && bytes.Equal(old, file.Data)
		switch {
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return saved, err
		case err == nil && !found && !overwrite:
			return saved, fmt.Errorf("%s is there already, and may have been filled in; replace it with --overwrite, or choose another folder with -o", path)
		case !found:
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), wholefile.Write(path, file.Data)); err != nil {
				return saved, err
			}
		}
		saved = append(saved, Saved{Path: path, Found: found})
	}
	return saved, nil
}
