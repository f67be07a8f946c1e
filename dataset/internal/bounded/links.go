package bounded

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// OpenUnlinked opens a file to write, and follows no symbolic link but to a device such as /dev/full: in a folder that
// others can write to, a link may lead to a file of the user's.
func OpenUnlinked(path string, flag int) (*os.File, error) {
	f, err := os.OpenFile(path, flag|syscall.O_NOFOLLOW, 0o666)
	if !errors.Is(err, syscall.ELOOP) {
		return f, err
	}
	f, err = os.OpenFile(path, flag&^(os.O_CREATE|os.O_TRUNC), 0)
	if err == nil {
		var info fs.FileInfo
		if info, err = f.Stat(); err == nil && info.Mode()&fs.ModeDevice != 0 {
			return f, nil
		}
		err = errors.Join(err, f.Close())
	}
	return nil, errors.Join(fmt.Errorf("%s is a symbolic link, which is not written through; "+
		"remove it, or choose another name with -o", path), err)
}
