package refine

import "fmt"

// OptionError says that an option, or a setting in refine.yaml, is wrong. Its text names an option as the command does.
type OptionError struct{ error }

// Unwrap gives the cause.
func (e *OptionError) Unwrap() error { return e.error }

func optionErrorf(format string, args ...any) error {
	return &OptionError{fmt.Errorf(format, args...)}
}

// UnfitError says that rows, a batch or probabilities were made for another taxonomy, or are not as they were made.
type UnfitError struct{ error }

// Unwrap gives the cause.
func (e *UnfitError) Unwrap() error { return e.error }
