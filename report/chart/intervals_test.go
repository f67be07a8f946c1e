package chart

import (
	"bytes"
	"image/png"
	"math"
	"strings"
	"testing"
)

func TestIntervals(t *testing.T) {
	marks := []Mark{{"fluency (3 rows)", -0.4, -0.62, -0.1}, {"clarity\x1b[31m", 0.1, math.NaN(), math.NaN()},
		{"relevance", math.NaN(), math.NaN(), math.NaN()}}
	svg, err := Intervals("Lift", "difference", marks, "svg")
	if err != nil {
		t.Fatal(err)
	}
	texts, _ := parseSVG(t, svg)
	for _, want := range []string{"Lift", "difference", "fluency (3 rows)", "clarity", "relevance", "-0.7", "0.1"} {
		if !strings.Contains(texts, want) {
			t.Errorf("no %q in the picture", want)
		}
	}
	// Dots of the two defined values; one interval with its two ends.
	if dots := strings.Count(string(svg), "fill:#0072B2"); dots != 2 {
		t.Errorf("%d dots, want 2", dots)
	}
	if lines := strings.Count(string(svg), "stroke:#0072B2"); lines != 3 {
		t.Errorf("%d lines of intervals, want 3", lines)
	}
	if bytes.ContainsRune(svg, 0x1b) {
		t.Error("a control character reached the picture")
	}
	image, err := Intervals("Lift", "difference", marks, "png")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := png.Decode(bytes.NewReader(image)); err != nil {
		t.Error(err)
	}
	if _, err := Intervals("Lift", "x", marks, "bmp"); err == nil {
		t.Error("bmp: accepted")
	}
	if _, err := Intervals("Lift", "x", nil, "svg"); err == nil {
		t.Error("no marks: accepted")
	}
}

func TestSpread(t *testing.T) {
	for _, c := range []struct {
		marks     []Mark
		low, high float64
		ticks     int
	}{
		{[]Mark{{"", -0.4, -0.62, -0.1}}, -0.7, 0, 8},
		{[]Mark{{"", 0.1, math.NaN(), math.NaN()}}, 0, 0.1, 6},
		{[]Mark{{"", 0, 0, 0}}, -1, 1, 5},
		{[]Mark{{"", 3, -12, 20}}, -15, 20, 8},
	} {
		low, high, ticks := intervalAxis(c.marks)
		if math.Abs(low-c.low) > 1e-9 || math.Abs(high-c.high) > 1e-9 || len(ticks) != c.ticks {
			t.Errorf("%v: %v to %v with %d ticks; want %v to %v with %d", c.marks, low, high, len(ticks), c.low, c.high, c.ticks)
		}
	}
}
