package report

import (
	"encoding/json"
	"testing"

	"github.com/erreval/erreval/internal/words"
)

func TestNumber(t *testing.T) {
	data, err := json.Marshal([]Number{Undefined, 0.25, 1. / 3})
	var back []Number
	if err != nil || string(data) != "[null,0.25,0.333333]" || json.Unmarshal(data, &back) != nil ||
		back[0].Defined() || back[1] != 0.25 {
		t.Errorf("%s, %v, %v", data, back, err)
	}
	if got := Undefined.Text("%.1f") + Number(0.25).Text(" %+.1f"); got != "– +0.2" {
		t.Error(got)
	}
}

// By hand: of the resamples 1, 2, 3 the quantiles 0.025 and 0.975 are 1.05 and 2.95; none is below 0: 2·(0+1) ÷ (3+1).
func TestFigureText(t *testing.T) {
	for _, c := range []struct {
		value     float64
		resampled []float64
		text      string
		json      string
	}{
		{2, []float64{3, 1, 2}, "+2.00 [+1.05, +2.95] p=0.500", `{"value":2,"low":1.05,"high":2.95,"p":0.499999}`},
		{2, nil, "+2.00", `{"value":2,"low":null,"high":null,"p":null}`},
		{float64(Undefined), []float64{1, 2}, "–", `{"value":null,"low":null,"high":null,"p":null}`},
	} {
		d := NewDifference(c.value, c.resampled, 1e9)
		data, err := json.Marshal(d)
		if d.Text("%+.2f") != c.text || string(data) != c.json || err != nil {
			t.Errorf("%q, %s, %v", d.Text("%+.2f"), data, err)
		}
	}
	f := NewFigure(0.5, nil, 0)
	f.Better = Lower
	data, err := json.Marshal(f)
	if err != nil || string(data) != `{"value":0.5,"low":null,"high":null,"better":"lower"}` {
		t.Errorf("%s, %v", data, err)
	}
}

// TestNoSpread: where all resamples are the same, nothing tells how far a figure spreads; a share has Wilson's interval,
// from 3 ÷ (3 + 4.3027²) where three of three units are right, 4.3027 being Student's quantile.
func TestNoSpread(t *testing.T) {
	same := []float64{1, 1, 1}
	for _, c := range []struct{ got, want string }{
		{NewShare(1, same, 3).Text("%.3f"), "1.000 [0.139, 1.000]"},
		{NewShare(1, same, 1).Text("%.3f"), "1.000 [0.000, 1.000]"},
		{NewShare(1, nil, 3).Text("%.3f"), "1.000"},
		{NewFigure(1, same, 3).Text("%.3f"), "1.000"},
		{NewDifference(1, same, 3).Text("%.3f"), "1.000"},
		{NewFigure(1, []float64{1, 2}, 1).Text("%.3f"), "1.000"},
	} {
		if c.got != c.want {
			t.Errorf("%s, want %s", c.got, c.want)
		}
	}
}

func TestWords(t *testing.T) {
	got := Percent(1, 8) + ", " + Percent(0, 0) + ", " + words.Plural(1, "row", "rows") + ", " +
		words.Plural(0, "row", "rows")
	if got != "12.5 %, –, 1 row, 0 rows" {
		t.Error(got)
	}
	rough := "only 3 groups: the intervals are rough, and rather too narrow"
	if RoughIntervals(FewGroups) != nil || RoughIntervals(3)[0] != rough {
		t.Error(RoughIntervals(3))
	}
}
