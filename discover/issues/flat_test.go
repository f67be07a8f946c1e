package issues

import (
	"encoding/csv"
	"reflect"
	"strings"
	"testing"

	"github.com/erreval/erreval/dataset"
)

// Every part of a Finding has a column of its own in flat files, beside the columns of a row that lacks it.
func TestFindingInColumns(t *testing.T) {
	score := 0.5
	full := &Finding{Status: Assigned, IDs: []string{"a", "b"}, Reason: "r", Analysis: "an", Quote: "q", Severity: 2,
		Score: &score, Unsorted: true, Evaluation: "ev", Evidence: "labels",
		Other: &Finding{Status: None, Analysis: "x; \"y\""}}
	var want []string
	for i := range reflect.TypeOf(*full).NumField() {
		if reflect.ValueOf(*full).Field(i).IsZero() {
			t.Fatalf("%s is not set here", reflect.TypeOf(*full).Field(i).Name)
		}
		key, _, _ := strings.Cut(reflect.TypeOf(*full).Field(i).Tag.Get("json"), ",")
		want = append(want, Column+"."+key)
	}
	var b strings.Builder
	sink, err := dataset.NewSink(&b, dataset.Format{Name: dataset.CSV}, dataset.SinkOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []*Finding{full, {Status: None}} {
		row, err := dataset.RowOf(map[string]string{"question": "q"})
		if err == nil {
			err = f.Set(row)
		}
		if err == nil {
			err = sink.Write(row)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := sink.Close(); err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(strings.NewReader(b.String())).ReadAll()
	if err != nil || len(lines) != 3 {
		t.Fatal(lines, err)
	}
	if got := lines[0][1:]; !reflect.DeepEqual(got, want) {
		t.Errorf("columns %q, want %q", got, want)
	}
	if got := lines[1][len(lines[1])-1]; got != `{"status":"no_issue","analysis":"x; \"y\""}` {
		t.Errorf("the other finding is %s", got)
	}
}
