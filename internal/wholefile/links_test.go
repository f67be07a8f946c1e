package wholefile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A file behind a planted link is not opened, made or emptied; a device is, and files of one's own.
func TestOpenUnlinked(t *testing.T) {
	dir := t.TempDir()
	mine, link, absent := filepath.Join(dir, "mine"), filepath.Join(dir, "link"), filepath.Join(dir, "absent")
	for _, target := range []string{mine, absent} {
		_ = os.Remove(link)
		if err := errors.Join(os.WriteFile(mine, []byte("mine"), 0o600), os.Symlink(target, link)); err != nil {
			t.Fatal(err)
		}
		for _, flag := range []int{os.O_CREATE, os.O_TRUNC, os.O_APPEND} {
			_, err := OpenUnlinked(link, os.O_RDWR|flag, 0o600)
			if err == nil || !strings.Contains(err.Error(), link+" is a symbolic link") {
				t.Errorf("a link to %s: %v", target, err)
			}
		}
		if err := RefuseLink(link); err == nil {
			t.Error("a link is not refused")
		}
	}
	if data, err := os.ReadFile(mine); err != nil || string(data) != "mine" {
		t.Errorf("the file behind the link is %q now, %v", data, err)
	}
	if _, err := os.Lstat(absent); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file was made behind a link: %v", err)
	}
	device := filepath.Join(dir, "device")
	if err := os.Symlink(os.DevNull, device); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{mine, device, absent} {
		f, err := OpenUnlinked(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err = errors.Join(err, RefuseLink(mine)); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}
