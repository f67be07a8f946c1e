package audit

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/erreval/erreval/pairwise/verdicts"
	"github.com/erreval/erreval/report"
)

// The whole measurement: go test ./pairwise/audit -run Coverage -v -seeds 200
var (
	seeds      = flag.Int("seeds", 60, "samples of TestCoverage")
	simItems   = flag.Int("items", 80, "items of a sample of TestCoverage")
	resamples  = flag.Int("resamples", 300, "of each sample of TestCoverage")
	truthItems = flag.Int("truth", 10000, "items of the sample that the true values are taken from")
)

// liking is what a judge goes by besides quality, in log odds.
type liking struct{ position, length, own float64 }

// judges, their likings, and the systems that are their own. The third one likes nothing, and has no system.
var (
	judges  = []string{"first", "own", "none"}
	likings = map[string]liking{"first": {0.6, 1.5, 0}, "own": {-0.2, 0, 0.9}, "none": {}}
	own     = map[string][]string{"first": {"s0"}, "own": {"s1"}}
)

// simulate gives judgements on all pairs of five systems: quality differs by system and, at random, by text, so that
// the judgements on an item stand and fall together.
func simulate(seed uint64, items int, o Options) *Collection {
	random := rand.New(rand.NewPCG(seed, 3))
	c := New(o)
	for item := range items {
		var quality [5]float64
		var length [5]int
		for s := range quality {
			quality[s] = 0.4*float64(s) + 0.6*random.NormFloat64()
			length[s] = int(math.Exp(5 + 0.5*random.NormFloat64()))
		}
		for a := range quality {
			for b := range a {
				p := &Pair{Item: fmt.Sprint(item), SystemA: fmt.Sprint("s", a), SystemB: fmt.Sprint("s", b),
					LengthA: length[a], LengthB: length[b]}
				for _, judge := range judges {
					likes := likings[judge]
					long := likes.length * float64(length[a]-length[b]) / float64(length[a]+length[b])
					ownText := likes.own * float64(c.ownOf(judge, p.SystemA)-c.ownOf(judge, p.SystemB))
					for _, order := range []string{verdicts.OrderAB, verdicts.OrderBA} {
						first := likes.position
						if order == verdicts.OrderBA {
							first = -first
						}
						r := verdicts.Run{Judge: judge, Order: order, Value: verdicts.B}
						switch odds := quality[a] - quality[b] + long + ownText + first; {
						case random.Float64() < 0.2:
							r.Value = verdicts.BothGood
						case random.Float64() < 1/(1+math.Exp(-odds)):
							r.Value = verdicts.A
						}
						p.Runs = append(p.Runs, r)
					}
				}
				c.Add(verdicts.Overall, p)
			}
		}
	}
	return c
}

// figures are those of an audit by name.
func figures(a *Audit) map[string]report.Figure {
	return map[string]report.Figure{"changed": a.Changed, "reversed": a.Reversed, "first wins": a.FirstWins,
		"longer wins": a.LongWins, "own wins": a.OwnWins, "position": a.Position, "length": a.Length, "own text": a.OwnSlope}
}

// TestCoverage: the intervals of all figures hold the true value in about 95 of 100 samples; a liking that is there is
// found, one that is not is not. The true values are those of a large sample: texts differ in quality at random, which
// makes the true coefficients somewhat smaller than those that the judges go by (see likings).
func TestCoverage(t *testing.T) {
	truth := map[string]report.Figure{}
	for _, a := range audited(t, simulate(1<<40, *truthItems, Options{Own: own})) {
		for name, f := range figures(&a) {
			truth[a.Judge+", "+name] = f
		}
	}
	for key, likes := range map[string]float64{"first, position": 0.6, "first, length": 1.5, "own, own text": 0.9,
		"none, position": 0, "none, length": 0, "own, length": 0, "first, own text": 0, "own, position": -0.2} {
		if got := float64(truth[key].Value); math.Abs(got-likes) > 0.05+0.15*math.Abs(likes) {
			t.Errorf("%s: %.3f in a large sample, planted %.3f", key, got, likes)
		}
	}
	inside, above, below := map[string]int{}, map[string]int{}, map[string]int{}
	for seed := range *seeds {
		o := Options{Own: own, Resamples: *resamples, Seed: 1}
		for _, a := range audited(t, simulate(uint64(seed), *simItems, o)) {
			for name, f := range figures(&a) {
				key := a.Judge + ", " + name
				switch want := truth[key].Value; {
				case !want.Defined():
					if f.Value.Defined() {
						t.Errorf("%s: %v, and no value in a large sample", key, f)
					}
				case f.Low <= want && want <= f.High:
					inside[key]++
				case f.Low > want:
					below[key]++
				default:
					above[key]++
				}
			}
		}
	}
	all, n := 0, 0
	for key, f := range truth {
		if !f.Value.Defined() {
			continue
		}
		share := float64(inside[key]) / float64(*seeds)
		t.Logf("%-18s true %6.3f  covered %.3f  (above %d, below %d)", key, float64(f.Value), share, above[key], below[key])
		if share < 0.87 {
			t.Errorf("%s: %.3f of the intervals hold the true value", key, share)
		}
		all, n = all+inside[key], n+*seeds
	}
	share := float64(all) / float64(n)
	t.Logf("all: %.4f of %d", share, n)
	if share < 0.92 || share > 0.98 {
		t.Errorf("%.3f of the intervals hold the true value", share)
	}
}

// TestAlwaysFirst: a judge that always takes the first text has no finite slope, and costs the others none of theirs.
func TestAlwaysFirst(t *testing.T) {
	judges = append(judges, "always")
	likings["always"] = liking{position: 1e6}
	defer func() {
		judges = judges[:len(judges)-1]
		delete(likings, "always")
	}()
	for _, a := range audited(t, simulate(1, 30, Options{Own: own})) {
		always := a.Judge == "always"
		if a.Position.Value.Defined() == always || slices.Contains(a.Notes, "always always takes the first text") != always {
			t.Errorf("%s: position %v, %q", a.Judge, a.Position, a.Notes)
		}
	}
}

func audited(t *testing.T, c *Collection) []Audit {
	t.Helper()
	all, err := c.Audit(t.Context(), verdicts.Overall)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestFewDecided: a share of two decided pairs among thirty has the interval of two: Wilson's begins at n / (n + t²),
// with scipy.stats.t.ppf(0.975, 1) at 0.01224. That of thirty would begin at 0.87.
func TestFewDecided(t *testing.T) {
	c := New(Options{Resamples: 200, Seed: 1})
	for item := range 30 {
		value := verdicts.BothGood
		if item < 2 {
			value = verdicts.A
		}
		c.Add(verdicts.Overall, &Pair{Item: fmt.Sprint(item), SystemA: "a", SystemB: "b", LengthA: 20, LengthB: 10,
			Runs: []verdicts.Run{{Judge: "j", Order: verdicts.OrderAB, Value: value}}})
	}
	a := audited(t, c)[0]
	for name, f := range map[string]report.Figure{"first wins": a.FirstWins, "longer wins": a.LongWins} {
		if f.Value != 1 || math.Abs(float64(f.Low)-0.01224) > 1e-5 || f.High != 1 {
			t.Errorf("%s: %+v", name, f)
		}
	}
	if a.Decided != 2 {
		t.Errorf("%d decided", a.Decided)
	}
}
