// Package pieces holds what both encoders need to be fast: a cache of encoded pieces and a trie over a vocabulary.
package pieces

import (
	"encoding/binary"
	"math/bits"
)

const (
	// Slack is how many bytes must follow a piece in its buffer, so that its key is read without a branch a byte.
	Slack = 24

	maxKey   = Slack
	maxIDs   = 9
	slotBits = 14
)

type slot struct { // one cache line
	key  [3]uint64
	size uint8
	n    uint8
	ids  [maxIDs]int32
}

// Cache remembers the ids of pieces of at most 24 bytes and 9 ids: 1 MiB, two-way, the older entry is overwritten.
// It serves one goroutine.
type Cache struct {
	slots []slot
}

// NewCache returns an empty cache.
func NewCache() *Cache { return &Cache{slots: make([]slot, 1<<slotBits)} }

// masks[n] keeps the first n bytes of a key.
var masks = func() (m [maxKey + 1][3]uint64) {
	for n := range m {
		for b := range n {
			m[n][b/8] |= 0xff << (b % 8 * 8)
		}
	}
	return m
}()

// locate returns the key of buf[start:end] and the slot it hashes to. The piece must fit and Slack bytes must follow.
func locate(buf []byte, start, size int) (k [3]uint64, at uint64) {
	b, m := buf[start:start+maxKey], &masks[size]
	k[0] = binary.LittleEndian.Uint64(b) & m[0]
	k[1] = binary.LittleEndian.Uint64(b[8:]) & m[1]
	k[2] = binary.LittleEndian.Uint64(b[16:]) & m[2]
	hi, lo := bits.Mul64(k[0]^0x9e3779b97f4a7c15, k[1]^0xbf58476d1ce4e5b9^uint64(size))
	hi, lo = bits.Mul64(hi^lo^k[2], 0x94d049bb133111eb)
	return k, (hi ^ lo) >> (64 - slotBits)
}

// Append appends the remembered ids of buf[start:end]; false if there are none. Slack bytes must follow end in buf.
func (c *Cache) Append(dst []int32, buf []byte, start, end int) ([]int32, bool) {
	size := end - start
	if size > maxKey {
		return dst, false
	}
	k, at := locate(buf, start, size)
	s := &c.slots[at]
	if s.key != k || int(s.size) != size {
		s = &c.slots[at^1]
		if s.key != k || int(s.size) != size {
			return dst, false
		}
	}
	if s.n == 1 {
		return append(dst, s.ids[0]), true
	}
	return append(dst, s.ids[:s.n]...), true
}

// Store remembers the ids of buf[start:end] if both are small enough. Slack bytes must follow end in buf.
func (c *Cache) Store(ids []int32, buf []byte, start, end int) {
	size := end - start
	if size > maxKey || size == 0 || len(ids) > maxIDs {
		return
	}
	k, at := locate(buf, start, size)
	c.slots[at^1] = c.slots[at]
	s := &c.slots[at]
	s.key, s.size, s.n = k, uint8(size), uint8(len(ids))
	copy(s.ids[:], ids)
}
