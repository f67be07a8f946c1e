package selection

import (
	"math"
	"strings"
	"unicode"
)

const (
	pieceLength = 4  // characters of a piece of text
	bins        = 48 // of a field's sketch; the estimate's standard error is at most 0.5/√48 = 0.07
	// bins that have to be equal for two rows to be compared; of rows alike by 0.7, all but 0.2 % share a band
	band = 3
)

// sketch stands for the pieces of a row's fields, bins numbers a field: the smallest hash of the pieces in each bin, or
// empty (one-permutation MinHash; Li, Owen, Zhang 2012).
type sketch []uint32

const empty = math.MaxUint32

// newSketch cuts each field, without regard to case and to what is neither letter nor digit.
func newSketch(values []string) sketch {
	s := make(sketch, len(values)*bins)
	for f, v := range values {
		field := s[f*bins : (f+1)*bins]
		for i := range field {
			field[i] = empty
		}
		text := []rune(normal(v))
		for i := 0; i == 0 || i+pieceLength <= len(text); i++ {
			h := pieceHash(text[i:min(i+pieceLength, len(text))])
			b, low := (h>>32)*bins>>32, uint32(h)
			field[b] = min(field[b], low&^1) // never empty, which is odd
		}
	}
	return s
}

// normal is text in lower case, its words joined by single spaces.
func normal(text string) string {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) &&
			!unicode.IsNumber(r)
	})
	return strings.Join(words, " ")
}

// pieceHash is FNV-1a over characters, mixed so that both halves can be used.
func pieceHash(piece []rune) uint64 {
	h := uint64(14695981039346656037)
	for _, r := range piece {
		h = (h ^ uint64(r)) * 1099511628211
	}
	return mix(h)
}

// mix is the finaliser of splitmix64.
func mix(h uint64) uint64 {
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}

// alike estimates how much alike two rows are, 0 to 1: the smallest of their fields' Jaccard similarities. Two
// questions about one passage are told apart by the question, one question for two answers by the answer.
func alike(a, b sketch) float64 {
	least := 1.0
	for i := 0; i < len(a); i += bins {
		same, any := 0, 0
		for j := i; j < i+bins; j++ {
			if a[j] == empty && b[j] == empty {
				continue
			}
			any++
			if a[j] == b[j] {
				same++
			}
		}
		least = min(least, float64(same)/float64(any))
	}
	return least
}

// likeness finds rows that are nearly the same as one before.
type likeness struct {
	least float64 // similarity from which rows are near-duplicates
	rows  []liked
	bands map[uint64][]int32
}

type liked struct {
	id     string
	sketch sketch
}

func newLikeness(least float64) *likeness {
	return &likeness{least: least, bands: map[uint64][]int32{}}
}

// add remembers a row.
func (l *likeness) add(id string, s sketch) {
	n := int32(len(l.rows))
	l.rows = append(l.rows, liked{id, s})
	eachBand(s, func(k uint64) { l.bands[k] = append(l.bands[k], n) })
}

// find gives the id of the earliest row that s nearly repeats, or "".
func (l *likeness) find(s sketch) string {
	first := int32(math.MaxInt32)
	eachBand(s, func(k uint64) {
		for _, n := range l.bands[k] {
			if n < first && alike(s, l.rows[n].sketch) >= l.least {
				first = n
			}
		}
	})
	if first == math.MaxInt32 {
		return ""
	}
	return l.rows[first].id
}

// eachBand gives a hash of each band of the first field, the text under evaluation; bands without pieces say nothing.
func eachBand(s sketch, f func(uint64)) {
	for b := 0; b < min(bins, len(s)); b += band {
		h, any := uint64(b+1), false
		for _, v := range s[b : b+band] {
			h = mix(h ^ uint64(v)*0x9e3779b97f4a7c15)
			any = any || v != empty
		}
		if any {
			f(h)
		}
	}
}
