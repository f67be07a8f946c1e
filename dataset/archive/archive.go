// Package archive reads ZIP files in which other programs keep rows and JSON. Nothing is unpacked under a name that the
// file says; the number of entries, their list and what each unpacks to are bounded.
package archive

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/dataset/internal/bounded"
)

// MaxEntries is the most entries of an archive.
const MaxEntries = 10000

// Archive is an opened ZIP file.
type Archive struct {
	zip  *zip.Reader
	file *os.File // temporary, of an archive inside another; or nil
}

// Open reads the list of entries. A file that is no ZIP file, is cut, has too many entries, or one whose name leads out
// of a folder, comes twice or cannot be printed, is an error. Close leaves r open.
func Open(r io.ReaderAt, size int64) (*Archive, error) {
	z, err := bounded.OpenZip(r, size)
	if err != nil {
		//nolint:errorlint // may be EOF
		return nil, fmt.Errorf("not a ZIP file, or cut (%v); write or fetch it again", err)
	}
	if len(z.File) > MaxEntries {
		return nil, fmt.Errorf("the ZIP file has %d entries, more than %d; it is not read", len(z.File), MaxEntries)
	}
	names := map[string]bool{}
	for _, f := range z.File {
		switch name := f.Name; {
		case !filepath.IsLocal(filepath.FromSlash(name)) || strings.ContainsAny(name, `\:`):
			return nil, fmt.Errorf("the ZIP file has an entry %q, which leads out of its folder; it is not read", name)
		case strings.ContainsFunc(name, unicode.IsControl):
			return nil, fmt.Errorf("the ZIP file has an entry %q, whose name cannot be printed; it is not read", name)
		case names[name]:
			return nil, fmt.Errorf("the ZIP file has the entry %q twice; it is not read", name)
		}
		names[f.Name] = true
	}
	return &Archive{zip: z}, nil
}

// Names are those of the entries, sorted.
func (a *Archive) Names() []string {
	names := make([]string, len(a.zip.File))
	for i, f := range a.zip.File {
		names[i] = f.Name
	}
	slices.Sort(names)
	return names
}

func (a *Archive) open(name string) (io.ReadCloser, error) {
	i := slices.IndexFunc(a.zip.File, func(f *zip.File) bool { return f.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("the ZIP file has no entry %q", name)
	}
	in, err := bounded.OpenEntry(a.zip.File[i])
	if err != nil {
		return nil, fmt.Errorf("the entry %s %w", name, err)
	}
	return in, nil
}

// ReadAll gives what an entry holds, which is an error where that is more than limit bytes.
func (a *Archive) ReadAll(name string, limit int) ([]byte, error) {
	in, err := a.open(name)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	data, err := io.ReadAll(bounded.NewReader(in, limit+1))
	if bounded.IsTooLong(err) || len(data) > limit {
		return nil, fmt.Errorf("the entry %s has more than %d bytes; it is not read", name, limit)
	}
	if err != nil {
		//nolint:errorlint // may be EOF
		return nil, fmt.Errorf("the entry %s is damaged (%v); write or fetch the file again", name, err)
	}
	return data, nil
}

// Inside opens an archive that is an entry, by a temporary file in a folder, "" being the system's.
func (a *Archive) Inside(name, tempDir string) (_ *Archive, err error) {
	in, err := a.open(name)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	f, err := bounded.TempFile(tempDir)
	if err != nil {
		return nil, err
	}
	size, err := io.Copy(f, in)
	if err != nil {
		//nolint:errorlint // may be EOF
		err = fmt.Errorf("the entry %s is damaged (%v); write or fetch the file again", name, err)
		return nil, errors.Join(err, f.Close())
	}
	inside, err := Open(f, size)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the entry %s: %w", name, err), f.Close())
	}
	inside.file = f
	return inside, nil
}

// Close frees what opening took.
func (a *Archive) Close() error {
	if a.file == nil {
		return nil
	}
	return a.file.Close()
}

// Rows reads an entry as rows, in the format that o or else its name says; file stands in messages and in Row.Source.
func (a *Archive) Rows(name, file string, o dataset.Options) (*dataset.Reader, error) {
	if f, ok := dataset.FormatOf(name); ok && o.Format == (dataset.Format{}) {
		o.Format = f
	}
	in, err := a.open(name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return dataset.TakeSource(in, file, o)
}
