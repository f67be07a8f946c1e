package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// witness is what scipy and scikit-learn give: testdata/make_cluster.py.
type witness struct {
	Trees []struct {
		Weights  []int
		Distance [][]float64
		Cuts     []struct {
			Cut    float64
			Groups []int
		}
	}
	Similarity struct {
		Sentences []string
		Cosine    [][]float64
	}
}

func readWitness(t *testing.T) *witness {
	t.Helper()
	data, err := os.ReadFile("testdata/cluster.json")
	if err != nil {
		t.Fatal(err)
	}
	w := &witness{}
	if err := json.Unmarshal(data, w); err != nil {
		t.Fatal(err)
	}
	if len(w.Trees) < 7 || len(w.Similarity.Sentences) < 26 {
		t.Fatal("the witness is not whole")
	}
	return w
}

// inOrder numbers groups in the order of first items.
func inOrder(groups []int) []int {
	same := make([]int, len(groups))
	for i := range same {
		same[i] = i
	}
	return renumber(same, groups)
}

func TestAgglomerateEqualsScipy(t *testing.T) {
	for i, tree := range readWitness(t).Trees {
		for _, c := range tree.Cuts {
			got := Agglomerate(tree.Weights, func(i, j int) float64 { return tree.Distance[i][j] }, c.Cut)
			if want := inOrder(c.Groups); !reflect.DeepEqual(got, want) {
				t.Errorf("tree %d, cut %v: %v, want %v", i, c.Cut, got, want)
			}
		}
	}
}

// Equal distances, and those that are no numbers, give a result that does not change.
func TestAgglomerateTies(t *testing.T) {
	ones := func(int, int) float64 { return 1 }
	for cut, want := range map[float64][]int{1: {0, 0, 0, 0}, 0.5: {0, 1, 2, 3}} {
		if got := Agglomerate([]int{1, 2, 1, 1}, ones, cut); !reflect.DeepEqual(got, want) {
			t.Errorf("cut %v: %v, want %v", cut, got, want)
		}
	}
	// A row of points one apart: the pairs from the left are joined.
	line := func(i, j int) float64 { return float64(j - i) }
	if got := Agglomerate(slices.Repeat([]int{1}, 5), line, 1); !reflect.DeepEqual(got, []int{0, 0, 1, 1, 2}) {
		t.Errorf("a line: %v", got)
	}
	nan := func(i, j int) float64 { return math.NaN() }
	if got := Agglomerate([]int{1, 1}, nan, 1); !reflect.DeepEqual(got, []int{0, 1}) {
		t.Errorf("no numbers: %v", got)
	}
	if got := Agglomerate(nil, ones, 1); len(got) != 0 {
		t.Errorf("of nothing: %v", got)
	}
}

func TestSimilarityEqualsScikitLearn(t *testing.T) {
	w := readWitness(t).Similarity
	x, err := NewIndex(w.Sentences, nil)
	if err != nil {
		t.Fatal(err)
	}
	var all []int
	for i := range w.Sentences {
		all = append(all, i)
	}
	targets, got := x.itemTargets(all), make([]float64, len(all))
	for i, s := range w.Sentences {
		targets.scores(x.grouping, i, 0, got)
		for j, want := range w.Cosine[i] {
			if math.Abs(got[j]-want) > 1e-5 {
				t.Errorf("%q and %q: %v, want %v", s, w.Sentences[j], got[j], want)
			}
		}
	}
}

func TestKey(t *testing.T) {
	for _, same := range [][]string{
		{"The question is vague.", "the  question is VAGUE", "Question is vague!", "A question\tis “vague”…"},
		{"It doesn't say", "it doesn’t say."},
		{"?!", " ?!\n"},
	} {
		for _, s := range same[1:] {
			if Key(s) != Key(same[0]) {
				t.Errorf("%q and %q: %q and %q", s, same[0], Key(s), Key(same[0]))
			}
		}
	}
	for _, other := range [][2]string{
		{"The answer is 12.", "The answer is 13."},
		{"The answer is in the passage.", "The answer is not in the passage."},
		{"The answer contradicts the passage.", "The passage contradicts the answer."},
		{"“Bank” is wrong.", "“Shore” is wrong."},
		{"It says Anna.", "It says Otto."},
		{"?", "!"},
	} {
		if Key(other[0]) == Key(other[1]) {
			t.Errorf("%q and %q are both %q", other[0], other[1], Key(other[0]))
		}
	}
}

