package objects

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/erreval/erreval/internal/wholefile"
)

// Upload makes an object of a file: whole or not at all. Unless replace is set the object must not exist, or must be
// equal already, as when somebody else did the same work; the error is an fs.ErrExist otherwise.
func Upload(ctx context.Context, file, name string, replace bool) error {
	s, key, err := openKey(name)
	if err != nil {
		return err
	}
	err = again(ctx, func() error {
		in, err := os.Open(file)
		if err != nil {
			return &lastingError{err}
		}
		defer in.Close()
		return s.put(ctx, key, in, replace)
	})
	if !replace && errors.Is(err, fs.ErrExist) {
		if same, fault := equals(ctx, file, name); same || fault != nil {
			return fault
		}
		return fmt.Errorf("%s: %w: another run has written something else there meanwhile", name, fs.ErrExist)
	}
	return explain(name, err)
}

// equals tells whether an object holds what a file holds.
func equals(ctx context.Context, file, name string) (bool, error) {
	here, err := os.Open(file)
	if err != nil {
		return false, err
	}
	defer here.Close()
	there, err := Open(ctx, name)
	if err != nil {
		return false, err
	}
	defer there.Close()
	a, b := sha256.New(), sha256.New()
	if _, err := io.Copy(a, here); err != nil {
		return false, err
	}
	_, err = io.Copy(b, there)
	return err == nil && bytes.Equal(a.Sum(nil), b.Sum(nil)), err
}

// Download makes a file of an object: whole or not at all.
func Download(ctx context.Context, name, file string) error {
	in, err := Open(ctx, name)
	if err != nil {
		return err
	}
	defer in.Close()
	return wholefile.Fill(file, func(w io.Writer) error {
		_, err := io.Copy(w, in)
		return err
	})
}
