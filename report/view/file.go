package view

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/erreval/erreval/taxonomy"
)

const (
	fileSuffix    = ".view"
	partialSuffix = ".partial"
	defaultSize   = 8 << 30
	staleAfter    = 24 * time.Hour // when a file that was never finished is nobody's any more
	perCommit     = 512            // parts in a transaction
)

// stored is what a file says of itself.
type stored struct {
	Meta *meta              `json:"meta"`
	Task *taxonomy.Taxonomy `json:"task"`
}

// file is a store in an SQLite file, made under another name until it is whole.
type file struct {
	path    string // as it is
	final   string // as it is to be called; "": it is temporary, and removed when it is closed
	db      *sql.DB
	insert  *sql.Stmt // nil once it is whole
	find    *sql.Stmt
	pending int
}

// createFile begins a file.
func createFile(o *Options, key string) (*file, error) {
	dir := o.TempDir
	f := &file{}
	if key != "" {
		if err := os.MkdirAll(o.CacheDir, 0o700); err != nil {
			return nil, err
		}
		dir, f.final = o.CacheDir, filepath.Join(o.CacheDir, key+fileSuffix)
	}
	out, err := os.CreateTemp(dir, "erreval-*"+partialSuffix) // 0600
	if err != nil {
		return nil, err
	}
	if f.path = out.Name(); out.Close() != nil {
		return nil, errors.Join(err, os.Remove(f.path))
	}
	// A file that is not finished is of no use: nothing is synced before it is.
	err = f.connect("page_size(16384)", "journal_mode(off)", "synchronous(off)", "locking_mode(exclusive)")
	if err != nil {
		return nil, errors.Join(err, f.close())
	}
	f.db.SetMaxOpenConns(1)
	for _, query := range []string{"CREATE TABLE part (name TEXT PRIMARY KEY, data BLOB NOT NULL, sum INTEGER NOT NULL)",
		"BEGIN"} {
		if _, err = f.db.Exec(query); err != nil {
			return nil, errors.Join(err, f.close())
		}
	}
	if f.insert, err = f.db.Prepare("INSERT OR REPLACE INTO part (name, data, sum) VALUES (?, ?, ?)"); err == nil {
		err = f.prepare()
	}
	if err != nil {
		return nil, errors.Join(err, f.close())
	}
	return f, nil
}

func (f *file) connect(pragmas ...string) (err error) {
	abs, err := filepath.Abs(f.path)
	if err != nil {
		return err
	}
	if abs = filepath.ToSlash(abs); !strings.HasPrefix(abs, "/") {
		abs = "/" + abs // a Windows drive
	}
	q := url.Values{"_pragma": append(pragmas, "cache_size(-8192)")}
	f.db, err = sql.Open("sqlite", "file:"+(&url.URL{Path: abs}).EscapedPath()+"?"+q.Encode())
	return err
}

func (f *file) prepare() (err error) {
	f.find, err = f.db.Prepare("SELECT data, sum FROM part WHERE name = ?")
	return err
}

func (f *file) put(name string, data []byte) error {
	if data == nil {
		data = []byte{}
	}
	if _, err := f.insert.Exec(name, data, int64(crc32.ChecksumIEEE(data))); err != nil {
		return fmt.Errorf("%s: %w", f.path, err)
	}
	if f.pending++; f.pending%perCommit == 0 {
		for _, query := range []string{"COMMIT", "BEGIN"} {
			if _, err := f.db.Exec(query); err != nil {
				return fmt.Errorf("%s: %w", f.path, err)
			}
		}
	}
	return nil
}

func (f *file) get(ctx context.Context, name string) (data []byte, err error) {
	var sum int64
	err = f.find.QueryRowContext(ctx, name).Scan(&data, &sum)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, nil
	case err == nil && sum != int64(crc32.ChecksumIEEE(data)):
		err = errDamaged
	}
	if err != nil && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.path, err)
	}
	return data, nil
}

// publish ends writing. A file that is to be kept gets its name, and the oldest beside it go where there are too many.
func (f *file) publish(o *Options) error {
	_, err := f.db.Exec("COMMIT")
	if err = errors.Join(err, f.find.Close(), f.insert.Close(), f.db.Close()); err != nil {
		return err
	}
	f.insert = nil
	if f.final != "" {
		if err := syncFile(f.path); err != nil {
			return err
		}
		if err := os.Rename(f.path, f.final); err != nil {
			return err
		}
		f.path = f.final
	}
	if err := f.open(); err != nil {
		return err
	}
	if f.final != "" {
		pruneFiles(o, f.final)
	}
	return nil
}

func syncFile(path string) error {
	out, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(out.Sync(), out.Close())
}

// open opens a whole file to be read.
func (f *file) open() error {
	if err := f.connect("query_only(1)"); err != nil {
		return err
	}
	f.db.SetMaxOpenConns(4)
	f.db.SetMaxIdleConns(4)
	return f.prepare()
}

func (f *file) close() error {
	var errs []error
	for _, s := range []*sql.Stmt{f.insert, f.find} {
		if s != nil {
			errs = append(errs, s.Close())
		}
	}
	if f.db != nil {
		errs = append(errs, f.db.Close())
	}
	if f.path != f.final {
		errs = append(errs, os.Remove(f.path))
	}
	return errors.Join(errs...)
}

// openCached opens the index that was made of the same files; nil where there is none that can be read.
func openCached(ctx context.Context, o *Options, key string) *Index {
	path := filepath.Join(o.CacheDir, key+fileSuffix)
	if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	f := &file{path: path, final: path}
	var s stored
	err := f.open()
	if err == nil {
		var data []byte
		if data, err = f.get(ctx, metaPart); err == nil {
			err = json.Unmarshal(data, &s)
		}
	}
	if err != nil || s.Meta == nil || s.Meta.check() != nil {
		_ = f.close() // it is made again, and takes this one's place
		return nil
	}
	now := time.Now()
	_ = os.Chtimes(path, now, now) // so that it is not the oldest
	return newIndex(*s.Meta, f, s.Task)
}

// check refuses what would not be of one piece.
func (m *meta) check() error {
	if len(m.Starts) != len(m.Catalog.Runs)+1 || len(m.Files) != len(m.Catalog.Runs) || m.Catalog.Format != Format ||
		m.Starts[len(m.Starts)-1] != m.Catalog.Rows || !slices.IsSorted(m.Starts) {
		return errDamaged
	}
	return nil
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
		if path := filepath.Join(o.CacheDir, info.Name()); total > limit && path != keep {
			if os.Remove(path) == nil {
				total -= info.Size()
			}
		}
	}
}
