package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
	"gopkg.in/yaml.v3"

	"github.com/erreval/erreval/internal/strictyaml"
	"github.com/erreval/erreval/llm"
	"github.com/erreval/erreval/llm/openai"
)

// configFile is looked for in the current directory.
const configFile = "erreval.yaml"

// judgeSettings are those of one judge: flags and the environment over its entry in erreval.yaml over the defaults.
type judgeSettings struct {
	Name        string // in --judge and in records
	Model       string // as the endpoint names it
	Endpoint    openai.Options
	KeyEnv      string // environment variable that holds the key; "" is the usual one
	Limits      llm.LimitOptions
	Temperature float64
	Seed        int64
	ReplyTokens int
	Lines       bool
	File        string   // that has an entry of it, and with it a client and limits of its own; "" is none
	Address     string   // the entry's base_url; Endpoint has another where a flag or the environment took its place
	Others      []string // names of entries, of a judge without one
}

func (s *judgeSettings) own() bool { return s.File != "" }

// seats are the judges that --judge names. A name without an entry is a model at the default endpoint.
func seats(ctx *cli.Context, e *env, base judgeSettings) ([]judgeSettings, error) {
	entries, err := openConfig(ctx, base)
	if err != nil {
		return nil, withCode(exitUsage, err)
	}
	var out []judgeSettings
	for name := range strings.SplitSeq(ctx.String("judge"), ",") {
		if name = strings.TrimSpace(name); name == "" {
			return nil, usagef("--judge %q: a name is missing beside a comma", ctx.String("judge"))
		}
		s, ok := entries[name]
		if !ok {
			s = base
			s.Name, s.Model = name, name
			s.Others = slices.Sorted(maps.Keys(entries))
		}
		if s.KeyEnv != "" {
			s.Endpoint.Key = e.getenv(s.KeyEnv)
		}
		if s.Address != "" && s.Address != s.Endpoint.BaseURL {
			e.warn("judge %s is asked at the address of --base-url or OPENAI_BASE_URL, not at its base_url in %s", name, s.File)
		}
		out = append(out, s)
	}
	return out, nil
}

// openConfig reads the entries of the file that --config names, or of erreval.yaml if it is there.
func openConfig(ctx *cli.Context, base judgeSettings) (map[string]judgeSettings, error) {
	file := cmp.Or(ctx.String("config"), configFile)
	data, err := os.ReadFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist) && ctx.String("config") == "":
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("configuration: %w", err)
	}
	return parseConfig(data, file, base, func(flag string) bool {
		return ctx.IsSet(flag) && ctx.Value(flag) != "" // an empty variable says nothing
	})
}

// config reads erreval.yaml.
type config struct {
	strictyaml.Reader
	base   judgeSettings
	given  func(flag string) bool // by a flag or the environment: the file's value is checked, and not taken
	judges map[string]judgeSettings
}

// parseConfig reads a configuration strictly. The error joins all faults, each as "file:line: what".
func parseConfig(data []byte, file string, base judgeSettings, given func(flag string) bool) (map[string]judgeSettings, error) {
	c := &config{Reader: strictyaml.Reader{File: file}, base: base, given: given, judges: map[string]judgeSettings{}}
	if root := c.Document(data, "configuration"); root != nil {
		c.Mapping(root, "a configuration", strictyaml.Need("judges", c.Names(c.judge)))
	}
	return c.judges, c.Err()
}

