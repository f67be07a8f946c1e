package hub

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestPullFetchesWhatIsNeededOnce(t *testing.T) {
	h := newFakeHub(t, tinyModel()...)
	c := h.client(t)
	last := map[string]int64{}
	c.Progress = func(file string, done, total int64) {
		if done < last[file] || done > total {
			t.Errorf("%s: %d of %d after %d", file, done, total, last[file])
		}
		last[file] = done
	}
	s := mustPull(t, h, c)
	names := slices.Sorted(maps.Keys(s.Files))
	if want := []string{"config.json", "model.safetensors", "tokenizer.json"}; !slices.Equal(names, want) ||
		s.Commit != testCommit || s.Repo != testRepo {
		t.Errorf("%s at %s has %v, want %v", s.Repo, s.Commit, names, want)
	}
	want := map[string]int64{"config.json": 23, "model.safetensors": 300_000, "tokenizer.json": 14}
	if !maps.Equal(last, want) {
		t.Errorf("progress ends at %v, want %v", last, want)
	}
	if asked := h.requests(); len(asked) != 4 { // one redirect
		t.Errorf("the first pull asked %v", asked)
	}
	mustPull(t, h, c)
	if asked := h.requests(); len(asked) != 0 {
		t.Errorf("the second pull asked %v", asked)
	}
	if !maps.Equal(last, want) {
		t.Errorf("progress of what was there ends at %v, want %v", last, want)
	}
}

func TestTokenStaysAtTheEndpoint(t *testing.T) {
	h := newFakeHub(t, tinyModel()...)
	h.private = true
	c := h.client(t)
	c.Token = testToken + "\n" // as read from a file
	mustPull(t, h, c)          // the storage answers 400 to a request with a token

	p, err := (&Client{Endpoint: "https://hub.example/mirror", Cache: "c"}).newPull(testRepo, "")
	if err != nil {
		t.Fatal(err)
	}
	for address, kept := range map[string]bool{
		"https://hub.example/other": true, "https://HUB.example/x": true,
		"https://cdn.hub.example/x": false, "https://hub.example:8443/x": false, "https://example.com/": false,
	} {
		to, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		req := &http.Request{Method: http.MethodGet, URL: to, Header: http.Header{"Authorization": {"Bearer x"}}}
		if err := p.checkRedirect(req, []*http.Request{{URL: p.endpoint}}); err != nil ||
			(req.Header.Get("Authorization") != "") != kept {
			t.Errorf("to %s: %v, header %v; kept should be %v", address, err, req.Header, kept)
		}
	}
	plain := &http.Request{Method: http.MethodGet, URL: &url.URL{Scheme: "http", Host: "hub.example"},
		Header: http.Header{}}
	wantError(t, p.checkRedirect(plain, []*http.Request{{URL: p.endpoint}}), "not encrypted")
	wantError(t, p.checkRedirect(plain, make11(p.endpoint)), "more than 10")
}

func make11(u *url.URL) []*http.Request { return slices.Repeat([]*http.Request{{URL: u}}, 11) }

