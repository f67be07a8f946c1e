package dataset

// idHash is short enough to keep for every row, and long enough that two ids never meet by chance.
type idHash [16]byte

// idSet remembers a number for each id.
type idSet struct{ m map[idHash]int }

func newIDSet() *idSet { return &idSet{map[idHash]int{}} }

// first gives the place at which the id came first, or 0 and remembers this one.
func (s *idSet) first(id idHash, place int) (int, error) {
	if at := s.m[id]; at > 0 {
		return at, nil
	}
	s.m[id] = place
	return 0, nil
}

// count gives how often the id came, this time included.
func (s *idSet) count(id idHash) (int, error) {
	s.m[id]++
	return s.m[id], nil
}

func (s *idSet) close() error { return nil }
