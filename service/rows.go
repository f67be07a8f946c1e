package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sync/semaphore"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/loopback"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/models"
)

// rejection stands in a reply in the place of a line that is no row.
type rejection struct {
	Status string `json:"status"` // "rejected"
	Line   int    `json:"line"`   // 1-based; of a list, the item
	Reason string `json:"reason"`
}

// reply writes rows as JSON Lines.
type reply struct {
	s     *Service
	w     http.ResponseWriter
	out   *dataset.Writer
	notes []string // of the reader of the body
	began bool
}

// headerNotes says what was assumed about the rows, as which column was taken for a field.
const headerNotes = "Erreval-Notes"

// longestNotes is how many bytes they have there: clients allow a few thousand in all headers.
const longestNotes = 2000

// headerText makes notes one line of printable ASCII; other characters become their escapes.
func headerText(notes []string) string {
	quoted := strconv.QuoteToASCII(words.Printable(strings.Join(notes, " | ")))
	text := strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
	if len(text) > longestNotes {
		text = text[:longestNotes-len("...")]
		if i := strings.LastIndexByte(text, '\\'); i > len(text)-len(`\u0000`) {
			text = text[:i] // what is left of an escape
		}
		text += "..."
	}
	return text
}

func newReply(s *Service, w http.ResponseWriter) *reply {
	return &reply{s: s, w: w, out: dataset.NewWriter(w)}
}

func (p *reply) write(row *dataset.Row, outcome string) error {
	if !p.began {
		p.began = true
		p.w.Header().Set("Content-Type", "application/x-ndjson")
		if len(p.notes) > 0 {
			p.w.Header().Set(headerNotes, headerText(p.notes))
		}
	}
	p.s.metrics.rows.WithLabelValues(outcome).Inc()
	return p.out.Write(row)
}

func (p *reply) reject(fault *dataset.LineError) error {
	row, err := dataset.RowOf(rejection{"rejected", fault.Line, fault.Err.Error()})
	if err != nil {
		return err
	}
	return p.write(row, "rejected")
}

// flush sends what was written.
func (p *reply) flush() error {
	if err := p.out.Flush(); err != nil {
		return err
	}
	return http.NewResponseController(p.w).Flush()
}

// answer takes a request of rows for t, and has work write what it makes of each.
func (s *Service) answer(w http.ResponseWriter, r *http.Request, t *tagger,
	work func(context.Context, *dataset.Reader, *reply) error) {
	ctx, cancel := context.WithTimeout(r.Context(), s.o.Bounds.Time)
	defer cancel()
	out := newReply(s, w)
	if err := s.tryAnswer(ctx, w, r, t, out, work); err != nil {
		fail(w, r, out.began, err)
	}
}

func (s *Service) tryAnswer(ctx context.Context, w http.ResponseWriter, r *http.Request, t *tagger, out *reply,
	work func(context.Context, *dataset.Reader, *reply) error) error {
	if s.draining.Load() {
		return refuse(http.StatusServiceUnavailable, errors.New("the server is ending; it takes no more rows"))
	}
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	default:
		return refuse(http.StatusTooManyRequests, fmt.Errorf("%d requests are under way already; try again later",
			s.o.Bounds.Queue))
	}
	b, err := s.readBody(w, r, t)
	if err != nil {
		return err
	}
	defer b.close()
	longest, err := s.check(ctx, b)
	if err != nil {
		return err
	}
	out.notes = b.notes
	release, err := s.takeTurn(ctx, longest)
	if err != nil {
		return err
	}
	defer release()
	rows, err := b.rows()
	if err != nil {
		return err
	}
	defer rows.Close()
	if err := work(ctx, rows, out); err != nil {
		return err
	}
	return out.flush()
}

// check reads the rows of a body once.
func (s *Service) check(ctx context.Context, b *body) (longest int64, err error) {
	release, err := s.takeTurn(ctx, b.longestRecord())
	if err != nil {
		return 0, err
	}
	defer release()
	return b.check()
}

// takeTurn waits until records of so many bytes may be read. Small ones need not wait.
func (s *Service) takeTurn(ctx context.Context, longest int64) (release func(), err error) {
	if longest <= lightRow {
		return func() {}, nil
	}
	w := min(longest, heavyRows)
	if err := s.heavy.Acquire(ctx, w); err != nil {
		return nil, err
	}
	return func() { s.heavy.Release(w) }, nil
}

// Parameters have the values of the command's flags of these names; a taxonomy is one of Options, by name.
const (
	paramThreshold = "threshold"
	paramMap       = "map"
	paramTaxonomy  = "taxonomy"
)

// checkParameters refuses parameters of the address other than those known.
func checkParameters(r *http.Request, known []string) error {
	given, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return fmt.Errorf("the address's parameters cannot be read: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !slices.Contains(known, name) {
			return fmt.Errorf("%s has no parameter %.40q; it has %s", r.URL.Path, name,
				cmp.Or(strings.Join(known, ", "), "none"))
		}
	}
	return nil
}

// relabel gives what changes the labels of diagnoses to those of the request's thresholds; nil where it has none.
func (t *tagger) relabel(m *Model, r *http.Request) (func(*dataset.Diagnosis), error) {
	given := r.URL.Query()[paramThreshold]
	if len(given) == 0 {
		return nil, nil
	}
	of := m.Manifest
	thresholds, err := models.ParseThresholds(paramThreshold, given, t.Taxonomy, of.Judged(), of.Thresholds)
	if err != nil {
		return nil, refuse(http.StatusBadRequest, err)
	}
	if m.LabelsOnly {
		return nil, refuse(http.StatusBadRequest,
			errors.New("this server keeps no probabilities (--labels-only), so it has one threshold for all requests"))
	}
	return m.Identifier.Relabel(thresholds)
}

