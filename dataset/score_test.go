package dataset

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/erreval/erreval/taxonomy"
)

func (g generator) run() Run {
	r := Run{Judge: "judge " + g.text(), Mode: []string{ModeVanilla, ModeErrorAware}[g.IntN(2)], Repeat: g.IntN(3),
		Explanation: g.text()}
	if g.IntN(4) == 0 {
		r.Planted = "Vague"
	}
	if g.IntN(4) == 0 {
		r.Status, r.Reason = StatusUnscored, "no verdict"
	} else {
		r.Value = new(float64(g.IntN(1000)) / 7)
	}
	if g.IntN(2) == 0 {
		r.Uncertainty = new(g.Float64())
	}
	r.ErrorsShown = [][]string{nil, {}, {"Vague"}, {"Vague", "Factual; Error"}}[g.IntN(4)]
	return r
}

func (g generator) score() *Score {
	s := &Score{Value: new(float64(g.IntN(100)-50) / 4)}
	if g.IntN(4) == 0 {
		s = &Score{Status: StatusUnscored, Reason: "text, with; " + strings.TrimSpace(g.text()) + "end"}
	}
	for range g.IntN(3) {
		s.Runs = append(s.Runs, g.run())
	}
	return s
}

// Scores come back equal from every format; one dimension set again takes its old place.
func TestScoresRoundTrip(t *testing.T) {
	for _, f := range allFormats() {
		g := generator{rand.New(rand.NewPCG(6, 6))}
		var rows []*Row
		var want []map[string]*Score
		for i := range 30 {
			row, err := RowOf(map[string]string{"id": fmt.Sprint(i), "question": "q", "answer": "a", "passage": "p"})
			if err != nil {
				t.Fatal(err)
			}
			scores := map[string]*Score{}
			for _, dimension := range []string{"fluency", "answer_consistency", "fluency"} {
				scores[dimension] = g.score()
				if err := setOne(row, dimension, scores[dimension]); err != nil {
					t.Fatal(err)
				}
			}
			rows, want = append(rows, row), append(want, scores)
		}
		got, bad := readFormat(t, write(t, rows, f, SinkOptions{}), f, Options{Taxonomy: questions(t)})
		if len(bad) > 0 || len(got) != len(rows) {
			t.Fatalf("%s: %d rows, errors %v", f, len(got), bad)
		}
		for i, row := range got {
			scores, err := row.Scores()
			if err != nil || !reflect.DeepEqual(scores, want[i]) {
				t.Fatalf("%s: row %d: %v\ngot  %s\nwant %s", f, i, err, text(row, ColumnScores), text(rows[i], ColumnScores))
			}
		}
	}
}

func text(r *Row, column string) string {
	raw, _ := r.Get(column)
	return string(raw)
}

// A flat file is read by other programs too: these are its columns.
func TestScoresInFlatFiles(t *testing.T) {
	row, err := RowOf(map[string]string{"question": "q"})
	if err != nil {
		t.Fatal(err)
	}
	s := &Score{Value: new(2.5), Runs: []Run{{Judge: JudgeOffline, Mode: ModeErrorAware, Value: new(2.5),
		Uncertainty: new(0.25), ErrorsShown: []string{}}}}
	if err := setOne(row, "fluency", s); err != nil {
		t.Fatal(err)
	}
	if err := setOne(row, "clarity", &Score{Status: StatusUnscored, Reason: "untagged"}); err != nil {
		t.Fatal(err)
	}
	want := `question,scores.fluency.value,scores.fluency.runs,scores.clarity.status,scores.clarity.reason
q,2.5,"[{""judge"":""offline"",""mode"":""error-aware"",""value"":2.5,""uncertainty"":0.25,""errors_shown"":[]}]",unscored,untagged
`
	if got := string(write(t, []*Row{row}, Format{Name: CSV}, SinkOptions{})); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestScoresThatSayNothing(t *testing.T) {
	for text, want := range map[string]string{
		`[]`:                      "not as erreval writes it",
		`{"a":3}`:                 `"a": json`,
		`{"a":{}}`:                `neither a "value" nor a "status"`,
		`{"a":{"value":"2"}}`:     `"a": json`,
		`{"a":{"value":null}}`:    `neither a "value" nor a "status"`,
		`{"a":{"status":"lost"}}`: `unknown status "lost"; it is "unscored" or absent`,
		`{"a":{"status":"unscored","value":1,"reason":"r"}}`:                                   `both a "value" and a "status"`,
		`{"a":{"status":"unscored"}}`:                                                          `unscored without a "reason"`,
		`{"a":{"value":1,"runs":[{"judge":"j","mode":"vanilla","value":1},{}]}}`:               `run 2: no "judge"`,
		`{"a":{"value":1,"runs":[{"judge":"j","value":1}]}}`:                                   `run 1: unknown mode ""`,
		`{"a":{"value":1,"runs":[{"judge":"j","mode":"vanilla"}]}}`:                            `run 1: neither`,
		`{"a":{"value":1,"runs":[{"judge":"j","mode":"vanilla","value":1,"uncertainty":-1}]}}`: "uncertainty -1",
	} {
		row := &Row{ID: "r7", columns: []column{{ColumnScores, []byte(text)}}}
		if _, err := row.Scores(); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), "row r7") {
			t.Errorf("%s: error %v, want %s", text, err, want)
		}
	}
	row := &Row{ID: "r8"}
	if err := setOne(row, "a", &Score{Value: new(math.NaN())}); err == nil || !strings.Contains(err.Error(),
		"row r8: score of a: the value NaN is no number") {
		t.Errorf("NaN: %v", err)
	}
	if scores, err := row.Scores(); err != nil || len(scores) != 0 {
		t.Errorf("no column: %v, %v", scores, err)
	}
}

func FuzzScores(f *testing.F) {
	f.Add(`{"fluency":{"value":2.5,"runs":[{"judge":"offline","mode":"error-aware","value":2.5,"errors_shown":["Vague"]}]}}`)
	f.Add(`{"a":{"status":"unscored","reason":"r"},"b":{"value":-0}}`)
	f.Fuzz(func(t *testing.T, text string) {
		row := &Row{columns: []column{{ColumnScores, []byte(text)}}}
		scores, err := row.Scores()
		if err != nil {
			return
		}
		again := &Row{}
		for dimension, s := range scores {
			if err := setOne(again, dimension, s); err != nil {
				t.Fatalf("%q was read, but not written: %v", text, err)
			}
		}
		if got, err := again.Scores(); err != nil || !reflect.DeepEqual(got, scores) {
			t.Fatalf("%q: %v, %v", text, got, err)
		}
	})
}

// setOne sets the score of one dimension.
func setOne(row *Row, dimension string, s *Score) error {
	return row.SetScores(&taxonomy.Taxonomy{Dimensions: []taxonomy.Dimension{{Key: dimension}}},
		map[string]*Score{dimension: s})
}
