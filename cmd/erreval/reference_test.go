package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/discover/issues"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/nativelib"
	"github.com/erreval/erreval/internal/runrecord"
	"github.com/erreval/erreval/llm/vendor"
	"github.com/erreval/erreval/training/refine"
)

var update = flag.Bool("update", false, "rewrite docs/reference.md and the list of docs/architecture.md")

const referencePage = "../../docs/reference.md"

// TestReference: docs/reference.md is what the program says of itself.
func TestReference(t *testing.T) {
	page := makeReference(t)
	for _, name := range readVariables(t) {
		if !strings.Contains(page, "| `"+name+"` |") {
			t.Errorf("the environment variable %s is read, but referenceVariables does not say what it means", name)
		}
	}
	if *update {
		if err := os.WriteFile(referencePage, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if kept, err := os.ReadFile(referencePage); err != nil || string(kept) != page {
		t.Errorf("docs/reference.md is not what the program says of itself (%v); rewrite it: make reference", err)
	}
}

func makeReference(t *testing.T) string {
	t.Helper()
	app := newApp(newEnv())
	var b strings.Builder
	b.WriteString(`# Reference

Every command with its flags, environment variables, exit codes and formats of files. This page is made from the program
itself by ` + "`make reference`" + `; a test fails where the two differ. Do not edit it.
How things are done, and why, is in the other pages.

Flags may stand before or after file names; ` + "`--` ends them, `-`" + ` is standard input or output. A flag wins over
its environment variable, which wins over the default. Every command takes ` + "`--help`" + `.

| command | what it does |
|---|---|
`)
	walkCommands("erreval", app.Commands, func(path string, c *cli.Command) {
		if c.Subcommands == nil {
			fmt.Fprintf(&b, "| [`%s`](#%s) | %s |\n", path, strings.ReplaceAll(path, " ", "-"), cell(c.Usage))
		}
	})
	walkCommands("erreval", app.Commands, func(path string, c *cli.Command) { writeCommand(&b, path, c) })
	writeVariables(&b, app)
	writeCodes(&b, readCodes(t))
	writeFormats(t, &b)
	return b.String()
}

// walkCommands calls f for every command and then for those below it.
func walkCommands(path string, commands []*cli.Command, f func(path string, c *cli.Command)) {
	for _, c := range commands {
		f(path+" "+c.Name, c)
		walkCommands(path+" "+c.Name, c.Subcommands, f)
	}
}

// TestSharedFlags: a command that has one of these flags has the others that go with it everywhere else.
func TestSharedFlags(t *testing.T) {
	without := map[string][]string{
		"erreval journal recover": {"overwrite"}, // a journal was paid for
	}
	walkCommands("erreval", newApp(newEnv()).Commands, func(path string, c *cli.Command) {
		has := func(name string) bool {
			return slices.ContainsFunc(c.Flags, func(f cli.Flag) bool { return slices.Contains(f.Names(), name) })
		}
		if c.Subcommands == nil && !has("quiet") {
			t.Errorf("%s has no --quiet", path)
		}
		for _, rule := range []struct{ has, needs string }{
			{"output", "overwrite"}, {"plot", "overwrite"}, {"resume", "overwrite"}, {"judge", "dry-run"},
			{"judge", "json"}, {"markdown", "json"}, {"latex", "json"}, {"map", "id"},
		} {
			if has(rule.has) && !has(rule.needs) && !slices.Contains(without[path], rule.needs) {
				t.Errorf("%s has --%s, but not --%s", path, rule.has, rule.needs)
			}
		}
	})
}

func writeCommand(b *strings.Builder, path string, c *cli.Command) {
	line := []string{path}
	switch {
	case c.Subcommands != nil:
		line = append(line, "COMMAND")
	case len(c.Flags) > 0:
		line = append(line, "[flags]")
	}
	usage := strings.TrimSpace(strings.Join(append(line, c.ArgsUsage), " "))
	fmt.Fprintf(b, "\n## %s\n\n%s%s.\n\n```text\n%s\n```\n", path, strings.ToUpper(c.Usage[:1]), cell(c.Usage[1:]), usage)
	if c.Description != "" {
		fmt.Fprintf(b, "\n```text\n%s\n```\n", strings.TrimSpace(c.Description))
	}
	if len(c.Flags) == 0 {
		return
	}
	b.WriteString("\n| flag | default | environment | meaning |\n|---|---|---|---|\n")
	for _, f := range c.VisibleFlags() {
		if doc, ok := f.(cli.DocGenerationFlag); ok && f != cli.HelpFlag {
			fmt.Fprintf(b, "| %s | %s | %s | %s |\n",
				flagNames(doc), cell(flagDefault(doc)), codes(doc.GetEnvVars()), cell(doc.GetUsage()))
		}
	}
}

// placeholder is what a flag's usage calls its value.
var placeholder = regexp.MustCompile("`([^`]*)`")

func flagNames(f cli.DocGenerationFlag) string {
	value := ""
	if f.TakesValue() {
		value = " VALUE"
		if found := placeholder.FindStringSubmatch(f.GetUsage()); found != nil {
			value = " " + found[1]
		}
	}
	var names []string
	for _, name := range f.Names() {
		names = append(names, strings.Repeat("-", min(len(name), 2))+name+value)
	}
	return codes(names)
}

func flagDefault(f cli.DocGenerationFlag) string {
	if text := f.GetDefaultText(); !slices.Contains([]string{"false", "0", `""`, "[]"}, text) {
		return strings.Trim(text, `"`)
	}
	return ""
}

func codes(list []string) string {
	quoted := make([]string, len(list))
	for i, s := range list {
		quoted[i] = "`" + strings.ReplaceAll(s, "|", `\|`) + "`"
	}
	return strings.Join(quoted, ", ")
}

var escapes = strings.NewReplacer("|", `\|`, "<", "&lt;", "*", `\*`)

// cell is a text as Markdown shows it in a table; what stands between backquotes is code.
func cell(text string) string {
	parts := strings.Split(strings.Join(strings.Fields(text), " "), "`")
	for i := range parts {
		if i%2 == 0 {
			parts[i] = escapes.Replace(parts[i])
		} else {
			parts[i] = strings.ReplaceAll(parts[i], "|", `\|`)
		}
	}
	return strings.Join(parts, "`")
}

// referenceVariables are those that belong to no flag, or mean more than their flag.
func referenceVariables() map[string]string {
	vars := map[string]string{
		nativelib.EnvVar: "ONNX Runtime's shared library; otherwise the cache, then the system",
		refine.PythonVar: "a Python with torch for `refine train`; otherwise that of `refine setup`, or `python` in " +
			"refine.yaml",
		githubSummary:    "the page that `--github-summary` appends to; GitHub's runners set it",
		"XDG_CACHE_HOME": "where caches are, unless `~/.cache`: erreval's own in `erreval`, the hub's in `huggingface`",
		"XDG_CONFIG_HOME": "where configuration is, unless `~/.config`: in `erreval` are judges (`config.yaml`) and what " +
			"`erreval trust` remembers",
		"HOME":         "the folder of `.cache` and `.config` where `XDG_CACHE_HOME` and `XDG_CONFIG_HOME` are not set",
		"HF_ENDPOINT":  "a mirror in the place of the Hugging Face hub",
		"HF_TOKEN":     "opens private and gated repositories; sent to the endpoint only, never to where it redirects",
		"HF_HUB_CACHE": "where files of the hub are kept, in the layout of Python's `huggingface_hub`",
		"HF_HOME":      "the folder of `hub`, where `HF_HUB_CACHE` is not set",
		"COLUMNS":      "width of tables and rows, in the place of the terminal's",
		"NO_COLOR":     "if not empty: no colours",
		"TERM":         "`dumb`: no colours",
		"GOMAXPROCS":   "threads at the same time; a run with judges sets its own where this is not set",
		"GOGC":         "how much garbage is kept; a run with judges sets its own where this is not set",
		"GOMEMLIMIT":   "memory from which garbage is collected sooner; `identify` sets 250 MiB where this is not set",
		"ERREVAL_CACHE": "folder of ONNX Runtime and of imported models; otherwise `erreval` in `$XDG_CACHE_HOME` or " +
			"`~/.cache`",
		"AWS_REGION": "the region of buckets whose address names none; `AWS_DEFAULT_REGION` does the same. Keys are found as " +
			"AWS's own programs find them",
		"ERREVAL_OFFLINE": "if true: fetches nothing from the hub, as `--offline`",
		"HF_HUB_OFFLINE":  "the same, as Python's `huggingface_hub` calls it",
	}
	for _, name := range vendor.Names() {
		if v, err := vendor.Find(name); err == nil {
			vars[v.KeyEnv] = "key of judges whose vendor is `" + name + "`"
			vars[v.BaseURLEnv] = "another address of that vendor's endpoint, as `--base-url`"
		}
	}
	return vars
}

func writeVariables(b *strings.Builder, app *cli.App) {
	vars := referenceVariables()
	flags := map[string][]string{}
	walkCommands("", app.Commands, func(_ string, c *cli.Command) {
		for _, f := range c.Flags {
			doc, ok := f.(cli.DocGenerationFlag)
			if !ok {
				continue
			}
			for _, name := range doc.GetEnvVars() {
				if flag := "--" + f.Names()[0]; !slices.Contains(flags[name], flag) {
					flags[name] = append(flags[name], flag)
				}
			}
		}
	})
	for name, of := range flags {
		vars[name] = cmp.Or(vars[name], "the default of "+codes(of))
	}
	b.WriteString("\n## Environment variables\n\n| variable | meaning |\n|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		fmt.Fprintf(b, "| `%s` | %s |\n", name, cell(vars[name]))
	}
}

// readVariables are the environment variables that the program reads by name.
func readVariables(t *testing.T) []string {
	t.Helper()
	read := regexp.MustCompile(`[gG]etenv\("([A-Z_]+)"\)`)
	var names []string
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		program := strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") &&
			!strings.Contains(path, "/scripts/")
		if err != nil || !program {
			return err
		}
		data, err := os.ReadFile(path)
		for _, found := range read.FindAllStringSubmatch(string(data), -1) {
			names = append(names, found[1])
		}
		return err
	})
	if err != nil || len(names) < 5 {
		t.Fatalf("%v, %v", names, err)
	}
	return names
}

