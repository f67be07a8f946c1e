package run

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"
)

func TestProgress(t *testing.T) {
	for _, terminal := range []bool{true, false} {
		var stderr bytes.Buffer
		proc := &Process{Err: &stderr, IsTerminal: func(any) bool { return terminal }}
		p := NewProgress(proc, false)
		counter := NewCountingReader(strings.NewReader(strings.Repeat("x", 100)))
		p.Begin(400, counter)
		if _, err := io.Copy(io.Discard, counter); err != nil {
			t.Fatal(err)
		}
		p.start = time.Now().Add(-10 * time.Second)
		p.Show(50)
		p.Show(51) // too soon
		p.Clear()
		want := "\r\x1b[K50 rows, 5.0 rows/s, 25 %, 30s left\r\x1b[K"
		if !terminal {
			want = ""
		}
		if got := stderr.String(); got != want {
			t.Errorf("terminal %v: got %q, want %q", terminal, got, want)
		}
	}
}
