// Package taxonomy holds what is specific to a task. That is the fields of a row, the error types that may be found in
// it, and the dimensions along which it is scored. Taxonomies are data (YAML); some are built in. One without types is
// a task: its rows can be read, and issues be discovered in them, but nothing can be tagged. Nothing else in erreval
// names a task's fields or labels.
package taxonomy

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/erreval/erreval/internal/regularfile"
)

// Taxonomy describes one task. Treat it as read-only once loaded: it is shared between goroutines.
type Taxonomy struct {
	Name string `json:"name"`
	// raised whenever a label, a mapping or a field changes: before the point where labels mean something else
	Version     string      `json:"version"`
	Title       string      `json:"title"`
	Description string      `json:"description,omitempty"`
	Fields      []Field     `json:"fields"` // in the encoder's input order; truncation cuts the last first
	Types       []Type      `json:"types"`  // none where it is a task
	Dimensions  []Dimension `json:"dimensions"`
}

// Field is one text of a row.
type Field struct {
	Name       string `json:"name"` // default column name
	Definition string `json:"definition"`
	Group      bool   `json:"group,omitempty"` // intervals resample by this field; at most one
	// Optional fields may be empty or missing in a row; the types that need them are then not judged. Never the first
	// field, which is the text under evaluation.
	Optional bool `json:"optional,omitempty"`
}

// Type is one label that a row can carry.
type Type struct {
	Name       string `json:"name"` // what records hold
	Code       string `json:"code"` // short form, accepted wherever the name is
	Category   string `json:"category"`
	Definition string `json:"definition"`
	NoError    bool   `json:"no_error,omitempty"` // the label of a row without any other; at most one
	// Severity is the part of a dimension's scale that the error alone costs, over 0 to 1 (down to the lowest score); 0 is
	// not given. The offline scorer reads it.
	Severity float64 `json:"severity,omitempty"`
	// Needs are the optional fields without which nobody can say whether a row has this error.
	Needs []string `json:"needs,omitempty"`
	// Simulate says how a right row gets this error, for training; nil where nobody has said it.
	Simulate *Simulation `json:"simulate,omitempty"`
}

// Simulation are edits of the text under evaluation, each of which plants the error. One is drawn for a row.
type Simulation struct {
	Edits []string `json:"edits"`           // of Edits
	Texts []string `json:"texts,omitempty"` // for EditReplace
}

// Edits of the text under evaluation.
const (
	EditCut      = "cut"      // it breaks off in the middle
	EditRepeat   = "repeat"   // a sentence is said again
	EditLoop     = "loop"     // the end is said again and again
	EditForeign  = "foreign"  // sentences of a row in another language, or that row's text alone
	EditSwap     = "swap"     // the text of another group's row
	EditAppend   = "append"   // another group's row behind it, as a turn of a dialogue
	EditExtend   = "extend"   // sentences of another group's row behind it
	EditScramble = "scramble" // words change places, are left out or doubled
	EditDeny     = "deny"     // a sentence is said again, denied
	EditNumber   = "number"   // another number
	EditName     = "name"     // another name, of the row's other fields or of another group's row
	EditDate     = "date"     // another year, month or weekday
	EditLead     = "lead"     // the first sentences of another field instead
	EditReplace  = "replace"  // one of Simulation.Texts instead
)

// Edits lists them.
func Edits() []string {
	return []string{EditCut, EditRepeat, EditLoop, EditForeign, EditSwap, EditAppend, EditExtend, EditScramble, EditDeny,
		EditNumber, EditName, EditDate, EditLead, EditReplace}
}

// Dimension is one quality that a row is scored for.
type Dimension struct {
	Name       string      `json:"name"`
	Key        string      `json:"key"` // Name in snake case, as in scores.<key>
	Definition string      `json:"definition"`
	Criteria   []Criterion `json:"criteria"` // scores 1 to n, rising
	Steps      []string    `json:"steps"`    // what a judge does, in order
	Types      []string    `json:"types"`    // names of the types that bear on it
}

// Span is between the least and the greatest score; 0 without criteria.
func (d *Dimension) Span() float64 {
	if len(d.Criteria) == 0 {
		return 0
	}
	return float64(d.Criteria[len(d.Criteria)-1].Score - d.Criteria[0].Score)
}

// Criterion says what a score stands for.
type Criterion struct {
	Score int    `json:"score"`
	Text  string `json:"text"`
}

//go:embed builtin/*.yaml
var builtinFiles embed.FS

// builtinNames is the order in which Builtins lists them.
var builtinNames = []string{"question-generation", "instruction-following", "response"}

