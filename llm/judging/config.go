package judging

import (
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/erreval/erreval/internal/strictyaml"
	"github.com/erreval/erreval/llm/vendor"
)

// ParseConfig gives the settings of all models in a configuration, by name, as they are without flags and environment.
// The error joins all faults, each as "file:line: what".
func ParseConfig(data []byte, file string) ([]Settings, error) {
	src := Sources{Base: DefaultSettings()}
	if err := src.fillDefaults(); err != nil {
		return nil, err
	}
	entries, err := src.parseConfig(data, file)
	var models []Settings
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		models = append(models, entries[name])
	}
	return models, err
}

type config struct {
	strictyaml.Reader
	src    *Sources
	judges map[string]Settings
}

// parseConfig reads a configuration strictly. The error joins all faults, each as "file:line: what".
func (src *Sources) parseConfig(data []byte, file string) (map[string]Settings, error) {
	c := &config{Reader: strictyaml.Reader{File: file}, src: src, judges: map[string]Settings{}}
	if root := c.Document(data, "configuration"); root != nil {
		c.Mapping(root, "a configuration", strictyaml.Need("judges", c.Names(c.readModel)))
	}
	return c.judges, c.Err()
}

func (c *config) readModel(name string, n *yaml.Node) {
	if strings.TrimSpace(name) != name || strings.Contains(name, ",") {
		c.Fault(n.Line, "judge %q: --judge cannot name it, for the comma or space in its name", name)
	}
	e := entryEndpoint{Vendor: c.vendorOf(n)}
	s := c.src.base(e.Vendor)
	if c.src.Given("vendor") {
		s = c.src.base(c.src.Base.Vendor)
	}
	s.Name, s.Model, s.File = name, name, c.File
	c.Mapping(n, "judge "+strconv.Quote(name),
		strictyaml.May("model", c.Text(&s.Model)),
		strictyaml.May("base_url", c.address(e.Vendor, &e.BaseURL)),
		strictyaml.May("azure_version", c.azureVersion(e.Vendor, &e.AzureVersion)),
		strictyaml.May("key_env", c.keyEnv(&e.KeyEnv)),
		strictyaml.May("headers", c.headers(&e)),
		strictyaml.May("temperature", c.Float(free(c, "temperature", &s.Temperature), "a number of 0 to 2",
			func(x float64) bool { return x >= 0 && x <= 2 })),
		strictyaml.May("seed", c.seed(free(c, "seed", &s.Seed))),
		strictyaml.May("reply_tokens", c.IntFrom(1, free(c, "reply-tokens", &s.ReplyTokens))),
		strictyaml.May("lines", c.Flag(free(c, "lines", &s.Lines))),
		strictyaml.May("timeout", c.duration(free(c, "timeout", &s.Endpoint.Timeout))),
		strictyaml.May("rpm", c.IntFrom(0, free(c, "rpm", &s.Limits.RPM))),
		strictyaml.May("tpm", c.IntFrom(0, free(c, "tpm", &s.Limits.TPM))),
		strictyaml.May("in_flight", c.IntFrom(1, free(c, "in-flight", &s.Limits.InFlight))),
		strictyaml.May("vendor", c.readVendor),
	)
	s.setEndpoint(e, c.src)
	c.judges[name] = s
}

// vendorOf is the vendor that an entry names, which decides the keys of its endpoint. It does not report an unknown
// name: readVendor does.
func (c *config) vendorOf(n *yaml.Node) *vendor.Vendor {
	name := vendor.Default
	for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == "vendor" {
			name = n.Content[i+1].Value
		}
	}
	if v, err := vendor.Find(name); err == nil {
		return v
	}
	return c.src.Base.Vendor
}

func (c *config) readVendor(key string, n *yaml.Node) {
	var name string
	before := c.Faults()
	if c.Text(&name)(key, n); c.Faults() > before {
		return
	}
	if _, err := vendor.Find(name); err != nil {
		c.Fault(n.Line, "%v", err)
	}
}

// free is dst, or, if a flag decides, a value that is not used.
func free[T any](c *config, flag string, dst *T) *T {
	if c.src.Given(flag) {
		return new(T)
	}
	return dst
}

// entryEndpoint holds the settings that belong to one address: they are not used with another one.
type entryEndpoint struct {
	Vendor                        *vendor.Vendor
	BaseURL, AzureVersion, KeyEnv string
	Headers                       map[string]string
}

