// Package checkpoint reads the weights of a Hugging Face checkpoint. These are safetensors or torch's
// pytorch_model.bin, whole or sharded. It runs no code of the files, checks every length against the file before it
// uses it, and holds one tensor at a time in memory.
package checkpoint

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/erreval/erreval/internal/regularfile"
)

// Limits far above every real checkpoint.
const (
	maxHeader = 100_000_000 // bytes of a safetensors header (the safetensors crate's own limit) and of an index
	maxPickle = 16 << 20    // bytes of data.pkl, each of which may stand for some fifty in memory
	maxName   = 1024        // bytes of a tensor's name
	maxRank   = 64          // dimensions; torch's own limit
)

// Info describes one tensor.
type Info struct {
	Name  string
	DType DType
	Shape []int64 // empty for a single number
}

// Weights are the tensors of a checkpoint. Its methods but Close may be called at the same time.
type Weights struct {
	tensors map[string]*tensor
	files   []*os.File
}

// tensor says where in a file a tensor's numbers lie.
type tensor struct {
	Info
	file    io.ReaderAt
	path    string
	offset  int64   // of the first number, in bytes from the start of the file
	strides []int64 // in elements; nil if row after row
	fault   error   // why its numbers cannot be read
}

// reader lists the tensors of a file that is size bytes long. It fills neither path nor file.
type reader func(file io.ReaderAt, size int64) ([]*tensor, error)

// sources are the files that hold weights, the preferred first.
var sources = []struct {
	file string
	read reader
}{
	{"model.safetensors", readSafetensors},
	{"model.safetensors.index.json", readSafetensors},
	{"pytorch_model.bin", readTorch},
	{"pytorch_model.bin.index.json", readTorch},
}

// Open lists the tensors of the checkpoint in dir, without reading their numbers. It reads the first file that exists
// of model.safetensors, model.safetensors.index.json, pytorch_model.bin and pytorch_model.bin.index.json; if there is
// none, the error is an fs.ErrNotExist. Other errors name the file, the fault, and what to do.
func Open(dir string) (*Weights, error) {
	w := &Weights{tensors: map[string]*tensor{}}
	if err := w.openFiles(dir); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

func (w *Weights) openFiles(dir string) error {
	for _, s := range sources {
		path := filepath.Join(dir, s.file)
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if filepath.Ext(path) == ".json" {
			return w.addShards(path, s.read)
		}
		tensors, err := w.readFile(path, s.read)
		if err != nil {
			return err
		}
		return w.addTensors(tensors)
	}
	return &missing{dir}
}

// missing is the error about a directory without weights.
type missing struct{ dir string }

func (e *missing) Error() string {
	return e.dir + " holds no weights: no model.safetensors, no pytorch_model.bin, nor the index of a sharded one " +
		"(TensorFlow and Flax weights are not read; save the model with torch or as safetensors)"
}

func (e *missing) Is(target error) bool { return target == fs.ErrNotExist }

// Names returns the names of all tensors, sorted.
func (w *Weights) Names() []string { return slices.Sorted(maps.Keys(w.tensors)) }

// Info describes the tensor called name, and says whether there is one.
func (w *Weights) Info(name string) (Info, bool) {
	t, ok := w.tensors[name]
	if !ok {
		return Info{}, false
	}
	info := t.Info
	info.Shape = slices.Clone(info.Shape)
	return info, true
}

// Floats reads the tensor called name as float32, the last dimension running fastest. The numbers overwrite to, which
// is replaced by a longer slice where it is too short. F32, F16 and BF16 are read, all exactly; any other DType is an
// error, and so is a NaN or an infinity.
func (w *Weights) Floats(name string, to []float32) ([]float32, error) {
	t, ok := w.tensors[name]
	if !ok {
		return nil, fmt.Errorf("the checkpoint has no tensor %q", name)
	}
	to, err := t.floats(to)
	if err != nil {
		return nil, fmt.Errorf("%s: tensor %q %w", t.path, name, err)
	}
	return to, nil
}

// Close closes the files.
func (w *Weights) Close() error {
	var errs []error
	for _, f := range w.files {
		errs = append(errs, f.Close())
	}
	w.files = nil
	return errors.Join(errs...)
}

func (w *Weights) addTensors(tensors []*tensor) error {
	for _, t := range tensors {
		if old, ok := w.tensors[t.Name]; ok {
			return fmt.Errorf("%s: tensor %q is in %s as well", t.path, t.Name, filepath.Base(old.path))
		}
		w.tensors[t.Name] = t
	}
	return nil
}

// readFile opens a file and keeps it open.
func (w *Weights) readFile(path string, read reader) ([]*tensor, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: is not a regular file", path)
	}
	f, err := regularfile.Open(path)
	if err != nil {
		return nil, err
	}
	w.files = append(w.files, f)
	tensors, err := parseTensors(f, info.Size(), read)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for _, t := range tensors {
		t.path = path
	}
	return tensors, nil
}

func parseTensors(f io.ReaderAt, size int64, read reader) ([]*tensor, error) {
	if size == 0 {
		return nil, errors.New("is empty; download it again")
	}
	head := make([]byte, min(size, int64(len(lfsPointer))))
	if err := readAt(f, head, 0); err != nil {
		return nil, err
	}
	if bytes.Equal(head, []byte(lfsPointer)) {
		return nil, errors.New("is a Git LFS pointer, not the weights; run `git lfs pull` in the checkpoint's directory")
	}
	tensors, err := read(f, size)
	if err != nil {
		return nil, err
	}
	if len(tensors) == 0 {
		return nil, errors.New("holds no tensors")
	}
	for _, t := range tensors {
		t.file = f
	}
	return tensors, nil
}

const lfsPointer = "version https://git-lfs.github.com/spec/"

// readAt fills buf, or says that the file is too short.
func readAt(f io.ReaderAt, buf []byte, offset int64) error {
	n, err := f.ReadAt(buf, offset)
	if n == len(buf) {
		return nil
	}
	if errors.Is(err, io.EOF) {
		return errors.New("became shorter while it was read; was it replaced?")
	}
	return err
}

// checkName refuses names that cannot be used in messages and files.
func checkName(name string) error {
	if len(name) == 0 || len(name) > maxName || strings.ContainsRune(name, 0) {
		return fmt.Errorf("has a tensor with an unusable name, %s (%d bytes)", quote(name), len(name))
	}
	return nil
}

// quote quotes text of a file for a message, and cuts it.
func quote(s string) string {
	if len(s) > 80 {
		return fmt.Sprintf("%q…", s[:80])
	}
	return fmt.Sprintf("%q", s)
}

// span is a range of bytes that belongs to name.
type span struct {
	name     string
	from, to int64
}

// checkOverlap sorts the spans and returns an error about two that share a byte.
func checkOverlap(spans []span) error {
	spans = slices.DeleteFunc(spans, func(s span) bool { return s.from == s.to })
	slices.SortFunc(spans, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.from, b.from), strings.Compare(a.name, b.name))
	})
	for i := 1; i < len(spans); i++ {
		if a, b := spans[i-1], spans[i]; b.from < a.to {
			return fmt.Errorf("%s and %s overlap in the file; it is damaged or forged", quote(a.name), quote(b.name))
		}
	}
	return nil
}
