package dataset

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
