package hub

import (
	"bytes"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	testRepo   = "acme/tiny"
	testCommit = "0123456789abcdef0123456789abcdef01234567"
	testToken  = "hf_secret"
)

// blob is a file of the fake hub.
type blob struct {
	name    string
	content []byte
	lfs     bool
}

func (b blob) sum() string {
	if b.lfs {
		return fmt.Sprintf("%x", sha256.Sum256(b.content))
	}
	return fmt.Sprintf("%x", sha1.Sum(fmt.Appendf(nil, "blob %d\x00%s", len(b.content), b.content)))
}

// fakeHub behaves like the hub: a listing, small files of its own, and large ones behind a redirect to a second server
// that wants a signed address and, as S3, refuses one that carries a token too. Both run on one host, on two ports:
// net/http alone would send the token to both.
type fakeHub struct {
	hub, cdn *httptest.Server
	files    []blob
	private  bool // wants testToken
	noBlobs  bool // lists names only, as mirrors that do not know blobs=true

	mu        sync.Mutex
	intercept interceptor
	log       []string // "GET /path" or "GET /path bytes=5-"
}

// interceptor, if set, may answer in the place of either server.
type interceptor func(w http.ResponseWriter, r *http.Request) bool

func (h *fakeHub) set(i interceptor) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.intercept = i
}

func newFakeHub(t *testing.T, files ...blob) *fakeHub {
	h := &fakeHub{files: files}
	h.hub = httptest.NewServer(h.record(h.serveHub))
	h.cdn = httptest.NewServer(h.record(h.serveCDN))
	t.Cleanup(h.cdn.Close)
	t.Cleanup(h.hub.Close)
	return h
}

// client pulls from h into a new cache, and does not wait.
func (h *fakeHub) client(t *testing.T) *Client {
	return &Client{Endpoint: h.hub.URL, Cache: t.TempDir(), wait: func(context.Context,
		time.Duration) error {
		return nil
	}}
}

func (h *fakeHub) record(serve http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		h.mu.Lock()
		h.log = append(h.log, strings.TrimSpace(r.Method+" "+r.URL.Path+" "+r.Header.Get("Range")))
		intercept := h.intercept
		h.mu.Unlock()
		if intercept == nil || !intercept(w, r) {
			serve(w, r)
		}
	}
}

// requests returns what was asked since the last call, without the listing.
func (h *fakeHub) requests() (asked []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, line := range h.log {
		if !strings.Contains(line, "/api/") {
			asked = append(asked, line)
		}
	}
	h.log = nil
	return asked
}

func (h *fakeHub) serveHub(w http.ResponseWriter, r *http.Request) {
	const resolve = "/" + testRepo + "/resolve/" + testCommit + "/"
	revision, isListing := strings.CutPrefix(r.URL.Path, "/api/models/"+testRepo+"/revision/")
	switch {
	case h.private && r.Header.Get("Authorization") != "Bearer "+testToken:
		refuse(w, http.StatusUnauthorized, "", "Invalid username or password.")
	case isListing && revision != "main" && revision != testCommit && revision != "refs/pr/1":
		refuse(w, http.StatusNotFound, "RevisionNotFound", "Invalid rev id: "+revision)
	case isListing:
		h.list(w, r.URL.Query().Get("blobs") == "true" && !h.noBlobs)
	case strings.HasPrefix(r.URL.Path, resolve):
		h.resolve(w, r, strings.TrimPrefix(r.URL.Path, resolve))
	default:
		refuse(w, http.StatusNotFound, "RepoNotFound", "Repository not found")
	}
}

func refuse(w http.ResponseWriter, status int, code, message string) {
	if code != "" {
		w.Header().Set("X-Error-Code", code)
	}
	w.Header().Set("X-Error-Message", message)
	w.WriteHeader(status)
}

func (h *fakeHub) list(w http.ResponseWriter, blobs bool) {
	siblings := make([]map[string]any, len(h.files))
	for i, f := range h.files {
		siblings[i] = map[string]any{"rfilename": f.name}
		if !blobs {
			continue
		}
		siblings[i]["size"], siblings[i]["blobId"] = len(f.content), f.sum()
		if f.lfs {
			siblings[i]["blobId"] = strings.Repeat("ab", 20) // of the pointer
			siblings[i]["lfs"] = map[string]any{"sha256": f.sum(), "size": len(f.content), "pointerSize": 134}
		}
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"id": testRepo, "sha": testCommit, "private": h.private,
		"siblings": siblings})
}

