// Package page is the review of a batch in a browser: a local page on which a person gives each item its labels, with one
// key a label. Every answer is on the disk before the next one is taken. The page asks nothing of any other machine.
package page

import (
	"bytes"
	"context"
	"crypto/rand"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/erreval/erreval/taxonomy"
)

//go:embed static
var static embed.FS

// Review is what a page shows, and where its answers go.
type Review struct {
	Taxonomy *taxonomy.Taxonomy
	Batch    string
	Reviewer string // one reviewer a page; any text
	Items    []Item // in the order in which they are shown
	Folder   string // of the files of answers, one a reviewer; made where it is missing

	ShowLabels        bool // the proposed labels
	ShowProbabilities bool // the probability of each label

	Next string           // the command that comes after the review
	Now  func() time.Time // nil is time.Now
}

// Page serves one review to one reviewer.
type Page struct {
	review          *Review
	shown           []shownItem
	answers         *answers
	token           string
	host, localhost string // what the header Host may be
	handler         http.Handler
}

// New opens the reviewer's answers, those given before included. The address is that of the listener to Serve.
func New(r *Review, address net.Addr) (*Page, error) {
	if r.Reviewer == "" {
		return nil, errors.New("a review needs the reviewer's name")
	}
	_, port, err := net.SplitHostPort(address.String())
	if err != nil {
		return nil, err
	}
	p := &Page{review: r, token: rand.Text(), host: "127.0.0.1:" + port, localhost: "localhost:" + port}
	allowed := &rules{batch: r.Batch, taxonomy: r.Taxonomy, hashes: make(map[string]string, len(r.Items))}
	for i := range r.Items {
		item, err := p.show(&r.Items[i])
		if err != nil {
			return nil, fmt.Errorf("batch %s: item %s: %w", r.Batch, r.Items[i].ItemID, err)
		}
		p.shown = append(p.shown, item)
		allowed.hashes[item.ID] = r.Items[i].TextSHA256
	}
	if err := os.MkdirAll(r.Folder, 0o777); err != nil {
		return nil, err
	}
	p.answers, err = openAnswers(filepath.Join(r.Folder, FileName(r.Reviewer)), allowed)
	if err != nil {
		return nil, err
	}
	p.handler = p.guard(p.routes())
	return p, nil
}

// Address is what to open in a browser. Who knows it can answer; its part behind the # is never sent in a request's line.
func (p *Page) Address() string { return "http://" + p.host + "/#token=" + p.token }

// Close ends the use of the file of answers.
func (p *Page) Close() error { return p.answers.close() }

// Progress counts the items with labels and those that were skipped.
func (p *Page) Progress() (answered, skipped, total int) {
	for _, a := range p.answers.current() {
		if a.Skipped {
			skipped++
		} else {
			answered++
		}
	}
	return answered, skipped, len(p.shown)
}

// patience is how long a request may take, and how long Serve waits at its end for those in flight.
const patience = 10 * time.Second

// Serve answers until ctx ends, and then finishes what is in flight. It closes the listener.
func (p *Page) Serve(ctx context.Context, l net.Listener) error {
	server := &http.Server{Handler: p, ReadTimeout: patience, IdleTimeout: time.Minute, MaxHeaderBytes: 1 << 16,
		ErrorLog: log.New(io.Discard, "", 0)}
	ended := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() {
		late, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
		defer cancel()
		ended <- server.Shutdown(late)
	})
	err := server.Serve(l)
	if stop() || !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-ended
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
	mux.HandleFunc("GET /batch", p.withToken(p.getBatch))
	mux.HandleFunc("POST /answer", p.withToken(p.postAnswer))
	mux.HandleFunc("POST /undo", p.withToken(p.postUndo))
	return mux
}

func asset(name, contentType string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		data, err := static.ReadFile("static/" + name)
		if err != nil {
			refuse(w, http.StatusInternalServerError, err.Error())
			return
		}
		w.Header().Set("Content-Type", contentType)
		_, _ = w.Write(data) // nobody is there to be told
	}
}

func (p *Page) getBatch(w http.ResponseWriter, _ *http.Request) {
	reply(w, p.batch())
}

// bodyLimit is more than notes of the longest, escaped, and every label need.
const bodyLimit = 1 << 17

func (p *Page) postAnswer(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Content-Type") != "application/json" {
		refuse(w, http.StatusUnsupportedMediaType, "an answer comes as application/json")
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, bodyLimit))
	var tooLong *http.MaxBytesError
	switch {
	case errors.As(err, &tooLong):
		refuse(w, http.StatusRequestEntityTooLarge, fmt.Sprintf("an answer has at most %d bytes", bodyLimit))
		return
	case err != nil:
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	given, err := parseGiven(body)
	if err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	err = p.answers.add(p.signed(given))
	var wrong *refusal
	switch {
	case errors.As(err, &wrong):
		refuse(w, http.StatusUnprocessableEntity, err.Error())
	case err != nil:
		refuse(w, http.StatusInternalServerError, "not saved: "+err.Error())
	default:
		reply(w, struct{}{})
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
	return &g, nil
}

// signed says who answered, when, and to which text.
func (p *Page) signed(g *given) Answer {
	now := p.review.Now
	if now == nil {
		now = time.Now
	}
	return Answer{ItemID: g.ItemID, Reviewer: p.review.Reviewer, Labels: g.Labels, Notes: g.Notes, Skipped: g.Skipped,
		Time: now().UTC().Format(time.RFC3339), TextSHA256: p.answers.rules.hashes[g.ItemID]}
}

// postUndo takes the last answer back; the reply has it, and the one that counts now.
func (p *Page) postUndo(w http.ResponseWriter, _ *http.Request) {
	last, ok, err := p.answers.undo()
	switch {
	case err != nil:
		refuse(w, http.StatusInternalServerError, "not taken back: "+err.Error())
	case !ok:
		refuse(w, http.StatusConflict, "there is no answer to take back")
	default:
		reply(w, map[string]any{"taken": given{last.ItemID, last.Labels, last.Notes, last.Skipped}, "answer": shownAnswerOf(p.answers.current()[last.ItemID])})
	}
}

func reply(w http.ResponseWriter, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		refuse(w, http.StatusInternalServerError, err.Error())
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(data) // nobody is there to be told
}

// refuse replies with a sentence for a person.
func refuse(w http.ResponseWriter, status int, text string) {
	data, err := json.Marshal(map[string]string{"error": text})
	if err != nil { // a string always marshals
		data = nil
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(data)
}