func TestRefusals(t *testing.T) {
	answer := func(status int, code, message string) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, _ *http.Request) bool { refuse(w, status, code, message); return true }
	}
	for name, test := range map[string]struct {
		token, revision string
		intercept       func(http.ResponseWriter, *http.Request) bool
		want            []string
	}{
		"401 without a token": {intercept: answer(401, "RepoNotFound", "Repository not found"),
			want: []string{"does not know acme/tiny", "private", "HF_TOKEN"}},
		"401 with a token": {token: testToken, intercept: answer(401, "", "Invalid credentials"),
			want: []string{"refuses HF_TOKEN", "Invalid credentials", "/settings/tokens"}},
		"gated without a token": {intercept: answer(401, "GatedRepo", "restricted"), want: []string{"gated", "conditions",
			"/acme/tiny", "set HF_TOKEN"}},
		"gated with a token": {token: testToken, intercept: answer(403, "GatedRepo", "not in the authorized list"),
			want: []string{"gated", "/acme/tiny", "account"}},
		"403": {token: testToken, intercept: answer(403, "", "no read scope"), want: []string{"forbids",
			"no read scope", "HF_TOKEN"}},
		"404": {intercept: answer(404, "RepoNotFound", "Repository not found"),
			want: []string{"has no acme/tiny", "check the name"}},
		"no such revision": {revision: "nope", want: []string{`no revision "nope"`, "branch"}},
		"418":              {intercept: answer(418, "", ""), want: []string{"418", "HF_ENDPOINT"}},
		"a login page": {intercept: func(w http.ResponseWriter, _ *http.Request) bool {
			_,
				_ = io.WriteString(w, "<html>")
			return true
		}, want: []string{"not what a hub sends", "login page"}},
		"a listing of nothing": {intercept: func(w http.ResponseWriter, _ *http.Request) bool {
			_,
				_ = io.WriteString(w, "{}")
			return true
		}, want: []string{"no commit"}},
		"no such file": {intercept: firstly(9, isResolve, func(w http.ResponseWriter, _ *http.Request) {
			refuse(w, 404,
				"EntryNotFound", "Entry not found")
		}),
			want: []string{"acme/tiny: config.json: ", "Entry not found"}},
	} {
		t.Run(name, func(t *testing.T) {
			h := newFakeHub(t, tinyModel()...)
			h.set(test.intercept)
			c := h.client(t)
			c.Token = test.token
			c.wait = func(context.Context, time.Duration) error { t.Error("waits"); return nil }
			_, err := c.Pull(t.Context(), testRepo, test.revision)
			wantError(t, err, test.want...)
			noLeftovers(t, c)
		})
	}
}

// noLeftovers fails if the cache holds a blob, a part of one, a link or a ref.
func noLeftovers(t *testing.T, c *Client) {
	t.Helper()
	for _, pattern := range []string{"blobs/*", "snapshots/*", "refs/*"} {
		if left, _ := filepath.Glob(filepath.Join(c.Cache, "*", pattern)); len(left) > 0 {
			t.Errorf("left in the cache: %v", left)
		}
	}
}

func TestWaitsAsAsked(t *testing.T) {
	busy := func(header, value string, status int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.Header().Set(header, value); w.WriteHeader(status) }
	}
	for name, test := range map[string]struct {
		answer      http.HandlerFunc
		match       func(*http.Request) bool
		times       int
		least, most time.Duration // of the first wait
		waits       int
		giveUp      []string
	}{
		"429 with Retry-After": {answer: busy("Retry-After", "7", 429), match: isResolve, times: 1,
			least: 7 * time.Second, most: 7 * time.Second, waits: 1},
		"429 with RateLimit": {answer: busy("RateLimit", `"api";r=0;t=55`, 429), match: isResolve, times: 1,
			least: 55 * time.Second, most: 55 * time.Second, waits: 1},
		"429 at the storage": {answer: busy("Retry-After", "9", 429), match: isStored, times: 2, least: 9 * time.Second,
			most: 9 * time.Second, waits: 2},
		"429 for an hour": {answer: busy("Retry-After", "3600", 429), match: isResolve, times: 1,
			giveUp: []string{"limits the rate", "1h0m0s", "HF_TOKEN"}},
		"503 twice": {answer: busy("X-A", "b", 503), match: isResolve, times: 2, least: time.Second / 2,
			most: time.Second, waits: 2},
		"500 for the listing": {answer: busy("X-A", "b", 500),
			match: func(r *http.Request) bool { return !isResolve(r) }, times: 1, least: time.Second / 2,
			most: time.Second, waits: 1},
		"502 for ever": {answer: busy("X-A", "b", 502), match: isResolve, times: 99, least: time.Second / 2,
			most: time.Second, waits: 5, giveUp: []string{"502", "given up after 6 tries"}},
		"a signed address ran out": {answer: busy("X-A", "b", 403), match: isStored, times: 1, least: time.Second / 2,
			most: time.Second, waits: 1},
	} {
		t.Run(name, func(t *testing.T) {
			h := newFakeHub(t, tinyModel()...)
			h.set(firstly(test.times, test.match, test.answer))
			c := h.client(t)
			var waits []time.Duration
			notices := 0
			c.Notice = func(string) { notices++ }
			c.wait = func(_ context.Context, d time.Duration) error { waits = append(waits, d); return nil }
			if test.giveUp != nil {
				_, err := c.Pull(t.Context(), testRepo, "")
				wantError(t, err, test.giveUp...)
			} else {
				mustPull(t, h, c)
			}
			if len(waits) != test.waits || notices != test.waits || (test.waits > 0 && (waits[0] < test.least ||
				waits[0] > test.most)) {
				t.Errorf("waits %v, %d notices; want %d, the first from %v to %v", waits, notices, test.waits,
					test.least, test.most)
			}
		})
	}
}

