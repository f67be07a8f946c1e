// Package idset counts ids in memory that does not grow with their number.
package idset

import (
	"encoding/binary"
	"errors"
	"os"

	"github.com/erreval/erreval/dataset/internal/bounded"
)

// Hash is short enough to keep for every row, and so long that no two ids get the same one by chance.
type Hash [16]byte

// idsInMemory is how many ids stand in memory (some 200 kB); more go to a temporary file, so that the
// memory does not grow with the input.
const idsInMemory = 1 << 12

// Set remembers a number for each id: in a map, then in an open-addressed table in a file.
type Set struct {
	dir   string
	limit int // of small
	small map[Hash]int64
	table *os.File // slots of an id and its number; nil while small suffices
	slots uint64   // a power of two
	used  uint64
}

const slotSize = 24

// New is an empty set, whose file goes to the folder dir; "" is the system's.
func New(dir string) *Set {
	return &Set{dir: dir, limit: idsInMemory, small: map[Hash]int64{}}
}

// Count gives how often the id came, this time included.
func (s *Set) Count(id Hash) (int, error) {
	if s.table != nil {
		if 4*s.used >= 3*s.slots {
			if err := s.grow(); err != nil {
				return 0, err
			}
		}
		return s.add(id, 1)
	}
	s.small[id]++
	n := int(s.small[id])
	if len(s.small) < s.limit {
		return n, nil
	}
	return n, s.spill()
}

// add adds n to the number of an id in the table, and gives the sum.
func (s *Set) add(id Hash, n int64) (int, error) {
	at, old, err := s.find(id)
	if err != nil {
		return 0, err
	}
	if old == 0 {
		s.used++
	}
	var slot [slotSize]byte
	copy(slot[:], id[:])
	binary.LittleEndian.PutUint64(slot[16:], uint64(old+n))
	_, err = s.table.WriteAt(slot[:], int64(at)*slotSize)
	return int(old + n), err
}

// find gives the id's slot, or the empty one that it goes into, and its number.
func (s *Set) find(id Hash) (at uint64, n int64, err error) {
	var slot [slotSize]byte
	for at = binary.LittleEndian.Uint64(id[:8]) & (s.slots - 1); ; at = (at + 1) & (s.slots - 1) {
		if _, err := s.table.ReadAt(slot[:], int64(at)*slotSize); err != nil {
			return 0, 0, err
		}
		n := int64(binary.LittleEndian.Uint64(slot[16:]))
		if n == 0 || Hash(slot[:16]) == id {
			return at, n, nil
		}
	}
}

func (s *Set) newTable(slots uint64) error {
	f, err := bounded.TempFile(s.dir)
	if err != nil {
		return err
	}
	if err := f.Truncate(int64(slots) * slotSize); err != nil { // a file of zeros: all empty
		return errors.Join(err, f.Close())
	}
	s.table, s.slots, s.used = f, slots, 0
	return nil
}

func (s *Set) spill() error {
	if err := s.newTable(max(1024, 4*uint64(s.limit))); err != nil {
		return err
	}
	for id, n := range s.small {
		if _, err := s.add(id, n); err != nil {
			return err
		}
	}
	s.small = nil
	return nil
}

// grow makes the table four times as large.
func (s *Set) grow() error {
	old, slots := s.table, s.slots
	defer old.Close()
	if err := s.newTable(4 * slots); err != nil {
		return err
	}
	block := make([]byte, 1024*slotSize)
	for at := uint64(0); at < slots; at += 1024 {
		if _, err := old.ReadAt(block, int64(at)*slotSize); err != nil {
			return err
		}
		for slot := block; len(slot) > 0; slot = slot[slotSize:] {
			if n := int64(binary.LittleEndian.Uint64(slot[16:slotSize])); n != 0 {
				if _, err := s.add(Hash(slot[:16]), n); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// Close removes the file.
func (s *Set) Close() error {
	if s.table == nil {
		return nil
	}
	return s.table.Close()
}