func (c *config) judge(name string, n *yaml.Node) {
	if strings.TrimSpace(name) != name || strings.Contains(name, ",") {
		c.Fault(n.Line, "judge %q: --judge cannot name it, for the comma or space in its name", name)
	}
	s := c.base
	s.Name, s.Model, s.File = name, name, c.File
	var e entryEndpoint
	c.Mapping(n, "judge "+strconv.Quote(name),
		strictyaml.May("model", c.Text(&s.Model)),
		strictyaml.May("base_url", c.address(&e.BaseURL)),
		strictyaml.May("azure_version", c.Text(&e.AzureVersion)),
		strictyaml.May("key_env", c.keyEnv(&e.KeyEnv)),
		strictyaml.May("headers", c.headers(&e)),
		strictyaml.May("temperature", c.Float(free(c, "temperature", &s.Temperature), "a number of 0 to 2", func(x float64) bool { return x >= 0 && x <= 2 })),
		strictyaml.May("seed", c.seed(free(c, "seed", &s.Seed))),
		strictyaml.May("reply_tokens", c.IntFrom(1, free(c, "reply-tokens", &s.ReplyTokens))),
		strictyaml.May("lines", c.Flag(free(c, "lines", &s.Lines))),
		strictyaml.May("timeout", c.duration(free(c, "timeout", &s.Endpoint.Timeout))),
		strictyaml.May("rpm", c.IntFrom(0, free(c, "rpm", &s.Limits.RPM))),
		strictyaml.May("tpm", c.IntFrom(0, free(c, "tpm", &s.Limits.TPM))),
		strictyaml.May("in_flight", c.IntFrom(1, free(c, "in-flight", &s.Limits.InFlight))),
	)
	s.reach(e, c.given)
	c.judges[name] = s
}

// free is dst, or where a flag decides, a place that nobody looks at.
func free[T any](c *config, flag string, dst *T) *T {
	if c.given(flag) {
		return new(T)
	}
	return dst
}

// entryEndpoint is what belongs to one address: none of it goes to another.
type entryEndpoint struct {
	BaseURL, AzureVersion, KeyEnv string
	Headers                       map[string]string
}

// reach points s to the endpoint of its entry.
func (s *judgeSettings) reach(e entryEndpoint, given func(string) bool) {
	if e.BaseURL != "" {
		if s.Address = e.BaseURL; given("base-url") && s.Endpoint.BaseURL != e.BaseURL {
			return
		}
		s.Endpoint.BaseURL, s.Endpoint.Key = e.BaseURL, "" // the usual key is not for every address
	}
	if e.BaseURL != "" && e.AzureVersion == "" || e.AzureVersion != "" && !given("azure-version") {
		s.Endpoint.AzureVersion = e.AzureVersion
	}
	s.KeyEnv = e.KeyEnv
	headers := map[string]string{}
	for _, from := range []map[string]string{e.Headers, s.Endpoint.Headers} { // flags last
		for name, value := range from {
			headers[http.CanonicalHeaderKey(name)] = value
		}
	}
	s.Endpoint.Headers = headers
}

func (c *config) address(dst *string) strictyaml.Value {
	return func(key string, n *yaml.Node) {
		c.Text(dst)(key, n)
		*dst = strings.TrimRight(*dst, "/")
		if err := (openai.Options{BaseURL: *dst, Timeout: 1}).Validate(); *dst != "" && err != nil {
			c.Fault(n.Line, "%s: %v", key, err)
		}
	}
}

// keyName is how environment variables are written; few keys look like it.
var keyName = regexp.MustCompile(`^[A-Z_][A-Z0-9_]{0,63}$`)

func (c *config) keyEnv(dst *string) strictyaml.Value {
	return func(key string, n *yaml.Node) {
		if n.Kind != yaml.ScalarNode || !keyName.MatchString(n.Value) { // it may be a key, which is not repeated
			c.Fault(n.Line, "%s: the name of an environment variable is expected, in capital letters such as MY_KEY; a key itself does not belong in the file", key)
			return
		}
		*dst = n.Value
	}
}

// keyHeaders carry keys.
var keyHeaders = []string{"Authorization", "Proxy-Authorization", "Api-Key", "X-Api-Key", "Cookie"}

