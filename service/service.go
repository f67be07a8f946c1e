// Package service is an HTTP API over models on this machine, one a taxonomy: rows in, rows with diagnoses or scores
// out. The rows of all requests for a taxonomy go through one identifier, in turns. Package cmd serves it, behind
// internal/loopback.
package service

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/erreval/erreval/identifier"
	"github.com/erreval/erreval/internal/loopback"
	"github.com/erreval/erreval/models"
)

// Model finds the errors.
type Model struct {
	Identifier *identifier.Identifier
	Manifest   *models.Manifest
	SHA256     string
	Device     string
	Workers    int
	LabelsOnly bool // diagnoses have no probabilities
	// Batch is how many rows are read at once where the identifier computes batches; 0 is a row at a time.
	Batch int
	Close func() error
}

// Bounds are limits; each is at least 1.
type Bounds struct {
	Body  int64         // bytes in a request
	Rows  int           // in a request
	Queue int           // requests at a time that are read or answered
	Time  time.Duration // from a request's header to the end of its reply
	Stall time.Duration // that a client may take until it reads on, or sends on at minRate
}

// DefaultBounds are those of the command.
func DefaultBounds() Bounds {
	return Bounds{Body: 64 << 20, Rows: 100_000, Queue: 64, Time: time.Hour, Stall: 30 * time.Second}
}

// heavyRows is the longest records, in bytes, that are read at a time in all requests whose records are not all small.
// Reading takes a few times as much memory.
const heavyRows = 16 << 20

// bodiesHeld is how many bodies of the largest size are held at a time, in all requests.
const bodiesHeld = 8

// Options say what is served.
type Options struct {
	Task          // of requests that name no taxonomy
	Others []Task // of those that name one of these
	Guard  *loopback.Guard
	Bounds Bounds
	View   http.Handler // shows files of rows: what it has under /view/ needs the token; nil is none
	Build  string
}

// Service answers requests. Close ends it.
type Service struct {
	o        Options
	taggers  []*tagger // of Task, then of Others
	handler  http.Handler
	metrics  *metrics
	slots    chan struct{}
	held     atomic.Int64 // bytes of bodies
	heavy    *semaphore.Weighted
	draining atomic.Bool
	life     context.Context // until Close
	end      context.CancelFunc
}

// New makes a service. No model is opened yet.
func New(o Options) (*Service, error) {
	s := &Service{o: o, slots: make(chan struct{}, o.Bounds.Queue),
		heavy: semaphore.NewWeighted(heavyRows)}
	s.life, s.end = context.WithCancel(context.Background())
	s.metrics = newMetrics(s)
	for _, task := range slices.Concat([]Task{o.Task}, o.Others) {
		t, err := newTagger(s, task)
		if err != nil {
			return nil, err
		}
		s.taggers = append(s.taggers, t)
	}
	page, err := docs()
	if err != nil {
		return nil, err
	}
	s.handler = o.Guard.Protect(s.routes(page))
	return s, nil
}

// ServeHTTP is one request.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

func (s *Service) routes(page []byte) http.Handler {
	mux := http.NewServeMux()
	handle := func(pattern string, h http.Handler) { mux.Handle(pattern, s.watched(pattern, h)) }
	open := func(method, path string, h http.Handler) {
		handle(method+" "+path, h)
		handle(path, loopback.RefuseMethod(method))
	}
	withToken := func(method, path string, h http.HandlerFunc) { open(method, path, s.o.Guard.WithToken(h)) }
	withToken(http.MethodPost, "/v1/identify", s.byTaxonomy(s.identify, paramThreshold, paramMap, paramTaxonomy))
	withToken(http.MethodPost, "/v1/score", s.byTaxonomy(s.score, paramMap, paramTaxonomy))
	withToken(http.MethodGet, "/v1/model", s.byTaxonomy(s.describeModel, paramTaxonomy))
	withToken(http.MethodGet, "/v1/taxonomy", s.byTaxonomy(s.describeTaxonomy, paramTaxonomy))
	withToken(http.MethodGet, "/metrics", s.metrics.handler.ServeHTTP)
	open(http.MethodGet, "/healthz", http.HandlerFunc(s.health))
	open(http.MethodGet, "/openapi.json", fixed("application/json", openAPI))
	open(http.MethodGet, "/docs", fixed("text/html; charset=utf-8", page))
	open(http.MethodGet, "/docs.css", fixed("text/css; charset=utf-8", docsStyle))
	if s.o.View != nil {
		handle("/view/", s.o.Guard.WithToken(http.HandlerFunc(s.query)))
	}
	handle("/", http.HandlerFunc(s.rest))
	return mux
}

