package bpe

import "math/bits"

// pairs finds the merge of two ids: open addressing, one cache line a look-up.
type pairs struct {
	slots []pair
	shift uint
}

type pair struct {
	left, right int32 // left is none in a free slot
	rank        int32
	id          int32 // what the two become
}

// newPairs returns a table with room for n merges.
func newPairs(n int) pairs {
	size := bits.Len(uint(2*n + 1))
	p := pairs{slots: make([]pair, 1<<size), shift: 64 - uint(size)}
	for i := range p.slots {
		p.slots[i].left = none
	}
	return p
}

// find returns the slot of a pair of ids, a free one if the two are not merged.
func (p *pairs) find(left, right int32) *pair {
	key := uint64(uint32(left))<<32 | uint64(uint32(right))
	for i := key * 0x9e3779b97f4a7c15 >> p.shift; ; i = (i + 1) & uint64(len(p.slots)-1) {
		if s := &p.slots[i]; s.left == left && s.right == right || s.left == none {
			return s
		}
	}
}
