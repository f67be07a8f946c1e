package clear

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/discover/issues"
	"github.com/erreval/erreval/taxonomy"
)

// content is what was read of a file.
type content struct {
	Rows     []string // as JSON
	rows     []*dataset.Row
	Findings []issues.Finding
	List     string // as JSON
	list     *issues.List
	notes    []string
	rejected int
}

func read(data []byte, file, member string) (*content, error) {
	r, err := Open(bytes.NewReader(data), int64(len(data)), file, member, dataset.Options{})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	c := &content{}
	c.list, err = r.Read(context.Background(), func(row *dataset.Row, f *issues.Finding) error {
		var b bytes.Buffer
		w := dataset.NewWriter(&b)
		if err := w.Write(row); err != nil {
			return err
		}
		c.Rows, c.rows, c.Findings = append(c.Rows, row.ID), append(c.rows, row), append(c.Findings, *f)
		err := w.Flush()
		c.Rows[len(c.Rows)-1] += " " + b.String()
		return err
	}, func(*dataset.LineError) error { c.rejected++; return nil })
	if err != nil {
		return nil, err
	}
	c.notes = r.Notes()
	list, err := json.Marshal(c.list)
	c.List = string(list)
	return c, err
}

func readFile(t *testing.T, name, member string) *content {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	c, err := read(data, name, member)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func write(t *testing.T, list *issues.List, rows []*dataset.Row, tax *taxonomy.Taxonomy) ([]byte, []string) {
	t.Helper()
	var b bytes.Buffer
	w, err := NewWriter(&b, list, WriterOptions{Texts: issues.NewTexts(tax, nil), Name: "a run"})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		if err := w.Write(row); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), w.Notes()
}

func response(t *testing.T) *taxonomy.Taxonomy {
	t.Helper()
	tax, err := taxonomy.Builtin("response")
	if err != nil {
		t.Fatal(err)
	}
	return tax
}

func describe(c *content) string {
	var b strings.Builder
	for i, f := range c.Findings {
		score := "-"
		if f.Score != nil {
			score = fmt.Sprint(*f.Score)
		}
		id, _, _ := strings.Cut(c.Rows[i], " ")
		fmt.Fprintf(&b, "%s %s %s %q %q %q %q\n", id, f.Status, score, f.IDs, f.Reason, f.Analysis, f.Evaluation)
	}
	for _, i := range c.list.Issues {
		fmt.Fprintf(&b, "%s: %s, %d of %d+%d\n", i.ID, i.Name, i.Count, c.list.Assigned, c.list.NoIssue)
	}
	return b.String()
}

// TestRead: what the columns of both layouts mean.
func TestRead(t *testing.T) {
	for file, want := range map[string]string{
		"2026.zip": `q1 assigned 0.25 ["doesn-t-answer-the-question" "zu-lang-für-die-frage"] "" "It's off.\nAnd long." "Long text 1"
q2 assigned 0.5 ["invents-facts-cites-nothing"] "" "No source." "Long text 2"
q3 no_issue 1 [] "" "Fine." "Long text 3"
q4 no_issue 0.75 [] "" "Hardly wrong." "Long text 4"
q5 unassigned 0.5 [] "unavailable: Mapping: timed out after 'n' tries" "Cut." "Long text 5"
q6 unassigned - [] "unavailable: Evaluation: 503; Summary: no text" "" "Long text 6"
q7 unassigned 0.25 [] "unanalysed: no text to compare with the issues" "" "Long text 7"
doesn-t-answer-the-question: Doesn't answer the question, 1 of 2+2
invents-facts-cites-nothing: Invents "facts"; cites nothing, 1 of 2+2
zu-lang-für-die-frage: Zu lang für die Frage – 😀, 1 of 2+2
`,
		"2025.zip": `1 assigned 0.25 ["doesn-t-answer-the-question" "zu-lang-für-die-frage"] "" "" "Long text 1"
2 assigned 0.5 ["invents-facts-cites-nothing"] "" "" "Long text 2"
3 no_issue 1 [] "" "" "Long text 3"
4 no_issue 0.75 [] "" "" "Long text 4"
5 no_issue 0.5 [] "" "" "Long text 5"
6 unassigned - [] "missing: no score" "" "Long text 6"
doesn-t-answer-the-question: Doesn't answer the question, 1 of 2+3
invents-facts-cites-nothing: Invents "facts"; cites nothing, 1 of 2+3
zu-lang-für-die-frage: Zu lang für die Frage – 😀, 1 of 2+3
`,
		"semicolon.zip": `a assigned 0.5 ["too-short" "too-vague"] "" "" ""
b no_issue 1 [] "" "" ""
c unassigned - [] "missing: no score" "" ""
too-vague: Too vague, 1 of 1+1
too-short: Too short, 1 of 1+1
`,
	} {
		c := readFile(t, file, "")
		if got := describe(c); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", file, got, want)
		}
	}
	notes := readFile(t, "2025.zip", "").notes
	if len(notes) != 1 || !strings.Contains(notes[0], "2 rows have no issue but a score below 1") {
		t.Errorf("notes %q", notes)
	}
}

