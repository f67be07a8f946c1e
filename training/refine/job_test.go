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

// TestProgressTime: the time is that of a step so far, times the steps.
func TestProgressTime(t *testing.T) {
	dev := 0.5
	for _, c := range []struct {
		p           Progress
		line, whole string
	}{
		{Progress{Step: 1, Epoch: 1, Loss: 1}, "x: step 1, epoch 1, loss 1.0000", ""},
		{Progress{Step: 10, Steps: 30, Epoch: 1, Loss: 1, Seconds: 20},
			"x: step 10 of at most 30, epoch 1, loss 1.0000, about 40 s left",
			"training the x takes about 60 s: 30 steps of 2 s"},
		{Progress{Step: 10, Steps: 1000, Epoch: 1, Dev: &dev, Seconds: 20}, "x: step 10 of at most 1000, epoch 1, " +
			"loss 0.0000, micro-F1 0.500 on the development rows, about 33 min left",
			"training the x takes about 33 min: 1000 steps of 2 s"},
		{Progress{Step: 10, Steps: 10, Seconds: 2e4}, "x: step 10 of at most 10, epoch 0, loss 0.0000",
			"training the x takes about 5.6 h: 10 steps of 2e+03 s"},
	} {
		if line, whole := c.p.Text("x"), c.p.TimeText("x"); line != c.line || whole != c.whole {
			t.Errorf("%q, %q", line, whole)
		}
	}
}

// TestRunTrainerMissing: the error names the program.
func TestRunTrainerMissing(t *testing.T) {
	err := runTrainer(t.Context(), []string{"./no-such-trainer"}, full{}, func(Progress) {})
	if err == nil || !strings.Contains(err.Error(), "no-such-trainer") {
		t.Error(err)
	}
}
