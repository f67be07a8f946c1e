package vendor

import (
	"cmp"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
)

// Hide puts mark in the place of secrets, as they are and as JSON and addresses spell them, the longest first.
func Hide(secrets []string, mark string) *strings.Replacer {
	var forms []string
	for _, secret := range secrets {
		quoted, _ := json.Marshal(secret) // a text has no error
		inJSON := strings.Trim(string(quoted), `"`)
		forms = append(forms, secret, inJSON, strings.ReplaceAll(inJSON, "/", `\/`), url.QueryEscape(secret),
			url.PathEscape(secret))
	}
	slices.SortFunc(forms, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	var pairs []string
	for _, form := range slices.Compact(forms) {
		pairs = append(pairs, form, mark)
	}
	return strings.NewReplacer(pairs...)
}
