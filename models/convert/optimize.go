package convert

import (
	"context"
	"fmt"
	"io/fs"

	"github.com/erreval/erreval/internal/regularfile"
)

// NotRecognized says why a graph was not rewritten. It names the first node, from the logits back, that is in no
// encoder which Convert writes, or another difference.
type NotRecognized struct{ Reason error }

func (e *NotRecognized) Error() string { return "not optimised: " + e.Reason.Error() }

// Unwrap is the reason.
func (e *NotRecognized) Unwrap() error { return e.Reason }

// Optimize rewrites the graph that torch.onnx or Optimum exported of a BERT, DistilBERT, RoBERTa or XLM-R classifier.
// It finds the weights by their positions in the graph, and writes them as Convert writes those of a checkpoint. The
// graph is the file name in from, beside the checkpoint's config.json. Optimize does not compare the logits of both
// graphs: the caller does. If it does not recognise the graph, it writes nothing, and the error is a *NotRecognized.
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

// rebuild makes a graph with the weights that it finds in g.
func rebuild(from fs.FS, g *export, o Options) (*builder, *Result, error) {
	data, err := regularfile.ReadFS(from, configFile, regularfile.MaxManifest)
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
