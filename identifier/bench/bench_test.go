package bench_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/erreval/erreval/identifier"
	"github.com/erreval/erreval/identifier/bench"
	"github.com/erreval/erreval/identifier/ort/orttest"
	"github.com/erreval/erreval/models"
	"github.com/erreval/erreval/models/embedded"
	"github.com/erreval/erreval/taxonomy"
)

func open(t *testing.T, name string) (*models.Model, *taxonomy.Taxonomy) {
	t.Helper()
	tax, err := taxonomy.Builtin("question-generation")
	if err != nil {
		t.Fatal(err)
	}
	m, err := models.Open(filepath.Join("..", "testdata", name), tax)
	if err != nil {
		t.Fatal(err)
	}
	return m, tax
}

// TestRowsWithoutTokens: a tokenizer that knows no letter is an error.
func TestRowsWithoutTokens(t *testing.T) {
	m, tax := open(t, "roberta")
	m.FS = fstest.MapFS{"tokenizer.json": {Data: []byte(`{"version": "1.0", "truncation": null, "padding": null, "added_tokens": [], "normalizer": null,
		"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true}, "post_processor": null, "decoder": null,
		"model": {"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null, "end_of_word_suffix": null, "fuse_unk": false,
		"byte_fallback": false, "vocab": {"<s>": 0, "<pad>": 1, "</s>": 2}, "merges": []}}`)}}
	if _, err := bench.Rows(m, tax, 1); err == nil || !strings.Contains(err.Error(), "no tokens for English text") {
		t.Errorf("got %v", err)
	}
}

// TestRows: the lengths of the made-up rows are those of docs/performance.md: 43 to 798 tokens, 198 on average, 906
// bytes.
func TestRows(t *testing.T) {
	tax, err := taxonomy.Builtin("question-generation")
	if err != nil {
		t.Fatal(err)
	}
	m, err := models.OpenFS(embedded.Default(), "default", tax)
	if err != nil {
		t.Fatal(err)
	}
	m.Manifest.MaxTokens, m.Manifest.Window = 1<<20, nil
	rows, err := bench.Rows(m, tax, 600)
	if err != nil {
		t.Fatal(err)
	}
	enc, err := identifier.NewEncoder(m, tax)
	if err != nil {
		t.Fatal(err)
	}
	lengths, err := bench.Lengths(enc, rows)
	if err != nil {
		t.Fatal(err)
	}
	tokens, size := 0, 0
	for i, row := range rows {
		tokens, size = tokens+lengths[i], size+len(strings.Join(row.Values, ""))
	}
	if mean := tokens / len(rows); mean < 185 || mean > 211 {
		t.Errorf("%d tokens on average, want about 198", mean)
	}
	if mean := size / len(rows); mean < 750 || mean > 1060 {
		t.Errorf("%d bytes on average, want about 906", mean)
	}
	if least, most := slices.Min(lengths), slices.Max(lengths); least < 35 || least > 70 || most < 500 || most > 850 {
		t.Errorf("%d to %d tokens, want about 43 to 798", least, most)
	}
	again, err := bench.Rows(m, tax, 3)
	if err != nil || !slices.Equal(again[2].Values, rows[2].Values) || !slices.Equal(rows[2].Values, rows[514].Values) {
		t.Errorf("rows differ from one call to the next: %v", err)
	}
}

// TestPeersAgree: with fp32 weights all peers compute the same logits, whatever their padding.
func TestPeersAgree(t *testing.T) {
	m, tax := open(t, "bert")
	rows, err := bench.Rows(m, tax, 70)
	if err != nil {
		t.Fatal(err)
	}
	p, err := bench.NewPeers(m, tax, orttest.Runner(t, m.Graph, m.Manifest.Inputs, m.Manifest.Output), rows)
	if err != nil {
		t.Fatal(err)
	}
	exact, err := p.Run(t.Context(), bench.Careful)
	if err != nil || len(exact) != 70*11 {
		t.Fatal(len(exact), err)
	}
	for _, name := range []string{bench.Script, bench.Pipeline} {
		logits, err := p.Run(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		for i := range exact {
			if diff := math.Abs(float64(logits[i] - exact[i])); !(diff <= 1e-4) {
				t.Errorf("%s: logit %d of row %d differs by %g", name, i%11, i/11, diff)
			}
		}
	}
}

// shapes is a runner that notes the shapes of its batches.
type shapes []string

func (s *shapes) Run(_ context.Context, in identifier.Input, _ []float32) error {
	*s = append(*s, fmt.Sprintf("%d×%d", in.Rows(), in.Width))
	return nil
}

// TestPeersShapes: what each peer gives the runtime.
func TestPeersShapes(t *testing.T) {
	m, tax := open(t, "bert")
	rows, err := bench.Rows(m, tax, 40)
	if err != nil {
		t.Fatal(err)
	}
	rows[35].Values = []string{"Who?", "Oke", "A mason."}
	enc, err := identifier.NewEncoder(m, tax)
	if err != nil {
		t.Fatal(err)
	}
	lengths, err := bench.Lengths(enc, rows)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]string{
		bench.Script:   {fmt.Sprintf("32×%d", slices.Max(lengths)), fmt.Sprintf("8×%d", slices.Max(lengths))},
		bench.Pipeline: {fmt.Sprintf("32×%d", slices.Max(lengths[:32])), fmt.Sprintf("8×%d", slices.Max(lengths[32:]))},
	} {
		var got shapes
		p, err := bench.NewPeers(m, tax, &got, rows)
		if err == nil {
			_, err = p.Run(t.Context(), name)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s ran %v, want %v, %v", name, got, want, err)
		}
	}
	var got shapes
	p, err := bench.NewPeers(m, tax, &got, rows)
	if err == nil {
		_, err = p.Run(t.Context(), bench.Careful)
	}
	if err != nil || len(got) != 40 || got[35] != fmt.Sprintf("1×%d", lengths[35]) {
		t.Errorf("careful ran %v, %v", got, err)
	}
}

// TestTurns: all in turn, and the first error ends it.
func TestTurns(t *testing.T) {
	var order []string
	note := func(s string) func(context.Context) error {
		return func(context.Context) error { order = append(order, s); return nil }
	}
	took, err := bench.Turns(t.Context(), 2, note("a"), note("b"))
	if err != nil || len(took) != 2 || strings.Join(order, "") != "abab" {
		t.Errorf("ran %v, %v, %v", order, took, err)
	}
	broken := errors.New("broken")
	if _, err := bench.Turns(t.Context(), 2, func(context.Context) error { return broken }, note("c")); !errors.Is(err,
		broken) || len(order) != 4 {
		t.Errorf("got %v after %v", err, order)
	}
}
