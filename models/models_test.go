package models_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/erreval/erreval/models"
	"github.com/erreval/erreval/models/embedded"
	"github.com/erreval/erreval/taxonomy"
)

const fixtures = "../identifier/testdata"

func questions(t testing.TB) *taxonomy.Taxonomy {
	t.Helper()
	tax, err := taxonomy.Builtin("question-generation")
	if err != nil {
		t.Fatal(err)
	}
	return tax
}

func read(t testing.TB, path ...string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// edited is a fixture's file with some keys of its JSON object replaced; a nil value removes one.
func edited(t testing.TB, path string, changes map[string]any) []byte {
	t.Helper()
	object := map[string]any{}
	if err := json.Unmarshal(read(t, path), &object); err != nil {
		t.Fatal(err)
	}
	for key, value := range changes {
		object[key] = value
		if value == nil {
			delete(object, key)
		}
	}
	data, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestOpen(t *testing.T) {
	m, err := models.Open(filepath.Join(fixtures, "roberta"), questions(t))
	if err != nil {
		t.Fatal(err)
	}
	if got := m.Manifest.ID(); got != "tiny-roberta@1" {
		t.Errorf("ID is %s", got)
	}
	if m.Plain || m.SHA256 != m.Manifest.Files[models.GraphFile].SHA256 ||
		len(m.Graph) != int(m.Manifest.Files[models.GraphFile].Size) {
		t.Errorf("plain %v, hash %s, %d bytes", m.Plain, m.SHA256, len(m.Graph))
	}
	if m.Manifest.MaxTokens != 512 || m.Manifest.Separator != "</s>" || len(m.Manifest.Probes) == 0 {
		t.Errorf("manifest is %+v", m.Manifest)
	}
}

func TestEmbeddedDefault(t *testing.T) {
	m, err := models.OpenFS(embedded.Default(), "default", questions(t))
	if err != nil {
		t.Fatal(err)
	}
	if got := m.Manifest.Labels; !slices.Equal(got, questions(t).Labels()) {
		t.Errorf("labels are %q", got)
	}
	if info, err := fs.Stat(embedded.Default(), models.GraphFile); err != nil || info.Size() > 36_000_000 {
		t.Errorf("%v %v; at most 36 MB may be embedded", info, err)
	}
	if got := m.Manifest.LanguagesText(); got != "English" {
		t.Errorf("it reads %q; want English", got)
	}
	if len(m.Manifest.Probes) == 0 {
		t.Error("no probe rows: nothing shows that the model computes what it did in training")
	}
}

// TestManifestRefused: each fault has its sentence, and exit code 4 comes of any.
func TestManifestRefused(t *testing.T) {
	labels := questions(t).Labels()
	probe := map[string]any{"fields": map[string]any{"question": "Who?"}, "logits": []float64{1, 2}}
	file := func(name string) map[string]any {
		return map[string]any{"model.onnx": map[string]any{"sha256": strings.Repeat("0", 64), "size": 3},
			name: map[string]any{"sha256": strings.Repeat("0", 64), "size": 3}}
	}
	for name, c := range map[string]struct {
		changes map[string]any
		want    []string
	}{
		"format":      {map[string]any{"format": 2}, []string{"format is 2"}},
		"unknown key": {map[string]any{"tresholds": 1}, []string{`unknown field "tresholds"`}},
		"name":        {map[string]any{"name": ""}, []string{"name and version"}},
		"architecture": {map[string]any{"architecture": "t5"}, []string{`architecture "t5"`,
			"one of bert, deberta-v2, distilbert, roberta, xlm-roberta"}},
		"precision":  {map[string]any{"precision": "int4"}, []string{`precision "int4"`}},
		"activation": {map[string]any{"activation": "relu"}, []string{`activation "relu"`, "sigmoid", "softmax"}},
		"join":       {map[string]any{"join": "glue"}, []string{`join "glue"`}},
		"separator":  {map[string]any{"separator": ""}, []string{"separator, start and end"}},
		"max tokens": {map[string]any{"max_tokens": 4}, []string{"max_tokens is 4; 3 fields need at least 5"}},
		"segments":   {map[string]any{"segments": []int{0}}, []string{"segments has 1 numbers for 3 fields"}},
		"inputs": {map[string]any{"inputs": []string{"input_ids", "position_ids"}},
			[]string{`input "position_ids" is not known`}},
		"inputs missing": {map[string]any{"inputs": []string{"input_ids"}},
			[]string{"the graph's are attention_mask, input_ids, token_type_ids"}},
		"output": {map[string]any{"output": "scores"}, []string{`output is "scores", but the graph's are logits`}},
		"fields": {map[string]any{"fields": []string{"question", "question"}}, []string{"each once"}},
		"unknown field": {map[string]any{"fields": []string{"question", "answer", "story"}, "probes": nil},
			[]string{`has no field "story"`, "question, answer, passage"}},
		"label twice": {map[string]any{"labels": append(slices.Clone(labels[:10]), labels[0])},
			[]string{"labels must name"}},
		"unknown label": {map[string]any{"labels": append(slices.Clone(labels[:10]), "Rude"), "thresholds": nil},
			[]string{`no error type "Rude"`, "--taxonomy"}},
		"width": {map[string]any{"labels": labels[:10], "thresholds": nil, "probes": nil},
			[]string{"10 labels are listed, but the graph gives 11 logits"}},
		"threshold": {map[string]any{"thresholds": map[string]any{"Vague": 1.5, "Rude": 0.5}},
			[]string{`"Vague" has 1.5`, `"Rude" is not among the labels`}},
		"no threshold": {map[string]any{"thresholds": map[string]any{"Vague": 0.5}},
			[]string{`thresholds lack "Incomplete"`}},
		"hash": {map[string]any{"files": map[string]any{"model.onnx": map[string]any{"sha256": "12", "size": 3}}},
			[]string{"64 hexadecimal digits"}},
		"no graph listed": {map[string]any{"files": map[string]any{}}, []string{"files must list model.onnx"}},
		"path upwards":    {map[string]any{"files": file("../secret")}, []string{`"../secret" leaves the model's directory`}},
		"absolute path":   {map[string]any{"files": file("/etc/passwd")}, []string{`"/etc/passwd" leaves`}},
		"backslash":       {map[string]any{"files": file(`..\secret`)}, []string{"leaves the model's directory"}},
		"missing file":    {map[string]any{"files": file("vocab.txt")}, []string{"vocab.txt"}},
		"language":        {map[string]any{"languages": []string{"en", "English"}}, []string{`languages: "English" is no code`}},
		"probe": {map[string]any{"probes": []any{probe}}, []string{"probe 1 has 2 logits for 11 labels",
			`probe 1 lacks the field "answer"`}},
		"several at once": {map[string]any{"format": 3, "join": "x", "output": ""}, []string{"format is 3", `join "x"`,
			"output must name"}},
	} {
		dir := filepath.Join(fixtures, "bert")
		fsys := fstest.MapFS{
			"manifest.json": {Data: edited(t, filepath.Join(dir, "manifest.json"), c.changes)},
			"model.onnx":    {Data: read(t, dir, "model.onnx")}, "tokenizer.json": {Data: read(t, dir, "tokenizer.json")},
		}
		_, err := models.OpenFS(fsys, "mine", questions(t))
		for _, want := range append(c.want, "model mine does not fit") {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v, want %q in it", name, err, want)
			}
		}
	}
}

func TestFilesRefused(t *testing.T) {
	source := filepath.Join(fixtures, "bert")
	copyModel := func(t *testing.T) string {
		dir := t.TempDir()
		for _, name := range []string{"manifest.json", "model.onnx", "tokenizer.json"} {
			if err := os.WriteFile(filepath.Join(dir, name), read(t, source, name), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	for name, c := range map[string]struct {
		spoil func(dir string) error
		want  string
	}{
		"changed": {func(dir string) error {
			data := slices.Clone(read(t, source, "model.onnx"))
			data[len(data)/2] ^= 1
			return os.WriteFile(filepath.Join(dir, "model.onnx"), data, 0o666)
		}, "SHA-256"},
		"cut short": {func(dir string) error { return os.Truncate(filepath.Join(dir, "tokenizer.json"), 100) },
			"has 100 bytes"},
		"link that leaves": {func(dir string) error {
			outside, err := filepath.Abs(filepath.Join(source, "model.onnx"))
			return errorsJoin(err, os.Remove(filepath.Join(dir, "model.onnx")),
				os.Symlink(outside, filepath.Join(dir, "model.onnx")))
		}, "links that leave the directory are refused"},
		"manifest that leaves": {func(dir string) error {
			outside, err := filepath.Abs(filepath.Join(source, "manifest.json"))
			return errorsJoin(err, os.Remove(filepath.Join(dir, "manifest.json")),
				os.Symlink(outside, filepath.Join(dir, "manifest.json")))
		}, "escapes"},
		"empty directory": {func(dir string) error {
			return errorsJoin(os.Remove(filepath.Join(dir, "manifest.json")), os.Remove(filepath.Join(dir, "model.onnx")))
		}, "neither a manifest.json nor a plain ONNX export"},
		"no directory": {os.RemoveAll, "give 'default' or a directory"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := copyModel(t)
			if err := c.spoil(dir); err != nil {
				t.Fatal(err)
			}
			if _, err := models.Open(dir, questions(t)); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q in it", err, c.want)
			}
		})
	}
}

func errorsJoin(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// plain is a fixture as Hugging Face's tools export it: no manifest.
func plain(t testing.TB, name string, changes map[string]any) fstest.MapFS {
	dir := filepath.Join(fixtures, name)
	return fstest.MapFS{
		"model.onnx":     {Data: read(t, dir, "model.onnx")},
		"tokenizer.json": {Data: read(t, dir, "tokenizer.json")},
		"config.json":    {Data: edited(t, filepath.Join(dir, "config.json"), changes)},
	}
}

func TestPlainExport(t *testing.T) {
	for name, maxTokens := range map[string]int{"roberta": 512, "bert": 128} {
		want, err := models.Open(filepath.Join(fixtures, name), questions(t))
		if err != nil {
			t.Fatal(err)
		}
		got, err := models.OpenFS(plain(t, name, nil), "exports/mine", questions(t))
		if err != nil {
			t.Fatal(err)
		}
		g, w := got.Manifest, want.Manifest
		if g.MaxTokens != maxTokens || g.Start != w.Start || g.Separator != w.Separator || g.End != w.End || g.Pad != w.Pad ||
			!slices.Equal(g.Labels, w.Labels) || !slices.Equal(g.Inputs, w.Inputs) || g.Output != w.Output ||
			!slices.Equal(g.Fields, w.Fields) {
			t.Errorf("%s: got %+v, want what its manifest says: %+v", name, g, w)
		}
		if g.Name != "mine" || g.Version != got.SHA256[:12] || !got.Plain || g.Thresholds["Vague"] != 0.5 {
			t.Errorf("%s: got %+v", name, g)
		}
	}
}

func TestPlainExportTakesCodesAndFolderOnnx(t *testing.T) {
	tax := questions(t)
	codes := map[string]any{}
	for i, typ := range tax.Types {
		codes[string(rune('0'+i%10))] = typ.Code
	}
	delete(codes, "0")
	codes["0"], codes["10"] = tax.Types[0].Code, tax.Types[10].Code
	fsys := plain(t, "bert", map[string]any{"id2label": codes})
	fsys["onnx/model.onnx"] = fsys["model.onnx"]
	delete(fsys, "model.onnx")
	m, err := models.OpenFS(fsys, "mine", tax)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(m.Manifest.Labels, tax.Labels()) {
		t.Errorf("labels are %q", m.Manifest.Labels)
	}
}

func TestPlainExportRefused(t *testing.T) {
	for name, c := range map[string]struct {
		changes map[string]any
		want    string
	}{
		"regression":    {map[string]any{"problem_type": "regression"}, `problem_type "regression", which gives no labels`},
		"no kind":       {map[string]any{"problem_type": nil}, "multi_label_classification"},
		"placeholders":  {map[string]any{"id2label": map[string]any{"0": "LABEL_0"}}, `--labels "LABEL_0=Incomplete"`},
		"unknown label": {map[string]any{"id2label": map[string]any{"0": "Rude"}}, "--taxonomy"},
		"a gap":         {map[string]any{"id2label": map[string]any{"0": "Vague", "2": "Off Topic"}}, "number them from 0"},
		"twice":         {map[string]any{"id2label": map[string]any{"0": "Vague", "1": "Vague"}}, "each once"},
		"too few labels": {map[string]any{"id2label": map[string]any{"0": "Vague", "1": "Off Topic"}},
			"the graph gives 11 logits"},
		"architecture": {map[string]any{"model_type": "t5"}, `"t5"`},
	} {
		_, err := models.OpenFS(plain(t, "bert", c.changes), "mine", questions(t))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q in it", name, err, c.want)
		}
	}
	fsys := plain(t, "bert", nil)
	delete(fsys, "config.json")
	if _, err := models.OpenFS(fsys, "mine", questions(t)); err == nil || !strings.Contains(err.Error(),
		"export needs its config.json") {
		t.Errorf("without config.json: got %v", err)
	}
	fsys = plain(t, "bert", nil)
	fsys["model.onnx"] = &fstest.MapFile{Data: []byte("a pointer of Git LFS")}
	if _, err := models.OpenFS(fsys, "mine", questions(t)); err == nil || !strings.Contains(err.Error(), "no ONNX graph") {
		t.Errorf("without a graph: got %v", err)
	}
}

// TestOtherTaxonomy: a model of one task is refused for another, and the sentence says which it was trained on.
func TestOtherTaxonomy(t *testing.T) {
	other, err := taxonomy.Builtin("instruction-following")
	if err != nil {
		t.Fatal(err)
	}
	_, err = models.OpenFS(embedded.Default(), "default", other)
	if err == nil || !strings.Contains(err.Error(),
		"trained on the taxonomy question-generation@1.1, not on instruction-following@1.1") ||
		strings.Contains(err.Error(), "\n") {
		t.Errorf("got %v", err)
	}
}

func TestExport(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	written, err := models.Export(embedded.Default(), dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"manifest.json", "model.onnx", "tokenizer.json", "CARD.md"} {
		if !slices.Contains(written, want) {
			t.Errorf("%s was not written, only %q", want, written)
		}
	}
	if _, err := models.Open(dir, questions(t)); err != nil {
		t.Errorf("what was exported does not open: %v", err)
	}
	if _, err := models.Export(embedded.Default(), dir); err == nil || !strings.Contains(err.Error(), "not empty") {
		t.Errorf("a second export into the same directory: %v", err)
	}
}

func FuzzParseManifest(f *testing.F) {
	f.Add(read(f, fixtures, "bert", "manifest.json"))
	f.Add([]byte(`{"format": 1} {}`))
	f.Add([]byte(`{"format": 1, "files": {"..": {}}, "probes": [{}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := models.ParseManifest(data)
		if err != nil {
			return
		}
		m.Checksum = "" // of other bytes
		again, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := models.ParseManifest(again); err != nil {
			t.Errorf("what was written is not read: %v", err)
		}
	})
}
