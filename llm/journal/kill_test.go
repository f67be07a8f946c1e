package journal

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/erreval/erreval/llm"
	"github.com/erreval/erreval/llm/llmtest"
)

const (
	killedPath     = "ERREVAL_TEST_JOURNAL" // set: this process is one to be killed
	killedRows     = 120
	killedInFlight = 8
	killedBudget   = 100_000 // tokens; every call has room at its reservation of about 160, lost ones included
)

func TestMain(m *testing.M) {
	if path := os.Getenv(killedPath); path != "" {
		if err := askAll(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		return
	}
	m.Run()
}

// askAll asks for every row. The endpoint writes what it bills to a file, and a line to stdout.
func askAll(path string) error {
	j, err := Open(path)
	if err != nil {
		return err
	}
	defer j.Close()
	bill, err := os.OpenFile(path+".bill", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer bill.Close()
	endpoint := llmtest.NewFake(func(_ context.Context, _ int, r *llm.Request) (*llm.Reply, error) {
		fmt.Fprintln(bill, "call")
		fmt.Fprintln(os.Stdout, "call")
		return &llm.Reply{Text: "reply to " + r.Messages[0].Content, Usage: llm.Usage{Input: 50, Output: 5}}, nil
	})
	m, err := j.Meter(endpoint, Budget{MaxTokens: ptr(int64(killedBudget))}, nil)
	if err != nil {
		return err
	}
	c := j.Client(m, "")
	var wait sync.WaitGroup
	for worker := range killedInFlight {
		wait.Go(func() {
			for row := worker; row < killedRows; row += killedInFlight {
				if _, err := c.Complete(context.Background(), request(fmt.Sprint(row))); err != nil {
					fmt.Fprintln(os.Stderr, err)
				}
			}
		})
	}
	wait.Wait()
	return nil
}

// start runs askAll in a process of its own and kills it after so many calls; never if calls is negative.
func start(t *testing.T, path string, calls int) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(cmd.Environ(), killedPath+"="+path)
	var faults strings.Builder
	cmd.Stderr = &faults
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Error(err)
		return
	}
	lines := bufio.NewReader(out)
	for ; calls != 0; calls-- {
		if _, err := lines.ReadString('\n'); err != nil {
			break
		}
	}
	if calls == 0 {
		_ = cmd.Process.Kill()
	}
	_, _ = io.Copy(io.Discard, lines)
	_ = cmd.Wait()
	if faults.Len() > 0 {
		t.Error(faults.String())
	}
}

// Two processes with one journal make each call once.
func TestTwoProcessesAskOnce(t *testing.T) {
	for run := range 20 {
		path := file(t)
		var wait sync.WaitGroup
		for range 2 {
			wait.Go(func() { start(t, path, -1) })
		}
		wait.Wait()
		bill, err := os.ReadFile(path + ".bill")
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(bill), "\n"); n != killedRows {
			t.Errorf("run %d: %d calls of %d distinct ones", run, n, killedRows)
		}
	}
}

// Two processes at a time share a journal and are killed at random moments. In the end each row is there, no more calls
// were made than rows and calls in flight at the kills, and all that the endpoint billed is in the books.
func TestKill(t *testing.T) {
	const kills = 10 // of each of the two
	path := file(t)
	random := rand.New(rand.NewPCG(6, 6))
	for range kills {
		var wait sync.WaitGroup
		for range 2 {
			calls := random.IntN(12)
			wait.Go(func() { start(t, path, calls) })
		}
		wait.Wait()
	}
	start(t, path, -1)
	j := open(t, path)
	for row := range killedRows {
		reply, err := j.Client(nil, "").Lookup(request(fmt.Sprint(row)))
		if err != nil || reply == nil || reply.Text != "reply to "+fmt.Sprint(row) {
			t.Fatalf("row %d: %+v %v", row, reply, err)
		}
	}
	bill, err := os.ReadFile(path + ".bill")
	if err != nil {
		t.Fatal(err)
	}
	billed := int64(strings.Count(string(bill), "\n"))
	if most := int64(killedRows + 2*kills*killedInFlight); billed < killedRows || billed > most {
		t.Errorf("%d calls, want %d to %d", billed, killedRows, most)
	}
	s := spent(t, j)
	if s.Calls < billed || s.Input+s.Output < 55*billed || s.Open > 2*kills*killedInFlight {
		t.Errorf("%d calls are billed, the books say %+v", billed, s)
	}
	var check string
	if err := j.store.reader.QueryRow("PRAGMA integrity_check").Scan(&check); err != nil || check != "ok" {
		t.Errorf("integrity: %s %v", check, err)
	}
	t.Logf("%d rows, %d kills: %d calls billed; %+v", killedRows, 2*kills, billed, s)
}
