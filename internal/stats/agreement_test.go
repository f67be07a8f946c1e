package stats

import (
	"encoding/json"
	"math"
	"os"
	"reflect"
	"testing"
)

// agreementWitness is what krippendorff, scikit-learn and cleanlab give: testdata/make_agreement.py.
type agreementWitness struct {
	Alphas []struct {
		Ratings [][]int // a rater's, -1 where there is none
		Alpha   *float64
	}
	Pairs []struct {
		A, B    [][]bool
		Kappa   []*float64
		Jaccard float64
	}
	Quality []struct {
		Given    [][]bool
		Prob     [][]float64
		PerClass map[string][][]float64 `json:"per_class"`
		EMA      map[string][]float64

		Confident [][]bool `json:"confident_learning"`
		Rows      []bool
	}
}

func witness(t *testing.T) *agreementWitness {
	t.Helper()
	data, err := os.ReadFile("testdata/agreement.json")
	if err != nil {
		t.Fatal(err)
	}
	w := &agreementWitness{}
	if err := json.Unmarshal(data, w); err != nil {
		t.Fatal(err)
	}
	if len(w.Alphas) < 6 || len(w.Pairs) < 4 || len(w.Quality) < 3 {
		t.Fatal("the witness is not whole")
	}
	return w
}

func column[V any](rows [][]V, k int) []V {
	out := make([]V, len(rows))
	for i := range rows {
		out[i] = rows[i][k]
	}
	return out
}

func TestAlphaNominal(t *testing.T) {
	for i, c := range witness(t).Alphas {
		units := make([][]int, len(c.Ratings[0]))
		for _, rater := range c.Ratings {
			for u, v := range rater {
				if v >= 0 {
					units[u] = append(units[u], v)
				}
			}
		}
		got := AlphaNominal(units)
		near(t, "alpha", got, c.Alpha)
		for _, u := range units { // the order of raters and the names of the values do not count
			for j := range u {
				u[j] = 7 - u[j]
			}
			if n := len(u); n > 1 {
				u[0], u[n-1] = u[n-1], u[0]
			}
		}
		if again := AlphaNominal(units); math.Abs(again-got) > 1e-12 {
			t.Errorf("case %d: %v after renaming, %v before", i, again, got)
		}
	}
	if got := AlphaNominal([][]string{{"a", "a"}, {"a"}, {"b"}}); !math.IsNaN(got) {
		t.Errorf("one value alone in pairs: %v", got)
	}
}

func TestKappaAndJaccard(t *testing.T) {
	for _, c := range witness(t).Pairs {
		for k, want := range c.Kappa {
			near(t, "kappa", Kappa(column(c.A, k), column(c.B, k)), want)
		}
		near(t, "jaccard", Jaccard(c.A, c.B), &c.Jaccard)
	}
	if got := Kappa[int](nil, nil); !math.IsNaN(got) {
		t.Errorf("kappa of nothing: %v", got)
	}
	if got := Jaccard([][]bool{{false, false}, {true, false}}, [][]bool{{false, false}, {true, true}}); got != 0.75 {
		t.Errorf("jaccard %v, want (1 + 1/2) / 2", got)
	}
}

var qualityMethods = map[string]QualityMethod{"self_confidence": SelfConfidence, "normalized_margin": NormalizedMargin,
	"confidence_weighted_entropy": ConfidenceWeightedEntropy}

func TestLabelQuality(t *testing.T) {
	for _, c := range witness(t).Quality {
		for name, m := range qualityMethods {
			for i := range c.Given {
				scores := m.Scores(c.Given[i], c.Prob[i])
				for k, s := range scores {
					near(t, name, s, &c.PerClass[name][i][k])
				}
				near(t, name+" ema", EMA(scores, QualityAlpha), &c.EMA[name][i])
			}
		}
	}
	if !math.IsNaN(EMA(nil, .8)) {
		t.Error("a row without labels has a quality")
	}
}

func TestLabelIssues(t *testing.T) {
	for n, c := range witness(t).Quality {
		rows := make([]bool, len(c.Given))
		for k := range c.Given[0] {
			given, p := column(c.Given, k), column(c.Prob, k)
			issues := ConfidentIssues(given, p)
			if want := column(c.Confident, k); !reflect.DeepEqual(issues, want) {
				t.Errorf("case %d, label %d: confident learning\n%v, want\n%v", n, k, issues, want)
			}
			for i, issue := range issues {
				rows[i] = rows[i] || issue
			}
		}
		if !reflect.DeepEqual(rows, c.Rows) {
			t.Errorf("case %d: rows with an issue %v, want %v", n, rows, c.Rows)
		}
	}
}
