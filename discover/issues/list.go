package issues

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/erreval/erreval/internal/plainjson"
	"github.com/erreval/erreval/internal/regularfile"
	"github.com/erreval/erreval/internal/wholefile"
	"github.com/erreval/erreval/report"
)

// Format is the version of the list's layout.
const Format = 1

// List is all that a run found.
type List struct {
	Format   int    `json:"format"`
	Task     string `json:"task"`     // taxonomy, name@version
	Analysis string `json:"analysis"` // how rows were analysed
	Grouping string `json:"grouping"` // how their analyses were grouped
	Mode     string `json:"mode,omitempty"`
	// Rows are those that were chosen; each is Assigned, NoIssue, NoComment or among Unassigned, which counts by reason.
	Rows       int            `json:"rows"`
	Assigned   int            `json:"assigned"`
	NoIssue    int            `json:"no_issue"`
	NoComment  int            `json:"no_comment,omitempty"`
	Unassigned map[string]int `json:"unassigned"`
	Orders     int            `json:"orders,omitempty"`    // in which rows were grouped
	Agreement  *float64       `json:"agreement,omitempty"` // mean adjusted Rand index between two orders; nil with one
	Interval   string         `json:"interval,omitempty"`  // how the intervals of shares were computed
	Issues     []Issue        `json:"issues"`              // most frequent first
	// Modes counts, where rows were analysed with labels and without, what came of both; see CountModes.
	Modes map[string]int `json:"modes,omitempty"`
	// what the file of another program that the list was imported from says besides, for an export to that program
	Source json.RawMessage `json:"source,omitempty"`
}

// Issue is a fault that rows have in common.
type Issue struct {
	ID          string        `json:"id"` // unique; that of an earlier list where the issue was taken from one
	Name        string        `json:"name"`
	Description string        `json:"description,omitempty"`
	Count       int           `json:"count"`               // rows that have it
	Sentences   int           `json:"sentences,omitempty"` // different ones of these rows, where no model grouped them
	Share       report.Number `json:"share"`               // of the rows of which it is known whether they have it
	Low         report.Number `json:"low"`                 // of the share's interval
	High        report.Number `json:"high"`                //
	Severity    report.Number `json:"severity"`            // mean of the rows that have one, 1 to 3
	Stability   *float64      `json:"stability,omitempty"` // mean Jaccard with its best match in each order; nil with one
	Unstable    bool          `json:"unstable,omitempty"`  // the stability is below StableFrom
	Known       bool          `json:"known,omitempty"`     // taken from an earlier list
	Examples    []Example     `json:"examples,omitempty"`  // a few of its rows
	Labels      []Coincidence `json:"labels,omitempty"`    // error types that coincide with it, most first
	Relation    string        `json:"relation,omitempty"`  // to the error types: see Relations
}

// StableFrom is the stability from which an issue counts as stable: two partitions whose groups match by less than half
// do not tell of the same group.
const StableFrom = 0.5

// Example is a row that has an issue.
type Example struct {
	Row      string `json:"row"`      // its id
	Analysis string `json:"analysis"` // of the row; its text, where labels alone were found
	Quote    string `json:"quote,omitempty"`
}

// Coincidence says how an issue and an error type go together, over the rows that were looked at for both.
type Coincidence struct {
	Label string        `json:"label"`
	Both  int           `json:"both"` // rows
	Lift  report.Number `json:"lift"` // how many times as often as by chance
	Phi   report.Number `json:"phi"`  // correlation, -1 to 1
	Low   report.Number `json:"low"`  // of phi's interval
	High  report.Number `json:"high"`
}

// Relations of an issue to the error types that rows are tagged with.
const (
	IsType   = "already a type" // it and a type mark nearly the same rows
	Narrower = "narrower"       // nearly all its rows have the type, and most rows of the type have not the issue
	IsNew    = "new"
)

// Find is the index of the issue of that id, or -1.
func (l *List) Find(id string) int {
	return slices.IndexFunc(l.Issues, func(i Issue) bool { return i.ID == id })
}

// FindID gives the id of the issue that has an id or, in any case, a name.
func (l *List) FindID(name string) (id string, ok bool) {
	at := l.Find(name)
	if at < 0 {
		at = slices.IndexFunc(l.Issues, func(i Issue) bool { return Fold(i.Name) == Fold(name) })
	}
	if at < 0 {
		return "", false
	}
	return l.Issues[at].ID, true
}

