package nativelib

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

var library = []byte("\x7fELF, as far as this test goes")

func sumOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func wheelBytes(t *testing.T, entries map[string][]byte) []byte {
	t.Helper()
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	for name, data := range entries {
		w, err := z.Create(name)
		if err == nil {
			_, err = w.Write(data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func tgz(t *testing.T, headers ...tar.Header) []byte {
	t.Helper()
	var buf bytes.Buffer
	g := gzip.NewWriter(&buf)
	w := tar.NewWriter(g)
	for _, h := range headers {
		if h.Typeflag == tar.TypeReg {
			h.Size = int64(len(library))
		}
		err := w.WriteHeader(&h)
		if err == nil && h.Typeflag == tar.TypeReg {
			_, err = w.Write(library)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), g.Close()); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// fakeTools makes PATH one folder that holds shell scripts.
func fakeTools(t *testing.T, scripts map[string]string) {
	t.Helper()
	bin := t.TempDir()
	for name, body := range scripts {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+body), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin)
}

// pipServing is a python3 whose "-m pip download" leaves the wheel in its working folder.
func pipServing(t *testing.T, wheel []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "onnxruntime-1.0.0-cp312-cp312-fake.whl")
	if err := os.WriteFile(path, wheel, 0o644); err != nil {
		t.Fatal(err)
	}
	return `[ "$1 $2" = "-m pip" ] || exit 9
case "$3" in
--version) exit 0 ;;
download) case "$*" in *"--platform fake_1 "*" onnxruntime==1.0.0") exec /bin/cp ` + path + ` . ;; esac ;;
esac
echo "unexpected: $*"; exit 9
`
}

const wheelMember = "onnxruntime/capi/libonnxruntime.so.1.0.0"

func testPins() []pin {
	return []pin{
		{source: PyPI, version: "1.0.0", arch: "test", platform: "fake_1", member: wheelMember, sha256: sumOf(library),
			size: int64(len(library))},
		{source: NPM, version: "0.9.0", arch: "test", member: "package/bin/libonnxruntime.so.1", sha256: sumOf(library),
			size: int64(len(library))},
		{source: Release, version: "1.0.0", arch: "test", member: "onnxruntime-linux-x64-1.0.0/lib/libonnxruntime.so.1.0.0"},
	}
}

// onlyFiles fails if anything but the wanted files lies under dir.
func onlyFiles(t *testing.T, dir string, want ...string) {
	t.Helper()
	var got []string
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			got = append(got, path)
		}
		return err
	})
	if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("files %q, want %q (%v)", got, want, err)
	}
}

