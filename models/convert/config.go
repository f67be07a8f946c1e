package convert

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/erreval/erreval/internal/regularfile"
)

const configFile = "config.json"

// Bounds that no encoder comes near; beyond them a config.json is damaged.
const (
	maxLayers = 1 << 10
	maxWidth  = 1 << 20
	maxRows   = 1 << 24
	// maxPositions bounds the tables of relative positions, which are made here.
	maxPositions = 1 << 14
)

// config holds the keys of a config.json that decide the graph.
type config struct {
	ModelType     string            `json:"model_type"`
	Architectures []string          `json:"architectures"`
	ID2Label      map[string]string `json:"id2label"`

	HiddenSize   int64   `json:"hidden_size"`
	Layers       int64   `json:"num_hidden_layers"`
	Heads        int64   `json:"num_attention_heads"`
	Intermediate int64   `json:"intermediate_size"`
	Activation   string  `json:"hidden_act"`
	Epsilon      float64 `json:"layer_norm_eps"`
	Vocabulary   int64   `json:"vocab_size"`
	Positions    int64   `json:"max_position_embeddings"`
	Types        *int64  `json:"type_vocab_size"`
	Pad          *int64  `json:"pad_token_id"`

	PositionKind string `json:"position_embedding_type"`
	Decoder      bool   `json:"is_decoder"`
	Cross        bool   `json:"add_cross_attention"`
	Pooling      string `json:"classifier_pooling"`

	oneType bool // an export without token_type_ids: all tokens are of the first type

	distil
	deberta
}

// distil holds DistilBERT's own names.
type distil struct {
	Dim              int64  `json:"dim"`
	HiddenDim        int64  `json:"hidden_dim"`
	NLayers          int64  `json:"n_layers"`
	NHeads           int64  `json:"n_heads"`
	DistilActivation string `json:"activation"`
}

// deberta holds what only DeBERTa-v2 and v3 have.
type deberta struct {
	Relative         bool       `json:"relative_attention"`
	RelativeTypes    stringList `json:"pos_att_type"`
	Buckets          int64      `json:"position_buckets"`
	MaxRelative      int64      `json:"max_relative_positions"`
	ShareKey         bool       `json:"share_att_key"`
	PositionInput    *bool      `json:"position_biased_input"`
	NormRelative     stringList `json:"norm_rel_ebd"`
	ConvKernel       int64      `json:"conv_kernel_size"`
	EmbeddingSize    int64      `json:"embedding_size"`
	HeadSize         int64      `json:"attention_head_size"`
	PoolerSize       int64      `json:"pooler_hidden_size"`
	PoolerActivation string     `json:"pooler_hidden_act"`
}

// stringList is a JSON array of strings, or one string with | between the parts.
type stringList []string

func (l *stringList) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) != nil {
		return json.Unmarshal(data, (*[]string)(l))
	}
	*l = nil
	for part := range strings.SplitSeq(one, "|") {
		*l = append(*l, strings.TrimSpace(strings.ToLower(part)))
	}
	return nil
}

func (l stringList) has(s string) bool { return slices.Contains(l, s) }

