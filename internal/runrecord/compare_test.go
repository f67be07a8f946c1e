package runrecord

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func sample() *Record {
	r := New("identify", map[string]any{"limit": 0, "workers": 2, "map": map[string]string{"question": "q"},
		"thresholds": map[string]float64{"Vague": 0.5}})
	r.Model = &Artefact{ID: "m@1", SHA256: strings.Repeat("0", 64)}
	r.Taxonomy = &Artefact{ID: "t@1", SHA256: abcHash}
	r.Shard = &Shard{Index: 1, Of: 2}
	return r
}

// TestDifferences compares a record read from its file, as a run that goes on does, with new ones.
func TestDifferences(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	if err := sample().Write(out); err != nil {
		t.Fatal(err)
	}
	old, err := Read(out)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func(*Record)
		want   string
	}{
		"nothing": {func(*Record) {}, ""},
		"build":   {func(r *Record) { r.Tool.Version = "v9" }, ""},
		"workers": {func(r *Record) { r.Options.(map[string]any)["workers"] = 9 }, ""},
		"command": {func(r *Record) { r.Command = "score" }, "command: identify, now score"},
		"model":   {func(r *Record) { r.Model.ID = "m@2" }, "model: m@1, now m@2"},
		"its bytes": {func(r *Record) { r.Model.SHA256 = abcHash },
			"model: m@1 with SHA-256 000000000000…, now m@1 with SHA-256 ba7816bf8f01…"},
		"no taxonomy": {func(r *Record) { r.Taxonomy = nil }, "taxonomy: t@1, now none"},
		"options": {func(r *Record) {
			r.Options = map[string]any{"limit": 5, "map": map[string]string{}, "thresholds": map[string]float64{"Vague": 0.4}}
		}, `limit: 0, now 5|map.question: "q", now not given|thresholds.Vague: 0.5, now 0.4`},
	} {
		now := sample()
		c.change(now)
		got, err := Differences(old, now, "workers")
		if err != nil || strings.Join(got, "|") != c.want {
			t.Errorf("%s:\ngot  %v %v\nwant %s", name, got, err, c.want)
		}
	}
	if old.Shard.String() != "1/2" {
		t.Errorf("shard %v", old.Shard)
	}
	if _, err := Differences(old, &Record{Options: func() {}}); err == nil {
		t.Error("options that are no JSON passed")
	}
}

func TestReadFails(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	if _, err := Read(out); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no record: %v", err)
	}
	for text, want := range map[string]string{`{"format":`: "unexpected end of JSON input",
		`{"format":2}`: "its format is 2; this program reads 1"} {
		if err := os.WriteFile(Path(out), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(out); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
