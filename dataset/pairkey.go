package dataset

import "slices"

// key joins the values of columns for each row; 0 where one has none.
func (s *pairSide) key(names []string) []uint64 {
	key := make([]uint64, s.rows)
	for n, name := range names {
		values := s.values[name]
		values = append(values, make([]uint64, s.rows-len(values))...)
		if n == 0 {
			copy(key, values)
			continue
		}
		key = join(key, values)
	}
	return key
}

// join makes one key of two; 0 where one of them is.
func join(one, other []uint64) []uint64 {
	key := make([]uint64, len(one))
	for i := range key {
		if one[i] != 0 && other[i] != 0 {
			key[i] = (one[i]*0x9e3779b97f4a7c15 ^ other[i]) | 1
		}
	}
	return key
}

// allDistinct tells whether no two rows have the same key.
func allDistinct(key []uint64) bool {
	seen := make(map[uint64]bool, len(key))
	for _, k := range key {
		seen[k] = true
	}
	return len(seen) == len(key)
}

// mostlyDistinct tells whether few rows lack a key or have that of a row before them.
func mostlyDistinct(key []uint64) bool {
	few := int(FewUnpaired * float64(len(key)))
	seen := map[uint64]bool{0: true}
	for _, k := range key {
		if seen[k] {
			if few--; few < 0 {
				return false
			}
		}
		seen[k] = true
	}
	return true
}

// keepValues keeps hashes of a row's values; none of a file of too many rows.
func (s *pairSide) keepValues(row *Row, hash func(...string) uint64) {
	n := s.rows - 1 // before it
	if n >= adviceRows {
		s.columns, s.values = nil, nil
		return
	}
	for _, c := range row.columns {
		if c.value[0] != '"' && !wholeNumber.Match(c.value) || string(c.value) == `""` {
			continue
		}
		values, there := s.values[c.name]
		if !there && len(s.columns) == adviceColumns {
			continue
		}
		if !there {
			if s.values == nil {
				s.values = map[string][]uint64{}
			}
			s.columns = append(s.columns, c.name)
		}
		value := c.value
		if m := wholeNumber.FindSubmatch(value); m != nil {
			value = m[1]
		}
		values = append(values, make([]uint64, n-len(values))...)
		s.values[c.name] = append(values, hash(FoldSpace(string(value))))
	}
}

// wouldPair finds the column, or the two, by which almost all rows of the smaller file have a partner, and clearly more
// than now; and how many.
func (p *Pairing) wouldPair(now int) (names []string, both int) {
	a, b := &p.sides[0], &p.sides[1]
	var columns []string
	for _, name := range a.columns {
		if slices.Contains(b.columns, name) {
			columns = append(columns, name)
		}
	}
	rows, isStrange := min(a.rows, b.rows), p.isStrange()
	pairs := func(names ...string) bool {
		keyA, keyB := a.key(names), b.key(names)
		if !mostlyDistinct(keyA) || !mostlyDistinct(keyB) {
			return false
		}
		pairs := p.match(keyA, keyB, names, false)
		both = pairs.Both - pairs.count(isStrange)
		return isMost(both, rows) && !isMost(now, both)
	}
	for _, name := range columns {
		if pairs(name) {
			return []string{name}, both
		}
	}
	columns = columns[:min(len(columns), maxKeyColumns)]
	for i, one := range columns {
		for _, other := range columns[i+1:] {
			if pairs(one, other) {
				return []string{one, other}, both
			}
		}
	}
	return nil, 0
}
