package leaderboard

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/erreval/erreval/pairwise/verdicts"
)

// collect reads games such as "x>y" (the first won), "x=y" (both good) and "x#y" (both bad), "x?y" (inconsistent),
// "x-y" (unjudged); each is an item of its own.
func collect(name string, games ...string) *Verdicts {
	v := NewVerdicts(nil)
	add(v, name, games...)
	return v
}

func add(v *Verdicts, name string, games ...string) {
	for i, g := range games {
		value, reason := map[byte]string{'>': verdicts.A, '<': verdicts.B, '=': verdicts.BothGood,
			'#': verdicts.BothBad}[g[1]], ""
		switch g[1] {
		case '?':
			reason = verdicts.Inconsistent
		case '-':
			reason = "refused"
		}
		v.Add(name, fmt.Sprint("i", i), g[:1], g[2:], value, reason)
	}
}

func compute(t *testing.T, v *Verdicts, change func(*Options)) *Board {
	t.Helper()
	o := DefaultOptions()
	o.Resamples = 100
	if change != nil {
		change(&o)
	}
	b, err := v.Compute(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestEdges: what cannot be rated is said in words, and nothing infinite or undefined is printed as a number.
func TestEdges(t *testing.T) {
	plenty := []string{"x>y", "y>x", "x>y", "y=x", "x>y", "y>z", "z>y", "z>x", "x>z", "y#z"}
	for name, c := range map[string]struct {
		games []string
		rows  string // systems in order, those that are rated in capitals
		notes []string
	}{
		"nothing odd":      {plenty, "XYZ", nil},
		"undefeated":       {slices.Concat(plenty, []string{"u>x", "u>y", "u>x"}), "uXYZ", []string{"u never lost or tied against those"}},
		"never won":        {slices.Concat(plenty, []string{"x>w", "y>w"}), "XYZw", []string{"w never won or tied against those"}},
		"two islands":      {slices.Concat(plenty, []string{"p>q", "q>p"}), "XYZpq", []string{"p, q have no chain of games"}},
		"ties only":        {[]string{"x=y", "y#z", "x=z"}, "XYZ", []string{"all games are ties"}},
		"one game":         {[]string{"x>y"}, "xy", []string{"nobody can be rated"}},
		"one tie":          {[]string{"x=y"}, "XY", []string{"all games are ties"}},
		"itself":           {slices.Concat(plenty, []string{"x>x", "x=x"}), "XYZ", []string{"2 pairs of a system with itself left out"}},
		"only itself":      {[]string{"x>x"}, "x", []string{"1 pair of a system with itself left out", "no pair was judged"}},
		"nothing judged":   {[]string{"x-y", "y-z"}, "xyz", []string{"no pair was judged"}},
		"chain":            {[]string{"x>y", "y>z", "x>y", "y>z"}, "xyz", []string{"nobody can be rated"}},
		"common victim":    {slices.Concat(plenty, []string{"x>w", "v>w"}), "XYZvw", []string{"w never won", "v is linked"}},
		"inconsistent":     {[]string{"x?y", "y?z"}, "XYZ", []string{"all games are ties"}},
		"never against me": {slices.Concat(plenty, []string{"n-x"}), "XYZn", []string{"n has no game by this type"}},
	} {
		b := compute(t, collect("Fluency", c.games...), nil)
		table := b.Tables[0]
		var rows strings.Builder
		for _, r := range table.Rows {
			if r.Rating.Value.Defined() {
				rows.WriteString(strings.ToUpper(r.System))
			} else {
				rows.WriteString(r.System)
			}
		}
		if got, want := sortedRuns(rows.String()), sortedRuns(c.rows); got != want {
			t.Errorf("%s: rows %s, want %s", name, rows.String(), c.rows)
		}
		for _, note := range c.notes {
			if !slices.ContainsFunc(table.Notes, func(n string) bool { return strings.Contains(n, note) }) {
				t.Errorf("%s: notes %q, want %q", name, table.Notes, note)
			}
		}
		data, err := json.Marshal(b)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, word := range []string{"Inf", "NaN", "e+0", "e+1"} {
			if strings.Contains(string(data), word) {
				t.Errorf("%s: %s in %s", name, word, data)
			}
		}
		for _, r := range table.Rows {
			if f := float64(r.Rating.Value); math.Abs(f) > 4000 || r.Rating.Low > r.Rating.Value ||
				r.Rating.High < r.Rating.Value {
				t.Errorf("%s: %s %v", name, r.System, r.Rating)
			}
		}
	}
}

// sortedRuns sorts neighbours that are rated, whose order is not what is tested.
func sortedRuns(rows string) string {
	all := []byte(rows)
	upper := func(b byte) bool { return b < 'a' }
	for from := 0; from < len(all); {
		to := from
		for to < len(all) && upper(all[to]) == upper(all[from]) {
			to++
		}
		if upper(all[from]) {
			slices.Sort(all[from:to])
		}
		from = to
	}
	return string(all)
}

// TestAlmostUndefeated: where a system loses so seldom that many resamples have no loss of it, no interval is made of the
// resamples that are left; without the note they would be those of other means.
func TestAlmostUndefeated(t *testing.T) {
	games := []string{"y>x"}
	for range 20 {
		games = append(games, "x>y", "x>z", "y>z", "z>y")
	}
	table := compute(t, collect("Overall", games...), nil).Tables[0]
	if len(table.Notes) != 1 || !strings.Contains(table.Notes[0], "of the resamples not every system could be rated") {
		t.Errorf("notes %q", table.Notes)
	}
	for _, r := range table.Rows {
		if r.Rating != r.Sandwich || !r.Rating.Low.Defined() {
			t.Errorf("%s: %v, sandwich %v", r.System, r.Rating, r.Sandwich)
		}
	}
}

func TestAnchor(t *testing.T) {
	games := []string{"x>y", "y>x", "x>y", "y=x", "x>y", "y>z", "z>y", "z>x", "x>z", "u>x"}
	for anchor, rated := range map[string]bool{"y": true, "u": false} {
		table := compute(t, collect("Overall", games...), func(o *Options) { o.Anchor = anchor }).Tables[0]
		sum := 0.0
		for _, r := range table.Rows {
			if r.System == "u" {
				continue
			}
			sum += float64(r.Rating.Value)
			if r.System == anchor && (r.Rating.Value != 1000 || r.Elo != 1000 || r.Sandwich.Low != 1000) {
				t.Errorf("%+v", r)
			}
		}
		noted := slices.ContainsFunc(table.Notes, func(n string) bool {
			return strings.Contains(n, "u cannot be rated here")
		})
		if noted == rated || !rated && math.Abs(sum-3000) > 1e-6 {
			t.Errorf("anchor %s: sum %v, notes %q", anchor, sum, table.Notes)
		}
	}
	o := DefaultOptions()
	o.Anchor = "nobody"
	if _, err := collect("Overall", games...).Compute(t.Context(), o); err == nil || !strings.Contains(err.Error(),
		"nobody") {
		t.Errorf("%v", err)
	}
}

// TestInconsistent: pairs on which judgements differ are half a win of each, or left out.
func TestInconsistent(t *testing.T) {
	games := []string{"x>y", "y>x", "x?y", "x?y"}
	tie := compute(t, collect("Overall", games...), nil).Tables[0]
	out := compute(t, collect("Overall", games...), func(o *Options) { o.Inconsistent = InconsistentOut }).Tables[0]
	if tie.Games != 4 || out.Games != 2 || tie.Inconsistent != 2 || out.Inconsistent != 2 || tie.Rows[0].Tied != 2 {
		t.Errorf("%+v\n%+v", tie, out)
	}
}

// TestHalo: by hand. Inconsistent pairs have no verdict, and types without games no order.
func TestHalo(t *testing.T) {
	v := collect("Fluency", "x>y", "y>x", "x>y", "x=z", "y>z", "x>z")
	add(v, "Repetition", "x>y", "x>y", "x?y", "x=z", "y>z", "x>z")
	add(v, "Refusal", "x-y", "y-x")
	add(v, verdicts.Overall, "y>x", "y>x")
	h := compute(t, v, nil).Halo
	// Of the six pairs the second was asked about the other way round by the first type, the third is inconsistent.
	if h.Types != 2 || h.Pairs != 4 || h.Same != 1 || h.Tau != 1 {
		t.Errorf("%+v", h)
	}
	if h := compute(t, collect("Fluency", "x>y", "y>z"), nil).Halo; h != nil {
		t.Errorf("one type: %+v", h)
	}
	two := collect("Fluency", "x>y")
	add(two, "Repetition", "x>y")
	if h := compute(t, two, nil).Halo; h != nil {
		t.Errorf("two systems: %+v", h)
	}
}

// TestCores: the number of cores changes nothing.
func TestCores(t *testing.T) {
	v := collect("Overall", "x>y", "y>x", "x>y", "y=x", "x>y", "y>z", "z>y", "z>x", "x>z")
	all, err := json.Marshal(compute(t, v, nil))
	if err != nil {
		t.Fatal(err)
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	if one, err := json.Marshal(compute(t, v, nil)); err != nil || !bytes.Equal(all, one) {
		t.Errorf("%v: %s\n%s", err, all, one)
	}
}

// TestSettled: what differs clearly is settled; what does not, or cannot be rated, is not.
func TestSettled(t *testing.T) {
	var clear, close []string
	for range 60 {
		clear = append(clear, "x>y", "x>y", "x>y", "y>x")
		close = append(close, "x>y", "y>x")
	}
	for want, v := range map[bool]*Verdicts{true: collect("Overall", clear...), false: collect("Overall", close...)} {
		if got := v.Settled("Overall", 1); got != want {
			t.Errorf("settled %v, want %v", got, want)
		}
	}
	few := collect("Overall", clear[:24]...)
	if !few.Settled("Overall", 1) && !collect("Overall", clear[:60]...).Settled("Overall", 1) || few.Settled("Overall",
		1000) {
		t.Error("later looks ask for no more")
	}
	if collect("Overall", "x>y", "x>y").Settled("Overall", 1) || NewVerdicts(nil).Settled("Overall", 1) {
		t.Error("what cannot be rated is settled")
	}
}
