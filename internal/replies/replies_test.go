package replies

import (
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
)

// Three of the first calls, or 24 later ones, in a row are too many; a reply begins anew.
func TestHealth(t *testing.T) {
	var h Health
	fail := func(times int) (down bool) {
		for i := range times {
			var n int
			if n, down = h.Fail(); n != i+1 || down && i+1 < times {
				t.Fatalf("call %d of %d: counted %d, down %v", i+1, times, n, down)
			}
		}
		return down
	}
	if !fail(3) {
		t.Error("a model that never replied is not down after 3 calls")
	}
	for range 2 {
		h.Reply()
		if !fail(24) {
			t.Error("a model that replied is not down after 24 calls")
		}
	}
	if h.Reset(); !fail(3) {
		t.Error("Reset left a reply")
	}
}

func TestClip(t *testing.T) {
	for text, want := range map[string]string{"": "", "a\n\x1b[31m b": "a [31m b", "0123456789ab": "… 23456789ab",
		"xéa23456789": "… a23456789"} {
		if got := Clip(text, 10); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

// Thoughts leave a reply, unless they come after an answer.
func TestWithoutThoughts(t *testing.T) {
	decided := func(before string) bool { return strings.Contains(before, "3") }
	for text, want := range map[string]string{"<think>3</think>2": "2", "3</think>\n2": "\n2",
		"3 <think>no</think>\n2": "3 <think>no</think>\n2", "Hm <think>3</think>\n2": "\n2"} {
		if got, ok := WithoutThoughts(text, decided); !ok || got != want {
			t.Errorf("%q: %q, %v, want %q", text, got, ok, want)
		}
	}
}

func TestDecodeJSON(t *testing.T) {
	v, n, err := DecodeJSON(`{"a": [1, {}], "a": null} rest`)
	want := Object{{"a", []any{json.Number("1"), Object{}}}, {"a", nil}}
	if err != nil || n != 25 || !reflect.DeepEqual(v, want) {
		t.Errorf("%#v, %d, %v", v, n, err)
	}
	if _, _, err := DecodeJSON(`{"a": [1`); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error(err)
	}
}
