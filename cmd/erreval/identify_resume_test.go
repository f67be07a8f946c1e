package main

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/runrecord"
)

// cmdKilled runs "killed OUT ROWS INPUT [LINES]": it makes of a finished OUT what a run leaves that was killed after so
// many rows. LINES holds the rows where OUT is no JSON Lines.
func cmdKilled(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: killed OUT ROWS INPUT [LINES]")
	}
	out, lines := ts.MkAbs(args[0]), ts.MkAbs(args[len(args)-1])
	if len(args) == 3 {
		lines = out
	}
	rows, err := strconv.Atoi(args[1])
	ts.Check(err)
	data, err := os.ReadFile(lines)
	ts.Check(err)
	info, err := os.Stat(ts.MkAbs(args[2]))
	ts.Check(err)
	record, err := runrecord.Read(out)
	ts.Check(err)
	record.Inputs = []runrecord.Input{{File: filepath.Base(args[2]), Size: info.Size(), Partial: true}}
	kept := bytes.Join(bytes.SplitAfter(data, []byte("\n"))[:rows], nil)
	torn := data[len(kept) : len(kept)+(len(data)-len(kept))/3]
	ts.Check(errors.Join(record.Write(dataset.PartialPath(out)), os.Remove(out), os.Remove(runrecord.Path(out)),
		os.WriteFile(dataset.PartialPath(out), append(kept, torn...), 0o600),
		os.WriteFile(dataset.PartialPath(dataset.RejectedPath(out)), []byte(`{"file":"ro`), 0o600)))
}

// TestKilled kills runs with SIGKILL at random moments, each as often as it takes to finish, and compares what they
// made with an undisturbed run's output. scripts/kill_resume.sh does more of it.
func TestKilled(t *testing.T) {
	const rows, runs, kills = 400, 2, 3
	dir := t.TempDir()
	in, want := filepath.Join(dir, "in.jsonl"), filepath.Join(dir, "want.jsonl")
	var b bytes.Buffer
	for i := range rows {
		fmt.Fprintf(&b, `{"question":"Who built the wall of %d?","answer":"Oke","passage":"A mason.","note":"%0200d"}`+"\n",
			i%300, i)
		if i%50 == 7 {
			b.WriteString("no row\n")
		}
	}
	if err := os.WriteFile(in, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, err := identifyProcess(t, in, want).wait(); code != exit.Incomplete {
		t.Fatalf("undisturbed: %d, %v", code, err)
	}
	size := len(contentOf(t, want))
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 1))
	for i := range runs {
		out := filepath.Join(dir, fmt.Sprintf("out%d.jsonl", i))
		killed := 0
		for range kills {
			p := identifyProcess(t, in, out, "--resume")
			if p.killAt(dataset.PartialPath(out), random.Int64N(int64(size))) {
				killed++
			}
		}
		if code, err := identifyProcess(t, in, out, "--resume").wait(); code != exit.Incomplete {
			t.Fatalf("seed %d, run %d: %d, %v", seed, i, code, err)
		}
		for _, path := range []func(string) string{func(s string) string { return s }, dataset.RejectedPath} {
			if got := contentOf(t, path(out)); got != contentOf(t, path(want)) {
				t.Errorf("seed %d: after %d kills %s differs from the undisturbed run's", seed, killed, path(out))
			}
		}
		for _, path := range []string{dataset.PartialPath(out), runrecord.Path(dataset.PartialPath(out)),
			dataset.PartialPath(dataset.RejectedPath(out))} {
			if _, err := os.Stat(path); err == nil {
				t.Errorf("%s is left", path)
			}
		}
	}
}

// process is erreval in a process of its own.
type process struct {
	cmd    *exec.Cmd
	stderr bytes.Buffer
	ended  chan struct{}
}

func identifyProcess(t *testing.T, in, out string, flags ...string) *process {
	t.Helper()
	return startProcess(t, append([]string{"identify", in, "-o", out, "--model", tinyBERT, "--quiet"}, flags...)...)
}

