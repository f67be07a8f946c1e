package refine

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/erreval/erreval/internal/wholefile"
	"github.com/erreval/erreval/training/review"
)

// Job is the config.json of a trainer: what it is to make of which rows. The trainer writes a Hugging Face
// sequence-classification checkpoint and result.json to Out, progress as JSON lines to standard output, and anything
// else to standard error. Run again with the same file, it goes on where it was.
type Job struct {
	Task    string   `json:"task"`    // TaskIdentifier or TaskVerifier
	Encoder string   `json:"encoder"` // folder, or name on the hub
	Init    string   `json:"init"`    // folder of a checkpoint to begin with instead; "" is none
	Fields  []string `json:"fields"`  // of the task; a verifier reads the labels before them
	Labels  []string `json:"labels"`
	NoError string   `json:"no_error"` // "" where the taxonomy has none
	// Needs are the optional fields without which a label cannot be judged: rows may lack them.
	Needs map[string][]string `json:"needs,omitempty"`
	// JSON Lines: fields and labels (names); for a verifier also right, 0 or 1
	Train     string  `json:"train"`
	Dev       string  `json:"dev"`
	Out       string  `json:"out"`
	Device    string  `json:"device"`
	Epochs    int     `json:"epochs"`
	Batch     int     `json:"batch"`
	Rate      float64 `json:"lr"`
	Patience  int     `json:"patience"`
	Seed      int     `json:"seed"`
	MaxTokens int     `json:"max_tokens"`
	Window    string  `json:"window,omitempty"` // FIELD=WORDS or FIELD=WORDS,ENDS: what is read of a long field
	Finish    bool    `json:"finish,omitempty"` // take no step more, but the best epoch of the run that was stopped
}

// Tasks of a Job.
const (
	TaskIdentifier = "identifier"
	TaskVerifier   = "verifier"
)

// names in the folder of a job, beside Out.
const (
	jobFile  = "config.json"
	doneFile = "done" // the trainer ended well
)

// run runs a trainer in dir unless it has ended well there before. What it writes to standard error goes to journal as
// well.
func (j *Job) run(ctx context.Context, dir string, command []string, journal io.Writer, progress func(Progress)) error {
	done := filepath.Join(dir, doneFile)
	if fileThere(done) {
		return nil
	}
	if err := errors.Join(os.MkdirAll(dir, 0o777), review.WriteJSON(filepath.Join(dir, jobFile), j)); err != nil {
		return err
	}
	standing := readStanding(dir)
	if err := runTrainer(ctx, append(command[:len(command):len(command)], filepath.Join(dir, jobFile)), journal,
		func(p Progress) {
			standing.add(p, dir)
			progress(p)
		}); err != nil {
		return fmt.Errorf("training the %s: %w", j.Task, err)
	}
	for _, name := range []string{"config.json", "tokenizer.json", "result.json"} {
		if _, err := os.Stat(filepath.Join(j.Out, name)); err != nil {
			return fmt.Errorf("training the %s: the trainer ended without an error, but left no %s: %w", j.Task, name, err)
		}
	}
	return wholefile.Write(done, nil)
}

// unfinished has the trainer run again the next time, since what it left is no use; an interruption says nothing of
// that.
func (j *Job) unfinished(ctx context.Context, dir string) error {
	if ctx.Err() != nil {
		return nil
	}
	return os.Remove(filepath.Join(dir, doneFile))
}

// keepMemory has glibc keep the memory that torch frees, in the place of giving it back to the system and asking for it
// anew at each step.
var keepMemory = []string{"MALLOC_MMAP_MAX_=0", "MALLOC_TRIM_THRESHOLD_=8589934592", "MALLOC_TOP_PAD_=268435456"}

// grace is how long a trainer may take to save its state once it is told to stop.
const grace = 20 * time.Second

func runTrainer(ctx context.Context, command []string, journal io.Writer, progress func(Progress)) error {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...) // #nosec G204 -- the user's Python; no shell
	cmd.Cancel, cmd.WaitDelay = func() error { return cmd.Process.Signal(syscall.SIGTERM) }, grace
	cmd.Env = append(slices.Clone(keepMemory), cmd.Environ()...) // what the user sets goes before it
	var last tail
	cmd.Stderr = io.MultiWriter(journal, &last)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	end, err := startBound(cmd)
	if err != nil {
		return fmt.Errorf("the trainer cannot be started: %w", err)
	}
	defer end()
	readErr := readProgress(out, journal, progress)
	_ = out.Close() // a trainer whose words cannot be kept must not wait for a reader; Wait closes it otherwise
	err = errors.Join(readErr, cmd.Wait())
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return fmt.Errorf("%w\n%s", err, last.text())
	}
	return nil
}

// readProgress passes on what it understands; everything goes to the journal.
func readProgress(r io.Reader, journal io.Writer, progress func(Progress)) error {
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			if _, err := journal.Write(line); err != nil {
				return err
			}
			var p Progress
			if json.Unmarshal(line, &p) == nil && p.Step > 0 {
				progress(p)
			}
		}
		if errors.Is(err, io.EOF) || errors.Is(err, fs.ErrClosed) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// tail keeps the end of what is written to it.
type tail struct{ b []byte }

const tailSize = 2000

func (t *tail) Write(p []byte) (int, error) {
	t.b = append(t.b, p...)
	if len(t.b) > 2*tailSize {
		t.b = bytes.Clone(t.b[len(t.b)-tailSize:])
	}
	return len(p), nil
}

func (t *tail) text() string {
	b := t.b
	if len(b) > tailSize {
		b = b[len(b)-tailSize:]
	}
	return strings.ToValidUTF8(strings.TrimSpace(string(b)), "?")
}
