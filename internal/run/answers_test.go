package run

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/erreval/erreval/dataset"
)

// lineSink remembers the lines of the rows that it is given, and fails where err is not nil.
type lineSink struct {
	lines []int
	err   error
}

func (s *lineSink) Write(r *dataset.Row) error {
	s.lines = append(s.lines, r.Line)
	return s.err
}

func (s *lineSink) Close() error { return nil }

// TestAnswersWait: rejected lines wait for the rows before them, in memory that does not grow with them, and for no row
// that cannot come any more.
func TestAnswersWait(t *testing.T) {
	for _, broken := range []error{nil, errors.New("disk full")} {
		synctest.Test(t, func(t *testing.T) {
			var mu sync.Mutex
			a, sink := newAnswers(&mu), &lineSink{}
			a.expect() // line 1, which takes long
			rejected, ended := 0, make(chan error)
			go func() {
				mu.Lock()
				defer mu.Unlock()
				for line := 2; line < 10; line++ {
					raw := bytes.Repeat([]byte("a"), maxWaiting/2)
					err := a.reject(&dataset.LineError{Line: line, Raw: raw, Err: errors.New("no")}, sink)
					if err != nil {
						ended <- err
						return
					}
					rejected++
				}
				ended <- nil
			}()
			synctest.Wait()
			mu.Lock()
			if rejected > 3 || len(sink.lines) > 0 {
				t.Errorf("%d lines wait, %v were written", rejected, sink.lines)
			}
			sink.err = broken
			err := a.fail(writeNow(sink, &dataset.Row{Line: 1}))
			if err == nil {
				err = a.written(sink)
			}
			mu.Unlock()
			readErr := <-ended
			if broken != nil && (!errors.Is(err, broken) || !errors.Is(readErr, io.EOF)) {
				t.Errorf("broken: %v, %v", err, readErr)
			}
			if broken == nil && (err != nil || readErr != nil || !slices.Equal(sink.lines, []int{1, 2, 3, 4, 5, 6, 7, 8, 9})) {
				t.Errorf("%v, %v, written %v", err, readErr, sink.lines)
			}
		})
	}
}