func (s *Settings) setEndpoint(e entryEndpoint, src *Sources) {
	if e.Vendor != s.Vendor { // --vendor wins
		s.moved = "by the API of --vendor " + s.Vendor.Name + ", not by that of its vendor"
		return
	}
	if e.BaseURL != "" {
		if s.address = e.BaseURL; src.BaseURL(s.Vendor) != "" && s.Endpoint.BaseURL != e.BaseURL {
			s.moved = "at the address of --base-url or " + s.Vendor.BaseURLEnv + ", not at its base_url"
			return
		}
		s.Endpoint.BaseURL, s.Endpoint.Key = e.BaseURL, "" // the usual key is not for every address
	}
	if e.BaseURL != "" && e.AzureVersion == "" || e.AzureVersion != "" && !src.Given("azure-version") {
		s.Endpoint.AzureVersion = e.AzureVersion
	}
	s.KeyEnv = e.KeyEnv
	headers := map[string]string{}
	for _, from := range []map[string]string{e.Headers, s.Endpoint.Headers} { // flags last
		for name, value := range from {
			headers[http.CanonicalHeaderKey(name)] = value
		}
	}
	s.Endpoint.Headers, s.Endpoint.Published = headers, nil
	for name, value := range e.Headers {
		if name = http.CanonicalHeaderKey(name); headers[name] == value {
			s.Endpoint.Published = append(s.Endpoint.Published, name)
		}
	}
}

func (c *config) address(v *vendor.Vendor, dst *string) strictyaml.Value {
	return func(key string, n *yaml.Node) {
		c.Text(dst)(key, n)
		*dst = strings.TrimRight(*dst, "/")
		if *dst != "" {
			c.checkOption(key, n, v, func(o *vendor.Options) { o.BaseURL = *dst })
		}
	}
}

func (c *config) azureVersion(v *vendor.Vendor, dst *string) strictyaml.Value {
	return func(key string, n *yaml.Node) {
		c.Text(dst)(key, n)
		c.checkOption(key, n, v, func(o *vendor.Options) { o.AzureVersion = *dst })
	}
}

// checkOption asks the vendor whether its endpoints can have a setting.
func (c *config) checkOption(key string, n *yaml.Node, v *vendor.Vendor, set func(*vendor.Options)) {
	o := v.DefaultOptions()
	if set(&o); v.Validate(o) != nil {
		c.Fault(n.Line, "%s: %v", key, v.Validate(o))
	}
}

// keyName matches names of environment variables; few keys match it.
var keyName = regexp.MustCompile(`^[A-Z_][A-Z0-9_]{0,63}$`)

func (c *config) keyEnv(dst *string) strictyaml.Value {
	return func(key string, n *yaml.Node) {
		if n.Kind != yaml.ScalarNode || !keyName.MatchString(n.Value) { // it may be a key, which no message repeats
			c.Fault(n.Line, "%s: the name of an environment variable is expected, in capital letters such as MY_KEY; "+
				"a key itself does not belong in the file", key)
			return
		}
		*dst = n.Value
	}
}

func (c *config) headers(e *entryEndpoint) strictyaml.Value {
	e.Headers = map[string]string{}
	return c.Names(func(name string, n *yaml.Node) {
		var value string
		if c.Text(&value)("header "+name, n); vendor.IsKeyHeader(name) {
			c.Fault(n.Line, "header %s: a key does not belong in the file: name the environment variable that holds it "+
				"with key_env, or give --header", name)
			return
		}
		e.Headers[name] = value
		o := e.Vendor.DefaultOptions()
		if o.Headers = map[string]string{name: value}; e.Vendor.Validate(o) != nil {
			c.Fault(n.Line, "header %q: its name or value cannot be sent", name)
		}
	})
}

func (c *config) seed(dst *int64) strictyaml.Value {
	return func(key string, n *yaml.Node) {
		var seed int
		c.Int(&seed)(key, n)
		*dst = int64(seed)
	}
}

func (c *config) duration(dst *time.Duration) strictyaml.Value {
	return func(key string, n *yaml.Node) {
		d, err := time.ParseDuration(n.Value)
		if err != nil || d <= 0 || n.Kind != yaml.ScalarNode {
			c.Fault(n.Line, "%s: a time such as 30s or 2m is expected, not %q", key, n.Value)
			return
		}
		*dst = d
	}
}
