package report

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

// TestHints: of columns with few short values those that most rows have a value in are named, with few values first.
func TestHints(t *testing.T) {
	var h Hints
	var lines []string
	for i := range 30 {
		legend := []string{"", "S = spelling", "G = grammar"}[max(0, i%15-12)]
		lines = append(lines, line(fmt.Sprintf(`"at":"2026-11-2%dT10:00:00Z","day":"d%[1]d","legend":%q,"tool":"t%d"`, i%5,
			legend, i%2)))
	}
	_, read := readLines(t, lines...)
	for row, err := read(); !errors.Is(err, io.EOF); row, err = read() {
		if err != nil {
			t.Fatal(err)
		}
		h.Add(row)
	}
	if got, want := h.Note(""), "rows may be told apart by --by tool or --by day"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestHintsOfParts: a column that the first row lacks is found, and one in an object.
func TestHintsOfParts(t *testing.T) {
	for members, want := range map[string]string{`"variant":"v%d"`: "variant", `"meta":{"model":"m%d"}`: "meta.model"} {
		var h Hints
		lines := []string{line(`"n":0`)}
		for i := range 30 {
			lines = append(lines, line(fmt.Sprintf(members, i%2)))
		}
		_, read := readLines(t, lines...)
		for row, err := read(); err == nil; row, err = read() {
			h.Add(row)
		}
		if got := h.Note("file,"); got != "rows may be told apart by --by file,"+want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestRepeatsAndUntagged: rows with the texts of one before by the same system are said, equal texts of two systems are
// not; a system without a tagged row is compared with none.
func TestRepeatsAndUntagged(t *testing.T) {
	const good = `"diagnosis":{"labels":["No Error"]}`
	s := figuresOf(t, line(`"id":"1","system":"a",`+good), line(`"id":"2","system":"b",`+good),
		line(`"id":"3","system":"b",`+good), line(`"id":"4","system":"c"`))
	text := printed(t, s)
	for _, want := range []string{"1 row has the texts of one before by the same system (counted all the same)\n",
		"no row of c is tagged: not compared with others\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}