// exitCode is one of package internal/exit, with its comment.
type exitCode struct {
	code    int
	meaning string
}

func readCodes(t *testing.T) (all []exitCode) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../../internal/exit/exit.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok && spec.Comment != nil {
			code, err := strconv.Atoi(spec.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, exitCode{code, strings.TrimSpace(spec.Comment.Text())})
		}
		return true
	})
	if len(all) != 8 {
		t.Fatalf("%d exit codes with a comment", len(all))
	}
	return all
}

func writeCodes(b *strings.Builder, all []exitCode) {
	b.WriteString("\n## Exit codes\n\n| code | meaning |\n|---|---|\n")
	for _, c := range all {
		fmt.Fprintf(b, "| %d | %s |\n", c.code, cell(c.meaning))
	}
	order := slices.Clone(all[1:])
	slices.SortFunc(order, func(x, y exitCode) int {
		if codeOf(errors.Join(exit.With(x.code, nil), exit.With(y.code, nil))) == x.code {
			return -1
		}
		return 1
	})
	names := make([]string, len(order))
	for i, c := range order {
		names[i] = strconv.Itoa(c.code)
	}
	fmt.Fprintf(b, "\nWhere several hold, the first of %s.\n", strings.Join(names, ", "))
}

func writeFormats(t *testing.T, b *strings.Builder) {
	b.WriteString("\n## Files of rows\n\nEach also with `.gz` or `.zst` behind the name. " +
		"What they keep, encodings and columns: [formats.md](formats.md).\n\n" +
		"| `--format` | names of files | what it is |\n|---|---|---|\n")
	for _, f := range []struct {
		name, what string
		names      []string
	}{
		{dataset.JSONL, "one JSON object a line; the default", []string{"a.jsonl", "a.ndjson"}},
		{dataset.JSON, "a list of objects; also SQuAD, logs of promptfoo and Inspect, or objects one after the other", []string{"a.json"}},
		{dataset.CSV, "RFC 4180 with a header", []string{"a.csv"}},
		{dataset.TSV, "the same with tabs", []string{"a.tsv", "a.tab"}},
		{dataset.XLSX, "one sheet of a workbook", []string{"a.xlsx", "a.xlsm"}},
		{dataset.Parquet, "Apache Parquet", []string{"a.parquet", "a.pq"}},
	} {
		var extensions []string
		for _, file := range f.names {
			if got, ok := dataset.FormatOf(file); !ok || got.Name != f.name {
				t.Errorf("%s is %v", file, got)
			}
			extensions = append(extensions, filepath.Ext(file))
		}
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", f.name, codes(extensions), cell(f.what))
	}
	b.WriteString("\n## Files beside an output\n\n| file | what it is |\n|---|---|\n")
	for _, f := range [][2]string{
		{"OUT", "the rows, in the order of the input"},
		{runrecord.Path("OUT"), "how it was made: build, model and taxonomy with hashes, options, inputs, counts, times"},
		{issues.Path("OUT"), "what discover found: all issues, with counts, shares, stability and examples; --issues and taxonomy propose read it"},
		{dataset.RejectedPath("OUT"), "lines that are no rows, each with its fault; only if there are any"},
		{dataset.PartialPath("OUT"),
			"the rows so far, as JSON Lines; it becomes `OUT` when it is whole; `--resume` goes on with it"},
	} {
		fmt.Fprintf(b, "| `%s` | %s |\n", f[0], cell(f[1]))
	}
}
