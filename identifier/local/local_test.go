package local_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/erreval/erreval/identifier"
	"github.com/erreval/erreval/identifier/local"
	"github.com/erreval/erreval/identifier/ort"
	"github.com/erreval/erreval/identifier/ort/orttest"
	"github.com/erreval/erreval/internal/nativelib"
	"github.com/erreval/erreval/models"
	"github.com/erreval/erreval/taxonomy"
)

const tinyBERT = "../testdata/bert"

// TestProbesAreComparedOnce: the result is kept by model, library, device and processor; a cache that cannot be written
// costs nothing but time.
func TestProbesAreComparedOnce(t *testing.T) {
	tax, err := taxonomy.Builtin("question-generation")
	if err != nil {
		t.Fatal(err)
	}
	library := orttest.Library(t)
	for _, writable := range []bool{true, false} {
		cache := filepath.Join(t.TempDir(), "cache")
		if !writable {
			cache = filepath.Join(tinyBERT, "manifest.json", "below")
		}
		machine := &local.Machine{Getenv: func(name string) string {
			return map[string]string{"ERREVAL_CACHE": cache, nativelib.EnvVar: library}[name]
		}}
		warned := 0
		open := func() {
			m, err := models.Open(tinyBERT, tax)
			if err != nil {
				t.Fatal(err)
			}
			m.Manifest.Probes[0].Logits[3] += 0.5
			_, runner, err := machine.OpenIdentifier(t.Context(), m, tax, ort.Options{}, identifier.DefaultOptions(),
				func(string, ...any) { warned++ })
			if err != nil {
				t.Fatal(err)
			}
			if err := runner.Close(); err != nil {
				t.Fatal(err)
			}
		}
		open()
		open()
		kept, err := filepath.Glob(filepath.Join(cache, "probes", "*.json"))
		if err != nil || (len(kept) == 1) != writable || warned != 2 {
			t.Errorf("writable %v: %d warnings, %q kept, %v", writable, warned, kept, err)
		}
	}
}

// TestBrokenKernelsAreRefused: a model whose probes are far off would label every row wrongly.
func TestBrokenKernelsAreRefused(t *testing.T) {
	tax, err := taxonomy.Builtin("question-generation")
	if err != nil {
		t.Fatal(err)
	}
	cache, library := t.TempDir(), orttest.Library(t)
	machine := &local.Machine{Getenv: func(name string) string {
		return map[string]string{"ERREVAL_CACHE": cache, nativelib.EnvVar: library}[name]
	}}
	for _, from := range []string{"the library", "the cache"} {
		m, err := models.Open(tinyBERT, tax)
		if err != nil {
			t.Fatal(err)
		}
		m.Manifest.Probes[0].Logits[3] += 13
		_, _, err = machine.OpenIdentifier(t.Context(), m, tax, ort.Options{}, identifier.DefaultOptions(),
			func(format string, args ...any) { t.Errorf(format, args...) })
		if _, ok := errors.AsType[*models.UnfitError](err); !ok || !strings.Contains(err.Error(),
			"probe 1: a logit differs by 13 ") {
			t.Errorf("from %s: %v", from, err)
		}
	}
}

// TestUnlessInterrupted: what was made before the interrupt is given, and a call that does not return is left behind.
func TestUnlessInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	got, err := local.UnlessInterrupted(ctx, func() (int, error) { return 7, io.EOF })
	if got != 7 || !errors.Is(err, io.EOF) {
		t.Errorf("got %d, %v", got, err)
	}
	_, err = local.UnlessInterrupted(ctx, func() (int, error) {
		cancel()
		<-t.Context().Done() // when this test has ended
		return 7, nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestDefaultByTaxonomy: default is the model inside the program that fits the taxonomy, and the first where none does.
func TestDefaultByTaxonomy(t *testing.T) {
	questions, err := taxonomy.Builtin("question-generation")
	if err != nil {
		t.Fatal(err)
	}
	responses, err := taxonomy.Builtin("instruction-following")
	if err != nil {
		t.Fatal(err)
	}
	machine := &local.Machine{Getenv: func(string) string { return "" },
		Embedded: []fs.FS{os.DirFS(tinyBERT), forResponses(t, responses)}}
	for task, want := range map[*taxonomy.Taxonomy]string{questions: "tiny-bert", responses: "tiny-responses"} {
		m, err := machine.OpenModel(t.Context(), models.DefaultName, "", task)
		if err != nil || m.Manifest.Name != want {
			t.Errorf("%s: got %v, %v; want %s", task.Name, m, err, want)
		}
		if found, err := machine.DefaultFor(task); err != nil || found == nil || found.Name != want {
			t.Errorf("%s: got %v, %v; want %s", task.Name, found, err, want)
		}
	}
	if tasks, err := machine.Tasks(); err != nil || len(tasks) != 2 || tasks[1].Name != responses.Name {
		t.Errorf("tasks: %v, %v", tasks, err)
	}
	others := *responses
	others.Name, others.Types = "others", []taxonomy.Type{{Name: "Odd", Code: "Odd"}}
	if _, err := machine.OpenModel(t.Context(), models.DefaultName, "", &others); err == nil ||
		!strings.Contains(err.Error(), "was trained on the taxonomy question-generation") {
		t.Errorf("a taxonomy that none fits: %v", err)
	}
	if found, err := machine.DefaultFor(&others); found != nil || err != nil {
		t.Errorf("a taxonomy that none fits: got %v, %v", found, err)
	}
	if all, err := machine.ListModels(); err != nil || len(all) != 2 || all[1].Taxonomy != "instruction-following@1.1" {
		t.Errorf("listed %v, %v", all, err)
	}
}

// forResponses is the tiny model with the labels and fields of another taxonomy, which has as many types.
func forResponses(t *testing.T, task *taxonomy.Taxonomy) fs.FS {
	t.Helper()
	files := fstest.MapFS{}
	for _, name := range []string{models.GraphFile, "tokenizer.json", models.ManifestFile} {
		data, err := os.ReadFile(filepath.Join(tinyBERT, name))
		if err != nil {
			t.Fatal(err)
		}
		files[name] = &fstest.MapFile{Data: data}
	}
	m, err := models.ParseManifest(files[models.ManifestFile].Data)
	if err != nil {
		t.Fatal(err)
	}
	m.Name, m.Taxonomy, m.Labels, m.Fields = "tiny-responses", task.ID(), task.Labels(), task.FieldNames()
	m.Segments, m.Highlight = nil, ""
	m.Probes, m.Window, m.Checksum, m.Thresholds = nil, nil, "", map[string]float64{}
	for _, label := range m.Labels {
		m.Thresholds[label] = 0.5
	}
	data, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	files[models.ManifestFile] = &fstest.MapFile{Data: data}
	return files
}
