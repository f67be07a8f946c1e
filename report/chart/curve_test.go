package chart

import (
	"bytes"
	"image/png"
	"math"
	"strings"
	"testing"
)

func TestCurves(t *testing.T) {
	nan := math.NaN()
	lines := []Line{
		{Name: "micro-F1", X: []float64{0, 1, 2, 3}, Y: []float64{0.5, 0.6, nan, 0.7}, Low: []float64{0.4, 0.5, nan, nan},
			High: []float64{0.6, 0.7, nan, nan}},
		{Name: "exact match\x1b[1m", X: []float64{0, 3}, Y: []float64{0.3, 0.4}},
	}
	svg, err := Curves("Figures", "iteration", "share", lines, "svg")
	if err != nil {
		t.Fatal(err)
	}
	texts, _ := parseSVG(t, svg)
	for _, want := range []string{"Figures", "iteration", "share", "micro-F1", "exact match", "0.2", "1.0"} {
		if !strings.Contains(texts, want) {
			t.Errorf("no %q in the picture", want)
		}
	}
	// Of the first curve: three dots and the square in the legend; one line between the first two points, and two
	// intervals.
	if fills := strings.Count(string(svg), "fill:#0072B2"); fills != 4 {
		t.Errorf("%d filled shapes, want 4", fills)
	}
	if strokes := strings.Count(string(svg), "stroke:#0072B2"); strokes != 3 {
		t.Errorf("%d strokes, want 3", strokes)
	}
	if bytes.ContainsRune(svg, 0x1b) {
		t.Error("a control character reached the picture")
	}
	image, err := Curves("Figures", "x", "y", lines, "png")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := png.Decode(bytes.NewReader(image)); err != nil {
		t.Error(err)
	}
	for _, bad := range [][]Line{nil, make([]Line, MaxSystems+1)} {
		if _, err := Curves("Figures", "x", "y", bad, "svg"); err == nil {
			t.Errorf("%d curves: accepted", len(bad))
		}
	}
}

func TestPlaces(t *testing.T) {
	low, high, ticks := curveAxis([]Line{{X: []float64{100, 200}}, {X: []float64{100, 300}}})
	if low != 95 || high != 305 || len(ticks) != 3 || ticks[2].Label != "300" {
		t.Errorf("%v to %v, %v", low, high, ticks)
	}
	if low, high, ticks := curveAxis([]Line{{X: []float64{4}}}); low != 3.5 || high != 4.5 || len(ticks) != 1 {
		t.Errorf("one place: %v to %v, %v", low, high, ticks)
	}
	many := Line{}
	for i := range 41 {
		many.X = append(many.X, float64(i))
	}
	if _, _, ticks := curveAxis([]Line{many}); len(ticks) != 6 || ticks[1].Label != "8" {
		t.Errorf("many places: %v", ticks)
	}
}
