package dataset

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func idsOf(rows []*Row) (ids []string) {
	for _, r := range rows {
		ids = append(ids, r.ID)
	}
	return ids
}

// TestIDTwice: an id that comes again gets a number, also where an id with that number is there before or behind. The
// column stays as it is, and it is said once.
func TestIDTwice(t *testing.T) {
	for _, c := range []struct {
		given, want []string
		repeated    int
	}{
		{[]string{`"a"`, `1`, `"a"`, `"1"`, `-2`, `"a"`}, []string{"a", "1", "a#2", "1#2", "-2", "a#3"}, 3},
		{[]string{`"a"`, `"a"`, `"a#2"`, `"a#2"`}, []string{"a", "a#2", "a#2#2", "a#2#3"}, 3},
		{[]string{`"a#2"`, `"a"`, `"a"`, `"a"`}, []string{"a#2", "a", "a#2#2", "a#3"}, 2},
		{[]string{`"a"`, `"b"`}, []string{"a", "b"}, 0},
	} {
		var lines []string
		for _, id := range c.given {
			lines = append(lines, with(`"id":`+id))
		}
		r := NewReader(strings.NewReader(strings.Join(lines, "\n")), "in.jsonl", Options{Taxonomy: questions(t)})
		rows, bad := readAll(t, r)
		if got := idsOf(rows); !slices.Equal(got, c.want) || len(bad) > 0 || r.RepeatedIDs() != c.repeated {
			t.Errorf("%v: got %v, %d repeated, %v; want %v", c.given, got, r.RepeatedIDs(), bad, c.want)
			continue
		}
		for i, row := range rows {
			if raw, _ := row.Get(ColumnID); string(raw) != c.given[i] || row.GivenID() != strings.Trim(c.given[i], `"`) {
				t.Errorf("%v: row %s has the column %s, given %s", c.given, row.ID, raw, row.GivenID())
			}
		}
		said := strings.Join(r.Notes(), "")
		if n := strings.Count(said, "an id that came before"); n != min(c.repeated, 1) {
			t.Errorf("%v: %s", c.given, said)
		}
	}
}

// TestIDColumns: which columns hold the id.
func TestIDColumns(t *testing.T) {

	file := strings.Join([]string{with(`"id":"x","p":1,"s":"a|b"`), with(`"id":"x","p":1,"s":"a"`),
		with(`"id":null,"p":null,"s":null`), with(`"id":"x","p":"1|a","s":"b"`), with(`"id":"y","p":"1\\","s":null`)}, "\n")
	made := TextSHA256([]string{"q", "a", "p"})
	for name, c := range map[string]struct {
		o    Options
		want []string
	}{
		"one":        {Options{ID: []string{"s"}}, []string{"a|b", "a", made, "b", made + "#2"}},
		"two":        {Options{ID: []string{"p", "s"}}, []string{`1|a\|b`, "1|a", made, `1\|a|b`, `1\\|`}},
		"other case": {Options{ID: []string{"P", "S"}}, []string{`1|a\|b`, "1|a", made, `1\|a|b`, `1\\|`}},
		"none":       {Options{ID: []string{NoID}}, []string{made, made + "#2", made + "#3", made + "#4", made + "#5"}},
		"recorded":   {Options{RecordedID: []string{"s"}}, []string{"a|b", "a", made, "b", made + "#2"}},
		"lost":       {Options{RecordedID: []string{"z"}}, []string{"x", "x#2", made, "x#3", "y"}},
		"flag first": {Options{ID: []string{"id"}, RecordedID: []string{"s"}}, []string{"x", "x#2", made, "x#3", "y"}},
		"own names":  {Options{ID: []string{"z"}, OwnNames: true}, []string{"x", "x#2", made, "x#3", "y"}},
	} {
		rows, bad := read(t, file, c.o)
		if got := idsOf(rows); !slices.Equal(got, c.want) || len(bad) > 0 {
			t.Errorf("%s: got %q, %v", name, got, bad)
		}
	}
	for column, want := range map[string]string{
		"s": "in.jsonl: 2 rows have no s: an id is made of the texts (first in line 3)", "none": "", "id": "1 row has no id",
	} {
		r := NewReader(strings.NewReader(file), "in.jsonl", Options{Taxonomy: questions(t), ID: []string{column}})
		readAll(t, r)
		if said := strings.Join(r.Notes(), "|"); !strings.Contains(said, want) ||
			want == "" && strings.Contains(said, "no none") {
			t.Errorf("%s: %s", column, said)
		}
	}
	r := NewReader(strings.NewReader(file), "in.jsonl", Options{Taxonomy: questions(t), ID: []string{"Wxyz"}})
	_, err := r.Read()
	want := `in.jsonl: no column "Wxyz" for the id; the columns are id, p, s, question, answer, passage; name the one that ` +
		`holds it with --id COLUMN, or give --id none`
	if err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
	if rows, bad := read(t, with(`"s":"a"`)+"\n"+with(`"s":7.0`), Options{ID: []string{"s"}}); len(rows) != 2 ||
		len(bad) != 0 || rows[1].ID != "7" {
		t.Errorf("a number of pandas: %v, %v", rows, bad)
	}
	if rows, bad := read(t, with(`"s":"a"`)+"\n"+with(`"s":1.5`), Options{ID: []string{"s"}}); len(rows) != 1 ||
		len(bad) != 1 ||
		!strings.Contains(bad[0].Error(), `the column "s" holds 1.5; an id is a text or a whole number`) {
		t.Errorf("%v", bad)
	}
}

