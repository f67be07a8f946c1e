package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/identifier/ort/orttest"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/nativelib"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/models"
)

// testEnv is a process whose standard error is a terminal if terminal is set.
func testEnv(t testing.TB, in io.Reader, terminal bool) (e *env, out, err *bytes.Buffer) {
	library := orttest.Library(t)
	out, err = &bytes.Buffer{}, &bytes.Buffer{}
	e = &env{Process: &run.Process{In: in, Out: out, Err: err, IsTerminal: func(any) bool { return terminal },
		Getenv: func(name string) string { return map[string]string{nativelib.EnvVar: library}[name] }}}
	return e, out, err
}

const tinyBERT = "../../identifier/testdata/bert"

// TestInterruptedWhileStandardInputWaits: the first Ctrl-C keeps what is done, though standard input never ends.
func TestInterruptedWhileStandardInputWaits(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	const rows = 30
	stdin, w := io.Pipe()
	defer w.Close()
	go func() {
		for i := range rows {
			fmt.Fprintf(w, `{"id":"%d","question":"Who?","answer":"Oke","passage":"A mason."}`+"\n", i)
		}
		// Everything written was read: nothing comes any more.
		interrupt()
	}()
	e, _, stderr := testEnv(t, stdin, false)
	out := filepath.Join(t.TempDir(), "out.jsonl")
	code := execute(ctx, []string{"erreval", "identify", "-", "-o", out, "--model", tinyBERT}, e)
	if code != exit.Interrupted {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	for _, path := range []string{out, out + ".run.json"} {
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s exists, as if the run had ended", path)
		}
	}
	kept := 0
	if data, err := os.ReadFile(dataset.PartialPath(out)); err == nil {
		kept = strings.Count(string(data), `"diagnosis":{"labels"`)
	}
	if kept == 0 {
		if !strings.Contains(stderr.String(), "interrupted before the first row of -") {
			t.Errorf("nothing was kept: %s", stderr)
		}
		return
	}
	want := fmt.Sprintf("interrupted after line %d of -; ", kept)
	if !strings.Contains(stderr.String(), want) || !strings.Contains(stderr.String(), dataset.PartialPath(out)) {
		t.Errorf("%d rows were kept, but the message is %s", kept, stderr)
	}
}

// TestInterruptedSaysHowToGoOn interrupts a run over a file, and follows its advice.
func TestInterruptedSaysHowToGoOn(t *testing.T) {
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in.jsonl"), filepath.Join(dir, "out.jsonl")
	const rows = 2000
	var b strings.Builder
	for i := range rows {
		fmt.Fprintf(&b, `{"id":"%d","question":"Who?","answer":"Oke","passage":"A mason."}`+"\n", i)
	}
	if err := os.WriteFile(in, []byte(b.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	e, _, stderr := testEnv(t, nil, true)
	// The progress line tells when rows have come out.
	e.Err = writerFunc(func(p []byte) (int, error) { interrupt(); return stderr.Write(p) })
	if code := execute(ctx, []string{"erreval", "identify", in, "-o", out, "--model", tinyBERT},
		e); code != exit.Interrupted {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	data, err := os.ReadFile(dataset.PartialPath(out))
	if err != nil {
		t.Fatal(err)
	}
	kept := bytes.Count(data, []byte("\n"))
	if kept == 0 || kept == rows {
		t.Fatalf("%d of %d rows were kept; the interruption came at the wrong time", kept, rows)
	}
	line := "erreval identify " + in + " -o " + out + " --model " + tinyBERT
	if want := "\nto go on: " + line + " --resume\n"; !strings.Contains(stderr.String(), want) {
		t.Errorf("the message is %s, want %q in it", stderr, want)
	}
	if last := fmt.Sprintf(`{"id":"%d",`, kept-1); !bytes.Contains(data, []byte(last)) {
		t.Errorf("the last of %d rows kept is not row %d", kept, kept-1)
	}
	e, _, stderr = testEnv(t, nil, false)
	if code := execute(t.Context(), strings.Fields(line+" --resume"), e); code != exit.OK {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	if want := words.Plural(kept, "row was", "rows were") +
		" tagged by an earlier run\n2000 rows in "; !strings.Contains(stderr.String(), want) {
		t.Errorf("the message is %s, want %q in it", stderr, want)
	}
	if data, err := os.ReadFile(out); err != nil || bytes.Count(data, []byte("\n")) != rows {
		t.Errorf("%d rows, %v", bytes.Count(data, []byte("\n")), err)
	}
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestParseThresholds(t *testing.T) {
	tax := questions(t)
	got, err := models.ParseThresholds("--threshold", []string{"Vague=0", "0.4", "off topic=1"}, tax, tax.Labels(), nil)
	if err != nil || len(got) != 10 || got["Vague"] != 0 || got["Off Topic"] != 1 || got["Spell Error"] != 0.4 {
		t.Errorf("got %v, %v", got, err)
	}
	if _, ok := got["No Error"]; ok {
		t.Error("No Error got a threshold")
	}
	if got, err := models.ParseThresholds("--threshold", nil, tax, tax.Labels(), nil); err != nil || len(got) != 0 {
		t.Errorf("without the flag: %v, %v", got, err)
	}
	own := map[string]float64{"Vague": 0.2, "Off Topic": 0.5}
	got, err = models.ParseThresholds("--threshold", []string{"x2"}, tax, tax.Labels(), own) // odds 1 to 4 become 1 to 2
	if err != nil || got["Vague"] != 0.333 || got["Off Topic"] != 0.667 {
		t.Errorf("x2: %v, %v", got, err)
	}
	if got, err := models.ParseThresholds("--threshold", []string{"x2"}, tax, tax.Labels(), nil); err == nil ||
		strings.Contains(err.Error(), "or x2") {
		t.Errorf("without thresholds of its own: %v, %v", got, err)
	}
	for _, bad := range []string{"", "x", "NaN", "-0.1", "Vague=", "=0.5", "Vague=2", "x0", "x-1", "xInf", "Vague=x0.5"} {
		if got, err := models.ParseThresholds("--threshold", []string{bad}, tax, tax.Labels(), own); err == nil {
			t.Errorf("%q: got %v, want an error", bad, got)
		}
	}
}
