package scorer

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/taxonomy"
)

func builtin(t testing.TB, name string) *taxonomy.Taxonomy {
	t.Helper()
	y, err := taxonomy.Builtin(name)
	if err != nil {
		t.Fatal(err)
	}
	return y
}

func offline(t testing.TB, y *taxonomy.Taxonomy, o OfflineOptions) *Offline {
	t.Helper()
	s, err := NewOffline(y, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// probabilities are 0 but for those given.
func probabilities(y *taxonomy.Taxonomy, given map[string]float64) dataset.Probabilities {
	var p dataset.Probabilities
	for _, label := range y.Labels() {
		p = append(p, dataset.Probability{Label: label, P: given[label]})
	}
	return p
}

// Worked out by hand on the scale 1 to 3, where an error costs 0.75 of it.
func TestOfflineByHand(t *testing.T) {
	y := builtin(t, "question-generation")
	s := offline(t, y, OfflineOptions{Indifferent: true})
	for _, c := range []struct {
		given              map[string]float64
		dimension          string
		value, uncertainty float64
	}{
		{nil, "fluency", 3, 0},
		{map[string]float64{"Spell Error": 1}, "fluency", 1.5, 0},
		{map[string]float64{"Spell Error": 1, "Grammar Error": 1}, "fluency", 1.125, 0}, // 1 + 2/16
		{map[string]float64{"Spell Error": 0.5}, "fluency", 2.25, 0.75},                 // 3 or 1.5, even chances
		{map[string]float64{"Spell Error": 0.2, "Grammar Error": 0.4}, "fluency", 1 + 2*0.85*0.7,
			2 * math.Sqrt(0.8125*0.625-0.595*0.595)},
		{map[string]float64{"Vague": 1, "No Error": 1}, "fluency", 3, 0}, // bears on another dimension
		{map[string]float64{"Vague": 1}, "clarity", 1.5, 0},
	} {
		value, uncertainty, err := s.Score(probabilities(y, c.given), c.dimension)
		if err != nil || math.Abs(value-c.value) > 1e-12 || math.Abs(uncertainty-c.uncertainty) > 1e-12 {
			t.Errorf("%s of %v: %v ± %v, %v; want %v ± %v", c.dimension, c.given, value, uncertainty, err,
				c.value, c.uncertainty)
		}
	}
}

// With severities of the taxonomy's own: Spell Error 0.4, Grammar Error 0.37.
func TestOfflineSeverities(t *testing.T) {
	y := builtin(t, "question-generation")
	y.Types[2].Severity, y.Types[3].Severity = 0.4, 0.37
	s := offline(t, y, OfflineOptions{})
	for want, given := range map[float64]map[string]float64{
		2.2:               {"Spell Error": 1},
		2.6:               {"Spell Error": 0.5},
		1 + 2*0.6*0.63:    {"Spell Error": 1, "Grammar Error": 1},
		1 + 2*0.92*0.8520: {"Spell Error": 0.2, "Grammar Error": 0.4},
	} {
		if value, _, err := s.Score(probabilities(y, given), "fluency"); err != nil || math.Abs(value-want) > 1e-12 {
			t.Errorf("fluency of %v: %v, %v; want %v", given, value, err, want)
		}
	}
}

// A score that rests on an error which could not be judged is not given; the others are.
func TestOfflineNotJudged(t *testing.T) {
	y := builtin(t, "question-generation")
	s := offline(t, y, OfflineOptions{})
	d := &dataset.Diagnosis{Labels: []string{"Vague"}, NotJudged: []string{"Off Target Answer"},
		Probabilities: probabilities(y, nil)[:9]}
	scores := s.Judge(d)
	if got := scores["answer_consistency"]; got.Value != nil ||
		got.Reason != "Off Target Answer was not judged: the row lacks a field that it needs" {
		t.Errorf("answer consistency: %+v", got)
	}
	if got := scores["clarity"]; got.Value == nil {
		t.Errorf("clarity: %+v", got)
	}
}

// An error that the model judges in no row has no part in a score, unless no other error bears on the dimension.
func TestOfflineModelDoesNotJudge(t *testing.T) {
	y := builtin(t, "instruction-following")
	s := offline(t, y, OfflineOptions{})
	d := &dataset.Diagnosis{Model: "m@1", Labels: []string{"Factuality"},
		NotJudged:     []string{"Harmfulness", "Contradiction"},
		Probabilities: probabilities(y, map[string]float64{"Factuality": 1})}
	scores := s.Judge(d)
	if got := scores["truthfulness"]; got.Value == nil || *got.Value != 1.5 {
		t.Errorf("truthfulness: %+v; want 1.5", got)
	}
	if got := scores["safety"]; got.Value != nil || got.Reason != "m@1 judges no error that bears on safety" {
		t.Errorf("safety: %+v", got)
	}
}

// The value and the uncertainty are mean and standard deviation of the score when errors are drawn.
func TestOfflineEqualsSimulation(t *testing.T) {
	y := builtin(t, "question-generation")
	y.Types[0].Severity, y.Types[4].Severity = 1, 0.25
	s := offline(t, y, OfflineOptions{})
	rng := rand.New(rand.NewPCG(3, 3))
	given := map[string]float64{}
	for _, label := range y.Labels() {
		given[label] = rng.Float64()
	}
	const draws = 200000
	sum, squares := 0.0, 0.0
	for range draws {
		left := 1.0
		for _, e := range s.dimensions["answerability"].errors {
			if rng.Float64() < given[e.label] {
				left *= 1 - e.severity
			}
		}
		sum, squares = sum+1+2*left, squares+(1+2*left)*(1+2*left)
	}
	value, uncertainty, err := s.Score(probabilities(y, given), "answerability")
	mean := sum / draws
	if err != nil || math.Abs(value-mean) > 0.005 || math.Abs(uncertainty-math.Sqrt(squares/draws-mean*mean)) > 0.005 {
		t.Errorf("%v ± %v, %v; drawn %v ± %v", value, uncertainty, err, mean, math.Sqrt(squares/draws-mean*mean))
	}
}

// Whatever the probabilities, more of a mapped error never raises the value, more of another never moves it, and the
// value stays on the scale.
func TestOfflineIsMonotone(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 7))
	for _, name := range taxonomy.Builtins() {
		if name == "response" {
			continue // a task has no types
		}
		y := builtin(t, name)
		for i := range y.Types {
			if rng.IntN(2) == 0 {
				y.Types[i].Severity = 1 - rng.Float64()
			}
		}
		calibration := map[string]Calibration{y.Types[0].Name: {0, -1}, y.Types[1].Name: {0.4, 2}, y.Types[2].Name: {3, -1}}
		s := offline(t, y, OfflineOptions{Calibration: calibration})
		for range 300 {
			p := probabilities(y, nil)
			for i := range p {
				p[i].P = []float64{0, 1, rng.Float64(), rng.Float64() / 1000}[rng.IntN(4)]
			}
			for i := range p {
				more := slices.Clone(p)
				more[i].P += rng.Float64() * (1 - p[i].P)
				for _, d := range y.Dimensions {
					checkStep(t, s, d, p, more, i)
				}
			}
		}
	}
}

