package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/erreval/erreval/taxonomy"
)

// tagged is a pool row whose identifier gives p to Vague and 0.02 to every other error.
func tagged(t *testing.T, id string, p float64) string {
	t.Helper()
	task, err := taxonomy.Builtin("question-generation")
	if err != nil {
		t.Fatal(err)
	}
	var probabilities []string
	for i, label := range task.Labels() {
		q := 0.02
		if label == "Vague" {
			q = p
		}
		if i != task.NoErrorIndex() {
			probabilities = append(probabilities, fmt.Sprintf("%q:%g", label, q))
		}
	}
	return fmt.Sprintf(`{"id":%q,"question":"What of %[1]s?","answer":"%[1]s","passage":"All about %[1]s.","diagnosis":{"labels":["No Error"],"probabilities":{%s}}}`, id, strings.Join(probabilities, ",")) + "\n"
}

// files writes a pool, used rows and thresholds, and gives the command's arguments.
func files(t *testing.T, pool, used, thresholds string) []string {
	t.Helper()
	dir := t.TempDir()
	var paths []string
	for name, text := range map[string]string{"a-pool.jsonl": pool, "b-used.jsonl": used,
		"c-thresholds.json": thresholds} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"a-pool.jsonl", "b-used.jsonl", "c-thresholds.json"} {
		paths = append(paths, filepath.Join(dir, name))
	}
	return append(paths, "2", "1")
}

// With Vague's threshold at 0.8, 0.78 lies just below it, 0.4 half way down, 0.02 far away; mint is labelled already.
func TestRun(t *testing.T) {
	pool := tagged(t, "lamp", 0.02) + tagged(t, "moss", 0.4) + tagged(t, "mint", 0.79) + tagged(t, "rope", 0.78)
	used := `{"id":"mint","question":"What of mint?","answer":"mint","passage":"All about mint.","labels":["Vague"]}` +
		"\n"
	args := files(t, pool, used, `{"Vague":0.8}`)
	var out bytes.Buffer
	if err := run(args, &out); err != nil {
		t.Fatal(err)
	}
	if want := `{"id":"rope","reason":"uncertain"}` + "\n" + `{"id":"moss","reason":"uncertain"}` +
		"\n"; out.String() != want {
		t.Errorf("%s, want %s", out.String(), want)
	}
}

func TestRunFaults(t *testing.T) {
	good := files(t, tagged(t, "lamp", 0.5), "", `{"Vague":0.8}`)
	for _, c := range []struct {
		at        int
		arg, want string
		notThere  bool
	}{
		{at: 3, arg: "many", want: "many"},
		{at: 4, arg: "luck", want: "luck"},
		{at: 0, arg: filepath.Join(t.TempDir(), "none.jsonl"), want: "none.jsonl", notThere: true},
		{at: 2, arg: good[0], want: "a-pool.jsonl: "},
	} {
		args := append([]string{}, good...)
		args[c.at] = c.arg
		err := run(args, &bytes.Buffer{})
		if err == nil || !strings.Contains(err.Error(), c.want) || errors.Is(err, fs.ErrNotExist) != c.notThere {
			t.Errorf("%q: %v", c.arg, err)
		}
	}
}
