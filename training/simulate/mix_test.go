package simulate

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/taxonomy"
)

func TestMix(t *testing.T) {
	qg, err := taxonomy.Builtin(home)
	if err != nil {
		t.Fatal(err)
	}
	bound, err := Bind(qg)
	if err != nil {
		t.Fatal(err)
	}
	mix, err := bound.Mix([]string{"Off Target Answer=3, Vague=0.5", "OK=1"}, true)
	if want := map[string]float64{"OTA": 3, "Vague": 0.5, "OK": 1}; err != nil || !maps.Equal(mix, want) {
		t.Errorf("got %v, %v; want %v", mix, err, want)
	}
	all, err := bound.Mix([]string{"OTA=1"}, false)
	if err != nil || all["OTA"] != 1 || all["Gram"] != DefaultOptions().Mix["Gram"] || len(all) != len(Codes()) {
		t.Errorf("got %v, %v", all, err)
	}
	for value, want := range map[string]string{"OTA": "give CODE=WEIGHT", "OTA=much": "give CODE=WEIGHT",
		"Odd=1": `names "Odd"`} {
		if _, err := bound.Mix([]string{value}, false); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", value, err, want)
		}
	}
}

func TestIsRight(t *testing.T) {
	tax := parse(t, smallYAML)
	for labels, want := range map[string]bool{`null`: true, `""`: true, `[]`: true, `["Clean"]`: true, `["K"]`: true,
		`["Red"]`: false, `"Red; Blue"`: false} {
		row, err := dataset.RowOf(struct {
			Labels json.RawMessage `json:"labels"`
		}{json.RawMessage(labels)})
		if err != nil {
			t.Fatal(err)
		}
		if right, err := IsRight(row, tax); err != nil || right != want {
			t.Errorf("%s: got %v, %v", labels, right, err)
		}
	}
}
