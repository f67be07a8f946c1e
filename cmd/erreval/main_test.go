package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/evaluation"
	"github.com/erreval/erreval/identifier/local"
	"github.com/erreval/erreval/identifier/ort/orttest"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/nativelib"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/llm/llmtest"
	"github.com/erreval/erreval/models"
	"github.com/erreval/erreval/report"
	"github.com/erreval/erreval/taxonomy"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"erreval": main, "faketrainer": fakeTrainer, "peak": runPeak})
}

// TestScripts runs testdata/script/*.txtar. $SAMPLES, $RECORDS, $MODELS and $CHECKPOINTS are folders of the
// repository's testdata, $TAXONOMY is the default taxonomy with its version, $WALLS the file of a small one, $DISCOVER is
// the package discover, $HUB plays the Hugging Face hub, $JUDGE and $JUDGE2 endpoints with judges, $MESSAGES one of the
// Messages API.
func TestScripts(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("..", "..", "testdata"))
	if err != nil {
		t.Fatal(err)
	}
	checkpoints, err := filepath.Abs(filepath.Join("testdata", "checkpoints"))
	if err != nil {
		t.Fatal(err)
	}
	server, judge, judge2 := newHub(t), newJudge(t, judgeModels), newJudge(t, generous)
	messages := llmtest.NewMessagesServer(behindMessages).Start(t)
	library := orttest.Library(t) // the scripts' HOME has no cache to find it in
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", filepath.Join(e.WorkDir, "home")) // testscript's own is /no-home, which root would make
			e.Setenv("SAMPLES", filepath.Join(root, "samples"))
			e.Setenv("TAXONOMY", questions(t).ID())
			e.Setenv("WALLS", filepath.Join(root, "walls.yaml"))
			e.Setenv("RECORDS", filepath.Join(root, "records"))
			e.Setenv("MODELS", filepath.Join(root, "..", "identifier", "testdata")) // tiny random models
			e.Setenv("CHECKPOINTS", checkpoints)                                    // tiny random ones, with torch's logits
			// results of CLEAR and of the qualitative judge
			e.Setenv("DISCOVER", filepath.Join(root, "..", "discover"))
			e.Setenv("HUB", server)
			e.Setenv("JUDGE", judge)
			e.Setenv("JUDGE2", judge2)
			e.Setenv("MESSAGES", messages)
			e.Setenv(nativelib.EnvVar, library)
			e.Setenv("GORACE", impatient)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"status": cmdStatus, "killed": cmdKilled,
			"spoil": cmdSpoil, "flip": cmdFlip, "expand": cmdExpand,
			"freeze": cmdFreeze, "setcell": cmdSetCell, "reviewing": cmdReviewing, "serving": cmdServing},
	})
}

// questions is the default taxonomy.
func questions(t testing.TB) *taxonomy.Taxonomy {
	t.Helper()
	tax, err := taxonomy.Open("question-generation")
	if err != nil {
		t.Fatal(err)
	}
	return tax
}

// impatient takes the second off that the race detector otherwise waits at the end of each process. What it found
// before counts.
const impatient = "atexit_sleep_ms=0"

// command is this program in a process of its own, which finds the library and keeps its cache to itself.
func command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Args = append([]string{"erreval"}, args...)
	cmd.Env = append(os.Environ(), nativelib.EnvVar+"="+orttest.Library(t), "ERREVAL_CACHE="+t.TempDir(),
		"GORACE="+impatient)
	return cmd
}

// cmdStatus runs "status CODE program args…" and wants that exit code.
func cmdStatus(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status CODE program args…")
	}
	err := ts.Exec(args[1], args[2:]...)
	got := 0
	var exit interface{ ExitCode() int }
	switch {
	case errors.As(err, &exit):
		got = exit.ExitCode()
	case err != nil:
		ts.Fatalf("%v", err)
	}
	if fmt.Sprint(got) != args[0] {
		ts.Fatalf("exit code %d, want %s", got, args[0])
	}
}

func TestExitCode(t *testing.T) {
	plain := errors.New("x")
	coded := func(code int) error { return fmt.Errorf("more: %w", exit.With(code, plain)) }
	for _, c := range []struct {
		err  error
		want int
	}{
		{nil, exit.OK},
		{plain, exit.Failed},
		{exit.Usagef("x"), exit.Usage},
		{coded(exit.Unfit), exit.Unfit},
		{fmt.Errorf("x: %w", context.Canceled), exit.Interrupted},
		{exit.With(exit.Incomplete, context.Canceled), exit.Interrupted},
		{errors.Join(coded(exit.Incomplete), coded(exit.Missed)), exit.Missed},
		{errors.Join(coded(exit.Incomplete), coded(exit.Missed), coded(exit.Judge)), exit.Judge},
		{errors.Join(coded(exit.Judge), coded(exit.Unfit)), exit.Unfit},
		{errors.Join(coded(exit.Unfit), plain), exit.Failed},
		{fmt.Errorf("f:1: %w", report.ErrUnfit), exit.Unfit},
		{fmt.Errorf("f:1: %w", &evaluation.OptionError{}), exit.Usage},
		{errors.Join(models.OptionErrorf("x"), models.UnfitErrorf("x")), exit.Usage},
		{models.UnfitErrorf("x: %w", plain), exit.Unfit},
		{errors.Join(plain, local.ErrInterrupted), exit.Interrupted},
		{errors.Join(plain, context.Canceled), exit.Interrupted},
		{fmt.Errorf("both: %w", errors.Join(coded(exit.Incomplete), coded(exit.Missed))), exit.Missed},
	} {
		if got := codeOf(c.err); got != c.want {
			t.Errorf("%v: exit code %d, want %d", c.err, got, c.want)
		}
	}
}

