package main

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// cmdReviewing runs "reviewing BODY… -- args…": it starts "erreval refine review args…", sends each body to the page's
// address as an answer ("undo" takes one back), interrupts it, and leaves what it printed in out.txt. With "!" the page
// refuses the bodies.
func cmdReviewing(ts *testscript.TestScript, neg bool, args []string) {
	at := slices.Index(args, "--")
	if at < 0 {
		ts.Fatalf("usage: reviewing BODY… -- args…")
	}
	exe, err := os.Executable()
	ts.Check(err)
	cmd := exec.Command(exe)
	cmd.Args = append([]string{"erreval", "refine", "review", "--no-open"}, args[at+1:]...)
	cmd.Dir, cmd.Env = ts.MkAbs("."), append(os.Environ(), "GORACE="+impatient)
	errOut, err := os.Create(ts.MkAbs("err.txt"))
	ts.Check(err)
	defer errOut.Close()
	cmd.Stderr = errOut
	stdout, err := cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	ended := false
	defer func() {
		if !ended {
			_ = cmd.Process.Kill() // the script failed already
		}
	}()
	out := bufio.NewReader(stdout)
	first, err := out.ReadString('\n')
	ts.Check(err)
	address, err := out.ReadString('\n')
	ts.Check(err)
	for _, body := range args[:at] {
		status, reply, err := answerTo(strings.TrimSpace(address), body)
		ts.Check(err)
		if (status == http.StatusOK) == neg {
			ts.Fatalf("%s: %d %s", body, status, reply)
		}
	}
	ts.Check(cmd.Process.Signal(os.Interrupt))
	rest, err := io.ReadAll(out)
	ts.Check(err)
	ended = true
	ts.Check(cmd.Wait())
	ts.Check(os.WriteFile(ts.MkAbs("out.txt"), []byte(first+address+string(rest)), 0o666))
}

func answerTo(address, body string) (status int, reply string, err error) {
	base, token, ok := strings.Cut(address, "#token=")
	if !ok {
		return 0, "", fmt.Errorf("no address: %q", address)
	}
	path := "answer"
	if body == "undo" {
		path = "undo"
	}
	r, err := http.NewRequest(http.MethodPost, base+path, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer got.Body.Close()
	data, err := io.ReadAll(got.Body)
	return got.StatusCode, string(data), err
}
