package counts_test

import (
	"bufio"
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/erreval/erreval/identifier/counts"
)

// TestOf: the counts are those of Python's re (training/answers/counts.py wrote the cases).
func TestOf(t *testing.T) {
	file, err := os.Open("testdata/cases.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	cases := 0
	for lines := bufio.NewScanner(file); lines.Scan(); cases++ {
		var want struct {
			Text   string
			Counts map[string]float64
		}
		if err := json.Unmarshal(lines.Bytes(), &want); err != nil {
			t.Fatal(err)
		}
		got := counts.Of(want.Text)
		for name, x := range want.Counts {
			if math.Abs(got[name]-x) > 1e-12 {
				t.Errorf("%.40q: %s is %v, want %v", want.Text, name, got[name], x)
			}
		}
	}
	if cases < 10 {
		t.Errorf("%d cases", cases)
	}
}

// TestAdd: a weight of the logit that is not given is 1, one of 0 leaves the logit out.
func TestAdd(t *testing.T) {
	counted := map[string]float64{counts.Length: 2, counts.Repeated: 0.5, counts.Alike: 0.25}
	for _, c := range []struct {
		weights counts.Weights
		want    float64
	}{
		{nil, 3},
		{counts.Weights{counts.Bias: 1, counts.Length: 10}, 24},
		{counts.Weights{counts.Logit: 0, counts.Repeated: 4, counts.Alike: -8}, 0},
	} {
		if got := c.weights.Add(3, counted); got != c.want {
			t.Errorf("%v: %v, want %v", c.weights, got, c.want)
		}
	}
}

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		weights counts.Weights
		want    string
	}{
		{counts.Weights{counts.Alike: 1, counts.Logit: 0.5}, ""},
		{counts.Weights{"vowels": 1}, `"vowels" is not counted; there are alike, bias, length, logit, repeated`},
		{counts.Weights{counts.Bias: math.Inf(1)}, "bias has +Inf; give a number"},
	} {
		if err := c.weights.Check(); (err == nil) != (c.want == "") || err != nil && err.Error() != c.want {
			t.Errorf("%v: %v, want %q", c.weights, err, c.want)
		}
	}
}

// FuzzOf: any text has counts within their ranges.
func FuzzOf(f *testing.F) {
	f.Add("The cat sat on the mat. The dog sat on the mat.")
	f.Add(strings.Repeat("a a\n", 100))
	f.Fuzz(func(t *testing.T, text string) {
		for name, x := range counts.Of(text) {
			if !(x >= 0) || name != counts.Length && x > 1 {
				t.Errorf("%s is %v", name, x)
			}
		}
	})
}