func (h *fakeHub) resolve(w http.ResponseWriter, r *http.Request, name string) {
	for _, f := range h.files {
		if f.name != name {
			continue
		}
		w.Header().Set("X-Repo-Commit", testCommit)
		if f.lfs {
			w.Header().Set("X-Linked-Etag", strconv.Quote(f.sum()))
			w.Header().Set("X-Linked-Size", strconv.Itoa(len(f.content)))
			http.Redirect(w, r, h.cdn.URL+"/"+f.sum()+"?X-Amz-Signature=signed", http.StatusFound)
			return
		}
		w.Header().Set("Etag", strconv.Quote(f.sum()))
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(f.content))
		return
	}
	refuse(w, http.StatusNotFound, "EntryNotFound", "Entry not found")
}

func (h *fakeHub) serveCDN(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet || r.Header.Get("Authorization") != "" ||
		r.URL.Query().Get("X-Amz-Signature") != "signed" {
		http.Error(w, "one authentication mechanism only", http.StatusBadRequest)
		return
	}
	for _, f := range h.files {
		if "/"+f.sum() == r.URL.Path {
			w.Header().Set("Etag", `"an-md5-of-parts"`)
			http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(f.content))
			return
		}
	}
	w.WriteHeader(http.StatusNotFound)
}

// isResolve and isStored tell apart the requests that a test intercepts.
func isResolve(r *http.Request) bool { return strings.Contains(r.URL.Path, "/resolve/") }
func isStored(r *http.Request) bool  { return r.URL.Query().Has("X-Amz-Signature") }

// firstly lets f answer the first n of the requests that match.
func firstly(n int, match func(*http.Request) bool, f http.HandlerFunc) interceptor {
	var mu sync.Mutex
	return func(w http.ResponseWriter, r *http.Request) bool {
		mu.Lock()
		mine := n > 0 && match(r)
		if mine {
			n--
		}
		mu.Unlock()
		if mine {
			f(w, r)
		}
		return mine
	}
}

// cut sends the first n bytes of content, then breaks the connection.
func cut(content []byte, n int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(len(content)))
		_, _ = w.Write(content[:n])
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

// halt sends the first n bytes of content, then nothing until the client is gone.
func halt(content []byte, n int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(len(content)))
		_, _ = w.Write(content[:n])
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}
}

// tinyModel is a repository with what a model needs and what it does not.
func tinyModel() []blob {
	return []blob{
		{name: ".gitattributes", content: []byte("*.safetensors filter=lfs\n")},
		{name: "README.md", content: []byte("# tiny\n")},
		{name: "config.json", content: []byte(`{"model_type": "bert"}` + "\n")},
		{name: "model.safetensors", content: noise(300_000), lfs: true},
		{name: "pytorch_model.bin", content: noise(1000), lfs: true},
		{name: "tokenizer.json", content: []byte(`{"model": {}}` + "\n")},
	}
}

// noise is n bytes without a pattern that a shifted range would repeat.
func noise(n int) []byte {
	b := make([]byte, n)
	state := uint32(n)
	for i := range b {
		state = state*1664525 + 1013904223
		b[i] = byte(state >> 24)
	}
	return b
}

func weightsOf(files []blob) blob { return files[3] }

// mustPull pulls and compares every file with the hub's.
func mustPull(t *testing.T, h *fakeHub, c *Client) *Snapshot {
	t.Helper()
	s, err := c.Pull(t.Context(), testRepo, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range h.files {
		got, ok := s.Files[f.name]
		if !ok {
			continue
		}
		data, err := os.ReadFile(got.Path)
		if err != nil || !bytes.Equal(data, f.content) || got.Sum != f.sum() || got.LFS != f.lfs ||
			got.Size != int64(len(f.content)) {
			t.Errorf("%s: %+v, %d bytes, %v; want %d bytes with %s", f.name, got, len(data), err, len(f.content), f.sum())
		}
	}
	return s
}

// wantError fails unless err is one sentence that holds all of words.
func wantError(t *testing.T, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error; want one with %q", words)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%v\nlacks %q", err, word)
		}
	}
	if strings.Contains(err.Error(), "Signature") || strings.Contains(err.Error(), testToken) {
		t.Errorf("%v\ntells a secret", err)
	}
}
