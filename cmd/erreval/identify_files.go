package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/run"
)

// outputs names the file each input goes to; "" where there is only a table.
func (o *identifyOptions) outputs() ([]string, error) {
	outputs := make([]string, len(o.Inputs))
	info, err := os.Stat(o.Output)
	isDir := err == nil && info.IsDir()
	folder := len(o.Inputs) > 1 || isDir || strings.HasSuffix(o.Output, "/")
	if o.Output == "" || o.Output == run.Stdio || !folder {
		for i := range outputs {
			outputs[i] = o.Output
		}
		return outputs, nil
	}
	if err == nil && !isDir {
		return nil, exit.Usagef("-o %s is a file, but several inputs need a folder", o.Output)
	}
	from := map[string]string{}
	for i, in := range o.Inputs {
		name := filepath.Base(in)
		if in == run.Stdio {
			name = "stdin.jsonl"
		}
		outputs[i] = filepath.Join(o.Output, name)
		if other, taken := from[name]; taken {
			return nil, exit.Usagef("%s and %s would both become %s; tag them one by one", other, in, outputs[i])
		}
		from[name] = in
	}
	return outputs, nil
}

// checkOutputs finds an output that exists before any other is made, and makes their folder.
func (o *identifyOptions) checkOutputs(outputs []string) error {
	var errs []error
	for _, out := range outputs {
		if out == "" || out == run.Stdio {
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
