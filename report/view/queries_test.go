package view

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"testing"
)

// asked is a question with its answer, as the page's tests read it.
type asked struct {
	Kind   string `json:"kind"` // counts, histogram, rows, row, pairs, outputs
	Query  any    `json:"query"`
	Answer any    `json:"answer"`
}

func answer(ctx context.Context, s Source, q any) (kind string, a any, err error) {
	switch q := q.(type) {
	case CountsQuery:
		kind = "counts"
		a, err = s.Counts(ctx, q)
	case HistogramQuery:
		kind = "histogram"
		a, err = s.Histogram(ctx, q)
	case RowsQuery:
		kind = "rows"
		a, err = s.Rows(ctx, q)
	case RowQuery:
		kind = "row"
		a, err = s.Row(ctx, q)
	case OutputsQuery:
		kind = "outputs"
		a, err = s.Outputs(ctx, q)
	case PairsQuery:
		kind = "pairs"
		a, err = s.Pairs(ctx, q)
	}
	return kind, a, err
}

func number(x float64) *float64 { return &x }

// filters are those of the fixtures: every part of the contract, alone and together.
func filters() []Filter {
	facet := func(key string, c Condition) Filter { return Filter{Facets: map[string]Condition{key: c}} }
	ranged := func(key string, low, high *float64) Filter {
		return Filter{Ranges: map[string]Range{key: {low, high}}}
	}
	return []Filter{
		{},
		facet("label", Condition{Any: []string{"Vague", "Factual Error"}}),
		facet("label", Condition{All: []string{"Factual Error", "Off Target Answer"}}),
		facet("label", Condition{None: []string{"No Error", "untagged"}}),
		facet("label", Condition{Any: []string{"Off Target Answer"}, Only: true}),
		facet("label", Condition{Any: []string{"untagged"}}),
		facet("label", Condition{Any: []string{"Factual Error", "Off Topic"}, All: []string{"Off Target Answer"},
			None: []string{"Vague"}}),
		facet("label", Condition{Only: true}),
		facet("run", Condition{Any: []string{"tagged.jsonl"}}),
		facet("system", Condition{Any: []string{"llm", "other"}}),
		facet("gold", Condition{Any: []string{"No Error"}}),
		facet("issue", Condition{Any: []string{"No Issue"}}),
		facet("issue", Condition{Any: []string{"unassigned"}}),
		facet("unscored", Condition{Any: []string{"Fluency"}}),
		facet("truncated", Condition{Any: []string{"passage"}}),
		facet("verdict.Factual Error", Condition{Any: []string{"A", "unjudged"}}),
		facet("column.reviewer", Condition{Any: []string{"ann"}}),
		ranged("score.clarity", number(2.5), nil),
		ranged("probability.Vague", number(0.2), number(0.9)),
		ranged("column.minutes", nil, number(2)),
		ranged("severity", nil, nil),
		{Search: "carrow lighth"},
		{Search: "ΤΈΛΟΣ"},
		{Search: "τελ"},
		{Search: "b ALDMOUTH"},
		{Search: "greek-1"},
		{Search: "?!"},
		{Search: "nothingbeginsso"},
		{Facets: map[string]Condition{"run": {Any: []string{"scored.jsonl", "judged.jsonl"}}, "label": {None: []string{"No Error"}}},
			Ranges: map[string]Range{"score.fluency": {number(1), number(2.9)}}, Search: "what"},
	}
}

