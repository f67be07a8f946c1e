package dataset

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/erreval/erreval/internal/wholefile"
)

// openPartial opens the file that an output is written to, and keeps other processes out of it until it is closed:
// two runs on one output would mix their rows. The lock ends with the process, however it ends.
func openPartial(path string, flag int) (*os.File, error) {
	f, err := wholefile.OpenUnlinked(PartialPath(path), os.O_RDWR|flag, 0o666)
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
