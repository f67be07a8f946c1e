// Package gpt2 makes a tokenizer.json of GPT-2's published ranks. Tests need a large real vocabulary.
package gpt2

import (
	"encoding/json"
	"fmt"
	"sort"
)

// tokens is how many tokens GPT-2 has beside its special one.
const tokens = 50256

// TokenizerJSON asks decode for each token: that of a library that has the ranks.
func TokenizerJSON(decode func(rank uint) (string, error)) ([]byte, error) {
	ranks := make(map[string]int, tokens)
	for rank := range tokens {
		token, err := decode(uint(rank))
		if err != nil {
			return nil, err
		}
		ranks[token] = rank
	}
	if len(ranks) != tokens {
		return nil, fmt.Errorf("%d tokens are different, not %d", len(ranks), tokens)
	}
	vocab := map[string]int{}
	for token, rank := range ranks {
		vocab[written(token)] = rank
	}
	return json.Marshal(map[string]any{
		"version": "1.0",
		"added_tokens": []any{map[string]any{"id": len(vocab), "content": "<|endoftext|>", "single_word": false,
			"lstrip": false, "rstrip": false, "normalized": false, "special": true}},
		"pre_tokenizer": map[string]any{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true},
		"model":         map[string]any{"type": "BPE", "vocab": vocab, "merges": merges(ranks)},
	})
}

// merges finds the last two parts of each token: what is left when it is merged by the ranks below its own.
func merges(ranks map[string]int) [][]string {
	tokens := make([]string, 0, len(ranks))
	for token := range ranks {
		tokens = append(tokens, token)
	}
	sort.Slice(tokens, func(i, j int) bool { return ranks[tokens[i]] < ranks[tokens[j]] })
	var all [][]string
	for _, token := range tokens {
		if parts := merged(token, ranks); len(parts) == 2 {
			all = append(all, []string{written(parts[0]), written(parts[1])})
		}
	}
	return all
}

func merged(token string, ranks map[string]int) []string {
	parts := make([]string, len(token))
	for i := range len(token) {
		parts[i] = token[i : i+1]
	}
	for len(parts) > 2 {
		best, at := ranks[token], 0
		for i := range len(parts) - 1 {
			if rank, ok := ranks[parts[i]+parts[i+1]]; ok && rank < best {
				best, at = rank, i
			}
		}
		parts[at] += parts[at+1]
		parts = append(parts[:at+1], parts[at+2:]...)
	}
	return parts
}

// written writes bytes as the characters of the byte-level alphabet.
func written(token string) string {
	var out []rune
	for i := range len(token) {
		out = append(out, character(token[i]))
	}
	return string(out)
}

// character gives printable Latin-1 as itself and the n-th other byte as U+0100+n.
func character(b byte) rune {
	switch {
	case b >= '!' && b <= '~', b >= 0xa1 && b <= 0xac, b >= 0xae:
		return rune(b)
	case b <= ' ':
		return 0x100 + rune(b)
	case b <= 0xa0:
		return 0x100 + 33 + rune(b) - 0x7f
	}
	return 0x100 + 67 // 0xad
}
