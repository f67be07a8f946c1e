package judging

import (
	"context"
	"slices"
	"strings"

	"github.com/erreval/erreval/llm"
	"github.com/erreval/erreval/llm/vendor"
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

// keyReplacer takes the keys of all models out of texts.
func (o *Options) keyReplacer() *strings.Replacer {
	var keys []string
	for i := range o.Models {
		keys = append(keys, o.Models[i].Endpoint.Keys()...)
	}
	return vendor.Hide(slices.DeleteFunc(keys, func(key string) bool { return len(key) < shortestKey }), "[key]")
}
