// Package objects reads and writes the objects of buckets: s3://, gs:// and azblob:// addresses, and file:// ones.
// Drivers are linked by whoever needs them (cmd/erreval/storage_*.go); the addresses and their options are those of
// gocloud.dev/blob.
package objects

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"

	"github.com/erreval/erreval/internal/storage"
)

func init() {
	storage.Register(func(ctx context.Context, name string) (io.ReadCloser, error) { return Open(ctx, name) })
}

// location is an address: of a bucket as gocloud.dev takes it, and a key in it.
type location struct{ bucket, key string }

func parse(name string) (location, error) {
	u, err := url.Parse(name)
	if err != nil {
		return location{}, fmt.Errorf("%s: %w", name, errors.Unwrap(err))
	}
	if kinds := blob.DefaultURLMux().BucketSchemes(); !slices.Contains(kinds, u.Scheme) {
		return location{}, fmt.Errorf("%s: %s:// cannot be read or written: %w", name, u.Scheme, storage.ErrNoDriver)
	}
	key := strings.TrimPrefix(u.Path, "/")
	if u.Scheme == "file" { // the folder is the bucket
		u.Path, key = path.Split(u.Path)
		query := u.Query()
		query.Set("metadata", "skip")
		query.Set("no_tmp_dir", "true") // what is written stands beside its later place: a rename makes it whole
		u.RawQuery = query.Encode()
	} else {
		u.Path = ""
	}
	u.RawPath = ""
	return location{u.String(), key}, nil
}

// open opens the bucket of an address that names an object.
func open(ctx context.Context, name string) (*blob.Bucket, string, error) {
	if at, err := parse(name); err == nil && at.key == "" {
		return nil, "", fmt.Errorf("%s names no object: a key is missing behind the bucket", name)
	}
	return openBucket(ctx, name)
}

// openBucket opens the bucket of an address, whose key may be the beginning of many.
func openBucket(ctx context.Context, name string) (*blob.Bucket, string, error) {
	at, err := parse(name)
	if err != nil {
		return nil, "", err
	}
	b, err := blob.OpenBucket(ctx, at.bucket)
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", name, err)
	}
	return b, at.key, nil
}

// Info is what is known of an object without reading it.
type Info struct {
	name    string
	size    int64
	modTime time.Time
}

// Name implements fs.FileInfo, as do the others.
func (i *Info) Name() string { return i.name }

// Size is in bytes.
func (i *Info) Size() int64 { return i.size }

// Mode is a regular file's.
func (i *Info) Mode() fs.FileMode { return 0o444 }

// ModTime is when the object was written.
func (i *Info) ModTime() time.Time { return i.modTime }

// IsDir is false.
func (i *Info) IsDir() bool { return false }

// Sys is nil.
func (i *Info) Sys() any { return nil }

// Stat looks at an object. A missing one is an fs.ErrNotExist.
func Stat(ctx context.Context, name string) (*Info, error) {
	b, key, err := open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	var info *Info
	err = again(ctx, func() error {
		a, err := b.Attributes(ctx, key)
		if err == nil {
			info = &Info{path.Base(key), a.Size, a.ModTime}
		}
		return err
	})
	return info, explain(name, err)
}

// List gives the addresses of the objects whose keys begin with that of prefix.
func List(ctx context.Context, prefix string) (names []string, err error) {
	b, key, err := openBucket(ctx, prefix)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	err = again(ctx, func() error {
		names = nil
		objects := b.List(&blob.ListOptions{Prefix: key})
		for {
			o, err := objects.Next(ctx)
			if errors.Is(err, errEnd) {
				return nil
			}
			if err != nil {
				return err
			}
			names = append(names, storage.Beside(prefix, strings.TrimPrefix(o.Key, key)))
		}
	})
	return names, explain(prefix, err)
}

// explain names the object, and makes a missing one an fs.ErrNotExist.
func explain(name string, err error) error {
	switch {
	case err == nil:
		return nil
	case gcerrors.Code(err) == gcerrors.NotFound:
		return missingError(name)
	case gcerrors.Code(err) == gcerrors.PermissionDenied:
		return fmt.Errorf("%s: access denied; give the rights to read and write objects, and list them: %w", name, err)
	}
	return fmt.Errorf("%s: %w", name, err)
}

// missingError names an object that is not there.
type missingError string

func (e missingError) Error() string     { return string(e) + ": there is no such object" }
func (e missingError) Is(err error) bool { return err == fs.ErrNotExist } //nolint:errorlint // it is asked for that one

// patience is how long a store may not answer, as while it is started again.
const patience = 2 * time.Minute

// again calls f until it succeeds, fails for good, or nothing was answered for as long as patience.
func again(ctx context.Context, f func() error) error {
	begun := time.Now()
	for wait := 250 * time.Millisecond; ; wait = min(2*wait, 15*time.Second) {
		err := f()
		if err == nil || !passes(err) || ctx.Err() != nil || time.Since(begun)+wait > patience {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
		}
	}
}

// passes tells an error that may be gone the next time.
func passes(err error) bool {
	switch gcerrors.Code(err) {
	case gcerrors.NotFound, gcerrors.AlreadyExists, gcerrors.InvalidArgument, gcerrors.FailedPrecondition,
		gcerrors.PermissionDenied, gcerrors.Unimplemented, gcerrors.Canceled:
		return false
	}
	return true
}
