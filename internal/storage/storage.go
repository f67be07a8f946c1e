// Package storage tells addresses of object stores from paths of files, and reads either. What reads objects registers
// itself: internal/storage/objects does, so that libraries which read run records do not need the clients of stores.
package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path"
	"regexp"
	"strings"

	"github.com/erreval/erreval/internal/regularfile"
)

var address = regexp.MustCompile(`^[a-z][a-z0-9+.-]*://`)

// IsURL tells an object's address from the path of a file.
func IsURL(path string) bool { return address.MatchString(path) }

// Base is the last element of a path, or of an object's key.
func Base(name string) string {
	if u, err := url.Parse(name); IsURL(name) && err == nil {
		return path.Base(u.Path)
	}
	return name[strings.LastIndexByte(name, '/')+1:]
}

// Beside is the address of an object whose key is that of name with suffix behind it.
func Beside(name, suffix string) string {
	if !IsURL(name) {
		return name + suffix
	}
	head, options, found := strings.Cut(name, "?")
	if found {
		options = "?" + options
	}
	return head + suffix + options
}

// Rest is what the key of name has behind that of prefix, by which it was listed.
func Rest(name, prefix string) string {
	name, _, _ = strings.Cut(name, "?")
	prefix, _, _ = strings.Cut(prefix, "?")
	return strings.TrimPrefix(name, prefix)
}

// ErrNoDriver is the error of an address of a kind that this program was built without.
var ErrNoDriver = errors.New("this program was built without it")

var openObject func(ctx context.Context, name string) (io.ReadCloser, error)

// Register makes open what opens objects. It is for the init of one package.
func Register(open func(ctx context.Context, name string) (io.ReadCloser, error)) { openObject = open }

// OpenPath opens a regular file, or an object.
func OpenPath(ctx context.Context, path string) (io.ReadCloser, error) {
	switch {
	case !IsURL(path):
		return regularfile.Open(path)
	case openObject == nil:
		return nil, fmt.Errorf("%s: objects cannot be read: %w", path, ErrNoDriver)
	}
	return openObject(ctx, path)
}

// ReadPath reads a whole file, or object, of at most limit bytes.
func ReadPath(ctx context.Context, path string, limit int64) ([]byte, error) {
	f, err := OpenPath(ctx, path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return regularfile.ReadAll(f, path, limit)
}
