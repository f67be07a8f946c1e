package nativelib

import (
	"archive/tar"
	"archive/zip"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/erreval/erreval/internal/regularfile"
	"github.com/erreval/erreval/internal/wholefile"
)

// maxLibrary is the largest library that is unpacked if its size is not pinned, in bytes.
const maxLibrary = 1 << 30

// readMember gives one file of a wheel (zip) or of a .tgz to read. It unpacks nothing else, and the caller chooses the
// target's name, so an entry's own path cannot do harm.
func readMember(archive, name string, read func(io.Reader) error) error {
	base := filepath.Base(archive)
	if !strings.HasSuffix(archive, ".whl") {
		f, err := os.Open(archive)
		if err != nil {
			return err
		}
		defer f.Close()
		r, err := seekTar(f, name)
		if errors.Is(err, io.EOF) {
			return fmt.Errorf("%s holds no file %s", base, name)
		} else if err != nil {
			return fmt.Errorf("%s: %w", base, err)
		}
		return read(r)
	}
	z, err := zip.OpenReader(archive)
	if err != nil {
		return fmt.Errorf("%s: %w", base, err)
	}
	defer z.Close()
	i := slices.IndexFunc(z.File, func(f *zip.File) bool { return f.Name == name && f.Mode().IsRegular() })
	if i < 0 {
		return fmt.Errorf("%s holds no file %s", base, name)
	}
	r, err := z.File[i].Open()
	if err != nil {
		return fmt.Errorf("%s: %s: %w", base, name, err)
	}
	defer r.Close()
	return read(r)
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

// unpackLibrary writes the library to target, checked and whole or not at all: two installations at the same time, or
// an interrupted one, leave a whole library or none. It returns the library's SHA-256.
func unpackLibrary(archive string, p pin, target string) (sum string, err error) {
	err = readMember(archive, p.member, func(r io.Reader) error {
		return wholefile.Fill(target, func(w io.Writer) (err error) {
			if sum, err = copyChecked(w, r, p); err != nil {
				return fmt.Errorf("%s: %s: %w", filepath.Base(archive), p.member, err)
			}
			return nil
		})
	})
	return sum, err
}

func copyChecked(w io.Writer, r io.Reader, p pin) (string, error) {
	limit := cmp.Or(p.size, maxLibrary)
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

// checkSum compares a file with its hash.
func checkSum(path, want string) error {
	got, err := fileSum(path)
	if err == nil && got != want {
		return fmt.Errorf("%s: %w", path, hashError(got, want))
	}
	return err
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
