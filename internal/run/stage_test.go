package run_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/app/merging"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/internal/runrecord"
	"github.com/erreval/erreval/taxonomy"
)

// uppercase is a row command: it writes the first field in capital letters to the column "shout". All that is special
// about it stands here, in fewer than 40 lines; the rest of this file uses what it gets from the engine.
func uppercase(ctx context.Context, p *run.Process, o run.Options, limits ...string) error {
	t, err := taxonomy.Builtin("question-generation")
	if err != nil {
		return err
	}
	gates, err := run.ParseGates(limits, func(name string) (string, bool) { return name, true }, nil)
	if err != nil {
		return err
	}
	if err := o.Validate(); err != nil {
		return err
	}
	r, err := run.New(p, o)
	if err != nil {
		return err
	}
	if err := errors.Join(run.CheckInputs(o.Inputs), r.CheckOutputs(), r.NameColumns(ctx, t)); err != nil {
		return err
	}
	res := r.All(ctx, &run.Stage{Command: "uppercase", Taxonomy: t, Column: "shout",
		Options: map[string]any{"limit": o.Limit},
		Work:    run.Each(func(row *dataset.Row) error { return row.Set("shout", strings.ToUpper(row.Values[0])) }),
		Count: func(row *dataset.Row, _ bool, counts run.Counts) error {
			if raw, _ := row.Get("shout"); string(raw) == `""` {
				counts["unshouted"]++
			}
			return nil
		},
		Verb: "shout", Past: "shouted", Why: func(run.Counts) string { return "there is nothing to shout" }})
	if res.NothingRead() {
		return res.Err
	}
	return errors.Join(res.Err, r.Incomplete(), r.MissedGates(r.CheckGates(gates, "")))
}

const rows = `{"id":"a","question":"Who built it?","answer":"Oke","passage":"Oke built it."}
no row
{"id":"b","question":"Who?","answer":"Oke","passage":"Oke."}
{"id":"c","question":"Why?","answer":"Oke","passage":"Oke."}
`

// shout runs the command in a folder that holds in.jsonl, and gives the exit code and what was said.
func shout(t *testing.T, dir string, o run.Options, limits ...string) (code int, said string) {
	t.Helper()
	t.Chdir(dir)
	var stdout, stderr bytes.Buffer
	p := &run.Process{Args: []string{"erreval", "uppercase"}, In: strings.NewReader(rows), Out: &stdout, Err: &stderr,
		Getenv: func(string) string { return "" }, IsTerminal: func(any) bool { return false }}
	err := uppercase(t.Context(), p, o, limits...)
	if err != nil {
		stderr.WriteString(err.Error())
	}
	return exit.Code(err, func(error) int { return exit.OK }), stdout.String() + stderr.String()
}

func writeRows(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "in.jsonl"), []byte(rows), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func shouted(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for line := range strings.Lines(string(data)) {
		var row struct{ Shout string }
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatal(err)
		}
		all = append(all, row.Shout)
	}
	return strings.Join(all, "|")
}

func in(out string) run.Options { return run.Options{Inputs: []string{"in.jsonl"}, Output: out} }

func TestNewCommand(t *testing.T) {
	dir := writeRows(t)
	code, said := shout(t, dir, in("out.jsonl"), "untagged>1", "rejected<=1")
	if code != exit.Missed || !strings.Contains(said, `in.jsonl:2: `) || !strings.Contains(said,
		"see out.jsonl.rejected.jsonl") ||
		!strings.Contains(said, `--fail-on "rejected<=1"`) || strings.Contains(said, `"untagged>1"`) {
		t.Errorf("code %d: %s", code, said)
	}
	if got := shouted(t, "out.jsonl"); got != "WHO BUILT IT?|WHO?|WHY?" {
		t.Errorf("got %s", got)
	}
	record, err := runrecord.Read("out.jsonl")
	if err != nil || record.Command != "uppercase" || record.Counts["rows"] != 3 || record.Counts["rejected"] != 1 {
		t.Errorf("%+v, %v", record, err)
	}
	for name, c := range map[string]struct {
		o    run.Options
		code int
		said string
	}{
		"exists": {in("out.jsonl"), exit.Failed, "output out.jsonl exists already"},
		"finished": {run.Options{Inputs: []string{"in.jsonl"}, Output: "out.jsonl", Resume: true}, exit.Incomplete,
			"is finished already"},
		"stdout": {in(run.Stdio), exit.Incomplete, `"shout":"WHO?"`},
		"stdin":  {run.Options{Inputs: []string{run.Stdio}, Output: run.Stdio}, exit.Incomplete, `"shout":"WHO?"`},
		"column": {run.Options{Inputs: []string{"in.jsonl"}, Output: "no.jsonl", Map: []string{"question=prompt"}},
			exit.Failed, "prompt"},
		"missing": {run.Options{Inputs: []string{"none.jsonl"}, Output: "no.jsonl"}, exit.Failed, "none.jsonl"},
		"shard":   {run.Options{Inputs: []string{"in.jsonl"}, Output: "no.jsonl", Shard: "3/2"}, exit.Usage, `--shard "3/2"`},
		"limit":   {run.Options{Inputs: []string{"in.jsonl"}, Output: run.Stdio, Reading: runrecord.Reading{Limit: 1}}, exit.OK, `"shout":"WHO BUILT IT?"`},
	} {
		if code, said := shout(t, dir, c.o); code != c.code || !strings.Contains(said, c.said) {
			t.Errorf("%s: code %d, want %d: %s", name, code, c.code, said)
		}
	}
}

