package selection

import (
	"math"
	"strings"
	"testing"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/taxonomy"
)

// colours is a small task of another kind: two errors and a dimension for each, one for both.
const colours = `
name: colours
version: "1"
title: Colours
fields:
  - {name: text, definition: a text}
  - {name: scene, definition: what it describes, group: true}
types:
  - {name: Too Red, code: Red, category: a, definition: is too red}
  - {name: Too Blue, code: Blue, category: a, definition: is too blue}
  - {name: Fine, code: OK, category: none, definition: is fine, no_error: true}
dimensions:
  - name: Warmth
    definition: is it warm
    criteria: [{score: 1, text: no}, {score: 2, text: partly}, {score: 3, text: "yes"}]
    steps: [look]
    types: [Too Red, Fine]
  - name: Balance
    definition: is it balanced
    criteria: [{score: 1, text: no}, {score: 2, text: hardly}, {score: 3, text: mostly}, {score: 4, text: nearly}, {score: 5, text: "yes"}]
    steps: [look]
    types: [Too Red, Too Blue]
`

func colourTaxonomy(t testing.TB) *taxonomy.Taxonomy {
	t.Helper()
	tax, err := taxonomy.Parse([]byte(colours), "colours.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return tax
}

func colourMeter(t testing.TB) *Meter {
	t.Helper()
	m, err := NewMeter(colourTaxonomy(t), dataset.Probabilities{{Label: "Too Red", P: 0.8}, {Label: "Too Blue", P: 0.25}})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func parseRow(t testing.TB, tax *taxonomy.Taxonomy, line string) *dataset.Row {
	t.Helper()
	r := dataset.NewReader(strings.NewReader(line), "rows.jsonl", dataset.Options{Taxonomy: tax})
	defer r.Close()
	row, err := r.Read()
	if err != nil {
		t.Fatal(err)
	}
	return row
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-12 }

func TestCentre(t *testing.T) {
	for _, c := range []struct{ p, t, want float64 }{
		{0, 0.8, 0}, {0.4, 0.8, 0.25}, {0.8, 0.8, 0.5}, {0.9, 0.8, 0.75}, {1, 0.8, 1},
		{0.1, 0.25, 0.2}, {0.25, 0.25, 0.5}, {0.4, 0.25, 0.6}, // 0.5 + 0.15/1.5
		{0.3, 0.5, 0.3}, {0.7, 0.5, 0.7}, // a threshold of 0.5 changes nothing
		{0, 0, 0.5}, {1, 0, 1}, {0.5, 1, 0.25}, {1, 1, 0.5}, // thresholds at the ends
	} {
		if got := Centre(c.p, c.t); !near(got, c.want) {
			t.Errorf("Centre(%v, %v) = %v, want %v", c.p, c.t, got, c.want)
		}
	}
}

func TestFormulas(t *testing.T) {
	for _, c := range []struct{ pe, pv, u, i float64 }{
		{0.5, 0.5, 1, 0}, {1, 1, 0.5, 0}, {0, 1, 0.5, 1}, {0.9, 0.2, 0.6, 0.7}, {0.6, 0.85, 0.9, 0.25},
	} {
		if u := Uncertainty(c.pe); !near(u, c.u) {
			t.Errorf("Uncertainty(%v) = %v, want %v", c.pe, u, c.u)
		}
		if i := Inconsistency(c.pe, c.pv); !near(i, c.i) {
			t.Errorf("Inconsistency(%v, %v) = %v, want %v", c.pe, c.pv, i, c.i)
		}
	}
}

// Worked out by hand with the thresholds 0.8 and 0.25.
func TestSignals(t *testing.T) {
	m := colourMeter(t)
	for name, c := range map[string]struct {
		row        string
		pe, u, i   float64
		least      string
		found      []int
		conflict   Conflict
		unverified bool
	}{
		// Red 0.9 → 0.75, sure by 0.75; Blue 0.1 → 0.2, sure by 0.8. p_e = 0.75.
		"red": {row: `"diagnosis":{"labels":["Too Red"],"probabilities":{"Too Red":0.9,"Too Blue":0.1,"Fine":0.5}},"verification":{"probability":0.35,"model":"v@1"}`,
			pe: 0.75, u: 0.75, i: 0.4, least: "Too Red", found: []int{0}},
		// Red 0.04 → 0.025, sure by 0.975; Blue 0.2 → 0.4, sure by 0.6. The no-error label's 0.99 does not enter.
		"fine": {row: `"diagnosis":{"labels":["Fine"],"probabilities":{"Too Red":0.04,"Too Blue":0.2,"Fine":0.99}}`,
			pe: 0.6, u: 0.9, least: "Too Blue", unverified: true},
		// No label of Warmth is found, and the judge gives 1 of 1..3: conflict 1. Balance, 4 of 1..5, is explained by Blue:
		// 0.75.
		"judge sees more": {row: `"diagnosis":{"labels":["Too Blue"],"probabilities":{"Too Red":0,"Too Blue":1}},"verification":null,
			"scores":{"warmth":{"value":1},"balance":{"value":4}}`,
			pe: 1, u: 0.5, least: "Too Red", found: []int{1}, conflict: Conflict{1, "Warmth", ""}, unverified: true},
		// Red is mapped to both: 3 of 1..3 is 1, 4 of 1..5 is 0.75; the smaller counts.
		"judge sees less": {row: `"diagnosis":{"labels":["Too Red"],"probabilities":{"Too Red":1,"Too Blue":0}},
			"scores":{"warmth":{"value":3},"balance":{"value":4}}`,
			pe: 1, u: 0.5, least: "Too Red", found: []int{0}, conflict: Conflict{0.75, "Balance", "Too Red"}, unverified: true},
		// Red explains both low scores: the judge says what the labels say.
		"judge sees the same": {row: `"diagnosis":{"labels":["Too Red"],"probabilities":{"Too Red":1,"Too Blue":0}},
			"scores":{"warmth":{"value":1},"balance":{"value":2}}`,
			pe: 1, u: 0.5, least: "Too Red", found: []int{0}, unverified: true},
		// The offline judge and the planted run do not count, the other two have the mean 1.5 of 1..3: 0.25, so 0.75
		// unexplained.
		"runs": {row: `"diagnosis":{"labels":["Fine"],"probabilities":{"Too Red":0,"Too Blue":0}},"scores":{"warmth":{"value":3,"runs":[
			{"judge":"offline","mode":"vanilla","value":3},{"judge":"j","mode":"vanilla","value":1},{"judge":"j","mode":"error-aware","value":2},
			{"judge":"j","mode":"error-aware","planted":"Too Red","value":3},{"judge":"k","mode":"vanilla","status":"unscored","reason":"x"}]}}`,
			pe: 1, u: 0.5, least: "Too Red", conflict: Conflict{0.75, "Warmth", ""}, unverified: true},
		"offline alone": {row: `"diagnosis":{"labels":["Fine"],"probabilities":{"Too Red":0,"Too Blue":0}},"scores":{"warmth":{"value":1,"runs":[
			{"judge":"offline","mode":"vanilla","value":1}]},"balance":{"status":"unscored","reason":"x"},"other":{"value":1}}`,
			pe: 1, u: 0.5, least: "Too Red", unverified: true},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := m.Signals(parseRow(t, m.taxonomy, `{"id":"a","text":"x","scene":"y",`+strings.Join(strings.Fields(c.row),
				" ")+`}`))
			if err != nil {
				t.Fatal(err)
			}
			if !near(s.Confidence, c.pe) || !near(s.Uncertainty, c.u) || !near(s.Inconsistency, c.i) || s.Least != c.least {
				t.Errorf("p_e %v, uncertainty %v, inconsistency %v, least %q; want %v, %v, %v, %q",
					s.Confidence, s.Uncertainty, s.Inconsistency, s.Least, c.pe, c.u, c.i, c.least)
			}
			if (s.Verified == nil) != c.unverified || len(s.Found) != len(c.found) || len(c.found) > 0 &&
				s.Found[0] != c.found[0] {
				t.Errorf("verified %v, found %v; want found %v", s.Verified, s.Found, c.found)
			}
			if s.Conflict.Dimension != c.conflict.Dimension || s.Conflict.Type != c.conflict.Type || !near(s.Conflict.Value,
				c.conflict.Value) {
				t.Errorf("conflict %+v, want %+v", s.Conflict, c.conflict)
			}
		})
	}
}

