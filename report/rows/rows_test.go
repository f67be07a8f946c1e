package rows

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/report"
	"github.com/erreval/erreval/taxonomy"
)

func questions(t *testing.T) *taxonomy.Taxonomy {
	t.Helper()
	tax, err := taxonomy.Builtin("question-generation")
	if err != nil {
		t.Fatal(err)
	}
	return tax
}

// Of many rows only the limit is kept, closest first, equally close ones in the file's order.
func TestTopRows(t *testing.T) {
	tax := questions(t)
	top := &topRows{limit: 3}
	for i, p := range []float64{0.9, 0.48, 0.1, 0.52, 0.5, 0.49, 0.48} {
		d := &dataset.Diagnosis{Probabilities: dataset.Probabilities{{Label: "Vague", P: p}, {Label: "No Error", P: 0.5}}}
		top.addRow(&shownRow{Row: &dataset.Row{ID: fmt.Sprint(i)}, diagnosis: d}, tax)
		if len(top.rows) > 3 || cap(top.rows) > 8 {
			t.Fatalf("%d rows kept", len(top.rows))
		}
	}
	top.addRow(&shownRow{Row: &dataset.Row{}}, tax)
	var got []string
	for _, s := range top.rows {
		got = append(got, s.ID)
	}
	if fmt.Sprint(got) != "[4 5 1]" || top.without != 1 {
		t.Errorf("got %v, %d without", got, top.without)
	}
	// A threshold of its own moves what is close.
	s := &shownRow{thresholds: dataset.Probabilities{{Label: "Vague", P: 0.25}}, diagnosis: &dataset.Diagnosis{
		Probabilities: dataset.Probabilities{{Label: "Vague", P: 0.3}, {Label: "Off Topic", P: 0.4}}}}
	if c := s.findClosest(tax); c.label != "Vague" || fmt.Sprintf("%.3f", c.distance) != "0.050" {
		t.Errorf("%+v", c)
	}
}

// What a view shows, as a program that imports it has it.
func TestView(t *testing.T) {
	tax := questions(t)
	row := func(id, labels string) string {
		return fmt.Sprintf(`{"id":%q,"passage":"A","answer":"b","question":"c","diagnosis":{"labels":[%s]}}`, id, labels)
	}
	file := strings.Join([]string{row("a", `"Vague"`), "no row", row("b", `"No Error"`), row("c", `"Off Topic"`)}, "\n")
	var out, notes bytes.Buffer
	v, err := NewView(Options{Taxonomy: tax, Labels: []string{AnyLabel}, Not: []string{"Vague"}, Out: &out, Notes: &notes})
	if err != nil {
		t.Fatal(err)
	}
	read := dataset.NewReader(strings.NewReader(file), "f", dataset.Options{Taxonomy: tax}).Read
	if err := errors.Join(v.ReadRows(t.Context(), "f", read), v.Close()); err != nil {
		t.Fatal(err)
	}
	if len(v.Faults()) != 1 || v.IsFull() || notes.String() != "erreval: 1 row shown, 3 read\n" ||
		!strings.HasPrefix(out.String(), "c  f:4\n") || !strings.Contains(out.String(), "errors    Off Topic\n") {
		t.Errorf("%v\n%s%s", v.Faults(), &out, &notes)
	}
	_, err = NewView(Options{Taxonomy: tax, Labels: []string{"Odd"}, Status: "odd", Top: "odd", Limit: -1})
	var option *report.OptionError
	for _, want := range []string{`--label "Odd": `, `--status "odd": `, `--top "odd": `, "--limit -1: "} {
		if !errors.As(err, &option) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// TestTableIsSafe: text from a file does not command the terminal, and long cells end.
func TestTableIsSafe(t *testing.T) {
	var out bytes.Buffer
	table := NewTable(&out, 110, questions(t))
	row := &dataset.Row{Values: []string{"a\x1b[2Jb\r\nc\u202ed 東京 " + strings.Repeat("word ", 200), "", ""}}
	d := &dataset.Diagnosis{Status: dataset.StatusUntagged, Reason: "the model\x07 failed"}
	if err := table.WriteRow(row, d); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"\x1b", "\r", "\u202e", "\x07"} {
		if strings.Contains(out.String(), bad) {
			t.Errorf("%q came through: %q", bad, &out)
		}
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 2+cellLines || !strings.Contains(lines[len(lines)-1], "…") ||
		!strings.Contains(out.String(), "untagged: the model failed") {
		t.Errorf("got %d lines:\n%s", len(lines), &out)
	}
}

// TestTableNearest: an error that is likelier than No Error stands with its threshold, where that is known.
func TestTableNearest(t *testing.T) {
	for _, test := range []struct {
		probabilities, thresholds dataset.Probabilities
		want                      string
	}{
		{dataset.Probabilities{{Label: "No Error", P: 0.36}, {Label: "Vague", P: 0.56}},
			dataset.Probabilities{{Label: "Vague", P: 0.58}}, "nearest: Vague (0.56 < 0.58)\n"},
		{dataset.Probabilities{{Label: "No Error", P: 0.36}, {Label: "Vague", P: 0.56}}, nil, "nearest: Vague (0.56)\n"},
		{dataset.Probabilities{{Label: "No Error", P: 0.4}, {Label: "Vague", P: 0.3}}, nil, "No Error (0.40)\n"},
		{nil, nil, "No Error\n"},
	} {
		var out bytes.Buffer
		table := NewTable(&out, 110, questions(t))
		table.Thresholds = test.thresholds
		d := &dataset.Diagnosis{Labels: []string{"No Error"}, Probabilities: test.probabilities}
		if err := table.WriteRow(&dataset.Row{Values: []string{"q", "", ""}}, d); err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(out.String(), test.want) {
			t.Errorf("got %s, want %s", &out, test.want)
		}
	}
}

// TestWidths: what is printed fits the terminal from 40 columns on.
func TestWidths(t *testing.T) {
	tax := questions(t)
	long := strings.Repeat("Constantinople was besieged ", 9)
	line := fmt.Sprintf(`{"id":"a","passage":%q,"answer":"1868","question":%q,"note":%[1]q,"diagnosis":`+
		`{"labels":["Unnecessary Copy from Passage"],"probabilities":{"Unnecessary Copy from Passage":0.9,"Vague":0.3},`+
		`"not_judged":["Incomplete","Not A Question","Spell Error","Grammar Error"]}}`, long, long)
	for _, width := range []int{40, 61, 80} {
		var out bytes.Buffer
		v, err := NewView(Options{Taxonomy: tax, Out: &out, Width: width})
		if err != nil {
			t.Fatal(err)
		}
		table := NewTable(&out, width, tax)
		read := dataset.NewReader(strings.NewReader(line), "f", dataset.Options{Taxonomy: tax})
		if err := errors.Join(v.ReadRows(t.Context(), "f", func() (*dataset.Row, error) {
			row, err := read.Read()
			if err != nil {
				return nil, err
			}
			d, err := row.Diagnosis()
			return row, errors.Join(err, table.WriteRow(row, d))
		}), v.Close()); err != nil {
			t.Fatal(err)
		}
		for l := range strings.Lines(out.String()) {
			if n := utf8.RuneCountInString(strings.TrimRight(l, "\n")); n > width {
				t.Errorf("%d columns: a line of %d: %s", width, n, l)
			}
		}
	}
}
