package reporting

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/erreval/erreval/internal/plainjson"
	"github.com/erreval/erreval/report/view"
)

// WriteData writes the JSON of what a report file holds. Records are written as they are, one by one: they are most of
// it, and JSON already.
func WriteData(w io.Writer, d *view.Data) error {
	head := *d
	head.Rows.Records = []json.RawMessage{}
	text, err := plainjson.Marshal(head, "")
	if err != nil {
		return err
	}
	const end = "]}}\n" // of records, rows and data, each the last of its kind
	start, ok := bytes.CutSuffix(text, []byte(end))
	if !ok {
		return errors.New("the rows of a report are not the last part of its data")
	}
	out := bufio.NewWriterSize(w, 1<<16)
	_, _ = out.Write(start) // Flush says what went wrong
	for i, record := range d.Rows.Records {
		if i > 0 {
			_ = out.WriteByte(',')
		}
		_, _ = out.Write(record)
	}
	_, _ = out.WriteString(end)
	return out.Flush()
}
