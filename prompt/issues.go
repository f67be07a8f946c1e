package prompt

import (
	"fmt"
	"slices"
)

// Kinds of templates about issues: what is wrong with rows, in words, where no list of error types is given.
const (
	Analyze    = "analyze"    // the one most important issue of a row, with its place and severity
	Evaluate   = "evaluate"   // a row's evaluation by Input.Criteria, a summary, a score from 0 to 1
	Fit        = "fit"        // which of Input.Issues the one of Input.Statements is about, or a new issue
	Name       = "name"       // name and description of the issue that all of Input.Statements are about
	Synthesize = "synthesize" // issues that Input.Statements have in common and Input.Issues lacks
	Merge      = "merge"      // which of Input.Issues are the same
	Map        = "map"        // which of Input.Issues the one of Input.Statements speaks of, any number
	Direct     = "direct"     // issues of all of Input.Statements, each with the numbers of those about it
	Same       = "same"       // whether two of Input.Statements describe the same fault
)

// kindsOfIssues are the kinds about issues; those that show a row come first.
var kindsOfIssues = []string{Analyze, Evaluate, Fit, Name, Synthesize, Merge, Map, Direct, Same}

// isOfIssues tells whether templates of a kind are about issues.
func isOfIssues(kind string) bool { return slices.Contains(kindsOfIssues, kind) }

// showsRow tells whether templates of a kind show the texts of a row.
func showsRow(kind string) bool { return !isOfIssues(kind) || showsEvidence(kind) }

// showsEvidence tells whether templates of a kind can show a row's labels, whatever dimension they bear on.
func showsEvidence(kind string) bool { return kind == Analyze || kind == Evaluate }

// Criterion is something that a row is evaluated by.
type Criterion struct{ Name, Text string }

// Issue is a fault that rows have in common. What it says may come from a model that read strangers' texts.
type Issue struct{ Name, Description string }

func (i Issue) text() string {
	if i.Description == "" {
		return i.Name
	}
	return i.Name + ": " + i.Description
}

// issueSlots are what the slots about issues show.
type issueSlots struct {
	criteria           []Criterion
	issues, statements []Text
	evidence           []LabelSlot
	most               int
}

// Criteria are what a row is evaluated by, in a template of kind Evaluate.
func (s *Slots) Criteria() ([]Criterion, error) {
	return slot(s, "Criteria", Evaluate, s.kind == Evaluate, s.about.criteria)
}

// Evidence are the labels found in the row, in a template of kind Analyze or Evaluate; none where ErrorAware is not
// set.
func (s *Slots) Evidence() ([]LabelSlot, error) {
	return slot(s, "Evidence", Analyze+" or "+Evaluate, showsEvidence(s.kind), s.about.evidence)
}

// Issues are the known ones, in a template about issues that shows no row.
func (s *Slots) Issues() ([]Text, error) {
	return slot(s, "Issues", Fit+", "+Merge+", "+Map+" and the like", !showsRow(s.kind), s.about.issues)
}

// Statements are what was said about rows, in a template about issues that shows no row.
func (s *Slots) Statements() ([]Text, error) {
	return slot(s, "Statements", Fit+", "+Name+", "+Map+" and the like", !showsRow(s.kind), s.about.statements)
}

// Most is how many issues there may be, in a template about issues that shows no row; 0 is any number.
func (s *Slots) Most() (int, error) {
	return slot(s, "Most", Synthesize+" or "+Merge, !showsRow(s.kind), s.about.most)
}

// setIssues fills the slots about issues.
func (s *Slots) setIssues(in Input, code string) error {
	if !isOfIssues(s.kind) {
		return nil
	}
	s.about.criteria, s.about.most = in.Criteria, in.Most
	for i, issue := range in.Issues {
		name := fmt.Sprintf("issue %d", i+1)
		s.about.issues = append(s.about.issues, Text{Name: name, Block: block(name, issue.text(), code)})
	}
	for i, text := range in.Statements {
		name := fmt.Sprintf("statement %d", i+1)
		s.about.statements = append(s.about.statements, Text{Name: name, Block: block(name, text, code)})
	}
	if in.Mode != ErrorAware || !showsEvidence(s.kind) {
		return nil
	}
	labels, err := canonical(in.Task, in.Errors)
	for _, name := range labels {
		i, _ := in.Task.Index(name)
		s.about.evidence = append(s.about.evidence, labelSlot(in.Task.Types[i]))
	}
	return err
}

// issueTexts are the texts of in that stand between fence lines besides those of rows.
func issueTexts(in Input) []string {
	texts := slices.Clone(in.Statements)
	for _, issue := range in.Issues {
		texts = append(texts, issue.text())
	}
	return texts
}
