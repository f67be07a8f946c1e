package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/exit"
)

// newFIFO makes a FIFO that never ends, since the test holds it.
func newFIFO(t *testing.T, path string) *os.File {
	t.Helper()
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	w, err := os.OpenFile(path, os.O_RDWR, 0) // read and write: opening waits for nobody
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

// startEndless starts erreval on a FIFO that holds one row of so many bytes, and never ends.
func startEndless(t *testing.T, size int, flags ...string) (cmd *exec.Cmd, stdout, stderr *bufio.Reader) {
	t.Helper()
	fifo := filepath.Join(t.TempDir(), "in.jsonl")
	w := newFIFO(t, fifo)
	// A caught signal has its default effect in a new process, an ignored one (nohup) would stay ignored.
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt)
	t.Cleanup(func() { signal.Stop(signals) })
	cmd = command(t, append([]string{"identify", fifo}, flags...)...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	diagnostics, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// More than a pipe holds would wait for ever where the process has ended: what reads its output then fails instead.
	go fmt.Fprintf(w, `{"id":"a1","question":"Who?","answer":"Oke","passage":"A mason.","note":"%0*d"}`+"\n", size, 0)
	return cmd, bufio.NewReader(out), bufio.NewReader(diagnostics)
}

// interrupt sends a signal and waits until the process has noticed it.
func interrupt(t *testing.T, cmd *exec.Cmd, stderr *bufio.Reader) {
	t.Helper()
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	for {
		line, err := stderr.ReadString('\n')
		if err != nil {
			t.Fatalf("it ends without noticing the signal: %v", err)
		}
		if strings.Contains(line, "Ctrl-C again ends at once") {
			return
		}
	}
}

// TestFirstInterrupt: it ends the run, though the input never does, and keeps the rows.
func TestFirstInterrupt(t *testing.T) {
	t.Run("local", func(t *testing.T) { testFirstInterrupt(t, "--model", tinyBERT) })
	t.Run("llm", func(t *testing.T) {
		testFirstInterrupt(t, "--identifier", "llm", "--judge", "finder", "--base-url", newJudge(t, judgeModels))
	})
}

func testFirstInterrupt(t *testing.T, identifier ...string) {
	out := filepath.Join(t.TempDir(), "out.jsonl")
	cmd, stdout, stderr := startEndless(t, 10, append(identifier, "-o", out, "--table")...)
	for line := ""; !strings.HasPrefix(line, "1 "); { // the row is done
		var err error
		if line, err = stdout.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(stderr) // the notice of the signal is not always in it: the command may end before it
	if err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // the exit code is looked at
	if code := cmd.ProcessState.ExitCode(); code != exit.Interrupted {
		t.Errorf("exit code %d, want %d", code, exit.Interrupted)
	}
	if want := "interrupted after line 1 of "; !strings.Contains(string(rest), want) {
		t.Errorf("the message is %s, want %q in it", rest, want)
	}
	if kept := contentOf(t, dataset.PartialPath(out)); !strings.Contains(kept, `"id":"a1"`) ||
		!strings.HasSuffix(kept, "\n") {
		t.Errorf("kept: %q", kept)
	}
}

// TestInterruptWhileWaiting: the first signal ends a command that waits for rows on a FIFO, whichever of its files
// that is.
func TestInterruptWhileWaiting(t *testing.T) {
	rows := filepath.Join(tinyBERT, "rows.jsonl")
	for _, line := range [][]string{
		{"identify", "FIFO", "-o", "-", "--model", tinyBERT}, {"score", "FIFO", "-o", "-"}, {"stats", "FIFO"},
		{"show", "FIFO"}, {"diff", rows, "FIFO"}, {"meta", "labels", rows, "--gold", "FIFO"}, {"rank", "FIFO"},
		{"simulate", "FIFO", "-o", "-"},
	} {
		for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
			t.Run(line[0]+"/"+s.String(), func(t *testing.T) {
				t.Parallel()
				fifo := filepath.Join(t.TempDir(), "in.jsonl")
				testInterruptWhileWaiting(t, fifo, s, strings.Split(strings.ReplaceAll(strings.Join(line, "\n"), "FIFO", fifo),
					"\n"))
			})
		}
	}
}

func testInterruptWhileWaiting(t *testing.T, fifo string, s os.Signal, line []string) {
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := command(t, line...)
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w, err := os.OpenFile(fifo, os.O_WRONLY, 0) // opens as soon as somebody reads
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	sent := time.Now()
	if err := cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // the exit code is looked at
	if code := cmd.ProcessState.ExitCode(); code != exit.Interrupted || !strings.Contains(said.String(),
		"error: interrupted") {
		t.Errorf("exit code %d: %s", code, &said)
	}
	if took := time.Since(sent); took > 2*time.Second*memoryFactor {
		t.Errorf("it ended after %v", took)
	}
}

// TestBrokenPipe: where nobody reads standard output the process ends as others do, and --resume goes on.
func TestBrokenPipe(t *testing.T) {
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in.jsonl"), filepath.Join(dir, "out.jsonl")
	if err := os.WriteFile(in, []byte(`{"question":"Who?","answer":"Oke","passage":"A mason."}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	cmd := command(t, "identify", in, "-o", out, "--model", tinyBERT, "--table")
	cmd.Stdout = w
	_ = cmd.Run() // how it ended is looked at
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGPIPE {
		t.Errorf("it ended with %v", cmd.ProcessState)
	}
	if code, err := identifyProcess(t, in, out, "--resume").wait(); code != exit.OK {
		t.Errorf("--resume: exit code %d, %v", code, err)
	}
	if rows := strings.Count(contentOf(t, out), "\n"); rows != 1 {
		t.Errorf("%d rows", rows)
	}
}

// TestSecondInterrupt: a run that cannot finish what is in flight, since nobody takes its output, ends at the second
// signal.
func TestSecondInterrupt(t *testing.T) {
	// more than the pipe and the reader take
	cmd, stdout, stderr := startEndless(t, 300<<10, "--model", tinyBERT, "-o", "-")
	if _, err := stdout.ReadByte(); err != nil {
		t.Fatal(err)
	}
	interrupt(t, cmd, stderr)
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(stderr); err != nil { // until the process is gone
		t.Fatal(err)
	}
	_ = cmd.Wait() // how it ended is looked at
	status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() || status.Signal() != syscall.SIGINT {
		t.Errorf("it ended with %v", cmd.ProcessState)
	}
}