func readConfig(dir string) (*config, error) {
	path := filepath.Join(dir, configFile)
	data, err := regularfile.Read(path, regularfile.MaxManifest)
	if err != nil {
		return nil, fmt.Errorf("a checkpoint needs its %s: %w", configFile, err)
	}
	c, err := parseConfig(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

// parseConfig reads a config.json and reports every value in it that Convert does not support.
func parseConfig(data []byte) (*config, error) {
	c := &config{}
	if err := json.Unmarshal(data, c); err != nil {
		return nil, fmt.Errorf("this is no JSON description of a checkpoint: %w", err)
	}
	f, ok := families[c.ModelType]
	if !ok {
		return nil, fmt.Errorf("model_type %q is not supported; supported are %s", c.ModelType,
			strings.Join(familyNames(), ", "))
	}
	if f.distilled {
		c.HiddenSize, c.Intermediate, c.Layers, c.Heads = c.Dim, c.HiddenDim, c.NLayers, c.NHeads
		c.Activation = c.DistilActivation
		c.Epsilon = 1e-12 // fixed in transformers' modeling_distilbert.py
	}
	c.defaults(f)
	return c, errors.Join(c.checkSizes(f), c.checkKind(f), c.checkLabels())
}

// defaults fills in what transformers leaves out of a config.json or assumes there.
func (c *config) defaults(f family) {
	c.Types, c.Pad = cmp.Or(c.Types, &f.types), cmp.Or(c.Pad, &f.pad)
	c.Epsilon = cmp.Or(c.Epsilon, f.epsilon)
	c.Activation, c.PoolerActivation = cmp.Or(c.Activation, "gelu"), cmp.Or(c.PoolerActivation, "gelu")
	c.PositionInput = cmp.Or(c.PositionInput, new(true))
	c.EmbeddingSize = cmp.Or(c.EmbeddingSize, c.HiddenSize)
	if c.MaxRelative < 1 {
		c.MaxRelative = c.Positions
	}
}

type faults []error

func (f *faults) require(ok bool, format string, args ...any) {
	if !ok {
		*f = append(*f, fmt.Errorf(format, args...))
	}
}

func (c *config) checkSizes(f family) error {
	var e faults
	within := func(name string, v, limit int64) {
		e.require(v >= 1 && v <= limit, "%s is %d; it must lie in 1..%d", name, v, limit)
	}
	within("hidden_size", c.HiddenSize, maxWidth)
	within("intermediate_size", c.Intermediate, maxWidth)
	within("num_hidden_layers", c.Layers, maxLayers)
	within("num_attention_heads", c.Heads, maxWidth)
	within("vocab_size", c.Vocabulary, maxRows)
	within("max_position_embeddings", c.Positions, maxPositions)
	e.require(*c.Types >= 0 && *c.Types <= maxRows, "type_vocab_size is %d", *c.Types)
	e.require(c.Epsilon > 0 && c.Epsilon < 1, "layer_norm_eps is %v; it must lie between 0 and 1", c.Epsilon)
	e.require(c.Heads < 1 || c.HiddenSize%c.Heads == 0, "hidden_size %d is no multiple of num_attention_heads %d",
		c.HiddenSize, c.Heads)
	e.require(*c.Pad >= 0 && *c.Pad < c.Vocabulary, "pad_token_id %d is no token of %d", *c.Pad, c.Vocabulary)
	e.require(!f.offset || c.Positions > *c.Pad+1, "max_position_embeddings %d leaves no position above pad_token_id %d",
		c.Positions, *c.Pad)
	return errors.Join(e...)
}

// checkKind refuses kinds of models that Convert does not support.
func (c *config) checkKind(f family) error {
	var e faults
	e.require(slices.Contains(knownActivations, c.Activation), "hidden_act %q is not supported; supported are %s",
		c.Activation, strings.Join(knownActivations, ", "))
	e.require(c.PositionKind == "" || c.PositionKind == "absolute",
		"position_embedding_type %q is not supported; only absolute is", c.PositionKind)
	e.require(!c.Decoder && !c.Cross, "this is a decoder (is_decoder, add_cross_attention); only encoders are supported")
	e.require(c.Pooling == "" || c.Pooling == "cls" || c.Pooling == "mean",
		"classifier_pooling %q is not supported; cls and mean are", c.Pooling)
	for _, a := range c.Architectures {
		e.require(strings.HasSuffix(a, "ForSequenceClassification"),
			"architecture %s is no sequence classifier; fine-tune one, or give another checkpoint", a)
	}
	if f.relative {
		e.require(slices.Contains(knownActivations, c.PoolerActivation),
			"pooler_hidden_act %q is not supported; supported are %s", c.PoolerActivation, strings.Join(knownActivations, ", "))
		e.require(c.ConvKernel <= 0, "conv_kernel_size %d: the convolution of DeBERTa-v2 is not supported; v3 has none",
			c.ConvKernel)
		e.require(c.HeadSize == 0 || c.HeadSize*c.Heads == c.HiddenSize,
			"attention_head_size %d times %d heads is not hidden_size %d, which is not supported", c.HeadSize,
			c.Heads, c.HiddenSize)
		e.require(c.PoolerSize == 0 || c.PoolerSize == c.HiddenSize,
			"pooler_hidden_size %d differs from hidden_size %d, which is not supported", c.PoolerSize, c.HiddenSize)
		e.require(c.EmbeddingSize >= 1 && c.EmbeddingSize <= maxWidth, "embedding_size is %d", c.EmbeddingSize)
		e.require(c.Buckets <= 0 || c.Buckets >= 4 && c.Buckets <= maxPositions && c.MaxRelative > c.Buckets/2+1,
			"position_buckets %d does not suit %d relative positions", c.Buckets, c.MaxRelative)
		e.require(c.MaxRelative <= maxPositions, "max_relative_positions is %d; it must be at most %d",
			c.MaxRelative, maxPositions)
		for _, t := range c.RelativeTypes {
			e.require(t == "c2p" || t == "p2c", "pos_att_type %q is not supported; c2p and p2c are", t)
		}
	}
	return errors.Join(e...)
}

func (c *config) checkLabels() error {
	for i := range len(c.ID2Label) {
		if _, ok := c.ID2Label[strconv.Itoa(i)]; !ok {
			return fmt.Errorf("id2label has %d labels but none for %d; number them from 0", len(c.ID2Label), i)
		}
	}
	return nil
}

// labels are the names of the n logits. Without id2label they are named as transformers names them.
func (c *config) labels(n int64) ([]string, error) {
	if len(c.ID2Label) != 0 && int64(len(c.ID2Label)) != n {
		return nil, fmt.Errorf("%s: id2label has %d labels, but the head gives %d logits; list one label a logit", configFile,
			len(c.ID2Label), n)
	}
	out := make([]string, n)
	for i := range out {
		out[i] = "LABEL_" + strconv.Itoa(i)
		if name, ok := c.ID2Label[strconv.Itoa(i)]; ok {
			out[i] = name
		}
	}
	return out, nil
}

// family says how the checkpoints of a model_type differ: names of tensors, and what transformers assumes where the
// config.json is silent.
type family struct {
	prefix string // before every name but the head's
	layer  string // before a layer's names; %d is its number

	query, key, value, out string // linear layers of the attention
	attentionNorm          string
	up, down               string // linear layers of the feed-forward part
	outputNorm             string

	types, pad int64   // type_vocab_size and pad_token_id by default
	epsilon    float64 // layer_norm_eps by default
	offset     bool    // positions count from pad_token_id + 1
	distilled  bool    // config.json has DistilBERT's names
	relative   bool    // DeBERTa's disentangled attention
}

// bertLike has the names that BERT and its descendants share.
func bertLike(prefix string) family {
	return family{
		prefix: prefix, layer: "encoder.layer.%d.",
		query: "attention.self.query", key: "attention.self.key", value: "attention.self.value",
		out:           "attention.output.dense",
		attentionNorm: "attention.output.LayerNorm", up: "intermediate.dense", down: "output.dense",
		outputNorm: "output.LayerNorm",
		types:      2, epsilon: 1e-12,
	}
}

// families by model_type. Defaults are those of transformers' configuration classes.
var families = func() map[string]family {
	bert := bertLike("bert.")
	roberta := bertLike("roberta.")
	roberta.pad, roberta.offset = 1, true
	deberta := bertLike("deberta.")
	deberta.query, deberta.key = "attention.self.query_proj", "attention.self.key_proj"
	deberta.value = "attention.self.value_proj"
	deberta.types, deberta.epsilon, deberta.relative = 0, 1e-7, true
	distil := family{
		prefix: "distilbert.", layer: "transformer.layer.%d.",
		query: "attention.q_lin", key: "attention.k_lin", value: "attention.v_lin", out: "attention.out_lin",
		attentionNorm: "sa_layer_norm", up: "ffn.lin1", down: "ffn.lin2", outputNorm: "output_layer_norm",
		epsilon: 1e-12, distilled: true,
	}
	return map[string]family{"bert": bert, "roberta": roberta, "xlm-roberta": roberta, "distilbert": distil,
		"deberta-v2": deberta}
}()

func familyNames() []string { return slices.Sorted(maps.Keys(families)) }
