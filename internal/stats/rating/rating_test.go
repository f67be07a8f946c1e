package rating

import (
	"encoding/json"
	"math"
	"os"
	"testing"
)

// The worked example of Glickman's paper. Its printed figures are rounded on the way; exactly they are these.
func TestGlickmansExample(t *testing.T) {
	results := []glickoResult{{Glicko2Rating{1400, 30, 0.06}, 1, 1}, {Glicko2Rating{1550, 100, 0.06}, 0, 1},
		{Glicko2Rating{1700, 300, 0.06}, 0, 1}}
	got := updateGlicko2(Glicko2Rating{1500, 200, 0.06}, results)
	for _, c := range [][3]float64{{got.Rating, 1464.0507, 1e-3}, {got.Deviation, 151.5165, 1e-3},
		{got.Volatility, 0.0599960, 1e-6}} {
		if math.Abs(c[0]-c[1]) > c[2] {
			t.Errorf("%v, want %v", c[0], c[1])
		}
	}
}

type witness struct {
	Systems, Items  int
	Games           [][4]float64
	BradleyTerry    []float64 `json:"bradley_terry"`
	Errors          []float64
	DifferenceError float64 `json:"difference_error"`
	Davidson        *struct {
		Strength []float64
		Ties     float64
	}
}

func gamesOf(w *witness) *Games {
	var games []Game
	for _, x := range w.Games {
		games = append(games, Game{A: int(x[0]), B: int(x[1]), Item: int(x[2]), Result: x[3]})
	}
	return New(w.Systems, w.Items, games)
}

// Bradley-Terry is that of choix, its clustered errors those of statsmodels, Davidson that of scipy's optimiser; see
// testdata/make_ratings.py.
func TestAgainstWitnesses(t *testing.T) {
	data, err := os.ReadFile("testdata/ratings.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []witness
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	for n := range all {
		w := &all[n]
		g := gamesOf(w)
		f := g.BradleyTerry(nil)
		near(t, "strength", f.Strength, w.BradleyTerry, 1e-6)
		near(t, "error", f.Errors, w.Errors, 1e-6)
		near(t, "error of the difference", []float64{f.DifferenceError(0, 1)}, []float64{w.DifferenceError}, 1e-6)
		if w.Davidson != nil {
			d := g.Davidson(nil)
			near(t, "Davidson", d.Strength, w.Davidson.Strength, 1e-5)
			near(t, "ties", []float64{d.Ties}, []float64{w.Davidson.Ties}, 1e-5)
		} else if d := g.Davidson(nil); d.Ties != 0 || math.Abs(d.Strength[0]-f.Strength[0]) > 1e-12 {
			t.Errorf("without ties Davidson is %+v", d)
		}
	}
}

func near(t *testing.T, what string, got, want []float64, within float64) {
	t.Helper()
	for i := range want {
		if !(math.Abs(got[i]-want[i]) <= within) {
			t.Errorf("%s %d: %v, want %v", what, i, got[i], want[i])
		}
	}
}