func TestCutConnectionContinues(t *testing.T) {
	files := tinyModel()
	h := newFakeHub(t, files...)
	h.set(firstly(1, isStored, cut(weightsOf(files).content, 100_000)))
	c := h.client(t)
	mustPull(t, h, c)
	asked := h.requests()
	if want := "GET /" + weightsOf(files).sum() + " bytes=100000-"; asked[len(asked)-1] != want {
		t.Errorf("asked %v, want %q at the end", asked, want)
	}

	h.set(firstly(99, isStored, cut(weightsOf(files).content, 10))) // 200 instead of 206: never further
	c = h.client(t)
	_, err := c.Pull(t.Context(), testRepo, "")
	wantError(t, err, "model.safetensors", "broke after 10 bytes", "given up after 6 tries")

	h.set(firstly(99, isStored, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	_, err = h.client(t).Pull(t.Context(), testRepo, "")
	wantError(t, err, "model.safetensors", weightsOf(files).sum(), "EOF", "check the network") // and no signature

	h.hub.Close()
	_, err = h.client(t).Pull(t.Context(), testRepo, "")
	wantError(t, err, "pull acme/tiny", "check the network", "--offline")
}

// TestProgressResetsTheTries has a server that cuts every connection after one MiB: with ranges it comes to the end
// after more than maxTries cuts, without it never does.
func TestProgressResetsTheTries(t *testing.T) {
	files := tinyModel()
	files[3].content = noise(9 << 20)
	content := weightsOf(files).content
	h := newFakeHub(t, files...)
	h.set(func(w http.ResponseWriter, r *http.Request) bool {
		if !isStored(r) {
			return false
		}
		start := 0
		if _, err := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &start); err == nil {
			w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", start, len(content)-1, len(content)))
			w.Header().Set("Content-Length", strconv.Itoa(len(content)-start))
			w.WriteHeader(http.StatusPartialContent)
		}
		if len(content)-start <= 1<<20 {
			_, _ = w.Write(content[start:])
			return true
		}
		cut(content[start:], 1<<20)(w, r)
		return true
	})
	mustPull(t, h, h.client(t))
	if asked := h.requests(); len(asked) < 2*(maxTries+2) {
		t.Errorf("asked %v", asked)
	}
	h.set(firstly(99, isStored, cut(content, 2<<20)))
	_, err := h.client(t).Pull(t.Context(), testRepo, "")
	wantError(t, err, "given up after 6 tries")
}

func TestStalledConnectionIsTriedAgain(t *testing.T) {
	files := tinyModel()
	for want, answer := range map[string]http.HandlerFunc{
		"broke after 1000 bytes: nothing arrived for 1s": halt(weightsOf(files).content, 1000),
		"nothing arrived for 1s; check the network": func(_ http.ResponseWriter,
			r *http.Request) {
			<-r.Context().Done()
		},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel() // each waits
			h := newFakeHub(t, files...)
			h.set(firstly(1, isStored, answer))
			c := h.client(t)
			c.stall = time.Second // long enough for what does arrive on a busy machine
			var told []string
			c.Notice = func(message string) { told = append(told, message) }
			mustPull(t, h, c)
			if !strings.Contains(strings.Join(told, "\n"), want) {
				t.Errorf("notices %q, want %q", told, want)
			}
		})
	}
}

func TestRangeIsIgnored(t *testing.T) {
	files := tinyModel()
	content := weightsOf(files).content
	for name, answer := range map[string]http.HandlerFunc{
		"200": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(content) },
		"another range": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Range", "bytes 0-299999/300000")
			w.WriteHeader(http.StatusPartialContent)
			_, _ = w.Write(content)
		},
		"416": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusRequestedRangeNotSatisfiable) },
	} {
		t.Run(name, func(t *testing.T) {
			h := newFakeHub(t, files...)
			c := h.client(t)
			leavePart(t, c, weightsOf(files), content[:5000])
			h.set(firstly(1, isStored, answer))
			mustPull(t, h, c)
		})
	}
}

