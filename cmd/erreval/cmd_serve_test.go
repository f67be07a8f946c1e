package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/rogpeppe/go-internal/testscript"
)

// server is erreval serve in a process of its own.
type server struct {
	cmd     *exec.Cmd
	out     *bufio.Reader
	address string // as printed
	base    string
	token   string
}

// startServer starts a command, which is erreval serve, and waits for its address. With --token-file, token is that
// file's.
func startServer(cmd *exec.Cmd, token string) (*server, error) {
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, err
	}
	s := &server{cmd: cmd, out: bufio.NewReader(stdout), token: token}
	address, err := s.out.ReadString('\n')
	if err != nil {
		return nil, errors.Join(err, cmd.Wait())
	}
	s.address = strings.TrimSpace(address)
	base, given, _ := strings.Cut(s.address, "#token=")
	s.base = strings.TrimSuffix(base, "/")
	if given != "" {
		s.token = given
	}
	return s, nil
}

// ask sends rows, JSON Lines unless the name of their file ends in .json; a nil body is a GET.
func (s *server) ask(ctx context.Context, client *http.Client, path, name string, body io.Reader) (*http.Response,
	error) {
	method, kind := http.MethodGet, ""
	if body != nil {
		method, kind = http.MethodPost, "application/x-ndjson"
		if filepath.Ext(name) == ".json" {
			kind = "application/json"
		}
	}
	r, err := http.NewRequestWithContext(ctx, method, s.base+path, body)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+s.token)
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	return client.Do(r)
}

// end sends SIGTERM, and gives what was printed after the address.
func (s *server) end() (rest string, err error) {
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return "", err
	}
	data, err := io.ReadAll(s.out)
	return string(data), errors.Join(err, s.cmd.Wait())
}

// cmdServing runs "serving [token=FILE] 'PATH [IN] OUT'… -- args…": it starts "erreval serve args…", sends the file IN
// to each path, or GETs it, keeps each reply in OUT, and ends the server, which must end well. "cp FROM TO" copies a
// file meanwhile. What the server printed is in out.txt and err.txt, and the status of each reply in out.txt too.
func cmdServing(ts *testscript.TestScript, neg bool, args []string) {
	at := slices.Index(args, "--")
	if neg || at < 0 {
		ts.Fatalf("usage: serving [token=FILE] 'PATH [IN] OUT'… -- args…")
	}
	exe, err := os.Executable()
	ts.Check(err)
	cmd := exec.Command(exe)
	cmd.Args = append([]string{"erreval", "serve"}, args[at+1:]...)
	cmd.Dir, cmd.Env = ts.MkAbs("."), append(os.Environ(), "ERREVAL_ORT_LIB="+ts.Getenv("ERREVAL_ORT_LIB"),
		"HOME="+ts.Getenv("HOME"), "GORACE="+impatient)
	errOut, err := os.Create(ts.MkAbs("err.txt"))
	ts.Check(err)
	defer errOut.Close()
	cmd.Stderr = errOut
	asked, token := args[:at], ""
	if file, ok := strings.CutPrefix(args[0], "token="); ok {
		asked, token = args[1:at], strings.TrimSpace(ts.ReadFile(file))
	}
	s, err := startServer(cmd, token)
	if err != nil {
		ts.Fatalf("%v; %s", err, ts.ReadFile("err.txt"))
	}
	defer func() { _ = cmd.Process.Kill() }() // where the script failed
	out := s.address + "\n"
	for _, a := range asked {
		if list := strings.Fields(a); list[0] == "cp" {
			ts.Check(os.WriteFile(ts.MkAbs(list[2]), []byte(ts.ReadFile(list[1])), 0o666))
			continue
		}
		status, err := s.keep(strings.Fields(a), ts.MkAbs)
		ts.Check(err)
		out += fmt.Sprintf("%s: %d\n", a, status)
	}
	rest, err := s.end()
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs("out.txt"), []byte(out+rest), 0o666))
}

// keep asks for PATH [IN] OUT.
func (s *server) keep(words []string, abs func(string) string) (status int, err error) {
	var body io.Reader
	var name string
	if len(words) == 3 {
		name = words[1]
		data, err := os.ReadFile(abs(name))
		if err != nil {
			return 0, err
		}
		body = strings.NewReader(string(data))
	}
	got, err := s.ask(context.Background(), http.DefaultClient, words[0], name, body)
	if err != nil {
		return 0, err
	}
	defer got.Body.Close()
	data, err := io.ReadAll(got.Body)
	return got.StatusCode, errors.Join(err, os.WriteFile(abs(words[len(words)-1]), data, 0o666))
}
