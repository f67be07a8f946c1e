package openai_test

import (
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/erreval/erreval/llm"
	"github.com/erreval/erreval/llm/llmtest"
	"github.com/erreval/erreval/llm/openai"
)

// TestNeverSent: where there was no connection, the error shows it to a budget, which then charges nothing.
func TestNeverSent(t *testing.T) {
	plain := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(plain.Close)
	stranger := httptest.NewUnstartedServer(http.NotFoundHandler())
	stranger.Config.ErrorLog = log.New(io.Discard, "", 0) //nolint:forbidigo // it would print that nobody trusts it
	stranger.StartTLS()
	t.Cleanup(stranger.Close)
	nobody, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := nobody.Close(); err != nil {
		t.Fatal(err)
	}
	for address, want := range map[string]string{
		"http://" + nobody.Addr().String():             "connection refused; check the base URL",
		stranger.URL:                                   "certificate",
		strings.Replace(plain.URL, "http", "https", 1): "server gave HTTP response to HTTPS client",
	} {
		_, err := open(t, openai.Options{BaseURL: address}).Complete(t.Context(), llmtest.Sample(0))
		op, ok := errors.AsType[*net.OpError](err)
		if llm.KindOf(err) != llm.Transient || !ok || op.Op != "dial" || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// TestNoKey: who sent none is told so.
func TestNoKey(t *testing.T) {
	server := llmtest.NewServer(llmtest.Always(llmtest.Fail(http.StatusUnauthorized, "", "Who are you?")))
	o := openai.DefaultOptions()
	o.BaseURL, o.HTTP, o.AllowPlainHTTP = llmtest.PipeURL, server.Pipe(t), true
	for _, c := range []struct{ key, azure, want string }{
		{"", "", "Who are you?; no key was sent; set one"}, {"", "2024-10-21", "; no key was sent; set one"},
		{"a-key", "", "; check the key"}, {"you", "", "Who are [hidden]?; check the key"}, // however short it is
	} {
		o.Key, o.AzureVersion = c.key, c.azure
		client, err := openai.New(o)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.Complete(t.Context(), llmtest.Sample(0)); llm.KindOf(err) != llm.Auth ||
			!strings.HasSuffix(err.Error(), c.want) {
			t.Errorf("key %q: %v", c.key, err)
		}
	}
	for _, call := range server.Calls() {
		if values, sent := call.Header["Api-Key"]; sent {
			t.Errorf("%s: an api-key of %q was sent", call.Path, values)
		}
	}
}