func (c *config) headers(e *entryEndpoint) strictyaml.Value {
	e.Headers = map[string]string{}
	return c.Names(func(name string, n *yaml.Node) {
		var value string
		if c.Text(&value)("header "+name, n); slices.Contains(keyHeaders, http.CanonicalHeaderKey(name)) {
			c.Fault(n.Line, "header %s: a key does not belong in the file: name the environment variable that holds it with key_env, or give --header", name)
			return
		}
		e.Headers[name] = value
		o := openai.DefaultOptions()
		if o.Headers = map[string]string{name: value}; o.Validate() != nil {
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

// maxInFlight calls of one judge: as many connections are open.
const maxInFlight = 4096

// validate checks what flags and the file say together.
func (s *judgeSettings) validate(calls bool) error {
	faults := []error{s.Endpoint.Validate(), s.Limits.Validate()}
	check := func(ok bool, format string, args ...any) {
		if !ok {
			faults = append(faults, fmt.Errorf(format, args...))
		}
	}
	check(s.Temperature >= 0 && s.Temperature <= 2, "--temperature %v: give 0 to 2", s.Temperature)
	check(s.Limits.InFlight >= 1 && s.Limits.InFlight <= maxInFlight, "--in-flight %d: give 1 to %d", s.Limits.InFlight, maxInFlight)
	check(s.ReplyTokens >= 1 && s.ReplyTokens <= math.MaxInt32, "--reply-tokens %d: give 1 to %d", s.ReplyTokens, math.MaxInt32)
	switch {
	case s.Endpoint.Key != "" || !calls:
	case s.KeyEnv != "":
		check(false, "judge %s: no key: set the environment variable %s, which its key_env names", s.Name, s.KeyEnv)
	case s.Address == openai.DefaultOptions().BaseURL && s.Address == s.Endpoint.BaseURL:
		check(false, "judge %s: no key: say with key_env which environment variable holds it", s.Name)
	case s.Endpoint.BaseURL == openai.DefaultOptions().BaseURL:
		check(false, "no key: set OPENAI_API_KEY, or give an endpoint that needs none with --base-url or OPENAI_BASE_URL%s", s.noEntry())
	}
	return errors.Join(faults...)
}

// noEntry says that the name may be a slip of the pen.
func (s *judgeSettings) noEntry() string {
	if len(s.Others) == 0 {
		return ""
	}
	return fmt.Sprintf("; the configuration has no judge %q, but %s", s.Name, strings.Join(s.Others, ", "))
}

// sameCalls names two judges who would be asked the very same: one would get the other's replies.
func sameCalls(judges []judgeSettings) error {
	type call struct {
		url, azure, model string
		temperature       float64
		seed              int64
		tokens            int
		lines             bool
	}
	seen := map[call]string{}
	for i := range judges {
		s := &judges[i]
		k := call{s.Endpoint.BaseURL, s.Endpoint.AzureVersion, s.Model, s.Temperature, s.Seed, s.ReplyTokens, s.Lines}
		if first, ok := seen[k]; ok && first != s.Name {
			return fmt.Errorf("judges %s and %s are one model with the same settings; ask one of them several times with --repeats", first, s.Name)
		}
		seen[k] = s.Name
	}
	return nil
}

// judgeEntry is a judge with an entry in the run record. It holds no key, no header's value and no path.
type judgeEntry struct {
	Model        string   `json:"model"`
	Endpoint     string   `json:"endpoint"` // host
	AzureVersion string   `json:"azure_version,omitempty"`
	Headers      []string `json:"headers,omitempty"` // names
	Temperature  float64  `json:"temperature"`
	Seed         int64    `json:"seed"`
	ReplyTokens  int      `json:"reply_tokens"`
	Lines        bool     `json:"lines"`
}

func (s *judgeSettings) entry() judgeEntry {
	return judgeEntry{Model: s.Model, Endpoint: hostOf(s.Endpoint.BaseURL), AzureVersion: s.Endpoint.AzureVersion,
		Headers: slices.Sorted(maps.Keys(s.Endpoint.Headers)), Temperature: s.Temperature, Seed: s.Seed, ReplyTokens: s.ReplyTokens, Lines: s.Lines}
}
