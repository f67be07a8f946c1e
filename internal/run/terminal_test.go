package run

import (
	"bytes"
	"strings"
	"testing"
)

// Colours: on a terminal unless NO_COLOR or a dumb one says otherwise; --color decides before all of them.
func TestUsesColor(t *testing.T) {
	for _, c := range []struct {
		when     string
		terminal bool
		env      string
		want     bool
	}{
		{"auto", true, "", true},
		{"auto", false, "", false},
		{"auto", true, "NO_COLOR=1", false},
		{"auto", true, "TERM=dumb", false},
		{"always", false, "NO_COLOR=1", true},
		{"never", true, "", false},
	} {
		name, value, _ := strings.Cut(c.env, "=")
		getenv := func(key string) string { return map[string]string{name: value}[key] }
		p := &Process{Out: &bytes.Buffer{}, IsTerminal: func(any) bool { return c.terminal }, Getenv: getenv}
		if got, err := p.UsesColor(c.when); got != c.want || err != nil {
			t.Errorf("%+v: got %v, %v", c, got, err)
		}
	}
	if _, err := (&Process{}).UsesColor("red"); err == nil {
		t.Error("red is no time")
	}
}
