package local

import "context"

// ErrInterrupted is what a call ends with that was interrupted while it made or opened a model; it is a context.Canceled.
var ErrInterrupted error = interrupted{}

type interrupted struct{}

func (interrupted) Error() string { return "interrupted before the model was ready" }
func (interrupted) Unwrap() error { return context.Canceled }

// UnlessInterrupted is what f gives, or ErrInterrupted as soon as ctx ends. It is for calls that take seconds with large
// models and cannot be told to stop, such as ONNX Runtime's opening of a session: f then goes on until the process ends.
// It must write no file, and nothing that its caller reads later.
func UnlessInterrupted[T any](ctx context.Context, f func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := f()
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, ErrInterrupted
	}
}
