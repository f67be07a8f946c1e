package dataset

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"

	"github.com/erreval/erreval/dataset/internal/textfile"
	"github.com/erreval/erreval/internal/spelling"
)

// Names of encodings of text that need no asking for.
const (
	encodingUTF8  = "utf-8"
	encodingUTF16 = "utf-16"
)

// commonEncodings are those that are suggested.
var commonEncodings = []string{encodingUTF8, encodingUTF16, textfile.Windows, "windows-1250",
	"windows-1251", "iso-8859-1",
	"iso-8859-2", "iso-8859-15", "macintosh", "koi8-r", "shift_jis", "euc-jp", "gbk", "gb18030", "big5", "euc-kr"}

// ParseEncoding reads a name as in --encoding, any that HTML has, such as "latin1", and gives its usual one.
func ParseEncoding(name string) (string, error) {
	if e, err := htmlindex.Get(name); err == nil && e != encoding.Replacement {
		usual, err := htmlindex.Name(e)
		if usual == "utf-16le" {
			usual = encodingUTF16
		}
		return usual, err
	}
	near := spelling.Nearest(name, commonEncodings, 2)
	return "", fmt.Errorf("there is no encoding %q; did you mean %s? Common ones are %s", name, quotedOr(near),
		strings.Join(commonEncodings, ", "))
}

// decode makes UTF-8 of text in the encoding of o. A byte order mark goes before it; where neither is there,
// CSV and TSV may fit Windows-1252. It gives the encoding's name, "" for UTF-8, and what to say about it.
func decode(in *bufio.Reader, o Options) (out *bufio.Reader, name, note string, err error) {
	head, _ := in.Peek(8) // the caller has met its error
	switch {
	case sniff(head) == encodingUTF16:
		name = encodingUTF16
		note = "UTF-16, by the byte order mark"
	case bytes.HasPrefix(head, textfile.BOM) || o.Encoding == encodingUTF8:
		return in, "", "", nil
	case o.Encoding != "":
		name = o.Encoding
	case o.Format.is(CSV, TSV) && textfile.FitsWindows(in):
		name = textfile.Windows
		note = "not UTF-8; read as Windows-1252, so see whether letters with accents are right (--encoding names another)"
	default:
		return in, "", "", nil
	}
	if name == o.Encoding {
		note = ""
	}
	e := unicode.UTF16(unicode.LittleEndian, unicode.UseBOM)
	if name != encodingUTF16 {
		if e, err = htmlindex.Get(name); err != nil {
			return nil, "", "", fmt.Errorf("the encoding %q: %w", name, err)
		}
	}
	marked := transform.Chain(e.NewDecoder(), textfile.Mark{Controls: e == charmap.Windows1252})
	return bufio.NewReaderSize(transform.NewReader(in, marked), 64<<10), name, note, nil
}

// decoded are the records of text that was decoded.
type decoded struct {
	records
	encoding string
	said     []string
}

func (d *decoded) next() (record, error) {
	rec, err := d.records.next()
	_ = withEncoding(rec.err, d.encoding)
	return rec, withEncoding(err, d.encoding)
}

func (d *decoded) notes() []string { return slices.Concat(d.said, d.records.notes()) }

// withEncoding names the encoding in an error about text that does not fit it.
func withEncoding(err error, name string) error {
	var wrong *textfile.EncodingError
	if errors.As(err, &wrong) {
		wrong.Encoding = name
	}
	return err
}
