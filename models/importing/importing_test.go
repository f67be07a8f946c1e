package importing

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/erreval/erreval/taxonomy"
)

// TestFindLicence reads model cards as the hub wants them.
func TestFindLicence(t *testing.T) {
	for name, c := range map[string]struct{ config, card, want string }{
		"a card":           {"{}", "---\nlicense: mit\n---\n# x\n", "mit"},
		"windows":          {"{}", "\ufeff---\r\nlanguage: en\r\nlicense: apache-2.0\r\n---\r\n# x\r\n", "apache-2.0"},
		"several":          {"{}", "---\nlicense:\n- mit\n- apache-2.0\n---\n", "mit or apache-2.0"},
		"one of its own":   {"{}", "---\nlicense: other\nlicense_name: research-only\n---\n", "research-only"},
		"config.json":      {`{"license": "bsd"}`, "---\nlicense: mit\n---\n", "bsd"},
		"nobody says":      {"{}", "---\nlanguage: en\n---\n", "unknown"},
		"in the text":      {"{}", "# x\nlicense: mit\n", "unknown"},
		"not closed":       {"{}", "---\nlicense: mit\n", "unknown"},
		"no YAML":          {"{}", "---\n\tlicense: {{mit\n---\n", "unknown"},
		"a number":         {"{}", "---\nlicense: 3\n---\n", "unknown"},
		"damaged config":   {"{", "", "unknown"},
		"nothing but this": {"", "", "unknown"},
	} {
		fsys := fstest.MapFS{"config.json": {Data: []byte(c.config)}, "README.md": {Data: []byte(c.card)}}
		if got := findLicence(fsys); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
	if got := findLicence(fstest.MapFS{}); got != "unknown" {
		t.Errorf("without files: %q", got)
	}
}

func FuzzFrontMatterLicence(f *testing.F) {
	f.Add([]byte("---\nlicense: mit\n---\n"))
	f.Add([]byte("---\nlicense: [mit, {a: b}, 3]\nlicense_name: &x [*x]\n---\n"))
	f.Fuzz(func(t *testing.T, card []byte) {
		if frontMatterLicence(card) == "" {
			t.Error("an empty licence")
		}
	})
}

// TestSamples: every field is filled whatever the task is, and one row is longer than the model can read.
func TestSamples(t *testing.T) {
	for _, name := range taxonomy.Builtins() {
		if name == "response" {
			continue // a task has no types
		}
		tax, err := taxonomy.Builtin(name)
		if err != nil {
			t.Fatal(err)
		}
		rows := sampleRows(tax.FieldNames(), 512)
		for i, row := range rows {
			if len(row) != len(tax.Fields) {
				t.Errorf("%s: row %d is %v", name, i, row)
			}
		}
		last := rows[len(rows)-1][tax.FieldNames()[len(tax.Fields)-1]]
		if words := len(strings.Fields(last)); len(rows) <= probeRows || words < 512 {
			t.Errorf("%s: %d rows, %d words in the longest", name, len(rows), words)
		}
	}
}

func TestCompareVerdicts(t *testing.T) {
	types := []string{"Vague", "Off Topic"}
	got := []verdict{{[]float32{1, -1}, []string{"Vague"}}, {[]float32{-1, -1}, []string{"No Error"}}}
	want := []verdict{{[]float32{1, 0.5}, []string{"Vague", "Off Topic"}}, {[]float32{-1.25, -1}, []string{"No Error"}}}
	if c := compareVerdicts(types, got, want); c.Rows != 2 ||
		*c.FP32 != (PrecisionCost{Decisions: 4, Flipped: 1, Shift: 1.5}) {
		t.Errorf("got %+v, %+v", c, c.FP32)
	}
	if c := compareVerdicts(types, got, nil); c != (SelfCheck{Rows: 2}) {
		t.Errorf("got %+v", c)
	}
}
