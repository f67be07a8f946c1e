package report

import "strings"

// SameID compares given with an id; given may be cut, as ShortID prints long ones, or end in "*".
func SameID(given, id string) bool {
	for _, end := range []string{"…", "*"} {
		if start, cut := strings.CutSuffix(given, end); cut && strings.HasPrefix(id, start) {
			return true
		}
	}
	return given == id
}
