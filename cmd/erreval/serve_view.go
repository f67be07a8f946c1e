package main

import (
	"net/http"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/internal/nativelib"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/report/page"
	"github.com/erreval/erreval/report/view"
	"github.com/erreval/erreval/service"
)

// openView reads the files that are to be shown, if there are any, and has them shown.
func (o *serveOptions) openView(ctx *cli.Context, e *env, so *service.Options) (closeAll func() error, err error) {
	if len(o.Files) == 0 {
		return func() error { return nil }, nil
	}
	cache, err := nativelib.CacheDir(e.Getenv)
	if err != nil {
		return nil, err
	}
	v, err := openViewed(ctx, e, o.Files, filepath.Join(cache, "views"))
	if err != nil {
		return nil, err
	}
	var source view.Source = shown{v.index, v.catalog}
	closeAll = v.index.Close
	if m := newMarker(ctx.Context, shown{v.index, v.catalog}); m != nil {
		source, closeAll = m, m.Close
		if !e.Quiet {
			e.Warn("rows that you mark on the page are kept beside their file, as in %s", words.Printable(m.path(0)))
		}
	}
	so.View, so.Guard.Policy = viewHandler(source), page.Policy
	if !e.Quiet {
		for _, note := range v.catalog.Notes {
			e.Warn("%s", words.Printable(note))
		}
		e.Warn("%s of %s", words.Plural(v.catalog.Rows, "row", "rows"),
			words.Plural(len(v.catalog.Runs), "run", "runs"))
	}
	return closeAll, nil
}

// shown is an index with its sections.
type shown struct {
	*view.Index
	catalog *view.Catalog
}

func (s shown) Catalog() *view.Catalog { return s.catalog }

// viewHandler is the page, its files, and what it asks.
func viewHandler(source view.Source) http.Handler {
	mux := http.NewServeMux()
	for path, file := range map[string]struct {
		kind string
		data []byte
	}{
		"/{$}":      {"text/html; charset=utf-8", page.Served()},
		"/page.js":  {"text/javascript; charset=utf-8", page.Script},
		"/page.css": {"text/css; charset=utf-8", page.Style},
	} {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", file.kind)
			_, _ = w.Write(file.data) // nobody is there to be told
		})
	}
	mux.Handle("/view/", view.Handler(source))
	mux.HandleFunc("/", service.NotFound)
	return mux
}