// TestInterrupted: what an interrupted command returns does not matter, the code says interrupted.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for line, want := range map[string]int{
		"taxonomy check none.yaml": exit.Interrupted,
		"taxonomy list":            exit.OK, // it had finished
		"taxonomy list --bogus":    exit.Usage,
	} {
		var out, errOut bytes.Buffer
		e := &env{Process: &run.Process{Out: &out, Err: &errOut, Getenv: func(string) string { return "" },
			IsTerminal: func(any) bool { return false }}}
		if got := execute(ctx, append([]string{"erreval"}, strings.Fields(line)...), e); got != want {
			t.Errorf("%s: code %d, want %d; %s", line, got, want, errOut.String())
		}
	}
}

func TestParseMap(t *testing.T) {
	fields := []string{"question", "answer"}
	m, err := run.ReadMap([]string{"question=a=b", "answer=c,d"}, fields)
	if err != nil || m["question"] != "a=b" || m["answer"] != "c,d" {
		t.Errorf("got %v, %v", m, err)
	}
	for pair, want := range map[string]string{
		"question":  `--map "question": write it as FIELD=COLUMN, as in --map question=COLUMN`,
		"question=": `--map "question=": write it as FIELD=COLUMN, as in --map question=COLUMN`,
		"=x":        `--map "=x": write it as FIELD=COLUMN, as in --map question=COLUMN`,
		"title=x":   `--map "title=x": the taxonomy has no field "title"; its fields are question, answer`,
		"answer=y":  `--map "answer=y": the field "answer" is given twice`,
	} {
		_, err := run.ReadMap([]string{"answer=x", pair}, fields)
		if err == nil || err.Error() != want || codeOf(err) != exit.Usage {
			t.Errorf("%s:\ngot  %v\nwant %s", pair, err, want)
		}
	}
}

// TestHelp keeps every command's page useful: a line of usage, and an example where it takes files.
func TestHelp(t *testing.T) {
	var walk func(path string, c *cli.Command)
	walk = func(path string, c *cli.Command) {
		path += " " + c.Name
		if c.Usage == "" {
			t.Errorf("%s has no usage line", path)
		}
		for _, f := range c.Flags {
			if doc, ok := f.(cli.DocGenerationFlag); !ok || doc.GetUsage() == "" {
				t.Errorf("%s: flag --%s is not explained", path, f.Names()[0])
			}
			if r, ok := f.(cli.RequiredFlag); ok && r.IsRequired() {
				t.Errorf("%s: flag --%s is Required, for which urfave/cli prints the whole help page; check it in the action",
					path, f.Names()[0])
			}
		}
		for _, sub := range c.Subcommands {
			walk(path, sub)
		}
	}
	for _, c := range newApp(newEnv()).Commands {
		if c.Description == "" {
			t.Errorf("%s has no description with examples", c.Name)
		}
		walk("erreval", c)
	}
}

// TestHelpFits: no line of a help page is wider than the terminal, unless it is one word, or quoted.
func TestHelpFits(t *testing.T) {
	pages := [][]string{{"erreval"}, {"erreval", "--help"}}
	walkCommands("erreval", newApp(newEnv()).Commands, func(path string, _ *cli.Command) {
		pages = append(pages, append(strings.Fields(path), "--help"))
	})
	for _, columns := range []int{40, 80} {
		for _, args := range pages {
			var out strings.Builder
			e := newEnv()
			e.Out, e.Getenv = &out, func(name string) string { return map[string]string{"COLUMNS": strconv.Itoa(columns)}[name] }
			if code := execute(t.Context(), args, e); code != exit.OK || out.Len() == 0 {
				t.Fatalf("%v: code %d", args, code)
			}
			for line := range strings.SplitSeq(out.String(), "\n") {
				word := strings.TrimSpace(strings.TrimSuffix(line, ` \`))
				if len([]rune(line)) > columns && strings.Contains(word, " ") && !strings.ContainsAny(word[:1], `"'`) {
					t.Errorf("%v: wider than %d columns: %s", args, columns, line)
				}
			}
		}
	}
}

// cmdSpoil runs "spoil MANIFEST": it moves a logit of the first probe by one.
func cmdSpoil(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: spoil MANIFEST")
	}
	path := ts.MkAbs(args[0])
	m, err := models.ParseManifest([]byte(ts.ReadFile(args[0])))
	ts.Check(err)
	m.Probes[0].Logits[0]++
	ts.Check(m.Write(filepath.Dir(path)))
}

// cmdFlip runs "flip FILE [OFFSET]": it changes a byte, by default the one in the middle.
func cmdFlip(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: flip FILE [OFFSET]")
	}
	data := []byte(ts.ReadFile(args[0]))
	at := len(data) / 2
	if len(args) > 1 {
		n, err := strconv.Atoi(args[1])
		ts.Check(err)
		at = n
	}
	data[at] ^= 0xff
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), data, 0o666))
}
