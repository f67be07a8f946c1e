package page

import (
	"slices"

	"github.com/erreval/erreval/taxonomy"
)

// Keys that labels may have. What is missing among the letters is a command of the page: d, j, k, n, s, u, z. The
// semicolon begins keys of two strokes, so that there are always enough.
const (
	noErrorKey = "0"
	labelKeys  = "123456789abcefghilmopqrtvwxyABCDEFGHIJKLMNOPQRSTUVWXYZ"
	prefixKey  = ";"
)

// inOrder puts types as the page shows them: the no-error label first, then category by category.
func inOrder(types []taxonomy.Type) []taxonomy.Type {
	rank := map[string]int{}
	for _, y := range types {
		if _, ok := rank[y.Category]; !ok {
			rank[y.Category] = len(rank)
		}
	}
	out := slices.Clone(types)
	place := func(y taxonomy.Type) int {
		if y.NoError {
			return -1
		}
		return rank[y.Category]
	}
	slices.SortStableFunc(out, func(a, b taxonomy.Type) int { return place(a) - place(b) })
	return out
}

// keys gives each type its key, in order: digits, letters, capitals, then ";1" and so on. None begins another.
func keys(types []taxonomy.Type) []string {
	out := make([]string, len(types))
	prefix, next := "", 0
	for i, y := range types {
		if y.NoError {
			out[i] = noErrorKey
			continue
		}
		if next == len(labelKeys) {
			prefix, next = prefix+prefixKey, 0
		}
		out[i] = prefix + labelKeys[next:next+1]
		next++
	}
	return out
}