// leavePart puts the start of a blob where a pull that was killed leaves it.
func leavePart(t *testing.T, c *Client, b blob, part []byte) {
	t.Helper()
	dir := filepath.Join(c.Cache, "models--acme--tiny", "blobs")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, b.sum()+partialSuffix), part, 0o666); err != nil {
		t.Fatal(err)
	}
}

func TestChangedByte(t *testing.T) {
	files := tinyModel()
	weights := weightsOf(files)
	changed := slices.Clone(weights.content)
	changed[200_000] ^= 1

	t.Run("on its way", func(t *testing.T) {
		h := newFakeHub(t, files...)
		h.set(firstly(1, isStored, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(changed) }))
		c := h.client(t)
		_, err := c.Pull(t.Context(), testRepo, "")
		wantError(t, err, "model.safetensors", "SHA-256", weights.sum(), "changed")
		if left, _ := filepath.Glob(filepath.Join(c.Cache, "models--acme--tiny", "blobs", weights.sum()+"*")); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
		mustPull(t, h, c)
	})
	t.Run("in a small file", func(t *testing.T) {
		h := newFakeHub(t, files...)
		h.set(firstly(1, isResolve, func(w http.ResponseWriter, _ *http.Request) {
			_,
				_ = io.WriteString(w, `{"model_type": "gpt2"}`+"\n")
		}))
		c := h.client(t)
		_, err := c.Pull(t.Context(), testRepo, "")
		wantError(t, err, "config.json", "git blob SHA-1", "changed")
		noLeftovers(t, c)
	})
	t.Run("in the part of an earlier pull", func(t *testing.T) {
		h := newFakeHub(t, files...)
		c := h.client(t)
		leavePart(t, c, weights, changed[:250_000])
		mustPull(t, h, c)
		if asked := h.requests(); !slices.Contains(asked, "GET /"+weights.sum()+" bytes=250000-") || !slices.Contains(asked,
			"GET /"+weights.sum()) {
			t.Errorf("asked %v, want the rest, then all", asked)
		}
	})
	t.Run("in the cache", func(t *testing.T) {
		h := newFakeHub(t, files...)
		c := h.client(t)
		s := mustPull(t, h, c)
		h.requests()
		if err := os.WriteFile(s.Files["model.safetensors"].Path, changed, 0o666); err != nil {
			t.Fatal(err)
		}
		c.Offline = true
		_, err := c.Pull(t.Context(), testRepo, "")
		wantError(t, err, "model.safetensors", "changed")
		c.Offline = false
		mustPull(t, h, c)
		if asked := h.requests(); len(asked) != 2 {
			t.Errorf("asked %v, want the one file", asked)
		}
	})
}

func TestWrongContent(t *testing.T) {
	pointer := "version https://git-lfs.github.com/spec/v1\noid sha256:" + strings.Repeat("ab", 32) + "\nsize 300000\n"
	send := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) }
	}
	for name, test := range map[string]struct {
		answer http.HandlerFunc
		want   []string
	}{
		"LFS pointer": {send(pointer), []string{"model.safetensors", "Git LFS pointer", "HF_ENDPOINT"}},
		"login page":  {send("<html>please log in</html>"), []string{"text/html", "login page"}},
		"too many bytes": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write(noise(290_000))
			_, _ = w.Write(noise(20_000))
		}, []string{"more than the 300000 bytes"}},
	} {
		t.Run(name, func(t *testing.T) {
			h := newFakeHub(t, tinyModel()...)
			h.set(firstly(9, isStored, test.answer))
			c := h.client(t)
			_, err := c.Pull(t.Context(), testRepo, "")
			wantError(t, err, test.want...)
			if asked := h.requests(); len(asked) != 4 {
				t.Errorf("asked %v: it should not try again", asked)
			}
			if left, _ := filepath.Glob(filepath.Join(c.Cache, "*", "*", "*"+partialSuffix)); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
	t.Run("pointer in the repository itself", func(t *testing.T) {
		files := tinyModel()
		files[3] = blob{name: "model.safetensors", content: []byte(pointer)}
		_, err := newFakeHub(t, files...).client(t).Pull(t.Context(), testRepo, "")
		wantError(t, err, "model.safetensors", "Git LFS pointer")
	})
}

// fullDisk is a file on a disk with room for so many bytes more.
type fullDisk struct {
	*os.File
	room int
}

func (f *fullDisk) Write(p []byte) (int, error) {
	n, err := f.File.Write(p[:min(len(p), f.room)])
	if f.room -= n; err == nil && n < len(p) {
		err = &os.PathError{Op: "write", Path: f.Name(), Err: syscall.ENOSPC}
	}
	return n, err
}

func TestFullDisk(t *testing.T) {
	files := tinyModel()
	h := newFakeHub(t, files...)
	c := h.client(t)
	c.partial = func(root *os.Root, name string) (partialFile, error) {
		f, err := root.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o666)
		return &fullDisk{f, 120_000}, err
	}
	_, err := c.Pull(t.Context(), testRepo, "")
	wantError(t, err, "model.safetensors", "no room left", c.Cache, "HF_HOME")
	if !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("%v does not wrap ENOSPC", err)
	}
	h.requests()
	c.partial = nil
	mustPull(t, h, c)
	if asked := h.requests(); !slices.Contains(asked, "GET /"+weightsOf(files).sum()+" bytes=120000-") {
		t.Errorf("asked %v, want the rest from byte 120000", asked)
	}
}

