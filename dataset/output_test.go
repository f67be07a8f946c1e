package dataset

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func oneRow(t *testing.T) *Row {
	t.Helper()
	rows, bad := read(t, good, Options{})
	if len(rows) != 1 {
		t.Fatal(bad)
	}
	return rows[0]
}

// files lists a folder as "name=content".
func files(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, e.Name()+"="+strings.TrimSpace(string(data)))
	}
	return strings.Join(list, "\n")
}

func TestOutput(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out")
	o, err := Create(path, false, filepath.Join(dir, "in"))
	if err != nil {
		t.Fatal(err)
	}
	if err := o.Write(oneRow(t)); err != nil {
		t.Fatal(err)
	}
	for _, raw := range []string{`{"<":`, "caf\xe9"} {
		if err := o.Reject(&LineError{File: "in", Line: 3, Raw: []byte(raw), Err: errors.New("a reason")}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s is there before it is whole: %v", path, err)
	}
	if err := o.Commit(); err != nil {
		t.Fatal(err)
	}
	want := "out=" + good + "\n" + `out.rejected.jsonl={"file":"in","line":3,"reason":"a reason","raw":"{\"<\":"}` + "\n" +
		`{"file":"in","line":3,"reason":"a reason","raw":"Y2Fm6Q==","encoding":"base64"}`
	if got := files(t, dir); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if o.Rows() != 1 || o.Rejected() != 2 {
		t.Errorf("%d rows, %d rejected", o.Rows(), o.Rejected())
	}
	overwrite(t, dir, path)
}

// overwrite runs again over the output of TestOutput: the rejected lines of the earlier run must go.
func overwrite(t *testing.T, dir, path string) {
	t.Helper()
	o, err := Create(path, true)
	if err != nil {
		t.Fatal(err)
	}
	if err := o.Commit(); err != nil {
		t.Fatal(err)
	}
	if got := files(t, dir); got != "out=" {
		t.Errorf("after a second run without rows: %s", got)
	}
}

func TestAbort(t *testing.T) {
	for _, c := range []struct {
		rows int
		want string
	}{{0, ""}, {1, "out.partial=" + good}} {
		dir := t.TempDir()
		o, err := Create(filepath.Join(dir, "out"), false)
		if err != nil {
			t.Fatal(err)
		}
		for range c.rows {
			if err := o.Write(oneRow(t)); err != nil {
				t.Fatal(err)
			}
		}
		if err := o.Reject(&LineError{File: "in", Line: 1, Err: errors.New("x")}); err != nil {
			t.Fatal(err)
		}
		if err := o.Abort(); err != nil {
			t.Fatal(err)
		}
		if got := files(t, dir); got != c.want {
			t.Errorf("%d rows: left %q, want %q", c.rows, got, c.want)
		}
	}
}

func TestCreateRefuses(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"there", "in", "x.partial"} {
		if err := os.WriteFile(name, []byte("kept"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Mkdir("folder", 0o700), os.Link("in", "link"), os.Symlink("in", "symlink"),
		syscall.Mkfifo("pipe", 0o600), os.Symlink(os.DevNull, "device")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path      string
		overwrite bool
		inputs    []string
		want      string
	}{
		{"there", false, nil, "output there exists already; replace it with --overwrite, or choose another name with -o"},
		{"in", true, []string{"other", "./in"}, "output in is also an input (./in); choose another name"},
		{"link", true, []string{"in"}, "output link is also an input (in); choose another name"},
		{"symlink", true, []string{"in"}, "output symlink is also an input (in); choose another name\n" +
			"output: symlink is a symbolic link, which is not written through; remove it, or give another name"},
		{"in", true, []string{"symlink"}, "output in is also an input (symlink); choose another name"},
		{"x", true, []string{"x.partial"}, "output x.partial is also an input (x.partial); choose another name"},
		{"folder", true, nil, "output folder is a folder; name a file in it"},
		{"pipe", true, nil, "output pipe is no regular file; -o - writes to standard output"},
		{"device", false, nil, "output device is no regular file; -o - writes to standard output"},
		{"/dev/stdout", true, nil, "output /dev/stdout is no regular file; -o - writes to standard output"},
		{"none/out", false, nil, "output none/out: the folder none does not exist; make it first, as in: mkdir -p none"},
		{"in/out", false, nil, "output: stat in/out: not a directory"},
	} {
		_, err := Create(c.path, c.overwrite, c.inputs...)
		if err == nil || err.Error() != c.want {
			t.Errorf("%s:\ngot  %v\nwant %s", c.path, err, c.want)
		}
	}
	for _, name := range []string{"there", "in", "x.partial"} {
		if data, err := os.ReadFile(name); err != nil || string(data) != "kept" {
			t.Errorf("%s now holds %q, %v", name, data, err)
		}
	}
}

// TestFullDisk: what does not fit is an error that names the output, which does not appear.
func TestFullDisk(t *testing.T) {
	full := func(link string) error { return os.Symlink("/dev/full", link) }
	for name, c := range map[string]struct {
		begin func(path string) error
		write func(o *Output) error
	}{
		"rows": {nil, func(o *Output) error {
			f, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
			o.file, o.writer = f, NewWriter(f)
			return err
		}},
		"rejected lines": {func(path string) error { return full(PartialPath(RejectedPath(path))) }, func(o *Output) error {
			return o.Reject(&LineError{File: "in", Line: 1, Err: errors.New("x")})
		}},
		"conversion": {func(path string) error { return full(path + ".converting") }, func(o *Output) error {
			o.Format = Format{Name: CSV}
			return nil
		}},
	} {
		path := filepath.Join(t.TempDir(), "out")
		o, err := Create(path, false)
		if err != nil {
			t.Fatal(err)
		}
		if c.begin != nil {
			if err := c.begin(path); err != nil {
				t.Fatal(err)
			}
		}
		err = c.write(o)
		if err == nil {
			err = errors.Join(o.Write(oneRow(t)), o.Commit())
		}
		if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "output "+path) && name != "rejected lines" {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: the output is there: %v", name, err)
		}
	}
}

// TestPlantedLinks: where an output's files would be, somebody else has put links to a file of the user's.
func TestPlantedLinks(t *testing.T) {
	dir := t.TempDir()
	mine, out := filepath.Join(dir, "mine"), filepath.Join(dir, "out.csv")
	row := oneRow(t)
	for _, planted := range []string{out, PartialPath(out), PartialPath(RejectedPath(out)), out + ".converting"} {
		writeText(t, mine, "mine")
		if err := os.Symlink(mine, planted); err != nil {
			t.Fatal(err)
		}
		err := func() error {
			o, err := Create(out, true)
			if err != nil {
				return err
			}
			o.Format = Format{Name: CSV}
			return errors.Join(o.Write(row), o.Reject(&LineError{File: "in", Line: 1, Err: errors.New("bad")}), o.Commit())
		}()
		if data, readErr := os.ReadFile(mine); readErr != nil || string(data) != "mine" {
			t.Errorf("%s: the file behind the link is %q now, %v", planted, data, readErr)
		}
		if planted == out && err == nil {
			t.Error("a link at the output itself is no fault")
		}
		// The links that an output removes before it makes its files are no fault.
		if err != nil && !strings.Contains(err.Error(), "is a symbolic link") {
			t.Errorf("%s: %v", planted, err)
		}
		for _, file := range []string{out, PartialPath(out), RejectedPath(out), PartialPath(RejectedPath(out)),
			out + ".converting"} {
			if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Fatal(err)
			}
		}
	}
}
