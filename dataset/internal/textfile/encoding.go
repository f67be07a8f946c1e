package textfile

import (
	"bufio"
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/transform"
)

// Windows is what Excel writes as CSV in Western Europe and America.
const Windows = "windows-1252"

// EncodingError is text that is not in the encoding it is read as.
type EncodingError struct {
	Place    string // "cell 2", or "byte 10 of the line"
	Encoding string // "" is UTF-8, because nothing said otherwise
}

func (e *EncodingError) Error() string {
	if e.Encoding == "" {
		return fmt.Sprintf("not UTF-8 at %s; write it as UTF-8, or name the file's encoding, as in: --encoding %s, or "+
			"macintosh; then see whether letters with accents are right", e.Place, Windows)
	}
	return fmt.Sprintf("the text at %s does not fit the encoding %s; mend it, or name another encoding with --encoding",
		e.Place, e.Encoding)
}

// undefinedWindows are the bytes that Windows-1252 has no character for.
const undefinedWindows = "\x81\x8d\x8f\x90\x9d"

// FitsWindows tells whether what the file begins with, as far as it was read (64 KiB of a file), is Windows-1252 rather
// than UTF-8 with a few damaged bytes.
func FitsWindows(in *bufio.Reader) bool {
	sample, _ := in.Peek(in.Buffered()) // of a pipe no more, since who writes it may wait for rows
	single, multi := 0, 0
	for i := 0; i < len(sample) && utf8.FullRune(sample[i:]); {
		r, n := utf8.DecodeRune(sample[i:])
		switch {
		case r == 0 || n == 1 && strings.IndexByte(undefinedWindows, sample[i]) >= 0:
			return false
		case n > 1:
			multi++
		case r == utf8.RuneError:
			single++
		}
		i += n
	}
	return single > multi
}

// Mark puts a byte that is no UTF-8 in the place of what could not be decoded, so that its line is rejected.
type Mark struct {
	transform.NopResetter
	Controls bool // U+0080 to U+009F stand for bytes that the encoding does not have
}

// Transform implements transform.Transformer.
func (m Mark) Transform(dst, src []byte, atEOF bool) (nDst, nSrc int, err error) {
	for nSrc < len(src) {
		if !atEOF && !utf8.FullRune(src[nSrc:]) {
			return nDst, nSrc, transform.ErrShortSrc
		}
		r, n := utf8.DecodeRune(src[nSrc:])
		if nDst+n > len(dst) {
			return nDst, nSrc, transform.ErrShortDst
		}
		if r == utf8.RuneError || m.Controls && r >= 0x80 && r < 0xa0 {
			dst[nDst] = 0xff
			nDst++
		} else {
			nDst += copy(dst[nDst:], src[nSrc:nSrc+n])
		}
		nSrc += n
	}
	return nDst, nSrc, nil
}
