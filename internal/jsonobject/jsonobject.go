// Package jsonobject decodes JSON whose objects keep the order of their members.
package jsonobject

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

// Get is the value of a key, in any case. A key that is there twice has none.
func (o Object) Get(key string) (value any, ok bool) {
	for _, m := range o {
		if !strings.EqualFold(m.Key, key) {
			continue
		}
		if ok {
			return nil, false
		}
		value, ok = m.Value, true
	}
	return value, ok
}

// Text is the text of a key, without the blank space around it; "" where there is none.
func (o Object) Text(key string) string {
	v, _ := o.Get(key)
	s, _ := v.(string)
	return strings.TrimSpace(s)
}

// Decode decodes the JSON value that text begins with, and counts its bytes. Objects are of type Object, lists
// []any, numbers json.Number. The error is io.ErrUnexpectedEOF for a value that does not end.
func Decode(text string) (value any, length int, err error) {
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

// DoubledKey is a key that an object in a JSON text has twice, in whatever case: encoding/json takes "Choices" for
// "choices", and the last one of both. "" is none, or no JSON.
func DoubledKey(data []byte) string {
	value, _, err := Decode(string(data))
	if err != nil {
		return ""
	}
	return doubledIn(value)
}

func doubledIn(value any) string {
	switch v := value.(type) {
	case Object:
		seen := map[string]bool{}
		for _, m := range v {
			key := strings.ToLower(m.Key)
			if seen[key] {
				return m.Key
			}
			seen[key] = true
			if found := doubledIn(m.Value); found != "" {
				return found
			}
		}
	case []any:
		for _, element := range v {
			if found := doubledIn(element); found != "" {
				return found
			}
		}
	}
	return ""
}
