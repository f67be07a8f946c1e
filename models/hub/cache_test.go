package hub

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// childEnv, if set, makes the test binary a process that pulls once: the hub's address and the cache, a line each.
const childEnv = "HUB_TEST_PULL"

func TestMain(m *testing.M) {
	if spec := os.Getenv(childEnv); spec != "" {
		pullInChild(spec)
		return
	}
	m.Run()
}

// pullInChild prints each step of the weights' progress, at last "complete" or the error.
func pullInChild(spec string) {
	endpoint, cache, _ := strings.Cut(spec, "\n")
	c := &Client{Endpoint: endpoint, Cache: cache, Progress: func(file string, done, _ int64) {
		if file == "model.safetensors" {
			fmt.Fprintln(os.Stdout, done)
		}
	}}
	if _, err := c.Pull(context.Background(), testRepo, ""); err != nil {
		fmt.Fprintln(os.Stdout, err)
		return
	}
	fmt.Fprintln(os.Stdout, "complete")
}

// startChild starts a process that pulls into c's cache; its output ends when it does.
func startChild(t *testing.T, c *Client) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(cmd.Environ(), childEnv+"="+c.Endpoint+"\n"+c.Cache)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, bufio.NewScanner(out)
}

func TestKilledPullResumes(t *testing.T) {
	files := tinyModel()
	h := newFakeHub(t, files...)
	h.set(firstly(1, isStored, halt(weightsOf(files).content, 170_000)))
	c := h.client(t)
	child, out := startChild(t, c)
	for out.Scan() && out.Text() != "170000" {
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := child.Wait(); err == nil || out.Err() != nil {
		t.Fatalf("the child was not killed: %v, %v", err, out.Err())
	}
	h.requests()
	mustPull(t, h, c)
	want := []string{
		"GET /acme/tiny/resolve/" + testCommit + "/model.safetensors bytes=170000-", // the others were complete
		"GET /" + weightsOf(files).sum() + " bytes=170000-",
	}
	if asked := h.requests(); !equalSets(asked, want) {
		t.Errorf("asked %v\nwant %v", asked, want)
	}
}

func equalSets(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

func TestPullsAtOnce(t *testing.T) {
	h := newFakeHub(t, tinyModel()...)
	c := h.client(t)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if _, err := c.Pull(t.Context(), testRepo, ""); err != nil {
				t.Error(err)
			}
		})
	}
	for range 3 {
		cmd, out := startChild(t, c)
		wg.Go(func() {
			last := ""
			for out.Scan() {
				last = out.Text()
			}
			if err := cmd.Wait(); err != nil || last != "complete" {
				t.Errorf("a process that pulls: %v, %q", err, last)
			}
		})
	}
	wg.Wait()
	if asked := h.requests(); len(asked) != 4 { // each file once, and one redirect
		t.Errorf("asked %v, want each file once", asked)
	}
	mustPull(t, h, c)
}

func TestWaitsForTheLock(t *testing.T) {
	h := newFakeHub(t, tinyModel()...)
	c := h.client(t)
	p, err := c.newPull(testRepo, "")
	if err != nil {
		t.Fatal(err)
	}
	unlock, err := p.lockRepo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c.Notice = func(message string) {
		if !strings.Contains(message, "another pull of acme/tiny is running") {
			t.Errorf("notice %q", message)
		}
		unlock()
	}
	mustPull(t, h, c)
}

// recorded is the cache that huggingface_hub makes: testdata/make_fixtures.py.
type recorded struct {
	Repo, Revision, Commit string
	Repository             []struct {
		Name, Content string
		LFS           bool
	}
	Links, Files map[string]string
}

func readRecorded(t *testing.T) (r recorded, files []blob) {
	t.Helper()
	data, err := os.ReadFile("testdata/huggingface_hub.json")
	if err == nil {
		err = json.Unmarshal(data, &r)
	}
	if err != nil || r.Repo != testRepo || r.Commit != testCommit {
		t.Fatal(err, r.Repo, r.Commit)
	}
	for _, f := range r.Repository {
		files = append(files, blob{f.Name, []byte(f.Content), f.LFS})
	}
	return r, files
}

func everything(names []string) ([]string, error) { return names, nil }