func (s *Service) identify(w http.ResponseWriter, r *http.Request, t *tagger) {
	s.answer(w, r, t, func(ctx context.Context, rows *dataset.Reader, out *reply) error {
		m, err := t.openModel(ctx)
		if err != nil && ctx.Err() == nil {
			return refuse(http.StatusServiceUnavailable, fmt.Errorf("the model cannot be opened: %w", err))
		}
		if err != nil {
			return err
		}
		relabel, err := t.relabel(m, r)
		if err != nil {
			return err
		}
		return t.tag(ctx, m, relabel, rows, out)
	})
}

// A request has rows of that many bytes, and that number, in the pool or finished and not yet written.
const (
	heldBytes = 4 << 20
	heldRows  = 64
	// Of a model that computes batches.
	heldBatchBytes   = 32 << 20
	heldBatchWindows = 2
)

// entry is a row, or a fault in its place, on its way to the reply.
type entry struct {
	task  *task
	size  int64
	fault *dataset.LineError // then there is no task
}

// tag writes each row with its diagnosis, which relabel changes if it is not nil, in order.
func (t *tagger) tag(ctx context.Context, m *Model, relabel func(*dataset.Diagnosis), rows *dataset.Reader,
	out *reply) error {
	ctx, cancel := context.WithCancel(ctx)
	bytes, count := int64(heldBytes), heldRows+m.Workers
	if m.Batch > 0 {
		bytes, count = heldBatchBytes, heldBatchWindows*m.Batch
	}
	own, held, entries := &share{}, semaphore.NewWeighted(bytes), make(chan entry, count)
	fed := make(chan error, 1)
	go func() { fed <- t.feed(ctx, rows, own, held, entries, bytes) }()
	err := write(ctx, entries, relabel, held, out)
	cancel()
	for range entries { // until feed has ended
	}
	t.pool.drop(own)
	return errors.Join(err, <-fed)
}

// feed reads rows into the pool until there are no more, or ctx ends.
func (t *tagger) feed(ctx context.Context, rows *dataset.Reader, own *share, held *semaphore.Weighted,
	entries chan<- entry, most int64) error {
	defer close(entries)
	send := func(e entry) error {
		select {
		case entries <- e:
		case <-ctx.Done():
		}
		return ctx.Err()
	}
	reject := func(fault *dataset.LineError) error { return send(entry{fault: fault}) }
	err := dataset.Each(ctx, rows.Read, reject, func(row *dataset.Row) error {
		e := entry{task: newTask(row), size: min(int64(row.Size()), most)}
		err := held.Acquire(ctx, e.size)
		if err == nil {
			err = send(e)
		}
		if err == nil {
			t.pool.add(own, e.task)
		}
		return err
	})
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// write writes entries as they are finished; what is written is sent before it waits.
func write(ctx context.Context, entries <-chan entry, relabel func(*dataset.Diagnosis),
	held *semaphore.Weighted, out *reply) error {
	for e := range entries {
		if e.fault != nil {
			if err := out.reject(e.fault); err != nil {
				return err
			}
			continue
		}
		if err := await(ctx, e.task, out); err != nil {
			return err
		}
		outcome := "tagged"
		if e.task.diagnosis.Status != "" {
			outcome = e.task.diagnosis.Status
		}
		if relabel != nil {
			relabel(e.task.diagnosis)
		}
		if err := e.task.row.SetDiagnosis(e.task.diagnosis); err != nil {
			return err
		}
		if err := out.write(e.task.row, outcome); err != nil {
			return err
		}
		held.Release(e.size)
	}
	return ctx.Err()
}

func await(ctx context.Context, t *task, out *reply) error {
	select {
	case <-t.done:
		return t.err
	default:
	}
	if out.began {
		if err := out.flush(); err != nil {
			return err
		}
	}
	select {
	case <-t.done:
		return t.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// score writes each row with its scores, by the probabilities of its errors.
func (s *Service) score(w http.ResponseWriter, r *http.Request, t *tagger) {
	if t.offline == nil {
		loopback.Refuse(w, http.StatusNotFound, "the taxonomy "+t.Taxonomy.ID()+" has no dimensions to score")
		return
	}
	s.answer(w, r, t, func(ctx context.Context, rows *dataset.Reader, out *reply) error {
		return dataset.Each(ctx, rows.Read, out.reject, func(row *dataset.Row) error { return t.scoreRow(row, out) })
	})
}

func (t *tagger) scoreRow(row *dataset.Row, out *reply) error {
	d, err := row.Diagnosis()
	if err == nil && d != nil && !d.MadeWith(t.Taxonomy.ID()) {
		err = fmt.Errorf("row %s was tagged with the taxonomy %s, not %s", row.ID, d.Taxonomy, t.Taxonomy.ID())
	}
	if err == nil && d != nil {
		err = d.CheckNoError(t.Taxonomy)
	}
	if err != nil {
		return out.reject(&dataset.LineError{Line: row.Line, Err: err})
	}
	scores := t.offline.Judge(d)
	if err := row.SetScores(t.Taxonomy, scores); err != nil {
		return out.reject(&dataset.LineError{Line: row.Line, Err: err})
	}
	outcome := "scored"
	for _, score := range scores {
		if score.Status != "" {
			outcome = score.Status
		}
	}
	return out.write(row, outcome)
}
