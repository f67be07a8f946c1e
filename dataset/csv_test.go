package dataset

import (
	"fmt"
	"strings"
	"testing"
)

// TestTitlesOfCSV: lines of one cell above a header that names the fields are no rows; of other files the first line is
// the header.
func TestTitlesOfCSV(t *testing.T) {
	for _, c := range []struct {
		text string
		opt  Options
		rows int
		want string // of the notes or the error
	}{
		{"Quiz of year 8\nquestion,passage\nq,p\n", Options{}, 1, "the header is line 2; what stands above it is left out"},
		{"Quiz;;\n;;\nquestion;passage;answer\nq;p;a\n", Options{}, 1, "the header is line 3; "},
		{"\"Quiz\"\nmade in May\nF\tpassage\nq\tp", Options{Map: map[string]string{"question": "F"}}, 1, "the header is line 3; "},
		{"Quiz\nF,T\nq,p\n", Options{}, 0, "the header has 1; delete a title above the header"},
		{"Quiz,,\nF,T,x\nq,p,\n", Options{}, 0, "or delete a title above it"},
		{"question,passage\nq,p\n", Options{}, 1, "|<nil>"},
		{"text\nquestion,passage\n", Options{Map: map[string]string{"question": "text", "passage": "text"}}, 0, "|<nil>"},
		{"sep=;\nquestion;passage\nq;p\n", Options{}, 1, "|<nil>"},
	} {
		c.opt.Taxonomy, c.opt.Format = questions(t), Format{Name: CSV}
		r, err := NewSource(strings.NewReader(c.text), "in.csv", c.opt)
		if err != nil {
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("%q: %v", c.text, err)
			}
			continue
		}
		rows, bad, err := readErr(r)
		if got := fmt.Sprint(bad, strings.Join(r.Notes(), "|"), "|", err); rows != c.rows || !strings.Contains(got, c.want) {
			t.Errorf("%q: %d rows, %s; want %d, %s", c.text, rows, got, c.rows, c.want)
		}
	}
}
