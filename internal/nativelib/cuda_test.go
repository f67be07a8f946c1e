package nativelib

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// cudaFixture is two wheels as small as can be, and a python3 whose pip serves them.
func cudaFixture(t *testing.T, served map[string][]byte) []wheel {
	t.Helper()
	dir := t.TempDir()
	script := `[ "$1 $2" = "-m pip" ] || exit 9
case "$3" in --version) exit 0 ;; esac
for last; do :; done
echo "$last" >>` + filepath.Join(dir, "asked") + `
[ -e "` + dir + `/$last.whl" ] || { echo "ERROR: no $last"; exit 1; }
exec /bin/cp "` + dir + `/$last.whl" .
`
	for name, data := range served {
		if err := os.WriteFile(filepath.Join(dir, name+".whl"), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	fakeTools(t, map[string]string{"python3": script})
	file := func(member string) pin { return pin{member: member, size: int64(len(library)), sha256: sumOf(library)} }
	return []wheel{
		{pin: pin{project: "nvidia-a", version: "13.1", platform: "fake_1"},
			files: []pin{file("nvidia/cu13/lib/liba.so.13")}},
		{pin: pin{project: "nvidia-dnn", version: "9.1", platform: "fake_1"},
			files: []pin{file("nvidia/cudnn/lib/libcudnn.so.9"), file("nvidia/cudnn/lib/libcudnn_ops.so.9")}},
		{pin: pin{project: "onnxruntime-gpu", version: "1.0", platform: "fake_1"},
			files: []pin{file("onnxruntime/capi/libonnxruntime_providers_cuda.so"),
				file("onnxruntime/capi/libonnxruntime.so.1.0")}},
	}
}

func cudaServed(t *testing.T) map[string][]byte {
	t.Helper()
	return map[string][]byte{
		"nvidia-a==13.1": wheelOf(t, "nvidia/cu13/lib/liba.so.13"),
		"nvidia-dnn==9.1": wheelOf(t, "nvidia/cudnn/lib/libcudnn.so.9", "nvidia/cudnn/lib/libcudnn_ops.so.9",
			"nvidia/cudnn/lib/../../../../escape.so"),
		"onnxruntime-gpu==1.0": wheelOf(t, "onnxruntime/capi/libonnxruntime_providers_cuda.so",
			"onnxruntime/capi/libonnxruntime.so.1.0"),
	}
}

func wheelOf(t *testing.T, members ...string) []byte {
	t.Helper()
	entries := map[string][]byte{}
	for _, m := range members {
		entries[m] = library
	}
	return wheelBytes(t, entries)
}

func TestInstallCUDA(t *testing.T) {
	cache := t.TempDir()
	served := cudaServed(t)
	delete(served, "onnxruntime-gpu==1.0")
	in := &Installer{CacheDir: cache, wheels: cudaFixture(t, served)}

	if _, err := LocateCUDA(cache); !errors.Is(err, ErrNoCUDA) {
		t.Fatalf("before: %v", err)
	}
	_, _, err := in.InstallCUDA(t.Context()) // the last wheel does not come
	for _, want := range []string{"onnxruntime-gpu 1.0", "ERROR: no onnxruntime-gpu==1.0", "again to go on"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("cut short: %v, want %q in it", err, want)
		}
	}
	_, err = locateCUDA(cache, in.wheels)
	if want := "lacks libonnxruntime_providers_cuda.so, libonnxruntime.so.1.0; run 'erreval setup --cuda'"; err == nil ||
		!strings.Contains(err.Error(), want) {
		t.Errorf("half: %v, want %q in it", err, want)
	}

	// no other is asked for again
	in.wheels = cudaFixture(t, map[string][]byte{"onnxruntime-gpu==1.0": cudaServed(t)["onnxruntime-gpu==1.0"]})
	c, fetched, err := in.InstallCUDA(t.Context())
	if err != nil || !fetched {
		t.Fatalf("second: fetched %v, %v", fetched, err)
	}
	dir := filepath.Dir(c.Library)
	want := []string{Driver, filepath.Join(dir, "liba.so.13"), filepath.Join(dir, "libcudnn.so.9")}
	if !slices.Equal(c.Preload, want) || filepath.Base(c.Library) != "libonnxruntime.so.1.0" {
		t.Errorf("got %+v, want %q loaded first", c, want)
	}
	onlyFiles(t, cache, filepath.Join(dir, "liba.so.13"), filepath.Join(dir, "libcudnn.so.9"),
		filepath.Join(dir, "libcudnn_ops.so.9"),
		filepath.Join(dir, "libonnxruntime.so.1.0"), filepath.Join(dir, "libonnxruntime_providers_cuda.so"))

	if _, fetched, err = in.InstallCUDA(t.Context()); err != nil || fetched {
		t.Errorf("third: fetched %v, %v", fetched, err)
	}
	spoilt := bytes.ToUpper(library) // of the right size: only the hash tells
	if err := os.WriteFile(filepath.Join(dir, "liba.so.13"), spoilt, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, _, err = in.InstallCUDA(t.Context()); err == nil || !strings.Contains(err.Error(), "nvidia-a 13.1") {
		t.Errorf("a spoilt file is not fetched again: %v", err)
	}
}

func TestInstallCUDARefusesBadWheels(t *testing.T) {
	served := cudaServed(t)
	for name, c := range map[string]struct {
		wheel []byte
		want  string
	}{
		"changed":   {wheelBytes(t, map[string][]byte{"nvidia/cu13/lib/liba.so.13": bytes.ToUpper(library)}), "SHA-256 is"},
		"too short": {wheelBytes(t, map[string][]byte{"nvidia/cu13/lib/liba.so.13": library[1:]}), "refused"},
		"missing":   {wheelBytes(t, map[string][]byte{"liba.so.13": library}), "holds no file"},
		"no zip":    {[]byte("<html>"), "zip"},
	} {
		served["nvidia-a==13.1"] = c.wheel
		in := &Installer{CacheDir: t.TempDir(), wheels: cudaFixture(t, served)}
		_, _, err := in.InstallCUDA(t.Context())
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "nvidia-a 13.1") {
			t.Errorf("%s: %v, want %q in it", name, err, c.want)
		}
		onlyFiles(t, in.CacheDir)
	}
}

// TestCUDAPins: what is pinned is complete enough to be checked and loaded.
func TestCUDAPins(t *testing.T) {
	seen := map[string]bool{}
	for _, w := range cudaWheels {
		if w.project == "" || w.version == "" || w.platform == "" || w.download == 0 || len(w.files) == 0 {
			t.Errorf("%s %s is not complete", w.project, w.version)
		}
		for _, f := range w.files {
			name := f.pathIn("")
			if seen[name] || len(f.sha256) != 64 || f.size == 0 || f.size > maxLibrary {
				t.Errorf("%s: twice, or without a hash or size", name)
			}
			seen[name] = true
		}
	}
	for _, name := range []string{"libonnxruntime.so." + Version, "libcudart.so.13", "libcublas.so.13", "libcudnn.so.9"} {
		if !seen[name] {
			t.Errorf("%s is not pinned", name)
		}
	}
	if runtime.GOARCH != "amd64" {
		if _, _, err := (&Installer{CacheDir: t.TempDir()}).InstallCUDA(t.Context()); err == nil ||
			!strings.Contains(err.Error(), EnvVar) {
			t.Errorf("another machine: %v", err)
		}
	}
}
