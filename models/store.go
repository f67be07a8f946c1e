package models

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/erreval/erreval/internal/plainjson"
	"github.com/erreval/erreval/internal/regularfile"
	"github.com/erreval/erreval/internal/wholefile"
)

// DefaultName is the name of the model inside the program, which no model in a Store can have.
const DefaultName = "default"

// modelName matches the names that a model in a Store may have: valid folder names on every system, and not hidden.
var modelName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,95}$`)

// CheckName says what is wrong with a name for a model, or nil.
func CheckName(name string) error {
	switch {
	case name == DefaultName:
		return fmt.Errorf("%q is the model inside the program; give another name", name)
	case !modelName.MatchString(name):
		return fmt.Errorf("%q is no name for a model; use letters, digits, '.', '_' and '-', a letter or digit first, at "+
			"most 96", name)
	}
	return nil
}

// AsFolder writes dir so that nobody reads it as the name of a model in a Store.
func AsFolder(dir string) string {
	if strings.ContainsRune(dir, filepath.Separator) {
		return dir
	}
	return "." + string(filepath.Separator) + dir
}

// Store is a folder of models, each a folder with a manifest.json that has the model's name. It need not exist.
type Store struct{ Dir string }

// Path is the folder of the model called name, or "" if no model of that name is there.
func (s Store) Path(name string) string {
	if CheckName(name) != nil {
		return ""
	}
	dir := filepath.Join(s.Dir, name)
	if _, err := os.Stat(filepath.Join(dir, ManifestFile)); err != nil {
		return ""
	}
	return dir
}

// List returns the manifests of all models, by name in the alphabet's order. One that cannot be read gives an error
// beside the others.
func (s Store) List() ([]Stored, error) {
	entries, err := os.ReadDir(s.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var found []Stored
	var errs []error
	for _, entry := range entries {
		dir := s.Path(entry.Name())
		if dir == "" {
			continue
		}
		data, err := regularfile.Read(filepath.Join(dir, ManifestFile), regularfile.MaxManifest)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		m, err := ParseManifest(data)
		if err != nil {
			errs = append(errs, fmt.Errorf("model %s: %w; import it again, or remove it with 'erreval models rm %[1]s'",
				entry.Name(), err))
			continue
		}
		found = append(found, Stored{Name: entry.Name(), Dir: dir, Manifest: *m})
	}
	return found, errors.Join(errs...)
}

// Stored is a model in a Store.
type Stored struct {
	Name     string
	Dir      string
	Manifest Manifest
}

// Size is that of all files together, in bytes.
func (m *Manifest) Size() int64 {
	total := int64(0)
	for _, f := range m.Files {
		total += f.Size
	}
	return total
}

// Remove removes the model called name, and the leftovers of imports of it that were killed. Nobody ever sees the model
// with half its files.
func (s Store) Remove(name string) error {
	if err := CheckName(name); err != nil {
		return err
	}
	dir := filepath.Join(s.Dir, name)
	left, err := filepath.Glob(filepath.Join(s.Dir, partialPrefix(name)+"*"))
	if err != nil {
		return err
	}
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) && len(left) == 0 {
		return fmt.Errorf("there is no model %q in %s; 'erreval models list' shows those that are there", name, s.Dir)
	}
	if err := hideFolder(dir); err != nil {
		return err
	}
	if left, err = filepath.Glob(filepath.Join(s.Dir, partialPrefix(name)+"*")); err != nil {
		return err
	}
	var errs []error
	for _, dir := range left {
		errs = append(errs, os.RemoveAll(dir))
	}
	return errors.Join(errs...)
}

func partialPrefix(name string) string { return "." + name + ".partial-" }

// hideFolder renames dir to a hidden name beside it, if it is there.
func hideFolder(dir string) error {
	to, err := os.MkdirTemp(filepath.Dir(dir), partialPrefix(filepath.Base(dir)))
	if err != nil {
		return err
	}
	if err := os.Rename(dir, filepath.Join(to, "old")); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Draft is a model that is being made, in a hidden folder beside the one that it will have.
type Draft struct {
	*wholefile.Folder // the caller fills its Dir
	to                string
}

// NewDraft begins a model whose folder will be to. An existing model there stays until Publish, and replacing it needs
// replace. NewDraft refuses a folder that holds anything else.
func NewDraft(to string, replace bool) (*Draft, error) {
	if err := checkVacant(to, replace); err != nil {
		return nil, err
	}
	folder, err := wholefile.NewFolder(to, partialPrefix(filepath.Base(to)))
	return &Draft{folder, to}, err
}

// checkVacant is an error if no model may be put at dir.
func checkVacant(dir string, replace bool) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(dir, ManifestFile)); err != nil {
		return fmt.Errorf("%s is not empty and holds no model; give a new directory", dir)
	}
	if !replace {
		return fmt.Errorf("%s holds a model; replace it with --overwrite, or give another name with --name", dir)
	}
	return nil
}

// Publish gives the draft its name.
func (d *Draft) Publish(replace bool) error {
	if err := checkVacant(d.to, replace); err != nil {
		return err
	}
	return d.Folder.Publish(replace)
}

// Seal puts size and hash of every file in dir, a model's folder, into the manifest.
func (m *Manifest) Seal(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	files := map[string]File{}
	model := &Model{FS: root.FS(), dir: dir}
	err = fs.WalkDir(model.FS, ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && name != ManifestFile {
			_, files[name], err = model.readFile(name)
		}
		return err
	})
	m.Files = files
	return err
}

// Write validates m and writes it, with its checksum, as the manifest of the model in dir.
func (m *Manifest) Write(dir string) error {
	if err := m.Validate(); err != nil {
		return err
	}
	bare := *m
	bare.Checksum = ""
	data, err := plainjson.Marshal(bare, " ")
	if err != nil {
		return err
	}
	return wholefile.Write(filepath.Join(dir, ManifestFile), withChecksum(data))
}

// openFolder is os.OpenRoot, which would wait at a pipe until somebody writes there.
func openFolder(dir string) (*os.Root, error) {
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return nil, &fs.PathError{Op: "open", Path: dir, Err: errors.New("not a directory")}
	}
	return os.OpenRoot(dir)
}
