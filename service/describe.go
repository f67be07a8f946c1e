package service

import (
	"fmt"
	"net/http"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/loopback"
	"github.com/erreval/erreval/models"
)

// modelFacts are what a client may know of the model.
type modelFacts struct {
	Model        string                `json:"model"`  // name@version, as diagnoses name it
	SHA256       string                `json:"sha256"` // of its files
	Source       string                `json:"source,omitempty"`
	Taxonomy     string                `json:"taxonomy"` // that rows are tagged with
	Architecture string                `json:"architecture"`
	Precision    string                `json:"precision"`
	MaxTokens    int                   `json:"max_tokens"`
	Fields       []string              `json:"fields"`
	Thresholds   dataset.Probabilities `json:"thresholds"`
	Licence      string                `json:"licence"`
	TrainingData []models.TrainingData `json:"training_data"`
	Quality      map[string]any        `json:"quality"`
	Device       string                `json:"device"`
	Workers      int                   `json:"workers"` // rows, or batches, at a time
	Batches      bool                  `json:"batches"` // rows of several requests are computed together
	Build        string                `json:"build"`
}

func (s *Service) describeModel(w http.ResponseWriter, r *http.Request, t *tagger) {
	m, err := t.openModel(r.Context())
	if err != nil {
		fail(w, r, false, refuse(http.StatusServiceUnavailable, fmt.Errorf("the model cannot be opened: %w", err)))
		return
	}
	f := m.Manifest
	facts := modelFacts{Model: f.ID(), SHA256: m.SHA256, Source: f.Source, Taxonomy: t.Taxonomy.ID(),
		Architecture: f.Architecture, Precision: f.Precision, MaxTokens: f.MaxTokens, Fields: f.Fields,
		Thresholds: m.Identifier.Thresholds(), Licence: f.Licence, TrainingData: f.TrainingData, Quality: f.Quality,
		Device: m.Device, Workers: m.Workers, Batches: m.Batch > 0, Build: s.o.Build}
	loopback.Reply(w, facts)
}

func (s *Service) describeTaxonomy(w http.ResponseWriter, _ *http.Request, t *tagger) {
	loopback.Reply(w, t.Taxonomy)
}
