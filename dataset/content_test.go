package dataset

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/erreval/erreval/taxonomy"
)

// TestContentOfOtherKind: JSON Lines under the name of a table are read; what holds no rows is called what it is.
func TestContentOfOtherKind(t *testing.T) {
	tax, err := taxonomy.Builtin("question-generation")
	if err != nil {
		t.Fatal(err)
	}
	const object = `{"id":"a","question":"q","answer":"x","passage":"p"}`
	for name, test := range map[string]struct {
		format, text string
		rows         int
		want         string // in the notes or the error
	}{
		"lines as csv":         {CSV, object + "\n" + object + "\n", 2, "the file holds JSON Lines, not csv"},
		"lines as tsv":         {TSV, "\ufeff" + object, 1, "the file holds JSON Lines, not tsv"},
		"a table":              {CSV, "id,question,answer,passage\n\"{\"\"a\"\":1}\",q,x,p\n", 1, ""},
		"a header like object": {CSV, "{\"id,question,answer,passage\n", 0, ""},
		"a picture":            {JSONL, "\x89PNG\r\n\x1a\n0000", 0, "the file is a picture (PNG), and holds no rows"},
		"a program":            {CSV, "\x7fELF\x02\x01\x01\x00", 0, "the file is a program, and holds no rows"},
		"a document":           {JSON, "%PDF-1.7\n", 0, "the file is a PDF document, and holds no rows"},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := NewSource(strings.NewReader(test.text), "f", Options{Taxonomy: tax, Format: Format{Name: test.format}})
			said := ""
			rows := 0
			if err == nil {
				for {
					if _, err := r.Read(); err == nil {
						rows++
					} else if _, fault := errors.AsType[*LineError](err); !fault || errors.Is(err, io.EOF) {
						break
					}
				}
				said = strings.Join(r.Notes(), "\n")
			} else {
				said = err.Error()
			}
			if rows != test.rows || !strings.Contains(said, test.want) ||
				test.want == "" && strings.Contains(said, "JSON Lines") {
				t.Errorf("%d rows, %s", rows, said)
			}
		})
	}
}
