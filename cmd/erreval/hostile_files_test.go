package main

import (
	"bytes"
	"cmp"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/erreval/erreval/dataset/hostiletest"
	"github.com/erreval/erreval/taxonomy"
)

var (
	only       = flag.String("hostile-only", "", "with -hostile, files whose name has this in it")
	allHostile = flag.Bool("hostile", false, "read every hostile file, and print what each costs (scripts/hostile.sh)")
	program    = flag.String("hostile-program", "", "with -hostile, a program to measure instead of this one")
)

// mostMemory is what the whole process may take, whatever the file: MiB, of which the default model takes 235.
const mostMemory = 512 * memoryFactor

// TestHostileFiles: identify ends within mostMemory on every hostile file, with rows or a message, and so does refine
// merge on workbooks, and what looks at rows on those that are tagged (on all of them where each is measured).
func TestHostileFiles(t *testing.T) {
	for _, f := range hostiletest.Files() {
		if f.Quick || *allHostile {
			t.Run(f.Name, func(t *testing.T) { measureFile(t, f) })
		}
	}
}

func measureFile(t *testing.T, f hostiletest.File) {
	if !strings.Contains(f.Name, *only) {
		return
	}
	if !*allHostile { // which measures them one at a time
		t.Parallel()
	}
	path := writeHostileFile(t, f)
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	size := fmt.Sprintf("%d KiB", info.Size()>>10)
	out := t.TempDir()
	lines := [][]string{{"identify", path, "-o", filepath.Join(out, "out.jsonl")}}
	if *allHostile || strings.HasPrefix(f.Name, "tagged-") || f.Name == "page-of-135-MiB.parquet" {
		lines = append(lines, []string{"report", path, "-o", filepath.Join(out, "out.html")}, []string{"stats", path},
			[]string{"diff", path, path}, []string{"meta", "labels", path})
	}
	for _, line := range lines {
		measure(t, line[0]+" | "+f.Name+" | "+size, path, line...)
	}
	if filepath.Ext(path) == ".xlsx" {
		work := filepath.Join(t.TempDir(), "work")
		makeWorkspace(t, work)
		measure(t, "refine merge | "+f.Name+" | "+size, path, "refine", "merge", work, "anna="+path)
	}
}

// makeWorkspace makes a workspace with a batch of one row.
func makeWorkspace(t *testing.T, work string) {
	t.Helper()
	rows := filepath.Join(t.TempDir(), "rows.jsonl")
	const row = `{"passage":"Ann did.","question":"Who?","answer":"Ann"}` + "\n"
	if err := os.WriteFile(rows, []byte(row), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := command(t, "refine", "init", work, "--pool", rows).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	err := freezeItems(filepath.Join(work, "batches", "B001"), `{"item_id":"B001-0001","reason":"uncertain","row":`+
		strings.TrimSpace(row)+"}\n", taxonomy.Builtins()[0])
	if err != nil {
		t.Fatal(err)
	}
}

func writeHostileFile(t *testing.T, f hostiletest.File) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), f.Name)
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Write(file); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// measure runs a command line, and wants it to end by itself within mostMemory.
func measure(t *testing.T, name, path string, args ...string) {
	t.Helper()
	cmd := command(t, args...)
	cmd.Args = append([]string{"peak", cmp.Or(*program, cmd.Path)}, args...)
	var peak, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &peak, &said
	start := time.Now()
	if err := cmd.Run(); err != nil {
		t.Fatal(err, said.String())
	}
	var mib, code int
	if _, err := fmt.Sscan(peak.String(), &mib, &code); err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(said.String(), filepath.Dir(path)+"/", "")
	if *allHostile {
		first, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
		fmt.Fprintf(os.Stdout, "| %s | %d | %d | %.1f s | %.200s |\n", name, mib, code, time.Since(start).Seconds(), first)
	}
	if mib > mostMemory || code < 0 || strings.Contains(text, "goroutine ") {
		t.Errorf("%s: %d MiB, exit code %d: %.300s", name, mib, code, text)
	}
}

// runPeak runs "peak PROGRAM args…" and prints the most memory that it took, in MiB, and its exit code. It is a process
// of its own because the kernel counts for a new process what the one that starts it takes.
func runPeak() {
	cmd := exec.Command(os.Args[1]) //nolint:noctx // measure ends this process
	cmd.Args, cmd.Stderr = append([]string{"erreval"}, os.Args[2:]...), os.Stderr
	var failed *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &failed) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Fprintln(os.Stdout, cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss>>10, cmd.ProcessState.ExitCode())
}
