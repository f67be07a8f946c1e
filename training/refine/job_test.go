package refine

import (
	"errors"
	"os/exec"
	"strings"
	"testing"
)

type full struct{}

var errFull = errors.New("no space left")

func (full) Write([]byte) (int, error) { return 0, errFull }

// TestRunTrainerFullDisk: a trainer that says more than a pipe holds ends with the journal, and does not wait for ever.
func TestRunTrainerFullDisk(t *testing.T) {
	yes, err := exec.LookPath("yes")
	if err != nil {
		t.Fatal(err)
	}
	err = runTrainer(t.Context(), []string{yes}, full{}, func(Progress) {})
	if !errors.Is(err, errFull) {
		t.Error(err)
	}
}

// TestRunTrainerMissing: the error names the program.
func TestRunTrainerMissing(t *testing.T) {
	err := runTrainer(t.Context(), []string{"./no-such-trainer"}, full{}, func(Progress) {})
	if err == nil || !strings.Contains(err.Error(), "no-such-trainer") {
		t.Error(err)
	}
}
