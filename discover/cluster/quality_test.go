package cluster

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/erreval/erreval/identifier"
	"github.com/erreval/erreval/identifier/ort/orttest"
	"github.com/erreval/erreval/internal/stats"
	"github.com/erreval/erreval/models"
	"github.com/erreval/erreval/models/embedded"
	"github.com/erreval/erreval/taxonomy"
)

func adjustedRand(a, b []int) float64 { return stats.NewContingency(a, b).AdjustedRand() }

// written are the package's own sentences, with their groups.
type written struct {
	sentences []string
	group     []int
	second    []int // groups of a second reader, of comments
}

// readWritten gives the halves of testdata/issues.jsonl. Neighbouring groups are hard to tell apart, so they come in
// pairs: the first pair is for tuning, the second for the test, and so on.
func readWritten(t *testing.T) (tune, test *written) {
	t.Helper()
	data, err := os.ReadFile("testdata/issues.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	halves, number := [2]*written{{}, {}}, map[string]int{}
	for line := range strings.Lines(string(data)) {
		var row struct{ Group, Sentence string }
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatal(err)
		}
		n, ok := number[row.Group]
		if !ok {
			n = len(number)
			number[row.Group] = n
		}
		half := halves[n/2%2]
		half.sentences, half.group = append(half.sentences, row.Sentence), append(half.group, n)
	}
	return halves[0], halves[1]
}

