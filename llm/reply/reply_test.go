package reply

import (
	"strings"
	"testing"
)

// Thoughts leave a reply, unless they come after an answer.
func TestWithoutThoughts(t *testing.T) {
	decided := func(before string) bool { return strings.Contains(before, "3") }
	for text, want := range map[string]string{"<think>3</think>2": "2", "3</think>\n2": "\n2",
		"3 <think>no</think>\n2": "3 <think>no</think>\n2", "Hm <think>3</think>\n2": "\n2"} {
		if got, ok := withoutThoughts(text, decided); !ok || got != want {
			t.Errorf("%q: %q, %v, want %q", text, got, ok, want)
		}
	}
}
