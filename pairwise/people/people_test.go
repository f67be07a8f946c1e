package people

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"reflect"
	"slices"
	"testing"

	"github.com/erreval/erreval/pairwise/leaderboard"
	"github.com/erreval/erreval/pairwise/verdicts"
	"github.com/erreval/erreval/report"
)

func options() Options {
	return Options{Intervals: report.IntervalOptions{}, Ratings: leaderboard.DefaultOptions()}
}

// witness is what scikit-learn, krippendorff and scipy say; see testdata/make_people.py.
type witness struct {
	Rows []struct {
		A, B, Judge string
		People      []string
	}
	Alpha, Tau  float64
	NoMajority  int `json:"no_majority"`
	Unjudged    int
	WithTies    map[string]float64 `json:"with_ties"`
	WithoutTies map[string]float64 `json:"without_ties"`
}

func TestAgainstWitnesses(t *testing.T) {
	data, err := os.ReadFile("testdata/people.json")
	if err != nil {
		t.Fatal(err)
	}
	var all struct{ Cases []witness }
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	for n, w := range all.Cases {
		var pairs []Pair
		for i, r := range w.Rows {
			p := Pair{Item: fmt.Sprint(i), SystemA: r.A, SystemB: r.B, People: r.People, Judge: r.Judge, Judged: true}
			pairs = append(pairs, p)
		}
		before := slices.Clone(pairs)
		got, err := Compute(t.Context(), "f", verdicts.Overall, pairs, options())
		if err != nil {
			t.Fatal(err)
		}
		if got.NoMajority+got.Unlabelled != w.NoMajority || got.Unjudged != w.Unjudged || got.TiesMerged ||
			!reflect.DeepEqual(before, pairs) {
			t.Errorf("case %d: %+v; want %d without majority, %d unjudged", n, got, w.NoMajority, w.Unjudged)
		}
		near(t, n, "alpha", got.Alpha, w.Alpha)
		for _, a := range []struct {
			got  *Accord
			want map[string]float64
		}{{got.WithTies, w.WithTies}, {got.WithoutTies, w.WithoutTies}} {
			near(t, n, "pairs", report.Number(a.got.Pairs), a.want["pairs"])
			near(t, n, "accuracy", a.got.Accuracy.Value, a.want["accuracy"])
			near(t, n, "macro-F1", a.got.MacroF1, a.want["macro_f1"])
			near(t, n, "kappa", a.got.Kappa, a.want["kappa"])
			near(t, n, "constant", a.got.Constant, a.want["constant"])
		}
		near(t, n, "tau of win rates", got.Rankings[len(got.Rankings)-1].Tau, w.Tau)
	}
	if len(all.Cases) == 0 {
		t.Error("no case")
	}
}

func near(t *testing.T, n int, what string, got report.Number, want float64) {
	t.Helper()
	if !(math.Abs(float64(got)-want) <= 1e-9) {
		t.Errorf("case %d, %s: %v, want %v", n, what, got, want)
	}
}

