package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/erreval/erreval/internal/exit"
)

// worker is "erreval identify - -o - --flush" in a process of its own.
type worker struct {
	*exec.Cmd
	rows    io.WriteCloser
	answers *bufio.Reader
	closer  io.Closer // of answers
	says    *bufio.Reader
}

func startWorker(t *testing.T, flags ...string) *worker {
	t.Helper()
	model, err := filepath.Abs(tinyBERT)
	if err != nil {
		t.Fatal(err)
	}
	w := &worker{Cmd: command(t, append([]string{"identify", "-", "-o", "-", "--flush", "--model", model,
		"--labels-only"}, flags...)...)}
	w.Dir = t.TempDir()
	in, errIn := w.StdinPipe()
	out, errOut := w.StdoutPipe()
	says, errErr := w.StderrPipe()
	if err := errors.Join(errIn, errOut, errErr, w.Start()); err != nil {
		t.Fatal(err)
	}
	w.rows, w.answers, w.closer, w.says = in, bufio.NewReaderSize(out, 1<<16), out, bufio.NewReader(says)
	return w
}

// write writes row n, or where every is not 0 each so many-th time a line that is none.
func (w *worker) write(n, every int) error {
	line := fmt.Sprintf(`{"n":%d,"question":"Who built wall %d?","answer":"A mason","passage":"A mason built it."}`, n, n)
	if every > 0 && n%every == 0 {
		line = fmt.Sprintf("bad %d", n)
	}
	_, err := fmt.Fprintln(w.rows, line)
	return err
}

// wantAnswer reads the answer to row n as write wrote it.
func (w *worker) wantAnswer(t *testing.T, n, every int) {
	t.Helper()
	line, err := w.answers.ReadString('\n')
	want, with := fmt.Sprintf(`{"n":%d,`, n), `"diagnosis":{"labels":[`
	if every > 0 && n%every == 0 {
		want, with = fmt.Sprintf(`{"status":"rejected","line":%d,`, n+1), fmt.Sprintf(`"raw":"bad %d"`, n)
	}
	if err != nil || !strings.HasPrefix(line, want) || !strings.Contains(line, with) {
		t.Fatalf("line %d: got %q, %v; want %s … %s", n+1, line, err, want, with)
	}
}

// wantEnd wants nothing more on standard output, no file beside it, and the exit code.
func (w *worker) wantEnd(t *testing.T, code int, said string) {
	t.Helper()
	rest, err := io.ReadAll(w.answers)
	text, errSaid := io.ReadAll(w.says)
	files, errFiles := filepath.Glob(filepath.Join(w.Dir, "*"))
	_ = w.Wait()
	if err := errors.Join(err, errSaid, errFiles); err != nil || len(rest) > 0 || len(files) > 0 ||
		w.ProcessState.ExitCode() != code || !strings.Contains(string(text), said) || said == "" && len(text) > 0 {
		t.Errorf("%v, want exit code %d; %q more on standard output; files %v; it said %q; %v", w.ProcessState, code, rest,
			files, text, err)
	}
}

// TestWorkerAnswersEachLine: a line is answered before the next one is written, with one worker and with more.
func TestWorkerAnswersEachLine(t *testing.T) {
	for _, workers := range []string{"1", "8"} {
		w := startWorker(t, "--quiet", "--workers", workers)
		for n := range 20 {
			if err := w.write(n, 3); err != nil {
				t.Fatal(err)
			}
			w.wantAnswer(t, n, 3)
		}
		if err := w.rows.Close(); err != nil {
			t.Fatal(err)
		}
		w.wantEnd(t, exit.Incomplete, "")
	}
}

// TestWorkerKeepsOrder: many lines, many of them bad, and none at all.
func TestWorkerKeepsOrder(t *testing.T) {
	for _, rows := range []int{10_000, 0} {
		w := startWorker(t, "--quiet", "--workers", "8")
		failed := make(chan error, 1)
		go func() {
			for n := range rows {
				if err := w.write(n, 7); err != nil {
					failed <- err
					return
				}
			}
			failed <- w.rows.Close()
		}()
		for n := range rows {
			w.wantAnswer(t, n, 7)
		}
		if err := <-failed; err != nil {
			t.Error(err)
		}
		code := exit.Incomplete
		if rows == 0 {
			code = exit.OK
		}
		w.wantEnd(t, code, "")
	}
}

// TestWorkerInterrupted: SIGTERM ends the reading; all that was read is answered.
func TestWorkerInterrupted(t *testing.T) {
	w := startWorker(t)
	for n := range 3 {
		if err := w.write(n, 2); err != nil {
			t.Fatal(err)
		}
		w.wantAnswer(t, n, 2)
	}
	if err := w.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	w.wantEnd(t, exit.Interrupted, "interrupted after line 2 of -") // the last row; a bad line follows it
}

// TestWorkerWithoutReader: who reads the answers is gone; the worker ends although more lines may come.
func TestWorkerWithoutReader(t *testing.T) {
	w := startWorker(t, "--quiet")
	if err := errors.Join(w.write(0, 0), w.closer.Close()); err != nil {
		t.Fatal(err)
	}
	err := w.Wait()
	if status, ok := w.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGPIPE {
		t.Errorf("it ended with %v, not by SIGPIPE", err)
	}
}
