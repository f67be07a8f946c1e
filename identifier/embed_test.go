package identifier_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/erreval/erreval/identifier"
	"github.com/erreval/erreval/identifier/ort/orttest"
	"github.com/erreval/erreval/models"
	"github.com/erreval/erreval/models/embedded"
)

// embeddingWitness is what onnxruntime gives in Python: testdata/make_embeddings.py.
type embeddingWitness struct {
	Texts         []string
	Bert, Default struct {
		Tensor  string
		Vectors [][]float64
	}
}

func embeddings(t *testing.T) *embeddingWitness {
	t.Helper()
	data, err := os.ReadFile("testdata/embeddings.json")
	if err != nil {
		t.Fatal(err)
	}
	w := &embeddingWitness{}
	if err := json.Unmarshal(data, w); err != nil {
		t.Fatal(err)
	}
	return w
}

func newEmbedder(t *testing.T, m *models.Model) *identifier.Embedder {
	t.Helper()
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

// The vectors are those of onnxruntime in Python: to 1e-4 in fp32; in int8, whose products round differently from one
// processor to the next, to what that may move.
func TestEmbed(t *testing.T) {
	w := embeddings(t)
	bert := open(t, "bert", models.JoinFields)
	bert.Manifest.Embedding = &models.Embedding{Tensor: w.Bert.Tensor, Layer: 1, Size: 32}
	standard, err := models.OpenFS(embedded.Default(), "default", questions(t))
	if err != nil {
		t.Fatal(err)
	}
	if got := standard.Manifest.Embedding.Tensor; got != w.Default.Tensor {
		t.Errorf("the default model's tensor is %q, the witness's %q", got, w.Default.Tensor)
	}
	for _, c := range []struct {
		model     *models.Model
		vectors   [][]float64
		tolerance float64
	}{{bert, w.Bert.Vectors, 1e-4}, {standard, w.Default.Vectors, 5e-2}} {
		for _, workers := range []int{1, 3} {
			before := runtime.GOMAXPROCS(workers)
			got, err := newEmbedder(t, c.model).Embed(t.Context(), w.Texts)
			runtime.GOMAXPROCS(before)
			if err != nil {
				t.Fatal(err)
			}
			for i, want := range c.vectors {
				if worst := distance(got[i], want); worst > c.tolerance || len(got[i]) != len(want) {
					t.Errorf("%s, %d workers, text %d: differs by %v", c.model.Source, workers, i, worst)
				}
			}
		}
	}
}

// distance is the largest difference of two numbers; infinite where the vectors have other lengths.
func distance(got []float32, want []float64) float64 {
	if len(got) != len(want) {
		return math.Inf(1)
	}
	worst := 0.0
	for k := range got {
		worst = max(worst, math.Abs(float64(got[k])-want[k]))
	}
	return worst
}

// A text's vector does not depend on its neighbours, and the order of texts is that of the vectors.
func TestEmbedKeepsOrder(t *testing.T) {
	m, err := models.OpenFS(embedded.Default(), "default", questions(t))
	if err != nil {
		t.Fatal(err)
	}
	e := newEmbedder(t, m)
	texts := []string{"one", "two words", "three words here", "four"}
	all, err := e.Embed(t.Context(), texts)
	if err != nil {
		t.Fatal(err)
	}
	for i, text := range texts {
		alone, err := e.Embed(t.Context(), []string{text})
		if err != nil || !slices.Equal(alone[0], all[i]) {
			t.Errorf("%q: another vector alone, %v", text, err)
		}
	}
	if none, err := e.Embed(t.Context(), nil); err != nil || len(none) != 0 {
		t.Errorf("of nothing: %v, %v", none, err)
	}
}

type fakeHidden func(ctx context.Context) error

func (f fakeHidden) RunHidden(ctx context.Context, _ identifier.Input, _ []float32) error {
	return f(ctx)
}

func TestEmbedFails(t *testing.T) {
	m, err := models.OpenFS(embedded.Default(), "default", questions(t))
	if err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	ctx, cancel := context.WithCancel(t.Context())
	e, err := identifier.NewEmbedder(m, fakeHidden(func(ctx context.Context) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return broken
	}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Embed(ctx, []string{"a"}); !errors.Is(err, broken) || !strings.Contains(err.Error(), "text 1:") {
		t.Errorf("a failure: %v", err)
	}
	if _, err := e.Embed(ctx, []string{"a", "\xff"}); err == nil || !strings.Contains(err.Error(), "text 2:") {
		t.Errorf("no UTF-8: %v", err)
	}
	cancel()
	if _, err := e.Embed(ctx, []string{"a"}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	m.Manifest.Embedding = nil
	if _, err := identifier.NewEmbedder(m, nil); !errors.Is(err, models.ErrNoEmbedding) {
		t.Errorf("a model without: %v", err)
	}
}

func BenchmarkEmbed(b *testing.B) {
	m, err := models.OpenFS(embedded.Default(), "default", questions(b))
	if err != nil {
		b.Fatal(err)
	}
	graph, err := m.EmbeddingGraph()
	if err != nil {
		b.Fatal(err)
	}
	e, err := identifier.NewEmbedder(m, orttest.Runner(b, graph, m.Manifest.Inputs, models.EmbeddingOutput))
	if err != nil {
		b.Fatal(err)
	}
	texts := slices.Repeat([]string{"The passage gives 1931 as the opening year, but the answer says 1958."}, 100)
	for b.Loop() {
		if _, err := e.Embed(b.Context(), texts); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N*len(texts))/b.Elapsed().Seconds(), "texts/s")
}
