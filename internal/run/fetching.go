package run

import (
	"fmt"
	"time"
)

// Fetching shows a line a file that is fetched; on a terminal it moves.
type Fetching struct {
	*Progress
	quiet bool
	name  string
	begun time.Time
	at    int64 // bytes of the file that were there at first
	known map[string]bool
}

// NewFetching is silent where the process is quiet.
func NewFetching(p *Process) *Fetching {
	return &Fetching{Progress: NewProgress(p), quiet: p.Quiet, known: map[string]bool{}}
}

// File shows that done of total bytes of a file are there; total is -1 where it is not known.
func (p *Fetching) File(name string, done, total int64) {
	if name != p.name {
		p.name, p.begun, p.at = name, time.Now(), done
	}
	if done == total {
		p.done(name, total)
		return
	}
	p.ShowText(func(now time.Time) string {
		line := fmt.Sprintf("%s: %.1f MB", name, float64(done)/1e6)
		if total > 0 {
			line += fmt.Sprintf(" of %.1f, %d %%", float64(total)/1e6, 100*done/total)
		}
		if seconds := now.Sub(p.begun).Seconds(); seconds > 0 {
			line += fmt.Sprintf(", %.1f MB/s", float64(done-p.at)/1e6/seconds)
		}
		return line
	})
}

// done says once of each file that it is there.
func (p *Fetching) done(name string, size int64) {
	if p.known[name] {
		return
	}
	p.known[name] = true
	p.Log("%s, %.1f MB, is in the cache", name, float64(size)/1e6)
}

// Log says what is done besides, or why nothing moves.
func (p *Fetching) Log(format string, args ...any) {
	if !p.quiet {
		p.Clear()
		fmt.Fprintf(p.w, "erreval: "+format+"\n", args...)
	}
}

// Notice is Log of a sentence.
func (p *Fetching) Notice(message string) { p.Log("%s", message) }
