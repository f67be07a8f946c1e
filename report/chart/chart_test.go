package chart

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/erreval/erreval/report"
)

// labels are those of the question-generation taxonomy, whose names are long enough to get in each other's way.
var labels = []string{"Incomplete", "Not A Question", "Spell Error", "Grammar Error", "Vague",
	"Unnecessary Copy from Passage",
	"Off Topic", "Factual Error", "Information Not Mentioned", "Off Target Answer"}

func sample(systems int) *report.Stats {
	s := &report.Stats{Interval: report.Interval{Level: 0.95}}
	s.All.Tagged = 200 * systems
	for i := range systems {
		sys := report.SystemStats{Name: fmt.Sprintf("system-%d", i), Tagged: 200, WithoutError: share(60 + 10*i)}
		for k, l := range labels {
			sys.Labels = append(sys.Labels, report.LabelShare{Label: l, Share: share((7*k + 13*i) % 40)})
		}
		s.Systems = append(s.Systems, sys)
	}
	return s
}

func share(rows int) report.Share {
	p := float64(rows) / 200
	half := 1.96 * math.Sqrt(p*(1-p)/200)
	return report.Share{Rows: rows, Share: report.Number(p), Low: report.Number(p - half), High: report.Number(p + half)}
}

func TestStats(t *testing.T) {
	for _, systems := range []int{1, 3, MaxSystems} {
		for _, format := range []string{"png", "svg"} {
			data, err := Stats(sample(systems), format)
			if err != nil {
				t.Fatal(err)
			}
			// For the eye: ERREVAL_CHARTS=DIR keeps the pictures.
			if dir := os.Getenv("ERREVAL_CHARTS"); dir != "" {
				if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("stats-%d.%s", systems, format)), data, 0o666); err != nil {
					t.Fatal(err)
				}
			}
			check(t, data, format, systems)
		}
	}
}

func check(t *testing.T, data []byte, format string, systems int) {
	t.Helper()
	if format == "png" {
		picture, err := png.Decode(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		if b := picture.Bounds(); b.Dx() < 700 || b.Dy() < 250 {
			t.Errorf("%d systems: the picture has %v", systems, b)
		}
		return
	}
	texts, bars := parseSVG(t, data)
	for _, want := range append([]string{"Without error", "% of tagged rows"}, labels...) {
		if !strings.Contains(texts, want) {
			t.Errorf("%d systems: no text %q in the picture", systems, want)
		}
	}
	if legend := strings.Contains(texts, "system-0"); legend != (systems > 1) {
		t.Errorf("%d systems: legend %v", systems, legend)
	}
	// One polygon for each share, and one for each system in the legend; the canvas may add its background.
	want := systems * (1 + len(labels))
	if systems > 1 {
		want += systems
	}
	if bars < want || bars > want+1 {
		t.Errorf("%d systems: %d filled shapes, want %d", systems, bars, want)
	}
}

// parseSVG gives the texts of a picture, and counts what is filled with a colour of the palette.
func parseSVG(t *testing.T, data []byte) (texts string, filled int) {
	t.Helper()
	dec := xml.NewDecoder(bytes.NewReader(data))
	for {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return texts, filled
		}
		if err != nil {
			t.Fatalf("not XML: %v", err)
		}
		switch e := token.(type) {
		case xml.CharData:
			texts += string(e) + "\n"
		case xml.StartElement:
			for _, a := range e.Attr {
				for _, c := range palette {
					r, g, b, _ := c.RGBA()
					if strings.Contains(strings.ToUpper(a.Value), fmt.Sprintf("FILL:#%02X%02X%02X", r>>8, g>>8, b>>8)) {
						filled++
					}
				}
			}
		}
	}
}

func TestStatsRefuses(t *testing.T) {
	if _, err := Stats(sample(0), "svg"); err == nil {
		t.Error("no systems: no error")
	}
	if _, err := Stats(sample(1), "bmp"); err == nil || !strings.Contains(err.Error(), "bmp") {
		t.Errorf("unknown format: %v", err)
	}
}

// Many systems stand in a panel for each error, below each other; an error that no row has is left out.
func TestStatsOfManySystems(t *testing.T) {
	s := sample(40)
	for i := range s.Systems {
		s.Systems[i].WithoutError, s.Systems[i].Labels[1].Share = share(i), share(0)
	}
	data, err := Stats(s, "svg")
	if err != nil {
		t.Fatal(err)
	}
	if dir := os.Getenv("ERREVAL_CHARTS"); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, "stats-40.svg"), data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	texts, dots := parseSVG(t, data)
	if strings.Contains(texts, labels[1]) || !strings.Contains(texts, "Without error\n") ||
		!strings.Contains(texts, labels[0]) {
		t.Error("the panels are not those of the errors that any row has")
	}
	if n := strings.Count(texts, "system-39"); n != len(labels) || dots != 40*len(labels) {
		t.Errorf("system-39 stands in %d panels, with %d dots in all; want %d and %d", n, dots, len(labels), 40*len(labels))
	}
}

// What is undefined is not drawn, and does not stretch the axis.
func TestUndefined(t *testing.T) {
	s := sample(1)
	nan := report.Number(math.NaN())
	s.Systems[0].WithoutError = report.Share{Share: nan, Low: nan, High: nan}
	for i := range s.Systems[0].Labels {
		s.Systems[0].Labels[i].Share.High = nan
	}
	if got := axisLimit(s); got != 20 {
		t.Errorf("the axis ends at %v, want 20", got)
	}
	data, err := Stats(s, "svg")
	if err != nil {
		t.Fatal(err)
	}
	if _, bars := parseSVG(t, data); bars != len(labels) {
		t.Errorf("%d bars, want %d", bars, len(labels))
	}
}
