package vendor

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Options say where an endpoint is and how to speak to it. Printing them shows no secret.
type Options struct {
	BaseURL string `json:"base_url"` // address without the path of a call
	Key     string `json:"-"`        // empty where none is needed
	// AzureVersion is the api-version of an Azure deployment, for vendors that have one; see llm/openai.
	AzureVersion string `json:"azure_version,omitempty"`
	// sent with each call, in place of others of the same name; may hold secrets
	Headers map[string]string `json:"-"`
	// Published are names of headers whose values stand in a configuration, where no key may stand.
	Published []string      `json:"-"`
	Timeout   time.Duration `json:"timeout"` // of one call, from connecting to the reply's last byte; > 0
	// AllowPlainHTTP sends keys over http:// to other machines too, where everybody on the way can read them.
	AllowPlainHTTP bool `json:"-"`
	// HTTP makes the calls; nil is a client for many connections. It never follows redirects, even if its policy allows
	// them: they would send the key to another host.
	HTTP *http.Client `json:"-"`
}

// Validate joins all faults of o that do not depend on the vendor. It never repeats a key or a header's value. example
// is a base URL for messages, paths are the paths of calls, which a base URL must not have.
func (o Options) Validate(example string, paths ...string) error {
	faults := []error{o.validateURL(example, paths), o.validatePlain()}
	if !isPrintable(o.Key) {
		faults = append(faults, errors.New("endpoint: the key holds a space, a line break or another byte that no key has: "+
			"copy it again"))
	}
	for name, value := range o.Headers {
		if !isPrintable(name) || name == "" || strings.ContainsFunc(value,
			func(r rune) bool { return r < ' ' || r == 0x7f }) {
			faults = append(faults, fmt.Errorf("endpoint: header %q cannot be sent: "+
				"its name or value holds a line break or the like", name))
		}
	}
	if o.Timeout <= 0 {
		faults = append(faults, fmt.Errorf("endpoint: time-out %s: give one above 0, such as 2m", o.Timeout))
	}
	return errors.Join(faults...)
}

// validateURL does not repeat a URL that may hold a password.
func (o Options) validateURL(example string, paths []string) error {
	u, err := url.Parse(o.BaseURL)
	switch {
	case err != nil:
		return fmt.Errorf("endpoint: the base URL cannot be read; it looks like %s", example)
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return errors.New("endpoint: the base URL holds a password, a query or a fragment: keys go in their own setting, " +
			"other secrets into headers")
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return fmt.Errorf("endpoint: base URL %q: it has to start with https:// or http:// and a host", o.BaseURL)
	}
	for _, path := range paths {
		if strings.HasSuffix(strings.TrimRight(u.Path, "/"), path) {
			return fmt.Errorf("endpoint: base URL %q: leave out %s", o.BaseURL, path)
		}
	}
	return nil
}

// validatePlain refuses keys that would go to another machine unencrypted.
func (o Options) validatePlain() error {
	if o.AllowPlainHTTP || len(o.Keys()) == 0 || !LeavesInPlain(o.BaseURL) {
		return nil
	}
	return fmt.Errorf("endpoint: a key would go to %s over plain http, where others can read it: give an https:// "+
		"address, ask without a key, or allow it with --allow-plain-http", o.Host())
}

// LeavesInPlain tells whether what is sent to an address leaves this machine unencrypted.
func LeavesInPlain(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return !strings.EqualFold(u.Hostname(), "localhost") && (ip == nil || !ip.IsLoopback())
}

// Keys are the secrets that calls send: Key, and the values of headers that nobody published.
func (o Options) Keys() []string {
	var keys []string
	if o.Key != "" {
		keys = append(keys, o.Key)
	}
	for name, value := range o.Headers {
		published := IsPublicHeader(name) || slices.Contains(o.Published, name) && !IsKeyHeader(name)
		if published || value == "" {
			continue
		}
		keys = append(keys, value)
		if words := strings.Fields(value); len(words) > 1 { // "Bearer KEY"
			keys = append(keys, words[len(words)-1])
		}
	}
	return keys
}

var keyHeaders = []string{"Authorization", "Proxy-Authorization", "Api-Key", "X-Api-Key", "Cookie", "X-Auth-Token",
	"X-Goog-Api-Key", "Ocp-Apim-Subscription-Key"}

// IsKeyHeader tells whether a header of that name holds a key.
func IsKeyHeader(name string) bool { return slices.Contains(keyHeaders, http.CanonicalHeaderKey(name)) }

var publicHeaders = []string{"Accept", "Accept-Language", "Anthropic-Beta", "Anthropic-Version", "Content-Type",
	"Http-Referer", "Openai-Beta", "Referer", "User-Agent", "X-Title"}

// IsPublicHeader tells whether a header of that name holds what anybody may read. Any other one may hold a key.
func IsPublicHeader(name string) bool {
	return slices.Contains(publicHeaders, http.CanonicalHeaderKey(name))
}

// HideHeaders gives a command line in which values of the flag --header that may be keys are hidden.
func HideHeaders(args []string) []string {
	shown := slices.Clone(args)
	hide := func(header string) string {
		name, _, given := strings.Cut(header, "=")
		if !given || IsPublicHeader(name) {
			return header
		}
		return name + "=[hidden]"
	}
	for i, arg := range args {
		flag, header, joined := strings.Cut(arg, "=")
		switch {
		case !strings.HasPrefix(arg, "-") || strings.TrimLeft(flag, "-") != "header":
		case joined:
			shown[i] = flag + "=" + hide(header)
		case i+1 < len(args):
			shown[i+1] = hide(args[i+1])
		}
	}
	return shown
}

func isPrintable(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r >= 0x7f })
}

// String names the endpoint and holds no secret.
func (o Options) String() string { return "endpoint " + o.Host() }

// GoString is String.
func (o Options) GoString() string { return o.String() }

// Host is that of BaseURL, with its port, for records and messages.
func (o Options) Host() string {
	if u, err := url.Parse(o.BaseURL); err == nil && u.Host != "" {
		return u.Host
	}
	return "(no host)"
}

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
