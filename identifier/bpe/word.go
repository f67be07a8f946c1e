package bpe

import "math/bits"

// word is a piece while it is merged: a list of symbols linked both ways, and a heap of the merges that may apply.
type word struct {
	ids, prev, next []int32 // a symbol that was merged into its left neighbour has the id none
	heap            []uint64
}

// loadBytes makes a symbol of each byte.
func (w *word) loadBytes(m *Model, text []byte) {
	w.ids = w.ids[:0]
	lacking := false // the symbol before is the unknown token
	for _, b := range text {
		id := m.bytes[b]
		known := id != none
		if !known {
			if m.unk == none || lacking && m.config.FuseUnk {
				continue
			}
			id = m.unk
		}
		lacking = !known
		w.ids = append(w.ids, id)
	}
	w.linkSymbols()
}

func (w *word) linkSymbols() {
	w.prev, w.next = w.prev[:0], w.next[:0]
	for i := range w.ids {
		w.prev = append(w.prev, int32(i)-1)
		w.next = append(w.next, int32(i)+1)
	}
	if n := len(w.next); n > 0 {
		w.next[n-1] = none
	}
}

// merge applies the merges, lowest rank first, leftmost first among equals.
func (w *word) merge(m *Model) {
	w.heap = w.heap[:0]
	for i := 0; i+1 < len(w.ids); i++ {
		w.pushPair(m, int32(i))
	}
	for len(w.heap) > 0 {
		top := w.pop()
		at, id := int32(uint32(top)), m.merged[top>>32]
		if w.ids[at] == none || w.next[at] == none {
			continue
		}
		right := w.next[at]
		// The entry is stale if the pair that stands here by now does not make the same token.
		if p := m.pairs.find(w.ids[at], w.ids[right]); p.left == none || p.id != id {
			continue
		}
		w.joinSymbols(m, at, right, id)
	}
}

// joinSymbols replaces the symbols at and right by id and pushes the two pairs that this makes.
func (w *word) joinSymbols(m *Model, at, right, id int32) {
	w.ids[at], w.ids[right] = id, none
	after := w.next[right]
	w.next[at] = after
	if after != none {
		w.prev[after] = at
	}
	if w.prev[at] != none {
		w.pushPair(m, w.prev[at])
	}
	if after != none {
		w.pushPair(m, at)
	}
}

// pushPair puts the pair that begins at a symbol on the heap if it can be merged.
func (w *word) pushPair(m *Model, at int32) {
	if p := m.pairs.find(w.ids[at], w.ids[w.next[at]]); p.left != none {
		w.push(uint64(p.rank)<<32 | uint64(at))
	}
}

// appendIDs appends the ids that are left.
func (w *word) appendIDs(dst []int32) []int32 {
	for _, id := range w.ids {
		if id != none {
			dst = append(dst, id)
		}
	}
	return dst
}

func (w *word) push(v uint64) {
	w.heap = append(w.heap, v)
	h, i := w.heap, len(w.heap)-1
	for i > 0 && h[(i-1)/2] > v {
		h[i] = h[(i-1)/2]
		i = (i - 1) / 2
	}
	h[i] = v
}

func (w *word) pop() uint64 {
	h := w.heap
	top, last := h[0], h[len(h)-1]
	h = h[:len(h)-1]
	w.heap = h
	i := 0
	for {
		child := 2*i + 1
		if child >= len(h) {
			break
		}
		if child+1 < len(h) && h[child+1] < h[child] {
			child++
		}
		if h[child] >= last {
			break
		}
		h[i] = h[child]
		i = child
	}
	if len(h) > 0 {
		h[i] = last
	}
	return top
}

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
