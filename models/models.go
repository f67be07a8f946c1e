package models

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/erreval/erreval/internal/protobuf"
	"github.com/erreval/erreval/internal/regularfile"
	"github.com/erreval/erreval/internal/wholefile"
	"github.com/erreval/erreval/taxonomy"
)

// inMemory is the largest graph, in bytes, that is read into memory. The runtime opens larger ones itself, so that
// memory holds them once.
const inMemory = 64 << 20

// Model is an opened model, every file of which was checked.
type Model struct {
	Manifest Manifest
	Source   string // where it came from, for messages: a directory or "default"
	FS       fs.FS  // its files; the tokenizer is read from here
	Graph    []byte // the .onnx file, or nil where the runtime opens it at Path; may be set to nil once a session is open
	Path     string // of the .onnx file on disk if it is large or has weights beside it; else ""
	// of the .onnx file, hexadecimal; with weights beside it, of the list of the SHA-256 of all these files
	SHA256 string
	Plain  bool // made from a plain export: joining and thresholds are defaults, not the trainer's

	dir string // of FS on disk, or ""
}

// Open opens the model in a directory: one with a manifest.json, or a plain ONNX export with tokenizer.json (or
// vocabulary files) and config.json. A file or symbolic link that leads out of the directory is refused. Every error is
// an *UnfitError.
func Open(dir string, t *taxonomy.Taxonomy) (*Model, error) {
	root, err := openFolder(dir)
	if err != nil {
		return nil, UnfitErrorf("model %s: %w; give 'default' or a directory with a manifest.json, or the name of an "+
			"imported model ('erreval models list')", dir, err)
	}
	// The root stays open as long as the model's FS is used.
	m, err := openModel(&Model{Source: dir, FS: root.FS(), dir: dir}, t)
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return m, nil
}

// OpenFS is Open for the model in fsys; source names it in messages.
func OpenFS(fsys fs.FS, source string, t *taxonomy.Taxonomy) (*Model, error) {
	return openModel(&Model{Source: source, FS: fsys}, t)
}

func openModel(m *Model, t *taxonomy.Taxonomy) (*Model, error) {
	manifest, err := ReadManifest(m.FS)
	switch {
	case err == nil:
		m.Manifest = *manifest
		err = m.verifyFiles(GraphFile) // what belongs to the fallback is checked when it is used
	case errors.Is(err, fs.ErrNotExist):
		err = m.fromExport(t)
	}
	if err == nil {
		err = m.checkManifest(t)
	}
	if err != nil {
		return nil, UnfitErrorf("model %s does not fit: %w", m.Source, err)
	}
	return m, nil
}

// verifyFiles checks the files that the manifest lists: those of the fallback if graph is the fallback's, else all
// others. It sets the model's graph.
func (m *Model) verifyFiles(graph string) error {
	ofFallback := func(name string) bool { return path.Dir(name) == path.Dir(FallbackFile) }
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(m.Manifest.Files)) {
		if ofFallback(name) != ofFallback(graph) {
			continue
		}
		content, err := m.readVerified(name)
		if err != nil {
			errs = append(errs, err)
		}
		if name == graph {
			m.setGraph(name, content, m.Manifest.Files[name])
		}
	}
	return errors.Join(errs...)
}

