package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/taxonomy"
)

// Colours: on a terminal unless NO_COLOR or a dumb one says otherwise; --color decides before all of them.
func TestShowColor(t *testing.T) {
	tax, err := taxonomy.Builtin("question-generation")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		flag     string
		terminal bool
		env      string
		want     bool
	}{
		{"auto", true, "", true},
		{"auto", false, "", false},
		{"auto", true, "NO_COLOR=1", false},
		{"auto", true, "TERM=dumb", false},
		{"always", false, "NO_COLOR=1", true},
		{"never", true, "", false},
	} {
		name, value, _ := strings.Cut(c.env, "=")
		e := &env{Process: &run.Process{Out: &bytes.Buffer{}, IsTerminal: func(any) bool { return c.terminal }, Getenv: func(key string) string {
			if key == name {
				return value
			}
			return ""
		}}}
		o := &showOptions{color: c.flag}
		o.Taxonomy = tax
		if got := newShowPrinter(e, o).color; got != c.want {
			t.Errorf("%+v: got %v", c, got)
		}
	}
}

// Of many rows only the limit is kept, closest first, equally close ones in the file's order.
func TestTopRows(t *testing.T) {
	tax, err := taxonomy.Builtin("question-generation")
	if err != nil {
		t.Fatal(err)
	}
	top := &topRows{limit: 3}
	for i, p := range []float64{0.9, 0.48, 0.1, 0.52, 0.5, 0.49, 0.48} {
		d := &dataset.Diagnosis{Probabilities: dataset.Probabilities{{Label: "Vague", P: p}, {Label: "No Error", P: 0.5}}}
		top.add(&shown{row: &dataset.Row{ID: fmt.Sprint(i)}, d: d}, tax)
		if len(top.rows) > 3 || cap(top.rows) > 8 {
			t.Fatalf("%d rows kept", len(top.rows))
		}
	}
	top.add(&shown{row: &dataset.Row{}, d: nil}, tax)
	var got []string
	for _, s := range top.rows {
		got = append(got, s.row.ID)
	}
	if fmt.Sprint(got) != "[4 5 1]" || top.without != 1 {
		t.Errorf("got %v, %d without", got, top.without)
	}
	// A threshold of its own moves what is close.
	d := &dataset.Diagnosis{Probabilities: dataset.Probabilities{{Label: "Vague", P: 0.3}, {Label: "Off Topic", P: 0.4}}}
	if c := uncertainty(d, dataset.Probabilities{{Label: "Vague", P: 0.25}}, tax); c.label != "Vague" || fmt.Sprintf("%.3f", c.distance) != "0.050" {
		t.Errorf("%+v", c)
	}
}
