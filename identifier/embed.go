package identifier

import (
	"context"
	"errors"
	"fmt"
	"runtime"

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

// EmbedOptions change how texts become vectors.
type EmbedOptions struct {
	Workers int // texts computed at a time, at least 1
}

// DefaultEmbedOptions is one worker a core.
func DefaultEmbedOptions() EmbedOptions { return EmbedOptions{Workers: runtime.GOMAXPROCS(0)} }

// Validate reports every fault of o.
func (o EmbedOptions) Validate() error {
	if o.Workers < 1 || o.Workers > MaxWorkers {
		return fmt.Errorf("workers is %d; give 1 to %d", o.Workers, MaxWorkers)
	}
	return nil
}

// Embedder turns texts into vectors: the mean of a text's tokens, special ones included, in the output of the encoder's
// layer that the manifest names. Its methods may be called from several goroutines.
type Embedder struct {
	tokenizer  *tokenfile.Tokenizer
	start, end int64
	segment    int64
	max, size  int
	runner     HiddenRunner
	options    EmbedOptions
}

// NewEmbedder makes an embedder of a model whose manifest names an embedding. The runner runs its EmbeddingGraph; the
// caller closes it.
func NewEmbedder(m *models.Model, r HiddenRunner, o EmbedOptions) (*Embedder, error) {
	if err := errors.Join(o.Validate(), m.Manifest.Validate()); err != nil {
		return nil, err
	}
	if m.Manifest.Embedding == nil {
		return nil, fmt.Errorf("model %s gives no vectors of texts: %w", m.Source, models.ErrNoEmbedding)
	}
	tok, err := tokenfile.Load(m.FS)
	if err != nil {
		return nil, fmt.Errorf("model %s: %w", m.Source, err)
	}
	e := &Embedder{tokenizer: tok, max: m.Manifest.MaxTokens, size: m.Manifest.Embedding.Size, runner: r, options: o}
	if len(m.Manifest.Segments) > 0 {
		e.segment = m.Manifest.Segments[0]
	}
	for to, token := range map[*int64]string{&e.start: m.Manifest.Start, &e.end: m.Manifest.End} {
		id, ok := tok.ID(token)
		if !ok {
			return nil, fmt.Errorf("model %s does not fit: its tokenizer has no token %q; correct start and end in %s",
				m.Source, token, models.ManifestFile)
		}
		*to = int64(id)
	}
	return e, nil
}

// Embed gives one vector a text, in the order of texts, each of the size that the model's manifest names. It does not
// depend on the other texts. A text longer than the model can see is cut at its end. A text that is not UTF-8 is an
// error, as is one that the model fails at; the error names its place. When ctx ends, its error is returned.
func (e *Embedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	tokens, err := e.tokenize(texts)
	if err != nil {
		return nil, err
	}
	out := make([][]float32, len(texts))
	jobs, ctx := errgroup.WithContext(ctx)
	for w := range e.options.Workers {
		jobs.Go(func() error {
			b := &embedBuffer{}
			for i := w; i < len(texts); i += e.options.Workers {
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
		out[i] = append([]int32(nil), ids[:min(len(ids), e.max-2)]...)
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
	if cap(b.hidden) < n {
		b.hidden = make([]float32, n)
	}
	b.hidden = b.hidden[:n]
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
	if len(b.sum) < size {
		b.sum = make([]float64, size)
	}
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
