// Package spelling finds the names most like one that does not exist.
package spelling

import (
	"slices"
	"strings"
)

// Nearest gives at most n of names, the most similar to name first; case does not matter.
func Nearest(name string, names []string, n int) []string {
	name = strings.ToLower(name)
	all := slices.Clone(names)
	slices.SortStableFunc(all, func(a, b string) int {
		return distance(name, strings.ToLower(a)) - distance(name, strings.ToLower(b))
	})
	return all[:min(n, len(all))]
}

// Meant is the one of names that the user probably meant by name: it begins with name, or few letters differ. "" is
// none.
func Meant(name string, names []string) string {
	if len(name) < 2 {
		return ""
	}
	for _, n := range names {
		if len(name) > 2 && strings.HasPrefix(strings.ToLower(n), strings.ToLower(name)) {
			return n
		}
	}
	for _, n := range Nearest(name, names, 1) {
		if distance(strings.ToLower(name), strings.ToLower(n)) <= min(max(2, len(name)/3), len(name)-1) {
			return n
		}
	}
	return ""
}

// distance is the Levenshtein distance in bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		prev := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := prev
			if a[i] != b[j] {
				cost++
			}
			prev = row[j+1]
			row[j+1] = min(cost, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}