// VerifyFiles compares every file that the manifest of the model in dir lists, those of the fallback too, with its
// hash, and the manifest with its checksum; that it has none is an error too. It needs no taxonomy, and opens no graph.
func VerifyFiles(dir string) (*Manifest, error) {
	root, err := openFolder(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	manifest, err := ReadManifest(root.FS())
	if err != nil {
		return nil, err
	}
	m := &Model{Manifest: *manifest, FS: root.FS(), dir: dir}
	var errs []error
	if manifest.Checksum == "" {
		errs = append(errs, errNoChecksum)
	}
	for _, name := range slices.Sorted(maps.Keys(m.Manifest.Files)) {
		_, err := m.readVerified(name)
		errs = append(errs, err)
	}
	return manifest, errors.Join(errs...)
}

// HasFallback tells whether the model carries its graph in fp32 as well.
func (m *Model) HasFallback() bool {
	_, ok := m.Manifest.Files[FallbackFile]
	return ok && !m.Plain
}

// Fallback is the same model with its fp32 graph, whose files it checks. Every error is an *UnfitError.
func (m *Model) Fallback() (*Model, error) {
	f := *m
	f.Manifest.Precision, f.Manifest.Probes = "fp32", nil // the probes' logits are those of the other graph
	if err := f.useFallback(); err != nil {
		return nil, UnfitErrorf("model %s does not fit: %w", m.Source, err)
	}
	return &f, nil
}

func (m *Model) useFallback() error {
	if err := m.verifyFiles(FallbackFile); err != nil {
		return err
	}
	g, err := readGraph(m.FS, FallbackFile)
	if err != nil {
		return err
	}
	return errors.Join(m.checkExternal(g, FallbackFile), g.checkManifest(&m.Manifest))
}

// setGraph sets the graph to the file called name: to its content, or to its path if content is nil.
func (m *Model) setGraph(name string, content []byte, is File) {
	m.Graph, m.Path, m.SHA256 = content, "", is.SHA256
	if content == nil {
		m.Path = filepath.Join(m.dir, filepath.FromSlash(name))
	}
}

// readVerified compares a file with the manifest. It returns the content of a graph that is held in memory.
func (m *Model) readVerified(name string) ([]byte, error) {
	want := m.Manifest.Files[name]
	info, err := fs.Stat(m.FS, name)
	if err != nil {
		return nil, fmt.Errorf("%w (the manifest lists it; links that leave the directory are refused)", err)
	}
	if info.Size() != want.Size {
		return nil, fmt.Errorf("%s has %d bytes, the manifest says %d; copy the model again", name, info.Size(), want.Size)
	}
	content, is, err := m.readFile(name)
	if err == nil && is.SHA256 != strings.ToLower(want.SHA256) {
		err = fmt.Errorf("%s has the SHA-256 %s, the manifest says %s; copy the model again", name, is.SHA256, want.SHA256)
	}
	return content, err
}

// readFile hashes a file. It also returns the content if the file is a graph that is held in memory.
func (m *Model) readFile(name string) ([]byte, File, error) {
	f, err := regularfile.OpenFS(m.FS, name)
	if err != nil {
		return nil, File{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, File{}, err
	}
	var content bytes.Buffer
	sum := sha256.New()
	to := io.Writer(sum)
	hold := path.Ext(name) == path.Ext(GraphFile) && (m.dir == "" || info.Size() <= inMemory)
	if hold {
		content.Grow(int(info.Size()) + bytes.MinRead)
		to = io.MultiWriter(sum, &content)
	}
	n, err := io.Copy(to, f)
	if err != nil {
		return nil, File{}, err
	}
	is := File{SHA256: hex.EncodeToString(sum.Sum(nil)), Size: n}
	if !hold {
		return nil, is, nil
	}
	return content.Bytes(), is, nil
}

// readGraph reads the inputs, the outputs and the names of weights of a graph.
func readGraph(fsys fs.FS, name string) (*graph, error) {
	f, err := regularfile.OpenFS(fsys, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	file, size, err := randomAccess(f)
	if err != nil {
		return nil, err
	}
	g, err := parseGraph(protobuf.Message{File: file, End: size})
	if err != nil {
		return nil, fmt.Errorf("%s: %w; export it again", name, err)
	}
	return g, nil
}

// randomAccess reads f into memory if it can be read in no other way.
func randomAccess(f fs.File) (io.ReaderAt, int64, error) {
	if r, ok := f.(io.ReaderAt); ok {
		info, err := f.Stat()
		if err != nil {
			return nil, 0, err
		}
		return r, info.Size(), nil
	}
	data, err := io.ReadAll(f)
	return bytes.NewReader(data), int64(len(data)), err
}

func hashText(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// checkManifest compares the manifest with the graph and the taxonomy.
func (m *Model) checkManifest(t *taxonomy.Taxonomy) error {
	name := GraphFile
	if m.Plain {
		name, _ = FindGraph(m.FS) // it was found before
	}
	g, err := readGraph(m.FS, name)
	if err != nil {
		return err
	}
	return errors.Join(m.checkExternal(g, name), g.checkManifest(&m.Manifest), m.Manifest.Fits(t))
}

// checkExternal checks the files of weights beside the graph. The runtime opens such a graph and its weights by path.
func (m *Model) checkExternal(g *graph, name string) error {
	if len(g.external) == 0 {
		return nil
	}
	if m.dir == "" {
		return fmt.Errorf("the weights of %s stand in %s; such a model can only be opened in a directory", name,
			strings.Join(g.external, ", "))
	}
	all := m.SHA256 + "\n"
	for _, file := range g.external {
		is, err := m.describeBeside(path.Join(path.Dir(name), file))
		if err != nil {
			return fmt.Errorf("weights of %s stand in %q, %w", name, file, err)
		}
		all += strings.ToLower(is.SHA256) + "\n"
	}
	m.setGraph(name, nil, File{SHA256: hashText([]byte(all))})
	if m.Plain {
		m.Manifest.Version = m.SHA256[:12]
	}
	return nil
}

// describeBeside gives the identity of a file of weights: from the manifest, or, for a plain export, from the file.
func (m *Model) describeBeside(file string) (File, error) {
	is, listed := m.Manifest.Files[file]
	if listed {
		return is, nil
	}
	if !m.Plain {
		return is, fmt.Errorf("which %s does not list; list it with its sha256", ManifestFile)
	}
	_, is, err := m.readFile(file)
	if err != nil {
		return is, fmt.Errorf("which cannot be read: %w; put it beside the graph", err)
	}
	m.Manifest.Files[file] = is
	return is, nil
}

// Fits reports why the model's labels and fields are not those of t.
func (m *Manifest) Fits(t *taxonomy.Taxonomy) error {
	var f faults
	if !m.hasSameTask(t) {
		f.require(false, "the model was trained on the taxonomy %s, not on %s; give that one with --taxonomy, or a model "+
			"of your task with --model; --identifier llm has a language model find the errors, and needs none",
			m.Taxonomy, t.ID())
		return errors.Join(f...)
	}
	for _, label := range m.Labels {
		i, ok := t.Index(label)
		f.require(ok, "the taxonomy %s has no error type %q; its types are %s; give the taxonomy the model was trained on "+
			"(%s) with --taxonomy",
			t.ID(), label, strings.Join(t.Labels(), ", "), m.Taxonomy)
		_, has := m.Thresholds[label]
		f.require(!ok || has || t.Types[i].NoError, "thresholds lack %q; give it one, such as 0.5", label)
	}
	for _, field := range m.Fields {
		f.require(slices.Contains(t.FieldNames(), field), "the taxonomy %s has no field %q; its fields are %s",
			t.ID(), field, strings.Join(t.FieldNames(), ", "))
	}
	return errors.Join(f...)
}

// hasSameTask tells whether t has one of the model's error types, or the name of the model's taxonomy.
func (m *Manifest) hasSameTask(t *taxonomy.Taxonomy) bool {
	name, _, _ := strings.Cut(m.Taxonomy, "@")
	return name == "" || name == t.Name || slices.ContainsFunc(m.Labels, func(label string) bool {
		i, ok := t.Index(label)
		return ok && !t.Types[i].NoError
	})
}

// Export writes the model in fsys to dir, which must be empty or not exist: the manifest, with a checksum if it had
// none, every file that it lists, and the card. It returns the names of the files written.
func Export(fsys fs.FS, dir string) ([]string, error) {
	data, err := regularfile.ReadFS(fsys, ManifestFile, regularfile.MaxManifest)
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
	// The manifest is written last, so a directory that has one is complete.
	written := slices.Sorted(maps.Keys(manifest.Files))
	if _, listed := manifest.Files[CardFile]; !listed {
		if _, err := fs.Stat(fsys, CardFile); err == nil {
			written = append(written, CardFile)
		}
	}
	for _, name := range written {
		if err := CopyFile(fsys, name, filepath.Join(dir, filepath.FromSlash(name))); err != nil {
			return nil, err
		}
	}
	if manifest.Checksum == "" {
		data = withChecksum(data)
	}
	return append(written, ManifestFile), wholefile.Write(filepath.Join(dir, ManifestFile), data)
}

// CopyFile copies the file called name to path, where there is nothing yet. It makes the folder.
func CopyFile(fsys fs.FS, name, path string) error {
	from, err := regularfile.OpenFS(fsys, name)
	if err != nil {
		return err
	}
	defer from.Close()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	to, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666) // a link is none
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	return errors.Join(err, to.Close())
}

// OptionError is a choice that is wrong, or that does not go with the model. Its text names the flag of the command
// line.
type OptionError struct{ Err error }

func (e *OptionError) Error() string { return e.Err.Error() }
func (e *OptionError) Unwrap() error { return e.Err }

// OptionErrorf is an *OptionError with that text.
func OptionErrorf(format string, args ...any) error { return &OptionError{fmt.Errorf(format, args...)} }

// UnfitError is a model that cannot be used: damaged, made for another task, or not for this device.
type UnfitError struct{ Err error }

func (e *UnfitError) Error() string { return e.Err.Error() }
func (e *UnfitError) Unwrap() error { return e.Err }

// UnfitErrorf is an *UnfitError with that text.
func UnfitErrorf(format string, args ...any) error { return &UnfitError{fmt.Errorf(format, args...)} }