// TestNewCommandFormats writes and reads each format.
func TestNewCommandFormats(t *testing.T) {
	dir := writeRows(t)
	for _, name := range []string{"a.json", "a.csv", "a.tsv", "a.xlsx", "a.parquet", "a.jsonl.gz", "a.csv.zst"} {
		if code, said := shout(t, dir, in(name)); code != exit.Incomplete {
			t.Fatalf("%s: code %d: %s", name, code, said)
		}
		again := run.Options{Inputs: []string{name}, Output: name + ".jsonl"}
		if code, said := shout(t, dir, again); code != exit.OK {
			t.Fatalf("%s: code %d: %s", name, code, said)
		}
		if got := shouted(t, name+".jsonl"); got != "WHO BUILT IT?|WHO?|WHY?" {
			t.Errorf("%s: got %s", name, got)
		}
	}
}

// TestNewCommandShards puts shards together again.
func TestNewCommandShards(t *testing.T) {
	dir := writeRows(t)
	for i, part := range []string{"1.jsonl", "2.jsonl"} {
		o := in(part)
		o.Shard = []string{"1/2", "2/2"}[i]
		if code, said := shout(t, dir, o); code == exit.Failed {
			t.Fatal(said)
		}
	}
	p := &run.Process{Err: &bytes.Buffer{}}
	m, err := merging.Merge(t.Context(), p, merging.Options{Parts: []string{"2.jsonl", "1.jsonl"}, Output: "all.jsonl"})
	if err != nil || m.Rows != 3 || m.Rejected != 1 {
		t.Fatalf("%+v, %v", m, err)
	}
	if got := shouted(t, "all.jsonl"); got != "WHO BUILT IT?|WHO?|WHY?" {
		t.Errorf("got %s", got)
	}
}

// crashed is the folder of a process that died within Commit, between two of its steps: what each step has done by then
// is made of the files of a finished run (out.jsonl) and of an older one.
func crashed(t *testing.T, dir string, steps int) {
	t.Helper()
	do := []func() error{
		func() error { return os.Remove(runrecord.Path("out.jsonl")) },
		func() error { return os.Rename("out.jsonl.partial", "out.jsonl") },
		func() error { return os.Rename(runrecord.Path("out.jsonl.partial"), runrecord.Path("out.jsonl")) },
	}
	older := in("out.jsonl")
	older.Limit, older.Overwrite = 1, true
	newer := in("new.jsonl")
	newer.Overwrite = true
	for _, o := range []run.Options{older, newer} {
		if code, said := shout(t, dir, o); code == exit.Failed || code == exit.Usage {
			t.Fatal(said)
		}
	}
	do = append([]func() error{
		func() error { return os.Rename("new.jsonl", "out.jsonl.partial") },
		func() error { return os.Rename(runrecord.Path("new.jsonl"), runrecord.Path("out.jsonl.partial")) },
	}, do...)
	for _, step := range do[:2+steps] {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRecordDescribesOutput looks at what a process leaves that dies between two steps of Commit: the record that is
// found is that of the output that is there, or there is none; and --resume ends with the newer output and its record.
func TestRecordDescribesOutput(t *testing.T) {
	for steps := range 4 {
		dir := writeRows(t)
		t.Chdir(dir)
		crashed(t, dir, steps)
		record, err := runrecord.Read("out.jsonl")
		data, readErr := os.ReadFile("out.jsonl")
		if readErr != nil {
			t.Fatal(readErr)
		}
		if err == nil && record.Counts["rows"] != bytes.Count(data, []byte("\n")) {
			t.Errorf("after %d steps the record counts %d rows, and the output is %s", steps, record.Counts["rows"], data)
		}
		o := in("out.jsonl")
		o.Resume, o.Overwrite = true, true
		if code, said := shout(t, dir, o); code != exit.Incomplete {
			t.Errorf("after %d steps: code %d: %s", steps, code, said)
		}
		record, err = runrecord.Read("out.jsonl")
		if got := shouted(t, "out.jsonl"); err != nil || got != "WHO BUILT IT?|WHO?|WHY?" || record.Counts["rows"] != 3 {
			t.Errorf("after %d steps and --resume: %s, %+v, %v", steps, got, record, err)
		}
		left, err := filepath.Glob("*partial*")
		if err != nil || len(left) > 0 {
			t.Errorf("after %d steps: left are %v, %v", steps, left, err)
		}
	}
}