// startProcess starts the test's program anew, which under that name is erreval (testscript.Main).
func startProcess(t *testing.T, args ...string) *process {
	t.Helper()
	p := &process{cmd: command(t, args...), ended: make(chan struct{})}
	p.cmd.Stderr = &p.stderr
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait() // the exit code is looked at
		close(p.ended)
	}()
	return p
}

func (p *process) wait() (code int, err error) {
	<-p.ended
	return p.cmd.ProcessState.ExitCode(), errors.New(p.stderr.String())
}

// killAt kills the process as soon as a file has a size, and tells whether it was still running.
func (p *process) killAt(path string, size int64) bool {
	return p.killWhen(func() bool {
		info, err := os.Stat(path)
		return err == nil && info.Size() >= size
	})
}

// killWhen kills the process as soon as there holds, and tells whether it was still running.
func (p *process) killWhen(there func() bool) bool {
	for {
		select {
		case <-p.ended:
			return false
		default:
		}
		if there() {
			err := p.cmd.Process.Kill()
			<-p.ended
			return err == nil
		}
	}
}

func contentOf(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestInputChanges: a file that changes while it is read is named, in the run record too; what was read is kept; the
// exit code is 3; --resume takes the output only for the file that was read.
func TestInputChanges(t *testing.T) {
	const row = `{"question":"Who?","answer":"Oke","passage":"A mason."}` + "\n"
	size := len(row)
	for name, c := range map[string]struct {
		change func(path string) error
		want   string
		resume int // code of --resume afterwards
	}{
		"grows": {func(path string) error { return os.WriteFile(path, []byte(row+row+row), 0o600) },
			fmt.Sprintf("went from %d to %d bytes", 2*size, 3*size), exit.Usage},
		"shrinks": {func(path string) error { return os.Truncate(path, int64(size)) },
			fmt.Sprintf("went from %d to %d bytes", 2*size, size), exit.Usage},
		"vanishes": {os.Remove, "was removed", exit.Failed},
		"replaced": {func(path string) error {
			return errors.Join(os.WriteFile(path+".new", []byte(row+row), 0o600), os.Rename(path+".new", path))
		}, "was replaced by another file", exit.OK},
		"touched": {func(path string) error { return os.Chtimes(path, time.Time{}, time.Unix(1, 0)) },
			"was written to", exit.OK},
	} {
		dir := t.TempDir()
		in, out := filepath.Join(dir, "in.jsonl"), filepath.Join(dir, "out.jsonl")
		if err := os.WriteFile(in, []byte(row+row), 0o600); err != nil {
			t.Fatal(err)
		}
		e, _, stderr := testEnv(t, nil, false)
		var once sync.Once
		e.Out = writerFunc(func(p []byte) (int, error) { // the table's first row
			once.Do(func() {
				if err := c.change(in); err != nil {
					t.Error(err)
				}
			})
			return len(p), nil
		})
		line := []string{"erreval", "identify", in, "-o", out, "--model", tinyBERT, "--table", "--resume"}
		if code := execute(t.Context(), line, e); code != exit.Incomplete {
			t.Errorf("%s: exit code %d: %s", name, code, stderr)
		}
		if want := in + " " + c.want + " while it was read: "; !strings.Contains(stderr.String(), want) {
			t.Errorf("%s: the message is %s, want %q in it", name, stderr, want)
		}
		record, err := runrecord.Read(out)
		if err != nil || record.Inputs[0].Changed != c.want {
			t.Errorf("%s: the record says %+v, %v", name, record, err)
		}
		rows := strings.Count(contentOf(t, out), "\n")
		if name == "grows" && rows == 3 { // it grew before its end was met: then this is what was read
			rows, c.resume = 2, exit.OK
		}
		if rows != 2 {
			t.Errorf("%s: %d rows", name, rows)
		}
		e, _, stderr = testEnv(t, nil, false)
		if code := execute(t.Context(), line, e); code != c.resume {
			t.Errorf("%s: --resume ends with %d, want %d: %s", name, code, c.resume, stderr)
		}
	}
}
