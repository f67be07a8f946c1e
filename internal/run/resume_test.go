package run

import "testing"

func TestResumeLine(t *testing.T) {
	for want, args := range map[string][]string{
		"erreval identify a.jsonl -o b --resume":                {"erreval", "identify", "a.jsonl", "-o", "b"},
		"erreval identify --resume a.jsonl -o b":                {"erreval", "identify", "--resume", "a.jsonl", "-o", "b"},
		"erreval identify -o resume --resume -- -a":             {"erreval", "identify", "-o", "resume", "--", "-a"},
		`erreval identify 'it'\''s $x' -t 'Vague=0 3' --resume`: {"erreval", "identify", "it's $x", "-t", "Vague=0 3"},
		"erreval identify '' -o 'a*' --resume":                  {"erreval", "identify", "", "-o", "a*"},
	} {
		if got := resumeLine(args); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}