// Builtins are the names that Builtin knows, the default first.
func Builtins() []string { return slices.Clone(builtinNames) }

// Builtin loads an embedded taxonomy.
func Builtin(name string) (*Taxonomy, error) {
	data, err := BuiltinYAML(name)
	if err != nil {
		return nil, err
	}
	return Parse(data, name+".yaml")
}

// BuiltinYAML is the source of an embedded taxonomy, from which users can make their own.
func BuiltinYAML(name string) ([]byte, error) {
	if !slices.Contains(builtinNames, name) {
		return nil, fmt.Errorf("taxonomy %q is not built in; there are %s", name, strings.Join(builtinNames, ", "))
	}
	return builtinFiles.ReadFile(path.Join("builtin", name+".yaml"))
}

// Open loads a built-in taxonomy by name, or a YAML file by path.
func Open(nameOrPath string) (*Taxonomy, error) {
	if slices.Contains(builtinNames, nameOrPath) {
		return Builtin(nameOrPath)
	}
	data, err := regularfile.Read(nameOrPath, regularfile.Max)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("taxonomy %q is neither a file nor built in (built in: %s): %w", nameOrPath,
			strings.Join(builtinNames, ", "), err)
	}
	if err != nil {
		return nil, fmt.Errorf("taxonomy: %w", err)
	}
	return Parse(data, nameOrPath)
}

// ID is the name with the version, as records hold it: "question-generation@1.1".
func (t *Taxonomy) ID() string { return t.Name + "@" + t.Version }

// Hash is the SHA-256 of the content, in hex; comments and layout of the YAML do not change it.
func (t *Taxonomy) Hash() string {
	data, err := json.Marshal(t)
	if err != nil { // plain strings, ints and bools always marshal
		return ""
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// IsTask tells whether there are no error types.
func (t *Taxonomy) IsTask() bool { return len(t.Types) == 0 }

// Index finds a type by name or code; case does not matter.
func (t *Taxonomy) Index(nameOrCode string) (int, bool) {
	i := slices.IndexFunc(t.Types, func(y Type) bool {
		return strings.EqualFold(y.Name, nameOrCode) || strings.EqualFold(y.Code, nameOrCode)
	})
	return i, i >= 0
}

// Labels are the names of the types, in order.
func (t *Taxonomy) Labels() []string {
	names := make([]string, len(t.Types))
	for i, y := range t.Types {
		names[i] = y.Name
	}
	return names
}

// FieldNames are the fields in the encoder's input order.
func (t *Taxonomy) FieldNames() []string {
	names := make([]string, len(t.Fields))
	for i, f := range t.Fields {
		names[i] = f.Name
	}
	return names
}

// NotJudged are the types that cannot be judged in a row with these values (in the order of the fields), because a
// field that they need is blank; nil if there are none.
func (t *Taxonomy) NotJudged(values []string) []string {
	var names []string
	for _, y := range t.Types {
		if slices.ContainsFunc(y.Needs, func(field string) bool { return t.isBlank(field, values) }) {
			names = append(names, y.Name)
		}
	}
	return names
}

// Judged are the labels (names) without those that could not be judged; where none is left, that of a row without
// error.
func (t *Taxonomy) Judged(labels, notJudged []string) []string {
	left := slices.DeleteFunc(slices.Clone(labels), func(name string) bool { return slices.Contains(notJudged, name) })
	if i := t.NoErrorIndex(); len(left) == 0 && len(labels) > 0 && i >= 0 {
		left = append(left, t.Types[i].Name)
	}
	return left
}

func (t *Taxonomy) isBlank(field string, values []string) bool {
	i := slices.IndexFunc(t.Fields, func(f Field) bool { return f.Name == field })
	return i < 0 || strings.TrimSpace(values[i]) == ""
}

// NoErrorIndex is the position of the type that stands for "nothing found", or -1.
func (t *Taxonomy) NoErrorIndex() int {
	return slices.IndexFunc(t.Types, func(y Type) bool { return y.NoError })
}

// NoError is the name of that type, or "".
func (t *Taxonomy) NoError() string {
	if i := t.NoErrorIndex(); i >= 0 {
		return t.Types[i].Name
	}
	return ""
}

// Errors are the names of all other types.
func (t *Taxonomy) Errors() []string {
	return slices.DeleteFunc(t.Labels(), func(name string) bool { return name == t.NoError() })
}

// GroupField is the field by which intervals resample, or "".
func (t *Taxonomy) GroupField() string {
	for _, f := range t.Fields {
		if f.Group {
			return f.Name
		}
	}
	return ""
}
