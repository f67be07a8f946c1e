package where

import (
	"strings"
	"testing"

	"github.com/erreval/erreval/dataset"
)

func row(t *testing.T, columns map[string]any) *dataset.Row {
	t.Helper()
	r, err := dataset.RowOf(columns)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestMatch(t *testing.T) {
	tagged := row(t, map[string]any{
		"system": "B", "n": 3, "text": "3.0", "empty": nil,
		"diagnosis": map[string]any{"labels": []string{"Vague"}, "probabilities": map[string]float64{"Vague": 0.9}},
		"scores":    map[string]any{"fluency": map[string]any{"value": 2}, "clarity": map[string]any{"status": "unscored", "reason": "refused"}},
		"issues":    map[string]any{"status": "assigned", "ids": []string{"wrong-date"}}})
	for text, want := range map[string]bool{
		"system=B": true, "system=A": false, "system!=A": true, "n=3": true, "n<4": true, "n>=3": true, "n>3": false,
		"text=3": true, "text<2.5": false, "missing=x": false, "missing!=x": false, "label=vague": true, "label=OK": false,
		"label!=OK": true, "issue=wrong-date": true, "issue!=wrong-date": false, "issue=other": false,
		"score.fluency<2": false, "score.fluency<=2": true, "score.clarity<9": false, "score.none<9": false,
		"probability.Vague>=0.9": true, "probability.Vague>0.9": false, "probability.Other<1": false, "empty=null": true,
		"system<C": true,
	} {
		c, err := Parse([]string{text})
		if text == "system<C" {
			if err == nil || !strings.Contains(err.Error(), `"C" is no number`) {
				t.Errorf("%s: %v", text, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Match(c, tagged); err != nil || got != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	both, err := Parse([]string{"system=B", "n<1"})
	if err != nil {
		t.Fatal(err)
	}
	if ok, _ := Match(both, tagged); ok {
		t.Error("one of two conditions is enough")
	}
	bare := row(t, map[string]any{"x": 1})
	for _, text := range []string{"label=Vague", "label!=Vague", "issue=a", "issue!=a", "score.fluency<2"} {
		c, err := Parse([]string{text})
		if err != nil {
			t.Fatal(err)
		}
		if ok, err := Match(c, bare); ok || err != nil {
			t.Errorf("%s holds of a row that says nothing of it (%v)", text, err)
		}
	}
	for _, bad := range []string{"", "system", "=x", "label<2", "score.fluency=high", "issue>1"} {
		if _, err := Parse([]string{bad}); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}
