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
	wordBytes  = 16 << 10 // of words that are read together
)

// wordBuild collects the words of rows in segments: lists of rows by word, the words in order, in blocks.
type wordBuild struct {
	rows   map[string]*posting
	size   int
	blocks []wordBlock
}

type posting struct {
	last int
	data []byte // differences of rows
}

// wordBlock is some words of a segment.
type wordBlock struct {
	First, Last string
	Part        int64
}

func (w *wordBuild) add(words []string, row int, f *file) error {
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
		p.data = binary.AppendUvarint(p.data, uint64(row-p.last)) // rows rise
		p.last = row
		w.size += cap(p.data) - before
	}
	if w.size > wordMemory {
		return w.flush(f)
	}
	return nil
}

// flush ends a segment.
func (w *wordBuild) flush(f *file) (err error) {
	var data []byte
	first := ""
	words := slices.Sorted(maps.Keys(w.rows))
	for i, word := range words {
		if len(data) == 0 {
			first = word
		}
		p := w.rows[word]
		data = append(binary.AppendUvarint(data, uint64(len(word))), word...)
		data = append(binary.AppendUvarint(data, uint64(len(p.data))), p.data...)
		if len(data) < wordBytes && i+1 < len(words) {
			continue
		}
		block := wordBlock{First: first, Last: word}
		if block.Part, err = f.put(data); err != nil {
			return err
		}
		w.blocks, data = append(w.blocks, block), data[:0]
	}
	w.rows, w.size = nil, 0
	return nil
}

// findWord marks the rows that have a word which begins so.
func (x *Index) findWord(ctx context.Context, prefix string) (found []bool, err error) {
	found = make([]bool, x.rows())
	for _, block := range x.meta.Words {
		if block.Last < prefix || block.First > prefix && !strings.HasPrefix(block.First, prefix) {
			continue // all its words are smaller, or all are greater
		}
		data, err := x.file.get(ctx, block.Part)
		if err != nil {
			return nil, err
		}
		markWord(data, prefix, found)
	}
	return found, nil
}

// markWord goes by places in a block, since moving slices costs more than what is read.
func markWord(data []byte, prefix string, found []bool) {
	at := 0
	number := func() int {
		v, size := binary.Uvarint(data[at:])
		at += size
		return int(v)
	}
	for at < len(data) {
		n := number()
		word := data[at : at+n]
		at += n
		n = number()
		end := at + n
		if len(word) < len(prefix) || string(word[:len(prefix)]) != prefix {
			at = end
		}
		for row := 0; at < end; {
			row += number()
			found[row] = true
		}
	}
}
