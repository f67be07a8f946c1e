package checkpoint

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/erreval/erreval/internal/regularfile"
)

// readSafetensors lists the tensors of a safetensors file: eight bytes of the header's length, the header as JSON, the
// numbers. As in the safetensors crate the tensors must fill the file without overlap or gap.
func readSafetensors(f io.ReaderAt, size int64) ([]*tensor, error) {
	header, err := readHeader(f, size)
	if err != nil {
		return nil, err
	}
	start := 8 + int64(len(header))
	tensors, spans, err := parseHeader(header, size-start)
	if err != nil {
		return nil, err
	}
	filled := int64(0)
	for i, t := range tensors {
		filled += spans[i].to - spans[i].from
		t.offset = start + spans[i].from
	}
	if err := checkOverlap(spans); err != nil {
		return nil, err
	}
	if filled != size-start {
		return nil, fmt.Errorf("has %d bytes after the header, of which the tensors fill %d; "+
			"it is damaged, download it again", size-start, filled)
	}
	return tensors, nil
}

func readHeader(f io.ReaderAt, size int64) ([]byte, error) {
	var length [8]byte
	if size < int64(len(length)) {
		return nil, fmt.Errorf("has %d bytes, too few for a safetensors file; download it again", size)
	}
	if err := readAt(f, length[:], 0); err != nil {
		return nil, err
	}
	switch n := binary.LittleEndian.Uint64(length[:]); {
	case n > maxHeader:
		return nil, fmt.Errorf("is no safetensors file, or is damaged: it claims a header of %d bytes, and %d are the most",
			n, maxHeader)
	case n > uint64(size-8):
		return nil, fmt.Errorf("claims a header of %d bytes, but %d follow; it was cut, download it again", n, size-8)
	default:
		header := make([]byte, n)
		return header, readAt(f, header, 8)
	}
}

// parseHeader returns the tensors and where each lies after the header, in that many bytes.
func parseHeader(header []byte, bytes int64) (tensors []*tensor, spans []span, err error) {
	err = eachEntry(header, func(name string, value json.RawMessage) error {
		if name == "__metadata__" {
			return nil
		}
		if err := checkName(name); err != nil {
			return err
		}
		t, s, err := parseEntry(name, value, bytes)
		if err != nil {
			return fmt.Errorf("tensor %q %w", name, err)
		}
		tensors, spans = append(tensors, t), append(spans, s)
		return nil
	})
	return tensors, spans, err
}

func parseEntry(name string, value json.RawMessage, bytes int64) (*tensor, span, error) {
	var e struct {
		DType   DType   `json:"dtype"`
		Shape   []int64 `json:"shape"`
		Offsets []int64 `json:"data_offsets"`
	}
	if err := json.Unmarshal(value, &e); err != nil || e.Shape == nil || len(e.Offsets) != 2 {
		return nil, span{}, errors.New("has no right dtype, shape and data_offsets in the header; the file is damaged")
	}
	width, ok := bits[e.DType]
	if !ok {
		return nil, span{}, fmt.Errorf("has the dtype %s, which this version does not know", quote(string(e.DType)))
	}
	from, to := e.Offsets[0], e.Offsets[1]
	if from < 0 || to < from {
		return nil, span{}, fmt.Errorf("claims to lie from byte %d to byte %d, which is no range", from, to)
	}
	if to > bytes {
		return nil, span{}, fmt.Errorf("ends at byte %d, but %d follow the header; the file was cut, download it again", to,
			bytes)
	}
	n, err := countElements(e.Shape, bytes*8/width)
	if err != nil {
		return nil, span{}, err
	}
	if n*width != (to-from)*8 {
		return nil, span{}, fmt.Errorf("has the shape %v of %s but %d bytes; the header is wrong", e.Shape, e.DType, to-from)
	}
	return &tensor{Info: Info{name, e.DType, e.Shape}}, span{name, from, to}, nil
}

// eachEntry calls each for the members of a JSON object; a name that occurs twice is an error.
func eachEntry(data []byte, each func(name string, value json.RawMessage) error) error {
	if !utf8.Valid(data) {
		return errors.New("has a JSON part that is not UTF-8; it is damaged")
	}
	d := json.NewDecoder(bytes.NewReader(data))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return errors.New("has no JSON object where one should be; it is of another kind or damaged")
	}
	seen := map[string]bool{}
	for d.More() {
		key, err := d.Token()
		name, _ := key.(string)
		var value json.RawMessage
		if err != nil || d.Decode(&value) != nil {
			return fmt.Errorf("has JSON that breaks off at byte %d; it is damaged", d.InputOffset())
		}
		if seen[name] {
			return fmt.Errorf("has two entries named %s; it is damaged or forged", quote(name))
		}
		seen[name] = true
		if err := each(name, value); err != nil {
			return err
		}
	}
	if _, err := d.Token(); err != nil {
		return fmt.Errorf("has JSON that breaks off at byte %d; it is damaged", d.InputOffset())
	}
	if _, err := d.Token(); err != io.EOF {
		return fmt.Errorf("has something after its JSON, at byte %d; it is damaged", d.InputOffset())
	}
	return nil
}

func (w *Weights) addShards(index string, read reader) error {
	place, err := readIndex(index)
	if err != nil {
		return fmt.Errorf("%s: %w", index, err)
	}
	for _, file := range slices.Compact(slices.Sorted(maps.Values(place))) {
		tensors, err := w.readFile(filepath.Join(filepath.Dir(index), filepath.FromSlash(file)), read)
		if err != nil {
			return fmt.Errorf("%w (named by %s)", err, filepath.Base(index))
		}
		if err := w.addTensors(tensors); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(place)) {
		t, ok := w.tensors[name]
		if !ok || t.path != filepath.Join(filepath.Dir(index), filepath.FromSlash(place[name])) {
			return fmt.Errorf("%s: puts tensor %s in %s, which does not hold it; download the checkpoint again", index,
				quote(name), quote(place[name]))
		}
	}
	return nil
}

// readIndex returns the file of each tensor, by name.
func readIndex(path string) (map[string]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxHeader || !info.Mode().IsRegular() {
		return nil, fmt.Errorf("is no index: it has %d bytes, and %d are the most", info.Size(), maxHeader)
	}
	data, err := regularfile.Read(path, maxHeader)
	if err != nil {
		return nil, err
	}
	return parseIndex(data)
}

func parseIndex(data []byte) (map[string]string, error) {
	place := map[string]string{}
	add := func(name string, value json.RawMessage) error {
		var file string
		if err := json.Unmarshal(value, &file); err != nil {
			return fmt.Errorf("does not name the file of tensor %s", quote(name))
		}
		if !filepath.IsLocal(file) || strings.Contains(file, `\`) {
			return fmt.Errorf("puts tensor %s in %s, outside of the checkpoint's directory; it is forged",
				quote(name), quote(file))
		}
		place[name] = file
		return nil
	}
	err := eachEntry(data, func(name string, value json.RawMessage) error {
		if name != "weight_map" {
			return nil
		}
		return eachEntry(value, add)
	})
	if err == nil && len(place) == 0 {
		err = errors.New("has no weight_map, or an empty one; download it again")
	}
	return place, err
}
