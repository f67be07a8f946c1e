package convert

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// What the trainer refuses to train is what cannot be imported afterwards.
func TestTrainerKnowsFamilies(t *testing.T) {
	script, err := os.ReadFile("../../training/finetune.py")
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)^IMPORTED = \((.*)\)$`).FindSubmatch(script)
	if line == nil {
		t.Fatal("finetune.py has no line IMPORTED = (…)")
	}
	if got, want := strings.ReplaceAll(string(line[1]), `"`, ""), strings.Join(familyNames(), ", "); got != want {
		t.Errorf("finetune.py trains %s; imported are %s", got, want)
	}
}
