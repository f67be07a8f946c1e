package openai

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Options say where the endpoint is and how to speak to it. Printing them shows no secret.
type Options struct {
	BaseURL string `json:"base_url"` // up to and without /chat/completions; "https://api.openai.com/v1"
	Key     string `json:"-"`        // sent as bearer token, or as api-key in Azure style; empty where none is needed
	// AzureVersion, where set, is the api-version of an Azure deployment: BaseURL is then the resource
	// ("https://NAME.openai.azure.com") and a request's model the name of the deployment.
	AzureVersion string            `json:"azure_version,omitempty"`
	Headers      map[string]string `json:"-"`       // sent with each call, over any of the same name; may hold secrets
	Timeout      time.Duration     `json:"timeout"` // of one call, from connecting to the reply's last byte; > 0
	// HTTP makes the calls; nil is a client with room for many connections. Redirects are never followed, whatever it says:
	// they would carry the key to another host.
	HTTP *http.Client `json:"-"`
}

// DefaultOptions are OpenAI's own address and two minutes a call. The key is missing.
func DefaultOptions() Options {
	return Options{BaseURL: "https://api.openai.com/v1", Timeout: 2 * time.Minute}
}

// Validate joins all faults of o. It never repeats a key or a header's value.
func (o Options) Validate() error {
	faults := []error{o.validateURL()}
	if !printable(o.Key) {
		faults = append(faults, errors.New("endpoint: the key holds a space, a line break or another byte that no key has: "+
			"copy it again"))
	}
	for name, value := range o.Headers {
		if !printable(name) || name == "" || strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			faults = append(faults, fmt.Errorf("endpoint: header %q cannot be sent: its name or value holds a line break or the like",
				name))
		}
	}
	if o.Timeout <= 0 {
		faults = append(faults, fmt.Errorf("endpoint: time-out %s: give one above 0, such as 2m", o.Timeout))
	}
	return errors.Join(faults...)
}

// validateURL says nothing of the URL's text where it may hold a password.
func (o Options) validateURL() error {
	u, err := url.Parse(o.BaseURL)
	switch {
	case err != nil:
		return errors.New("endpoint: the base URL cannot be read; it looks like https://api.openai.com/v1 or http://localhost:11434/v1")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return errors.New("endpoint: the base URL holds a password, a query or a fragment: keys go in their own setting, " +
			"other secrets into headers")
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return fmt.Errorf("endpoint: base URL %q: it has to start with https:// or http:// and a host", o.BaseURL)
	case strings.HasSuffix(strings.TrimRight(u.Path, "/"), "/chat/completions"):
		return fmt.Errorf("endpoint: base URL %q: leave out /chat/completions", o.BaseURL)
	}
	return nil
}

func printable(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r >= 0x7f })
}

// String names the endpoint and holds no secret.
func (o Options) String() string { return "endpoint " + o.host() }

// GoString is String.
func (o Options) GoString() string { return o.String() }

func (o Options) host() string {
	if u, err := url.Parse(o.BaseURL); err == nil && u.Host != "" {
		return u.Host
	}
	return "(no host)"
}
