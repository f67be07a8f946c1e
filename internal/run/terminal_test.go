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
		{ColorAuto, true, "", true},
		{ColorAuto, false, "", false},
		{ColorAuto, true, "NO_COLOR=1", false},
		{ColorAuto, true, "TERM=dumb", false},
		{ColorAlways, false, "NO_COLOR=1", true},
		{ColorNever, true, "", false},
	} {
		name, value, _ := strings.Cut(c.env, "=")
		p := &Process{Out: &bytes.Buffer{}, IsTerminal: func(any) bool { return c.terminal }, Getenv: func(key string) string {
			if key == name {
				return value
			}
			return ""
		}}
		if got, err := p.UsesColor(c.when); got != c.want || err != nil {
			t.Errorf("%+v: got %v, %v", c, got, err)
		}
	}
	if _, err := (&Process{}).UsesColor("red"); err == nil {
		t.Error("red is no time")
	}
}
