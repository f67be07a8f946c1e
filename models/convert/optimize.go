package convert

import (
	"context"
	"fmt"
	"io/fs"
)

// NotRecognized says why a graph was not rewritten: the first node, from its logits back, that no encoder which Convert
// writes has in that place, or what else about it does not fit.
type NotRecognized struct{ Reason error }

func (e *NotRecognized) Error() string { return "not optimised: " + e.Reason.Error() }

// Unwrap is the reason.
func (e *NotRecognized) Unwrap() error { return e.Reason }

// Optimize rewrites the graph that torch.onnx or Optimum exported of a BERT, DistilBERT, RoBERTa or XLM-R classifier: its
// weights are found by their places in it, and written as Convert writes a checkpoint's. The graph stands at name in from,
// beside the checkpoint's config.json. It is read as far as it is needed for that: that both give the same logits, is for
// the caller to compare. The error is a *NotRecognized where the graph is another one; then nothing is written.
func Optimize(ctx context.Context, from fs.FS, name, to string, o Options) (*Result, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	g, err := openExport(from, name)
	if err != nil {
		return nil, &NotRecognized{err}
	}
	defer g.Close()
	b, result, err := rebuild(from, g, o)
	if err != nil {
		return nil, &NotRecognized{err}
	}
	result.Files, err = publish(to, func(dir string) ([]string, error) { return b.saveFiles(ctx, dir, o) })
	if err != nil {
		return nil, err
	}
	return result, nil
}

// rebuild makes the graph of the weights that are found in g.
func rebuild(from fs.FS, g *export, o Options) (*builder, *Result, error) {
	data, err := fs.ReadFile(from, configFile)
	if err != nil {
		return nil, nil, err
	}
	c, err := parseConfig(data)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", configFile, err)
	}
	w, err := recognise(g, c)
	if err != nil {
		return nil, nil, err
	}
	return build(c, w, o)
}