func TestInstallFromWheel(t *testing.T) {
	fakeTools(t, map[string]string{"python3": pipServing(t, wheelBytes(t, map[string][]byte{wheelMember: library,
		"onnxruntime/other.so": nil}))})
	in := &Installer{CacheDir: filepath.Join(t.TempDir(), "new", "cache"), pins: testPins()}

	f, fetched, err := in.Install(t.Context())
	if err != nil || !fetched {
		t.Fatalf("first: fetched %v, %v", fetched, err)
	}
	if got, _ := os.ReadFile(f.Path); !bytes.Equal(got, library) {
		t.Fatalf("installed %q", got)
	}
	onlyFiles(t, in.CacheDir, f.Path)

	again, fetched, err := in.Install(t.Context())
	if err != nil || fetched || again.Path != f.Path {
		t.Fatalf("second: fetched %v, %v, %s", fetched, err, again.Path)
	}

	if err := os.WriteFile(f.Path, []byte("spoilt"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := f.Verify(); err == nil || !strings.Contains(err.Error(), "SHA-256") {
		t.Fatalf("Verify of a spoilt library: %v", err)
	}
	if _, fetched, err = in.Install(t.Context()); err != nil || !fetched {
		t.Fatalf("after spoiling: fetched %v, %v", fetched, err)
	}
	if err := f.Verify(); err != nil {
		t.Fatal(err)
	}

	in.Force = true
	if _, fetched, err = in.Install(t.Context()); err != nil || !fetched {
		t.Fatalf("forced: fetched %v, %v", fetched, err)
	}
}

func TestInstallRefusesBadWheels(t *testing.T) {
	changed := bytes.ToUpper(library)
	good := wheelBytes(t, map[string][]byte{wheelMember: library})
	for name, c := range map[string]struct {
		wheel []byte
		want  string
	}{
		"wrong hash": {wheelBytes(t, map[string][]byte{wheelMember: changed}), "SHA-256 is " + sumOf(changed)},
		"too long":   {wheelBytes(t, map[string][]byte{wheelMember: append(library, 'x')}), "refused"},
		"too short":  {wheelBytes(t, map[string][]byte{wheelMember: library[1:]}), "refused"},
		"missing file": {wheelBytes(t, map[string][]byte{"onnxruntime/capi/other.so": library}),
			"holds no file " + wheelMember},
		"path traversal": {wheelBytes(t, map[string][]byte{"../../" + wheelMember: library, "/" + wheelMember: library}),
			"holds no file"},
		"cut short": {good[:len(good)-30], "zip"},
		"empty":     {nil, "zip"},
	} {
		t.Run(name, func(t *testing.T) {
			fakeTools(t, map[string]string{"python3": pipServing(t, c.wheel)})
			in := &Installer{CacheDir: t.TempDir(), Source: PyPI, pins: testPins()}
			_, _, err := in.Install(t.Context())
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "another --source") {
				t.Fatalf("error %v, want %q and what to try", err, c.want)
			}
			onlyFiles(t, in.CacheDir)
		})
	}
}

func TestInstallFallsBackToNPM(t *testing.T) {
	pack := filepath.Join(t.TempDir(), "pack")
	content := tgz(t,
		tar.Header{Name: "package/bin/libonnxruntime.so.1", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"},
		tar.Header{Name: "package/bin/libonnxruntime.so.1", Typeflag: tar.TypeReg, Mode: 0o644})
	if err := os.WriteFile(pack, content, 0o644); err != nil {
		t.Fatal(err)
	}
	fakeTools(t, map[string]string{
		"pip3": "echo 'ERROR: no matching distribution'; [ \"$1\" = --version ]",
		"npm":  `[ "$*" = "pack --silent onnxruntime-node@0.9.0" ] && exec /bin/cp ` + pack + " onnxruntime-node-0.9.0.tgz",
	})
	var said []string
	in := &Installer{CacheDir: t.TempDir(), pins: testPins(), Log: func(f string, a ...any) {
		said = append(said,
			fmt.Sprintf(f, a...))
	}}
	f, fetched, err := in.Install(t.Context())
	if err != nil || !fetched || f.Version != "0.9.0" {
		t.Fatalf("%v fetched %v, %v", f, fetched, err)
	}
	onlyFiles(t, in.CacheDir, f.Path)
	if got := strings.Join(said, "\n"); !strings.Contains(got, "pip3") || !strings.Contains(got, "with npm") {
		t.Fatalf("said %s", got)
	}
}

func TestInstallSaysWhatToTry(t *testing.T) {
	fakeTools(t, nil)
	in := &Installer{CacheDir: t.TempDir(), pins: testPins()}
	_, _, err := in.Install(t.Context())
	for _, want := range []string{"apt-get install python3-pip", "Node.js with npm"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("without tools: %v, want %q", err, want)
		}
	}
	fakeTools(t, map[string]string{"pip": "[ \"$1\" = --version ] || { echo 'ERROR: connection refused' >&2; exit 1; }"})
	_, _, err = in.Install(t.Context())
	for _, want := range []string{"connection refused", "pip config list", "--source npm"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("failing pip: %v, want %q", err, want)
		}
	}
	blocked := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(blocked, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	in = &Installer{CacheDir: blocked, pins: testPins()}
	if _, _, err = in.Install(t.Context()); err == nil || !strings.Contains(err.Error(), "ERREVAL_CACHE") {
		t.Errorf("cache is a file: %v", err)
	}
	for _, bad := range []*Installer{{Source: "cargo"}, {SHA256: "abc"}, {pins: []pin{}}} {
		if _, _, err := bad.Install(t.Context()); err == nil {
			t.Errorf("%+v: no error", bad)
		}
	}
}

func TestInstallFromRelease(t *testing.T) {
	archive := tgz(t, tar.Header{Name: testPins()[2].member, Typeflag: tar.TypeReg, Mode: 0o644})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1.0.0/onnxruntime-linux-x64-1.0.0.tgz" {
			http.NotFound(w, r)
			return
		}
		_, _ = io.Copy(w, bytes.NewReader(archive))
	}))
	defer server.Close()
	in := &Installer{CacheDir: t.TempDir(), Source: Release, pins: testPins(), releaseBase: server.URL}
	if _, _, err := in.Install(t.Context()); err == nil || !strings.Contains(err.Error(), "--sha256") {
		t.Fatalf("without a hash: %v", err)
	}
	in.SHA256 = sumOf(library)
	if _, _, err := in.Install(t.Context()); err == nil || !strings.Contains(err.Error(), "SHA-256 is "+sumOf(archive)) {
		t.Fatalf("wrong hash: %v", err)
	}
	in.SHA256 = strings.ToUpper(sumOf(archive))
	f, _, err := in.Install(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	onlyFiles(t, in.CacheDir, f.Path, sumFile(f.Path))
	in.SHA256 = ""
	if _, fetched, err := in.Install(t.Context()); err != nil || fetched {
		t.Fatalf("second, from the noted hash: fetched %v, %v", fetched, err)
	}
	in.releaseBase, in.Force, in.SHA256 = server.URL+"/gone", true, sumOf(archive)
	if _, _, err := in.Install(t.Context()); err == nil || !strings.Contains(err.Error(), "404") {
		t.Fatalf("missing archive: %v", err)
	}
}

