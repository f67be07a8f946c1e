package review

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/erreval/erreval/internal/regularfile"
	"github.com/erreval/erreval/internal/wholefile"
)

// lineFile is a file of JSON Lines while it grows. Other processes are kept out of it, and each line is on the disk
// before add returns.
type lineFile struct {
	path string
	file *os.File
	size int64 // bytes of whole lines
}

// errInUse is that of a file that another process has.
var errInUse = errors.New("in use by another erreval")

// openLineFile opens or makes a file, and has its whole lines read. A last line that was cut off is taken away, unless
// read finds fault with the others.
func openLineFile(path string, read func(lines []byte) error) (*lineFile, error) {
	file, err := lockFile(path)
	if err != nil {
		return nil, err
	}
	l := &lineFile{path: path, file: file}
	if err := l.load(read); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return l, nil
}

func lockFile(path string) (*os.File, error) {
	file, err := wholefile.OpenUnlinked(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	// A file system without locks is no reason to refuse work.
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, errors.Join(fmt.Errorf("%s is %w; end that one", path, errInUse), file.Close())
	}
	if same, err := isAt(file, path); err != nil || !same { // replaced before the lock was there
		if err = errors.Join(err, file.Close()); err != nil {
			return nil, err
		}
		return lockFile(path)
	}
	return file, nil
}

// isAt tells whether the opened file is still the one at path.
func isAt(file *os.File, path string) (bool, error) {
	opened, err := file.Stat()
	if err != nil {
		return false, err
	}
	there, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(opened, there), err
}

func (l *lineFile) load(read func(lines []byte) error) error {
	data, err := regularfile.Read(l.path, regularfile.MaxRows)
	if err != nil {
		return err
	}
	whole := wholeLines(data)
	if err := read(whole); err != nil {
		return err
	}
	if len(whole) > len(data) { // a newline is missing
		if _, err := l.file.WriteAt([]byte{'\n'}, int64(len(data))); err != nil {
			return err
		}
	}
	return errors.Join(l.cut(int64(len(whole))), syncFolder(filepath.Dir(l.path)))
}

// wholeLines are the lines of data, without a last one that was cut off.
func wholeLines(data []byte) []byte {
	end := bytes.LastIndexByte(data, '\n') + 1
	if tornOff(data[end:]) {
		return data[:end]
	}
	return append(slices.Clip(data), '\n') // somebody's editor ends the file so
}

// tornOff tells whether what stands behind the last line end is the beginning of a line, or what a loss of power
// leaves. Anything else is somebody's text, and not ours to drop.
func tornOff(tail []byte) bool {
	if bytes.IndexByte(tail, 0) >= 0 {
		return true
	}
	var v json.RawMessage
	err := json.NewDecoder(bytes.NewReader(tail)).Decode(&v)
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// add puts a line, with its end, on the disk. What a failure leaves of it is taken away.
func (l *lineFile) add(line []byte) error {
	_, err := l.file.WriteAt(line, l.size)
	if err == nil {
		err = l.file.Sync()
	}
	if err == nil { // also if it was moved while it was written
		err = l.checkPlace()
	}
	if err != nil {
		return errors.Join(err, l.cut(l.size))
	}
	l.size += int64(len(line))
	return nil
}

// checkPlace finds out whether the file is still where it was opened: undo moves what a step made, answers included.
func (l *lineFile) checkPlace() error {
	same, err := isAt(l.file, l.path)
	if err == nil && !same {
		return fmt.Errorf("%s is there no more (undo moves what a step made): end this, and start it again", l.path)
	}
	return err
}

// cut takes away what stands behind size, on the disk too.
func (l *lineFile) cut(size int64) error {
	if err := l.file.Truncate(size); err != nil {
		return err
	}
	l.size = size
	return l.file.Sync()
}

// close puts data, unless it is nil, in the place of the lines, and lets other processes have the file.
func (l *lineFile) close(data []byte) error {
	err := l.checkPlace()
	if err == nil && data != nil {
		err = wholefile.Write(l.path, data)
	}
	return errors.Join(err, l.file.Close())
}

// syncFolder puts the names of its files on the disk.
func syncFolder(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
