package view

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/discover/issues"
	"github.com/erreval/erreval/internal/words"
)

// held is what a row says, as far as outputs hand it on: hashes of its texts, diagnosis, scores and finding; 0 is none.
type held [4]uint64

// heldBy reads what a row says. What cannot be read counts as none.
func heldBy(row *dataset.Row) (h held) {
	h[0] = hashOf("texts", row.Values...)
	put := func(n int, record any, there bool) {
		if data, err := json.Marshal(record); err == nil && there {
			h[n] = hashOf("record", string(data))
		}
	}
	if d, err := row.Diagnosis(); err == nil {
		put(1, d, d != nil)
	}
	if s, err := row.Scores(); err == nil {
		put(2, s, len(s) > 0)
	}
	if f, err := issues.Of(row); err == nil {
		put(3, f, f != nil)
	}
	return h
}

// isIn tells whether other says all of it.
func (h held) isIn(other held) bool {
	for n := range h {
		if h[n] != 0 && h[n] != other[n] {
			return false
		}
	}
	return true
}

// isMadeOf tells by the record whether a source's rows may be those of another, with columns more.
func (s *source) isMadeOf(other *source) bool {
	if s.record == nil || s == other || s.isZIP || other.isZIP || s.record.Command == "compare" {
		return false
	}
	info, err := os.Stat(other.path)
	if err != nil {
		return false
	}
	for _, in := range s.record.Inputs {
		if in.Size == info.Size() || in.Partial && in.File == filepath.Base(other.path) {
			return true
		}
	}
	return false
}

// leaveOutRepeated finds rows that a later stage handed on into a file that is shown too: they are read from that one
// alone. A source of which no row is left is dropped.
func leaveOutRepeated(ctx context.Context, sources []*source, o *Options) (kept []*source, notes []string, err error) {
	for _, s := range sources {
		rows, by := 0, ""
		for _, later := range sources {
			if !later.isMadeOf(s) || s.repeated != nil {
				continue
			}
			if rows, err = s.findRepeated(ctx, later, o); err != nil {
				return nil, nil, err
			}
			by = later.name
		}
		if n := len(s.repeated); n > 0 {
			notes = append(notes, fmt.Sprintf("%s: %s in %s too, with what was found later, and counted once", s.name,
				words.Plural(n, "row is", "rows are"), by))
			if n == rows {
				continue
			}
		}
		kept = append(kept, s)
	}
	return kept, notes, nil
}

// findRepeated notes the ids of rows that another source has too, and counts all rows.
func (s *source) findRepeated(ctx context.Context, later *source, o *Options) (rows int, err error) {
	here := map[string]held{}
	err = s.each(ctx, o, func(row *dataset.Row) error {
		here[row.ID] = heldBy(row)
		rows++
		return nil
	}, dataset.Skip)
	if err != nil {
		return 0, err
	}
	found := map[string]bool{}
	err = later.each(ctx, o, func(row *dataset.Row) error {
		if h, there := here[row.ID]; there && h.isIn(heldBy(row)) {
			found[row.ID] = true
		}
		return nil
	}, dataset.Skip)
	if len(found) > 0 {
		s.repeated = found
	}
	return rows, err
}
