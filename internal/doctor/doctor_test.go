package doctor

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/erreval/erreval/identifier/local"
	"github.com/erreval/erreval/identifier/ort/orttest"
	"github.com/erreval/erreval/internal/nativelib"
	"github.com/erreval/erreval/models"
)

// TestExamine: each check has its finding, and what is missing says what to do.
func TestExamine(t *testing.T) {
	library, cache := orttest.Library(t), filepath.Join(t.TempDir(), "cache")
	model := filepath.Join("..", "..", "identifier", "testdata", "bert")
	for _, c := range []struct {
		library, model, want string
		ok                   bool
	}{
		{library, model, "library ok, cpu ok, cuda note, model ok, cache ok, terminal ok", true},
		{library, "none", "library ok, cpu ok, cuda note, model fault: erreval models info none, cache ok, terminal ok",
			false},
		{"none", model, "library fault: erreval setup, model note, cache ok, terminal ok", false},
	} {
		getenv := func(name string) string {
			return map[string]string{"ERREVAL_CACHE": cache, nativelib.EnvVar: c.library}[name]
		}
		r := Examine(t.Context(), Options{Machine: &local.Machine{Getenv: getenv}, Model: c.model,
			Taxonomy: "question-generation", Device: "cpu"})
		var parts []string
		for _, f := range r.Findings {
			part := f.Name + " " + f.State
			if f.Next != "" {
				part += ": " + f.Next
			}
			parts = append(parts, part)
		}
		if got := strings.Join(parts, ", "); got != c.want || r.OK != c.ok || (r.Err() == nil) != c.ok {
			t.Errorf("got %s, %v, %v\nwant %s", got, r.OK, r.Err(), c.want)
		}
	}
}

// TestEveryModel: without a taxonomy each model inside the program has its finding.
func TestEveryModel(t *testing.T) {
	cache, library := t.TempDir(), orttest.Library(t)
	machine := &local.Machine{Getenv: func(name string) string {
		return map[string]string{"ERREVAL_CACHE": cache, nativelib.EnvVar: library}[name]
	}}
	bert := filepath.Join("..", "..", "identifier", "testdata", "bert")
	manifest, err := os.ReadFile(filepath.Join(bert, models.ManifestFile))
	if err != nil {
		t.Fatal(err)
	}
	unfit := bytes.Replace(manifest, []byte("question-generation@1.1"), []byte("instruction-following@1.1"), 1)
	machine.Embedded = []fs.FS{os.DirFS(bert), fstest.MapFS{models.ManifestFile: {Data: unfit}}}
	var found []string
	for _, f := range Examine(t.Context(), Options{Machine: machine, Model: models.DefaultName, Device: "cpu"}).Findings {
		if f.Name == "model" {
			found = append(found, f.State+" "+f.Detail)
		}
	}
	if len(found) != 2 || !strings.HasPrefix(found[0], "ok tiny-bert@1: ") ||
		!strings.HasPrefix(found[1], "fault ") || !strings.Contains(found[1], "not on instruction-following@1.1") {
		t.Errorf("found %q", found)
	}
	machine.Embedded = []fs.FS{fstest.MapFS{}}
	if r := Examine(t.Context(), Options{Machine: machine, Model: models.DefaultName, Device: "cpu"}); r.OK {
		t.Errorf("a model without files: %v", r.Findings)
	}
}

func TestText(t *testing.T) {
	r := Report{Findings: []Finding{{Name: "cpu", State: OK, Detail: "can be used"},
		{"library", Fault, "is\nnot there", "erreval setup"}}}
	want := "ok     cpu       can be used\nfault  library   is\n                 not there\n                 next: " +
		"erreval setup\n"
	var b strings.Builder
	if err := r.Text(&b); err != nil || b.String() != want {
		t.Errorf("got %q, %v; want %q", b.String(), err, want)
	}
	if err := r.Err(); err == nil || err.Error() != "1 of 2 checks found a fault" {
		t.Errorf("got %v", err)
	}
}