// TestLayoutIsHuggingFaceHubs compares our cache with the one that huggingface_hub makes of the same repository.
func TestLayoutIsHuggingFaceHubs(t *testing.T) {
	want, files := readRecorded(t)
	c := newFakeHub(t, files...).client(t)
	c.Select = everything
	if _, err := c.Pull(t.Context(), want.Repo, want.Revision); err != nil {
		t.Fatal(err)
	}
	got := recorded{Links: map[string]string{}, Files: map[string]string{}}
	err := fs.WalkDir(os.DirFS(c.Cache), "models--acme--tiny", func(name string, d fs.DirEntry, err error) error {
		path := filepath.Join(c.Cache, name)
		switch {
		case err != nil || d.IsDir():
			return err
		case d.Type()&fs.ModeSymlink != 0:
			got.Links[name], err = os.Readlink(path)
		default:
			var data []byte
			data, err = os.ReadFile(path)
			got.Files[name] = string(data)
		}
		return err
	})
	if err != nil || !maps.Equal(got.Links, want.Links) || !maps.Equal(got.Files, want.Files) {
		t.Errorf("%v\ngot  %v\n     %v\nwant %v\n     %v", err, got.Links, got.Files, want.Links, want.Files)
	}
}

// TestReusesHuggingFaceHubs pulls into the cache that huggingface_hub made.
func TestReusesHuggingFaceHubs(t *testing.T) {
	was, files := readRecorded(t)
	h := newFakeHub(t, files...)
	c := h.client(t)
	c.Select = everything
	for name, content := range was.Files {
		put(t, filepath.Join(c.Cache, name), func(path string) error { return os.WriteFile(path, []byte(content), 0o666) })
	}
	for name, target := range was.Links {
		put(t, filepath.Join(c.Cache, name), func(path string) error { return os.Symlink(target, path) })
	}
	for _, c.Offline = range []bool{false, true} {
		s, err := c.Pull(t.Context(), was.Repo, was.Revision)
		if err != nil || len(s.Files) != len(files) || s.Commit != was.Commit {
			t.Fatalf("offline %v: %v, %+v", c.Offline, err, s)
		}
	}
	if asked := h.requests(); len(asked) != 0 {
		t.Errorf("asked %v, want nothing but the listing", asked)
	}
}

func put(t *testing.T, path string, create func(string) error) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := create(path); err != nil {
		t.Fatal(err)
	}
}

func TestReadOnlyCache(t *testing.T) {
	h := newFakeHub(t, tinyModel()...)
	c := h.client(t)
	mustPull(t, h, c)
	if err := os.RemoveAll(filepath.Join(c.Cache, ".locks")); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(c.Cache, ".locks"), func(path string) error { return os.WriteFile(path, nil, 0o444) })
	mustPull(t, h, c) // complete: nothing to lock
	_, err := c.Pull(t.Context(), testRepo, "refs/pr/1")
	wantError(t, err, ".locks", "not a directory")
}

func TestOffline(t *testing.T) {
	h := newFakeHub(t, tinyModel()...)
	c := h.client(t)
	c.Offline = true
	_, err := c.Pull(t.Context(), testRepo, "")
	wantError(t, err, "acme/tiny", `"main"`, "nothing of it", "without --offline")
	c.Offline = false
	s := mustPull(t, h, c)
	h.hub.Close()
	c.Offline = true
	offline := mustPull(t, h, c)
	if offline.Dir != s.Dir || !maps.Equal(offline.Files, s.Files) {
		t.Errorf("offline %+v\nonline %+v", offline, s)
	}
	if s, err := c.Pull(t.Context(), testRepo, testCommit); err != nil || len(s.Files) != 3 {
		t.Errorf("at a commit: %v, %+v", err, s)
	}
	_, err = c.Pull(t.Context(), testRepo, "other")
	wantError(t, err, `"other"`, "other revisions", "without --offline")
	_, err = c.Pull(t.Context(), testRepo, strings.Repeat("0", 40))
	wantError(t, err, "other revisions")

	weights := filepath.Join(filepath.Dir(filepath.Dir(s.Dir)), "blobs", s.Files["model.safetensors"].Sum)
	if err := os.Remove(weights); err != nil {
		t.Fatal(err)
	}
	_, err = c.Pull(t.Context(), testRepo, "")
	wantError(t, err, "not model.safetensors", "no such file", "without --offline")
	for _, name := range []string{"model.safetensors", "tokenizer.json"} {
		if err := os.Remove(s.Files[name].Path); err != nil {
			t.Fatal(err)
		}
	}
	_, err = c.Pull(t.Context(), testRepo, "")
	wantError(t, err, "a tokenizer", "weights", "missing; there are config.json")
}