// embedder gives vectors of the default model's layer, or of another one.
func embedder(t *testing.T, tensor string) *identifier.Embedder {
	t.Helper()
	tax, err := taxonomy.Builtin("question-generation")
	if err != nil {
		t.Fatal(err)
	}
	m, err := models.OpenFS(embedded.Default(), "default", tax)
	if err != nil {
		t.Fatal(err)
	}
	if tensor != "" {
		m.Manifest.Embedding.Tensor = tensor
	}
	graph, err := m.EmbeddingGraph()
	if err != nil {
		t.Fatal(err)
	}
	e, err := identifier.NewEmbedder(m, orttest.Runner(t, graph, m.Manifest.Inputs, models.EmbeddingOutput))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func (w *written) embed(t *testing.T, e *identifier.Embedder) [][]float32 {
	t.Helper()
	v, err := e.Embed(t.Context(), w.sentences)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// similarity is one way to compare the sentences i and j of a half.
type similarity func(i, j int) float64

// words compares by words alone.
func (w *written) words() similarity {
	space := newSpace(w.sentences)
	rows, p := space.rows, newPostings(space.rows, len(space.idf))
	table := make([][]float64, len(rows))
	for i, row := range rows {
		table[i] = make([]float64, len(rows))
		p.scores(row, 1, table[i])
	}
	return func(i, j int) float64 { return table[i][j] }
}

// cosines compares by centred vectors alone.
func cosines(vectors [][]float32) similarity {
	items := make([]item, len(vectors))
	for i, v := range vectors {
		items[i].vector = v
	}
	g := newGrouping(items, DefaultOptions())
	units := make([][]float32, len(vectors))
	for i := range vectors {
		units[i] = g.unit(i)
	}
	return func(i, j int) float64 { return float64(dot(units[i], units[j])) }
}

func both(words, vectors similarity, share float64) similarity {
	return func(i, j int) float64 { return share*words(i, j) + (1-share)*vectors(i, j) }
}

// groupBy groups a half by average linkage.
func (w *written) groupBy(s similarity, threshold float64) []int {
	ones := make([]int, len(w.sentences))
	for i := range ones {
		ones[i] = 1
	}
	return Agglomerate(ones, func(i, j int) float64 { return 1 - s(i, j) }, 1-threshold)
}

// TestQuality measures what the package's comment says. -v prints the table. A threshold is chosen on the tune half;
// the other figures are those of the test half at that threshold.
func TestQuality(t *testing.T) {
	tune, test := readWritten(t)
	report := func(name string, onTune, onTest similarity) float64 {
		best, at := -1.0, 0.0
		for step := range 60 {
			threshold := float64(step) / 100
			if ari := adjustedRand(tune.group, tune.groupBy(onTune, threshold)); ari > best {
				best, at = ari, threshold
			}
		}
		c := stats.NewContingency(test.group, test.groupBy(onTest, at))
		v := c.VMeasure()
		t.Logf("%-34s at %.2f: tune ARI %.2f; test ARI %.2f, V %.2f (homogeneity %.2f, completeness %.2f), %d groups", name,
			at, best, c.AdjustedRand(), v.V, v.Homogeneity, v.Completeness, len(c.B))
		return c.AdjustedRand()
	}
	better := func(name string, onTune, onTest similarity) {
		if ari := report(name, onTune, onTest); ari < 0.05 {
			t.Errorf("%s: adjusted Rand index %.3f, where the baselines have 0", name, ari)
		}
	}
	for name, s := range map[string]similarity{
		"all in one":  func(int, int) float64 { return 1 },
		"each alone ": func(int, int) float64 { return -1 },
	} {
		if ari := report(name, s, s); ari != 0 {
			t.Errorf("%s: adjusted Rand index %v", name, ari)
		}
	}
	tuneWords, testWords := tune.words(), test.words()
	better("words", tuneWords, testWords)
	for layer, tensor := range []string{"LayerNormalization_12", "LayerNormalization_33", "LayerNormalization_51",
		"LayerNormalization_69", "LayerNormalization_87", "LayerNormalization_105", "LayerNormalization_123"} {
		e := embedder(t, tensor)
		onTune, onTest := cosines(tune.embed(t, e)), cosines(test.embed(t, e))
		name := fmt.Sprintf("layer %d", layer)
		better(name, onTune, onTest)
		better("words and "+name, both(tuneWords, onTune, lexicalShare), both(testWords, onTest, lexicalShare))
	}
}

// readComments gives the sets of testdata/comments.jsonl.
func readComments(t *testing.T) map[string]*written {
	t.Helper()
	data, err := os.ReadFile("testdata/comments.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	sets, number := map[string]*written{}, map[string]int{}
	of := func(key string) int {
		if _, ok := number[key]; !ok {
			number[key] = len(number)
		}
		return number[key]
	}
	for line := range strings.Lines(string(data)) {
		var row struct{ Set, Group, Second, Sentence string }
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatal(err)
		}
		w := sets[row.Set]
		if w == nil {
			w = &written{}
			sets[row.Set] = w
		}
		w.sentences, w.group = append(w.sentences, row.Sentence), append(w.group, of(row.Set+": "+row.Group))
		w.second = append(w.second, of(row.Second))
	}
	return sets
}

// TestReaders holds how far two readers agree, as the package's comment says.
func TestReaders(t *testing.T) {
	comments := readComments(t)
	for set, stated := range map[string]float64{"questions": 0.50, "responses": 0.46, "responses, in a few words": 0.65} {
		if got := adjustedRand(comments[set].group, comments[set].second); math.Abs(got-stated) > 0.005 {
			t.Errorf("%s: adjusted Rand index of two readers %.3f; the comment says %.2f", set, got, stated)
		}
	}
}

// TestPromise holds the figures that the package's comment gives for Group as it is.
func TestPromise(t *testing.T) {
	tune, test := readWritten(t)
	comments, e := readComments(t), embedder(t, "")
	questions, responses, notes := comments["questions"], comments["responses"], comments["responses, in a few words"]
	for _, c := range []struct {
		name    string
		half    *written
		vectors [][]float32
		stated  float64 // of all groups
		few     float64 // of 8 groups
	}{
		{"tune, words", tune, nil, 0.19, 0.38}, {"tune, both", tune, tune.embed(t, e), 0.27, 0.43},
		{"test, words", test, nil, 0.13, 0.26}, {"test, both", test, test.embed(t, e), 0.21, 0.40},
		{"questions, both", questions, questions.embed(t, e), 0.10, 0.12},
		{"responses, both", responses, responses.embed(t, e), 0.14, 0.20},
		{"few words, both", notes, notes.embed(t, e), 0.20, 0.32},
	} {
		got, err := Group(t.Context(), c.half.sentences, c.vectors, DefaultOptions())
		if err != nil {
			t.Fatal(err)
		}
		n := stats.NewContingency(c.half.group, got)
		v, few := n.VMeasure(), fewGroups(t, c.half, c.vectors)
		t.Logf("%s: ARI %.3f, V %.3f (homogeneity %.3f, completeness %.3f), %d groups for %d; few groups: ARI %.3f", c.name,
			n.AdjustedRand(), v.V, v.Homogeneity, v.Completeness, len(n.B), len(n.A), few)
		const rounding = 0.05 // int8 rounds differently on other processors
		if ari := n.AdjustedRand(); math.Abs(ari-c.stated) > rounding || math.Abs(few-c.few) > rounding {
			t.Errorf("%s: adjusted Rand index %.3f, of 8 groups %.3f; the comment says %.2f and %.2f", c.name, ari, few,
				c.stated, c.few)
		}
	}
}

// TestShortlist goes through all sentences in an order drawn at random, as a language model that groups them would, and
// holds how often a sentence's group, where it has one already, is among the nearest n.
func TestShortlist(t *testing.T) {
	tune, test := readWritten(t)
	all := &written{sentences: slices.Concat(tune.sentences, test.sentences), group: slices.Concat(tune.group, test.group)}
	for _, c := range []struct {
		name    string
		vectors [][]float32
		stated  map[int]float64
	}{
		{"words", nil, map[int]float64{1: 0.16, 5: 0.45, 10: 0.61, 20: 0.74}},
		{"both", all.embed(t, embedder(t, "")), map[int]float64{1: 0.26, 5: 0.61, 10: 0.76, 20: 0.88}},
	} {
		x, err := NewIndex(all.sentences, c.vectors)
		if err != nil {
			t.Fatal(err)
		}
		found, asked := map[int]int{}, 0
		for draw := range uint64(10) {
			s, known := x.NewShortlist(), map[int]bool{}
			for _, i := range rand.New(rand.NewPCG(draw, 9)).Perm(len(all.sentences)) {
				g := all.group[i]
				if known[g] {
					asked++
					at := slices.IndexFunc(s.Nearest(i, len(all.group)), func(m Match) bool { return m.At == g })
					for n := range c.stated {
						if at < n {
							found[n]++
						}
					}
				}
				known[g] = true
				s.Add(g, i)
			}
		}
		for n, stated := range c.stated {
			share := float64(found[n]) / float64(asked)
			t.Logf("%s: among the nearest %d: %.3f", c.name, n, share)
			if math.Abs(share-stated) > 0.03 { // int8, as in TestPromise
				t.Errorf("%s: among the nearest %d: %.3f, the comment says %.2f", c.name, n, share, stated)
			}
		}
	}
}

// fewGroups is the mean adjusted Rand index over 100 draws of 8 groups.
func fewGroups(t *testing.T, w *written, vectors [][]float32) float64 {
	t.Helper()
	const draws = 100
	rng, sum := rand.New(rand.NewPCG(3, 3)), 0.0
	names := stats.NewContingency(w.group, w.group).A
	for range draws {
		rng.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		var sentences []string
		var group []int
		var part [][]float32
		for i, g := range w.group {
			if slices.Contains(names[:8], g) {
				sentences, group = append(sentences, w.sentences[i]), append(group, g)
				if vectors != nil {
					part = append(part, vectors[i])
				}
			}
		}
		got, err := Group(t.Context(), sentences, part, DefaultOptions())
		if err != nil {
			t.Fatal(err)
		}
		sum += adjustedRand(group, got) / draws
	}
	return sum
}
