package models

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/erreval/erreval/internal/regularfile"
	"github.com/erreval/erreval/taxonomy"
)

// configFile is Hugging Face's description of a checkpoint.
const configFile = "config.json"

// config holds the keys of a config.json that matter here.
type config struct {
	ModelType   string            `json:"model_type"`
	ProblemType string            `json:"problem_type"`
	ID2Label    map[string]string `json:"id2label"`
	Positions   int               `json:"max_position_embeddings"`
	PadTokenID  *int              `json:"pad_token_id"`
	HiddenSize  int               `json:"hidden_size"`
	Layers      int               `json:"num_hidden_layers"`
	Dim         int               `json:"dim"`      // DistilBERT's HiddenSize
	NLayers     int               `json:"n_layers"` // DistilBERT's Layers
}

// FindGraph is the path of the .onnx file of a plain export, by the names that exporters give it. Without one the error
// is an fs.ErrNotExist.
func FindGraph(fsys fs.FS) (string, error) {
	for _, at := range []string{GraphFile, "onnx/" + GraphFile} { // erreval's and torch's, Optimum's
		if _, err := fs.Stat(fsys, at); err == nil || !errors.Is(err, fs.ErrNotExist) {
			return at, err
		}
	}
	return "", fmt.Errorf("there is neither a %s nor a plain ONNX export (%s, tokenizer.json, %s): %w", ManifestFile,
		GraphFile, configFile, fs.ErrNotExist)
}

// ReadConfig describes a classifier by its config.json alone. Inputs, Output and Files are left out, and so are Labels
// where none are named.
func ReadConfig(fsys fs.FS) (*Classifier, error) {
	data, err := regularfile.ReadFS(fsys, configFile, regularfile.MaxManifest)
	if err != nil {
		return nil, fmt.Errorf("a checkpoint or plain ONNX export needs its %s: %w", configFile, err)
	}
	var c config
	if err := json.Unmarshal(data, &c); err != nil {
		return nil, fmt.Errorf("%s: %w", configFile, err)
	}
	labels, err := c.labels()
	if err != nil {
		return nil, err
	}
	return &Classifier{Architecture: c.ModelType, HiddenSize: max(c.HiddenSize, c.Dim), Layers: max(c.Layers, c.NLayers),
		Labels: labels, Problem: c.ProblemType, MaxTokens: c.maxTokens()}, nil
}

// ReadExport describes a plain ONNX export by its config.json and its graph.
func ReadExport(fsys fs.FS) (*Classifier, error) {
	at, err := FindGraph(fsys)
	if err != nil {
		return nil, err
	}
	c, err := ReadConfig(fsys)
	if err != nil {
		return nil, err
	}
	g, err := readGraph(fsys, at)
	if err != nil {
		return nil, err
	}
	if len(c.Labels) == 0 {
		return nil, fmt.Errorf("%s: id2label must name at least one label", configFile)
	}
	c.Inputs, c.Output, c.Files = valueNames(g.inputs), logitsOf(g), []string{at}
	for _, file := range g.external {
		c.Files = append(c.Files, path.Join(path.Dir(at), file))
	}
	return c, nil
}

// fromExport describes a plain ONNX export without a manifest.
func (m *Model) fromExport(t *taxonomy.Taxonomy) error {
	c, err := ReadExport(m.FS)
	if err != nil {
		return err
	}
	content, is, err := m.readFile(c.Files[0])
	if err != nil {
		return err
	}
	manifest, err := Describe(c, t, Choices{Name: baseName(m.Source), Version: is.SHA256[:12]})
	if err != nil {
		return err
	}
	manifest.Files[GraphFile] = is
	m.Manifest, m.Plain = *manifest, true
	m.setGraph(c.Files[0], content, is)
	return manifest.Validate()
}

// labels reads id2label: one for each of 0..n-1.
func (c config) labels() ([]string, error) {
	labels := make([]string, len(c.ID2Label))
	for i := range labels {
		name, ok := c.ID2Label[strconv.Itoa(i)]
		if !ok {
			return nil, fmt.Errorf("%s: id2label has %d labels but none for %d; number them from 0", configFile, len(labels), i)
		}
		labels[i] = name
	}
	return labels, nil
}

// maxTokens is the usable length. RoBERTa counts positions from pad_token_id + 1, so it can use only 512 of 514.
func (c config) maxTokens() int {
	if !strings.HasSuffix(c.ModelType, "roberta") {
		return c.Positions
	}
	pad := 1
	if c.PadTokenID != nil {
		pad = *c.PadTokenID
	}
	return c.Positions - pad - 1
}

// logitsOf picks the output: "logits", or the only one.
func logitsOf(g *graph) string {
	if out := valueNames(g.outputs); len(out) == 1 && !slices.Contains(out, "logits") {
		return out[0]
	}
	return "logits"
}

// baseName is the directory's own name, even if the user gave it as ".".
func baseName(dir string) string {
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	return filepath.Base(dir)
}