func TestCancelledPullContinues(t *testing.T) {
	files := tinyModel()
	h := newFakeHub(t, files...)
	h.set(firstly(1, isStored, halt(weightsOf(files).content, 150_000)))
	c := h.client(t)
	ctx, cancel := context.WithCancel(t.Context())
	c.Progress = func(file string, done, _ int64) {
		if file == "model.safetensors" && done == 150_000 {
			cancel()
		}
	}
	if _, err := c.Pull(ctx, testRepo, ""); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, want context.Canceled", err)
	}
	h.requests()
	c.Progress = nil
	mustPull(t, h, c)
	if asked := h.requests(); !slices.Contains(asked, "GET /"+weightsOf(files).sum()+" bytes=150000-") {
		t.Errorf("asked %v, want the rest from byte 150000", asked)
	}
}

func TestMirrorWithoutHashesInItsListing(t *testing.T) {
	h := newFakeHub(t, tinyModel()...)
	h.noBlobs = true
	mustPull(t, h, h.client(t))
	if asked := h.requests(); slices.ContainsFunc(asked, func(line string) bool {
		return strings.HasPrefix(line, "HEAD") && !strings.Contains(line, "/resolve/")
	}) {
		t.Errorf("asked %v: the storage's addresses are signed for GET", asked)
	}
	h.set(firstly(9, isResolve, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Etag", `"an-md5"`) }))
	_, err := h.client(t).Pull(t.Context(), testRepo, "")
	wantError(t, err, "config.json", "etag", "HF_ENDPOINT")
}

func TestBadArguments(t *testing.T) {
	for want, call := range map[string]struct{ endpoint, cache, repo, revision string }{
		"no repository's name":  {repo: "../../etc/passwd", cache: "c"},
		"give ORG/NAME":         {repo: "a/b/c", cache: "c"},
		`"acme/.git..x" is no`:  {repo: "acme/.git..x", cache: "c"},
		`"a--b" is no`:          {repo: "a--b", cache: "c"},
		`revision "../../x"`:    {repo: testRepo, cache: "c", revision: "../../x"},
		"no cache folder":       {repo: testRepo},
		"HF_ENDPOINT \"ftp://x": {repo: testRepo, cache: "c", endpoint: "ftp://x"},
	} {
		c := &Client{Endpoint: call.endpoint, Cache: call.cache}
		_, err := c.Pull(t.Context(), call.repo, call.revision)
		wantError(t, err, want)
	}
}

func TestCacheDir(t *testing.T) {
	for _, c := range []struct {
		env  map[string]string
		want string
	}{
		{map[string]string{"HF_HUB_CACHE": "/a", "HF_HOME": "/b"}, "/a"},
		{map[string]string{"HF_HOME": "/b", "HOME": "/c"}, "/b/hub"},
		{map[string]string{"XDG_CACHE_HOME": "/x", "HOME": "/c"}, "/x/huggingface/hub"},
		{map[string]string{"HOME": "/c"}, "/c/.cache/huggingface/hub"},
		{nil, ""},
	} {
		got, err := CacheDir(func(name string) string { return c.env[name] })
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%v: got %q, %v; want %q", c.env, got, err, c.want)
		}
	}
}
