package wholefile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// OpenUnlinked opens a file to write, and follows no symbolic link but to a device such as /dev/full: in a folder that
// others can write to, a link may lead to a file of the user's. mode is that of a file that is made.
func OpenUnlinked(path string, flag int, mode fs.FileMode) (*os.File, error) {
	f, err := os.OpenFile(path, flag|syscall.O_NOFOLLOW, mode) // #nosec G703 -- the file that the user named
	if !errors.Is(err, syscall.ELOOP) {
		return f, err
	}
	f, err = os.OpenFile(path, flag&^(os.O_CREATE|os.O_TRUNC), 0) // #nosec G703 -- it is written to if it is a device
	if err == nil {
		var info fs.FileInfo
		if info, err = f.Stat(); err == nil && info.Mode()&fs.ModeDevice != 0 {
			return f, nil
		}
		err = errors.Join(err, f.Close())
	}
	return nil, errors.Join(linkError(path), err)
}

// RefuseLink is an error if path is a symbolic link: for a file that a library opens by its name.
func RefuseLink(path string) error {
	info, err := os.Lstat(path)
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return linkError(path)
	}
	return nil // what else is wrong, who opens it finds
}

// RefuseIrregular is an error if there is something at path, or behind a link there, that a file must not take the
// place of: a device, a pipe or a socket, and a name of the process's streams such as /dev/stdout. A folder is not its
// matter.
func RefuseIrregular(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return nil // as above
	}
	stream := strings.HasPrefix(filepath.Clean(path), "/dev/std") // whatever it leads to
	if stream || !info.IsDir() && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is no regular file", path)
	}
	return nil
}

func linkError(path string) error {
	return fmt.Errorf("%s is a symbolic link, which is not written through; remove it, or give another name", path)
}
