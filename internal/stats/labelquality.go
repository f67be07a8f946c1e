package stats

import (
	"math"
	"slices"
)

// QualityMethod is a measure of how well a model's probability agrees with a given label: cleanlab's label quality
// scores, with "has the label" and "has not" as the two classes (Thyagarajan et al. 2022). All are 0 to 1; lower is
// more doubtful.
type QualityMethod int

// The methods.
const (
	SelfConfidence   QualityMethod = iota // the probability of what was given
	NormalizedMargin                      // (that − the other's + 1) ÷ 2; of two classes it is SelfConfidence
	// ln(q+1) ÷ q, with q = entropy in bits ÷ SelfConfidence; 0 where q is 0, as cleanlab has it
	ConfidenceWeightedEntropy
)

// Constants of cleanlab.
const (
	QualityAlpha   = 0.8  // EMA's forgetting factor in get_label_quality_scores
	qualityFloor   = 1e-6 // CLIPPING_LOWER_BOUND and FLOATING_POINT_COMPARISON
	leastThreshold = 2e-6 // CONFIDENT_THRESHOLDS_LOWER_BOUND
)

// Score is the quality of one label of one row: whether it was given, and its probability p, in [0, 1].
func (m QualityMethod) Score(given bool, p float64) float64 {
	self, other := 1-p, p
	if given {
		self, other = p, 1-p
	}
	switch m {
	case NormalizedMargin:
		return (self - other + 1) / 2
	case ConfidenceWeightedEntropy:
		q := (plogp(p) + plogp(1-p)) / -math.Ln2 / math.Max(self, qualityFloor)
		return math.Log(q+1) / math.Max(q, qualityFloor)
	}
	return self
}

func plogp(p float64) float64 {
	if p == 0 {
		return 0
	}
	return p * math.Log(p)
}

// Scores are those of a row's labels.
func (m QualityMethod) Scores(given []bool, p []float64) []float64 {
	s := make([]float64, len(p))
	for k := range p {
		s[k] = m.Score(given[k], p[k])
	}
	return s
}

// EMA makes one score of a row's scores: their exponential moving average from the highest to the lowest, so that the
// lowest has the weight alpha (0 to 1; QualityAlpha). NaN without scores.
func EMA(scores []float64, alpha float64) float64 {
	if len(scores) == 0 {
		return math.NaN()
	}
	s := slices.Sorted(slices.Values(scores))
	e := s[len(s)-1]
	for i := len(s) - 2; i >= 0; i-- {
		e = alpha*s[i] + (1-alpha)*e
	}
	return e
}

// ConfidentIssues marks the rows whose label is probably wrong by confident learning (Northcutt et al. 2021), as
// cleanlab's filter_by="confident_learning" does. given is a label's column, p its probabilities. A row is an issue if
// its probability is at or beyond the mean of the rows with the opposite label, and on their side of 0.5.
func ConfidentIssues(given []bool, p []float64) []bool {
	var sum, n [2]float64 // of those without the label, and with it
	for i, g := range given {
		side := int(indicator(g))
		sum[side] += SelfConfidence.Score(g, p[i])
		n[side]++
	}
	issues := make([]bool, len(p))
	for i, g := range given {
		other := int(indicator(!g))
		opposite := SelfConfidence.Score(!g, p[i])
		if n[other] == 0 || opposite < math.Max(sum[other]/n[other], leastThreshold)-qualityFloor {
			continue
		}
		issues[i] = opposite > SelfConfidence.Score(g, p[i])+qualityFloor || // argmax takes the first of equals, "without"
			g && opposite == SelfConfidence.Score(g, p[i])+qualityFloor
	}
	return issues
}
