package run_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/taxonomy"
)

// writeRatings writes rows, each a JSON object, to a file of the format that its name says.
func writeRatings(t *testing.T, name string, lines ...string) {
	t.Helper()
	var out bytes.Buffer
	format, _ := dataset.FormatOf(name)
	sink, err := dataset.NewSink(&out, format, dataset.SinkOptions{})
	if err != nil {
		t.Fatal(err)
	}
	reader := dataset.NewReader(strings.NewReader(strings.Join(lines, "\n")), name,
		dataset.Options{Taxonomy: &taxonomy.Taxonomy{}, RepeatedIDs: true})
	for range lines {
		row, err := reader.Read()
		if err == nil {
			err = sink.Write(row)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(sink.Close(), os.WriteFile(name, out.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
}

// rating is a line of a file with one rating a row.
func rating(id, rater, dimension, score string) string {
	return fmt.Sprintf(`{"id":%q,"Rater_ID":%q,"Dimension":%q,"score":%s}`, id, rater, dimension, score)
}

// isNumber is a check of ratings.
func isNumber(raw json.RawMessage) error {
	if _, err := fmt.Sscan(dataset.PlainText(raw), new(float64)); err != nil && string(raw) != "null" {
		return fmt.Errorf("is %s", raw)
	}
	return nil
}

// One rating a row is read alike from every format: rows get a column for each of their ratings.
func TestReadRatings(t *testing.T) {
	t.Chdir(t.TempDir())
	lines := []string{rating("1", "r1", "Fluency", "3"), rating("2", "r1", "fluency", "1"),
		rating("1", "r2", "Fluency", "2"), rating("1", "r1", "Clarity", "2.5"), rating("2", "r3", "Remarks", `"long"`)}
	files, err := run.FileOptions{}.Open()
	if err != nil {
		t.Fatal(err)
	}
	in := run.Rows{Files: files, Taxonomy: &taxonomy.Taxonomy{}}
	writeRatings(t, "rows.jsonl", `{"id":"2"}`, `{"id":"1"}`)
	for _, name := range []string{"long.csv", "long.xlsx", "long.json", "long.parquet", "numbered.csv"} {
		for i := range lines {
			if name == "numbered.csv" { // an id of each rating beside that of what is rated
				lines[i] = strings.Replace(lines[i], `"id"`, fmt.Sprintf(`"id":%d,"item_id"`, i%2+1), 1)
			}
		}
		writeRatings(t, name, lines...)
		var said bytes.Buffer
		joined, ratings, err := in.ReadRatings(t.Context(), &run.Process{Err: &said},
			run.RatingsFile{File: name, Check: isNumber})
		if err != nil {
			t.Fatal(name, err)
		}
		if want := "erreval: " + name + ": read as one rating a row (columns Rater_ID, Dimension, score): 3 raters, " +
			"3 dimensions\n"; said.String() != want {
			t.Errorf("%s: %s", name, said.String())
		}
		columns, err := ratings.Columns(joined, "FLUENCY")
		if err != nil || strings.Join(columns, "|") != "Fluency (rating 1)|Fluency (rating 2)" {
			t.Errorf("%s: %v, %v", name, columns, err)
		}
		if _, err := ratings.Columns(joined, "Remarks"); err == nil || !strings.Contains(err.Error(), `is "long"`) {
			t.Errorf("%s: %v", name, err)
		}
		rows, got := in, ""
		rows.Joined = joined
		if _, err := rows.Each(t.Context(), &run.Process{Err: &said}, "rows.jsonl", func(row *dataset.Row) error {
			for _, column := range columns {
				raw, _ := row.Get(column)
				got += dataset.PlainText(raw) + "|"
			}
			return nil
		}); err != nil || got != "1|null|3|2|" {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
}

// What is wrong with a rating is said with its line; rows that say nothing of whose rating of what it is are left out.
func TestReadRatingsFaults(t *testing.T) {
	t.Chdir(t.TempDir())
	files, err := run.FileOptions{}.Open()
	if err != nil {
		t.Fatal(err)
	}
	in := run.Rows{Files: files, Taxonomy: &taxonomy.Taxonomy{}}
	first := rating("1", "r1", "fluency", "3")
	for want, line := range map[string]string{
		`f.jsonl:2: r1 rated "1" in fluency in line 1 already: leave one of the two out`: rating("1", "r1", "Fluency", "2"),
		`f.jsonl:2: column "Rater_ID" is empty`:                                          rating("1", " ", "fluency", "2"),
		`f.jsonl:2: column "Dimension" is empty`:                                         rating("1", "r2", "", "2"),
		`f.jsonl:2: there is no id`:                                                      rating("", "r2", "fluency", "2"),
	} {
		writeRatings(t, "f.jsonl", first, line)
		var said bytes.Buffer
		j, _, err := in.ReadRatings(t.Context(), &run.Process{Err: &said},
			run.RatingsFile{File: "f.jsonl", Check: isNumber})
		isOut := j.LeftOut() == 1 && strings.Contains(said.String(), "warning: "+want)
		if !isOut && (err == nil || !strings.HasPrefix(err.Error(), want)) || isOut && err != nil {
			t.Errorf("%v, want %s", err, want)
		}
	}
	// A column asked for that the file has is one of a file with one row an id.
	writeRatings(t, "f.jsonl", first, rating("1", "r2", "fluency", "2"))
	p := &run.Process{Err: &bytes.Buffer{}}
	_, ratings, err := in.ReadRatings(t.Context(), p,
		run.RatingsFile{File: "f.jsonl", Columns: []string{"score"}, Check: isNumber})
	const want = `give --human one of the values in its column "Dimension"`
	if err == nil || ratings != nil || !strings.HasSuffix(err.Error(), want) {
		t.Error(err)
	}
}
