package selection

import (
	"math"
	"strings"
	"testing"
)

// jaccard is the exact similarity of two texts' pieces.
func jaccard(a, b string) float64 {
	pieces := func(text string) map[string]bool {
		r, set := []rune(normal(text)), map[string]bool{}
		for i := 0; i == 0 || i+pieceLength <= len(r); i++ {
			set[string(r[i:min(i+pieceLength, len(r))])] = true
		}
		return set
	}
	x, y := pieces(a), pieces(b)
	both := 0
	for p := range x {
		if y[p] {
			both++
		}
	}
	return float64(both) / float64(len(x)+len(y)-both)
}

func TestAlikeEstimatesJaccard(t *testing.T) {
	words := strings.Fields("the harbour at marrow point was built in two winters by an engineer who had never seen a " +
		"ship before " +
		"and a mason from the town whose wall of granite still stands where copper pans hang above the quiet bees")
	sum, n := 0.0, 0
	for i := range len(words) {
		for cut := 1; cut < 12; cut++ {
			a := strings.Join(append(words[i:], words[:i]...), " ")
			b := strings.Join(append(words[(i+cut)%len(words):], words[:i]...), " ")
			d := alike(newSketch([]string{a}), newSketch([]string{b})) - jaccard(a, b)
			if math.Abs(d) > 0.35 { // five standard errors
				t.Errorf("%q and %q: off by %v", a, b, d)
			}
			sum += d
			n++
		}
	}
	if bias := sum / float64(n); math.Abs(bias) > 0.03 {
		t.Errorf("biased by %v over %d pairs", bias, n)
	}
}

func TestAlikeIsTheLeastOfTheFields(t *testing.T) {
	passage := "Oke was a mason of the town, and Caldwell the engineer of its harbour."
	a := newSketch([]string{"Who built the wall?", "Oke", passage})
	for _, c := range []struct {
		fields []string
		want   float64
	}{
		{[]string{"who built   the WALL", "“Oke”", passage}, 1},
		{[]string{"Who built the wall?", "Caldwell", passage}, 0},
		{[]string{"Who built the wall?", "", passage}, 0},
		{[]string{"Zyx", "Oke", passage}, 0},
	} {
		b := newSketch(c.fields)
		if got := alike(a, b); got != c.want || alike(b, a) != got {
			t.Errorf("%q: %v and back %v, want %v", c.fields, got, alike(b, a), c.want)
		}
	}
}

func TestLikenessFindsNearDuplicates(t *testing.T) {
	l := newLikeness(0.7)
	add := func(id string, fields ...string) { l.add(id, newSketch(fields)) }
	add("a", "Which engineer designed the harbour wall at Marrow Point?", "Ines Caldwell")
	add("b", "How many days does it take until a new queen hatches?", "sixteen")
	for question, want := range map[string]string{
		"Which engineer designed the harbour wall at Marrow Point":       "a",
		"which engineer designed the harbour walls at Marrow Point?":     "a",
		"Which mason settled the blocks of the harbour at Marrow Point?": "",
		"Why?": "",
	} {
		if got := l.find(newSketch([]string{question, "Ines Caldwell"})); got != want {
			t.Errorf("%q: %q, want %q", question, got, want)
		}
	}
	if got := l.find(newSketch([]string{"Which engineer designed the harbour wall at Marrow Point?", "Oke"})); got != "" {
		t.Errorf("another answer is taken for %q", got)
	}
}

func FuzzSketch(f *testing.F) {
	f.Add("Who?", "")
	f.Add("東京 🐝 \x00", "ﬀ İ")
	f.Fuzz(func(t *testing.T, a, b string) {
		x, y := newSketch([]string{a, b}), newSketch([]string{b, a})
		if s := alike(x, x); s != 1 {
			t.Errorf("a row is alike to itself by %v", s)
		}
		if s := alike(x, y); s != alike(y, x) || s < 0 || s > 1 {
			t.Errorf("alike by %v, and back by %v", s, alike(y, x))
		}
		l := newLikeness(0.5)
		l.add("x", x)
		if got := l.find(x); got != "x" {
			t.Errorf("a row does not find itself but %q", got)
		}
	})
}
