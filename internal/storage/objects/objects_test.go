package objects_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/erreval/erreval/internal/storage"
	"github.com/erreval/erreval/internal/storage/objects"
)

// bucket is a little of an S3 server, whose replies can break off.
type bucket struct {
	mu       sync.Mutex
	objects  map[string][]byte
	written  map[string]time.Time
	breakOff int // replies that end after some bytes
	ranges   []string
}

func serve(t *testing.T) (*bucket, func(key string) string) {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", "a")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "b")
	b := &bucket{objects: map[string][]byte{}, written: map[string]time.Time{}}
	s := httptest.NewServer(b)
	t.Cleanup(s.Close)
	return b, func(key string) string {
		return "s3://bucket/" + key + "?region=us-east-1&use_path_style=true&endpoint=" + s.URL
	}
}

func (b *bucket) put(key string, data []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.objects[key] = data
	b.written[key] = b.written[key].Add(time.Hour)
}

func (b *bucket) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	key := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/bucket"), "/")
	if r.Method == http.MethodPut {
		data, err := io.ReadAll(r.Body)
		b.mu.Lock()
		_, there := b.objects[key]
		b.mu.Unlock()
		switch {
		case err != nil:
			w.WriteHeader(http.StatusBadRequest)
		case there && r.Header.Get("If-None-Match") == "*":
			w.WriteHeader(http.StatusPreconditionFailed)
			fmt.Fprint(w, "<Error><Code>PreconditionFailed</Code></Error>")
		default:
			b.put(key, data)
		}
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if key == "" {
		b.list(w, r.URL.Query().Get("prefix"))
		return
	}
	data, ok := b.objects[key]
	if !ok {
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, "<Error><Code>NoSuchKey</Code></Error>")
		return
	}
	b.ranges = append(b.ranges, r.Header.Get("Range"))
	if r.Method == http.MethodGet && b.breakOff > 0 {
		b.breakOff--
		from := 0
		if text, ok := strings.CutPrefix(r.Header.Get("Range"), "bytes="); ok {
			from, _ = strconv.Atoi(strings.TrimSuffix(text, "-"))
			w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, len(data)-1, len(data)))
		}
		w.Header().Set("Last-Modified", b.written[key].UTC().Format(http.TimeFormat))
		w.Header().Set("Content-Length", strconv.Itoa(len(data)-from))
		if from > 0 {
			w.WriteHeader(http.StatusPartialContent)
		}
		_, _ = w.Write(data[from : from+min(1000, len(data)-from)])
		return // the server closes the connection, since it promised more
	}
	http.ServeContent(w, r, "", b.written[key], bytes.NewReader(data))
}

func (b *bucket) list(w io.Writer, prefix string) {
	fmt.Fprint(w, "<ListBucketResult><IsTruncated>false</IsTruncated>")
	for key, data := range b.objects {
		if strings.HasPrefix(key, prefix) {
			fmt.Fprintf(w, "<Contents><Key>%s</Key><Size>%d</Size>", key, len(data))
			fmt.Fprint(w, "<LastModified>2026-01-02T03:04:05.000Z</LastModified></Contents>")
		}
	}
	fmt.Fprint(w, "</ListBucketResult>")
}

func pattern(n int) []byte {
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(i * 31 >> 3)
	}
	return data
}

// TestReadGoesOn: replies that break off cost no byte and repeat none.
func TestReadGoesOn(t *testing.T) {
	b, at := serve(t)
	want := pattern(5000)
	b.put("rows.jsonl", want)
	b.breakOff = 3
	f, err := objects.Open(t.Context(), at("rows.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	got, err := io.ReadAll(f)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes of %d, %v", len(got), len(want), err)
	}
	if len(b.ranges) != 4 || b.ranges[1] != "bytes=1000-" {
		t.Errorf("ranges asked for: %q", b.ranges)
	}
}

