package review

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/stats"
)

// Two labels; the third row says Unclear, and the model sees Wrong Amount.
func TestRankQuality(t *testing.T) {
	tax := open(t, "testdata/recipes.yaml")
	rate := func(id string, mi, wa, unc float64, labels ...string) Rated {
		return Rated{RowID: id, Labels: labels,
			Probabilities: dataset.Probabilities{{Label: "Missing Ingredient", P: mi}, {Label: "Wrong Amount", P: wa},
				{Label: "Unclear", P: unc}}}
	}
	rows := []Rated{
		rate("a", 0.1, 0.9, 0.1, "Wrong Amount"),
		rate("b", 0.1, 0.2, 0.8, "Unclear"),
		rate("c", 0.1, 0.95, 0.3, "Unclear"),
		rate("d", 0.1, 0.1, 0.1),
	}
	doubts, err := RankQuality(tax, rows, stats.SelfConfidence)
	if err != nil {
		t.Fatal(err)
	}
	var order []string
	for _, d := range doubts {
		order = append(order, d.RowID)
	}
	if !reflect.DeepEqual(order, []string{"c", "b", "a", "d"}) {
		t.Errorf("order %v", order)
	}
	// c: scores 0.9, 0.3, 0.05; from the highest down 0.9, then 0.8·0.3 + 0.2·0.9 = 0.42, then 0.8·0.05 + 0.2·0.42 =
	// 0.124. Wrong Amount is an issue: 0.95 is over the 0.9 of the row that has it. Unclear is one too: 1 − 0.3 is over
	// the 0.9 that rows without it have on average? It is not: 0.7 < 0.9.
	c := doubts[0]
	if math.Abs(c.Score-0.124) > 1e-12 || !c.Issue || len(c.Suspects) != 1 || c.Suspects[0].Label != "Wrong Amount" ||
		c.Suspects[0].Given || math.Abs(c.Suspects[0].Score-0.05) > 1e-12 {
		t.Errorf("%+v", c)
	}
	if d := doubts[3]; d.Issue || len(d.Suspects) != 1 || d.Suspects[0].Issue {
		t.Errorf("%+v", d)
	}
	rows[1].Probabilities = rows[1].Probabilities[:2]
	if _, err := RankQuality(tax, rows, stats.SelfConfidence); err == nil || !strings.Contains(err.Error(),
		`row b: no probability of "Unclear"`) {
		t.Error(err)
	}
	if doubts, err := RankQuality(tax, nil, stats.SelfConfidence); err != nil || len(doubts) != 0 {
		t.Errorf("no rows: %v, %v", doubts, err)
	}
}

// The no-error label follows from the others: neither is its probability needed, nor does it count.
func TestRankQualityWithoutNoError(t *testing.T) {
	tax := questions(t)
	var p dataset.Probabilities
	for _, y := range tax.Types {
		if !y.NoError {
			p = append(p, dataset.Probability{Label: y.Name, P: 0.1})
		}
	}
	doubts, err := RankQuality(tax, []Rated{{RowID: "a", Labels: []string{"No Error"}, Probabilities: p}},
		stats.SelfConfidence)
	if err != nil || math.Abs(doubts[0].Score-0.9) > 1e-12 {
		t.Errorf("%+v, %v", doubts, err)
	}
}

// A label that could not be judged speaks for no doubt, given or not; one that is missing otherwise is an error.
func TestRankQualityNotJudged(t *testing.T) {
	tax := open(t, "testdata/recipes.yaml")
	p := dataset.Probabilities{{Label: "Missing Ingredient", P: 0.1}, {Label: "Wrong Amount", P: 0.1}}
	row := Rated{RowID: "a", Labels: []string{"Unclear"}, Probabilities: p, NotJudged: []string{"Unclear"}}
	doubts, err := RankQuality(tax, []Rated{row}, stats.SelfConfidence)
	if err != nil || doubts[0].Score < 0.9 {
		t.Errorf("%+v, %v", doubts, err)
	}
	row.NotJudged = nil
	if _, err := RankQuality(tax, []Rated{row}, stats.SelfConfidence); err == nil {
		t.Error("a missing probability is no error")
	}
}