// Path is where the list of an output lies.
func Path(output string) string { return output + ".issues.json" }

// Read reads a list, from the file itself or from that beside an output of "erreval discover".
func Read(path string) (*List, error) {
	data, err := regularfile.Read(path, regularfile.Max)
	if err != nil {
		return nil, err
	}
	l := &List{}
	dec := json.NewDecoder(bytes.NewReader(data))
	if err := dec.Decode(l); err != nil {
		return nil, fmt.Errorf("%s: no list of issues, as erreval discover writes it: %w", path, err)
	}
	if err := l.Validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return l, nil
}

// ReadKnown reads issues to which rows are mapped: a list, or a text file with an issue a line, as in "Vague Reference:
// it is not clear what a word refers to".
func ReadKnown(path string) ([]Issue, error) {
	data, err := regularfile.Read(path, regularfile.Max)
	if err != nil {
		return nil, err
	}
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
		l, err := Read(path)
		if err != nil {
			return nil, err
		}
		return l.Issues, nil
	}
	l := &List{Format: Format}
	for line := range strings.Lines(string(data)) {
		name, text, _ := strings.Cut(strings.TrimSpace(line), ":")
		if name = strings.TrimSpace(name); name == "" || strings.HasPrefix(name, "#") {
			continue
		}
		id := NewID(name, func(id string) bool { return l.Find(id) >= 0 })
		l.Issues = append(l.Issues, Issue{ID: id, Name: name, Description: strings.TrimSpace(text)})
	}
	if len(l.Issues) == 0 {
		return nil, fmt.Errorf("%s: no issue; write one a line, as in \"Vague Reference: it is not clear what is meant\"",
			path)
	}
	if err := l.Validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return l.Issues, nil
}

// Validate reports every fault.
func (l *List) Validate() error {
	var faults []error
	if l.Format != Format {
		faults = append(faults, fmt.Errorf("a list of issues of format %d; this version of erreval reads format %d",
			l.Format, Format))
	}
	ids, names := map[string]bool{}, map[string]bool{}
	for i, issue := range l.Issues {
		switch {
		case issue.ID == "" || issue.Name == "":
			faults = append(faults, fmt.Errorf("issue %d has no id or no name", i+1))
		case ids[issue.ID]:
			faults = append(faults, fmt.Errorf("two issues have the id %q", issue.ID))
		case names[Fold(issue.Name)]:
			faults = append(faults, fmt.Errorf("two issues have the name %q", issue.Name))
		case (issue.Relation == IsType || issue.Relation == Narrower) && len(issue.Labels) == 0:
			faults = append(faults, fmt.Errorf("issue %q: relation %q to no error type: \"labels\" is empty", issue.ID,
				issue.Relation))
		case !slices.Contains([]string{"", IsType, Narrower, IsNew}, issue.Relation):
			faults = append(faults, fmt.Errorf("issue %q: unknown relation %q; it is %q, %q or %q", issue.ID, issue.Relation,
				IsType, Narrower, IsNew))
		case issue.Severity.Defined() && !(issue.Severity >= 0 && issue.Severity <= 3):
			faults = append(faults, fmt.Errorf("issue %q: severity %g; it is 1 to 3", issue.ID, issue.Severity))
		}
		ids[issue.ID], names[Fold(issue.Name)] = true, true
	}
	return errors.Join(faults...)
}

// Fold is a name with which equal ones can be found: without case, punctuation and more than one space.
func Fold(name string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(name), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r)
	}), " ")
}

// maxID is the length of an id, in characters, before the number that tells equal ones apart.
const maxID = 48

// IsID tells whether NewID could have made a text.
func IsID(text string) bool { return text != "" && strings.ReplaceAll(Fold(text), " ", "-") == text }

// NewID is an id for an issue of that name that none of taken has: its words, joined by hyphens.
func NewID(name string, taken func(id string) bool) string {
	base := []rune(strings.ReplaceAll(Fold(name), " ", "-"))
	base = base[:min(len(base), maxID)]
	id := strings.Trim(string(base), "-")
	if id == "" {
		id = "issue"
	}
	for n, first := 2, id; taken(id); n++ {
		id = fmt.Sprintf("%s-%d", first, n)
	}
	return id
}

// Write writes the list beside an output.
func (l *List) Write(output string) error {
	data, err := plainjson.Marshal(l, plainjson.Indent)
	if err != nil {
		return err
	}
	return wholefile.Write(Path(output), data)
}
