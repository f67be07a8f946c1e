package runrecord

import (
	"cmp"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"runtime/debug"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

// abcHash is the SHA-256 of "abc" in FIPS 180-4's published examples.
const abcHash = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

func TestWrite(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out.jsonl")
	options := struct {
		Threshold float64 `json:"threshold"` // a legal zero stays visible
		Map       string  `json:"map"`
	}{0, "<a>"}
	r := New("identify", options)
	in := NewInputReader(filepath.Join("some", "folder", "in.jsonl"), iotest.OneByteReader(strings.NewReader("abc")))
	if _, err := io.Copy(io.Discard, in); err != nil {
		t.Fatal(err)
	}
	r.Inputs = append(r.Inputs, in.Input())
	r.Model = &Artefact{ID: "m@1", SHA256: abcHash}
	r.Counts["rows"] = 3
	if err := r.Write(out); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(out + ".run.json")
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Record
		Options json.RawMessage `json:"options"`
	}
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	if want := []Input{{File: "in.jsonl", SHA256: abcHash, Size: 3}}; !reflect.DeepEqual(got.Inputs, want) {
		t.Errorf("inputs %+v, want %+v", got.Inputs, want)
	}
	if text := strings.Join(strings.Fields(string(got.Options)), ""); text != `{"threshold":0,"map":"<a>"}` {
		t.Errorf("options %s", text)
	}
	if !got.Ended.Equal(r.Ended) || got.Ended.Before(got.Started) || got.Started.Location() != time.UTC {
		t.Errorf("from %v to %v", got.Started, got.Ended)
	}
	if got.Format != 1 || got.Tool.Version == "" || got.Counts["rows"] != 3 || got.Model.ID != "m@1" ||
		got.Taxonomy != nil {
		t.Errorf("record %s", data)
	}
	noMachine(t, data)
	if left, err := filepath.Glob(out + "*.partial"); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// noMachine checks that a record does not tell where it was made.
func noMachine(t *testing.T, data []byte) {
	t.Helper()
	for _, secret := range []string{os.TempDir(), "folder"} {
		if strings.Contains(string(data), secret) {
			t.Errorf("the record holds %q: %s", secret, data)
		}
	}
}

// TestIsOf: a file of another size is not the run's, nor one that holds something else, written since; a copy is.
func TestIsOf(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f")
	r := &Record{Ended: time.Now(), Output: &Content{SHA256: abcHash, Size: 3}}
	for _, c := range []struct {
		text  string
		later time.Duration
		is    bool
	}{{"abc", 0, true}, {"abcd", 0, false}, {"abc", time.Hour, true}, {"abd", time.Hour, false}} {
		at := r.Ended.Add(c.later)
		if err := cmp.Or(os.WriteFile(file, []byte(c.text), 0o600), os.Chtimes(file, at, at)); err != nil {
			t.Fatal(err)
		}
		if got := r.IsOf(file); got != c.is {
			t.Errorf("%q, %v later: %v", c.text, c.later, got)
		}
	}
}

func TestPartialInput(t *testing.T) {
	in := NewInputReader("-", strings.NewReader("abcdef"))
	if _, err := io.ReadFull(in, make([]byte, 3)); err != nil {
		t.Fatal(err)
	}
	if got, want := in.Input(), (Input{File: "-", SHA256: abcHash, Size: 3, Partial: true}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestWriteFails(t *testing.T) {
	if err := New("x", nil).Write(filepath.Join(t.TempDir(), "none", "out")); err == nil || !strings.HasPrefix(err.Error(),
		"run record: open ") {
		t.Errorf("missing folder: %v", err)
	}
	if err := New("x", func() {}).Write(filepath.Join(t.TempDir(), "out")); err == nil || !strings.Contains(err.Error(),
		"unsupported type") {
		t.Errorf("options that are no JSON: %v", err)
	}
}

func TestBuildString(t *testing.T) {
	for want, b := range map[string]Build{
		"v1.2.3":                      {Version: "v1.2.3"},
		"(devel) (0123456789ab)":      {Version: "(devel)", Commit: "0123456789abcdef"},
		"v1 (0123456789ab, modified)": {Version: "v1", Commit: "0123456789abcdef", Modified: true},
		"v0-0123456789ab-dirty":       {Version: "v0-0123456789ab-dirty", Commit: "0123456789abcdef", Modified: true},
	} {
		if got := b.String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// TestReadBuild reads what Go records of a program that "make build" stamped, of one from a module proxy, and of
// others.
func TestReadBuild(t *testing.T) {
	info := func(version string, settings ...debug.BuildSetting) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Version: version}, Settings: settings}
	}
	git := []debug.BuildSetting{{Key: "vcs.revision", Value: "0123"}, {Key: "vcs.modified", Value: "true"}}
	for name, c := range map[string]struct {
		stamp string
		info  *debug.BuildInfo
		want  Build
	}{
		"nothing": {"", nil, Build{Version: "(devel)"}},
		"plain":   {"", info("(devel)"), Build{Version: "(devel)"}},
		"proxy":   {"", info("v1.2.3"), Build{Version: "v1.2.3"}},
		"git": {"", info("v0.0.0-1-0123+dirty", git...), Build{Version: "v0.0.0-1-0123+dirty", Commit: "0123",
			Modified: true}},
		"stamp":         {"v1.2.3-dirty", info("(devel)"), Build{Version: "v1.2.3-dirty"}},
		"stamp and git": {"v1.2.3", info("v9", git[:1]...), Build{Version: "v1.2.3", Commit: "0123"}},
	} {
		if got := readBuild(c.stamp, c.info); got != c.want {
			t.Errorf("%s: got %+v, want %+v", name, got, c.want)
		}
	}
}
