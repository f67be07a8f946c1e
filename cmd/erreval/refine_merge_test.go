package main

import (
	"bytes"
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/xuri/excelize/v2"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/taxonomy"
	"github.com/erreval/erreval/training/review"
)

// cmdFreeze makes a batch of a file of items: freeze FOLDER ITEMS [TAXONOMY]. The items need only item_id, reason and
// row.
func cmdFreeze(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: freeze FOLDER ITEMS [TAXONOMY]")
	}
	tax := taxonomy.Builtins()[0]
	if len(args) > 2 {
		tax = ts.MkAbs(args[2])
	}
	ts.Check(freezeItems(ts.MkAbs(args[0]), ts.ReadFile(args[1]), tax))
}

func freezeItems(dir, lines, tax string) error {
	t, err := taxonomy.Open(tax)
	if err != nil {
		return err
	}
	var items []review.Item
	for line := range strings.Lines(lines) {
		var it review.Item
		if err := json.Unmarshal([]byte(line), &it); err != nil {
			return err
		}
		row, err := it.Source(t)
		if err != nil {
			return err
		}
		it.RowID, it.TextSHA256 = row.ID, dataset.TextSHA256(row.Values)
		items = append(items, it)
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	return review.Freeze(dir, &review.Batch{ID: filepath.Base(dir), Taxonomy: t.ID(), TaxonomySHA256: t.Hash()}, items)
}

// cmdSetCell writes into a workbook as a person does: setcell FILE CELL TEXT …
func cmdSetCell(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 || len(args)%2 == 0 {
		ts.Fatalf("usage: setcell FILE CELL TEXT …")
	}
	ts.Check(setCells(ts.MkAbs(args[0]), args[1:]...))
}

func setCells(path string, pairs ...string) error {
	book, err := excelize.OpenFile(path)
	if err != nil {
		return err
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		if err := book.SetCellValue("review", pairs[i], pairs[i+1]); err != nil {
			return err
		}
	}
	if err := book.Save(); err != nil {
		return err
	}
	return book.Close()
}

const spoiltItems = `{"item_id":"B001-0001","reason":"uncertain","row":{"id":"a","question":"Who built it?","answer":"Ines","passage":"Ines built it."}}
{"item_id":"B001-0002","reason":"random","row":{"id":"b","question":"When?","answer":"1802","passage":"Ines built it in 1802."}}
{"item_id":"B001-0003","reason":"control","control_of":"B001-0001","row":{"id":"a","question":"Who built it?","answer":"Ines","passage":"Ines built it."}}
`

// erreval runs a command line in this process.
func erreval(t *testing.T, args ...string) (code int, out, stderr string) {
	t.Helper()
	var stdout, diagnostics bytes.Buffer
	none := func(string) string { return "" }
	code = execute(t.Context(), append([]string{"erreval"}, args...), &env{Process: &run.Process{In: strings.NewReader(""),
		Out: &stdout, Err: &diagnostics, Getenv: none}})
	return code, stdout.String(), diagnostics.String()
}

// reviewed is a workspace with a batch, and its export in a format, filled in rightly.
func reviewed(t *testing.T, format string) (dir, file string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "w")
	pool := filepath.Join(t.TempDir(), "pool.jsonl")
	if err := os.WriteFile(pool, []byte(`{"id":"p","question":"q","answer":"a","passage":"p"}`+"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := erreval(t, "refine", "init", dir, "--pool", pool); code != 0 {
		t.Fatal(stderr)
	}
	if err := freezeItems(filepath.Join(dir, "batches", "B001"), spoiltItems, taxonomy.Builtins()[0]); err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	if code, _, stderr := erreval(t, "refine", "export", dir, "--format", format, "-o", out); code != 0 {
		t.Fatal(stderr)
	}
	file = filepath.Join(out, map[string]string{"xlsx": "review.xlsx", "csv": "review.csv", "jsonl": "review.jsonl",
		"argilla": "argilla/records.json", "label-studio": "label-studio.json"}[format])
	switch format {
	case "xlsx":
		if err := setCells(file, "I2", "yes", "O3", "yes", "I4", "yes"); err != nil {
			t.Fatal(err)
		}
	case "argilla":
		edit(t, file, `"responses": {}`, `"responses": {"labels": [{"value": ["Vague"], "user_id": "u1"}]}`, -1)
	case "label-studio":
		edit(t, file, "  \"data\": {",
			`"annotations": [{"completed_by": 4, "result": [{"from_name": "labels", "value": {"choices": ["Vague"]}}]}], "data": {`, -1)
	case "jsonl":
		edit(t, file, `"labels":null`, `"labels":["Vague"]`, -1)
	case "csv":
		edit(t, file, "Ines built it.,,", "Ines built it.,Vague,", -1)
		edit(t, file, "in 1802.,,", "in 1802.,OK,", 1)
	}
	return dir, file
}

// edit replaces text in a file, n times or (-1) everywhere.
func edit(t *testing.T, path, from, to string, n int) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(data), from) {
		t.Fatalf("%s has no %q (%v):\n%s", path, from, err, data)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(data), from, to, n)), 0o666); err != nil {
		t.Fatal(err)
	}
}