func TestInstallsAtOnce(t *testing.T) {
	fakeTools(t, map[string]string{"python3": pipServing(t, wheelBytes(t, map[string][]byte{wheelMember: library}))})
	cache := t.TempDir()
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			in := &Installer{CacheDir: cache, Force: true, pins: testPins()}
			if f, _, err := in.Install(t.Context()); err != nil || f.Verify() != nil {
				t.Error(err, f.Verify())
			}
		})
	}
	group.Wait()
	onlyFiles(t, cache, testPins()[0].libraryPath(cache))
}

func TestInstallStopsWhenCancelled(t *testing.T) {
	fakeTools(t, map[string]string{"pip3": `[ "$1" = --version ] || exec /bin/sleep 60`})
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	in := &Installer{CacheDir: t.TempDir(), pins: testPins()}
	if _, _, err := in.Install(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	onlyFiles(t, in.CacheDir)
}

func touch(t *testing.T, elem ...string) string {
	t.Helper()
	path := filepath.Join(elem...)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestLocateOrder(t *testing.T) {
	own := pinsHere()
	if len(own) == 0 {
		t.Fatal("no pin for the machine that runs this test")
	}
	flag := touch(t, t.TempDir(), "mine.so")
	env := touch(t, t.TempDir(), "libonnxruntime.so.1.30.2")
	cache := t.TempDir()
	npm, pypi := touch(t, own[1].libraryPath(cache)), touch(t, own[0].libraryPath(cache))
	oldDir, sysDir := t.TempDir(), t.TempDir()
	touch(t, oldDir, "libonnxruntime.so.1.20.1")
	touch(t, sysDir, "libonnxruntime.so.1.9.0")
	sys := touch(t, sysDir, "libonnxruntime.so.1.25.0")
	system := []string{filepath.Join(oldDir, "none"), oldDir, sysDir}

	for name, c := range map[string]struct {
		o    Options
		want Found
	}{
		"flag first": {Options{Flag: flag, Env: env, CacheDir: cache, System: system}, Found{Path: flag, From: "flag"}},
		"then environment": {Options{Env: env, CacheDir: cache, System: system}, Found{Path: env, From: "environment",
			Version: "1.30.2"}},
		"a folder": {Options{Env: sysDir}, Found{Path: sys, From: "environment", Version: "1.25.0"}},
		"then cache": {Options{CacheDir: cache, System: system}, Found{Path: pypi, From: "cache",
			Version: Version, pin: own[0]}},
		"then system": {Options{CacheDir: t.TempDir(), System: system}, Found{Path: sys, From: "system", Version: "1.25.0"}},
	} {
		if got, err := Locate(c.o); err != nil || got != c.want {
			t.Errorf("%s: %+v, %v; want %+v", name, got, err, c.want)
		}
	}
	if err := os.Remove(pypi); err != nil {
		t.Fatal(err)
	}
	if got, err := Locate(Options{CacheDir: cache, System: system}); err != nil || got.Path != npm {
		t.Errorf("npm's in the cache: %s, %v", got.Path, err)
	}
}

func TestLocateErrors(t *testing.T) {
	old := t.TempDir()
	touch(t, old, "libonnxruntime.so.1.20.1")
	for name, c := range map[string]struct {
		o    Options
		want []string
	}{
		"flag to nothing": {Options{Flag: "/none/lib.so", Env: "x"}, []string{"/none/lib.so", "the flag",
			"erreval setup"}},
		"variable to nothing": {Options{Env: "/none/lib.so", System: []string{old}}, []string{"/none/lib.so", EnvVar}},
		"folder without":      {Options{Flag: t.TempDir()}, []string{"holds no libonnxruntime.so"}},
		"only an old one": {Options{CacheDir: "/c", System: []string{old}}, []string{"1.20.1 is too old", "1.24",
			"erreval setup"}},
		"nothing": {Options{CacheDir: "/c", System: []string{}}, []string{"not found", "/c", "erreval setup", EnvVar}},
	} {
		_, err := Locate(c.o)
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", name, err, want)
			}
		}
	}
}

