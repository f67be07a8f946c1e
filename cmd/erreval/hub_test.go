package main

import (
	"crypto/sha1"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	hubCommit = "0123456789abcdef0123456789abcdef01234567"
	hubToken  = "hf_secret"
)

// newHub serves the tiny checkpoints as the repositories acme/NAME, as far as 'models pull' asks a hub: the listing,
// small files with their git SHA-1, weights by redirect. acme/secret wants a token and is acme/paper; acme/changed has
// a byte of its weights changed. models/hub has the tests of everything that can go wrong.
func newHub(t *testing.T) string {
	var server *httptest.Server
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/api/models"), "/acme/")
		repo, rest, _ := strings.Cut(path, "/")
		if repo == "secret" && r.Header.Get("Authorization") != "Bearer "+hubToken {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		dir := filepath.Join("testdata", "checkpoints", map[string]string{"secret": "paper", "changed": "single"}[repo])
		if repo != "secret" && repo != "changed" {
			dir = filepath.Join(dir, repo)
		}
		name, isFile := strings.CutPrefix(rest, "resolve/"+hubCommit+"/")
		switch {
		case rest == "revision/main" || rest == "revision/"+hubCommit:
			listRepository(w, r, dir)
		case isFile && strings.HasSuffix(name, ".safetensors") && !r.URL.Query().Has("stored"):
			http.Redirect(w, r, server.URL+r.URL.Path+"?stored", http.StatusFound)
		case isFile && repo == "changed" && r.URL.Query().Has("stored"):
			data, _ := os.ReadFile(filepath.Join(dir, name))
			data[len(data)/2] ^= 1
			_, _ = w.Write(data)
		case isFile:
			http.ServeFile(w, r, filepath.Join(dir, name))
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func listRepository(w http.ResponseWriter, r *http.Request, dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	var siblings []map[string]any
	for _, entry := range entries {
		data, _ := os.ReadFile(filepath.Join(dir, entry.Name()))
		file := map[string]any{"rfilename": entry.Name(), "size": len(data), "blobId": fmt.Sprintf("%x",
			sha1.Sum(fmt.Appendf(nil, "blob %d\x00%s", len(data), data)))}
		if strings.HasSuffix(entry.Name(), ".safetensors") {
			file["lfs"] = map[string]any{"sha256": fmt.Sprintf("%x", sha256.Sum256(data)), "size": len(data)}
		}
		siblings = append(siblings, file)
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"sha": hubCommit, "siblings": siblings})
}
