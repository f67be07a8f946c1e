package dataset_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/erreval/erreval/dataset"
)

// Rows that are read to be looked at have a bound, keep what erreval needs of them, and say that they were cut.
func TestClip(t *testing.T) {
	long := strings.Repeat("ä", 1<<20)
	columns := ""
	for i := range 2000 {
		columns += fmt.Sprintf(`"c%d":%d,`, i, i)
	}
	text := `{"id":"small","passage":"p"}` + "\n" +
		`{"id":"` + long + `","other":"` + long + `","passage":"` + long + `","scores":{"a":{"value":1}}}` + "\n" +
		`{` + columns + `"id":"wide","passage":"p","system":"s"}` + "\n"
	r := dataset.NewReader(strings.NewReader(text), "rows.jsonl", dataset.Options{Clip: true})
	var rows []*dataset.Row
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
	small, large, wide := rows[0], rows[1], rows[2]
	if passage, _ := small.Get("passage"); small.ID != "small" || string(passage) != `"p"` {
		t.Errorf("a small row was changed: %s %s", small.ID, passage)
	}
	if large.Size() > 1<<20 || len(large.ID) > 300 || !strings.Contains(large.ID, "… (2097152 bytes, ") {
		t.Errorf("a large row has %d bytes, its id %d", large.Size(), len(large.ID))
	}
	if passage, _ := large.Get("passage"); len(passage) < 100_000 || !strings.HasSuffix(string(passage), `ä…"`) {
		t.Errorf("of its passage %d bytes are left", len(passage))
	}
	if scores, err := large.Scores(); err != nil || len(scores) != 1 {
		t.Errorf("its scores are %v, %v", scores, err)
	}
	if n := len(wide.Columns()); n != 1000+2 { // without id and system
		t.Errorf("a wide row has %d columns", n)
	}
	if _, ok := wide.Get("system"); !ok {
		t.Error("the column system was left out")
	}
	const want = "cut, and so shown: 2 of the rows, which have more than 1 MiB or 1000 columns"
	if got := r.ClipNote(); got != want {
		t.Errorf("it says %q", got)
	}
}

func TestShortName(t *testing.T) {
	long := strings.Repeat("x", 5000)
	a, b := dataset.ShortName(long+"a"), dataset.ShortName(long+"b")
	if a == b || len(a) > 300 || dataset.ShortName("name") != "name" {
		t.Errorf("%q, %q", a, b)
	}
	names := []string{}
	for i := range 200 {
		names = dataset.AppendName(names, fmt.Sprint(i))
		names = dataset.AppendName(names, fmt.Sprint(i))
	}
	if len(names) != 100 {
		t.Errorf("%d names", len(names))
	}
}
