package verifying

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/regularfile"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/internal/runrecord"
)

// Output compares an output, its rejected lines and what stands beside it with its run record, which it returns. The
// error says what differs, or what is missing to compare.
func Output(path string) (*runrecord.Record, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, err
	}
	if _, err := os.Lstat(dataset.PartialPath(path)); err == nil {
		return nil, fmt.Errorf("%s is of a run that has not ended; finish it with --resume", dataset.PartialPath(path))
	}
	r, err := runrecord.Read(path)
	if err != nil {
		return nil, err
	}
	if r.Output == nil {
		return r, fmt.Errorf("%s: its run record is of an older program and has no hash of it; "+
			"make it again to have one", path)
	}
	err = errors.Join(r.Output.Differs(path), verifyRejected(path, r.Counts[run.CountRejected]))
	for _, suffix := range slices.Sorted(maps.Keys(r.Beside)) {
		content := r.Beside[suffix]
		err = errors.Join(err, content.Differs(path+suffix))
	}
	return r, err
}

// verifyRejected counts the rejected lines beside an output.
func verifyRejected(path string, want int) error {
	file := dataset.RejectedPath(path)
	f, err := regularfile.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		f, err = os.Open(os.DevNull)
	}
	if err != nil {
		return err
	}
	defer f.Close()
	n := 0
	for in := bufio.NewReader(f); ; {
		line, err := in.ReadSlice('\n')
		n += bytes.Count(line, []byte("\n"))
		switch {
		case err == nil || errors.Is(err, bufio.ErrBufferFull):
		case !errors.Is(err, io.EOF):
			return err
		case n != want:
			return fmt.Errorf("%s has %d lines, and its run rejected %d; it was changed since", file, n, want)
		default:
			return nil
		}
	}
}
