package convert

import (
	"maps"
	"slices"
)

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
