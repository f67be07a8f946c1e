package report

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// shortIDs lists ids. It cuts those that were made from a row's text; "erreval show --id" accepts cut ids.
func shortIDs(ids []string) string {
	short := make([]string, len(ids))
	for i, id := range ids {
		short[i] = ShortID(id)
	}
	return strings.Join(short, ", ")
}

// idLength is the number of characters that ShortID keeps.
const idLength = 24

// ShortID cuts a long id, and ends it with "…".
func ShortID(id string) string {
	if r := []rune(id); len(r) > idLength {
		return string(r[:idLength/2]) + "…"
	}
	return id
}

// IsHash tells whether an id is the hex digits of a SHA-256, which nobody reads whole.
func IsHash(id string) bool {
	hash, err := hex.DecodeString(id)
	return err == nil && len(hash) == sha256.Size
}

// IsSameID tells whether id is the given one, which may be the beginning of an id with "…" or "*" for the rest, or what
// ShortID has of a hash before these.
func IsSameID(given, id string) bool {
	for _, end := range []string{"…", "*"} {
		if start, cut := strings.CutSuffix(given, end); cut && strings.HasPrefix(id, start) {
			return true
		}
	}
	return given == id || len(given) == idLength/2 && IsHash(id) && strings.HasPrefix(id, given)
}
