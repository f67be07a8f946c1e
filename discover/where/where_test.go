package where

import (
	"strings"
	"testing"

	"github.com/erreval/erreval/dataset"
)

const row = `{"system":"B","beam":-0.5,"name":"1e2","diagnosis":{"labels":["Vague"],"probabilities":{"Vague":0.9}},` +
	`"scores":{"fluency":{"value":2}},"issues":{"status":"assigned","ids":["breaks-off"]}}`

// TestMatch: what a row does not say meets no condition, not even !=.
func TestMatch(t *testing.T) {
	for text, want := range map[string]bool{
		"system=B": true, "system=b": false, "system!=A": true, "system!=B": false, " system = B ": true,
		"beam<0": true, "beam>=-0.5": true, "beam=-0.5": true, "beam!=-0.5": false, "name=100": true, "name=1e2": true,
		"system>1": false, "other=": false, "other!=x": false,
		"label=Vague": true, "label=vague": true, "label!=Vague": false, "label!=Off Topic": true,
		"issue=breaks-off": true, "issue!=breaks-off": false, "issue!=other": true,
		"score.fluency<3": true, "score.fluency>2": false, "score.clarity<3": false, "score.clarity!=3": false,
		"probability.Vague>=0.9": true, "probability.Vague<0.9": false, "probability.Off Topic<1": false,
	} {
		if got := match(t, row, text); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
	for _, unknown := range []string{`{"diagnosis":{"status":"untagged","reason":"x"},"issues":{"status":"unassigned","reason":"cut"}}`,
		`{"system":"A"}`} {
		for _, text := range []string{"label!=Vague", "issue!=breaks-off", "score.fluency<3", "probability.Vague<1"} {
			if match(t, unknown, text) {
				t.Errorf("%s meets %s", unknown, text)
			}
		}
	}
	if match(t, row, "system=B", "label=Off Topic") {
		t.Error("one of two conditions is enough")
	}
}

func match(t *testing.T, line string, texts ...string) bool {
	t.Helper()
	r, err := dataset.NewSource(strings.NewReader(line), "in.jsonl", dataset.Options{})
	if err != nil {
		t.Fatal(err)
	}
	read, err := r.Read()
	if err != nil {
		t.Fatal(err)
	}
	conditions, err := Parse(texts)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Match(conditions, read)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestFaults(t *testing.T) {
	for text, want := range map[string]string{
		"system": `"system": write it as COLUMN=VALUE, label=NAME`, "=B": "write it as", "": "write it as",
		"label>Vague":        "a row has the label or it has not; write label=Vague or label!=Vague",
		"issue<3":            "a row has the issue or it has not",
		"score.fluency<low":  `"low" is no number`,
		"score.fluency=high": `"high" is no number`, "system<B": `"B" is no number`,
	} {
		if _, err := Parse([]string{text}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want %s", text, err, want)
		}
	}
}
