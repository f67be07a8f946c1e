package dataset

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestFilter(t *testing.T) {
	rows, _ := readAll(t, NewReader(strings.NewReader(`{"split":"test","n":1}
{"split":"tune","n":1}
{"n":null}
{"split":" Zoe\u0308\u00a0"}`), "f", Options{}))
	for _, c := range []struct {
		where map[string]string
		want  string
	}{
		{nil, "[true true true true]"},
		{map[string]string{"split": "test"}, "[true false false false]"},
		{map[string]string{"n": "1"}, "[true true false false]"},
		{map[string]string{"n": "null"}, "[false false true false]"},
		{map[string]string{"n": "1", "split": "tune"}, "[false true false false]"},
		{map[string]string{"split": "Zo\u00eb"}, "[false false false true]"}, // space, and letters of two signs
	} {
		f, got := Filter{Where: c.where}, []bool{}
		for _, row := range rows {
			got = append(got, f.Match(row))
		}
		if fmt.Sprint(got) != c.want {
			t.Errorf("%v: %v", c.where, got)
		}
	}
	f := Filter{Where: map[string]string{"split": "tset", "part": "1"}}
	for _, row := range rows {
		f.Match(row)
	}
	want := "f: no row has part=1 (no such column) and split=tset (values are test, tune, Zo\u00eb)"
	if got := f.NoMatch("f").Error(); got != want {
		t.Error(got)
	}
}

func TestPlainText(t *testing.T) {
	for raw, want := range map[string]string{`"a\"b"`: `a"b`, `12`: "12", `null`: "null", `[1]`: "[1]", "": ""} {
		if got := PlainText(json.RawMessage(raw)); got != want {
			t.Errorf("%s: %q", raw, got)
		}
	}
}

func TestEachRow(t *testing.T) {
	const file = "{}\nno row\n{\"a\":1}\n"
	read := func(file string) func() (*Row, error) { return NewReader(strings.NewReader(file), "f", Options{}).Read }
	n := 0
	count := func(*Row) error { n++; return nil }
	faults, err := EachRow(t.Context(), read(file), count)
	if err != nil || n != 2 || len(faults) != 1 || !strings.HasPrefix(faults[0].Error(), "f:2: ") {
		t.Errorf("%d, %v, %v", n, faults, err)
	}
	stop := errors.New("stop")
	_, err = EachRow(t.Context(), read("\n"+file), func(*Row) error { return stop })
	if !errors.Is(err, stop) || err.Error() != "f:2: stop" {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err = EachRow(ctx, read(file), count); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestRows: a loop that is left goes on in the next one; what is no row goes to reject; errors come last, without a row.
func TestRows(t *testing.T) {
	const text = "{\"id\":\"1\"}\nno\n{\"id\":\"2\"}\n{\"id\":\"3\"}\n"
	in := NewReader(strings.NewReader(text), "f", Options{})
	ctx, stop := context.WithCancel(t.Context())
	var got []string
	reject := func(e *LineError) error { got = append(got, strconv.Itoa(e.Line)+" is none"); return nil }
	for range 2 {
		for row, err := range Rows(ctx, in.Read, reject) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, row.ID)
			break
		}
	}
	stop()
	for row, err := range Rows(ctx, in.Read, reject) {
		if row != nil || !errors.Is(err, context.Canceled) {
			t.Errorf("after the end: %v, %v", row, err)
		}
	}
	if want := []string{"1", "2 is none", "2"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	full := errors.New("full")
	in = NewReader(strings.NewReader("no\n"), "f", Options{})
	for row, err := range Rows(t.Context(), in.Read, func(*LineError) error { return full }) {
		if row != nil || !errors.Is(err, full) {
			t.Errorf("refused: %v, %v", row, err)
		}
	}
}
