package dataset

import "testing"

// TestTypeOfKind: a number may have a decimal comma, where it cannot be a thousand.
func TestTypeOfKind(t *testing.T) {
	for text, want := range map[string]string{`"0,123"`: "0.123", `"2,5"`: "2.5", `"-0,25"`: "-0.25", `"0.5"`: "0.5",
		`"3"`: "3", `"1,234"`: "", `"7,6E-05"`: "7.6E-05", `"12,6E-05"`: "", `"1,2,3"`: "", `"1.000,5"`: "", `","`: ""} {
		if got, err := typeOfKind("a number", []byte(text)); string(got) != want || (err != nil) != (want == "") {
			t.Errorf("%s: %s, %v", text, got, err)
		}
	}
}
