package identifier

import (
	"context"
	"fmt"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/erreval/erreval/identifier/tokenfile"
	"github.com/erreval/erreval/models"
)

// HiddenRunner computes what a layer of an encoder says of each token. RunHidden may be called from several goroutines
// at a time.
type HiddenRunner interface {
	// RunHidden computes in.Rows() × in.Width vectors, one after the other. The context ends it as it ends Runner.Run.
	RunHidden(ctx context.Context, in Input, hidden []float32) error
}

// Embedder turns texts into vectors: the mean of a text's tokens, special ones included, in the output of the encoder's
// layer that the manifest names. Its methods may be called from several goroutines.
type Embedder struct {
	tokenizer  *tokenfile.Tokenizer
	start, end int64
	segment    int64
	max, size  int
	runner     HiddenRunner
}

// NewEmbedder makes an embedder of a model whose manifest names an embedding. The runner runs its EmbeddingGraph; the
// caller closes it.
func NewEmbedder(m *models.Model, r HiddenRunner) (*Embedder, error) {
	if err := m.Manifest.Validate(); err != nil {
		return nil, err
	}
	if m.Manifest.Embedding == nil {
		return nil, fmt.Errorf("model %s gives no vectors of texts: %w", m.Source, models.ErrNoEmbedding)
	}
	tok, err := tokenfile.Load(m.FS)
	if err != nil {
		return nil, fmt.Errorf("model %s: %w", m.Source, err)
	}
	e := &Embedder{tokenizer: tok, max: m.Manifest.MaxTokens, size: m.Manifest.Embedding.Size, runner: r}
	if len(m.Manifest.Segments) > 0 {
		e.segment = m.Manifest.Segments[0]
	}
	return e, findTokens(m, tok, "start and end", map[*int64]string{&e.start: m.Manifest.Start, &e.end: m.Manifest.End})
}

// Embed gives one vector a text, in the order of texts, each of the size that the model's manifest names. It does not
// depend on the other texts. A text longer than the model can see is cut at its end. A text that is not UTF-8 is an
// error, as is one that the model fails at; the error names its place. When ctx ends, its error is returned. As many
// texts are computed at a time as there are cores.
func (e *Embedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	tokens, err := e.tokenize(texts)
	if err != nil {
		return nil, err
	}
	out := make([][]float32, len(texts))
	jobs, ctx := errgroup.WithContext(ctx)
	workers := runtime.GOMAXPROCS(0)
	for w := range workers {
		jobs.Go(func() error {
			b := &embedBuffer{}
			for i := w; i < len(texts); i += workers {
				v, err := e.embed(ctx, b, tokens[i])
				if err != nil && ctx.Err() != nil {
					return ctx.Err()
				}
				if err != nil {
					return fmt.Errorf("text %d: the model failed: %w", i+1, err)
				}
				out[i] = v
			}
			return nil
		})
	}
	return out, jobs.Wait()
}

// tokenize encodes the texts, without special tokens.
func (e *Embedder) tokenize(texts []string) ([][]int32, error) {
	out, encoder := make([][]int32, len(texts)), e.tokenizer.NewEncoder()
	var ids []int32
	for i, text := range texts {
		var err error
		if ids, err = encoder.Append(ids[:0], text, false); err != nil {
			return nil, fmt.Errorf("text %d: %w", i+1, err)
		}
		out[i] = slices.Clone(ids[:min(len(ids), e.max-2)])
	}
	return out, nil
}

// embedBuffer is what one goroutine reuses.
type embedBuffer struct {
	in     Input
	hidden []float32
	sum    []float64
}

// embed computes one text's vector, at its exact length.
func (e *Embedder) embed(ctx context.Context, b *embedBuffer, ids []int32) ([]float32, error) {
	b.fill(ids, e)
	n := b.in.Width * e.size
	b.hidden = slices.Grow(b.hidden[:0], n)[:n]
	if err := e.runner.RunHidden(ctx, b.in, b.hidden); err != nil {
		return nil, err
	}
	return b.mean(e.size), nil
}

// fill lays the text out between its special tokens.
func (b *embedBuffer) fill(ids []int32, e *Embedder) {
	in := &b.in
	in.Width, in.IDs, in.Mask, in.Types = len(ids)+2, append(in.IDs[:0], e.start), in.Mask[:0], in.Types[:0]
	for _, id := range ids {
		in.IDs = append(in.IDs, int64(id))
	}
	in.IDs = append(in.IDs, e.end)
	for range in.IDs {
		in.Mask, in.Types = append(in.Mask, 1), append(in.Types, e.segment)
	}
}

// mean is that of the tokens' vectors.
func (b *embedBuffer) mean(size int) []float32 {
	b.sum = slices.Grow(b.sum[:0], size)[:size]
	clear(b.sum)
	for token := range b.in.Width {
		for k, x := range b.hidden[token*size : (token+1)*size] {
			b.sum[k] += float64(x)
		}
	}
	out := make([]float32, size)
	for k := range out {
		out[k] = float32(b.sum[k] / float64(b.in.Width))
	}
	return out
}
