// Package trust remembers which configurations the user has looked at. These are files that say where keys go or which
// programs run, and that lie in folders that somebody else may have filled. A file is known by its path and content:
// one that has changed, moved or been copied is not trusted.
package trust

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/erreval/erreval/internal/regularfile"
	"github.com/erreval/erreval/internal/wholefile"
)

// UserDir is the folder of the user's own configuration: erreval in $XDG_CONFIG_HOME, else in ~/.config. getenv reads
// the environment.
func UserDir(getenv func(string) string) (string, error) {
	// The XDG base directory specification says to ignore a relative path.
	if dir := getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "erreval"), nil
	}
	if home := getenv("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".config", "erreval"), nil
	}
	return "", errors.New("no folder for the user's configuration: neither XDG_CONFIG_HOME nor HOME holds an absolute " +
		"path; set one")
}

// Store is the file of what is trusted.
type Store struct {
	dir string // of the user's configuration; "" is none
	err error  // why there is none
}

// NewStore is the store in UserDir. It reads nothing yet.
func NewStore(getenv func(string) string) *Store {
	dir, err := UserDir(getenv)
	return &Store{dir, err}
}

func (s *Store) path() string { return filepath.Join(s.dir, "trusted.json") }

// Trusted tells whether file was trusted with this content. A path that cannot be made absolute is an error.
func (s *Store) Trusted(file string, data []byte) (bool, error) {
	hashes, err := s.read()
	if err != nil {
		return false, err
	}
	key, err := resolve(file)
	return err == nil && hashes[key] == hashOf(data), err
}

// Add trusts file with this content, and no longer with another.
func (s *Store) Add(file string, data []byte) error {
	key, err := resolve(file)
	if err != nil {
		return err
	}
	return s.change(func(hashes map[string]string) { hashes[key] = hashOf(data) })
}

// Remove trusts file no longer. It tells whether it was trusted with any content.
func (s *Store) Remove(file string) (removed bool, err error) {
	key, err := resolve(file)
	if err != nil {
		return false, err
	}
	err = s.change(func(hashes map[string]string) {
		_, removed = hashes[key]
		delete(hashes, key)
	})
	return removed, err
}

// Files are the absolute paths of what is trusted, in order. They may have changed since.
func (s *Store) Files() ([]string, error) {
	hashes, err := s.read()
	return slices.Sorted(maps.Keys(hashes)), err
}

func (s *Store) read() (map[string]string, error) {
	if s.err != nil {
		return nil, s.err
	}
	hashes := map[string]string{}
	data, err := regularfile.Read(s.path(), regularfile.Max)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return hashes, nil
	case err != nil:
		return nil, err
	}
	if err := json.Unmarshal(data, &hashes); err != nil || hashes == nil {
		return nil, fmt.Errorf("%s: it is damaged; remove it, and trust again what you need: erreval trust DIR", s.path())
	}
	return hashes, nil
}

// change writes the store anew. Changes of other processes wait meanwhile.
func (s *Store) change(edit func(map[string]string)) (err error) {
	if s.err != nil {
		return s.err
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	folder, err := os.Open(s.dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, folder.Close()) }() // which unlocks it
	if err := syscall.Flock(int(folder.Fd()), syscall.LOCK_EX); err != nil {
		return fmt.Errorf("%s cannot be locked: %w", s.dir, err)
	}
	hashes, err := s.read()
	if err != nil {
		return err
	}
	edit(hashes)
	data, err := json.MarshalIndent(hashes, "", "  ")
	if err != nil {
		return err
	}
	return wholefile.WritePrivate(s.path(), append(data, '\n'))
}

// resolve is the path of a file without links in its folder.
func resolve(file string) (string, error) {
	path, err := filepath.Abs(file)
	if err != nil {
		return "", err
	}
	if folder, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		return filepath.Join(folder, filepath.Base(path)), nil
	}
	return path, nil // the folder is gone
}

func hashOf(data []byte) string { return fmt.Sprintf("%x", sha256.Sum256(data)) }
