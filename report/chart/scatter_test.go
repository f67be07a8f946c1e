package chart

import (
	"bytes"
	"image/png"
	"math"
	"slices"
	"strings"
	"testing"
)

func TestScatter(t *testing.T) {
	panels := []Panel{
		{Name: "fluency", X: []float64{1, 2.5, 3, 3}, Series: []Series{{"a.jsonl", []float64{1, 2, 3, 3}},
			{"b.jsonl", []float64{3, 3, 2.2, 1}}}},
		{Name: "\x1b[31m clarity", Series: []Series{{"a.jsonl", nil}, {"b.jsonl", nil}}},
	}
	svg, err := Scatter("Score", "human", "score", panels, "svg")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"fluency (4 rows)", "(0 rows)", "a.jsonl", "b.jsonl", "Arial"} {
		if !strings.Contains(string(svg), want) {
			t.Errorf("no %q in the picture", want)
		}
	}
	if n := strings.Count(string(svg), "fill-opacity:0.50196"); n != 3+4 { // dots: two points of the first series are one
		t.Errorf("%d dots, want 7", n)
	}
	if bytes.ContainsRune(svg, 0x1b) {
		t.Error("a control character reached the picture")
	}
	image, err := Scatter("Score", "human", "score", panels, "png")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := png.Decode(bytes.NewReader(image)); err != nil {
		t.Error(err)
	}
	if _, err := Scatter("Score", "x", "y", nil, "svg"); err == nil {
		t.Error("no panel: accepted")
	}
}

func TestCount(t *testing.T) {
	got := countDots([]float64{1, 2, 1, 1}, []float64{3, 3, 3, 2})
	if want := []dot{{1, 3, 2}, {2, 3, 1}, {1, 2, 1}}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	many := Panel{X: make([]float64, 400), Series: []Series{{"a", make([]float64, 400)}}}
	if got := dotUnit([]Panel{many}); math.Abs(float64(got)-12.0/20) > 1e-12 {
		t.Errorf("the unit is %v, want 0.6: √400 of it are 12", got)
	}
}