// TestReplacedWhileRead: two objects never become one file of rows.
func TestReplacedWhileRead(t *testing.T) {
	b, at := serve(t)
	b.put("rows.jsonl", pattern(5000))
	b.breakOff = 1
	f, err := objects.Open(t.Context(), at("rows.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b.put("rows.jsonl", pattern(5001))
	_, err = io.ReadAll(f)
	if !errors.Is(err, objects.ErrReplaced) {
		t.Errorf("got %v", err)
	}
}

func TestReadAt(t *testing.T) {
	b, at := serve(t)
	want := pattern(3<<20 + 17)
	b.put("rows.parquet", want)
	f, err := objects.Open(t.Context(), at("rows.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || info.Size() != int64(len(want)) || info.Name() != "rows.parquet" {
		t.Fatalf("%+v, %v", info, err)
	}
	for _, c := range [][2]int{{len(want) - 8, 8}, {1<<20 - 3, 9}, {0, len(want)}, {5, 0}} {
		got := make([]byte, c[1])
		if n, err := f.ReadAt(got, int64(c[0])); n != c[1] || err != nil || !bytes.Equal(got, want[c[0]:c[0]+c[1]]) {
			t.Errorf("%v: %d, %v", c, n, err)
		}
	}
	if n, err := f.ReadAt(make([]byte, 10), int64(len(want))-4); n != 4 || !errors.Is(err, io.EOF) {
		t.Errorf("behind the end: %d, %v", n, err)
	}
}

func TestUpload(t *testing.T) {
	b, at := serve(t)
	file := filepath.Join(t.TempDir(), "out")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		text    string
		replace bool
		want    string // of the object
		fails   bool
	}{
		{"one", false, "one", false},
		{"one", false, "one", false}, // somebody did the same
		{"two", false, "one", true},
		{"two", true, "two", false},
	} {
		write(c.text)
		err := objects.Upload(t.Context(), file, at("out"), c.replace)
		if errors.Is(err, fs.ErrExist) != c.fails || !c.fails && err != nil || string(b.objects["out"]) != c.want {
			t.Errorf("%+v: %q, %v", c, b.objects["out"], err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := objects.Upload(ctx, file, at("never"), true); err == nil || b.objects["never"] != nil {
		t.Errorf("an interrupted upload: %v, %q", err, b.objects["never"])
	}
}

func TestStatAndList(t *testing.T) {
	b, at := serve(t)
	b.put("a/out.jsonl", []byte("12345"))
	b.put("a/out.jsonl.run.json", []byte("{}"))
	info, err := objects.Stat(t.Context(), at("a/out.jsonl"))
	if err != nil || info.Size() != 5 || !info.Mode().IsRegular() || info.IsDir() {
		t.Errorf("%+v, %v", info, err)
	}
	if _, err := objects.Stat(t.Context(), at("a/none")); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(),
		"a/none") {
		t.Errorf("missing: %v", err)
	}
	names, err := objects.List(t.Context(), at("a/out"))
	if err != nil || len(names) != 2 {
		t.Fatalf("%q, %v", names, err)
	}
	for _, name := range names {
		if rest := storage.Rest(name, at("a/out")); rest != ".jsonl" && rest != ".jsonl.run.json" {
			t.Errorf("%s: rest %q", name, rest)
		}
	}
}

func TestFolder(t *testing.T) {
	dir := t.TempDir()
	name := "file://" + dir + "/rows.jsonl"
	from := filepath.Join(t.TempDir(), "from")
	if err := os.WriteFile(from, []byte("x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := objects.Upload(t.Context(), from, name, false); err != nil {
		t.Fatal(err)
	}
	data, err := storage.ReadPath(t.Context(), name, 1<<20)
	if err != nil || string(data) != "x\n" {
		t.Errorf("%q, %v", data, err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("more than the object is there: %v, %v", entries, err)
	}
}

func TestAddresses(t *testing.T) {
	for name, want := range map[string]bool{"s3://b/k": true, "gs://b/k": true, "rows.jsonl": false, "/s3://x": false,
		"C://x": false, "-": false, "a:b": false} {
		if storage.IsURL(name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
	if got := storage.Base("s3://b/folder/rows.csv?region=x"); got != "rows.csv" {
		t.Errorf("base %q", got)
	}
	if got := storage.Beside("s3://b/k.jsonl?region=x", ".run.json"); got != "s3://b/k.jsonl.run.json?region=x" {
		t.Errorf("beside %q", got)
	}
	for _, name := range []string{"s3://bucket", "gs://b/k", "nothing://b/k", "s3://%zz/k"} {
		if _, err := objects.Open(t.Context(), name); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
