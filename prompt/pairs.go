package prompt

import "fmt"

// Kinds of templates about two texts that were written for the same row.
const (
	Compare      = "compare"       // which of them is better by Input.Target, or overall where there is none
	CompareJoint = "compare-joint" // by every error type of the task, and overall
)

// CompareWordings are the built-in templates of kind Compare, which ask the same in different words.
func CompareWordings() []string { return []string{Compare, "compare-2", "compare-3"} }

func isOfPairs(kind string) bool { return kind == Compare || kind == CompareJoint }

// pairSlots are what the slots about two texts show.
type pairSlots struct {
	first, second             Text
	firstErrors, secondErrors []LabelSlot
	overall                   bool
}

// First is the text that is shown first, in a template about two texts.
func (s *Slots) First() (Text, error) {
	return slot(s, "First", Compare+" or "+CompareJoint, isOfPairs(s.kind), s.pair.first)
}

// Second is the other text, in a template about two texts.
func (s *Slots) Second() (Text, error) {
	return slot(s, "Second", Compare+" or "+CompareJoint, isOfPairs(s.kind), s.pair.second)
}

// Overall tells whether the texts are compared as wholes and not by Target, in a template of kind Compare.
func (s *Slots) Overall() (bool, error) {
	return slot(s, "Overall", Compare, s.kind == Compare, s.pair.overall)
}

// FirstErrors are the labels found in the first text, in a template about two texts; none where ErrorAware is not set.
func (s *Slots) FirstErrors() ([]LabelSlot, error) {
	return slot(s, "FirstErrors", Compare+" or "+CompareJoint, isOfPairs(s.kind), s.pair.firstErrors)
}

// SecondErrors are those of the second text.
func (s *Slots) SecondErrors() ([]LabelSlot, error) {
	return slot(s, "SecondErrors", Compare+" or "+CompareJoint, isOfPairs(s.kind), s.pair.secondErrors)
}

// setPair fills the slots about two texts. The first of the row's values is the first text.
func (s *Slots) setPair(in Input, code string) (err error) {
	if !isOfPairs(s.kind) {
		return nil
	}
	definition := in.Task.Fields[0].Definition
	s.pair.first = Text{"first", definition, block("first", in.Values[0], code)}
	s.pair.second = Text{"second", definition, block("second", in.Other, code)}
	s.Fields = s.Fields[1:]
	if s.pair.overall = in.Target == nil; !s.pair.overall {
		s.target = labelSlot(*in.Target)
	}
	if in.Mode != ErrorAware {
		return nil
	}
	if s.pair.firstErrors, err = labelSlots(in, in.Errors); err == nil {
		s.pair.secondErrors, err = labelSlots(in, in.OtherErrors)
	}
	if err != nil {
		return fmt.Errorf("prompt: labels of a pair: %w", err)
	}
	return nil
}

// labelSlots are the error types of labels; none for the label of a row without any.
func labelSlots(in Input, labels []string) (slots []LabelSlot, err error) {
	names, err := canonical(in.Task, labels)
	for _, name := range names {
		if i, _ := in.Task.Index(name); !in.Task.Types[i].NoError {
			slots = append(slots, labelSlot(in.Task.Types[i]))
		}
	}
	return slots, err
}