// rest is whatever is not of the API.
func (s *Service) rest(w http.ResponseWriter, r *http.Request) {
	if s.o.View != nil {
		s.o.View.ServeHTTP(w, r)
		return
	}
	NotFound(w, r)
}

// NotFound refuses a path that is not served.
func NotFound(w http.ResponseWriter, r *http.Request) {
	loopback.Refuse(w, http.StatusNotFound, "there is no "+r.URL.Path+"; /openapi.json lists what there is")
}

// maxQuery is how many bytes the view may be sent.
const maxQuery = 1 << 20

// query has the view answer. What it is asked comes before, so that the answer may take longer than that.
func (s *Service) query(w http.ResponseWriter, r *http.Request) {
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxQuery))
	if err != nil {
		fail(w, r, false, refuse(http.StatusBadRequest, fmt.Errorf("the query cannot be read: %w", err)))
		return
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{}) // as in body.fill
	r.Body = io.NopCloser(bytes.NewReader(data))
	s.o.View.ServeHTTP(w, r)
}

// OpenModel opens the model of requests that name no taxonomy, unless it is open, and waits for it until ctx ends.
// After a failure the next call tries again.
func (s *Service) OpenModel(ctx context.Context) (*Model, error) { return s.taggers[0].openModel(ctx) }

// Drain refuses new rows, and waits until those that were taken are answered or ctx ends.
func (s *Service) Drain(ctx context.Context) {
	s.draining.Store(true)
	for range cap(s.slots) {
		select {
		case s.slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
	}
}

// Close frees the models. Rows that are under way are cut off.
func (s *Service) Close() error {
	s.draining.Store(true)
	s.end()
	var errs []error
	for _, t := range s.taggers {
		errs = append(errs, t.close())
	}
	return errors.Join(errs...)
}

// health says whether rows are taken, and how the model of those that name no taxonomy is. One that is not open yet is
// opened by the first of them.
func (s *Service) health(w http.ResponseWriter, _ *http.Request) {
	model := s.taggers[0].state()
	draining := s.draining.Load()
	ready := !draining && model != modelFailed
	if !ready {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	loopback.Reply(w, map[string]any{"live": true, "ready": ready, "draining": draining, "model": model})
}

// problem is an error with the status that says it.
type problem struct {
	status int
	err    error
}

func (p *problem) Error() string { return p.err.Error() }
func (p *problem) Unwrap() error { return p.err }

func refuse(status int, err error) error { return &problem{status, err} }

// retryAfter is what a client waits that came in vain, in seconds.
const retryAfter = "1"

// fail replies with an error, if it still can: a reply that has begun is cut off, so that nobody takes it for whole.
func fail(w http.ResponseWriter, r *http.Request, began bool, err error) {
	status := http.StatusInternalServerError
	var p *problem
	switch told := errors.As(err, &p); {
	case began, !told && r.Context().Err() != nil:
		panic(http.ErrAbortHandler)
	case told:
		status = p.status
	case errors.Is(err, context.DeadlineExceeded):
		status = http.StatusGatewayTimeout
		err = errors.New("the request takes longer than the server allows; send fewer rows")
	case errors.Is(err, errClosed):
		status = http.StatusServiceUnavailable
	}
	if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", retryAfter)
	}
	if status == http.StatusRequestTimeout {
		w.Header().Set("Connection", "close") // nobody waits for the rest of the body
	}
	loopback.Refuse(w, status, err.Error())
}
