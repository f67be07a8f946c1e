package models

import "fmt"

// OptionError is a choice that is wrong, or that does not go with the model. Its text names the flag of the command
// line.
type OptionError struct{ Err error }

func (e *OptionError) Error() string { return e.Err.Error() }
func (e *OptionError) Unwrap() error { return e.Err }

// OptionErrorf is an *OptionError with that text.
func OptionErrorf(format string, args ...any) error { return &OptionError{fmt.Errorf(format, args...)} }

// UnfitError is a model that cannot be used: damaged, made for another task, or not for this device.
type UnfitError struct{ Err error }

func (e *UnfitError) Error() string { return e.Err.Error() }
func (e *UnfitError) Unwrap() error { return e.Err }

// UnfitErrorf is an *UnfitError with that text.
func UnfitErrorf(format string, args ...any) error { return &UnfitError{fmt.Errorf(format, args...)} }
