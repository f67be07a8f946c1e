package spelling

import (
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	names := []string{"Vague", "Off Topic", "Factual Error", "Value"}
	for in, want := range map[string]string{"vage": "Vague|Value", "off-topic": "Off Topic|Vague", "": "Vague|Value"} {
		if got := strings.Join(Nearest(in, names, 2), "|"); got != want {
			t.Errorf("%q: got %s, want %s", in, got, want)
		}
	}
	if got := Nearest("x", nil, 2); len(got) != 0 {
		t.Errorf("of no names: %q", got)
	}
}

func TestMeant(t *testing.T) {
	names := []string{"identify", "show", "stats", "diff", "taxonomy", "output", "Frage"}
	for in, want := range map[string]string{
		"identfy": "identify", "shwo": "show", "stat": "stats", "STATS": "stats", "tax": "taxonomy", "out": "output",
		"frgae": "Frage",
		"":      "", "s": "", "zz": "", "frobnicate": "", "merge": "",
	} {
		if got := Meant(in, names); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
	if got := Meant("x", nil); got != "" {
		t.Errorf("of no names: %q", got)
	}
}
