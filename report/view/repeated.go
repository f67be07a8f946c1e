package view

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/discover/issues"
	"github.com/erreval/erreval/internal/words"
)

// held is what a row says, as far as outputs hand it on: hashes of its texts and system, diagnosis, scores and finding;
// 0 is none.
type held [4]uint64

// heldBy reads what a row says. What cannot be read counts as none.
func heldBy(row *dataset.Row) (h held) {
	// two systems may write the same
	h[0] = hashOf("texts", append(slices.Clone(row.Values), row.SystemName().String())...)
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

// isBare tells whether rows hold texts alone, as those in the pool of a workspace.
func (s *source) isBare() bool {
	if s.record != nil || s.isZIP || s.rows.Taxonomy == nil || s.first == nil {
		return false
	}
	h := heldBy(s.first)
	_, labelled := s.first.FindAnyCase(dataset.ColumnLabels)
	return !labelled && h == held{h[0]}
}

// isMadeAs tells whether one command made both with the same model: of the same row they say the same.
func (s *source) isMadeAs(other *source) bool {
	a, b := s.record, other.record
	return a != nil && b != nil && a.Model != nil && b.Model != nil && a.Command == b.Command &&
		*a.Model == *b.Model && maps.Equal(s.reading.Thresholds, other.reading.Thresholds)
}

// isCopy tells whether a source may be a copy of another: one of them has no record, and the first rows say the same.
func (s *source) isCopy(other *source) bool {
	if s.record != nil && other.record != nil || s.isZIP || other.isZIP || s.first == nil || other.first == nil {
		return false
	}
	return s.first.ID == other.first.ID && heldBy(s.first) == heldBy(other.first)
}

// isReadFrom tells whether rows of the source are read from another, so that the other's cannot be read from here.
func (s *source) isReadFrom(other *source) bool {
	for s != nil && s != other {
		s = s.readFrom
	}
	return s == other
}

// leaveOutRepeated finds rows that stand in another file that is shown too, because a later stage handed them on, or
// because they are in a workspace as well: they are read from that one alone. A source of which no row is left is
// dropped; beside others the one that its rows are read from goes by its name.
func leaveOutRepeated(ctx context.Context, sources []*source, o *Options) (kept []*source, notes []string, err error) {
	for i, s := range sources {
		rows, others, both := 0, 0, []string(nil)
		for j, later := range sources {
			made := later.isMadeOf(s) || s.isMadeOf(later) || s.isBare() && later.record != nil // a stage, or a part
			again := made || j < i && later.readFrom == nil && (s.isMadeAs(later) || s.isCopy(later))
			if !again || s.repeated != nil || later.isReadFrom(s) {
				continue
			}
			if rows, others, err = s.findRepeated(ctx, later, o); err != nil {
				return nil, nil, err
			}
			// Of two versions, what did not change is of both; rows that a stage handed on in part are of the whole, too.
			if n := len(s.repeated); n > 0 && !s.isBare() && (n < rows || !made && n < others) {
				s.repeated, s.readFrom = nil, nil
				both = append(both, fmt.Sprintf("%s: %s in %s too: each counts in both", s.name,
					words.Plural(n, "row is", "rows are"), later.name))
			}
		}
		if s.repeated == nil {
			notes = append(notes, both...)
		}
		if n, by := len(s.repeated), s.readFrom; n > 0 {
			notes = append(notes, fmt.Sprintf("%s: %s in %s too, and counted once", s.name,
				words.Plural(n, "row is", "rows are"), by.name))
			if n == rows {
				if n == others && by.isMadeOf(s) {
					by.origin = s
				}
				continue
			}
		}
		kept = append(kept, s)
	}
	if len(kept) > 1 {
		for _, s := range kept {
			s.takeOrigin(len(sources))
		}
	}
	return kept, notes, nil
}

// takeOrigin names a source by the first of the files that its rows were handed on from; there are at most so many.
func (s *source) takeOrigin(most int) {
	first := s
	for range most {
		first = cmp.Or(first.origin, first)
	}
	if first != s {
		s.file, s.name = s.name, first.name
	}
}

// findRepeated notes the ids of rows that another source has too, and counts all rows of both.
func (s *source) findRepeated(ctx context.Context, later *source, o *Options) (rows, others int, err error) {
	here := map[string]held{}
	err = s.each(ctx, o, func(row *dataset.Row) error {
		here[row.ID] = heldBy(row)
		rows++
		return nil
	}, dataset.Skip)
	if err != nil {
		return 0, 0, err
	}
	found := map[string]bool{}
	err = later.each(ctx, o, func(row *dataset.Row) error {
		others++
		if h, there := here[row.ID]; there && h.isIn(heldBy(row)) {
			found[row.ID] = true
		}
		return nil
	}, dataset.Skip)
	if len(found) > 0 {
		s.repeated, s.readFrom = found, later
	}
	return rows, others, err
}
