package nativelib

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/erreval/erreval/internal/regularfile"
	"github.com/erreval/erreval/internal/wholefile"
)

// maxLibrary is the largest library that is unpacked if its size is not pinned, in bytes.
const maxLibrary = 1 << 30

// openMember opens one file of a wheel (zip) or of a .tgz. It unpacks nothing else, and the caller chooses the target's
// name, so an entry's own path cannot do harm.
func openMember(archive, name string) (io.ReadCloser, error) {
	if strings.HasSuffix(archive, ".whl") {
		return openZipMember(archive, name)
	}
	return openTarMember(archive, name)
}

// closers closes an entry and then its archive.
type closers struct {
	io.Reader
	all []io.Closer
}

func (c closers) Close() error {
	var errs []error
	for _, closer := range c.all {
		errs = append(errs, closer.Close())
	}
	return errors.Join(errs...)
}

func openZipMember(archive, name string) (io.ReadCloser, error) {
	z, err := zip.OpenReader(archive)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Base(archive), err)
	}
	for _, f := range z.File {
		if f.Name != name || !f.Mode().IsRegular() {
			continue
		}
		r, err := f.Open()
		if err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %s: %w", filepath.Base(archive), name, err), z.Close())
		}
		return closers{r, []io.Closer{r, z}}, nil
	}
	return nil, errors.Join(missingError(archive, name), z.Close())
}

func openTarMember(archive, name string) (io.ReadCloser, error) {
	f, err := os.Open(archive)
	if err != nil {
		return nil, err
	}
	r, err := seekTar(f, name)
	if err != nil {
		if errors.Is(err, io.EOF) {
			return nil, errors.Join(missingError(archive, name), f.Close())
		}
		return nil, errors.Join(fmt.Errorf("%s: %w", filepath.Base(archive), err), f.Close())
	}
	return closers{r, []io.Closer{f}}, nil
}

// seekTar reads on to the named file; io.EOF means that there is none.
func seekTar(r io.Reader, name string) (io.Reader, error) {
	z, err := gzip.NewReader(r)
	if err != nil {
		return nil, err
	}
	t := tar.NewReader(z)
	for {
		h, err := t.Next()
		if err != nil {
			return nil, err
		}
		if h.Name == name && h.Typeflag == tar.TypeReg {
			return t, nil
		}
	}
}

func missingError(archive, name string) error {
	return fmt.Errorf("%s holds no file %s", filepath.Base(archive), name)
}

// unpackLibrary writes the library to target, checked and whole or not at all: two installations at the same time, or
// an interrupted one, leave a whole library or none. It returns the library's SHA-256.
func unpackLibrary(archive string, p pin, target string) (sum string, err error) {
	r, err := openMember(archive, p.member)
	if err != nil {
		return "", err
	}
	defer r.Close()
	err = wholefile.Fill(target, func(w io.Writer) error {
		if sum, err = copyChecked(w, r, p); err != nil {
			return fmt.Errorf("%s: %s: %w", filepath.Base(archive), p.member, err)
		}
		return nil
	})
	return sum, err
}

func copyChecked(w io.Writer, r io.Reader, p pin) (string, error) {
	limit := p.size
	if limit == 0 {
		limit = maxLibrary
	}
	h := sha256.New()
	n, err := io.Copy(io.MultiWriter(w, h), io.LimitReader(r, limit+1))
	switch {
	case err != nil:
		return "", err
	case n > limit || p.size != 0 && n != p.size:
		return "", fmt.Errorf("%d bytes or more, expected %d; refused", n, limit)
	}
	sum := hex.EncodeToString(h.Sum(nil))
	if p.sha256 != "" && sum != p.sha256 {
		return "", hashError(sum, p.sha256)
	}
	return sum, nil
}

func hashError(got, want string) error {
	return fmt.Errorf("SHA-256 is %s, expected %s; refused, the file is damaged or not the published one", got, want)
}

// fileSum is the SHA-256 of a file in lower-case hexadecimal.
func fileSum(path string) (string, error) {
	f, err := regularfile.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
