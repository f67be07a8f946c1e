package xlsx

import (
	"bufio"
	"encoding/binary"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/erreval/erreval/dataset/internal/bounded"
)

// textStore holds a workbook's shared texts in a temporary file, however many there are.
type textStore struct {
	data, index *os.File // index: 8 bytes a text, where it ends in data
	n           int64
}

func (t *textStore) textAt(i int64) (string, error) {
	if t == nil || i < 0 || i >= t.n {
		return "", fmt.Errorf("the workbook has no text %d; it is damaged", i)
	}
	var ends [16]byte
	if _, err := t.index.ReadAt(ends[:], i*8); err != nil {
		return "", err
	}
	from := int64(binary.LittleEndian.Uint64(ends[:8])) // #nosec G115 -- readTexts wrote it
	to := int64(binary.LittleEndian.Uint64(ends[8:]))   // #nosec G115 -- likewise
	text := make([]byte, to-from)
	_, err := t.data.ReadAt(text, from)
	return string(text), err
}

func (t *textStore) close() error {
	if t == nil {
		return nil
	}
	return errors.Join(t.data.Close(), t.index.Close())
}

// readTexts reads xl/sharedStrings.xml.
func (t *textStore) readTexts(r io.Reader) error {
	meter := &bounded.Reader{In: r, Left: bounded.MaxRow}
	dec := xml.NewDecoder(bufio.NewReaderSize(meter, 64<<10))
	data, index := bufio.NewWriterSize(t.data, 64<<10), bufio.NewWriterSize(t.index, 64<<10)
	var end uint64
	put := func() {
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], end)
		index.Write(b[:]) // bufio keeps the error
	}
	put()
	for {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return errors.Join(data.Flush(), index.Flush())
		}
		if start, ok := token.(xml.StartElement); err == nil && ok && start.Name.Local == "si" {
			var text strings.Builder
			err = readText(dec, "si", &text, func(string) {})
			whole := unescapeExcel(text.String())
			meter.Left = bounded.MaxRow
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
