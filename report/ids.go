package report

import "strings"

// shortIDs lists ids; those made from a row's text are cut, and "erreval show --id" takes them so.
func shortIDs(ids []string) string {
	short := make([]string, len(ids))
	for i, id := range ids {
		short[i] = ShortID(id)
	}
	return strings.Join(short, ", ")
}

// idLength is where ShortID cuts.
const idLength = 24

// ShortID cuts a long id, with "…" in the place of the rest.
func ShortID(id string) string {
	if r := []rune(id); len(r) > idLength {
		return string(r[:idLength/2]) + "…"
	}
	return id
}

// IsSameID tells whether id is the given one, which may be cut as ShortID cuts, or end with "*" in the place of the
// rest.
func IsSameID(given, id string) bool {
	for _, end := range []string{"…", "*"} {
		if start, cut := strings.CutSuffix(given, end); cut && strings.HasPrefix(id, start) {
			return true
		}
	}
	return given == id
}
