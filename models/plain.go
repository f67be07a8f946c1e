package models

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/erreval/erreval/taxonomy"
)

// configFile is Hugging Face's description of a checkpoint.
const configFile = "config.json"

// multiLabel is the problem_type of a head whose labels do not exclude each other.
const multiLabel = "multi_label_classification"

// plainThreshold is what a plain export's labels start from; --threshold changes it.
const plainThreshold = 0.5

// config is what of a config.json matters here.
type config struct {
	ModelType   string            `json:"model_type"`
	ProblemType string            `json:"problem_type"`
	ID2Label    map[string]string `json:"id2label"`
	Positions   int               `json:"max_position_embeddings"`
	PadTokenID  *int              `json:"pad_token_id"`
	HiddenSize  int               `json:"hidden_size"`
	Layers      int               `json:"num_hidden_layers"`
}

// fromExport describes a plain ONNX export by its config.json.
func (m *Model) fromExport(t *taxonomy.Taxonomy) error {
	path, graphData, err := readGraph(m.FS)
	if err != nil {
		return err
	}
	data, err := fs.ReadFile(m.FS, configFile)
	if err != nil {
		return fmt.Errorf("a plain ONNX export needs its %s: %w", configFile, err)
	}
	var c config
	if err := json.Unmarshal(data, &c); err != nil {
		return fmt.Errorf("%s: %w", configFile, err)
	}
	g, err := parseGraph(graphData)
	if err != nil {
		return fmt.Errorf("%s: %w; export it again", path, err)
	}
	m.Graph, m.SHA256, m.Plain = graphData, digest(graphData), true
	return m.describe(c, g, t)
}

// readGraph finds the graph where exporters put it.
func readGraph(fsys fs.FS) (string, []byte, error) {
	for _, path := range []string{GraphFile, "onnx/" + GraphFile} {
		data, err := fs.ReadFile(fsys, path)
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return path, data, err
		}
	}
	return "", nil, fmt.Errorf("there is neither a %s nor a plain ONNX export (%s, tokenizer.json, %s)", ManifestFile, GraphFile, configFile)
}

// describe fills the manifest that the export lacks.
func (m *Model) describe(c config, g *graph, t *taxonomy.Taxonomy) error {
	if c.ProblemType != multiLabel {
		return fmt.Errorf("%s says problem_type %q, a head whose labels exclude each other; erreval needs %s, "+
			"trained with a sigmoid for each label", configFile, c.ProblemType, multiLabel)
	}
	labels, err := c.labels(t)
	if err != nil {
		return err
	}
	m.Manifest = Manifest{
		Format: format, Name: baseName(m.Source), Version: m.SHA256[:12], Architecture: c.ModelType,
		HiddenSize: c.HiddenSize, Layers: c.Layers, Taxonomy: t.ID(), Labels: labels, Fields: t.FieldNames(),
		Join: JoinFields, MaxTokens: c.Positions, Activation: Sigmoid, Thresholds: map[string]float64{},
		Inputs: names(g.inputs), Output: logitsOf(g),
		Files: map[string]File{GraphFile: {SHA256: m.SHA256, Size: int64(len(m.Graph))}},
	}
	for _, label := range labels {
		m.Manifest.Thresholds[label] = plainThreshold
	}
	return m.specials(c)
}

// specials fills in what the architecture decides: the special tokens and the usable length.
func (m *Model) specials(c config) error {
	to := &m.Manifest
	switch c.ModelType {
	case "roberta":
		to.Start, to.Separator, to.End, to.Pad = "<s>", "</s>", "</s>", "<pad>"
		// Positions count from pad_token_id + 1, so of 514 only 512 can be used.
		pad := 1
		if c.PadTokenID != nil {
			pad = *c.PadTokenID
		}
		to.MaxTokens = c.Positions - pad - 1
	case "bert":
		to.Start, to.Separator, to.End, to.Pad = "[CLS]", "[SEP]", "[SEP]", "[PAD]"
	default:
		return fmt.Errorf("%s says model_type %q; without a %s only bert and roberta are understood", configFile, c.ModelType, ManifestFile)
	}
	return to.Validate()
}

// labels reads id2label: the taxonomy's names or codes, one for each of 0..n-1.
func (c config) labels(t *taxonomy.Taxonomy) ([]string, error) {
	labels := make([]string, len(c.ID2Label))
	for i := range labels {
		name, ok := c.ID2Label[strconv.Itoa(i)]
		if !ok {
			return nil, fmt.Errorf("%s: id2label has %d labels but none for %d; number them from 0", configFile, len(labels), i)
		}
		at, ok := t.Index(name)
		if !ok {
			return nil, unknownLabel(i, name, t)
		}
		labels[i] = t.Types[at].Name
	}
	if !unique(labels) || len(labels) == 0 {
		return nil, fmt.Errorf("%s: id2label must name at least one label, and each once", configFile)
	}
	return labels, nil
}

func unknownLabel(i int, name string, t *taxonomy.Taxonomy) error {
	hint := "rename it, or give the taxonomy that the model was trained on with --taxonomy"
	if strings.HasPrefix(name, "LABEL_") {
		hint = "Hugging Face's placeholder: write the error types into id2label, in the order of training"
	}
	return fmt.Errorf("%s: id2label %d is %q, which the taxonomy %s does not know (%s); %s",
		configFile, i, name, t.ID(), strings.Join(t.Labels(), ", "), hint)
}

// logitsOf picks the output: "logits", or the only one.
func logitsOf(g *graph) string {
	if out := names(g.outputs); len(out) == 1 && !slices.Contains(out, "logits") {
		return out[0]
	}
	return "logits"
}

// baseName is the directory's own name, also where it was given as ".".
func baseName(dir string) string {
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	return filepath.Base(dir)
}
