// Package faults gathers what is wrong with options, so that all of it is said at once.
package faults

import (
	"errors"
	"fmt"
)

// List is what is wrong. The zero List holds nothing.
type List struct {
	About string // stands before what Check says, such as "judging: "
	all   []error
}

// Check notes a fault, unless ok.
func (l *List) Check(ok bool, format string, args ...any) {
	if !ok {
		l.Add(fmt.Errorf(l.About+format, args...))
	}
}

// Add notes an error, unless it is nil.
func (l *List) Add(err error) { l.all = append(l.all, err) }

// Err joins all that was noted; nil is nothing.
func (l *List) Err() error { return errors.Join(l.all...) }
