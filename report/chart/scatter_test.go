package chart

import (
	"bytes"
	"image/png"
	"strings"
	"testing"
)

func TestScatter(t *testing.T) {
	panels := []Panel{
		{Name: "fluency", X: []float64{1, 2.5, 3}, Series: []Series{{"a.jsonl", []float64{1, 2, 3}}, {"b.jsonl", []float64{3, 3, 2.2}}}},
		{Name: "\x1b[31m clarity", Series: []Series{{"a.jsonl", nil}, {"b.jsonl", nil}}},
	}
	svg, err := Scatter("Score", "human", "score", panels, "svg")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"fluency (3 rows)", "(0 rows)", "a.jsonl", "b.jsonl", "Arial"} {
		if !strings.Contains(string(svg), want) {
			t.Errorf("no %q in the picture", want)
		}
	}
	if n := strings.Count(string(svg), "fill-opacity:0.31373"); n != 2*3 { // translucent points of both series
		t.Errorf("%d points, want 6", n)
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
