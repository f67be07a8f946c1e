package parquetcheck

import "encoding/binary"

// most is how many values an encoding may hold that is said to have n: writers fill groups of values up.
func most(n int64) uint64 { return 2*uint64(n) + 1024 } // #nosec G115 -- n is from 0 to maxValues

// checkRuns refuses runs of equal or packed values that are more than n says. width is the bits of a value.
func checkRuns(data []byte, width int, n int64) error {
	for left := most(n); len(data) > 0; {
		head, k := binary.Uvarint(data)
		if k <= 0 {
			return errDamaged
		}
		data = data[k:]
		count, size := head>>1, uint64(width+7)/8 // #nosec G115 -- width is from 0 to 255
		if head&1 != 0 {
			if count > left {
				return errDamaged
			}
			size = count * uint64(width) // #nosec G115 -- likewise
			count *= 8
		}
		if count > left {
			return errDamaged
		}
		if count == 0 { // for the library no value stands behind it
			continue
		}
		left -= count
		data = data[min(size, uint64(len(data))):]
	}
	return nil
}

// deltas reads integers of the encoding DELTA_BINARY_PACKED: blocks of differences, each of so many bits.
type deltas struct {
	data  []byte
	mini  int   // blocks of one width in a block
	each  int   // values of these
	left  int64 // values
	value int64
}

// newDeltas reads the head. More values than n says are an error.
func newDeltas(data []byte, n int64) (*deltas, error) {
	d := &deltas{data: data}
	block, mini, count := d.uvarint(), d.uvarint(), d.uvarint()
	d.value = d.varint()
	const maxBlock = 64 << 10 // as of the library
	if d.data == nil || block == 0 || block > maxBlock || mini == 0 || mini > block || count > most(n) {
		return nil, errDamaged
	}
	d.mini, d.each, d.left = int(mini), int(block/mini), int64(count) // #nosec G115 -- they are small
	return d, nil
}

// uvarint reads a number; where there is none, data becomes nil.
func (d *deltas) uvarint() uint64 {
	v, k := binary.Uvarint(d.data)
	if k <= 0 {
		d.data = nil
		return 0
	}
	d.data = d.data[k:]
	return v
}

func (d *deltas) varint() int64 {
	v := d.uvarint()
	return int64(v>>1) ^ -int64(v&1) // #nosec G115 -- zigzag
}

// sumDeltas sums lengths, of which there are about n, and gives what stands behind them. A length below 0 or above
// 2 GiB is an error.
func sumDeltas(data []byte, n int64) (sum int64, rest []byte, err error) {
	d, err := newDeltas(data, n)
	if err != nil || d.left == 0 {
		return 0, data, err
	}
	add := func() bool {
		sum += d.value
		d.left--
		return d.value >= 0 && d.value < 1<<31
	}
	if !add() {
		return 0, nil, errDamaged
	}
	for d.left > 0 {
		least := d.varint()
		if len(d.data) < d.mini {
			return 0, nil, errDamaged
		}
		widths := d.data[:d.mini]
		d.data = d.data[d.mini:]
		for _, width := range widths {
			if d.left == 0 {
				break
			}
			if width > 32 {
				return 0, nil, errDamaged
			}
			packed := d.data[:min(d.each*int(width)/8, len(d.data))]
			d.data = d.data[len(packed):]
			for i := range int(min(int64(d.each), d.left)) {
				difference := least + int64(bitsAt(packed, i*int(width), int(width)))
				d.value = int64(int32(d.value + difference)) // #nosec G115 -- as the library
				if !add() {
					return 0, nil, errDamaged
				}
			}
		}
	}
	return sum, d.data, nil
}

// bitsAt are the bits of packed from at on, width of them, of which those beyond its end are 0.
func bitsAt(packed []byte, at, width int) (v uint32) {
	var word [8]byte
	if at/8 < len(packed) {
		copy(word[:], packed[at/8:])
	}
	return uint32(binary.LittleEndian.Uint64(word[:]) >> (at % 8) & (1<<width - 1)) // #nosec G115 -- width is at most 32
}