func TestVersionFollowsLinks(t *testing.T) {
	dir := t.TempDir()
	touch(t, dir, "libonnxruntime.so.1.26.0")
	link := filepath.Join(dir, "libonnxruntime.so")
	if err := os.Symlink("libonnxruntime.so.1.26.0", link); err != nil {
		t.Fatal(err)
	}
	if got := versionOf(link); got != "1.26.0" {
		t.Fatalf("version %q", got)
	}
}

func TestCacheDir(t *testing.T) {
	for _, c := range []struct {
		env  map[string]string
		want string
	}{
		{map[string]string{"ERREVAL_CACHE": "/e", "XDG_CACHE_HOME": "/x", "HOME": "/h"}, "/e"},
		{map[string]string{"XDG_CACHE_HOME": "/x", "HOME": "/h"}, "/x/erreval"},
		{map[string]string{"XDG_CACHE_HOME": "relative", "HOME": "/h"}, "/h/.cache/erreval"},
		{map[string]string{"HOME": "/h"}, "/h/.cache/erreval"},
		{nil, ""},
	} {
		got, err := CacheDir(func(key string) string { return c.env[key] })
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%v: %q, %v; want %q", c.env, got, err, c.want)
		}
	}
}

// Every machine has each source, and only the release archive is without a pin.
func TestPinsAreComplete(t *testing.T) {
	for _, arch := range []string{"amd64", "arm64"} {
		found := pinsFor(pins, "linux", arch)
		if len(found) != 3 || found[0].source != PyPI || found[1].source != NPM || found[2].source != Release {
			t.Errorf("%s: %+v", arch, found)
		}
		for _, p := range found {
			if pinned := len(p.sha256) == 64 && p.size > 0 && p.download > 0; pinned == (p.source == Release) {
				t.Errorf("%s %s: pinned %v", arch, p.source, pinned)
			}
		}
	}
	if got := pinsFor(pins, "darwin", "arm64"); got != nil {
		t.Errorf("darwin has pins %+v", got)
	}
}

func FuzzMember(f *testing.F) {
	f.Add([]byte("PK\x03\x04"), true)
	f.Add([]byte("\x1f\x8b\x08\x00"), false)
	f.Fuzz(func(t *testing.T, data []byte, isZip bool) {
		path := filepath.Join(t.TempDir(), map[bool]string{true: "a.whl", false: "a.tgz"}[isZip])
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		target := filepath.Join(t.TempDir(), "lib")
		p := pin{member: wheelMember, sha256: sumOf(library), size: int64(len(library))}
		if _, err := unpackLibrary(path, p, target); err == nil {
			if got, _ := os.ReadFile(target); !bytes.Equal(got, library) {
				t.Fatalf("unpacked %q", got)
			}
			return
		}
		if _, err := os.Stat(target); err == nil {
			t.Fatal("a refused archive left a file")
		}
	})
}
