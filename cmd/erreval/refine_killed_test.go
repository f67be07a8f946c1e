package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/training/refine"
)

// TestTrainKilled kills a training with SIGKILL as soon as each of the files is there that it makes on its way, some of
// them for moments only. The workspace is then as before or as after, and the same line makes the same iteration in the
// end.
func TestTrainKilled(t *testing.T) {
	checkpoint, err := filepath.Abs(filepath.Join("testdata", "checkpoints", "bert"))
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("FAKE_CHECKPOINT", checkpoint)
	// Where the files lie is no part of what is compared.
	want := trainedIn(t, newTiny(t))
	for _, at := range []string{
		".work/*/identifier/config.json", ".work/*/identifier/out/model.safetensors", ".work/*/identifier/done",
		".tmp/files/iterations/00/model/manifest.json", ".work/*/verifier-train.jsonl", ".work/*/verifier/done",
		".tmp/files/iterations/00/verifier/manifest.json", ".tmp/files/iterations/00/metrics.json", ".tmp/unit.json",
		".commit", "iterations/00",
	} {
		t.Run(strings.ReplaceAll(at, "/", " "), func(t *testing.T) {
			dir := newTiny(t)
			p := startProcess(t, "refine", "train", dir, "--quiet")
			killed := p.killWhen(func() bool {
				found, err := filepath.Glob(filepath.Join(dir, at))
				return err == nil && len(found) > 0
			})
			w, err := refine.Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			s, err := w.Status()
			if err != nil {
				t.Fatal(err)
			}
			if s.Steps != 1+len(s.Iterations) {
				t.Errorf("%d steps in the log, %d iterations", s.Steps, len(s.Iterations))
			}
			if code, err := startProcess(t, "refine", "train", dir, "--quiet").wait(); code != exit.OK {
				t.Fatalf("killed: %v; then %d, %v", killed, code, err)
			}
			if got := trainedIn(t, dir); got != want {
				t.Errorf("another iteration than without a kill:\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// TestFoldsKilled is the same of refine quality --folds: killed at any point, the same line makes the same ranking in
// the end, does not train again what it trained, and leaves nothing but what it found.
func TestFoldsKilled(t *testing.T) {
	checkpoint, err := filepath.Abs(filepath.Join("testdata", "checkpoints", "bert"))
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("FAKE_CHECKPOINT", checkpoint)
	want := ""
	for _, at := range []string{
		"nowhere", ".folds/*/fold01/identifier/out/model.safetensors", ".folds/*/fold01/identifier/done",
		".tmp/files/fold01/manifest.json",
		".folds/*/fold01.json", ".folds/*/fold02/identifier/config.json", ".folds/*/fold03.json", "quality.jsonl",
	} {
		t.Run(strings.ReplaceAll(at, "/", " "), func(t *testing.T) {
			dir := newTiny(t)
			startProcess(t, "refine", "quality", dir, "--folds", "3").killWhen(func() bool {
				found, err := filepath.Glob(filepath.Join(dir, at))
				return err == nil && len(found) > 0
			})
			stand, _ := filepath.Glob(filepath.Join(dir, ".folds/*/*.json"))
			code, said := startProcess(t, "refine", "quality", dir, "--folds", "3").wait()
			if again := strings.Count(said.Error(), "trained already"); code != exit.OK || again != len(stand) {
				t.Fatalf("%d: %d folds stood, %d were taken over: %v", code, len(stand), again, said)
			}
			got := contentOf(t, filepath.Join(dir, "quality.jsonl"))
			if want == "" {
				want = got
			}
			if got != want {
				t.Errorf("another ranking than without a kill:\n%s\nwant\n%s", got, want)
			}
			left, err := filepath.Glob(filepath.Join(dir, ".folds/*/*"))
			more, moreErr := filepath.Glob(filepath.Join(dir, ".[tcwu]*"))
			if err != nil || moreErr != nil || len(left) != 3 || len(more) != 0 {
				t.Errorf("there are %v and %v", left, more)
			}
		})
	}
}

// newTiny makes a workspace whose trainer is fakeTrainer.
func newTiny(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "work")
	gold := filepath.Join("..", "..", "testdata", "samples", "questions_gold.jsonl")
	pool := filepath.Join(t.TempDir(), "pool.jsonl")
	row := `{"question":"Who built it?","answer":"Oke","passage":"Oke built the wall."}` + "\n"
	if err := os.WriteFile(pool, []byte(row), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, err := startProcess(t, "refine", "init", dir, "--pool", pool, "--train", gold, "--start", "none",
		"--quiet").wait(); code != exit.OK {
		t.Fatal(code, err)
	}
	config := "start: none\ngroup: passage\ntrainer: [faketrainer]\ntrain: {encoder: tiny, precision: fp32}\npromote: " +
		"{resamples: 100}\n"
	if err := os.WriteFile(filepath.Join(dir, refine.ConfigFile), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	if code, err := startProcess(t, "trust", dir).wait(); code != exit.OK {
		t.Fatal(code, err)
	}
	return dir
}

// trainedIn trains what is not trained yet, and gives the figures of the first iteration and the hash of its models.
func trainedIn(t *testing.T, dir string) string {
	t.Helper()
	if code, err := startProcess(t, "refine", "train", dir, "--quiet").wait(); code != exit.OK {
		t.Fatal(code, err)
	}
	left, err := filepath.Glob(filepath.Join(dir, ".[tcwu]*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	var b bytes.Buffer
	for _, name := range []string{"metrics.json", "model/manifest.json", "verifier/manifest.json"} {
		b.WriteString(contentOf(t, filepath.Join(dir, "iterations", "00", name)))
	}
	return b.String()
}

// TestTrainStopped: with Ctrl-C the training ends with the line that goes on, and so does the trainer; with kill -9 the
// trainer ends as well, which would else be in the way of the next one.
func TestTrainStopped(t *testing.T) {
	t.Setenv("FAKE_TRAINER", "hangs")
	for _, signal := range []os.Signal{os.Interrupt, os.Kill} {
		dir := newTiny(t)
		p := startProcess(t, "refine", "train", dir)
		trainer := 0
		for trainer == 0 {
			select {
			case <-p.ended:
				t.Fatalf("it ended by itself: %s", p.stderr.String())
			default:
			}
			found, _ := filepath.Glob(filepath.Join(dir, ".work/*/identifier/out.pid"))
			for _, path := range found {
				trainer, _ = strconv.Atoi(contentOf(t, path))
			}
		}
		for u := underwayIn(t, dir); !u.Running || u.Best == nil; u = underwayIn(t, dir) { // until the test's time is up
		}
		if err := p.cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		code, message := p.wait()
		if signal == os.Interrupt && (code != exit.Interrupted || !strings.Contains(message.Error(),
			"interrupted; to go on: erreval refine train "+dir)) {
			t.Errorf("code %d, %v", code, message)
		}
		for running(trainer) { // until the test's time is up
		}
		if u := underwayIn(t, dir); u.Running || u.Done != 1 || u.BestEpoch != 1 || *u.Best != 0.5 || u.Seconds != 6 {
			t.Errorf("%v: %+v", signal, u)
		}
	}
}

// underwayIn is what status says of a training that has not ended.
func underwayIn(t *testing.T, dir string) *refine.Underway {
	t.Helper()
	w, err := refine.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	s, err := w.Status()
	if err != nil || s.Underway == nil {
		t.Fatalf("%+v, %v", s, err)
	}
	return s.Underway
}

// running tells whether a process has not ended, or is not yet taken for ended by whoever inherited it.
func running(pid int) bool {
	data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	return err == nil && !strings.Contains(string(data), ") Z ")
}
