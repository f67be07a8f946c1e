package models

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/erreval/erreval/taxonomy"
)

// Model is an opened model, every file of which was checked.
type Model struct {
	Manifest Manifest
	Source   string // where it came from, for messages: a directory or "default"
	FS       fs.FS  // its files; the tokenizer is read from here
	Graph    []byte // the .onnx file; may be set to nil once a session is open
	SHA256   string // of Graph, hexadecimal
	Plain    bool   // made from a plain export: joining and thresholds are defaults, not the trainer's
}

// Open opens the model in a directory: one with a manifest.json, or a plain ONNX export with tokenizer.json (or
// vocabulary files) and config.json. A file or symbolic link that leads out of the directory is refused.
func Open(dir string, t *taxonomy.Taxonomy) (*Model, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("model %s: %w; give 'default' or a directory with a manifest.json", dir, err)
	}
	// The root stays open as long as the model's FS is used.
	m, err := open(root.FS(), dir, t)
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return m, nil
}

// OpenFS opens the model in fsys; source names it in messages.
func OpenFS(fsys fs.FS, source string, t *taxonomy.Taxonomy) (*Model, error) {
	return open(fsys, source, t)
}

func open(fsys fs.FS, source string, t *taxonomy.Taxonomy) (*Model, error) {
	m := &Model{Source: source, FS: fsys}
	var err error
	if data, readErr := fs.ReadFile(fsys, ManifestFile); readErr == nil {
		err = m.fromManifest(data)
	} else if errors.Is(readErr, fs.ErrNotExist) {
		err = m.fromExport(t)
	} else {
		err = readErr
	}
	if err == nil {
		err = m.check(t)
	}
	if err != nil {
		return nil, fmt.Errorf("model %s does not fit: %w", source, err)
	}
	return m, nil
}

// fromManifest reads the manifest and the files it lists.
func (m *Model) fromManifest(data []byte) error {
	manifest, err := ParseManifest(data)
	if err != nil {
		return err
	}
	m.Manifest = *manifest
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(manifest.Files)) {
		content, err := verified(m.FS, name, manifest.Files[name])
		if err != nil {
			errs = append(errs, err)
		}
		if name == GraphFile {
			m.Graph = content
		}
	}
	m.SHA256 = manifest.Files[GraphFile].SHA256
	return errors.Join(errs...)
}

// verified reads a file and compares it with what the manifest says of it.
func verified(fsys fs.FS, name string, want File) ([]byte, error) {
	data, err := fs.ReadFile(fsys, name)
	if err != nil {
		return nil, fmt.Errorf("%w (the manifest lists it; links that leave the directory are refused)", err)
	}
	if int64(len(data)) != want.Size {
		return nil, fmt.Errorf("%s has %d bytes, the manifest says %d; copy the model again", name, len(data), want.Size)
	}
	if got := digest(data); got != strings.ToLower(want.SHA256) {
		return nil, fmt.Errorf("%s has the SHA-256 %s, the manifest says %s; copy the model again", name, got, want.SHA256)
	}
	return data, nil
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// check compares the manifest with the graph and the taxonomy.
func (m *Model) check(t *taxonomy.Taxonomy) error {
	g, err := parseGraph(m.Graph)
	if err != nil {
		return fmt.Errorf("%s: %w; export it again", GraphFile, err)
	}
	return errors.Join(g.fits(&m.Manifest), m.Manifest.Fits(t))
}

// Fits reports why the model's labels and fields are not those of t.
func (m *Manifest) Fits(t *taxonomy.Taxonomy) error {
	var f faults
	for _, label := range m.Labels {
		i, ok := t.Index(label)
		f.check(ok, "the taxonomy %s has no error type %q; its types are %s; give the taxonomy the model was trained on (%s) with --taxonomy",
			t.ID(), label, strings.Join(t.Labels(), ", "), m.Taxonomy)
		_, has := m.Thresholds[label]
		f.check(!ok || has || t.Types[i].NoError, "thresholds lack %q; give it one, such as 0.5", label)
	}
	for _, field := range m.Fields {
		f.check(slices.Contains(t.FieldNames(), field), "the taxonomy %s has no field %q; its fields are %s",
			t.ID(), field, strings.Join(t.FieldNames(), ", "))
	}
	return errors.Join(f...)
}

// Export writes the model in fsys to dir, which must be empty or not exist: the manifest, every file that it lists, and
// the card. It returns the names of the files written.
func Export(fsys fs.FS, dir string) ([]string, error) {
	data, err := fs.ReadFile(fsys, ManifestFile)
	if err != nil {
		return nil, err
	}
	manifest, err := ParseManifest(data)
	if err != nil {
		return nil, err
	}
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return nil, fmt.Errorf("%s is not empty; give a new directory", dir)
	}
	// The manifest comes last: a directory that has one is complete.
	written := slices.Sorted(maps.Keys(manifest.Files))
	if _, listed := manifest.Files[CardFile]; !listed {
		if _, err := fs.Stat(fsys, CardFile); err == nil {
			written = append(written, CardFile)
		}
	}
	written = append(written, ManifestFile)
	for _, name := range written {
		if err := copyFile(fsys, name, dir); err != nil {
			return nil, err
		}
	}
	return written, nil
}

func copyFile(fsys fs.FS, name, dir string) error {
	data, err := fs.ReadFile(fsys, name)
	if err != nil {
		return err
	}
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o666)
}
