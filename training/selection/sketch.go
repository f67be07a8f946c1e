package selection

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"strings"
	"unicode"

	"github.com/erreval/erreval/dataset"
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

// Used are rows that cannot be chosen any more, since they are in the training set, measure quality, or were in a
// batch.
type Used struct {
	ids   map[string]string // to where
	texts map[uint64]string // to the id of the first
	rows  []liked
}

// NewUsed is empty.
func NewUsed() *Used { return &Used{ids: map[string]string{}, texts: map[uint64]string{}} }

// Add notes a row, read with its taxonomy, and where it is, as in "dev.jsonl". The first place of an id stays.
func (u *Used) Add(row *dataset.Row, where string) {
	if _, ok := u.ids[row.ID]; ok {
		return
	}
	u.ids[row.ID] = where
	text := textHash(row.Values, 0)
	if _, ok := u.texts[text]; !ok {
		u.texts[text] = row.ID
		u.rows = append(u.rows, liked{row.ID, newSketch(row.Values)})
	}
}

// why says why a row cannot be chosen, and where it is; "" if it can.
func (u *Used) why(row *dataset.Row) (why, where string) {
	if where, ok := u.ids[row.ID]; ok {
		return "it is in " + where, where
	}
	if id, ok := u.texts[textHash(row.Values, 0)]; ok {
		return "its text is that of row " + id + " in " + u.ids[id], u.ids[id]
	}
	return "", ""
}

// textHash is equal for equal fields of one group.
func textHash(values []string, group uint64) uint64 {
	h := sha256.New()
	var n [8]byte
	binary.BigEndian.PutUint64(n[:], group)
	h.Write(n[:])
	for _, v := range values {
		binary.BigEndian.PutUint64(n[:], uint64(len(v)))
		h.Write(n[:])
		h.Write([]byte(v))
	}
	return binary.BigEndian.Uint64(h.Sum(nil))
}

// keys are four random numbers of a row, which depend on seed and id alone.
func keys(seed int64, id string) (k [4]uint64) {
	b := binary.BigEndian.AppendUint64(make([]byte, 0, 8+len(id)), uint64(seed))
	sum := sha256.Sum256(append(b, id...))
	for i := range k {
		k[i] = binary.BigEndian.Uint64(sum[8*i:])
	}
	return k
}
