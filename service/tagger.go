package service

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/scorer"
	"github.com/erreval/erreval/taxonomy"
)

// Task is a taxonomy that rows are served for.
type Task struct {
	Taxonomy *taxonomy.Taxonomy
	Reading  dataset.Options // Map, ID and MaxRecord of it
	// Open makes the model; ran must be called after each of its runs, with the number of rows, from any goroutine.
	Open func(ctx context.Context, ran func(rows int)) (*Model, error)
}

// tagger tags and scores the rows of a Task. Its model is opened by the first request that needs it, and stays open.
type tagger struct {
	Task
	s       *Service
	offline *scorer.Offline // nil where the taxonomy has no dimensions

	mu      sync.Mutex
	opening chan struct{} // closed once opened or failed; nil before
	model   *Model
	pool    *pool
	failed  error // of the last opening
}

func newTagger(s *Service, task Task) (t *tagger, err error) {
	t = &tagger{Task: task, s: s}
	t.Reading.Taxonomy = t.Taxonomy
	if len(t.Taxonomy.Dimensions) > 0 {
		t.offline, err = scorer.NewOffline(t.Taxonomy, scorer.OfflineOptions{})
	}
	return t, err
}

// byTaxonomy has answer know the taxonomy that a request names, or the first where it names none. Other parameters than
// those known, if there are any, are refused.
func (s *Service) byTaxonomy(answer func(http.ResponseWriter, *http.Request, *tagger),
	known ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		t, err := s.tagger(r.URL.Query()[paramTaxonomy])
		if err == nil {
			err = checkParameters(r, known)
		}
		if err != nil {
			fail(w, r, false, refuse(http.StatusBadRequest, err))
			return
		}
		answer(w, r, t)
	}
}

// tagger finds that of a request's taxonomies, of which there may be one at most.
func (s *Service) tagger(given []string) (*tagger, error) {
	if len(given) == 0 {
		return s.taggers[0], nil
	}
	if len(given) > 1 {
		return nil, fmt.Errorf("the address has %d taxonomies; name one a request", len(given))
	}
	names := make([]string, len(s.taggers))
	for i, t := range s.taggers {
		if names[i] = t.Taxonomy.Name; names[i] == given[0] {
			return t, nil
		}
	}
	return nil, fmt.Errorf("this server has no model for a taxonomy %.40q; it has for %s", given[0],
		strings.Join(names, ", "))
}

// openModel opens the model, unless it is open, and waits for it until ctx ends. After a failure the next call tries
// again.
func (t *tagger) openModel(ctx context.Context) (*Model, error) {
	t.mu.Lock()
	if t.opening == nil {
		t.opening = make(chan struct{})
		go t.open(t.opening) // for whoever comes next, too
	}
	opening := t.opening
	t.mu.Unlock()
	select {
	case <-opening:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.model, t.failed
}

func (t *tagger) open(opened chan<- struct{}) {
	m, err := t.Open(t.s.life, t.s.metrics.ran)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.model, t.failed = m, err
	if err != nil {
		t.opening = nil
	} else {
		t.pool = newPool(m.Identifier, m.Batch)
	}
	close(opened)
}

// modelFailed is the state of a model that could not be opened.
const modelFailed = "failed"

// state is how the model is, as /healthz says it.
func (t *tagger) state() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.failed != nil:
		return modelFailed
	case t.opening == nil:
		return "opened at the first call"
	case t.model == nil:
		return "opening"
	}
	return "opened"
}

// queued is the number of rows that wait for the model.
func (t *tagger) queued() int {
	t.mu.Lock()
	p := t.pool
	t.mu.Unlock()
	if p == nil {
		return 0
	}
	return p.length()
}

// close frees the model. Rows that are under way are cut off.
func (t *tagger) close() error {
	t.mu.Lock()
	opening := t.opening
	t.mu.Unlock()
	if opening == nil {
		return nil
	}
	<-opening
	if t.model == nil {
		return nil
	}
	t.pool.close()
	return t.model.Close()
}
