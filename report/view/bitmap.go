package view

import (
	"encoding/binary"
	"errors"
	"math/bits"
)

// chunkRows is how many rows stand together: places in a chunk are of 16 bits.
const (
	chunkRows  = 1 << 16
	chunkWords = chunkRows / 64
	maxPlaces  = 4096 // above which a bitmap takes less than a list
)

// bitmap marks rows of a chunk.
type bitmap [chunkWords]uint64

func (b *bitmap) set(i int)      { b[i>>6] |= 1 << (i & 63) }
func (b *bitmap) has(i int) bool { return b[i>>6]>>(i&63)&1 != 0 }

func (b *bitmap) count() (n int) {
	for _, w := range b {
		n += bits.OnesCount64(w)
	}
	return n
}

// fill marks the places from 0 to n.
func (b *bitmap) fill(from, to int) {
	for i := from; i < to; i++ {
		if i&63 == 0 && i+64 <= to {
			b[i>>6] = ^uint64(0)
			i += 63
			continue
		}
		b.set(i)
	}
}

func (b *bitmap) and(c *bitmap) {
	for i := range b {
		b[i] &= c[i]
	}
}

func (b *bitmap) andNot(c *bitmap) {
	for i := range b {
		b[i] &^= c[i]
	}
}

func (b *bitmap) or(c *bitmap) {
	for i := range b {
		b[i] |= c[i]
	}
}

// each calls f for every marked place, in order.
func (b *bitmap) each(f func(i int)) {
	for n, w := range b {
		for w != 0 {
			f(n<<6 + bits.TrailingZeros64(w))
			w &= w - 1
		}
	}
}

// places are the rows of a chunk that have a value: a list in order, or where there are many a bitmap.
type places struct {
	list []uint16
	bits *bitmap
}

func (p *places) orInto(b *bitmap) {
	if p.bits != nil {
		b.or(p.bits)
		return
	}
	for _, i := range p.list {
		b.set(int(i))
	}
}

// eachOf calls f for every place that is also in chosen, in order.
func (p *places) eachOf(chosen *bitmap, f func(i int)) {
	if p.bits != nil {
		for n, w := range p.bits {
			for w &= chosen[n]; w != 0; w &= w - 1 {
				f(n<<6 + bits.TrailingZeros64(w))
			}
		}
		return
	}
	for _, i := range p.list {
		if chosen.has(int(i)) {
			f(int(i))
		}
	}
}

// countOf is how many are also in chosen.
func (p *places) countOf(chosen *bitmap) (n int) {
	if p.bits != nil {
		for i, w := range p.bits {
			n += bits.OnesCount64(w & chosen[i])
		}
		return n
	}
	for _, i := range p.list {
		if chosen.has(int(i)) {
			n++
		}
	}
	return n
}

func (p *places) size() int {
	if p.bits != nil {
		return chunkRows / 8
	}
	return 2*len(p.list) + 24
}

// placesOf is a bitmap in the shorter form.
func placesOf(b *bitmap) places {
	n := b.count()
	if n > maxPlaces {
		return places{bits: b}
	}
	p := places{list: make([]uint16, 0, n)}
	b.each(func(i int) { p.list = append(p.list, uint16(i)) }) // a chunk's places have 16 bits
	return p
}

var errDamaged = errors.New("the index is damaged; delete it, and it is made again")

// appendPlaces writes a list in order: its length, and either the list or a bitmap.
func appendPlaces(dst []byte, list []uint16) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(list)))
	if len(list) <= maxPlaces {
		for _, i := range list {
			dst = binary.LittleEndian.AppendUint16(dst, i)
		}
		return dst
	}
	var b bitmap
	for _, i := range list {
		b.set(int(i))
	}
	for _, w := range b {
		dst = binary.LittleEndian.AppendUint64(dst, w)
	}
	return dst
}

// readPlaces reads what appendPlaces wrote, and gives the rest.
func readPlaces(data []byte) (p places, rest []byte, err error) {
	n, size := binary.Uvarint(data)
	if size <= 0 || n > chunkRows {
		return p, nil, errDamaged
	}
	data = data[size:]
	if n > maxPlaces {
		if len(data) < chunkRows/8 {
			return p, nil, errDamaged
		}
		p.bits = new(bitmap)
		for i := range p.bits {
			p.bits[i] = binary.LittleEndian.Uint64(data[8*i:])
		}
		return p, data[chunkRows/8:], nil
	}
	if len(data) < int(2*n) {
		return p, nil, errDamaged
	}
	p.list = make([]uint16, n)
	for i := range p.list {
		p.list[i] = binary.LittleEndian.Uint16(data[2*i:])
	}
	return p, data[2*n:], nil
}
