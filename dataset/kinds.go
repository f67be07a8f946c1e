package dataset

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// kinds are the types that a column's values have.
type kinds uint8

const (
	kindText  kinds = 1 << iota
	kindBool        // true or false
	kindInt         // a whole number that fits 64 bits
	kindFloat       // a number that a float64 holds as it is written
	kindOther       // any other number, a list or an object
)

func kindOf(raw json.RawMessage) kinds {
	switch raw[0] {
	case 'n':
		return 0
	case '"':
		return kindText
	case 't', 'f':
		return kindBool
	case '{', '[':
		return kindOther
	}
	text := string(raw)
	if i, err := strconv.ParseInt(text, 10, 64); err == nil && strconv.FormatInt(i, 10) == text {
		if i < -1<<53 || i > 1<<53 {
			return kindInt | kindBig
		}
		return kindInt
	}
	if exact(text) {
		return kindFloat
	}
	return kindOther
}

// kindBig marks whole numbers that a float64 does not hold.
const kindBig kinds = 1 << 7

// exact tells whether a number comes back from a float64 as the same number.
func exact(text string) bool {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(f, 0) || len(text) > 40 {
		return false
	}
	if f == 0 {
		return !strings.ContainsAny(text, "123456789") && text[0] != '-'
	}
	a, okA := new(big.Rat).SetString(text)
	b, okB := new(big.Rat).SetString(strconv.FormatFloat(f, 'g', -1, 64))
	return okA && okB && a.Cmp(b) == 0
}

// readRejection makes a fault of what a server puts in the place of a line that was no row (package service).
func (rec *record) readRejection() {
	if len(rec.columns) != 3 {
		return
	}
	said := map[string]string{}
	for _, c := range rec.columns {
		said[c.name] = PlainText(c.value)
	}
	if reason, ok := said["reason"]; ok && said["status"] == "rejected" && said["line"] != "" {
		rec.err, rec.columns = fmt.Errorf("line %s was rejected by erreval serve: %s", said["line"], reason), nil
	}
}
