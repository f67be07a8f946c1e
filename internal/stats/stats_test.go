package stats

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"runtime"
	"strings"
	"testing"
)

// problem is one recorded problem: testdata/make_fixtures.py computed the figures with scikit-learn and numpy.
type problem struct {
	Name       string
	MinSupport int `json:"min_support"`
	NoError    int `json:"no_error"`
	Groups     int
	Group      []int
	Gold, Pred [][]int
	Prob       [][]float64
	Values     map[string]*float64
	Labels     []struct {
		Precision, Recall, F1 float64
		Support, Predicted    int
		AP                    *float64 `json:"average_precision"`
		ECE, Brier, AUC       *float64
	}
	MostFrequent string `json:"most_frequent"`
	Resamples    []struct {
		Drawn  []int
		Values map[string]*float64
	}
	Quantiles map[string][]float64
}

func bools(rows [][]int) [][]bool {
	out := make([][]bool, len(rows))
	for i, row := range rows {
		out[i] = make([]bool, len(row))
		for k, x := range row {
			out[i][k] = x == 1
		}
	}
	return out
}

func (p *problem) table() *Table {
	return &Table{Gold: bools(p.Gold), Pred: bools(p.Pred), Prob: p.Prob, Group: p.Group, Groups: p.Groups}
}