func TestInside(t *testing.T) {
	one, inside := readFile(t, "one.zip", ""), readFile(t, "several.zip", "folder/2026.zip")
	plain := readFile(t, "2026.zip", "")
	if !slices.Equal(one.Rows, plain.Rows) || !slices.Equal(inside.Rows, plain.Rows) {
		t.Errorf("%q\n%q\nwant %q", one.Rows, inside.Rows, plain.Rows)
	}
	data, err := os.ReadFile("testdata/several.zip")
	if err != nil {
		t.Fatal(err)
	}
	for member, want := range map[string]string{
		"":      "several.zip: several ZIP files inside hold results; name one with --member: folder/2025.zip folder/2026.zip",
		"x.zip": `several.zip: there is no ZIP file "x.zip" inside`,
	} {
		if _, err := read(data, "several.zip", member); err == nil || err.Error() != want {
			t.Errorf("%q: %v\nwant %s", member, err, want)
		}
	}
}

// TestRoundTrip: what was read, written and read again is as it was, cell by cell, with names, numbers and metadata.
func TestRoundTrip(t *testing.T) {
	for _, file := range []string{"2026.zip", "2025.zip", "semicolon.zip"} {
		before := readFile(t, file, "")
		data, notes := write(t, before.list, before.rows, response(t))
		after, err := read(data, file, "")
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(before.Findings, after.Findings) || before.List != after.List {
			t.Errorf("%s: findings or list differ:\n%s\n%s\n%s\n%s", file, describe(before), describe(after), before.List,
				after.List)
		}
		// A table has every column in each row; those that the file lacks are added, behind the others.
		for i := range before.rows {
			for _, name := range before.rows[i].Columns() {
				a, _ := before.rows[i].Get(name)
				b, _ := after.rows[i].Get(name)
				if string(a) != string(b) {
					t.Errorf("%s: row %d, %s: %s, now %s", file, i+1, name, a, b)
				}
			}
		}
		if len(notes) > 0 {
			t.Errorf("%s: %q", file, notes)
		}
	}
}

// TestWrite: rows of our own, with what CLEAR has no place for.
func TestWrite(t *testing.T) {
	stable := 0.75
	list := &issues.List{Format: issues.Format, Issues: []issues.Issue{
		{ID: "b", Name: "It's \"b\"; yes", Description: "more of it", Stability: &stable}, {ID: "a", Name: "A\u2028é"}}}
	score := 0.25
	var rows []*dataset.Row
	for i, f := range []*issues.Finding{
		{Status: issues.Assigned, IDs: []string{"a", "b"}, Analysis: "both", Quote: "B", Severity: 3},
		{Status: issues.Assigned, IDs: []string{"b"}, Analysis: "one", Evaluation: "long", Score: &score},
		{Status: issues.None}, {Status: issues.Unassigned, Reason: "refused: it's \"no\"\nreally", Analysis: "x"}, nil} {
		row, err := dataset.RowOf(map[string]any{"input": "in", "response": "out", "tags": []string{"x"}})
		if err != nil {
			t.Fatal(err)
		}
		row.ID = fmt.Sprint("r", i)
		if f != nil {
			if err := f.Set(row); err != nil {
				t.Fatal(err)
			}
		}
		rows = append(rows, row)
	}
	data, notes := write(t, list, rows, response(t))
	after, err := read(data, "ours.zip", "")
	if err != nil {
		t.Fatal(err)
	}
	want := `r0 assigned 0 ["it-s-b-yes" "a-é"] "" "both" ""
r1 assigned 0.25 ["it-s-b-yes"] "" "one" "long"
r2 no_issue 1 [] "" "" ""
r3 unassigned - [] "refused: it's \"no\"\nreally" "x" ""
r4 unassigned - [] "unanalysed" "" ""
it-s-b-yes: It's "b"; yes, 2 of 2+1
a-é: A` + "\u2028" + `é, 1 of 2+1
`
	if got := describe(after); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for column, want := range map[string]string{"recurring_issues": `"[1, 2]"`, "question_id": `"r0"`,
		"recurring_issues_str": `"[\"It's \\\"b\\\"; yes\", \"A\\u2028é\"]"`, "model_input": `"in"`,
		"error": `"[]"`, "response": `"out"`, "ground_truth": "null"} {
		if got, _ := after.rows[0].Get(column); string(got) != want {
			t.Errorf("%s: %s, want %s", column, got, want)
		}
	}
	said := strings.Join(notes, "\n")
	for _, want := range []string{"quotes of 1 row", "severities of 1 row", "descriptions of 1 issue",
		"stability of 1 issue", "2 rows have no score", "2 rows are unassigned"} {
		if !strings.Contains(said, want) {
			t.Errorf("%s\nlacks %s", said, want)
		}
	}
}

