package models_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/erreval/erreval/models"
	"github.com/erreval/erreval/models/embedded"
)

// TestEmbeddingGraph: what is not there is said; identifier's tests run the graph.
func TestEmbeddingGraph(t *testing.T) {
	m, err := models.OpenFS(embedded.Default(), "default", questions(t))
	if err != nil {
		t.Fatal(err)
	}
	whole := len(m.Graph)
	m.Graph = nil // as after a session was opened
	graph, err := m.EmbeddingGraph()
	if err != nil || len(graph) < whole/2 || len(graph) >= whole {
		t.Errorf("%d bytes of %d, %v", len(graph), whole, err)
	}
	m.Manifest.Embedding.Tensor = "nothing"
	var unfit *models.UnfitError
	if _, err := m.EmbeddingGraph(); !errors.As(err, &unfit) || !strings.Contains(err.Error(), `no tensor "nothing"`) {
		t.Errorf("another tensor: %v", err)
	}
	m.Manifest.Embedding = nil
	if _, err := m.EmbeddingGraph(); !errors.As(err, &unfit) || !errors.Is(err, models.ErrNoEmbedding) {
		t.Errorf("none: %v", err)
	}
	dir, _ := external(t)
	if m, err = models.Open(dir, questions(t)); err != nil {
		t.Fatal(err)
	}
	m.Manifest.Embedding = &models.Embedding{Tensor: "logits", Layer: 1, Size: 32}
	if _, err := m.EmbeddingGraph(); err == nil || !strings.Contains(err.Error(), "in a file of their own") {
		t.Errorf("weights apart: %v", err)
	}
	m.Manifest.Embedding = &models.Embedding{Layer: 0, Size: 1 << 20}
	if err := m.Manifest.Validate(); err == nil || !strings.Contains(err.Error(), "embedding must name") {
		t.Errorf("a wrong manifest: %v", err)
	}
}
