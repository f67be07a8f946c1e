package objects

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/erreval/erreval/internal/regularfile"
)

// folder is a folder as a bucket: its path, with a / at the end.
type folder string

func (f folder) path(key string) string { return string(f) + filepath.FromSlash(key) }

func (f folder) stat(_ context.Context, key string) (*Info, error) {
	info, err := os.Stat(f.path(key))
	if err != nil {
		return nil, err
	}
	return fileInfo(key, info), nil
}

func fileInfo(key string, info fs.FileInfo) *Info {
	return &Info{path.Base(key), info.Size(), info.ModTime()}
}

// fileError tells a file that is not there from one that another try would refuse, too.
func fileError(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return err
	}
	return &lastingError{err}
}

func (f folder) read(_ context.Context, key string, from, length int64) (io.ReadCloser, *Info, error) {
	file, err := regularfile.Open(f.path(key))
	if err != nil {
		return nil, nil, fileError(err)
	}
	found, err := file.Stat()
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	if length < 0 {
		length = found.Size() - from
	}
	return struct {
		io.Reader
		io.Closer
	}{io.NewSectionReader(file, from, length), file}, fileInfo(key, found), nil
}

func (f folder) list(_ context.Context, prefix string) (keys []string, err error) {
	err = filepath.WalkDir(string(f), func(name string, d fs.DirEntry, err error) error {
		key := filepath.ToSlash(strings.TrimPrefix(name, string(f)))
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != string(f) && !strings.HasPrefix(key+"/", prefix) && !strings.HasPrefix(prefix, key+"/"):
			return fs.SkipDir
		case d.Type().IsRegular() && strings.HasPrefix(key, prefix):
			keys = append(keys, key)
		}
		return nil
	})
	return keys, err
}

// put makes the file under another name beside it, and gives it its own when it is whole.
func (f folder) put(ctx context.Context, key string, file *os.File, replace bool) error {
	to := f.path(key)
	part, err := os.CreateTemp(filepath.Dir(to), "."+filepath.Base(to)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(part.Name()) // if it still has this name
	_, err = io.Copy(part, file)
	if err = errors.Join(err, part.Chmod(0o644), part.Sync(), part.Close(), ctx.Err()); err != nil {
		return err
	}
	if replace {
		return os.Rename(part.Name(), to)
	}
	return os.Link(part.Name(), to) // fails where something is there
}