func TestNothingLeadsOutOfTheCache(t *testing.T) {
	bad := []string{"../up", "/etc/passwd", "a/../../b", `..\up`, `C:\x`, "C:x", "a\x00b", "a//b", "a/", ".", "..",
		"", "./a", "a\nb"}
	files := tinyModel()
	for _, name := range bad {
		files = append(files, blob{name: name, content: []byte("x")})
	}
	h := newFakeHub(t, files...)
	c := h.client(t)
	mustPull(t, h, c) // unselected names do no harm
	for _, name := range bad {
		c.Select = func([]string) ([]string, error) { return []string{name}, nil }
		_, err := c.Pull(t.Context(), testRepo, "")
		wantError(t, err, fmt.Sprintf("%q", name), "refused")
	}
	c.Select = func([]string) ([]string, error) { return []string{"not listed"}, nil }
	_, err := c.Pull(t.Context(), testRepo, "")
	wantError(t, err, `no file "not listed"`)
}

// TestLinksInTheCacheLeadNowhere has links where the cache has folders and files.
func TestLinksInTheCacheLeadNowhere(t *testing.T) {
	weights := weightsOf(tinyModel())
	for name, at := range map[string]string{
		"blobs": "blobs", "snapshots": "snapshots", "commit": "snapshots/" + testCommit, "refs": "refs",
		"part": "blobs/" + weights.sum() + partialSuffix,
	} {
		t.Run(name, func(t *testing.T) {
			c := newFakeHub(t, tinyModel()...).client(t)
			outside := t.TempDir()
			target := outside
			if name == "part" {
				target = filepath.Join(outside, "victim")
			}
			put(t, filepath.Join(c.Cache, "models--acme--tiny", at), func(path string) error { return os.Symlink(target, path) })
			_, err := c.Pull(t.Context(), testRepo, "")
			wantError(t, err, "escapes")
			if left, _ := os.ReadDir(outside); len(left) > 0 {
				t.Errorf("written outside: %v", left)
			}
		})
	}
	t.Run("blob", func(t *testing.T) { // a link is no blob: it is replaced
		h := newFakeHub(t, tinyModel()...)
		c := h.client(t)
		victim := filepath.Join(t.TempDir(), "victim")
		put(t, victim, func(path string) error { return os.WriteFile(path, []byte("mine"), 0o666) })
		put(t, filepath.Join(c.Cache, "models--acme--tiny", blobName(weights.sum())),
			func(path string) error { return os.Symlink(victim, path) })
		mustPull(t, h, c)
		if data, err := os.ReadFile(victim); err != nil || string(data) != "mine" {
			t.Errorf("victim: %q, %v", data, err)
		}
	})
}

func TestSelectModel(t *testing.T) {
	tokenizer := "config.json tokenizer.json tokenizer_config.json "
	for names, want := range map[string]string{
		tokenizer + "model.safetensors pytorch_model.bin onnx/model.onnx README.md tf_model.h5 vocab.txt": tokenizer +
			"model.safetensors",
		tokenizer + "pytorch_model.bin onnx/model.onnx": tokenizer + "pytorch_model.bin",
		tokenizer + "onnx/model.onnx onnx/model.onnx_data onnx/model_quantized.onnx": tokenizer +
			"onnx/model.onnx onnx/model.onnx_data",
		"config.json vocab.txt model.onnx model.onnx.data":          "config.json vocab.txt model.onnx model.onnx.data",
		"config.json vocab.json merges.txt model.safetensors":       "config.json vocab.json merges.txt model.safetensors",
		"manifest.json tokenizer.json model.onnx model.safetensors": "manifest.json tokenizer.json model.onnx",
		tokenizer + "model.safetensors.index.json model-00001-of-00002.safetensors model-00002-of-00002.safetensors pytorch_model.bin": tokenizer +
			"model-00001-of-00002.safetensors model-00002-of-00002.safetensors model.safetensors.index.json",
		tokenizer + "pytorch_model.bin.index.json pytorch_model-00001-of-00001.bin": tokenizer +
			"pytorch_model-00001-of-00001.bin pytorch_model.bin.index.json",
	} {
		got, err := SelectModel(strings.Fields(names))
		if err != nil || !equalSets(got, strings.Fields(want)) {
			t.Errorf("%s\ngot  %v, %v\nwant %s", names, got, err, want)
		}
	}
	for names, want := range map[string]string{
		"":                                       "config.json, a tokenizer",
		"README.md model.gguf":                   "there are README.md, model.gguf",
		"config.json model.safetensors":          "a tokenizer (tokenizer.json",
		"config.json tokenizer.json tf_model.h5": "weights (model.safetensors",
		tokenizer + "model.safetensors.index.json": "weights (model.safetensors",
		tokenizer + "model.safetensors.index.json model-00002-of-00003.safetensors": "model-00001-of-00003.safetensors, " +
			"model-00003-of-00003.safetensors missing",
		tokenizer + "model.safetensors.index.json model-00002-of-99999.safetensors": "model-00004-of-99999.safetensors, " +
			"and more shards missing",
		strings.Repeat("x ", 40): "and 28 more files",
	} {
		_, err := SelectModel(strings.Fields(names))
		wantError(t, err, want)
	}
}

