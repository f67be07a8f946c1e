package wordmatch

import "testing"

func TestFind(t *testing.T) {
	for _, c := range []struct {
		content string
		targets []string
		want    string
	}{
		{"Anka met Ankara. ANKA!", []string{"Anka"}, "[Anka] met Ankara. [ANKA]!"},
		{"in 1931, not 19312", []string{"1931"}, "in [1931], not 19312"},
		{"a long\n  answer here", []string{" long answer "}, "a [long\n  answer] here"},
		{"It cost $5 (five).", []string{"$5 (five)."}, "It cost [$5 (five).]"},
		{"東京は首都", []string{"東京"}, "[東京]は首都"},
		{"the old bridge, the bridge", []string{"bridge", "old bridge"}, "the [old bridge], the [bridge]"},
		{"nothing", []string{"", "  ", "absent"}, "nothing"},
		{"straße", []string{"STRASSE"}, "straße"},
	} {
		got, end := "", 0
		for _, at := range Find(c.content, c.targets) {
			got += c.content[end:at[0]] + "[" + c.content[at[0]:at[1]] + "]"
			end = at[1]
		}
		if got += c.content[end:]; got != c.want {
			t.Errorf("%q in %q: got %q, want %q", c.targets, c.content, got, c.want)
		}
	}
}