func TestSignalsFaults(t *testing.T) {
	m := colourMeter(t)
	for row, want := range map[string]string{
		`"other":1`: `it has no column "diagnosis"`,
		`"diagnosis":{"status":"untagged","reason":"too long"}`:                                               "not tagged: too long",
		`"diagnosis":{"labels":["Fine"]}`:                                                                     "without --labels-only",
		`"diagnosis":{"labels":["Fine"],"probabilities":{"Green":0.5}}`:                                       `no label "Green"`,
		`"diagnosis":{"labels":["Green"],"probabilities":{"Too Red":0.5}}`:                                    `no label "Green"`,
		`"diagnosis":{"labels":["Fine"],"probabilities":{"Too Red":0}},"verification":{"probability":2}`:      `no "probability" in 0..1`,
		`"diagnosis":{"labels":["Fine"],"probabilities":{"Too Red":0}},"verification":{"model":"v"}`:          `no "probability" in 0..1`,
		`"diagnosis":{"labels":["Fine"],"probabilities":{"Too Red":0}},"verification":[]`:                     `column "verification"`,
		`"diagnosis":{"labels":["Fine"],"probabilities":{"Too Red":0}},"scores":{"warmth":{"value":"a lot"}}`: `column "scores"`,
	} {
		_, err := m.Signals(parseRow(t, m.taxonomy, `{"id":"a","text":"x","scene":"y",`+row+`}`))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "row a") {
			t.Errorf("%s: %v, want %q", row, err, want)
		}
	}
	if _, err := NewMeter(m.taxonomy, dataset.Probabilities{{Label: "Green", P: 0.5}}); err == nil {
		t.Error("a threshold of an unknown type passes")
	}
}

