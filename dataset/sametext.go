package dataset

import (
	"fmt"
	"hash/maphash"
	"strings"

	"github.com/erreval/erreval/internal/words"
)

// A text of so many words that so many rows, and such a share of them, have for different inputs may be none, as the
// message of a failed call is.
const (
	leastSameWords = 3
	leastSame      = 3
	leastSameShare = 0.02
	mostSameKept   = 100_000 // texts
)

// sameTexts count the rows with the same text under evaluation.
type sameTexts struct {
	seed maphash.Seed
	rows map[uint64]sameText
	most sameText // of different inputs
}

type sameText struct {
	rows        int
	input       uint64
	several     bool   // inputs
	text, place string // of the second row
}

func (s *sameTexts) add(row *Row, place func(*Row) string) {
	text := row.Values[0]
	if s.rows == nil {
		s.seed, s.rows = maphash.MakeSeed(), map[uint64]sameText{}
	}
	key := maphash.String(s.seed, text)
	same, known := s.rows[key]
	if !known && len(s.rows) == mostSameKept || len(strings.Fields(text)) < leastSameWords {
		return
	}
	input := maphash.Comparable(s.seed, strings.Join(row.Values[1:], "\n"))
	if same.rows++; same.rows == 1 {
		same.input = input
	} else if same.several = same.several || input != same.input; same.text == "" {
		same.text, same.place = strings.Clone(text), place(row)
	}
	if s.rows[key] = same; same.several && same.rows > s.most.rows {
		s.most = same
	}
}

// note names the commonest one of so many rows; "" where it is none of many.
func (s *sameTexts) note(field string, rows int) string {
	if s.most.rows < leastSame || float64(s.most.rows) < leastSameShare*float64(rows) {
		return ""
	}
	return fmt.Sprintf("%d rows of different inputs have the same %s, %.60q (as in %s): leave it empty if it says "+
		"that a call failed", s.most.rows, field, words.Printable(s.most.text), s.most.place)
}