func queries() (all []any) {
	for i, f := range filters() {
		all = append(all, CountsQuery{Filter: f, Facet: "label"}, RowsQuery{Filter: f, Limit: 5})
		if i%3 == 0 {
			all = append(all, CountsQuery{Filter: f, Facet: "issue", By: "system"},
				HistogramQuery{Filter: f, Measure: "score.clarity", By: "run"})
		}
	}
	for _, facet := range []string{"run", "system", "label", "gold", "issue", "unscored", "truncated",
		"not_judged", "verdict.Overall", "column.reviewer", "column.kind"} {
		all = append(all, CountsQuery{Facet: facet, By: "run"}, CountsQuery{Facet: facet, By: "system"})
	}
	all = append(all, CountsQuery{Facet: "label", By: "system_run"})
	for _, measure := range []string{"score.fluency", "probability.No Error", "severity", "column.minutes"} {
		all = append(all, HistogramQuery{Measure: measure}, HistogramQuery{Measure: measure, By: "system"})
	}
	for _, key := range []string{"", "row", "id", "label", "system", "score.fluency", "column.minutes", "issue"} {
		for _, descending := range []bool{false, true} {
			s := Sort{Key: key, Descending: descending}
			all = append(all, RowsQuery{Sort: s, Offset: 3, Limit: 7}, RowsQuery{Sort: s, Offset: 140, Limit: 1000})
		}
	}
	vague := Filter{Facets: map[string]Condition{"label": {Any: []string{"Vague"}}}}
	all = append(all, RowQuery{N: 0}, RowQuery{N: 1}, RowQuery{N: 4}, RowQuery{N: 149}, RowQuery{N: 26})
	for _, by := range []string{"run", "system"} {
		for _, f := range []Filter{{}, vague, filters()[8], filters()[9], filters()[21]} {
			all = append(all, OutputsQuery{By: by, Filter: f, Limit: 3}, OutputsQuery{By: by, Filter: f, Differ: "label",
				Offset: 1, Limit: 100})
		}
	}
	run := func(name string) Side { return Side{"run", name} }
	system := func(name string) Side { return Side{"system", name} }
	all = append(all,
		PairsQuery{A: run("tagged.jsonl"), B: run("strict.csv"), Facet: "label", Limit: 3},
		PairsQuery{A: run("strict.csv"), B: run("tagged.jsonl"), Facet: "label", Value: "Factual Error", Limit: 1000},
		PairsQuery{A: run("tagged.jsonl"), B: run("judged.jsonl"), Facet: "gold", Limit: 3},
		PairsQuery{A: run("scored.jsonl"), B: run("judged.jsonl"), Facet: "label", Filter: vague},
		PairsQuery{A: run("tagged.jsonl"), B: run("strict.csv"), Facet: "label", Filter: vague, Offset: 1, Limit: 2},
		PairsQuery{A: run("tagged.jsonl"), B: run("found.jsonl"), Facet: "issue", Limit: 2},
		PairsQuery{A: system("seq2seq-large"), B: system("other"), Facet: "label", Limit: 10},
		PairsQuery{A: system("other"), B: system("seq2seq-small"), Facet: "label", Limit: 10},
		PairsQuery{A: system("seq2seq-small"), B: system("other"), Facet: "label", Value: "Factual Error", Limit: 10},
		PairsQuery{A: system("llm"), B: system("other"), Facet: "verdict.Overall"},
		PairsQuery{A: run("tagged.jsonl"), B: run("strict.csv"), Facet: "label", Value: "Factual Error", Only: "a",
			Limit: 10},
		PairsQuery{A: run("tagged.jsonl"), B: run("strict.csv"), Facet: "label", Value: "Factual Error", Only: "b",
			Limit: 10},
		PairsQuery{A: run("tagged.jsonl"), B: run("strict.csv"), Facet: "label", Only: "b", Offset: 1, Limit: 10},
	)
	return all
}

// TestQueries: the answers to the fixtures are those that were looked at, and that the page's own source gives too.
func TestQueries(t *testing.T) {
	x := openRuns(t, Options{})
	var all []asked
	for _, q := range queries() {
		kind, a, err := answer(context.Background(), x, q)
		if err != nil {
			t.Fatalf("%+v: %v", q, err)
		}
		all = append(all, asked{kind, q, a})
	}
	golden(t, filepath.Join("queries", "all.json"), all...)
}

// TestWitness: testdata/witness.py, which shares no code with this package, read the runs and answered the same.
func TestWitness(t *testing.T) {
	var ours, theirs []struct {
		Kind   string
		Query  any
		Answer map[string]any
	}
	for name, to := range map[string]any{"queries/all.json": &ours, "witness.json": &theirs} {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(data, to); err != nil {
			t.Fatal(err)
		}
	}
	if len(ours) != len(theirs) || len(ours) < 100 {
		t.Fatalf("%d queries, of which the witness answered %d; run python3 witness.py in testdata", len(ours), len(theirs))
	}
	for i, q := range ours {
		if !reflect.DeepEqual(q.Query, theirs[i].Query) {
			t.Fatalf("query %d is not the witness's; run python3 witness.py in testdata", i)
		}
		short(q.Answer)
		short(theirs[i].Answer)
		if !reflect.DeepEqual(q.Answer, theirs[i].Answer) {
			t.Errorf("%s %v:\n%v\nthe witness says\n%v", q.Kind, q.Query, show(q.Answer), show(theirs[i].Answer))
		}
	}
}

// short puts numbers of rows in the place of rows, and rounds sums, which Python adds as exactly but in other places.
func short(v any) {
	object, ok := v.(map[string]any)
	if list, isList := v.([]any); isList {
		for _, item := range list {
			short(item)
		}
	}
	if !ok {
		return
	}
	for key, item := range object {
		switch rows := item.(type) {
		case float64:
			object[key], _ = strconv.ParseFloat(strconv.FormatFloat(rows, 'g', 10, 64), 64)
		case []any:
			if key == "rows" || key == "partners" {
				object[key] = numbersOf(rows)
				continue
			}
		case map[string]any:
			if key == "row" {
				object[key] = rows["n"]
			}
		}
		if key == "record" {
			delete(object, key)
		}
		short(item)
	}
}

func numbersOf(rows []any) []any {
	out := []any{}
	for _, row := range rows {
		switch row := row.(type) {
		case map[string]any:
			out = append(out, row["n"])
		case []any:
			out = append(out, numbersOf(row))
		default:
			out = append(out, row)
		}
	}
	return out
}

func show(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	if err := enc.Encode(v); err != nil {
		return fmt.Sprint(err)
	}
	return b.String()
}