func FuzzSignals(f *testing.F) {
	f.Add(`{"labels":["Fine"],"probabilities":{"Too Red":0.2,"Too Blue":0.9}}`, `{"probability":0.3}`,
		`{"warmth":{"value":2}}`)
	f.Add(`{"labels":["Too Red","Too Blue"],"probabilities":{"Too Red":1}}`, `null`, `{"balance":{"value":-7e300}}`)
	f.Add(`null`, `[]`, `{"warmth":{"value":2,"runs":[]}}`)
	m := colourMeter(f)
	f.Fuzz(func(t *testing.T, diagnosis, verification, scores string) {
		line := `{"id":"a","text":"x","scene":"y","diagnosis":` + diagnosis + `,"verification":` + verification +
			`,"scores":` + scores + `}`
		r := dataset.NewReader(strings.NewReader(line), "rows.jsonl", dataset.Options{Taxonomy: m.taxonomy})
		defer r.Close()
		row, err := r.Read()
		if err != nil {
			return
		}
		s, err := m.Signals(row)
		if err != nil {
			return
		}
		if !(s.Confidence >= 0.5 && s.Confidence <= 1 && s.Uncertainty >= 0.5 && s.Uncertainty <= 1 &&
			s.Inconsistency >= 0 && s.Inconsistency <= 1 && s.Conflict.Value >= 0 && s.Conflict.Value <= 1) {
			t.Errorf("%s: out of range: %+v", line, s)
		}
	})
}