// tree is every file of a folder with its content, but the list of faults.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == "merge.rejected.jsonl" || d.Name() == ".lock" {
			return err
		}
		data, err := os.ReadFile(path)
		b.WriteString(path + "\n" + string(data) + "\n")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestSpoiltBatches(t *testing.T) {
	for _, c := range []struct {
		name, format string
		spoil        func(t *testing.T, file string)
		want         string
	}{
		{"an unknown id", "csv", change("B001-0002", "B001-0099"),
			"review.csv:3: item B001-0099: the batch B001 has no such item"},
		{"an id in small letters", "csv", change("B001-0002", "b001-0002"),
			`the batch B001 has no such item; did you mean "B001-0002"?`},
		{"a file of another batch", "csv", change("B001,B001-0001", "B002,B001-0001"),
			"review.csv:2: the file is of the batch B002, not of B001; merge it with: --batch B002"},
		{"the passage was changed", "csv", change("Ines built it in 1802.", "Ines built it in 1803."),
			"review.csv:3: item B001-0002: the passage was changed; put the text back as it was exported"},
		{"the hash was changed", "csv", change(",,,anna,", ",,,anna,0"),
			`review.csv:2: item B001-0001: "text_sha256" is that of another text`},
		{"no error beside an error", "csv", change(",Vague,", ",OK; Vague,"),
			`review.csv:2: item B001-0001: "No Error" stands beside other labels`},
		{"labels parted by commas", "csv", change(",Vague,", `,"Vague, Inc",`),
			`review.csv:2: item B001-0001: "Vague, Inc": labels are parted by semicolons, since commas may be in their names; write "Vague; Inc"`},
		{"a date that a spreadsheet wrote anew", "csv", change(",1802,", ",1802-01-01,"),
			"a spreadsheet changes numbers and dates of CSV by itself: give it the xlsx export"},
		{"an unknown label", "csv", change(",Vague,", ",Vage,"),
			"review.csv:2: item B001-0001: " + questions(t).ID() + ` has no label "Vage"; did you mean "Vague"`},
		{"a row twice", "jsonl", duplicate, "review.jsonl:4: item B001-0001: anna answered it already in "},
		{"a row not answered", "csv", change(",OK,", ",,"),
			"item B001-0002: nobody answered it; answer it or skip it, or leave such items out with --partial"},
		{"skipped, with labels", "jsonl", change(`"skipped":null`, `"skipped":true`),
			"review.jsonl:1: item B001-0001: it is skipped and has labels (Vague)"},
		{"no reviewer", "jsonl", change(`"reviewer":""`, `"reviewer":" "`),
			"review.jsonl:1: item B001-0001: no reviewer is named; say who answered"},
		{"an open quote", "csv", change("Ines built it in 1802.", `"Ines built it in 1802.`),
			"the quote that opens cell 5 is never closed"},
		{"not JSON", "jsonl", change(`{"batch"`, `{batch`), "review.jsonl:1: not JSON"},
		{"labels that are no list", "jsonl", change(`["Vague"]`, `7`), `review.jsonl:1: want a list of label names`},
		{"a column lost", "csv", change("item_id", "item"),
			`review.csv: no column "item_id"; the columns are batch, item, question`},
		{"a word for yes or no", "xlsx", cells("I2", "perhaps"),
			`review.xlsx: cell I2: "perhaps" under "Vague"; write yes or no, or leave it empty`},
		{"yes under No Error and under an error", "xlsx", cells("O2", "yes"),
			`review.xlsx: cell O2: item B001-0001: "No Error" stands beside other labels`},
		{"a text changed in a sheet", "xlsx", cells("B3", "When then?"),
			"review.xlsx: cell B3: item B001-0002: the question was changed"},
		{"only no", "xlsx", cells("I2", "no"),
			`review.xlsx: cell I2: only no; choose yes under "No Error" if nothing is wrong`},
		{"a label's column renamed", "xlsx", cells("I1", "Vagueness"), `review.xlsx: no column "Vague" for that label`},
		{"a workbook cut off", "xlsx", func(t *testing.T, file string) {
			if err := os.Truncate(file, 3000); err != nil {
				t.Fatal(err)
			}
		}, "review.xlsx: "},
		{"an empty file", "jsonl", func(t *testing.T, file string) {
			if err := os.Truncate(file, 0); err != nil {
				t.Fatal(err)
			}
		}, "review.jsonl: the file holds no rows"},
		{"an unknown label in Argilla", "argilla", change(`["Vague"]`, `["Vagu"]`),
			"records.json: item 1: item B001-0001: " + questions(t).ID() + ` has no label "Vagu"; did you mean "Vague"`},
		{"a text changed in Argilla", "argilla", change("Who built it?", "Who made it?"),
			"records.json: item 1: item B001-0001: the question was changed"},
		{"nothing chosen in Label Studio", "label-studio", change(`{"choices": ["Vague"]}`, `{"choices": []}`),
			`label-studio.json: item 1: item B001-0001: user-4 chose no label; "No Error" is for a row`},
		{"a task of something else", "label-studio", change("B001-0002", ""),
			`label-studio.json: item 2: the batch B001 has no such item`},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, file := reviewed(t, c.format)
			if c.format == "csv" { // with the reviewer in the file
				edit(t, file, ",,,,", ",,,anna,", -1)
			}
			c.spoil(t, file)
			before := tree(t, dir)
			arg := "anna=" + file
			if c.name == "no reviewer" {
				arg = file
			}
			code, out, stderr := erreval(t, "refine", "merge", dir, arg)
			if code != exit.Failed || out != "" || !strings.Contains(stderr, c.want) || !strings.Contains(stderr,
				"nothing was merged") {
				t.Errorf("exit code %d, %s%s\nwant %s", code, out, stderr, c.want)
			}
			if after := tree(t, dir); after != before {
				t.Errorf("the workspace changed, from %d to %d bytes", len(before), len(after))
			}
			kept, err := os.ReadFile(filepath.Join(dir, "batches", "B001", "merge.rejected.jsonl"))
			if err != nil || !bytes.Contains(kept, []byte(`"reason":"`)) {
				t.Errorf("rejected: %s, %v", kept, err)
			}
		})
	}
}

func change(from, to string) func(*testing.T, string) {
	return func(t *testing.T, file string) { edit(t, file, from, to, 1) }
}

func cells(pairs ...string) func(*testing.T, string) {
	return func(t *testing.T, file string) {
		if err := setCells(file, pairs...); err != nil {
			t.Fatal(err)
		}
	}
}

// duplicate puts the file's first line at its end once more.
func duplicate(t *testing.T, file string) {
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := bytes.Cut(data, []byte("\n"))
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(f, io.MultiReader(bytes.NewReader(first), strings.NewReader("\n"))); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}
