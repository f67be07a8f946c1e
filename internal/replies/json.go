package replies

import (
	"bytes"
	"encoding/json"
	"strings"
)

// Object is a JSON object with its members in order. A key may occur twice, which a map would hide.
type Object []Member

// Member is a key of an Object and its value.
type Member struct {
	Key   string
	Value any
}

// DecodeJSON decodes the JSON value that text begins with, and counts its bytes. Objects are of type Object, lists
// []any, numbers json.Number. The error is io.ErrUnexpectedEOF for a value that does not end.
func DecodeJSON(text string) (value any, length int, err error) {
	var raw json.RawMessage
	dec := json.NewDecoder(strings.NewReader(text))
	if err := dec.Decode(&raw); err != nil {
		return nil, 0, err
	}
	parts := json.NewDecoder(bytes.NewReader(raw))
	parts.UseNumber()
	value, err = decodeValue(parts)
	return value, int(dec.InputOffset()), err
}

func decodeValue(dec *json.Decoder) (any, error) {
	token, err := dec.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('{'):
		object := Object{}
		for dec.More() {
			key, err := dec.Token()
			if err != nil {
				return nil, err
			}
			value, err := decodeValue(dec)
			if err != nil {
				return nil, err
			}
			name, _ := key.(string)
			object = append(object, Member{name, value})
		}
		_, err = dec.Token()
		return object, err
	case json.Delim('['):
		list := []any{}
		for dec.More() {
			value, err := decodeValue(dec)
			if err != nil {
				return nil, err
			}
			list = append(list, value)
		}
		_, err = dec.Token()
		return list, err
	}
	return token, nil
}
