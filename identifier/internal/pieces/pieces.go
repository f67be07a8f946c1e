// Package pieces holds what the encoders share. These are tables of encoded pieces, a trie over a vocabulary, tables of
// Unicode.
package pieces

import (
	"encoding/binary"
	"math/bits"
)

// MaxSize is the longest piece, in bytes, that tables remember. As many bytes must follow a piece in its buffer, so
// that its key is read without a branch a byte.
const MaxSize = 24

// key is a piece, padded with zeros.
type key [3]uint64

// masks[n] keeps the first n bytes of a key.
var masks = func() (m [MaxSize + 1]key) {
	for n := range m {
		for b := range n {
			m[n][b/8] |= 0xff << (b % 8 * 8)
		}
	}
	return m
}()

func keyOf(buf []byte, start, size int) (k key, hash uint64) {
	b, m := buf[start:start+MaxSize], &masks[size]
	k[0] = binary.LittleEndian.Uint64(b) & m[0]
	k[1] = binary.LittleEndian.Uint64(b[8:]) & m[1]
	k[2] = binary.LittleEndian.Uint64(b[16:]) & m[2]
	hi, lo := bits.Mul64(k[0]^0x9e3779b97f4a7c15, k[1]^0xbf58476d1ce4e5b9^uint64(size))
	hi, lo = bits.Mul64(hi^lo^k[2], 0x94d049bb133111eb)
	return k, hi ^ lo
}

// Table finds the pieces that are one token: open addressing. Safe for concurrent use.
type Table struct {
	entries []entry
	shift   uint
}

type entry struct { // half a cache line
	key  key
	size uint8 // 0: free
	id   int32
}

// NewTable returns a table of those of the tokens that are not longer than MaxSize.
func NewTable(tokens map[string]int32) *Table {
	size := bits.Len(uint(2*len(tokens) + 1))
	t := &Table{entries: make([]entry, 1<<size), shift: 64 - uint(size)}
	var buf [2 * MaxSize]byte
	for token, id := range tokens {
		if token == "" || len(token) > MaxSize {
			continue
		}
		clear(buf[copy(buf[:], token):])
		k, hash := keyOf(buf[:], 0, len(token))
		*t.find(&k, hash, uint8(len(token))) = entry{k, uint8(len(token)), id}
	}
	return t
}

func (t *Table) find(k *key, hash uint64, size uint8) *entry {
	for i := hash >> t.shift; ; i = (i + 1) & uint64(len(t.entries)-1) {
		if e := &t.entries[i]; e.size == 0 || e.size == size && e.key == *k {
			return e
		}
	}
}

const (
	slotBits = 13
	slotIDs  = 9
)

type slot struct { // one cache line
	key  key
	size uint8
	n    uint8
	ids  [slotIDs]int32
}

// Memo remembers the ids of pieces: those of a table, and of others the latest with at most 9 ids (512 KiB, two-way,
// the older entry is overwritten). It serves one goroutine.
type Memo struct {
	table *Table
	slots []slot
}

// NewMemo returns a memo of the pieces of a table.
func NewMemo(t *Table) *Memo { return &Memo{table: t, slots: make([]slot, 1<<slotBits)} }

// Append appends the remembered ids of buf[start:end], which is not empty; false if there are none. MaxSize bytes must
// follow end in buf.
func (m *Memo) Append(dst []int32, buf []byte, start, end int) ([]int32, bool) {
	size := end - start
	if size > MaxSize {
		return dst, false
	}
	k, hash := keyOf(buf, start, size)
	if e := m.table.find(&k, hash, uint8(size)); e.size != 0 {
		return append(dst, e.id), true
	}
	at := hash >> (64 - slotBits)
	s := &m.slots[at]
	if s.key != k || int(s.size) != size {
		s = &m.slots[at^1]
		if s.key != k || int(s.size) != size {
			return dst, false
		}
	}
	return append(dst, s.ids[:s.n]...), true
}

// Store remembers the ids of buf[start:end] if both are small enough. MaxSize bytes must follow end in buf.
func (m *Memo) Store(ids []int32, buf []byte, start, end int) {
	size := end - start
	if size > MaxSize || len(ids) > slotIDs {
		return
	}
	k, hash := keyOf(buf, start, size)
	at := hash >> (64 - slotBits)
	m.slots[at^1] = m.slots[at]
	s := &m.slots[at]
	s.key, s.size, s.n = k, uint8(size), uint8(len(ids))
	copy(s.ids[:], ids)
}
