package qualjudge

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/discover/issues"
	"github.com/erreval/erreval/llm/reply"
	"github.com/erreval/erreval/taxonomy"
)

// content is what was read of a folder.
type content struct {
	text     []string // rows as JSON
	rows     []*dataset.Row
	findings []issues.Finding
	list     *issues.List
	json     string
	notes    []string
	rejected int
}

func read(path string) (*content, error) {
	r, err := Open(path, dataset.Options{})
	if err != nil {
		return nil, err
	}
	c := &content{}
	c.list, err = r.Read(context.Background(), func(row *dataset.Row, f *issues.Finding) error {
		var b bytes.Buffer
		w := dataset.NewWriter(&b)
		if err := w.Write(row); err != nil {
			return err
		}
		err := w.Flush()
		c.text, c.rows, c.findings = append(c.text, row.ID+" "+b.String()), append(c.rows, row), append(c.findings, *f)
		return err
	}, func(*dataset.LineError) error { c.rejected++; return nil })
	if err != nil {
		return nil, err
	}
	c.notes = r.Notes()
	data, err := json.Marshal(c.list)
	c.json = string(data)
	return c, err
}

func write(t *testing.T, list *issues.List, rows []*dataset.Row) (folder string, notes []string) {
	t.Helper()
	tax, err := taxonomy.Builtin("response")
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w, err := NewWriter(&b, list, issues.NewTexts(tax, nil))
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		if err := w.Write(row); err != nil {
			t.Fatal(err)
		}
	}
	folder = t.TempDir()
	report, err := w.Report()
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	config, err := w.Config()
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{ReportFile: report, RowsFile: b.Bytes(), ConfigFile: config} {
		if err := os.WriteFile(filepath.Join(folder, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder, w.Notes()
}

func describe(c *content) string {
	var b strings.Builder
	for i, f := range c.findings {
		fmt.Fprintf(&b, "%s %s %q %q %q\n", c.rows[i].ID, f.Status, f.IDs, f.Reason, f.Analysis)
	}
	for _, i := range c.list.Issues {
		fmt.Fprintf(&b, "%s: %s (%s) %d of %d\n", i.ID, i.Name, i.Description, i.Count, c.list.Assigned)
	}
	return b.String()
}

const wanted = `0 assigned ["ignores-the-label"] "" "The response <b>ignores</b> the label."
1 assigned ["cut"] "" "It is cut – at the end."
2 unassigned [] "unanalysed" ""
3 assigned ["ignores-the-label"] "" "It ignores the label, too."
4 unassigned [] "missing: in no issue of report.json" "Something else."
5 assigned ["cut-2"] "" "Same name, other meaning 😀."
ignores-the-label: Ignores the label (The response does not use it.) 2 of 4
cut: Cut (It ends early.) 1 of 4
cut-2: Cut (2) (A name that came twice.) 1 of 4
`

// TestRead: indexes count the rows with an analysis alone.
func TestRead(t *testing.T) {
	for _, path := range []string{"testdata", "testdata/report.json"} {
		c, err := read(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := describe(c); got != wanted {
			t.Errorf("%s:\n%s\nwant\n%s", path, got, wanted)
		}
		said := strings.Join(c.notes, "\n")
		for _, want := range []string{`two issues have the name "Cut"; one is "Cut (2)" here`, `"clustering_debug" is not kept`} {
			if !strings.Contains(said, want) {
				t.Errorf("%s\nlacks %s", said, want)
			}
		}
	}
}

// TestRoundTrip: what was read, written and read again is as it was; so is the report, value by value.
func TestRoundTrip(t *testing.T) {
	before, err := read("testdata")
	if err != nil {
		t.Fatal(err)
	}
	folder, notes := write(t, before.list, before.rows)
	after, err := read(folder)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(before.text, after.text) || before.json != after.json {
		t.Errorf("%q\n%q\n%s\n%s", before.text, after.text, before.json, after.json)
	}
	for _, name := range []string{ReportFile, ConfigFile} {
		var a, b any
		for path, v := range map[string]*any{filepath.Join("testdata", name): &a, filepath.Join(folder, name): &b} {
			data, err := os.ReadFile(path)
			if err == nil {
				err = json.Unmarshal(data, v)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if !reflect.DeepEqual(a, b) {
			t.Errorf("%s: %v, now %v", name, a, b)
		}
	}
	if len(notes) != 2 || notes[0] != Order || !strings.Contains(notes[1], "2 rows are unassigned") {
		t.Errorf("notes %q", notes)
	}
}

// TestWrite: rows of our own, with what the judge's files have no place for.
func TestWrite(t *testing.T) {
	list := &issues.List{Format: issues.Format,
		Issues: []issues.Issue{{ID: "b", Name: "B", Description: "b"}, {ID: "a", Name: "A"}}}
	score := 0.5
	var rows []*dataset.Row
	for i, f := range []*issues.Finding{
		{Status: issues.None}, {Status: issues.Assigned, IDs: []string{"b", "a"}, Quote: "x", Score: &score},
		{Status: issues.Unassigned, Reason: reply.Refused}, {Status: issues.Assigned, IDs: []string{"b"}, Analysis: "why"}, nil} {
		row, err := dataset.RowOf(map[string]any{"input": "in", "response": "out", "reference": "ref", "context": "c"})
		if err == nil && f != nil {
			err = f.Set(row)
		}
		if err != nil {
			t.Fatal(err)
		}
		row.ID = fmt.Sprint("r", i)
		rows = append(rows, row)
	}
	folder, notes := write(t, list, rows)
	after, err := read(folder)
	if err != nil {
		t.Fatal(err)
	}
	want := `r1 assigned ["b" "a"] "" "B; A"
r2 unassigned [] "unanalysed" ""
r3 assigned ["b"] "" "why"
r4 unassigned [] "unanalysed" ""
b: B (b) 2 of 2
a: A () 1 of 2
`
	if got := describe(after); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for column, want := range map[string]string{"user_input": `"input: in\n\ncontext: c"`, "label": `"ref"`, "response": `"out"`,
		"analysis_trace": "{}", "id": `"r1"`} {
		if got, _ := after.rows[0].Get(column); string(got) != want {
			t.Errorf("%s: %s, want %s", column, got, want)
		}
	}
	said := strings.Join(notes, "\n")
	for _, want := range []string{"quotes of 1 row", "scores of 1 row", "1 row has no issue: left out",
		"2 rows are unassigned", "1 row has no analysis", Order} {
		if !strings.Contains(said, want) {
			t.Errorf("%s\nlacks %s", said, want)
		}
	}
}

func folderOf(t *testing.T, report, rows string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{ReportFile: report, RowsFile: rows} {
		if text == "" {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestFaults(t *testing.T) {
	const rows = `{"per_instance_analysis": [{"analysis": "a"}]}`
	for name, c := range map[string]struct{ report, rows, want string }{
		"no rows":        {`{}`, "", "the numbers in it are places in intermediate_outputs.json, which is not beside it"},
		"no report":      {"", rows, "no such file"},
		"text":           {"x", rows, "report.json: no report, as the qualitative judge writes it"},
		"number":         {`{"0": 1}`, rows, "report.json: issue 0"},
		"name":           {`{"0": {"error_name": " "}}`, rows, `issue 0 has no "error_name"`},
		"negative":       {`{"0": {"error_name": "a", "indexes": [-1]}}`, rows, "has the index -1"},
		"another":        {`{"0": {"error_name": "a", "count": 1, "indexes": [1]}}`, rows, "intermediate_outputs.json has 1 analysed row: they are of two runs"},
		"list":           {`{}`, `[]`, "no rows, as the qualitative judge writes them"},
		"lacking":        {`{}`, `{"clustering_debug": [1]}`, "it has none"},
		"twice":          {`{}`, `{"per_instance_analysis": [], "per_instance_analysis": []}`, "there twice"},
		"cut":            {`{}`, `{"per_instance_analysis": [{"a": 1}`, "no rows, as the qualitative judge writes them"},
		"NaN":            {`{}`, `{"per_instance_analysis": [{"a": NaN}]}`, "no rows, as the qualitative judge writes them"},
		"many":           {"[" + strings.Repeat("{},", maxIssues) + "{}]", rows, "5001 issues, more than 5000"},
		"summary":        {`{"summary": 1}`, rows, `"summary"`},
		"deep":           {strings.Repeat(`{"0":`, 20000), rows, "no report"},
		"deep rows":      {`{}`, `{"per_instance_analysis": ` + strings.Repeat("[", 20000), "no rows"},
		"index is text":  {`{"0": {"error_name": "a", "indexes": ["1"]}}`, rows, "issue 0"},
		"index is large": {`{"0": {"error_name": "a", "indexes": [99999999999999999999]}}`, rows, "issue 0"},
	} {
		if _, err := read(folderOf(t, c.report, c.rows)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v\nwant %s", name, err, c.want)
		}
	}
	// Many issues of one name, of which each lists a row many times.
	many := strings.Repeat(`{"error_name": "`+strings.Repeat("x", 60)+`", "indexes": [0`+strings.Repeat(",0", 1000)+`]},`, maxIssues)
	same, err := read(folderOf(t, "["+strings.TrimSuffix(many, ",")+"]", rows))
	if err != nil || len(same.list.Issues) != maxIssues || same.list.Issues[maxIssues-1].Count != 1 {
		t.Errorf("many of one name: %v", err)
	}
	// An item that is no row keeps its place.
	c, err := read(folderOf(t, `{"summary": {"x": {"error_name": "A", "num_examples": 2, "indexes": [1, 0, 1]}}}`,
		`{"per_instance_analysis": [{"analysis": "\ud800"}, null, {"analysis": "b"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := describe(c), "2 assigned [\"a\"] \"\" \"b\"\na: A () 1 of 1\n"; got != want || c.rejected != 2 {
		t.Errorf("%d rejected, %s\nwant %s", c.rejected, got, want)
	}
}

// FuzzResults: no files break the reader; what is read can be written, and says the same then.
func FuzzResults(f *testing.F) {
	for _, files := range [][2]string{{`{"0": {"error_name": "A", "error_description": "a", "count": 1, "indexes": [0]}}`,
		`{"per_instance_analysis": [{"analysis": "x", "id": "1"}, {"a": 1}], "clustering_debug": [{}]}`},
		{`[{"error_name": "A", "indexes": [0, 1]}, {"error_name": "a", "indexes": [1]}]`,
			`{"x": 1, "per_instance_analysis": [{"analysis": "x"}, {"analysis": null}, {"analysis": ""}]}`}} {
		f.Add(files[0], files[1])
	}
	f.Fuzz(func(t *testing.T, report, rows string) {
		c, err := read(folderOf(t, report, rows))
		if err != nil || c.rejected > 0 {
			return
		}
		folder, _ := write(t, c.list, c.rows)
		again, err := read(folder)
		if err != nil {
			t.Fatal(err)
		}
		if len(again.rows) != len(c.rows) || len(again.list.Issues) != len(c.list.Issues) ||
			again.list.Assigned != c.list.Assigned {
			t.Fatalf("%s\n%s", describe(c), describe(again))
		}
	})
}
