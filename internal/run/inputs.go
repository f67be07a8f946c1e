package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/storage"
	"github.com/erreval/erreval/internal/storage/objects"
)

// longestCheck is how long a store may take to say that there is an input: nothing is done yet that could be lost.
const longestCheck = 20 * time.Second

// CheckInputs finds a missing file before the model is loaded, and before others are tagged.
func CheckInputs(inputs []string) error {
	var errs []error
	for _, in := range inputs {
		if in == Stdio {
			continue
		}
		info, err := statSoon(in)
		if err != nil && filepath.Ext(in) == "" && len(inputs) > 1 { // a word of a name that stood without quotes
			err = fmt.Errorf("%w; a name with spaces stands in quotes, as in --map 'FIELD=Two words'", err)
		}
		if err != nil {
			errs = append(errs, err)
		} else if info.IsDir() {
			errs = append(errs, isFolder(in))
		}
	}
	return errors.Join(errs...)
}

// statSoon is stat of what answers within longestCheck.
func statSoon(path string) (fs.FileInfo, error) {
	ctx, stop := context.WithTimeout(context.Background(), longestCheck)
	defer stop()
	info, err := stat(ctx, path)
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("input %s: the store does not answer within %v: is its address right?", path, longestCheck)
	}
	return info, err
}

// isFolder says so, with the names that the first file of rows in it suggests.
func isFolder(in string) error {
	names := "*.jsonl"
	files, _ := os.ReadDir(in)
	i := slices.IndexFunc(files, func(f fs.DirEntry) bool { _, known := dataset.FormatOf(f.Name()); return known })
	if i >= 0 {
		names = "*" + filepath.Ext(files[i].Name())
	}
	return exit.Usagef("input %s is a folder; name the files in it, as in %s", in, filepath.Join(in, names))
}

func stat(ctx context.Context, path string) (fs.FileInfo, error) {
	if storage.IsURL(path) {
		return objects.Stat(ctx, path)
	}
	return os.Stat(path)
}

// OpenInput opens a file, an object, or standard input. info is that of a regular file; anything else, which may
// never end, ends with an interruption.
func OpenInput(ctx context.Context, p *Process, in string) (r io.ReadCloser, info fs.FileInfo, err error) {
	if in == Stdio {
		return interruptible(ctx, func() (io.ReadCloser, error) { return io.NopCloser(p.In), nil }), nil, nil
	}
	if storage.IsURL(in) {
		f, err := objects.Open(ctx, in)
		if err != nil {
			return nil, nil, err
		}
		info, err = f.Stat()
		return f, info, err
	}
	if info, err = os.Stat(in); err != nil {
		return nil, nil, err
	}
	if info.IsDir() {
		return nil, nil, isFolder(in)
	}
	if !info.Mode().IsRegular() {
		return interruptible(ctx, func() (io.ReadCloser, error) { return os.Open(in) }), nil, nil
	}
	if r, err = os.Open(in); err != nil {
		return nil, nil, err
	}
	return r, info, nil
}

// interruptible reads what open opens, which may wait for a writer, until ctx is done.
func interruptible(ctx context.Context, open func() (io.ReadCloser, error)) io.ReadCloser {
	r, w := io.Pipe()
	go func() { // ends with the process where the input never does
		in, err := open()
		if err == nil {
			_, err = io.Copy(w, in)
			err = errors.Join(err, in.Close())
		}
		w.CloseWithError(err)
	}()
	context.AfterFunc(ctx, func() { _ = w.Close() })
	return r
}

// Changed says what happened to a file since info was taken of it; "" is nothing.
func Changed(path string, info fs.FileInfo) string {
	if info == nil {
		return ""
	}
	now, err := stat(context.Background(), path)
	switch {
	case storage.IsURL(path) && err != nil && !errors.Is(err, fs.ErrNotExist):
		return "" // nobody can tell; what was read came from one object
	case err != nil:
		return "was removed"
	case !storage.IsURL(path) && !os.SameFile(info, now):
		return "was replaced by another file"
	case now.Size() != info.Size():
		return fmt.Sprintf("went from %d to %d bytes", info.Size(), now.Size())
	case !now.ModTime().Equal(info.ModTime()):
		return "was written to"
	}
	return ""
}

// WithoutSides are files without those that stand beside one of them and hold no rows of it, as where all of a folder
// are named.
func WithoutSides(files []string) []string {
	return slices.DeleteFunc(slices.Clone(files), func(file string) bool {
		return slices.ContainsFunc([]string{".run.json", ".issues.json", ".rejected.jsonl"}, func(ending string) bool {
			of, isSide := strings.CutSuffix(file, ending)
			return isSide && slices.Contains(files, of)
		})
	})
}
