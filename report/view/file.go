package view

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/erreval/erreval/taxonomy"
)

const (
	fileFormat    = 8 // of what stands in a file
	fileSuffix    = ".view"
	partialSuffix = ".partial"
	defaultSize   = 8 << 30
	staleAfter    = 24 * time.Hour // when a file that was never finished is nobody's any more
)

// stored is what a file says of itself.
type stored struct {
	Meta *meta              `json:"meta"`
	Task *taxonomy.Taxonomy `json:"task"`
}

// file holds the parts of an index one behind the other, each with its length and a checksum before it. It is in memory
// until it is moved, and has another name until it is whole.
type file struct {
	held  []byte
	path  string   // as it is
	final string   // as it is to be called; "": it is temporary, and removed when it is closed
	in    *os.File // nil: in memory
	out   *bufio.Writer
	size  int64
}

const headBytes = 8 // of a part: length and checksum

var errDamaged = errors.New("the index is damaged; delete it, and it is made again")

// move puts what is in memory into a file.
func (f *file) move(o *Options, key string) (err error) {
	dir := o.TempDir
	if key != "" {
		if err := os.MkdirAll(o.CacheDir, 0o700); err != nil {
			return err
		}
		dir, f.final = o.CacheDir, filepath.Join(o.CacheDir, key+fileSuffix)
	}
	if f.in, err = os.CreateTemp(dir, "erreval-*"+partialSuffix); err != nil { // 0600
		f.in = nil
		return err
	}
	f.path, f.out = f.in.Name(), bufio.NewWriterSize(f.in, 1<<20)
	_, err = f.out.Write(f.held)
	f.held = nil
	return err
}

// put stores a part, and says where.
func (f *file) put(data []byte) (at int64, err error) {
	at = f.size
	head := binary.LittleEndian.AppendUint32(nil, uint32(len(data))) // parts are far below 4 GiB
	head = binary.LittleEndian.AppendUint32(head, sumOf(at, data))
	f.size += headBytes + int64(len(data))
	if f.in == nil {
		f.held = append(append(f.held, head...), data...)
		return at, nil
	}
	_, _ = f.out.Write(head) // the next error is the same
	_, err = f.out.Write(data)
	return at, err
}

// sumOf is a checksum of a part at its place.
func sumOf(at int64, data []byte) uint32 {
	place := binary.LittleEndian.AppendUint64(nil, uint64(at))
	return crc32.Update(crc32.ChecksumIEEE(place), crc32.IEEETable, data)
}

// get reads a part.
func (f *file) get(ctx context.Context, at int64) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	head, err := f.read(at, headBytes)
	if err != nil {
		return nil, err
	}
	data, err := f.read(at+headBytes, int64(binary.LittleEndian.Uint32(head)))
	if err == nil && sumOf(at, data) != binary.LittleEndian.Uint32(head[4:]) {
		err = fmt.Errorf("%s: %w", f.path, errDamaged)
	}
	return data, err
}

// read gives bytes; do not change them.
func (f *file) read(at, n int64) ([]byte, error) {
	if at < 0 || at > f.size-n {
		return nil, fmt.Errorf("%s: %w", f.path, errDamaged)
	}
	if f.in == nil {
		return f.held[at : at+n], nil
	}
	data := make([]byte, n)
	_, err := f.in.ReadAt(data, at)
	return data, err
}

// finish makes a file whole. One that is to be kept gets what it says of itself and its name, and the oldest beside it
// go where there are too many.
func (f *file) finish(o *Options, s stored) error {
	if f.in == nil || f.final == "" {
		return nil
	}
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	at, err := f.put(data)
	if err != nil {
		return err
	}
	if err := binary.Write(f.out, binary.LittleEndian, at); err != nil {
		return err
	}
	if err := errors.Join(f.out.Flush(), f.in.Sync(), f.in.Close()); err != nil { // Windows names no open file
		return err
	}
	if err := os.Rename(f.path, f.final); err != nil {
		return err
	}
	f.path = f.final
	pruneFiles(o, f.final)
	f.in, err = os.Open(f.path)
	return err
}

func (f *file) close() error {
	if f.in == nil {
		return nil
	}
	err := f.in.Close()
	if f.path != f.final {
		err = errors.Join(err, os.Remove(f.path))
	}
	return err
}

// openCached opens the index that was made of the same files; nil where there is none that can be read: it is made
// again, and takes this one's place.
func openCached(ctx context.Context, o *Options, key string) *Index {
	path := filepath.Join(o.CacheDir, key+fileSuffix)
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	f := &file{path: path, final: path, size: info.Size()}
	if f.in, err = os.Open(path); err != nil {
		return nil
	}
	var s stored
	data, err := f.read(f.size-8, 8) // where stored is
	if err == nil {
		data, err = f.get(ctx, int64(binary.LittleEndian.Uint64(data)))
	}
	if err != nil || json.Unmarshal(data, &s) != nil || s.Meta == nil {
		_ = f.close()
		return nil
	}
	now := time.Now()
	_ = os.Chtimes(path, now, now) // so that it is not the oldest
	return newIndex(*s.Meta, f, s.Task)
}

// pruneFiles removes the files that were used longest ago, as long as they take more than the bound, and those that
// were never finished. What cannot be removed stays.
func pruneFiles(o *Options, keep string) {
	entries, err := os.ReadDir(o.CacheDir)
	if err != nil {
		return
	}
	limit := o.CacheSize
	if limit == 0 {
		limit = defaultSize
	}
	var all []fs.FileInfo
	total := int64(0)
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		if strings.HasSuffix(e.Name(), partialSuffix) && time.Since(info.ModTime()) > staleAfter {
			_ = os.Remove(filepath.Join(o.CacheDir, e.Name()))
		}
		if strings.HasSuffix(e.Name(), fileSuffix) {
			all, total = append(all, info), total+info.Size()
		}
	}
	slices.SortFunc(all, func(a, b fs.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	for _, info := range all {
		if path := filepath.Join(o.CacheDir, info.Name()); total > limit && path != keep && os.Remove(path) == nil {
			total -= info.Size()
		}
	}
}
