package plainjson

import (
	"strings"
	"testing"
)

func TestMarshal(t *testing.T) {
	v := map[string]string{"a": "<b> & c"}
	line, err := Marshal(v, "")
	if want := "{\"a\":\"<b> & c\"}\n"; err != nil || string(line) != want {
		t.Errorf("%q, %v; want %q", line, err, want)
	}
	var b strings.Builder
	if err := Write(&b, v); err != nil || b.String() != "{\n  \"a\": \"<b> & c\"\n}\n" {
		t.Errorf("%q, %v", b.String(), err)
	}
	if _, err := Marshal(func() {}, ""); err == nil {
		t.Error("a function is no JSON")
	}
}