// TestHashes has its witnesses in git (`git hash-object`, its empty blob) and FIPS 180-4.
func TestHashes(t *testing.T) {
	for _, f := range []struct {
		content string
		File
	}{
		{"hello\n", File{Sum: "ce013625030ba8dba906f756967f9e9ca394464a", Size: 6}},
		{"", File{Sum: "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391", Size: 0}},
		{"abc", File{Sum: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", LFS: true, Size: -1}},
	} {
		if err := checkHash(strings.NewReader(f.content), f.File); err != nil {
			t.Errorf("%q: %v", f.content, err)
		}
		if err := checkHash(strings.NewReader(f.content+"x"), f.File); err == nil {
			t.Errorf("%q with a byte more has the same hash", f.content)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	for value, want := range map[string]time.Duration{"": 0, "12": 12 * time.Second, "-1": 0, "soon": 0,
		"99999999999999999999": 0, "Mon, 01 Jan 1990 00:00:00 GMT": 0} {
		if got := retryAfter(http.Header{"Retry-After": {value}}); got != want {
			t.Errorf("Retry-After %q: %v, want %v", value, got, want)
		}
	}
	date := time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)
	if got := retryAfter(http.Header{"Retry-After": {date}}); got < 59*time.Minute || got > time.Hour {
		t.Errorf("Retry-After %s: %v", date, got)
	}
}

func FuzzCheckName(f *testing.F) {
	for _, name := range []string{"config.json", "onnx/model.onnx", "../x", "/x", `a\b`, "a/./b", "a/../../b", "C:x", ""} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if checkName(name) == nil && (!filepath.IsLocal(name) || !fs.ValidPath(strings.ToValidUTF8(name, "_")) ||
			strings.ContainsAny(name, "\\:\x00")) {
			t.Errorf("%q is let through", name)
		}
	})
}

func FuzzParseListing(f *testing.F) {
	f.Add([]byte(`{"sha": "` + testCommit + `", "siblings": [{"rfilename": "a", "size": 3, "blobId": "` +
		testCommit + `"}]}`))
	f.Add([]byte(`{"sha": "` + testCommit + `", "siblings": [{"rfilename": "a", "lfs": {"sha256": "` + strings.Repeat("0",
		64) + `", "size": -3}}]}`))
	f.Add([]byte(`{"siblings": [null], "sha": 3}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		commit, files, err := parseListing(data)
		if err == nil && !isSHA1(commit) {
			t.Errorf("commit %q", commit)
		}
		for _, file := range files {
			if file.Size < -1 || (file.Sum != "" && !isSHA1(file.Sum) && !isSHA256(file.Sum)) {
				t.Errorf("%+v", file)
			}
		}
	})
}

func FuzzRange(f *testing.F) {
	f.Add("bytes 5-9/10", int64(5), int64(10))
	f.Add("bytes */10", int64(5), int64(10))
	f.Add("bytes 5-9/*", int64(5), int64(-1))
	f.Fuzz(func(t *testing.T, header string, offset, size int64) {
		var first int64
		if _, err := fmt.Sscanf(header, "bytes %d-", &first); isRangeFrom(header, offset, size) &&
			(err != nil || first != offset) {
			t.Errorf("%q is taken for a range from %d", header, offset)
		}
	})
}

// TestPlantedLock: a link in the place of the lock is not followed.
func TestPlantedLock(t *testing.T) {
	h := newFakeHub(t, tinyModel()...)
	c := h.client(t)
	mustPull(t, h, c)
	found, err := filepath.Glob(filepath.Join(c.Cache, ".locks", "*", "erreval.lock"))
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	mine := filepath.Join(t.TempDir(), "mine")
	if err := os.Remove(found[0]); err != nil {
		t.Fatal(err)
	}
	put(t, found[0], func(path string) error { return os.Symlink(mine, path) })
	_, err = c.Pull(t.Context(), testRepo, "refs/pr/1") // not there yet
	wantError(t, err, found[0])
	if _, err := os.Lstat(mine); !os.IsNotExist(err) {
		t.Errorf("the file behind the link was made: %v", err)
	}
}
