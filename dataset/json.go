package dataset

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/erreval/erreval/dataset/internal/bounded"
)

// parseObject splits one JSON object into its columns, in order, each value verbatim. Unlike
// encoding/json alone it refuses what would change the data in silence: a key that occurs twice,
// invalid UTF-8, half of a surrogate pair.
func parseObject(data []byte) ([]column, error) {
	if err := checkText(data); err != nil {
		return nil, err
	}
	if json.Valid(data) && bytes.HasPrefix(bytes.TrimLeft(data, jsonSpace), []byte("{")) {
		return splitObject(data)
	}
	return nil, whyNoObject(data)
}

const jsonSpace = " \t\r\n"

// maxKeys leaves room for what runs add to the columns of a table.
const maxKeys = 2 * bounded.MaxColumns

// splitObject cuts a valid object at its outer colons and commas; reading every value with a decoder takes three times
// as long.
func splitObject(data []byte) ([]column, error) {
	var columns []column
	seen := map[string]bool{}
	rest := bytes.TrimLeft(data, jsonSpace)[1:]
	for {
		rest = bytes.TrimLeft(rest, jsonSpace+",")
		if rest[0] == '}' {
			return columns, nil
		}
		n := valueLen(rest)
		var c column
		if err := readString(rest[:n], &c.name); err != nil {
			return nil, notJSON(data, err)
		}
		if seen[c.name] {
			return nil, fmt.Errorf("the column %q is there twice; keep one of them", c.name)
		}
		if seen[c.name] = true; len(seen) > maxKeys {
			return nil, fmt.Errorf("more than %d columns; keep the ones that are needed", maxKeys)
		}
		rest = bytes.TrimLeft(rest[n:], jsonSpace+":")
		n = valueLen(rest)
		c.value = bytes.Clone(rest[:n])
		columns = append(columns, c)
		rest = rest[n:]
	}
}

// valueLen is the length of the JSON value that valid JSON begins with.
func valueLen(data []byte) int {
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
				return len(bytes.TrimRight(data[:i], jsonSpace))
			}
			if depth == 0 {
				return i + 1
			}
		case ',':
			if depth == 0 {
				return len(bytes.TrimRight(data[:i], jsonSpace))
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

// readString reads a JSON string out of valid JSON; most have no escapes and are what stands between their quotes.
func readString(data []byte, to *string) error {
	if n := len(data) - 1; n > 0 && bytes.IndexByte(data, '\\') < 0 {
		*to = string(data[1:n])
		return nil
	}
	return json.Unmarshal(data, to)
}

// whyNoObject reads data that is no single object, to say what it is instead.
func whyNoObject(data []byte) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	start, err := dec.Token()
	if err != nil {
		return notJSON(data, err)
	}
	if start != json.Delim('{') {
		return fmt.Errorf(`the line holds %s, not an object; write one {"column": value, …} a line%s`, kind(data),
			arrayHint(start))
	}
	dec = json.NewDecoder(bytes.NewReader(data))
	var value json.RawMessage
	if err = dec.Decode(&value); err == nil {
		_, err = dec.Token()
	}
	if err == nil {
		return errors.New("more than one value on the line; write one object a line")
	}
	return notJSON(data, err)
}

// notJSON describes why data does not parse. The decoder's own offsets count from its last token.
func notJSON(data []byte, err error) error {
	var syntax *json.SyntaxError
	if e := json.Unmarshal(data, &json.RawMessage{}); !errors.As(e, &syntax) {
		return fmt.Errorf("not JSON: %w", err)
	}
	if syntax.Error() == "unexpected end of JSON input" {
		return errors.New("not JSON: the object does not end on its line; write one object a line, without line breaks " +
			"inside it")
	}
	return fmt.Errorf("not JSON: %w (byte %d of the line)", syntax, syntax.Offset)
}

func arrayHint(start json.Token) string {
	if start == json.Delim('[') {
		return "; jq -c '.[]' FILE turns a JSON array into such lines"
	}
	return ""
}

// checkText refuses text that encoding/json would replace by U+FFFD without a word.
func checkText(data []byte) error {
	if !utf8.Valid(data) {
		return &encodingError{place: fmt.Sprintf("byte %d of the line", invalidAt(data)+1)}
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
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
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

// kind names the type of a JSON value for a message.
func kind(data []byte) string {
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