// TestIDLater: that the first row alone lacks the id is no fault of the file.
func TestIDLater(t *testing.T) {
	line := func(more string) string { return `{"question":"Who?","answer":"Ann","passage":"P"` + more + "}" }
	rows, bad := read(t, line("")+"\n"+line(`,"s":"b"`), Options{ID: []string{"s"}})
	if len(rows) != 2 || len(bad) > 0 || rows[0].GivenID() != "" || rows[1].ID != "b" {
		t.Errorf("%v, %v", rows, bad)
	}
}

// TestIndex: rows that share an id are found by their texts, whatever stands between them in the other file.
func TestIndex(t *testing.T) {
	const header = "id,question,answer,passage\n"
	for name, c := range map[string]struct{ a, b, want string }{
		"as before":      {"x,1,a,p\ny,2,a,p\n", "y,2,a,p\nx,3,a,p\nz,1,a,p\n", "1 0! -"},
		"other order":    {"x,1,a,p\nx,2,a,p\nx,3,a,p\n", "x,3,a,p\nx,1,a,p\nx,2,a,p\n", "2 0 1"},
		"fewer rows":     {"x,1,a,p\nx,2,a,p\nx,3,a,p\n", "x,2,a,p\nx,4,a,p\n", "1 -"},
		"more rows":      {"x,2,a,p\ny,1,a,p\n", "x,1,a,p\nx,2,a,p\nx,2,a,p\n", "0! 0 -"},
		"equal rows":     {"x,1,a,p\nx,1,a,p\n", "x,1,a,p\nx,1,a,p\nx,1,a,p\n", "0 1 -"},
		"numbers":        {"x,1,a,p\nx,2,a,p\nx#2,3,a,p\n", "x#2,3,a,p\nx,2,a,p\nx,1,a,p\n", "2 1 0"},
		"numbers behind": {"x#2,3,a,p\nx,1,a,p\nx,2,a,p\n", "x,1,a,p\nx,2,a,p\nx#2,3,a,p\n", "1 2 0"},
		"made":           {",1,a,p\n,2,a,p\n,1,a,p\n", ",1,a,p\n,1,a,p\n,3,a,p\n", "0 2 -"},
	} {
		index := NewIndex()
		for i, row := range csvRows(t, header+c.a) {
			index.Add(row, i)
		}
		match := index.NewMatch()
		var got []string
		for _, row := range csvRows(t, header+c.b) {
			n, same, ok := match.Find(row)
			switch {
			case !ok:
				got = append(got, "-")
			case same:
				got = append(got, fmt.Sprint(n))
			default:
				got = append(got, fmt.Sprint(n, "!"))
			}
		}
		if text := strings.ReplaceAll(strings.Join(got, " "), " !", "!"); text != c.want {
			t.Errorf("%s: got %s, want %s", name, text, c.want)
		}
	}
}

func csvRows(t *testing.T, text string) []*Row {
	t.Helper()
	r, err := NewSource(strings.NewReader(text), "in.csv", Options{Taxonomy: questions(t), Format: Format{Name: CSV}})
	if err != nil {
		t.Fatal(err)
	}
	rows, bad := readAll(t, r)
	if len(bad) > 0 {
		t.Fatal(bad)
	}
	return rows
}

// TestCopies: a row that is the same as one before in every column is said, one that differs in any is not. Rows of equal
// ids are said already.
func TestCopies(t *testing.T) {
	const first, named = `{"question":"q","answer":"a","passage":"p","system":"s"}`,
		`{"id":"1","question":"q","answer":"a","passage":"p"}`
	for lines, want := range map[string]string{
		first + "\n" + first + "\n" + first: "2 rows are the same as one before in every column, and counted all the same " +
			"(first in line 2)",
		first + "\n" + strings.Replace(first, `"s"`, `"t"`, 1): "",
		named + "\n" + named: "1 row has an id that came before",
	} {
		r := NewReader(strings.NewReader(lines), "f.jsonl", Options{Taxonomy: questions(t)})
		for {
			if _, err := r.Read(); err != nil {
				break
			}
		}
		notes := strings.Join(r.Notes(), "\n")
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		if want == "" && notes != "" || !strings.Contains(notes, want) {
			t.Errorf("%s\n%q, want %q", lines, notes, want)
		}
	}
}
