// Package page is the review of a batch in a browser. A person gives each item its labels, with one key a label. Every
// answer is on the disk before the next one is taken. The page asks nothing of any other machine.
package page

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/erreval/erreval/internal/loopback"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/training/review"
)

//go:embed static
var static embed.FS

// Review is what a page shows, and to whom.
type Review struct {
	Batch             *review.Frozen
	Reviewer          string           // see review.CheckReviewer
	ShowLabels        bool             // the proposed labels
	ShowProbabilities bool             // the probability of each label
	Merged            []review.Answer  // the reviewer's answers that a merge used, such as those of a workbook
	Next              string           // the command that comes after the review
	Now               func() time.Time // nil is time.Now
}

// Page serves one review to one reviewer.
type Page struct {
	review  Review
	log     *review.Log
	guard   *loopback.Guard
	handler http.Handler
}

// New opens the reviewer's answers, those given before included. The address is that of the listener to Serve.
func New(r Review, address net.Addr) (*Page, error) {
	guard, err := loopback.NewGuard(address)
	if err != nil {
		return nil, err
	}
	if r.Now == nil {
		r.Now = time.Now
	}
	answers, err := r.Batch.OpenLog(r.Reviewer)
	if err != nil {
		return nil, err
	}
	p := &Page{review: r, log: answers, guard: guard}
	p.handler = guard.Protect(p.routes())
	return p, nil
}

// Address is what to open in a browser. Who knows it can answer.
func (p *Page) Address() string { return p.guard.Address() }

// Close ends the use of the file of answers.
func (p *Page) Close() error { return p.log.Close() }

// answers are those that count: what was said here goes before what a merge used.
func (p *Page) answers() []review.Answer {
	all := p.log.Answers()
	for _, a := range p.review.Merged {
		if !slices.ContainsFunc(all, func(here review.Answer) bool { return here.ItemID == a.ItemID }) {
			all = append(all, a)
		}
	}
	return all
}

// Progress counts the items with labels, those that were skipped, and all.
func (p *Page) Progress() (answered, skipped, total int) {
	for _, a := range p.answers() {
		if a.Skipped {
			skipped++
		} else {
			answered++
		}
	}
	return answered, skipped, len(p.review.Batch.All)
}

// Begun says how far the review is.
func (p *Page) Begun() string {
	answered, skipped, total := p.Progress()
	return fmt.Sprintf("%s, %d answered, %d skipped", words.Plural(total, "row", "rows"), answered, skipped)
}

// Ended says what was answered, where it is, and what comes next.
func (p *Page) Ended() string {
	answered, skipped, total := p.Progress()
	said := fmt.Sprintf("%d of %d answered, %d skipped; all saved in %s\n", answered, total, skipped,
		review.AnswersPath(p.review.Batch.Dir, p.review.Reviewer))
	if answered+skipped < total {
		return said + fmt.Sprintf("the same line goes on; or take what is there with: %s --partial", p.review.Next)
	}
	if p.review.Batch.Decides {
		return said
	}
	return said + "next: " + p.review.Next
}

// Done tells whether every item has an answer, or was skipped.
func (p *Page) Done() bool {
	answered, skipped, total := p.Progress()
	return answered+skipped == total
}

// Serve answers until ctx ends, and then finishes what is in flight. It closes the listener.
func (p *Page) Serve(ctx context.Context, l net.Listener) error {
	return (&loopback.Server{Handler: p}).Serve(ctx, l)
}

// ServeHTTP is one request.
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) { p.handler.ServeHTTP(w, r) }

func (p *Page) routes() http.Handler {
	mux := http.NewServeMux()
	// The page itself holds nothing to protect; the batch comes with the token only.
	mux.HandleFunc("GET /{$}", asset("index.html", "text/html; charset=utf-8"))
	mux.HandleFunc("GET /page.css", asset("page.css", "text/css; charset=utf-8"))
	mux.HandleFunc("GET /page.js", asset("page.js", "text/javascript; charset=utf-8"))
	mux.HandleFunc("GET /icon.svg", asset("icon.svg", "image/svg+xml"))
	mux.Handle("GET /batch", p.guard.WithToken(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		loopback.Reply(w, p.batch())
	})))
	mux.Handle("POST /answer", p.guard.WithToken(http.HandlerFunc(p.postAnswer)))
	mux.Handle("POST /undo", p.guard.WithToken(http.HandlerFunc(p.postUndo)))
	return mux
}

func asset(name, contentType string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		data, err := static.ReadFile("static/" + name)
		if err != nil {
			loopback.Refuse(w, http.StatusInternalServerError, err.Error())
			return
		}
		w.Header().Set("Content-Type", contentType)
		_, _ = w.Write(data) // nobody is there to be told
	}
}

// bodyLimit is more than notes of the longest, escaped, and every label need.
const bodyLimit = 1 << 17

func (p *Page) postAnswer(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Content-Type") != "application/json" {
		loopback.Refuse(w, http.StatusUnsupportedMediaType, "an answer comes as application/json")
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, bodyLimit))
	switch _, tooLong := errors.AsType[*http.MaxBytesError](err); {
	case tooLong:
		loopback.Refuse(w, http.StatusRequestEntityTooLarge, fmt.Sprintf("an answer has at most %d bytes", bodyLimit))
		return
	case err != nil:
		loopback.Refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	g, err := parseGiven(body)
	if err != nil {
		loopback.Refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	err = p.log.Add(review.Answer{ItemID: g.ItemID, Labels: g.Labels, Notes: g.Notes, Skipped: g.Skipped,
		Time: p.review.Now().UTC().Truncate(time.Second)})
	switch {
	case review.Refused(err):
		loopback.Refuse(w, http.StatusUnprocessableEntity, err.Error())
	case err != nil:
		loopback.Refuse(w, http.StatusInternalServerError, err.Error())
	default:
		loopback.Reply(w, struct{}{})
	}
}

// given is an answer as the page sends it.
type given struct {
	ItemID  string   `json:"item_id"`
	Labels  []string `json:"labels"`
	Notes   string   `json:"notes"`
	Skipped bool     `json:"skipped"`
}

func parseGiven(body []byte) (*given, error) {
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	var g given
	if err := d.Decode(&g); err != nil {
		return nil, fmt.Errorf("this is no answer: %w", err)
	}
	if _, err := d.Token(); err != io.EOF { //nolint:errorlint // Token gives it bare
		return nil, errors.New("this is no answer: something follows it")
	}
	if len(g.Notes) > review.LongestNotes {
		return nil, fmt.Errorf("the notes are longer than %d bytes", review.LongestNotes)
	}
	return &g, nil
}

// postUndo takes the last answer back; the reply has it, and the one that counts now.
func (p *Page) postUndo(w http.ResponseWriter, _ *http.Request) {
	last, ok, err := p.log.Undo()
	switch {
	case err != nil:
		loopback.Refuse(w, http.StatusInternalServerError, "not taken back: "+err.Error())
	case !ok:
		loopback.Refuse(w, http.StatusConflict, "there is no answer to take back")
	default:
		loopback.Reply(w, map[string]*given{"taken": givenOf(&last), "answer": p.given()[last.ItemID]})
	}
}
