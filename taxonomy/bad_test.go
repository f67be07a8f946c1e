package taxonomy

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var faultLines = regexp.MustCompile(`^f\.yaml:[1-9][0-9]*: .`)

// badFiles holds what each file in testdata/bad is refused with; one line a fault, "line: what".
var badFiles = map[string]string{
	"alias": `4: description: a text is expected, not a list, mapping or alias`,
	"code-is-name": `9: type name or code "Red" is given twice (first on line 8)` + "\n" +
		`18: dimension "Fit" maps to the type "Dark", which is not among the types`,
	"code-twice": `9: type name or code "red" is given twice (first on line 8)` + "\n" +
		`18: dimension "Fit" maps to the type "Dark", which is not among the types`,
	"control":          `1: not YAML: control characters are not allowed`,
	"dimension-twice":  `19: dimension "fit" is given twice (first on line 12)`,
	"empty":            `1: the file is empty`,
	"empty-definition": `8: definition: the text is missing`,
	"edits": `8: type "Too Red": there is no edit "paint"; there are cut, repeat, loop, foreign, swap, append, extend, scramble, ` +
		"deny, number, name, date, lead, replace\n" + `9: simulate: a list with at least one entry is expected` + "\n" +
		`10: type "Too Dark": texts go with the edit replace, and it needs some` + "\n" +
		`11: type "No Error": a row without error is simulated by leaving it as it is`,
	"empty-list":     `17: steps: a list with at least one entry is expected`,
	"field-name":     `6: name: "the source" has a space, semicolon, @ or = in it`,
	"field-reserved": `6: a field cannot be called "labels": records use that column themselves`,
	"field-twice":    `6: field "text" is given twice (first on line 5)`,
	"flag-word":      `6: group: true or false is expected, not "maybe"`,
	"key-twice":      `4: key "title" is given twice (first on line 3)`,
	"list":           `1: a taxonomy must be a mapping with the keys name, version, title, description, fields, types, dimensions`,
	"list-as-text":   `3: title: a text is expected, not a list, mapping or alias`,
	"many": `2: version: "1 0" has a space, semicolon, @ or = in it` + "\n" +
		`10: type name or code "OK" is given twice (first on line 8)` + "\n" +
		`16: criterion 2 has score 4; scores run 1, 2, 3 … without a gap` + "\n" +
		`18: dimension "Fit" maps to the type "Nothing", which is not among the types`,
	"optional-first": `5: the first field, "text", is the text under evaluation; it cannot be optional`,
	"needs-unknown":  `9: type "Too Dark" needs the field "lamp", which is not among the fields`,
	"needs-required": `9: type "Too Dark" needs the field "source", which every row has; mark it optional: true, or leave it out here`,
	"needs-no-error": `10: type "No Error" needs the field "source"; the label of rows without errors needs none`,
	"mapped-twice":   `18: type in dimension "Fit" "Too Red" is given twice (first on line 18)`,
	"missing-keys": `1: a taxonomy needs the key "title"` + "\n" +
		`8: a type needs the key "code"` + "\n" +
		`17: dimension "Fit" maps to the type "Dark", which is not among the types`,
	"missing-type": `18: dimension "Fit" maps to the type "Too Bright", which is not among the types`,
	"not-a-list":   `18: types: a list with at least one entry is expected`,
	"not-a-mapping": `8: a type must be a mapping with the keys name, code, category, definition, no_error, severity, needs, simulate` + "\n" +
		`18: dimension "Fit" maps to the type "Too Red", which is not among the types`,
	"null-name":     `12: name: the text is missing`,
	"one-criterion": `12: dimension "Fit": one criterion cannot tell rows apart; give at least two`,
	"score-falls": `15: criterion 1 has score 2; scores run 1, 2, 3 … without a gap` + "\n" +
		`16: criterion 2 has score 1; scores run 1, 2, 3 … without a gap`,
	"score-gap":  `16: criterion 2 has score 3; scores run 1, 2, 3 … without a gap`,
	"score-word": `16: score: a whole number is expected, not "two"`,
	"semicolon":  `9: type "Too Dark; or so": a name cannot hold a semicolon or line break, they part labels in flat files`,
	"severity-range": `8: severity: a number over 0, up to 1, is expected, not "1.5"` + "\n" +
		`9: severity: a number over 0, up to 1, is expected, not "grave"`,
	"syntax":        `1: not YAML: did not find expected ',' or ']'`,
	"tab":           `2: not YAML: found a tab character that violates indentation`,
	"two-documents": `19: a second document; a file holds one taxonomy`,
	"two-groups":    `6: a second field with group: true (the first is on line 5)`,
	"two-no-errors": `10: a second type with no_error: true (the first is on line 9)`,
	"type-twice": `9: type name or code "too red" is given twice (first on line 8)` + "\n" +
		`18: type in dimension "Fit" "too red" is given twice (first on line 18)`,
	"unknown-key":      `4: unknown key "author" in a taxonomy; it may have name, version, title, description, fields, types, dimensions`,
	"unknown-key-type": `8: unknown key "colour" in a type; it may have name, code, category, definition, no_error, severity, needs, simulate`,
}

func TestBadFiles(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "bad", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != len(badFiles) {
		t.Errorf("%d files, %d messages", len(files), len(badFiles))
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, err = Parse(data, name)
		if err == nil {
			t.Errorf("%s: accepted", name)
			continue
		}
		got := strings.ReplaceAll(err.Error(), name+":", "")
		if got != badFiles[name] {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, badFiles[name])
		}
	}
}
