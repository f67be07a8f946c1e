package judging

import (
	"fmt"
	"math"
	"strings"

	"github.com/erreval/erreval/internal/faults"
	"github.com/erreval/erreval/llm"
	"github.com/erreval/erreval/llm/vendor"
)

// Settings are those of one model.
type Settings struct {
	Name        string         // in --judge and in records
	Model       string         // as the endpoint names it
	Vendor      *vendor.Vendor // whose API the endpoint speaks
	Endpoint    vendor.Options
	KeyEnv      string // environment variable that holds the key; "" is the vendor's usual one
	Limits      llm.LimitOptions
	Temperature float64 // 0 to 2
	Seed        int64
	ReplyTokens int    // of a reply at most
	Lines       bool   // ask for lines of text instead of JSON
	File        string // configuration with an entry of the model, which then has its own client and limits; "" is none

	address string   // the entry's base_url; a flag or the environment may give Endpoint another one
	moved   string   // in words, why another endpoint than the entry's is asked; "" if it is the entry's
	others  []string // names of entries, of a model without one
}

// DefaultSettings are 16 calls in flight, 2 minutes a call, temperature and seed 0, and 1,000 tokens for a reply. Name,
// model, vendor and address are missing.
func DefaultSettings() Settings {
	return Settings{Endpoint: vendor.Options{Timeout: vendor.DefaultTimeout}, Limits: llm.DefaultLimitOptions(),
		ReplyTokens: 1000}
}

// Configured tells whether the configuration has an entry for the model.
func (s *Settings) Configured() bool { return s.File != "" }

// KeyVariable is the environment variable whose key the endpoint gets; "" is none.
func (s *Settings) KeyVariable() string {
	if s.KeyEnv == "" && s.address == "" {
		return s.Vendor.KeyEnv
	}
	return s.KeyEnv
}

// maxInFlight limits the calls in flight of one model, each of which has a connection.
const maxInFlight = 4096

// validate checks what flags and the file say together. Without calls, no key is needed.
func (s *Settings) validate(calls bool) error {
	var faults faults.List
	faults.Add(s.Vendor.Validate(s.Endpoint))
	faults.Add(s.Limits.Validate())
	faults.Check(s.Temperature >= 0 && s.Temperature <= 2, "--temperature %v: give 0 to 2", s.Temperature)
	n := s.Limits.InFlight
	faults.Check(n >= 1 && n <= maxInFlight, "--in-flight %d: give 1 to %d", n, maxInFlight)
	n = s.ReplyTokens
	faults.Check(n >= 1 && n <= math.MaxInt32, "--reply-tokens %d: give 1 to %d", n, math.MaxInt32)
	if calls && s.Endpoint.Key == "" {
		faults.Add(s.checkNoKey())
	}
	return faults.Err()
}

// checkNoKey says what to do where a key is missing and the endpoint needs one.
func (s *Settings) checkNoKey() error {
	usual := s.Vendor.BaseURL
	switch {
	case s.KeyEnv != "":
		return fmt.Errorf("judge %s: no key: set the environment variable %s, which its key_env names", s.Name, s.KeyEnv)
	case s.address == usual && s.address == s.Endpoint.BaseURL:
		return fmt.Errorf("judge %s: no key: say with key_env which environment variable holds it", s.Name)
	case s.Endpoint.BaseURL == usual:
		return fmt.Errorf("no key: set %s, or give an endpoint that needs none with --base-url or %s%s",
			s.Vendor.KeyEnv, s.Vendor.BaseURLEnv, s.nameEntries())
	}
	return nil
}

// nameEntries lists the entries of the configuration, in case the name is a typing error.
func (s *Settings) nameEntries() string {
	if len(s.others) == 0 {
		return ""
	}
	return fmt.Sprintf("; the configuration has no judge %q, but %s", s.Name, strings.Join(s.others, ", "))
}

// checkSameCalls is an error if two models make equal calls: one would get the other's replies.
func checkSameCalls(models []Settings) error {
	type call struct {
		vendor            *vendor.Vendor
		url, azure, model string
		temperature       float64
		seed              int64
		tokens            int
		lines             bool
	}
	seen := map[call]string{}
	for i := range models {
		s := &models[i]
		k := call{s.Vendor, s.Endpoint.BaseURL, s.Endpoint.AzureVersion, s.Model, s.Temperature, s.Seed,
			s.ReplyTokens, s.Lines}
		if first, ok := seen[k]; ok && first != s.Name {
			return fmt.Errorf("judges %s and %s are one model with the same settings; "+
				"ask one of them several times with --repeats", first, s.Name)
		}
		seen[k] = s.Name
	}
	return nil
}
