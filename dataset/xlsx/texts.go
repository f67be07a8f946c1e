package xlsx

import (
	"bufio"
	"encoding/binary"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
)

// textStore holds a workbook's shared texts in a temporary file, however many there are.
type textStore struct {
	data, index *os.File // index: 8 bytes a text, where it ends in data
	n, most     int64
	long        map[int64]bool // texts that are longer than a row may be, and left out
}

// maxTexts is the most shared texts of a workbook: an empty one takes five bytes of it, and next to none of the file.
const maxTexts = 10 * maxRows

// textLen is the length of a text in bytes; more than any row may take where it was left out for its length.
func (t *textStore) textLen(i int64) (int, error) {
	if t != nil && t.long[i] {
		return math.MaxInt, nil
	}
	from, to, err := t.place(i)
	return int(to - from), err
}

// place is where a text begins and ends.
func (t *textStore) place(i int64) (from, to int64, err error) {
	if t == nil || i < 0 || i >= t.n {
		return 0, 0, fmt.Errorf("the workbook has no text %d; it is damaged", i)
	}
	var ends [16]byte
	_, err = t.index.ReadAt(ends[:], i*8)
	from = int64(binary.LittleEndian.Uint64(ends[:8])) // #nosec G115 -- readTexts wrote it
	to = int64(binary.LittleEndian.Uint64(ends[8:]))   // #nosec G115 -- likewise
	return from, to, err
}

func (t *textStore) textAt(i int64) (string, error) {
	from, to, err := t.place(i)
	if err != nil {
		return "", err
	}
	text := make([]byte, to-from)
	_, err = t.data.ReadAt(text, from)
	return string(text), err
}

func (t *textStore) close() error {
	if t == nil {
		return nil
	}
	return errors.Join(t.data.Close(), t.index.Close())
}

// readTexts reads xl/sharedStrings.xml, but for texts of more than limit bytes.
func (t *textStore) readTexts(r io.Reader, limit int) error {
	meter := newMeter(r, "si", limit)
	dec := xml.NewDecoder(meter)
	data, index := bufio.NewWriterSize(t.data, 64<<10), bufio.NewWriterSize(t.index, 64<<10)
	var end uint64
	put := func() {
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], end)
		index.Write(b[:]) // bufio keeps the error
	}
	put()
	for {
		token, err := dec.RawToken()
		if errors.Is(err, io.EOF) {
			return errors.Join(data.Flush(), index.Flush())
		}
		if start, ok := token.(xml.StartElement); err == nil && ok && start.Name.Local == "si" {
			var text strings.Builder
			err = readText(dec, "si", &text, func(string) {})
			whole := unescapeExcel(text.String())
			if meter.cut {
				t.long[t.n], whole = true, ""
			}
			if t.n == t.most {
				return fmt.Errorf("it has more than %d shared texts; save the sheet that is needed as a workbook of its own, "+
					"or as CSV", t.most)
			}
			data.WriteString(whole)
			end += uint64(len(whole))
			t.n++
			put()
		}
		if err != nil {
			return fmt.Errorf("its shared texts are damaged: %w", err)
		}
	}
}