func problems(t *testing.T) []problem {
	t.Helper()
	data, err := os.ReadFile("testdata/problems.json")
	if err != nil {
		t.Fatal(err)
	}
	var out []problem
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func evaluator(t *testing.T, table *Table, o Options) *Evaluator {
	t.Helper()
	e, err := NewEvaluator(table, o)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// near compares with a recorded figure; null stands for undefined.
func near(t *testing.T, what string, got float64, want *float64) {
	t.Helper()
	if want == nil {
		if !math.IsNaN(got) {
			t.Errorf("%s: %v, want undefined", what, got)
		}
		return
	}
	if !(math.Abs(got-*want) <= 1e-9) {
		t.Errorf("%s: %v, want %v", what, got, *want)
	}
}

func nearAll(t *testing.T, what string, got []float64, want map[string]*float64) {
	t.Helper()
	if len(want) != len(got) {
		t.Fatalf("%s: %d figures recorded, %d computed", what, len(want), len(got))
	}
	for i, m := range Metrics() {
		near(t, what+" "+m.Key, got[i], want[m.Key])
	}
}

func TestFiguresEqualScikitLearn(t *testing.T) {
	for _, p := range problems(t) {
		t.Run(p.Name, func(t *testing.T) {
			e := evaluator(t, p.table(), Options{MinSupport: p.MinSupport, NoError: p.NoError})
			nearAll(t, "all rows", e.Values(nil), p.Values)
			for k, got := range e.Labels() {
				want := p.Labels[k]
				if got.Support != want.Support || got.Predicted != want.Predicted {
					t.Errorf("label %d: support %d, predicted %d, want %d, %d", k, got.Support, got.Predicted,
						want.Support, want.Predicted)
				}
				near(t, "precision", got.Precision, &want.Precision)
				near(t, "recall", got.Recall, &want.Recall)
				near(t, "f1", got.F1, &want.F1)
				near(t, "average precision", got.AP, want.AP)
				near(t, "area under the ROC curve", got.AUC, want.AUC)
				near(t, "calibration error", got.ECE, want.ECE)
				near(t, "brier", got.Brier, want.Brier)
			}
			if got := bitKey(MostFrequentSet(p.table().Gold)); got != p.MostFrequent {
				t.Errorf("most frequent set %s, want %s", got, p.MostFrequent)
			}
		})
	}
}

// The witness concatenated the rows of the drawn groups and gave them to scikit-learn.
func TestResampledFiguresEqualScikitLearn(t *testing.T) {
	for _, p := range problems(t) {
		t.Run(p.Name, func(t *testing.T) {
			e := evaluator(t, p.table(), Options{MinSupport: p.MinSupport, NoError: p.NoError})
			var samples [][]float64
			for _, r := range p.Resamples {
				weight := make([]int32, p.Groups)
				for _, g := range r.Drawn {
					weight[g]++
				}
				samples = append(samples, e.Values(weight))
				nearAll(t, "resample", samples[len(samples)-1], r.Values)
			}
			for i := range Metrics() {
				low, high := intervalWithout(Column(samples, i), 0.025)
				want := p.Quantiles[Metrics()[i].Key]
				if want == nil {
					want = []float64{math.NaN(), math.NaN()}
				}
				if math.Abs(low-want[0]) > 1e-9 || math.Abs(high-want[1]) > 1e-9 || math.IsNaN(low) != math.IsNaN(want[0]) {
					t.Errorf("%s: interval %v to %v, want %v", Metrics()[i].Key, low, high, want)
				}
			}
		})
	}
}

// A mean over n rows that are their own groups has the interval mean ± 1.96·σ/√n; one over groups of ten equal rows is
// √10 as wide.
func TestIntervalOfAMean(t *testing.T) {
	const n = 2000
	rng := rand.New(rand.NewPCG(1, 2))
	pred := make([][]bool, n)
	group := make([]int, n)
	for i := range pred {
		pred[i] = []bool{rng.Float64() < 0.7}
		group[i] = i / 10
		if i%10 != 0 {
			pred[i] = pred[i-1]
		}
	}
	gold := Constant([]bool{true}, n)
	width := func(table *Table) float64 {
		e := evaluator(t, table, Options{NoError: -1})
		samples, err := Bootstrap(context.Background(), e.Groups(), 4000, 7, e.Values)
		if err != nil {
			t.Fatal(err)
		}
		low, high := IntervalOf(Column(samples, ExactMatch), e.Groups())
		m := e.Values(nil)[ExactMatch]
		if math.Abs((low+high)/2-m) > 0.01 {
			t.Errorf("interval %v to %v is not around %v", low, high, m)
		}
		return (high - low) / (2 * 1.959964 * math.Sqrt(m*(1-m)/n))
	}
	if w := width(&Table{Gold: gold, Pred: pred}); math.Abs(w-1) > 0.06 {
		t.Errorf("by row: %v of the closed form's width", w)
	}
	if w := width(&Table{Gold: gold, Pred: pred, Group: group, Groups: n / 10}); math.Abs(w-math.Sqrt(10)) > 0.2 {
		t.Errorf("by group: %v of the row-wise closed form's width, want √10", w)
	}
}

func TestBootstrapDoesNotDependOnCores(t *testing.T) {
	p := problems(t)[0]
	e := evaluator(t, p.table(), Options{MinSupport: 1, NoError: p.NoError})
	run := func(procs int, seed uint64) [][]float64 {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
		samples, err := Bootstrap(context.Background(), e.Groups(), 50, seed, e.Values)
		if err != nil {
			t.Fatal(err)
		}
		return samples
	}
	if a, b := run(1, 3), run(4, 3); !reflect.DeepEqual(a, b) {
		t.Error("one and four cores disagree")
	}
	if a, b := run(1, 3), run(1, 4); reflect.DeepEqual(a, b) {
		t.Error("seeds 3 and 4 agree")
	}
}

func TestBootstrapStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := Bootstrap(ctx, 3, 100, 1, func([]int32) []float64 { return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestDrawDrawsAsManyGroupsAsThereAre(t *testing.T) {
	weight := make([]int32, 50)
	seen := map[int32]bool{}
	for i := range uint64(20) {
		drawGroups(weight, 1, i)
		sum := int32(0)
		for _, w := range weight {
			sum, seen[w] = sum+w, true
		}
		if sum != 50 {
			t.Fatalf("resample %d has %d groups", i, sum)
		}
	}
	if !seen[0] || !seen[2] {
		t.Error("no group was drawn twice or left out")
	}
}

// By hand: two rows with prediction, one without. Without prediction every gold label is missed and nothing is
// over-predicted.
func TestRowsWithoutPredictionCountAsWrong(t *testing.T) {
	gold := [][]bool{{true, false}, {false, true}, {true, false}, {false, false}}
	pred := [][]bool{{true, false}, {true, true}, nil, nil}
	e := evaluator(t, &Table{Gold: gold, Pred: pred}, Options{NoError: 1})
	v := e.Values(nil)
	for metric, want := range map[int]float64{
		MicroF1:        2.0 * 2 / (2*2 + 1 + 1), // tp 2, fp 1, fn 1
		ExactMatch:     1.0 / 4,                 // an empty gold set without prediction is no match
		OverPrediction: 0.5 / 4,
		MicroF1Errors:  2.0 / (2 + 1 + 1), // tp 1, fp 1, fn 1
	} {
		near(t, Metrics()[metric].Key, v[metric], &want)
	}
}

func TestFiguresDoNotDependOnTheOrderOfRows(t *testing.T) {
	for _, p := range problems(t) {
		o := Options{MinSupport: p.MinSupport, NoError: p.NoError}
		want := evaluator(t, p.table(), o).Values(nil)
		table := p.table()
		table.Prob = append([][]float64(nil), table.Prob...)
		rand.New(rand.NewPCG(5, 5)).Shuffle(len(table.Gold), func(i, j int) {
			table.Gold[i], table.Gold[j] = table.Gold[j], table.Gold[i]
			table.Pred[i], table.Pred[j] = table.Pred[j], table.Pred[i]
			table.Group[i], table.Group[j] = table.Group[j], table.Group[i]
			if table.Prob != nil {
				table.Prob[i], table.Prob[j] = table.Prob[j], table.Prob[i]
			}
		})
		for i, got := range evaluator(t, table, o).Values(nil) {
			if math.Abs(got-want[i]) > 1e-12 || math.IsNaN(got) != math.IsNaN(want[i]) {
				t.Errorf("%s: %s %v, in another order %v", p.Name, Metrics()[i].Key, want[i], got)
			}
		}
	}
}

// Swapping the two kinds of rows, or the direction of the score, turns the area around 1/2.
func TestAUCIsSymmetric(t *testing.T) {
	scores := []float64{0.1, 0.4, 0.4, 0.4, 0.8, 0.9, 0.9}
	gold := []bool{false, true, false, true, false, true, false}
	other, negative := make([]bool, len(gold)), make([]float64, len(scores))
	for i := range gold {
		other[i], negative[i] = !gold[i], -scores[i]
	}
	a := NewRanking(scores, gold, nil).AUC(nil)
	// the two 0.4 beat 0.1 and tie with 0.4; 0.9 beats three others and ties with one
	if want := (1.5 + 1.5 + 3.5) / 12; math.Abs(a-want) > 1e-12 {
		t.Errorf("area %v, want %v", a, want)
	}
	for _, b := range []float64{NewRanking(scores, other, nil).AUC(nil), NewRanking(negative, gold, nil).AUC(nil)} {
		if math.Abs(a+b-1) > 1e-12 {
			t.Errorf("areas %v and %v do not add up to 1", a, b)
		}
	}
}

// A row without probabilities is left out of calibration and ranking, not counted as probability 0.
func TestRowsWithoutProbabilities(t *testing.T) {
	gold := [][]bool{{true}, {false}, {true}}
	some := evaluator(t, &Table{Gold: gold, Pred: gold, Prob: [][]float64{{0.9}, {0.2}, nil}}, Options{NoError: -1})
	fewer := evaluator(t, &Table{Gold: gold[:2], Pred: gold[:2], Prob: [][]float64{{0.9}, {0.2}}}, Options{NoError: -1})
	for _, m := range []int{MeanAP, ECE, Brier} {
		want := fewer.Values(nil)[m]
		near(t, Metrics()[m].Key, some.Values(nil)[m], &want)
	}
}

func TestCalibrationBinEdges(t *testing.T) {
	for p, want := range map[float64]int{0: 0, 0.02: 0, 1.0 / 15: 0, 0.0667: 1, 0.2: 2, 0.2 + 1e-12: 3, 0.999: 14, 1: 14} {
		if got := calibrationBin(p); got != want {
			t.Errorf("%v lies in bin %d, want %d", p, got, want)
		}
	}
}

func TestMostFrequentSetTies(t *testing.T) {
	a, b := []bool{true, false}, []bool{false, true}
	for _, gold := range [][][]bool{{a, b}, {b, a}, {a, b, b, a}} {
		if got := bitKey(MostFrequentSet(gold)); got != "01" {
			t.Errorf("%v: %s, want 01", gold, got)
		}
	}
	if got := MostFrequentSet(nil); got != nil {
		t.Errorf("no rows: %v", got)
	}
}

func TestConfusion(t *testing.T) {
	table := &Table{
		Gold: [][]bool{{true, true, false}, {true, false, false}, {true, false, false}, {false, true, false},
			{true, false, false}},
		Pred: [][]bool{{true, false, true}, {false, true, true}, {false, false, false}, {false, true, true}, nil},
	}
	want := &Confusion{
		Instead:  [][]int{{0, 1, 1}, {0, 0, 1}, {0, 0, 0}},
		Missed:   []int{2, 1, 0},
		Alone:    []int{1, 0, 0},
		Spurious: []int{0, 0, 1},
	}
	if got := NewConfusion(table); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestTablesThatMakeNoSenseAreRefused(t *testing.T) {
	one := [][]bool{{true}}
	for want, table := range map[string]*Table{
		"no rows":           {},
		"0 predictions":     {Gold: one},
		"2 predicted":       {Gold: one, Pred: [][]bool{{true, false}}},
		"2 gold":            {Gold: [][]bool{{true}, {true, true}}, Pred: Constant([]bool{true}, 2)},
		"group 3":           {Gold: one, Pred: one, Group: []int{3}, Groups: 2},
		"group -1":          {Gold: one, Pred: one, Group: []int{-1}, Groups: 2},
		"2 probabilities":   {Gold: one, Pred: one, Prob: [][]float64{{0.1, 0.2}}},
		"probability 1.5":   {Gold: one, Pred: one, Prob: [][]float64{{1.5}}},
		"probability NaN":   {Gold: one, Pred: one, Prob: [][]float64{{math.NaN()}}},
		"0 rows of probabi": {Gold: one, Pred: one, Prob: [][]float64{}},
	} {
		if _, err := NewEvaluator(table, Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v", want, err)
		}
	}
}

func BenchmarkBootstrap(b *testing.B) {
	for name, groups := range map[string]int{"100000rows/500groups": 500, "100000rows/100000groups": 100000} {
		b.Run(name, func(b *testing.B) {
			e, err := NewEvaluator(randomTable(100000, 11, groups), Options{MinSupport: DefaultMinSupport, NoError: 10})
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if _, err := Bootstrap(context.Background(), groups, DefaultResamples, 1, e.Values); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func randomTable(rows, labels, groups int) *Table {
	rng := rand.New(rand.NewPCG(1, 1))
	t := &Table{Groups: groups}
	for i := range rows {
		gold, pred, prob := make([]bool, labels), make([]bool, labels), make([]float64, labels)
		for k := range labels {
			gold[k] = rng.Float64() < 0.1
			prob[k] = rng.Float64()
			pred[k] = prob[k] > 0.9
		}
		t.Gold, t.Pred, t.Prob, t.Group = append(t.Gold, gold), append(t.Pred, pred), append(t.Prob,
			prob), append(t.Group, i%groups)
	}
	return t
}
