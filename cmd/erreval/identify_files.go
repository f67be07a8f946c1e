package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/erreval/erreval/dataset"
)

// checkInputs finds a missing file before the model is loaded, and before others are tagged.
func checkInputs(inputs []string) error {
	var errs []error
	for _, in := range inputs {
		if in == stdio {
			continue
		}
		info, err := os.Stat(in)
		if err != nil {
			errs = append(errs, err)
		} else if info.IsDir() {
			errs = append(errs, usagef("input %s is a folder; name the files in it, as in %s", in, filepath.Join(in, "*.jsonl")))
		}
	}
	return errors.Join(errs...)
}

// outputs names the file each input goes to; "" where there is only a table.
func (o *identifyOptions) outputs() ([]string, error) {
	outputs := make([]string, len(o.Inputs))
	info, err := os.Stat(o.Output)
	isDir := err == nil && info.IsDir()
	folder := len(o.Inputs) > 1 || isDir || strings.HasSuffix(o.Output, "/")
	if o.Output == "" || o.Output == stdio || !folder {
		for i := range outputs {
			outputs[i] = o.Output
		}
		return outputs, nil
	}
	if err == nil && !isDir {
		return nil, usagef("-o %s is a file, but several inputs need a folder", o.Output)
	}
	from := map[string]string{}
	for i, in := range o.Inputs {
		name := filepath.Base(in)
		if in == stdio {
			name = "stdin.jsonl"
		}
		outputs[i] = filepath.Join(o.Output, name)
		if other, taken := from[name]; taken {
			return nil, usagef("%s and %s would both become %s; tag them one by one", other, in, outputs[i])
		}
		from[name] = in
	}
	return outputs, nil
}

// checkOutputs finds an output that exists before any other is made, and makes their folder.
func (o *identifyOptions) checkOutputs(outputs []string) error {
	var errs []error
	for _, out := range outputs {
		if out == "" || out == stdio {
			return nil
		}
		if o.Overwrite || o.Resume {
			continue
		}
		if info, err := os.Stat(dataset.PartialPath(out)); err == nil && info.Size() > 0 {
			errs = append(errs, fmt.Errorf("%s holds the rows of an interrupted run; go on with --resume, or start again with --overwrite", dataset.PartialPath(out)))
		}
		if _, err := os.Lstat(out); err == nil {
			errs = append(errs, fmt.Errorf("output %s exists already; replace it with --overwrite, or choose another name with -o", out))
		}
	}
	if len(errs) == 0 && outputs[0] != o.Output {
		errs = append(errs, os.MkdirAll(o.Output, 0o777))
	}
	return errors.Join(errs...)
}

// openInput opens a file, or standard input. info is that of a regular file; anything else, which may
// never end, ends with an interruption.
func openInput(ctx context.Context, e *env, in string) (r io.ReadCloser, info fs.FileInfo, err error) {
	if in == stdio {
		return interruptible(ctx, func() (io.ReadCloser, error) { return io.NopCloser(e.in), nil }), nil, nil
	}
	if info, err = os.Stat(in); err != nil {
		return nil, nil, err
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

// changed says what happened to a file since info was taken of it; "" is nothing.
func changed(path string, info fs.FileInfo) string {
	if info == nil {
		return ""
	}
	now, err := os.Stat(path)
	switch {
	case err != nil:
		return "was removed"
	case !os.SameFile(info, now):
		return "was replaced by another file"
	case now.Size() != info.Size():
		return fmt.Sprintf("went from %d to %d bytes", info.Size(), now.Size())
	case !now.ModTime().Equal(info.ModTime()):
		return "was written to"
	}
	return ""
}

// countingReader counts the bytes read through it.
type countingReader struct {
	r io.Reader
	n atomic.Int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n.Add(int64(n))
	return n, err
}
