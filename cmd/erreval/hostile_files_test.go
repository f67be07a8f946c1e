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
)

var (
	allHostile = flag.Bool("hostile", false, "read every hostile file, and print what each costs (scripts/hostile.sh)")
	program    = flag.String("hostile-program", "", "with -hostile, a program to measure instead of this one")
)

// mostMemory is what the whole process may take, whatever the file: MiB, of which the default model takes 165.
const mostMemory = 512

// TestHostileFiles: identify ends within mostMemory on every hostile file, with rows or a message.
func TestHostileFiles(t *testing.T) {
	for _, f := range hostiletest.Files() {
		if !f.Quick && !*allHostile {
			continue
		}
		path := writeHostileFile(t, f)
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		measure(t, fmt.Sprintf("%s | %d KiB", f.Name, info.Size()>>10), "identify", path, "-o",
			filepath.Join(t.TempDir(), "out.jsonl"))
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
func measure(t *testing.T, name string, args ...string) {
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
	text := strings.ReplaceAll(said.String(), filepath.Dir(args[1])+"/", "")
	if *allHostile {
		first, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
		fmt.Printf("| %s | %d | %d | %.1f s | %.200s |\n", name, mib, code, time.Since(start).Seconds(), first)
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
	fmt.Println(cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss>>10, cmd.ProcessState.ExitCode())
}
