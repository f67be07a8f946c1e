package hub

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// All these files of a tokenizer are fetched if the repository has them; it has a tokenizer if it has one of
// tokenizers. The vocabularies beside a tokenizer.json hold nothing that is not in it.
var (
	tokenizers     = []string{"tokenizer.json", "vocab.json", "vocab.txt"}
	tokenizerExtra = []string{"tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"}
)

// SelectModel picks what erreval needs to import a model: config.json (and erreval's manifest.json), the tokenizer, and
// one kind of weights, the first of: model.safetensors, its shards with their index, pytorch_model.bin, its shards,
// onnx/model.onnx or model.onnx with external data. A repository with a manifest.json is taken with its model.onnx. The
// error names all parts that are missing.
func SelectModel(names []string) ([]string, error) {
	n := make(nameSet, len(names))
	for _, name := range names {
		n[name] = true
	}
	exported := n["manifest.json"] && n["model.onnx"]
	picked := append(n.presentNames("manifest.json", "config.json"), n.tokenizerFiles()...)
	weights, lost := n.weightFiles(names, exported)
	var lacks []string
	if !exported && !n["config.json"] {
		lacks = append(lacks, "config.json")
	}
	if len(n.presentNames(tokenizers...)) == 0 {
		lacks = append(lacks, "a tokenizer (tokenizer.json, vocab.json with merges.txt, or vocab.txt)")
	}
	if len(weights) == 0 {
		lacks = append(lacks,
			"weights (model.safetensors, pytorch_model.bin, their shards with an index, or onnx/model.onnx)")
	}
	lacks = append(lacks, lost...)
	if len(lacks) > 0 {
		return nil, fmt.Errorf("%s missing; there are %s", strings.Join(lacks, ", "), someNames(names))
	}
	return append(picked, weights...), nil
}

// mostLost is how many missing shards an error names.
const mostLost = 3

type nameSet map[string]bool

func (n nameSet) presentNames(names ...string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !n[name] })
}

func (n nameSet) tokenizerFiles() []string {
	if n["tokenizer.json"] {
		return n.presentNames(append([]string{"tokenizer.json"}, tokenizerExtra...)...)
	}
	return n.presentNames(append([]string{"vocab.json", "merges.txt", "vocab.txt"}, tokenizerExtra...)...)
}

// weightFiles returns one kind of weights, and its shards that are missing.
func (n nameSet) weightFiles(names []string, exported bool) (found, lost []string) {
	switch {
	case exported:
		return graphFiles(names, "model.onnx"), nil
	case n["model.safetensors"]:
		return []string{"model.safetensors"}, nil
	case n["model.safetensors.index.json"]:
		return n.shardFiles(names, "model", "safetensors")
	case n["pytorch_model.bin"]:
		return []string{"pytorch_model.bin"}, nil
	case n["pytorch_model.bin.index.json"]:
		return n.shardFiles(names, "pytorch_model", "bin")
	case n["onnx/model.onnx"]:
		return graphFiles(names, "onnx/model.onnx"), nil
	case n["model.onnx"]:
		return graphFiles(names, "model.onnx"), nil
	}
	return nil, nil
}

// graphFiles returns a graph and its external data, named model.onnx.data (torch, erreval) or model.onnx_data
// (Optimum).
func graphFiles(names []string, graph string) []string {
	found := []string{graph}
	for _, name := range names {
		if strings.HasPrefix(name, graph+".data") || strings.HasPrefix(name, graph+"_data") {
			found = append(found, name)
		}
	}
	return found
}

// shardFiles returns the index and the shards, whose names transformers makes: model-00001-of-00003.safetensors.
func (n nameSet) shardFiles(names []string, stem, extension string) (found, lost []string) {
	pattern := regexp.MustCompile(`^` + stem + `-\d{5}-of-(\d{5})\.` + extension + `$`)
	for _, name := range names {
		if m := pattern.FindStringSubmatch(name); m != nil {
			count, _ := strconv.Atoi(m[1])
			for i := 1; i <= count && len(lost) <= mostLost; i++ {
				shard := fmt.Sprintf("%s-%05d-of-%s.%s", stem, i, m[1], extension)
				if n[shard] {
					found = append(found, shard)
				} else {
					lost = append(lost, shard)
				}
			}
			break
		}
	}
	if len(lost) > mostLost {
		lost[mostLost] = "and more shards"
	}
	if len(found) > 0 {
		found = append(found, stem+"."+extension+".index.json")
	}
	return found, lost
}

// someNames lists names for a message, at most a few lines of them.
func someNames(names []string) string {
	const most = 12
	switch {
	case len(names) == 0:
		return "no files at all"
	case len(names) > most:
		return fmt.Sprintf("%s and %d more files", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}
