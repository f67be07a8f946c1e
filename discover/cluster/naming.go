package cluster

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"
)

// Keywords are the words, at most n, that tell each group from the others: those of the largest class-based TF-IDF
// (Grootendorst 2022), a word's share of the group's words × ln(1 + mean words of a group ÷ the word's number in all
// groups). Stop words and words without a letter are left out. groups[i] is the group of sentences[i], and the result
// has one list for each number from 0 to the largest; a negative number is no group. Of equal words the first in the
// alphabet comes first.
func Keywords(sentences []string, groups []int, n int) [][]string {
	of := make([]map[string]int, countGroups(groups))
	words, everywhere, total := make([]int, len(of)), map[string]int{}, 0
	for i, s := range sentences {
		g := groups[i]
		if g < 0 {
			continue
		}
		if of[g] == nil {
			of[g] = map[string]int{}
		}
		for _, w := range contentWords(s) {
			if strings.ContainsFunc(w, unicode.IsLetter) {
				of[g][w]++
				everywhere[w]++
				words[g]++
				total++
			}
		}
	}
	out := make([][]string, len(of))
	for g, counts := range of {
		type weighed struct {
			word   string
			weight float64
		}
		var all []weighed
		for w, c := range counts {
			mean := float64(total) / float64(len(of))
			all = append(all, weighed{w, float64(c) / float64(words[g]) * math.Log(1+mean/float64(everywhere[w]))})
		}
		slices.SortFunc(all, func(a, b weighed) int {
			return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(a.word, b.word))
		})
		for _, w := range all[:min(max(n, 0), len(all))] {
			out[g] = append(out[g], w.word)
		}
	}
	return out
}

// Medoids are the places of each group's most central sentences: those whose mean similarity to the group's sentences
// is largest, by the words alone, and of equal ones the first. groups is as in Keywords; a number without sentences has
// the place -1.
func Medoids(sentences []string, groups []int) []int {
	s := newSpace(sentences)
	sums := make([]map[int32]float64, countGroups(groups))
	for i, row := range s.rows {
		if g := groups[i]; g >= 0 {
			if sums[g] == nil {
				sums[g] = map[int32]float64{}
			}
			for j, k := range row.at {
				sums[g][k] += float64(row.value[j])
			}
		}
	}
	best, out := make([]float64, len(sums)), make([]int, len(sums))
	for g := range out {
		out[g] = -1
	}
	for i, row := range s.rows {
		g, score := groups[i], 0.0
		if g < 0 {
			continue
		}
		for j, k := range row.at {
			score += float64(row.value[j]) * sums[g][k]
		}
		if out[g] < 0 || score > best[g]*(1+1e-6) { // what differs by less is equal, but for rounding
			best[g], out[g] = score, i
		}
	}
	return out
}

// countGroups is one more than the largest number.
func countGroups(groups []int) int {
	n := 0
	for _, g := range groups {
		n = max(n, g+1)
	}
	return n
}