func checkStep(t *testing.T, s *Offline, d taxonomy.Dimension, p, more dataset.Probabilities, i int) {
	t.Helper()
	before, u, err := s.Score(p, d.Key)
	after, _, err2 := s.Score(more, d.Key)
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	high := float64(len(d.Criteria))
	if before < 1 || before > high || u < 0 || u > (high-1)/2+1e-12 {
		t.Fatalf("%s of %v: %v ± %v", d.Key, p, before, u)
	}
	counts := slices.ContainsFunc(s.dimensions[d.Key].errors, func(e offlineError) bool { return e.label == p[i].Label })
	if after > before || !counts && after != before {
		t.Fatalf("%s: %v, and %v with more of %s", d.Key, before, after, p[i].Label)
	}
}

func TestOfflineCalibration(t *testing.T) {
	y := builtin(t, "question-generation")
	s := offline(t, y, OfflineOptions{Indifferent: true,
		Calibration: map[string]Calibration{"Spell Error": {0.5, math.Log(3)}}})
	// logit 0.8 is ln 4; half of it and ln 3 is ln 6: 6/7.
	value, _, err := s.Score(probabilities(y, map[string]float64{"Spell Error": 0.8}), "fluency")
	if want := 1 + 2*(1-0.75*6.0/7); err != nil || math.Abs(value-want) > 1e-12 {
		t.Errorf("%v, %v; want %v", value, err, want)
	}
	_, err = NewOffline(y, OfflineOptions{Calibration: map[string]Calibration{"Odd": {1, 0}, "Vague": {-1, 0}}})
	for _, want := range []string{`has no label "Odd"`, `calibration of "Vague": slope -1`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

func TestOfflineRecord(t *testing.T) {
	y := builtin(t, "question-generation")
	s := offline(t, y, OfflineOptions{Indifferent: true})
	scores := s.Judge(&dataset.Diagnosis{Labels: []string{"Spell Error", "Vague"}, Probabilities: probabilities(y,
		map[string]float64{"Spell Error": 0.5, "Vague": 0.9})})
	want := &dataset.Score{Value: new(2.25), Runs: []dataset.Run{{Judge: "offline", Mode: "error-aware", Value: new(2.25),
		Uncertainty: new(0.75), ErrorsShown: []string{"Spell Error"}}}}
	if len(scores) != len(y.Dimensions) || !reflect.DeepEqual(scores["fluency"], want) {
		t.Errorf("%d dimensions; fluency %+v", len(scores), scores["fluency"])
	}
	for reason, d := range map[string]*dataset.Diagnosis{
		"no diagnosis; tag the file with erreval identify first": nil,
		"untagged: the text is empty": {Status: dataset.StatusUntagged,
			Reason: "the text is empty"},
		`no probability of "Incomplete"`: {Labels: []string{"Vague"}},
	} {
		got := s.Judge(d)["fluency"]
		if got.Value != nil || got.Status != dataset.StatusUnscored || !strings.HasPrefix(got.Reason, reason) ||
			got.Runs[0].Status != dataset.StatusUnscored {
			t.Errorf("%+v, want %s", got, reason)
		}
	}
}

func TestOfflineRefuses(t *testing.T) {
	y := builtin(t, "question-generation")
	if _, _, err := offline(t, y, OfflineOptions{}).Score(nil, "beauty"); err == nil || !strings.Contains(err.Error(),
		`no dimension "beauty"`) {
		t.Errorf("error %v", err)
	}
	y.Dimensions[0].Types = []string{"No Error"}
	if _, err := NewOffline(y, OfflineOptions{}); err == nil || !strings.Contains(err.Error(),
		`dimension "Fluency": no error bears on it`) {
		t.Errorf("error %v", err)
	}
	y.Dimensions = nil
	if _, err := NewOffline(y, OfflineOptions{}); err == nil || !strings.Contains(err.Error(), "has no dimensions") {
		t.Errorf("error %v", err)
	}
}
