package view

import (
	"context"
	"encoding/binary"
	"maps"
	"slices"
	"strings"
)

const (
	wordMemory = 24 << 20 // bytes of words in memory, above which a segment ends
	wordBlock  = 16 << 10 // bytes of words that are read together
)

// wordBuild collects the words of a chunk's rows in segments: lists of rows by word, the words in order, in blocks.
type wordBuild struct {
	rows map[string]*posting
	size int
	next int         // number of the next block
	list []wordStart // of all segments of this chunk
}

type posting struct {
	last int
	data []byte // differences of places
}

// wordStart is the first word of a block.
type wordStart struct {
	segment, block int
	word           string
}

func (w *wordBuild) add(words []string, place int, b *builder) error {
	if w.rows == nil {
		w.rows = map[string]*posting{}
	}
	for _, word := range words {
		p := w.rows[word]
		if p == nil {
			p = &posting{}
			w.rows[word] = p
			w.size += len(word) + 96
		}
		before := cap(p.data)
		p.data = binary.AppendUvarint(p.data, uint64(place-p.last)) // places rise
		p.last = place
		w.size += cap(p.data) - before
	}
	if w.size > wordMemory {
		return w.flush(b)
	}
	return nil
}

// flush ends a segment.
func (w *wordBuild) flush(b *builder) error {
	segment := 0
	if n := len(w.list); n > 0 {
		segment = w.list[n-1].segment + 1
	}
	var data []byte
	first := ""
	write := func() error {
		if len(data) == 0 {
			return nil
		}
		w.list = append(w.list, wordStart{segment, w.next, first})
		w.next++
		err := b.put(partOf(b.chunk(), partWords, w.next-1), slices.Clone(data))
		data = data[:0]
		return err
	}
	for _, word := range slices.Sorted(maps.Keys(w.rows)) {
		if len(data) == 0 {
			first = word
		}
		p := w.rows[word]
		data = appendText(data, word)
		data = append(binary.AppendUvarint(data, uint64(len(p.data))), p.data...)
		if len(data) >= wordBlock {
			if err := write(); err != nil {
				return err
			}
		}
	}
	w.rows, w.size = nil, 0
	return write()
}

// flushList stores where the blocks begin, and begins a new chunk.
func (w *wordBuild) flushList(b *builder) error {
	var data []byte
	for _, s := range w.list {
		data = binary.AppendUvarint(data, uint64(s.segment))
		data = appendText(binary.AppendUvarint(data, uint64(s.block)), s.word)
	}
	w.list, w.next = nil, 0
	return b.put(partOf(b.chunk(), partWordList, 0), data)
}

// wordList reads what flushList wrote.
func (x *Index) wordList(ctx context.Context, chunk int) ([]wordStart, error) {
	return load(ctx, x, partOf(chunk, partWordList, 0), func(data []byte) (list []wordStart, size int, err error) {
		in := &decoder{data: data}
		for len(in.data) > 0 && in.err == nil {
			list = append(list, wordStart{in.int(), in.int(), string(in.text())})
		}
		return list, 2*len(data) + 40*len(list), in.err
	})
}

// findWord marks the rows of a chunk that have a word which begins so.
func (x *Index) findWord(ctx context.Context, chunk int, prefix string, found *bitmap) error {
	list, err := x.wordList(ctx, chunk)
	if err != nil {
		return err
	}
	for i, s := range list {
		ends := i+1 < len(list) && list[i+1].segment == s.segment && list[i+1].word <= prefix
		if ends || s.word > prefix && !strings.HasPrefix(s.word, prefix) {
			continue // all its words are smaller, or all are greater
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		data, err := x.store.get(ctx, partOf(chunk, partWords, s.block))
		if err != nil {
			return err
		}
		if err := findInBlock(data, prefix, found); err != nil {
			return err
		}
	}
	return nil
}

// findInBlock goes by places in the data, since moving slices costs more than what is read.
func findInBlock(data []byte, prefix string, found *bitmap) error {
	at := 0
	number := func() (n int, ok bool) {
		v, size := binary.Uvarint(data[at:])
		at += max(size, 0)
		return int(v), size > 0 && v <= uint64(len(data)) // a length, or a difference of places
	}
	for at < len(data) {
		n, ok := number()
		if !ok || n > len(data)-at {
			return errDamaged
		}
		word := data[at : at+n]
		at += n
		if n, ok = number(); !ok || n > len(data)-at {
			return errDamaged
		}
		end := at + n
		if len(word) < len(prefix) || string(word[:len(prefix)]) != prefix {
			at = end
			continue
		}
		for place := 0; at < end; {
			v, size := binary.Uvarint(data[at:end])
			at += size
			if place += int(v); size <= 0 || v >= chunkRows || place >= chunkRows {
				return errDamaged
			}
			found.set(place)
		}
	}
	return nil
}

// decoder reads numbers and texts; after an error all are empty.
type decoder struct {
	data []byte
	err  error
}

func (d *decoder) int() int {
	n, size := binary.Uvarint(d.data)
	if size <= 0 || n > 1<<40 {
		d.data, d.err = nil, errDamaged
		return 0
	}
	d.data = d.data[size:]
	return int(n)
}

func (d *decoder) text() []byte {
	n := d.int()
	if n > len(d.data) {
		d.data, d.err = nil, errDamaged
		return nil
	}
	text := d.data[:n]
	d.data = d.data[n:]
	return text
}

func (d *decoder) float() uint64 {
	if len(d.data) < 8 {
		d.data, d.err = nil, errDamaged
		return 0
	}
	x := binary.LittleEndian.Uint64(d.data)
	d.data = d.data[8:]
	return x
}
