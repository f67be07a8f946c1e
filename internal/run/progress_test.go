package run

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/erreval/erreval/internal/runrecord"
)

func TestProgress(t *testing.T) {
	for _, terminal := range []bool{true, false} {
		var stderr bytes.Buffer
		proc := &Process{Err: &stderr, IsTerminal: func(any) bool { return terminal }}
		p := NewProgress(proc)
		counter := runrecord.NewInputReader("-", strings.NewReader(strings.Repeat("x", 100)))
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

func TestFetching(t *testing.T) {
	for terminal, want := range map[bool]string{
		true:  "\r\x1b[Kweights: 5.0 MB of 20.0, 25 %\r\x1b[Kerreval: weights, 20.0 MB, is in the cache\nerreval: waiting\n",
		false: "erreval: weights, 20.0 MB, is in the cache\nerreval: waiting\n",
	} {
		var stderr bytes.Buffer
		p := NewFetching(&Process{Err: &stderr, IsTerminal: func(any) bool { return terminal }})
		p.name, p.at, p.begun = "weights", 5e6, time.Now().Add(time.Hour) // no rate yet
		p.File("weights", 5e6, 20e6)
		p.File("weights", 6e6, 20e6) // too soon
		p.File("weights", 20e6, 20e6)
		p.File("weights", 20e6, 20e6) // said once
		p.Notice("waiting")
		if got := stderr.String(); got != want {
			t.Errorf("terminal %v: got %q, want %q", terminal, got, want)
		}
	}
}
