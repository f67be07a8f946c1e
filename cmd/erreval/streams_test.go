package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
)

// An endpoint answers 204 and sends the key back in a body that nobody asked for, on a connection that is kept. Go's
// transport logs such bodies.
func TestUnsolicitedResponse(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	asked := make(chan string, 100)
	go answerOnce(l, asked)
	dir := t.TempDir()
	rows := filepath.Join(dir, "rows.jsonl")
	row := `{"id":"a1","question":"Who?","answer":"Oke","passage":"A mason.","diagnosis":{"labels":["Vague"],` +
		`"probabilities":{"Vague":0.9}}}` + "\n"
	if err := os.WriteFile(rows, []byte(row), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := command(t, "score", rows, "-o", filepath.Join(dir, "out.jsonl"), "--judge", "gpt-4o-mini",
		"--base-url", "http://"+l.Addr().String()+"/v1", "--quiet")
	cmd.Env = append(cmd.Env, "OPENAI_API_KEY=sk-unsolicited-key", "HOME="+dir)
	said, err := cmd.CombinedOutput()
	if err == nil || !bytes.Contains(said, []byte("401")) {
		t.Errorf("the run ended with %v, and said %s", err, said)
	}
	if key := <-asked; key != "Bearer sk-unsolicited-key" {
		t.Errorf("the key was sent as %q", key)
	}
	if bytes.Contains(said, []byte("sk-unsolicited")) || bytes.Contains(said, []byte("Unsolicited response")) {
		t.Errorf("it says %s", said)
	}
}

// answerOnce answers the first request with 204 and the key behind it, and refuses the others. A client may open a
// connection on which it asks nothing: each is waited for by itself. The text ends its line, else a client that asks
// again on that connection waits for the rest until its time is out.
func answerOnce(l net.Listener, asked chan<- string) {
	var n atomic.Int64
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			r, err := http.ReadRequest(bufio.NewReader(c))
			if err != nil {
				return
			}
			_, _ = io.Copy(io.Discard, r.Body)
			key, status := r.Header.Get("Authorization"), "204 No Content"
			if n.Add(1) > 1 {
				status = "401 Unauthorized\r\nContent-Length: 0"
			}
			select {
			case asked <- key:
			default:
			}
			fmt.Fprintf(c, "HTTP/1.1 %s\r\n\r\nyour header was Authorization: %s\r\n", status, key)
			_, _ = io.Copy(io.Discard, c) // kept until the client closes it
		}()
	}
}
