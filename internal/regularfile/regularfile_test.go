package regularfile_test

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/erreval/erreval/internal/regularfile"
)

// Nothing but a regular file within the limit is read, and nothing else keeps anybody waiting.
func TestRead(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	do := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	do(os.WriteFile(at("file"), []byte("0123456789"), 0o600))
	do(os.WriteFile(at("long"), []byte("0123456789+"), 0o600))
	do(os.Symlink("file", at("link")))
	do(os.Symlink("/dev/zero", at("zero")))
	do(os.Mkdir(at("folder"), 0o700))
	do(syscall.Mkfifo(at("pipe"), 0o600))
	do(os.Symlink("pipe", at("to-pipe")))
	l, err := net.Listen("unix", at("socket"))
	do(err)
	defer l.Close()
	for _, c := range []struct {
		name, want string
		is         error
	}{
		{"file", "", nil},
		{"link", "", nil},
		{"long", "more than 0 MiB", nil},
		{"zero", "it is a device", nil},
		{"pipe", "it is a pipe", nil},
		{"to-pipe", "it is a pipe", nil},
		{"socket", "it is a socket", nil},
		{"folder", "is a directory", syscall.EISDIR},
		{"none", "no such file", fs.ErrNotExist},
	} {
		t.Run(c.name, func(t *testing.T) {
			data, err := regularfile.Read(at(c.name), 10)
			inFS, errFS := regularfile.ReadFS(os.DirFS(dir), c.name, 10)
			for _, err := range []error{err, errFS} {
				switch path, ok := errors.AsType[*fs.PathError](err); {
				case c.want == "" && err != nil:
					t.Error(err)
				case c.want == "":
				case !ok || filepath.Base(path.Path) != c.name || !strings.Contains(err.Error(), c.want):
					t.Errorf("got the error %v, want %q of %s", err, c.want, c.name)
				case c.is != nil && !errors.Is(err, c.is):
					t.Errorf("%v is not %v", err, c.is)
				}
			}
			if c.want == "" && (string(data) != "0123456789" || string(inFS) != string(data)) {
				t.Errorf("read %q and %q", data, inFS)
			}
		})
	}
}
