package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/nativelib"
	"github.com/erreval/erreval/internal/runrecord"
	"github.com/erreval/erreval/internal/storage"
	"github.com/erreval/erreval/internal/storage/objects"
)

// withStorage lets a command write to an address of an object store: it works on a file of the cache, and when all of
// it is there, the file and those beside it become objects. --resume goes on with that file, or sees what is done by
// the objects.
func (e *env) withStorage(action cli.ActionFunc) cli.ActionFunc {
	return func(ctx *cli.Context) error {
		to := ctx.String("output")
		if !storage.IsURL(to) {
			return action(ctx)
		}
		if strings.HasSuffix(to, "/") && ctx.Args().Len() == 1 {
			to += storage.Base(ctx.Args().First())
		}
		if slices.Contains(ctx.Args().Slice(), to) {
			return exit.Usagef("output %s is also an input; choose another name with -o", to)
		}
		o, err := e.openObject(ctx.Context, to, ctx.Bool("resume"), ctx.Bool("overwrite"))
		if err != nil {
			return err
		}
		defer os.Remove(o.folder) // if nothing is in it
		if err := ctx.Set("output", o.file); err != nil {
			return err
		}
		err = action(ctx)
		switch codeOf(err) {
		case exit.OK, exit.Incomplete, exit.Missed:
		default:
			return err
		}
		if fault := o.publish(ctx.Context); fault != nil {
			return errors.Join(err, fault)
		}
		e.Say("%s is written", to)
		if err != nil {
			return &publishedError{err, o}
		}
		return nil
	}
}

// object is an output that is made in a folder of the cache.
type object struct {
	to      string // address
	folder  string
	file    string // in folder
	replace bool
	fetched map[string]bool // files that are objects already
}

// publishedError speaks of the objects, now that the files are gone.
type publishedError struct {
	err error
	o   *object
}

func (e *publishedError) Error() string { return strings.ReplaceAll(e.err.Error(), e.o.file, e.o.to) }
func (e *publishedError) Unwrap() error { return e.err }

func (e *env) openObject(ctx context.Context, to string, resume, overwrite bool) (*object, error) {
	cache, err := nativelib.CacheDir(e.Getenv)
	if err != nil {
		return nil, err
	}
	folder := strings.HasSuffix(to, "/")
	if name := storage.Base(to); !folder && !fs.ValidPath(name) || name == "." && !folder {
		return nil, exit.Usagef("output %s: name an object, as in -o s3://BUCKET/tagged.jsonl", to)
	}
	sum := sha256.Sum256([]byte(to))
	o := &object{to: to, folder: filepath.Join(cache, "outputs", hex.EncodeToString(sum[:16])), replace: overwrite,
		fetched: map[string]bool{}}
	if err := os.MkdirAll(o.folder, 0o700); err != nil {
		return nil, err
	}
	o.file = filepath.Join(o.folder, storage.Base(to))
	if folder {
		o.file += "/"
	}
	if overwrite {
		return o, nil
	}
	there, err := o.list(ctx)
	switch {
	case err != nil:
		return nil, err
	case resume:
		return o, o.fetch(ctx, there)
	case len(there) > 0 && !folder: // of a folder each object is put under its condition
		return nil, fmt.Errorf("output %s exists already; replace it with --overwrite, or choose another name with -o", to)
	}
	if info, err := os.Stat(o.file); err == nil && info.Mode().IsRegular() {
		return nil, fmt.Errorf("output %s was finished by an earlier run, which could not write it there; do so with "+
			"--resume, or start again with --overwrite", to)
	}
	return o, nil
}

// list gives the objects of the output; none where it is not there, whatever is beside it.
func (o *object) list(ctx context.Context) ([]string, error) {
	names, err := objects.List(ctx, o.to)
	if strings.HasSuffix(o.to, "/") || err != nil {
		return names, err
	}
	if !slices.Contains(names, o.to) {
		return nil, nil
	}
	return slices.DeleteFunc(names, func(name string) bool { // but out2 is not beside out
		rest := storage.Rest(name, o.to)
		return rest != "" && !strings.HasPrefix(rest, ".")
	}), nil
}

// fetch brings what is done to the cache, unless it is there.
func (o *object) fetch(ctx context.Context, names []string) error {
	for _, name := range names {
		file := o.file + storage.Rest(name, o.to)
		if inside, err := filepath.Rel(o.folder, file); err != nil || !filepath.IsLocal(inside) {
			return fmt.Errorf("%s would become a file outside of the cache", name)
		}
		o.fetched[file] = true
		if _, err := os.Stat(file); err == nil {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return err
		}
		if err := objects.Download(ctx, name, file); err != nil {
			return err
		}
	}
	return nil
}

// publish writes the objects, the output itself last: who sees it sees its record.
func (o *object) publish(ctx context.Context) error {
	var outputs, others []string
	err := filepath.WalkDir(o.folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || o.fetched[path] || strings.HasPrefix(d.Name(), ".") ||
			strings.Contains(d.Name(), ".partial") {
			return err
		}
		if _, err := os.Stat(runrecord.Path(path)); err == nil || path == o.file {
			outputs = append(outputs, path)
		} else {
			others = append(others, path)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i, path := range append(others, outputs...) {
		name := storage.Beside(o.to, strings.TrimPrefix(path, o.file))
		if err := objects.Upload(context.WithoutCancel(ctx), path, name, o.replace || i < len(others)); err != nil {
			return fmt.Errorf("the rows are in %s: %w; --resume writes them", path, err)
		}
	}
	return os.RemoveAll(o.folder)
}
