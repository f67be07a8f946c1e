package dataset

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// openUnlinked opens a file to write, and follows no symbolic link but to a device such as /dev/full: in a folder that
// others can write to, a link may lead to a file of the user's.
func openUnlinked(path string, flag int) (*os.File, error) {
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

// openPartial opens the file that an output is written to, and keeps other processes out of it until it is closed:
// two runs on one output would mix their rows. The lock ends with the process, however it ends.
func openPartial(path string, flag int) (*os.File, error) {
	f, err := openUnlinked(PartialPath(path), os.O_RDWR|flag)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, errors.Join(fmt.Errorf("%s is being written by another run; wait for it, or choose another name with -o",
			f.Name()), f.Close())
	}
	return f, nil // a file system without locks is no reason to refuse work
}
