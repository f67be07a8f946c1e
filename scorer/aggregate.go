package scorer

import (
	"slices"
	"strings"

	"github.com/erreval/erreval/dataset"
)

// scores of a row whose questions are answered.
func (p *Panel) scores(plan *plan) map[string]*dataset.Score {
	out := make(map[string]*dataset.Score, len(plan.runs))
	for i, d := range p.o.Taxonomy.Dimensions {
		s := &dataset.Score{}
		if plan.offline[i] != nil {
			s.Runs = append(s.Runs, *plan.offline[i])
		}
		for _, run := range plan.runs[i] {
			s.Runs = append(s.Runs, *run)
		}
		decisive := p.decisive(s.Runs)
		if v, ok := Aggregate(decisive, p.o.Aggregate); ok {
			s.Value = new(rounded(v))
		} else {
			s.Status, s.Reason = dataset.StatusUnscored, reasons(decisive)
		}
		out[d.Key] = s
	}
	return out
}

// decisive are the runs that make the value: the offline one, else the error-aware ones, else the others.
func (p *Panel) decisive(runs []dataset.Run) []dataset.Run {
	if runs[0].Judge == dataset.JudgeOffline {
		return runs[:1]
	}
	mode := p.o.DecisiveMode()
	return slices.DeleteFunc(slices.Clone(runs), func(r dataset.Run) bool { return r.Planted != "" || r.Mode != mode })
}

// Aggregate puts the values of runs together in one of the ways that Aggregates lists; false if no run has a value.
func Aggregate(runs []dataset.Run, how string) (float64, bool) {
	var all []float64
	byJudge := map[string][]float64{}
	for _, r := range runs {
		if r.Value != nil {
			all = append(all, *r.Value)
			byJudge[r.Judge] = append(byJudge[r.Judge], *r.Value)
		}
	}
	if len(all) == 0 {
		return 0, false
	}
	if how == Majority {
		return mean(mostFrequent(all)), true
	}
	var judges []float64
	for _, values := range byJudge {
		judges = append(judges, mean(values))
	}
	slices.Sort(judges) // sums depend on the order
	if n := len(judges); how == Median {
		return mean(judges[(n-1)/2 : n/2+1]), true
	}
	return mean(judges), true
}

func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// mostFrequent are the values that occur most often, in order.
func mostFrequent(values []float64) []float64 {
	count, most := map[float64]int{}, 0
	for _, v := range values {
		count[v]++
		most = max(most, count[v])
	}
	var out []float64
	for v, n := range count {
		if n == most {
			out = append(out, v)
		}
	}
	slices.Sort(out)
	return out
}

// reasons are those of unscored runs, each once, without details.
func reasons(runs []dataset.Run) string {
	var out []string
	for _, r := range runs {
		if reason, _, _ := strings.Cut(r.Reason, ":"); !slices.Contains(out, reason) {
			out = append(out, reason)
		}
	}
	return strings.Join(out, ", ")
}
