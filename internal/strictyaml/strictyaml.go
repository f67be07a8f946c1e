// Package strictyaml reads YAML files that people write. The caller says once what a file may hold; every fault has its
// line.
package strictyaml

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// Reader reads one file and gathers its faults.
type Reader struct {
	File   string // stands in the messages
	faults []error
}

// Fault adds a fault on a line.
func (r *Reader) Fault(line int, format string, args ...any) {
	r.faults = append(r.faults, fmt.Errorf("%s:%d: %s", r.File, max(line, 1), fmt.Sprintf(format, args...)))
}

// Faults is how many there are so far.
func (r *Reader) Faults() int { return len(r.faults) }

// Err joins the faults, each as "file:line: what".
func (r *Reader) Err() error { return errors.Join(r.faults...) }

// yamlLine finds the line in yaml.v3's syntax errors, which have it only as text.
var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

// Document is the root of the one document in data; nil after a fault. what names what a file holds.
func (r *Reader) Document(data []byte, what string) *yaml.Node {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, next yaml.Node
	err := dec.Decode(&doc)
	if err == nil {
		if err = dec.Decode(&next); err == nil {
			r.Fault(next.Line, "a second document; a file holds one %s", what)
		}
	} else if errors.Is(err, io.EOF) {
		r.Fault(1, "the file is empty")
		return nil
	}
	if err != nil && !errors.Is(err, io.EOF) {
		r.addSyntaxFault(err)
		return nil
	}
	return doc.Content[0]
}

func (r *Reader) addSyntaxFault(err error) {
	text, line := err.Error(), 1
	if m := yamlLine.FindStringSubmatch(text); m != nil {
		line, _ = strconv.Atoi(m[1])
		text = text[len(m[0]):]
	}
	r.Fault(line, "not YAML: %s", text)
}

// Value reads the value of a key.
type Value func(key string, n *yaml.Node)

// Key is one entry that a mapping may hold.
type Key struct {
	name     string
	required bool
	read     Value
}

// Need is a key that must be there.
func Need(name string, read Value) Key { return Key{name, true, read} }

// May is a key that can be left out.
func May(name string, read Value) Key { return Key{name, false, read} }

// Mapping reads the keys of n; others than these are faults. what stands in the messages.
func (r *Reader) Mapping(n *yaml.Node, what string, keys ...Key) {
	if n.Kind != yaml.MappingNode {
		r.Fault(n.Line, "%s must be a mapping with the keys %s", what, keyNames(keys))
		return
	}
	seen := map[string]bool{}
	r.eachPair(n, func(k, v *yaml.Node) {
		seen[k.Value] = true
		at := slices.IndexFunc(keys, func(c Key) bool { return c.name == k.Value })
		if at < 0 {
			r.Fault(k.Line, "unknown key %q in %s; it may have %s", k.Value, what, keyNames(keys))
			return
		}
		keys[at].read(k.Value, v)
	})
	for _, c := range keys {
		if c.required && !seen[c.name] {
			r.Fault(n.Line, "%s needs the key %q", what, c.name)
		}
	}
}

// Names reads a mapping whose keys are names that the user chose.
func (r *Reader) Names(each Value) Value {
	return func(key string, n *yaml.Node) {
		if n.Kind != yaml.MappingNode {
			r.Fault(n.Line, "%s must be a mapping of names", key)
			return
		}
		r.eachPair(n, func(k, v *yaml.Node) {
			if k.Kind != yaml.ScalarNode || strings.TrimSpace(k.Value) == "" {
				r.Fault(k.Line, "%s has a key that is no name", key)
				return
			}
			each(k.Value, v)
		})
	}
}

// eachPair walks over the entries whose keys are not given twice.
func (r *Reader) eachPair(n *yaml.Node, each func(key, value *yaml.Node)) {
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		if first, again := seen[k.Value]; again {
			r.Fault(k.Line, "key %q is given twice (first on line %d)", k.Value, first)
			continue
		}
		seen[k.Value] = k.Line
		each(k, n.Content[i+1])
	}
}

func keyNames(keys []Key) string {
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = k.name
	}
	return strings.Join(names, ", ")
}

// Text reads words for people; they cannot be empty.
func (r *Reader) Text(dst *string) Value {
	return func(key string, n *yaml.Node) {
		if n.Kind != yaml.ScalarNode {
			r.Fault(n.Line, "%s: a text is expected, not a list, mapping or alias", key)
			return
		}
		*dst = strings.TrimSpace(n.Value)
		if *dst == "" || n.Tag == "!!null" {
			r.Fault(n.Line, "%s: the text is missing", key)
		}
	}
}

// Word reads text that stands in identifiers and column names.
func (r *Reader) Word(dst *string) Value {
	return func(key string, n *yaml.Node) {
		r.Text(dst)(key, n)
		if strings.ContainsAny(*dst, " \t\n;@=") {
			r.Fault(n.Line, "%s: %q has a space, semicolon, @ or = in it", key, *dst)
		}
	}
}

// Flag reads true or false.
func (r *Reader) Flag(dst *bool) Value { return r.tagged(dst, "!!bool", "true or false") }

// Int reads a whole number.
func (r *Reader) Int(dst *int) Value { return r.tagged(dst, "!!int", "a whole number") }

// tagged reads what YAML takes for a value with this tag; want says in words what that is.
func (r *Reader) tagged(dst any, tag, want string) Value {
	return func(key string, n *yaml.Node) {
		if err := n.Decode(dst); err != nil || n.Tag != tag {
			r.Fault(n.Line, "%s: %s is expected, not %q", key, want, n.Value)
		}
	}
}

// IntFrom reads a whole number that is least or more.
func (r *Reader) IntFrom(least int, dst *int) Value {
	return func(key string, n *yaml.Node) {
		before := len(r.faults)
		if r.Int(dst)(key, n); len(r.faults) == before && *dst < least {
			r.Fault(n.Line, "%s: %d or more is expected, not %d", key, least, *dst)
		}
	}
}

// Float reads a number for which ok holds; want says in words what that is.
func (r *Reader) Float(dst *float64, want string, ok func(float64) bool) Value {
	return func(key string, n *yaml.Node) {
		err := n.Decode(dst)
		if err != nil || n.Tag != "!!float" && n.Tag != "!!int" || !ok(*dst) {
			r.Fault(n.Line, "%s: %s is expected, not %q", key, want, n.Value)
		}
	}
}

// List reads a list with at least one entry.
func (r *Reader) List(dst *[]*yaml.Node) Value {
	return func(key string, n *yaml.Node) {
		if n.Kind != yaml.SequenceNode || len(n.Content) == 0 {
			r.Fault(n.Line, "%s: a list with at least one entry is expected", key)
			return
		}
		*dst = n.Content
	}
}

// Unique reports what occurs twice; case does not matter.
type Unique struct {
	reader *Reader
	what   string
	lines  map[string]int
}

// Unique finds equal names of one kind.
func (r *Reader) Unique(what string) *Unique { return &Unique{r, what, map[string]int{}} }

// Add adds a name that is on a line, and reports an earlier one.
func (u *Unique) Add(line int, name string) {
	if name == "" {
		return // already reported as missing
	}
	folded := strings.ToLower(name)
	if first, ok := u.lines[folded]; ok {
		u.reader.Fault(line, "%s %q is given twice (first on line %d)", u.what, name, first)
		return
	}
	u.lines[folded] = line
}