func TestReadList(t *testing.T) {
	for text, want := range map[string]string{
		`["a", "b\u00e9"]`: "a|bé", `['a', "it's", 'say "x"', 'b\'s']`: `a|it's|say "x"|b's`, `[1, 3]`: "1|3", `[]`: "",
		` [ 'a' , ] `: "a", `['\x41\u00e9\U0001f600\n\t\\']`: "Aé😀\n\t\\", "['a\u2028']": "a\u2028",
		`[1.5]`: "1.5", `[`: "!", `[']`: "!", `['a' 'b']`: "!", `[null]`: "!", `[None]`: "!", `["a", ["b"]]`: "!", `['\ud83d']`: "!",
		`['\N{DASH}']`: "!", `a`: "!", ``: "!", `['a'] x`: "!", `[]]`: "!", "['a\nb']": "!", `['\`: "!", `['\x4']`: "!", `null`: "!",
		`[--1]`: "!", `[99999999999999999999]`: "99999999999999999999", `[1, 'a', 99999999999999999999]`: "!",
	} {
		items, ok := readList(text)
		if got := strings.Join(items, "|"); got != want && ok || !ok && want != "!" {
			t.Errorf("%s: %q %v, want %q", text, got, ok, want)
		}
	}
}

func zipOf(t *testing.T, entries ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i < len(entries); i += 2 {
		w, err := z.Create(entries[i])
		if err == nil {
			_, err = w.Write([]byte(entries[i+1]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestFaults: files that are no results, or are hostile.
func TestFaults(t *testing.T) {
	many := make([]string, 0, 2*101)
	for i := range 101 {
		many = append(many, fmt.Sprintf("%d.zip", i), string(zipOf(t, "a", "b")))
	}
	named := "question_id,score,recurring_issues,recurring_issues_str\n1,0.5,\"[1, 2]\",\"['Too long', 'too long!']\"\n"
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"text":       {[]byte("no zip"), "not a ZIP file, or cut"},
		"empty":      {zipOf(t), "no results of CLEAR"},
		"no data":    {zipOf(t, "results.csv", "a,b\n"), "no results of CLEAR"},
		"metadata":   {zipOf(t, "results.csv", "a,b\n", "metadata.json", "[1]"), "the entry metadata.json is no JSON object"},
		"parquet":    {zipOf(t, "results.parquet", "PAR1 PAR1", "metadata.json", "{}"), "not a Parquet file, or cut"},
		"names":      {zipOf(t, "results.csv", named, "metadata.json", "{}"), "two issues have the name"},
		"no column":  {zipOf(t, "results.csv", "a,b\n1,2\n", "metadata.json", "{}"), "results.csv has no column recurring_issues_str"},
		"escapes":    {zipOf(t, "../x", "y"), "leads out of its folder"},
		"absolute":   {zipOf(t, "/x", "y"), "leads out of its folder"},
		"backslash":  {zipOf(t, `..\x`, "y"), "leads out of its folder"},
		"control":    {zipOf(t, "a\x1b[31m", "y"), "cannot be printed"},
		"twice":      {zipOf(t, "metadata.json", "{}", "metadata.json", "{}"), "twice"},
		"many":       {zipOf(t, many...), "more than 100 ZIP files inside"},
		"two levels": {zipOf(t, "a.zip", string(zipOf(t, "b.zip", string(zipOf(t, "results.csv", "a", "metadata.json", "{}"))))), "no results of CLEAR"},
		"inside":     {zipOf(t, "a.zip", "no zip"), "the entry a.zip: not a ZIP file"},
		"large":      {zipOf(t, "results.csv", "a", "metadata.json", strings.Repeat(" ", maxMetadata+1)), "more than 16777216 bytes"},
	} {
		if _, err := read(c.data, "x.zip", ""); err == nil || !strings.Contains(err.Error(), c.want) ||
			!strings.HasPrefix(err.Error(), "x.zip: ") {
			t.Errorf("%s: %v\nwant %s", name, err, c.want)
		}
	}
	// An entry that unpacks to more than its header says.
	lying := zipOf(t, "results.csv", strings.Repeat("question_id,score\n", 1000), "metadata.json", "{}")
	at := bytes.LastIndex(lying, []byte("PK\x01\x02")) // of metadata.json; that of the rows is before
	at = bytes.LastIndex(lying[:at], []byte("PK\x01\x02"))
	copy(lying[at+24:], []byte{10, 0, 0, 0})
	if _, err := read(lying, "x.zip", ""); err == nil {
		t.Error("an entry with a length that lies was read")
	}
}

// TestUnreadable: rows whose cells cannot be read stay, unassigned.
func TestUnreadable(t *testing.T) {
	data := zipOf(t, "results.csv", `question_id,score,recurring_issues,recurring_issues_str,error
a,0.5,"[1]","['Known']",
b,0.5,"[1]",,
c,0.5,"[7]",,
d,0.5,"[1]","[Known]",
e,0.5,"[x]",,
f,2.5,,,
g,nan,,,
h,0.5,"[0]","['Known']",
i,0.5,[],[],no list
j,0.5,"[1]",`+strings.Repeat("x;", maxList)+`,
`, "metadata.json", `{"high_score_threshold": "x"}`)
	c, err := read(data, "x.zip", "")
	if err != nil {
		t.Fatal(err)
	}
	want := `a assigned 0.5 ["known"] "" "" ""
b assigned 0.5 ["known"] "" "" ""
c unassigned 0.5 [] "unknown_issue: the number 7 has no name in the file" "" ""
d unassigned 0.5 [] "missing: recurring_issues_str is no list" "" ""
e unassigned 0.5 [] "missing: recurring_issues is no list" "" ""
f no_issue - [] "" "" ""
g unassigned - [] "missing: no score" "" ""
h assigned 0.5 ["known"] "" "" ""
i unassigned 0.5 [] "unavailable: no list" "" ""
j unassigned 0.5 [] "missing: recurring_issues_str is no list" "" ""
known: Known, 3 of 3+1
`
	if got := describe(c); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// FuzzList: a list that is read can be written in both ways, and read again.
func FuzzList(f *testing.F) {
	f.Add(`["a", 'it\'s', "b"]`)
	f.Add(`['\x41\u00e9\U0001f600', 1]`)
	f.Fuzz(func(t *testing.T, text string) {
		items, ok := readList(text)
		if !ok || len(items) == 0 {
			return
		}
		for i := range items {
			items[i] = strings.ToValidUTF8(items[i], "?")
		}
		first, err := jsonList(items)
		if err != nil {
			t.Fatal(err)
		}
		for _, written := range []string{first, pythonTexts(items)} {
			if again, ok := readList(written); !ok || !slices.Equal(again, items) {
				t.Fatalf("%q: %q, written as %s: %q", text, items, written, again)
			}
		}
	})
}

// FuzzResults: no file breaks the reader, and each that is read can be written and says the same then.
func FuzzResults(f *testing.F) {
	for _, name := range []string{"2025.zip", "2026.zip", "semicolon.zip", "several.zip"} {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	tax, err := taxonomy.Builtin("response")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := read(data, "x.zip", "")
		if err != nil || len(c.rows) == 0 {
			return
		}
		written, _ := write(t, c.list, c.rows, tax)
		again, err := read(written, "x.zip", "")
		if err != nil {
			t.Fatal(err)
		}
		if len(again.Rows) != len(c.Rows) || len(again.list.Issues) != len(c.list.Issues) {
			t.Fatalf("%s\n%s", describe(c), describe(again))
		}
	})
}

// FuzzRows: the same of a table and metadata in a file that is whole.
func FuzzRows(f *testing.F) {
	f.Add("question_id,"+
		"score,recurring_issues,recurring_issues_str,error\na,0.5,\"[2, 1]\",\"['x', \"\"y\"\"]\",[]\n", "{}")
	f.Add("score,recurring_issues_str\n0.5,a; b\n1,\n", `{"high_score_threshold": 1, "use_full_text_for_analysis": true}`)
	tax, err := taxonomy.Builtin("response")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, table, metadata string) {
		c, err := read(zipOf(t, "results.csv", table, "metadata.json", metadata), "x.zip", "")
		if err != nil || len(c.rows) == 0 {
			return
		}
		written, _ := write(t, c.list, c.rows, tax)
		again, err := read(written, "x.zip", "")
		if err != nil {
			t.Fatal(err)
		}
		for i := range c.Findings {
			if !reflect.DeepEqual(c.Findings[i], again.Findings[i]) {
				t.Fatalf("%s\n%s", describe(c), describe(again))
			}
		}
	})
}
