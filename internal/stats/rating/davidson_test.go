package rating

import (
	"math"
	"testing"
)

// Where the decided games of pairs all go one way beside ties, the likelihood can grow without end. Newton's method then
// stops anywhere; it was at thousands of points.
func TestDavidsonWithoutMaximum(t *testing.T) {
	win := func(a, b int) Game { return Game{A: a, B: b, Result: 1} }
	tie := func(a, b int) Game { return Game{A: a, B: b, Result: 0.5} }
	for name, c := range map[string]struct {
		systems int
		games   []Game
		exists  bool
	}{
		"one pair, one side wins":         {2, []Game{win(0, 1), tie(0, 1)}, false},
		"one pair, both win":              {2, []Game{win(0, 1), win(1, 0), tie(0, 1)}, true},
		"two equals above a third":        {3, []Game{win(0, 2), win(1, 2), tie(0, 1), tie(0, 2), tie(1, 2)}, false},
		"a chain of unequal length":       {3, []Game{win(0, 1), win(1, 2), win(0, 2), tie(0, 1), tie(1, 2), tie(0, 2)}, true},
		"a circle of wins, each with tie": {3, []Game{win(0, 1), win(1, 2), win(2, 0), tie(0, 1), tie(1, 2), tie(0, 2)}, true},
		"ties tell the middle one apart":  {3, []Game{win(0, 2), tie(0, 1), tie(1, 2)}, false},
	} {
		f := New(c.systems, 1, c.games).Davidson(nil)
		for i, s := range f.Strength {
			if math.IsNaN(s) == c.exists || math.Abs(s) > 20 {
				t.Errorf("%s: strength %d is %v", name, i, s)
			}
		}
		if math.IsInf(f.Ties, 1) == c.exists {
			t.Errorf("%s: ties %v", name, f.Ties)
		}
	}
}
