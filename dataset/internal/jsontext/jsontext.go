// Package jsontext reads and writes single JSON values, without changing what texts say.
package jsontext

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/erreval/erreval/dataset/internal/textfile"
	"github.com/erreval/erreval/internal/plainjson"
)

// Space is what may stand between values.
const Space = " \t\r\n"

// Marshal is json.Marshal without the escaping of <, > and &.
func Marshal(v any) (json.RawMessage, error) {
	data, err := plainjson.Marshal(v, "")
	return bytes.TrimSuffix(data, []byte("\n")), err
}

// Quote is text as a JSON string; text must be valid UTF-8.
func Quote(text string) json.RawMessage {
	if isPlain(text) { // most are, and an encoder takes several times as long
		return json.RawMessage(`"` + text + `"`)
	}
	data, err := Marshal(text)
	if err != nil {
		return json.RawMessage(`""`) // a string always marshals
	}
	return data
}

// isPlain tells whether a text stands in JSON as it is: printable ASCII without quotation marks and backslashes.
func isPlain(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// Unquote is the text that a value is, if it is one.
func Unquote(raw json.RawMessage) (string, bool) {
	var text string
	ok := raw[0] == '"' && ReadString(raw, &text) == nil
	return text, ok
}

// OneLine takes line breaks out of a valid value.
func OneLine(raw json.RawMessage) json.RawMessage {
	if bytes.ContainsAny(raw, "\n\r") {
		var b bytes.Buffer
		if json.Compact(&b, raw) == nil {
			return b.Bytes()
		}
	}
	return raw
}

// ValueLen is the length of the JSON value that valid JSON begins with.
func ValueLen(data []byte) int {
	depth := 0
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '"':
			i += stringLen(data[i:]) - 1
			if depth == 0 {
				return i + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			depth--
			if depth < 0 { // the end of what a number stood in
				return len(bytes.TrimRight(data[:i], Space))
			}
			if depth == 0 {
				return i + 1
			}
		case ',':
			if depth == 0 {
				return len(bytes.TrimRight(data[:i], Space))
			}
		}
	}
	return len(data)
}

// stringLen is the length of the string that valid JSON begins with, with its quotes.
func stringLen(data []byte) int {
	for i := 1; ; i++ {
		i += bytes.IndexAny(data[i:], `"\`)
		if data[i] == '"' {
			return i + 1
		}
		i++
	}
}

// ReadString reads a JSON string out of valid JSON; most have no escapes and are what stands between their quotes.
func ReadString(data []byte, to *string) error {
	if n := len(data) - 1; n > 0 && bytes.IndexByte(data, '\\') < 0 {
		*to = string(data[1:n])
		return nil
	}
	return json.Unmarshal(data, to)
}

// Check refuses text that encoding/json would replace by U+FFFD without a word.
func Check(data []byte) error {
	if !utf8.Valid(data) {
		return &textfile.EncodingError{Place: fmt.Sprintf("byte %d of the line", invalidAt(data)+1)}
	}
	for i := bytes.IndexByte(data, '\\'); i >= 0 && i < len(data); {
		n, err := checkEscape(data[i:])
		if err != nil {
			return fmt.Errorf("%w (byte %d of the line)", err, i+1)
		}
		i += n
		next := bytes.IndexByte(data[min(i, len(data)):], '\\')
		if next < 0 {
			break
		}
		i += next
	}
	return nil
}

func invalidAt(data []byte) int {
	for i, r := range string(data) {
		if r == utf8.RuneError && !bytes.HasPrefix(data[i:], []byte("\ufffd")) {
			return i
		}
	}
	return len(data)
}

// checkEscape gives the length of the escape that data begins with; anything but half a surrogate
// pair is left to the JSON parser.
func checkEscape(data []byte) (int, error) {
	r, ok := unicodeEscape(data)
	if !ok {
		return 2, nil
	}
	if !utf16.IsSurrogate(r) {
		return 6, nil
	}
	low, ok := unicodeEscape(data[6:])
	if !ok || utf16.DecodeRune(r, low) == utf8.RuneError {
		return 0, fmt.Errorf("%s is half of a surrogate pair, not a character; the program that wrote the file cut a text "+
			"inside a character", data[:6])
	}
	return 12, nil
}

func unicodeEscape(data []byte) (rune, bool) {
	if len(data) < 6 || data[0] != '\\' || data[1] != 'u' {
		return 0, false
	}
	r, err := strconv.ParseUint(string(data[2:6]), 16, 16)
	return rune(r), err == nil
}

// Kind names the type of a JSON value for a message.
func Kind(data []byte) string {
	data = bytes.TrimLeft(data, " \t\r\n")
	if len(data) == 0 {
		return "nothing"
	}
	switch data[0] {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a text"
	case 't', 'f':
		return "true or false"
	case 'n':
		return "null"
	}
	return "a number"
}
