package view

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"github.com/erreval/erreval/internal/loopback"
)

// maxBody is the bytes that a query may have.
const maxBody = 1 << 20

// Handler answers queries of a Source over HTTP: GET /view/catalog, and POST /view/counts, histogram, rows, row, pairs,
// outputs and, of a source that is an Exporter or a Marker, export, marked and mark, with a query as JSON. Errors are
// {"error": "…"}: 400 for a query that is wrong, 404 for a row that is not there and for any other path, 405 for
// another method. Who may ask is the caller's to decide. It reads nothing but the Source.
func Handler(source Source) http.Handler {
	mux := http.NewServeMux()
	handle(mux, http.MethodGet, "catalog",
		func(w http.ResponseWriter, _ *http.Request) { respond(w, source.Catalog()) })
	handleQuery(mux, "counts", source.Counts)
	handleQuery(mux, "histogram", source.Histogram)
	handleQuery(mux, "rows", source.Rows)
	handleQuery(mux, "row", source.Row)
	handleQuery(mux, "pairs", source.Pairs)
	handleQuery(mux, "outputs", source.Outputs)
	if m, ok := source.(Marker); ok {
		handleQuery(mux, "marked", m.Marked)
		handleQuery(mux, "mark", m.Mark)
	}
	if out, ok := source.(Exporter); ok {
		handle(mux, http.MethodPost, "export", func(w http.ResponseWriter, r *http.Request) { export(w, r, out) })
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		refuse(w, http.StatusNotFound, "there is no "+r.URL.Path)
	})
	return mux
}

// handle has a path answered for one method.
func handle(mux *http.ServeMux, method, name string, h http.HandlerFunc) {
	mux.HandleFunc(method+" /view/"+name, h)
	mux.HandleFunc("/view/"+name, func(w http.ResponseWriter, r *http.Request) {
		setHeaders(w, "application/json")
		loopback.RefuseMethod(method)(w, r)
	})
}

func handleQuery[Q, A any](mux *http.ServeMux, name string, ask func(context.Context, Q) (*A, error)) {
	handle(mux, http.MethodPost, name, func(w http.ResponseWriter, r *http.Request) {
		var q Q
		err := readQuery(w, r, &q)
		var found *A
		if err == nil {
			found, err = ask(r.Context(), q)
		}
		if err != nil {
			fail(w, err)
			return
		}
		respond(w, found)
	})
}

// readQuery reads one JSON value with the keys that there are.
func readQuery(w http.ResponseWriter, r *http.Request, q any) error {
	in := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody))
	in.DisallowUnknownFields()
	err := in.Decode(q)
	if errors.Is(err, io.EOF) {
		return queryErrorf("the query cannot be read: it is empty; send a JSON object")
	}
	if err == nil {
		if _, more := in.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("there is more than one JSON value")
		}
	}
	if err != nil {
		return queryErrorf("the query cannot be read: %v", err)
	}
	return nil
}

func setHeaders(w http.ResponseWriter, kind string) {
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
}

func respond(w http.ResponseWriter, answer any) {
	data, err := json.Marshal(answer)
	if err != nil {
		fail(w, err)
		return
	}
	setHeaders(w, "application/json")
	_, _ = w.Write(data) // a client that has gone needs no answer
}

func fail(w http.ResponseWriter, err error) {
	status := http.StatusInternalServerError
	var wrong *QueryError
	var missing *NoRowError
	switch {
	case errors.As(err, &wrong):
		status = http.StatusBadRequest
	case errors.As(err, &missing):
		status = http.StatusNotFound
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		status = http.StatusServiceUnavailable
	}
	refuse(w, status, err.Error())
}

func refuse(w http.ResponseWriter, status int, text string) {
	setHeaders(w, "application/json")
	loopback.Refuse(w, status, text)
}

// export streams rows. Once some are on their way an error can only break the connection off.
func export(w http.ResponseWriter, r *http.Request, source Exporter) {
	var q ExportQuery
	if err := readQuery(w, r, &q); err != nil {
		fail(w, err)
		return
	}
	out := &exported{w: w, format: q.Format}
	err := source.Export(r.Context(), out, q)
	switch {
	case err != nil && out.began:
		panic(http.ErrAbortHandler)
	case err != nil:
		fail(w, err)
	case !out.began:
		out.begin()
	}
}

// exported sends headers with the first bytes.
type exported struct {
	w      http.ResponseWriter
	format string
	began  bool
}

func (e *exported) begin() {
	e.began = true
	kind := "application/x-ndjson"
	if e.format == ExportCSV {
		kind = "text/csv; charset=utf-8"
	}
	setHeaders(e.w, kind)
	e.w.Header().Set("Content-Disposition", `attachment; filename="rows.`+e.format+`"`)
}

func (e *exported) Write(p []byte) (int, error) {
	if !e.began {
		e.begin()
	}
	return e.w.Write(p)
}
