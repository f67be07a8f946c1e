package fileerror

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPlain(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := os.WriteFile(at("file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, open := os.Open(at("none"))
	_, stat := os.Stat(at("none"))
	_, read := os.ReadFile(dir)
	_, below := os.Open(at("file/x"))
	create := os.WriteFile(at("nowhere/x"), nil, 0o600)
	rename := os.Rename(at("none"), at("other"))
	away := os.Rename(at("file"), at("nowhere/x"))
	exists := os.Mkdir(at("file"), 0o700)
	for _, c := range []struct {
		err  error
		want string
	}{
		{open, "DIR/none: there is no such file"},
		{stat, "DIR/none: there is no such file"},
		{read, "DIR: it is a folder, not a file"},
		{below, "DIR/file/x: not a directory"},
		{create, "DIR/nowhere/x: there is no folder DIR/nowhere"},
		{rename, "DIR/none: there is no such file"},
		{away, "DIR/nowhere/x: there is no folder DIR/nowhere"},
		{exists, "DIR/file: file exists"},
		{fmt.Errorf("run record: %w", open), "run record: DIR/none: there is no such file"},
		{fmt.Errorf("%s: %w", at("none"), open), "DIR/none: there is no such file"},
		{errors.Join(errors.New("first"), fmt.Errorf("second: %w; mend it", read)),
			"first\nsecond: DIR: it is a folder, not a file; mend it"},
		{errors.New("open the door"), "open the door"},
	} {
		if got := strings.ReplaceAll(Plain(c.err).Error(), dir, "DIR"); got != c.want {
			t.Errorf("%v\ngot  %s\nwant %s", c.err, got, c.want)
		}
	}
	if wrapped := fmt.Errorf("x: %w", open); !errors.Is(Plain(wrapped), fs.ErrNotExist) {
		t.Error("the error is no longer what it was")
	}
	if Plain(nil) != nil {
		t.Error("nil became an error")
	}
}