// TestEdges: no pairs, no judge, nothing in common, one kind of tie.
func TestEdges(t *testing.T) {
	if _, err := Compute(t.Context(), "f", "Overall", nil, options()); err == nil {
		t.Error("no pairs, no error")
	}
	people := func(judge string, votes ...string) Pair {
		return Pair{Item: "i", SystemA: "x", SystemB: "y", People: votes, Judge: judge, Judged: judge != "none"}
	}
	for name, c := range map[string]struct {
		pairs          []Pair
		judged, merged bool
		with, without  int // pairs
	}{
		"no judge":        {[]Pair{people("none", "A", "B"), people("none", "A", "A")}, false, true, 0, 0},
		"all unjudged":    {[]Pair{people("", "A", "A")}, true, true, 0, 0},
		"no majority":     {[]Pair{people("A", "A", "B")}, true, true, 0, 0},
		"one kind of tie": {[]Pair{people("both_bad", "both_good"), people("A", "A")}, true, true, 2, 1},
		"two kinds":       {[]Pair{people("both_bad", "both_bad"), people("A", "A")}, true, false, 2, 1},
	} {
		r, err := Compute(t.Context(), "f", "Overall", c.pairs, options())
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if (r.WithTies != nil) != c.judged || r.TiesMerged != c.merged ||
			c.judged && (r.WithTies.Pairs != c.with || r.WithoutTies.Pairs != c.without) {
			t.Errorf("%s: %+v, %+v, %+v", name, r, r.WithTies, r.WithoutTies)
		}
		if c.with == 2 && r.WithTies.Accuracy.Value != 1 {
			t.Errorf("%s: accuracy %v", name, r.WithTies.Accuracy)
		}
		if _, err := json.Marshal(r); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestUnjudgedIsNoTie: pairs that the judge gave no verdict on do not draw the systems together in its order.
func TestUnjudgedIsNoTie(t *testing.T) {
	var pairs []Pair
	add := func(n int, a, b, judge string) {
		for range n {
			pairs = append(pairs, Pair{Item: "i", SystemA: a, SystemB: b, People: []string{"A"}, Judge: judge, Judged: true})
		}
	}
	add(14, "x", "y", "A")
	add(6, "y", "z", "A")
	add(30, "x", "z", "") // as ties, these would put z above y
	r, err := Compute(t.Context(), "f", "Overall", pairs, options())
	if err != nil {
		t.Fatal(err)
	}
	if tau := r.Rankings[len(r.Rankings)-1].Tau; tau < 0.9 || r.Unjudged != 30 {
		t.Errorf("tau of win rates %v, %d unjudged", tau, r.Unjudged)
	}
}

// TestAgreement: by hand, two pairs are agreed on by all of three people, and on one two of three agree, as one of three
// twos: (1 + 1 + 1/3)/3. A pair with one verdict says nothing. Pairs of one item are drawn together.
func TestAgreement(t *testing.T) {
	pairs := []Pair{{Item: "a", People: []string{"A", "A", "A"}}, {Item: "b", People: []string{"B", "B", "B"}},
		{Item: "c", People: []string{"A", "A", "B"}}, {Item: "d", People: []string{"A", "", ""}}}
	o := options()
	o.Intervals = report.IntervalOptions{Resamples: 200, Seed: 1}
	r, err := Compute(t.Context(), "f", verdicts.Overall, pairs, o)
	if err != nil {
		t.Fatal(err)
	}
	near(t, 0, "agreement", r.Agreement, 7./9)
	if !(r.AlphaLow < r.Alpha && r.Alpha <= r.AlphaHigh) {
		t.Errorf("alpha %v [%v, %v]", r.Alpha, r.AlphaLow, r.AlphaHigh)
	}
	o.Intervals.Resamples = 0
	if r, err = Compute(t.Context(), "f", verdicts.Overall, pairs, o); err != nil || r.AlphaLow.Defined() {
		t.Errorf("without resamples: %v [%v, %v], %v", r.Alpha, r.AlphaLow, r.AlphaHigh, err)
	}
}

var pandalm = flag.String("pandalm", "", "FILE with PandaLM's pairs: their alpha is 0.864")

// TestPandaLM measures a file that is not part of the program: go test ./pairwise/people -run PandaLM -pandalm FILE
func TestPandaLM(t *testing.T) {
	if *pandalm == "" {
		return
	}
	file, err := os.Open(*pandalm)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var pairs []Pair
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var row struct {
			CmpKey     string `json:"cmp_key"`
			Annotator1 int
			Annotator2 int
			Annotator3 int
		}
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		p := Pair{Item: fmt.Sprint(len(pairs)), SystemA: row.CmpKey + "1", SystemB: row.CmpKey + "2"}
		for _, v := range []int{row.Annotator1, row.Annotator2, row.Annotator3} {
			p.People = append(p.People, []string{verdicts.BothGood, verdicts.A, verdicts.B}[v])
		}
		pairs = append(pairs, p)
	}
	r, err := Compute(t.Context(), *pandalm, verdicts.Overall, pairs, options())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d pairs, alpha %.4f, no majority %d, %v", r.Pairs, float64(r.Alpha), r.NoMajority, r.Majority)
	if math.Abs(float64(r.Alpha)-0.864) > 0.0005 {
		t.Errorf("alpha %v", r.Alpha)
	}
}
