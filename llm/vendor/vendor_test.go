package vendor_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/erreval/erreval/llm"
	"github.com/erreval/erreval/llm/vendor"
)

// own is a vendor that this test registers.
var own = vendor.Vendor{Name: "own", BaseURL: "https://own.example", KeyEnv: "OWN_KEY", BaseURLEnv: "OWN_URL",
	Validate: func(o vendor.Options) error { return o.Validate("https://own.example", "/ask") },
	New:      func(vendor.Options) (llm.Client, error) { return nil, nil }}

func init() {
	vendor.Register(own)
	first := own
	first.Name = "another"
	vendor.Register(first)
	usual := own
	usual.Name = vendor.Default
	vendor.Register(usual)
}

func TestFind(t *testing.T) {
	for name, want := range map[string]string{"own": "own", "": vendor.Default, vendor.Default: vendor.Default} {
		if v, err := vendor.Find(name); err != nil || v.Name != want {
			t.Errorf("%q: %v, %v", name, v, err)
		}
	}
	if _, err := vendor.Find("none"); err == nil ||
		err.Error() != `vendor "none" is not known; there are: openai, another, own` {
		t.Errorf("%v", err)
	}
	if want := []string{vendor.Default, "another", "own"}; !slices.Equal(vendor.Names(), want) {
		t.Errorf("%v, want %v", vendor.Names(), want)
	}
}

// TestRegister: two vendors of one name, and one that lacks something, are mistakes of the program.
func TestRegister(t *testing.T) {
	half := own
	half.Name, half.New = "half", nil
	for want, v := range map[string]vendor.Vendor{`"own" is registered twice`: own, `"half" is incomplete`: half} {
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.Contains(got, want) {
					t.Errorf("panic %q, want %q", got, want)
				}
			}()
			vendor.Register(v)
		}()
	}
}

// TestPlainHTTP: a key leaves the machine encrypted, unless somebody allows otherwise; without a key any address will
// do.
func TestPlainHTTP(t *testing.T) {
	key := vendor.Options{Key: "sk-0123456789"}
	header := vendor.Options{Headers: map[string]string{"api-key": "sk-0123456789"}}
	for _, c := range []struct {
		url     string
		o       vendor.Options
		allowed bool
	}{
		{"https://h.example/v1", key, true}, {"http://localhost:8000/v1", key, true}, {"http://LOCALHOST", key, true},
		{"http://127.0.0.1:1", key, true}, {"http://127.8.9.1", key, true}, {"http://[::1]:8000", key, true},
		{"http://h.example/v1", key, false}, {"HTTP://h.example/v1", key, false}, {"http://10.0.0.7", key, false},
		{"http://localhost.example", key, false}, {"http://127.0.0.1.example", key, false}, {"http://[::2]", key, false},
		{"http://0.0.0.0", key, false}, {"http://h.example", header, false}, {"http://127.0.0.1", header, true},
		{"http://h.example", vendor.Options{}, true},
		{"http://h.example", vendor.Options{Headers: map[string]string{"X-Title": "red"}}, true},
		{"http://h.example", vendor.Options{Headers: map[string]string{"X-Team": "red"}}, false},
	} {
		o := c.o
		o.BaseURL, o.Timeout = c.url, vendor.DefaultTimeout
		err := own.Validate(o)
		if (err == nil) != c.allowed || err != nil && (!strings.Contains(err.Error(), "--allow-plain-http") ||
			strings.Contains(err.Error(), "sk-")) {
			t.Errorf("%s: %v", c.url, err)
		}
		if o.AllowPlainHTTP = true; own.Validate(o) != nil {
			t.Errorf("%s is refused although it is allowed", c.url)
		}
	}
}

func TestOptions(t *testing.T) {
	o := own.DefaultOptions()
	if err := own.Validate(o); err != nil || o.Host() != "own.example" || o.String() != "endpoint own.example" {
		t.Errorf("%v: %v", o, err)
	}
	o.BaseURL, o.Key, o.Headers = "https://own.example/ask", "sk secret", map[string]string{"a b": "secret"}
	err := own.Validate(o)
	for _, want := range []string{"leave out /ask", "the key holds a space", `header "a b" cannot be sent`} {
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%v; want %q", err, want)
		}
	}
}

// Whatever a header may hold is a key, unless everybody may read it, or it stands in a configuration.
func TestKeys(t *testing.T) {
	o := vendor.Options{Key: "sk-key", Headers: map[string]string{"X-Gateway": "gateway-secret",
		"Authorization": "Bearer token-1",
		"User-Agent":    "erreval", "X-Team": "evaluation", "Cookie": "session=1"}, Published: []string{"X-Team", "Cookie"}}
	keys := o.Keys()
	slices.Sort(keys)
	want := []string{"Bearer token-1", "gateway-secret", "session=1", "sk-key", "token-1"}
	if !slices.Equal(keys, want) {
		t.Errorf("the keys are %q, want %q", keys, want)
	}
	o = vendor.Options{BaseURL: "http://example.org/v1", Headers: map[string]string{"X-Gateway": "gateway-secret"},
		Timeout: 1}
	if err := o.Validate("https://example.org/v1"); err == nil || !strings.Contains(err.Error(), "plain http") {
		t.Errorf("a header's value goes over plain http: %v", err)
	}
}

// A command line is printed without the keys in its headers.
func TestHideHeaders(t *testing.T) {
	got := vendor.HideHeaders([]string{"erreval", "score", "--header", "Authorization=Bearer k", "-header=x-api-key=k=k",
		"--header=X-Title=mine", "header", "Cookie=k", "--header"})
	want := []string{"erreval", "score", "--header", "Authorization=[hidden]", "-header=x-api-key=[hidden]",
		"--header=X-Title=mine", "header", "Cookie=k", "--header"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
