package main

import (
	"context"
	"errors"
	"fmt"
	"io"
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
			errs = append(errs, fmt.Errorf("input: %w", err))
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

// openInput opens a file, or standard input so that an interruption ends it. The size is -1 where it is not known.
func openInput(ctx context.Context, e *env, in string) (io.ReadCloser, int64, error) {
	if in == stdio {
		r, w := io.Pipe()
		go func() { // ends with the process where standard input never does
			_, err := io.Copy(w, e.in)
			w.CloseWithError(err)
		}()
		context.AfterFunc(ctx, func() { _ = w.Close() })
		return r, -1, nil
	}
	file, err := os.Open(in)
	if err != nil {
		return nil, 0, err
	}
	info, err := file.Stat()
	if err != nil {
		return nil, 0, errors.Join(err, file.Close())
	}
	if !info.Mode().IsRegular() {
		return file, -1, nil
	}
	return file, info.Size(), nil
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
