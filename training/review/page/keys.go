package page

import "github.com/erreval/erreval/taxonomy"

// Keys that labels may have. What is missing among the letters is a command of the page: d, j, k, n, s, u, z. The
// semicolon begins keys of two strokes, so that there are always enough.
const (
	noErrorKey = "0"
	labelKeys  = "123456789abcefghilmopqrtvwxyABCDEFGHIJKLMNOPQRSTUVWXYZ"
	prefixKey  = ";"
)

// keys gives each type its key, in order: digits, letters, capitals, then ";1" and so on. None begins another.
func keys(t *taxonomy.Taxonomy) []string {
	out := make([]string, len(t.Types))
	prefix, next := "", 0
	for i, y := range t.Types {
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
