package service

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// FuzzBody: whatever a body is, the reply is of a status that it can earn, and each line of it is an object with scores
// or a reason. It asks for scores, which takes one goroutine: fuzzing looks for new paths through the code, and takes
// another order of goroutines for one.
func FuzzBody(f *testing.F) {
	rows, err := os.ReadFile(filepath.Join("..", "identifier", "testdata", "bert", "rows.jsonl"))
	if err != nil {
		f.Fatal(err)
	}
	for _, body := range []string{string(rows[:2000]), rowsOf(2), "[" + rowsOf(1) + "]", `{"data":[` + rowsOf(1) + "]}", "",
		"\xff\xfe{", "[[[[", `{"question":1}`, "{}\r{}"} {
		f.Add(body, false)
		f.Add(body, true)
	}
	s := start(f, fake(atOnce), func(o *Options) { o.Bounds.Rows, o.Bounds.Body = 50, 1<<16 })
	f.Fuzz(func(t *testing.T, body string, list bool) {
		r := request(s, http.MethodPost, "/v1/score", body)
		if list {
			r.Header.Set("Content-Type", "application/json")
		}
		got := do(s, r)
		if !slices.Contains([]int{200, 400, 413, 415}, got.Code) {
			t.Fatalf("%d %s", got.Code, got.Body)
		}
		for line := range bytes.Lines(got.Body.Bytes()) {
			var reply struct {
				Scores        json.RawMessage
				Status, Error any
			}
			err := json.Unmarshal(line, &reply)
			if err != nil || reply.Scores == nil && reply.Status == nil && reply.Error == nil {
				t.Fatalf("%s: %v", line, err)
			}
		}
		if held := s.held.Load(); held != 0 {
			t.Fatalf("%d bytes are held", held)
		}
	})
}
