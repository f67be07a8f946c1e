// Package plainjson writes JSON in which <, > and & stay as they are.
package plainjson

import (
	"bytes"
	"encoding/json"
	"io"
)

// Indent is that of files and of what is printed.
const Indent = "  "

// Marshal is v with a line break behind it; without indent, it is one line.
func Marshal(v any, indent string) ([]byte, error) {
	var b bytes.Buffer
	err := encode(&b, v, indent)
	return b.Bytes(), err
}

// Write prints v for other programs.
func Write(w io.Writer, v any) error { return encode(w, v, Indent) }

func encode(w io.Writer, v any, indent string) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	return enc.Encode(v)
}
