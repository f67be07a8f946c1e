package chart

import (
	"bytes"
	"fmt"
	"image/png"
	"math"
	"strings"
	"testing"
)

func TestForests(t *testing.T) {
	nan := math.NaN()
	panels := []Forest{
		{Name: "Factuality", Marks: []Mark{{"best <b>", 1100, 1050, 1150}, {"champion\x1b[31m", nan, nan, nan}, {"worst", 900, nan, nan}},
			References: []float64{1000, 1000, nan}, Remarks: []string{"unused", "never lost", ""}},
		{Name: "Overall", Marks: []Mark{{"alone", nan, nan, nan}}, References: []float64{nan}, Remarks: []string{"no games"}},
	}
	svg, err := Forests("Ratings", "points", panels, "svg")
	if err != nil {
		t.Fatal(err)
	}
	texts, _ := parseSVG(t, svg)
	for _, want := range []string{"Ratings", "points", "Factuality", "best <b>", "never lost", "no games", "900", "1100"} {
		if !strings.Contains(texts, want) {
			t.Errorf("no %q in the picture", want)
		}
	}
	if strings.Contains(texts, "unused") || bytes.ContainsRune(svg, 0x1b) {
		t.Error("a remark beside a value, or a control character, reached the picture")
	}
	if dots := strings.Count(string(svg), "fill:#0072B2"); dots != 2 {
		t.Errorf("%d dots, want 2", dots)
	}
	again, err := Forests("Ratings", "points", panels, "svg")
	if err != nil || !bytes.Equal(svg, again) {
		t.Errorf("the same panels give another picture (%v)", err)
	}
	image, err := Forests("Ratings", "points", panels, "png")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := png.Decode(bytes.NewReader(image)); err != nil {
		t.Error(err)
	}
	if _, err := Forests("Ratings", "points", []Forest{{Name: "empty"}}, "svg"); err == nil {
		t.Error("no marks: accepted")
	}
}

// From 2 to 20 systems every name and every share can be found in the picture.
func TestMatrices(t *testing.T) {
	for _, n := range []int{2, 8, 20} {
		m := Matrix{Name: "Overall"}
		for i := range n {
			m.Names = append(m.Names, fmt.Sprintf("system-%c", 'a'+i))
			row := make([]float64, n)
			for j := range row {
				row[j] = float64(50+i-j) / 100
			}
			row[i] = math.NaN()
			m.Cells = append(m.Cells, row)
		}
		svg, err := Matrices("Win rates", []Matrix{m, m, m}, "svg")
		if err != nil {
			t.Fatal(err)
		}
		texts, _ := parseSVG(t, svg)
		for i, name := range m.Names {
			if !strings.Contains(texts, fmt.Sprintf("%s  %d", name, i+1)) {
				t.Errorf("%d systems: no %q in the picture", n, name)
			}
		}
		for _, want := range []string{"Win rates", "Overall", "49", "51"} {
			if !strings.Contains(texts, want) {
				t.Errorf("%d systems: no %q in the picture", n, want)
			}
		}
	}
	long := strings.Repeat("long name ", 9) + "<&>\x1b"
	svg, err := Matrices("Win rates", []Matrix{{Name: long, Names: []string{long, "b"},
		Cells: [][]float64{{math.NaN(), 1}, {0, math.NaN()}}}}, "svg")
	if err != nil || bytes.ContainsRune(svg, 0x1b) {
		t.Errorf("a long name: %v", err)
	}
	if _, err := Matrices("Win rates", nil, "svg"); err == nil {
		t.Error("no systems: accepted")
	}
}

func TestShareColour(t *testing.T) {
	for share, want := range map[float64]string{0: "{230 159 0 255}", 0.5: "{255 255 255 255}", 1: "{86 180 233 255}"} {
		if got := fmt.Sprint(shareColour(share)); got != want {
			t.Errorf("%v: %s, want %s", share, got, want)
		}
	}
}
