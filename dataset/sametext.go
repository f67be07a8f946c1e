package dataset

import (
	"fmt"
	"hash/maphash"
	"regexp"
	"slices"
	"strings"

	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/taxonomy"
)

// A text of so many words that so many rows, and such a share of them, have for different inputs may be none, as the
// message of a failed call is.
const (
	leastSameWords = 3
	leastSame      = 3
	leastSameShare = 0.02
	mostSameKept   = 100_000 // texts
)

// failedCall begins what programs write where a call failed or gave nothing.
var failedCall = regexp.MustCompile(`(?i)^[\s\W]*(error\b|exception\b|failed\b|failure\b|time(d )?out\b|traceback\b|` +
	`rate.?limit|too many requests|internal server error|service unavailable|bad gateway|http[ /\d.]* [45]\d\d\b|` +
	`[45]\d\d (client|server|bad|too|not|internal)|(request|connection) (failed|timed|error|refused|reset)|` +
	`(cannot|can't|could not|unable to|failed to) (generate|create|produce|parse|complete)\b|` +
	`no (output|response|content|question|answer)( (was |were )?(generated|returned|found|available))?[.!]?\s*$)|` +
	`^\s*(\[\s*\]|\{\s*\}|<[a-z_ ]*(empty|none|null|error|blank)[a-z_ ]*>)\s*$`)

// refusal begins an answer that refuses.
var refusal = regexp.MustCompile(`(?i)^\W*(i['’]?m sorry|i am sorry|sorry,|i apologi[sz]e|as an ai|` +
	`i (cannot|can['’]?t|am unable|am not able|won['’]?t)|i['’]?m (unable|not able))\b`)

// isFailed tells whether a text is what programs write where a call failed, or a refusal where the task knows none.
func (r *Reader) isFailed(text string) bool {
	text = text[:min(len(text), longestFault)]
	if failedCall.MatchString(text) {
		return true
	}
	knows := func(y taxonomy.Type) bool { return strings.Contains(strings.ToLower(y.Name+" "+y.Definition), "refus") }
	return refusal.MatchString(text) && !slices.ContainsFunc(r.opt.Taxonomy.Types, knows)
}

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

// add adds a row, with what it was written for, and its place.
func (s *sameTexts) add(row *Row, input string, place func(*Row) string) {
	text := row.Values[0]
	if s.rows == nil {
		s.seed, s.rows = maphash.MakeSeed(), map[uint64]sameText{}
	}
	key := maphash.String(s.seed, text)
	same, known := s.rows[key]
	isAsking := strings.HasSuffix(strings.TrimSpace(text), "?") // no message does, but a question may fit many passages
	if !known && len(s.rows) == mostSameKept || len(strings.Fields(text)) < leastSameWords || isAsking {
		return
	}
	of := maphash.String(s.seed, input)
	if same.rows++; same.rows == 1 {
		same.input = of
	} else if same.several = same.several || of != same.input; same.text == "" {
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
