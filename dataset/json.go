package dataset

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/erreval/erreval/dataset/internal/bounded"
	"github.com/erreval/erreval/dataset/internal/jsontext"
)

// parseObject splits one JSON object into its columns, in order, each value verbatim. Unlike
// encoding/json alone it refuses what would change the data in silence: a key that occurs twice,
// invalid UTF-8, half of a surrogate pair.
func parseObject(data []byte) ([]column, error) {
	if err := jsontext.Check(data); err != nil {
		return nil, err
	}
	if json.Valid(data) && bytes.HasPrefix(bytes.TrimLeft(data, jsontext.Space), []byte("{")) {
		return splitObject(data)
	}
	return nil, whyNoObject(data)
}

// maxKeys leaves room for what runs add to the columns of a table.
const maxKeys = 2 * bounded.MaxColumns

// splitObject cuts a valid object at its outer colons and commas; reading every value with a decoder takes three times
// as long.
func splitObject(data []byte) ([]column, error) {
	var columns []column
	seen := map[string]bool{}
	rest := bytes.TrimLeft(data, jsontext.Space)[1:]
	for {
		rest = bytes.TrimLeft(rest, jsontext.Space+",")
		if rest[0] == '}' {
			return columns, nil
		}
		n := jsontext.ValueLen(rest)
		var c column
		if err := jsontext.ReadString(rest[:n], &c.name); err != nil {
			return nil, notJSON(data, err)
		}
		if seen[c.name] {
			return nil, fmt.Errorf("the column %q is there twice; keep one of them", c.name)
		}
		if seen[c.name] = true; len(seen) > maxKeys {
			return nil, fmt.Errorf("more than %d columns; keep the ones that are needed", maxKeys)
		}
		rest = bytes.TrimLeft(rest[n:], jsontext.Space+":")
		n = jsontext.ValueLen(rest)
		c.value = bytes.Clone(rest[:n])
		columns = append(columns, c)
		rest = rest[n:]
	}
}

// whyNoObject reads data that is no single object, to say what it is instead.
func whyNoObject(data []byte) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	start, err := dec.Token()
	if err != nil {
		return notJSON(data, err)
	}
	if start != json.Delim('{') {
		return fmt.Errorf(`the line holds %s, not an object; write one {"column": value, …} a line%s`, jsontext.Kind(data),
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
	hint := ""
	if !bytes.HasPrefix(data, []byte("{")) && bytes.Count(data, []byte("\t")) > 1 {
		hint = "; a table with tabs is read with --format tsv"
	}
	return fmt.Errorf("not JSON: %w (byte %d of the line)%s", syntax, syntax.Offset, hint)
}

func arrayHint(start json.Token) string {
	if start == json.Delim('[') {
		return "; jq -c '.[]' FILE turns a JSON array into such lines"
	}
	return ""
}
