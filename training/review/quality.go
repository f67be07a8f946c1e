package review

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/stats"
	"github.com/erreval/erreval/taxonomy"
)

// qualityMethods are the methods of RankQuality by name.
var qualityMethods = map[string]stats.QualityMethod{
	"self_confidence":             stats.SelfConfidence,
	"normalized_margin":           stats.NormalizedMargin,
	"confidence_weighted_entropy": stats.ConfidenceWeightedEntropy,
}

// ParseQualityMethod finds a method of RankQuality by its name in cleanlab.
func ParseQualityMethod(name string) (stats.QualityMethod, error) {
	method, ok := qualityMethods[name]
	if !ok {
		return method, fmt.Errorf("%q: there are self_confidence, normalized_margin and confidence_weighted_entropy", name)
	}
	return method, nil
}

// Rated is a labelled row with probabilities by a model that was not trained on it.
type Rated struct {
	RowID         string
	Labels        []string
	Probabilities dataset.Probabilities
	// labels without a probability, for the row lacks a field that they need: they speak for no doubt
	NotJudged []string
	Voices
}

// Voices are the people who answered a row in its batch, before somebody decided between them.
type Voices struct {
	People int  `json:"people,omitempty"` // 0 is not known
	Alike  bool `json:"alike,omitempty"`  // all of them gave the row's labels
}

// Text says of several people whether they gave the row's labels; "" is not known.
func (v *Voices) Text() string {
	switch {
	case v.People < 2:
		return ""
	case v.Alike:
		return fmt.Sprintf("%d people gave these labels", v.People)
	}
	return fmt.Sprintf("%d people did not agree on these labels", v.People)
}

// Doubt is a line of the ranking of a training set: how far the model bears a row's labels out.
type Doubt struct {
	RowID    string    `json:"row_id"`
	Score    float64   `json:"score"`  // 0 to 1, the lower the more doubtful
	Labels   []string  `json:"labels"` // as given
	Issue    bool      `json:"issue"`  // one label at least is one that the model denies by confident learning
	Suspects []Suspect `json:"suspects"`
	Voices
}

// Suspect is a label that the row should not have, or should.
type Suspect struct {
	Label       string  `json:"label"`
	Given       bool    `json:"given"`
	Probability float64 `json:"probability"` // that the row has it
	Score       float64 `json:"score"`       // quality of this label alone, 0 to 1
	Issue       bool    `json:"issue"`       // the model denies it by confident learning: one of the two is wrong
}

// RankQuality ranks rows by the quality of their labels, the most doubtful first, by cleanlab's method for several
// labels a row: the score of each label, put together by an exponential moving average of 0.8. The no-error label does
// not enter, as it follows from the others. A row's suspects are its issues, and the label with the lowest score, that
// first.
func RankQuality(t *taxonomy.Taxonomy, rows []Rated, method stats.QualityMethod) ([]Doubt, error) {
	types := slices.DeleteFunc(slices.Clone(t.Types), func(y taxonomy.Type) bool { return y.NoError })
	if len(types) == 0 {
		return nil, fmt.Errorf("%s has no label but that for rows without errors", t.ID())
	}
	given, p := make([][]bool, len(rows)), make([][]float64, len(rows))
	for i := range rows {
		for _, y := range types {
			q, ok := rows[i].Probabilities.Get(y.Name)
			if !ok && !slices.Contains(rows[i].NotJudged, y.Name) {
				return nil, fmt.Errorf("row %s: no probability of %q; tag the rows with a model of %s",
					rows[i].RowID, y.Name, t.ID())
			}
			given[i], p[i] = append(given[i], ok && slices.Contains(rows[i].Labels, y.Name)), append(p[i], q)
		}
	}
	issues := make([][]bool, len(types))
	for k := range types {
		issues[k] = stats.ConfidentIssues(side(given, k), side(p, k))
	}
	doubts := make([]Doubt, len(rows))
	for i := range rows {
		scores := method.Scores(given[i], p[i])
		d := Doubt{RowID: rows[i].RowID, Score: stats.EMA(scores, stats.QualityAlpha), Labels: rows[i].Labels,
			Suspects: []Suspect{}, Voices: rows[i].Voices}
		worst := slices.Index(scores, slices.Min(scores))
		for k, y := range types {
			d.Issue = d.Issue || issues[k][i]
			if issues[k][i] || k == worst {
				d.Suspects = append(d.Suspects, Suspect{y.Name, given[i][k], p[i][k], scores[k], issues[k][i]})
			}
		}
		slices.SortStableFunc(d.Suspects, func(a, b Suspect) int { return cmp.Compare(a.Score, b.Score) })
		doubts[i] = d
	}
	slices.SortStableFunc(doubts, func(a, b Doubt) int {
		return cmp.Or(cmp.Compare(a.Score, b.Score), cmp.Compare(a.RowID, b.RowID))
	})
	return doubts, nil
}

// Summary is what speaks against the row's labels.
func (d *Doubt) Summary() string {
	var parts []string
	for _, s := range d.Suspects {
		verb := "lacks"
		if s.Given {
			verb = "has"
		}
		parts = append(parts, fmt.Sprintf("%s %s (%.2f)", verb, s.Label, s.Probability))
	}
	return strings.Join(parts, ", ")
}
