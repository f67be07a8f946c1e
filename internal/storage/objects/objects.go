// Package objects reads and writes objects of stores. These are S3 and what speaks its API (s3://BUCKET/KEY), and
// folders that are used as a store (file:///FOLDER/FILE). An object is read in one pass or by ranges, and written whole
// or not at all.
package objects

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path"
	"strings"
	"time"

	"github.com/erreval/erreval/internal/storage"
)

func init() {
	storage.Register(func(ctx context.Context, name string) (io.ReadCloser, error) { return Open(ctx, name) })
}

// store is a bucket, or a folder as one. Its errors are fs.ErrNotExist, fs.ErrPermission and fs.ErrExist where they say
// that; a *lastingError is any other that would come again.
type store interface {
	stat(ctx context.Context, key string) (*Info, error)
	// read gives length bytes from a place on, or all from there on where length is below 0, and the whole object's Info.
	read(ctx context.Context, key string, from, length int64) (io.ReadCloser, *Info, error)
	list(ctx context.Context, prefix string) (keys []string, err error)
	put(ctx context.Context, key string, file *os.File, replace bool) error
}

// lastingError is an error that another try would meet again.
type lastingError struct{ error }

func (e *lastingError) Unwrap() error { return e.error }

// openStore gives the store of an address, and the key in it.
func openStore(name string) (s store, key string, err error) {
	u, err := url.Parse(name)
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", name, errors.Unwrap(err))
	}
	switch u.Scheme {
	case "s3":
		s, err = openBucket(u)
		if err != nil {
			return nil, "", fmt.Errorf("%s: %w", name, err)
		}
		return s, strings.TrimPrefix(u.Path, "/"), nil
	case "file": // the folder is the bucket
		dir, key := path.Split(u.Path)
		return folder(dir), key, nil
	}
	return nil, "", fmt.Errorf("%s: %s:// cannot be read or written: %w; a store that speaks S3's API is "+
		"s3://BUCKET/KEY?endpoint=https://HOST", name, u.Scheme, storage.ErrNoDriver)
}

// openKey is openStore for an address that must name an object.
func openKey(name string) (store, string, error) {
	s, key, err := openStore(name)
	if err == nil && key == "" {
		return nil, "", fmt.Errorf("%s names no object: a key is missing behind the bucket", name)
	}
	return s, key, err
}

// Info describes an object, as the standard library does a file.
type Info struct {
	name    string
	size    int64
	modTime time.Time
}

// Name implements fs.FileInfo.
func (i *Info) Name() string { return i.name }

// Size implements fs.FileInfo.
func (i *Info) Size() int64 { return i.size }

// Mode implements fs.FileInfo: what is read are regular files.
func (i *Info) Mode() fs.FileMode { return 0o444 }

// ModTime implements fs.FileInfo.
func (i *Info) ModTime() time.Time { return i.modTime }

// IsDir implements fs.FileInfo.
func (i *Info) IsDir() bool { return false }

// Sys implements fs.FileInfo.
func (i *Info) Sys() any { return nil }

// Stat describes the object at an address. If there is none, the error is an fs.ErrNotExist.
func Stat(ctx context.Context, name string) (*Info, error) {
	s, key, err := openKey(name)
	if err != nil {
		return nil, err
	}
	var info *Info
	err = again(ctx, func() error {
		info, err = s.stat(ctx, key)
		return err
	})
	return info, explain(name, err)
}

// List gives the addresses of all objects whose own begin with prefix.
func List(ctx context.Context, prefix string) (names []string, err error) {
	s, key, err := openStore(prefix)
	if err != nil {
		return nil, err
	}
	var keys []string
	err = again(ctx, func() error {
		keys, err = s.list(ctx, key)
		return err
	})
	for _, k := range keys {
		names = append(names, storage.Beside(prefix, strings.TrimPrefix(k, key)))
	}
	return names, explain(prefix, err)
}

func explain(name string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return missingError(name)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s: access denied; give the rights to read and write objects, and list them: %w", name, err)
	case errors.Is(err, ErrReplaced):
		return fmt.Errorf("%s %w", name, err)
	}
	return fmt.Errorf("%s: %w", name, err)
}

// missingError says that an object is not there.
type missingError string

func (e missingError) Error() string     { return string(e) + ": there is no such object" }
func (e missingError) Is(err error) bool { return err == fs.ErrNotExist } //nolint:errorlint // it is asked for that one

// longest is how long a store may fail before an error is given: longer than one takes to start again.
const longest = 2 * time.Minute

// again calls f until it succeeds or fails for good.
func again(ctx context.Context, f func() error) error {
	begun := time.Now()
	for wait := 250 * time.Millisecond; ; wait = min(2*wait, 15*time.Second) {
		err := f()
		if err == nil || !passes(err) || ctx.Err() != nil || time.Since(begun)+wait > longest {
			return err
		}
		select {
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return err // which says more
			}
			return ctx.Err()
		case <-time.After(wait):
		}
	}
}

// passes tells whether an error may be another the next time.
func passes(err error) bool {
	_, lasting := errors.AsType[*lastingError](err)
	return !lasting && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrExist) &&
		!errors.Is(err, fs.ErrPermission) && !errors.Is(err, context.Canceled)
}