// With vectors both count: a Shortlist compares with the mean of a group.
func TestShortlistByVectors(t *testing.T) {
	x, err := NewIndex([]string{"cat", "house", "dog", "villa"}, [][]float32{{1, 0}, {0, 1}, {1, 0.1}, {0.1, 1}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := NewIndex([]string{"a"}, [][]float32{}); err == nil {
		t.Error("too few vectors")
	}
	s := x.NewShortlist()
	if got := s.Nearest(0, 3); len(got) != 0 {
		t.Errorf("without groups: %v", got)
	}
	s.Add(2, 0)
	s.Add(0, 1)
	for at, want := range map[int][]int{2: {2, 0}, 3: {0, 2}} {
		got := s.Nearest(at, 9)
		if len(got) != 2 || got[0].At != want[0] || got[1].At != want[1] {
			t.Errorf("%d: %+v, want %v", at, got, want)
		}
	}
	if got := s.Nearest(2, 1); len(got) != 1 {
		t.Errorf("the first: %+v", got)
	}
}

func TestNames(t *testing.T) {
	sentences := []string{"The code has no comments.", "Comments are missing in the code.", "No comments.",
		"The reply is rude.", "nothing", "A rude and unfriendly reply 12"}
	groups := []int{0, 0, 0, 2, -1, 2}
	want := [][]string{{"comments", "code"}, nil, {"reply", "rude"}}
	if got := Keywords(sentences, groups, 2); !reflect.DeepEqual(got, want) {
		t.Errorf("keywords %q, want %q", got, want)
	}
	if got := Medoids(sentences, groups); !reflect.DeepEqual(got, []int{0, -1, 3}) {
		t.Errorf("medoids %v", got)
	}
	if k, m := Keywords(nil, nil, 3), Medoids(nil, nil); len(k)+len(m) != 0 {
		t.Errorf("of nothing: %v, %v", k, m)
	}
}

func TestGroup(t *testing.T) {
	sentences := []string{"The code has no comments.", "The reply is rude.", "the code has no comments",
		"The reply is very rude!", "?", "The code has few comments."}
	want := []int{0, 1, 0, 1, 2, 0}
	if got, err := Group(t.Context(), sentences, nil, DefaultOptions()); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := Group(t.Context(), nil, nil, DefaultOptions()); err != nil || len(got) != 0 {
		t.Errorf("of nothing: %v, %v", got, err)
	}
	// Vectors decide where the words say nothing.
	got, err := Group(t.Context(), []string{"cat", "house", "dog", "villa"},
		[][]float32{{1, 0}, {0, 1}, {1, 0.1}, {0.1, 1}}, DefaultOptions())
	if err != nil || !reflect.DeepEqual(got, []int{0, 1, 0, 1}) {
		t.Errorf("by vectors: %v, %v", got, err)
	}
}

func TestGroupRefuses(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Group(ctx, []string{"a", "b"}, nil, DefaultOptions()); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	nan := float32(math.NaN())
	for want, vectors := range map[string][][]float32{
		"1 vectors for 2 sentences": {{1}}, "vector 2 has 2 numbers": {{1}, {1, 2}}, "vector 2 holds NaN": {{1}, {nan}},
	} {
		if _, err := Group(t.Context(), []string{"a", "b"}, vectors, DefaultOptions()); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	err := Options{Threshold: math.NaN(), Exact: 1}.Validate()
	for _, want := range []string{"threshold is NaN", "give 2 to"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q in it", err, want)
		}
	}
}

// many gives n sentences of some kinds, each kind with its own words and a few of no kind.
func many(n int, seed uint64) (sentences []string, kind []int) {
	rng := rand.New(rand.NewPCG(seed, 1))
	word := func() string {
		b := make([]byte, 4+rng.IntN(6))
		for i := range b {
			b[i] = "bcdfghklmnprstvwaeiou"[rng.IntN(21)]
		}
		return string(b)
	}
	const kinds = 40
	own := make([][]string, kinds)
	for k := range own {
		for range 8 {
			own[k] = append(own[k], word())
		}
	}
	var loose []string
	for range 5000 {
		loose = append(loose, word())
	}
	for range n {
		k := rng.IntN(kinds)
		var words []string
		for range 6 {
			words = append(words, own[k][rng.IntN(8)])
		}
		for range 3 {
			words = append(words, loose[rng.IntN(len(loose))])
		}
		sentences, kind = append(sentences, strings.Join(words, " ")), append(kind, k)
	}
	return sentences, kind
}

// manyVectors are noise around a point a kind.
func manyVectors(kind []int, size int) [][]float32 {
	rng := rand.New(rand.NewPCG(5, 5))
	centres := make([][]float32, 1+slices.Max(kind))
	for k := range centres {
		for range size {
			centres[k] = append(centres[k], float32(rng.NormFloat64()))
		}
	}
	out := make([][]float32, len(kind))
	for i, k := range kind {
		out[i] = make([]float32, size)
		for j := range out[i] {
			out[i][j] = centres[k][j] + float32(rng.NormFloat64())
		}
	}
	return out
}

// With samples the groups are nearly those without, whatever the order of sentences and the number of cores.
func TestGroupInSamples(t *testing.T) {
	sentences, kind := many(1500, 1)
	vectors := manyVectors(kind, 32)
	for _, v := range [][][]float32{nil, vectors} {
		o := DefaultOptions()
		o.Exact, o.Threshold = 300, 0.15
		got, err := Group(t.Context(), sentences, v, o)
		if err != nil {
			t.Fatal(err)
		}
		whole := o
		whole.Exact = len(sentences)
		exact, err := Group(t.Context(), sentences, v, whole)
		if err != nil {
			t.Fatal(err)
		}
		if ari := adjustedRand(exact, got); ari < 0.95 {
			t.Errorf("vectors %v: adjusted Rand index of the groups with and without samples %v", v != nil, ari)
		}
		cores := runtime.GOMAXPROCS(1)
		again, err := Group(t.Context(), sentences, v, o)
		runtime.GOMAXPROCS(cores)
		if err != nil || !reflect.DeepEqual(again, got) {
			t.Errorf("vectors %v: another result on one core, %v", v != nil, err)
		}
		if ari := adjustedRand(got, backwards(t, sentences, v, o)); ari != 1 {
			t.Errorf("vectors %v: another result for another order: %v", v != nil, ari)
		}
	}
}

// backwards groups the sentences in the opposite order.
func backwards(t *testing.T, sentences []string, vectors [][]float32, o Options) []int {
	t.Helper()
	sentences, vectors = slices.Clone(sentences), slices.Clone(vectors)
	slices.Reverse(sentences)
	slices.Reverse(vectors)
	if len(vectors) == 0 {
		vectors = nil
	}
	got, err := Group(t.Context(), sentences, vectors, o)
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(got)
	return got
}

// BenchmarkGroup groups 100,000 sentences, all of them different.
func BenchmarkGroup(b *testing.B) {
	sentences, kind := many(100_000, 7)
	for name, vectors := range map[string][][]float32{"words": nil, "vectors": manyVectors(kind, 384)} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				got, err := Group(b.Context(), sentences, vectors, DefaultOptions())
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(1+slices.Max(got)), "groups")
			}
		})
	}
}

func FuzzGroup(f *testing.F) {
	f.Add("The code has no comments.\nthe code\n\n?\n\xff\nKein Größenmaß", uint64(1))
	f.Fuzz(func(t *testing.T, text string, seed uint64) {
		sentences := strings.Split(text, "\n")
		o := DefaultOptions()
		o.Exact, o.Seed = 2+int(seed%5), seed
		got, err := Group(t.Context(), sentences, nil, o)
		if err != nil || len(got) != len(sentences) {
			t.Fatalf("%d groups of %d sentences, %v", len(got), len(sentences), err)
		}
		if !reflect.DeepEqual(got, inOrder(got)) {
			t.Errorf("not in order: %v", got)
		}
		byKey := map[string]int{}
		for i, s := range sentences {
			if g, ok := byKey[Key(s)]; ok && g != got[i] {
				t.Errorf("%q is in two groups", s)
			}
			byKey[Key(s)] = got[i]
		}
		if k, m := Keywords(sentences, got, 3), Medoids(sentences, got); len(k) != 1+slices.Max(got) || len(m) != len(k) {
			t.Error(fmt.Sprint(k, m))
		}
	})
}
