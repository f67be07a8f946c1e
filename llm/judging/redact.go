package judging

import (
	"cmp"
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"github.com/erreval/erreval/llm"
)

// shortestKey is how long, in bytes, a key is that is taken out of replies: a shorter one may be an ordinary word.
const shortestKey = 8

// redactKeys takes the keys of all models out of the replies of c, before anybody else sees them. Errors have no keys:
// clients of endpoints see to that.
func (o *Options) redactKeys(c llm.Client) llm.Client {
	keys := o.keyReplacer()
	return llm.ClientFunc(func(ctx context.Context, r *llm.Request) (*llm.Reply, error) {
		reply, err := c.Complete(ctx, r)
		if err != nil {
			return nil, err
		}
		clean := *reply
		for _, text := range []*string{&clean.Text, &clean.Finish, &clean.Model} {
			*text = keys.Replace(*text)
		}
		return &clean, nil
	})
}

// keyReplacer replaces keys, as they are and as JSON and addresses spell them, the longest first.
func (o *Options) keyReplacer() *strings.Replacer {
	var forms []string
	for i := range o.Models {
		for _, key := range o.Models[i].Endpoint.Keys() {
			if len(key) < shortestKey {
				continue
			}
			quoted, _ := json.Marshal(key) // a text has no error
			inJSON := strings.Trim(string(quoted), `"`)
			forms = append(forms, key, inJSON, strings.ReplaceAll(inJSON, "/", `\/`), url.QueryEscape(key), url.PathEscape(key))
		}
	}
	slices.SortFunc(forms, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	var pairs []string
	for _, form := range slices.Compact(forms) {
		pairs = append(pairs, form, "[key]")
	}
	return strings.NewReplacer(pairs...)
}
