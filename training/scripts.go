// Package training holds the Python of the trainer, for programs without a source tree, and the environment in which it
// runs.
package training

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/erreval/erreval/internal/regularfile"
	"github.com/erreval/erreval/internal/wholefile"
)

//go:embed *.py requirements.txt
var scripts embed.FS

// requirementsFile names the pinned packages.
const requirementsFile = "requirements.txt"

// Unpack writes the scripts into a folder below dir that their content names, unless they are there, and gives the
// folder.
func Unpack(dir string) (string, error) {
	sum, err := sumOf(scripts)
	if err != nil {
		return "", err
	}
	to := filepath.Join(dir, "training-"+sum[:12])
	if err := os.MkdirAll(to, 0o755); err != nil {
		return "", err
	}
	return to, fs.WalkDir(scripts, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := scripts.ReadFile(name)
		if err != nil {
			return err
		}
		return place(filepath.Join(to, name), data)
	})
}

// place writes a file whole, unless it is there.
func place(path string, data []byte) error {
	if old, err := regularfile.Read(path, regularfile.Max); err == nil && bytes.Equal(old, data) {
		return nil
	}
	return wholefile.Write(path, data)
}

func sumOf(files fs.FS) (string, error) {
	h := sha256.New()
	err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := fs.ReadFile(files, name)
		h.Write([]byte(name + "\x00"))
		h.Write(data)
		return err
	})
	return hex.EncodeToString(h.Sum(nil)), err
}
