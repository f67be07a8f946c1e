// Package judging asks language models under one budget, and remembers their replies.
//
// [Read] gives the [Settings] of models by name, from erreval.yaml and from a program's flags and environment. [New]
// makes a [Session] from [Options]: clients of the vendors' endpoints, with prices. [Session.Open] adds the journal,
// the budget, rate limits and retries. scorer.NewPanel, scorer.NewLabeller and llmsim.New take [Session.Models].
// [Session.Forecast] says what calls would cost, [Session.Usage] what they did cost, [Options.Record] how they were
// made.
//
// Settings are named in messages as the flags of the command line are, such as --max-cost.
package judging

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/erreval/erreval/internal/runrecord"
	"github.com/erreval/erreval/llm/journal"
	"github.com/erreval/erreval/llm/vendor"
)

// Options say which models a run asks, and within which limits.
type Options struct {
	Models   []Settings // see Read; each has another name
	Base     Settings   // of models that the configuration does not name, for the record
	Budget   journal.Budget
	Prices   string // file; "" is the built-in list
	Journal  string // file of replies and costs
	Repeats  int    // of each question, for the record
	Attempts int    // for one answer, for record and forecast
	// KeepPrompts keeps in the journal what is asked, beside each reply; see journal.Client.KeepPrompts.
	KeepPrompts bool
	// ReplayRejected takes replies from the journal that could not be used in an earlier run either; see
	// journal.Client.ReplayRejected.
	ReplayRejected bool
	// Warn is called once for each model in whose place another one answers, and where calls wait long; it may be nil.
	Warn func(format string, args ...any)
	// Calls tells whether models are called. Otherwise there is only a forecast, and the journal is only read.
	Calls bool
}

// Names are those of the models.
func (o *Options) Names() []string {
	var names []string
	for i := range o.Models {
		names = append(names, o.Models[i].Name)
	}
	return names
}

// InFlight is the largest number of calls in flight for all models together, at least 1. Models without an entry in the
// configuration share one limit.
func (o *Options) InFlight() int {
	n, shared := 0, 0
	for i := range o.Models {
		if s := &o.Models[i]; s.Configured() {
			n += s.Limits.InFlight
		} else {
			shared = s.Limits.InFlight
		}
	}
	return max(n+shared, 1)
}

// Validate joins all faults of o.
func (o *Options) Validate() error {
	faults, seen := []error{o.Budget.Validate()}, false
	for i := range o.Models {
		if s := &o.Models[i]; s.Configured() || !seen { // those without an entry have the same faults
			faults, seen = append(faults, s.validate(o.Calls)), seen || !s.Configured()
		}
	}
	return errors.Join(append(faults, checkSameCalls(o.Models), o.checkHeaders())...)
}

// checkHeaders refuses headers of the command line that hold keys where they would go to several hosts: one of them
// gets what is meant for another.
func (o *Options) checkHeaders() error {
	var secret, hosts []string
	for name := range o.Base.Endpoint.Headers {
		if !vendor.IsPublicHeader(name) {
			secret = append(secret, name)
		}
	}
	for i := range o.Models {
		hosts = append(hosts, o.Models[i].Endpoint.Host())
	}
	slices.Sort(hosts)
	if hosts = slices.Compact(hosts); len(secret) == 0 || len(hosts) < 2 {
		return nil
	}
	slices.Sort(secret)
	return fmt.Errorf("--header %s may hold a key, and would go to %s: ask the judges of one host at a time, or name "+
		"each one's key with key_env in the configuration", strings.Join(secret, ", "), strings.Join(hosts, " and "))
}

// Record describes the models of a run for its record. It holds no key, header's value or path. Endpoint, vendor,
// azure_version, temperature, reply_tokens, lines and seed are those of models without an entry in the configuration;
// in erreval score, seed also chooses the planted errors and the audited rows.
type Record struct {
	Judge        []string `json:"judge"`
	Endpoint     string   `json:"endpoint,omitempty"` // host
	Vendor       string   `json:"vendor,omitempty"`   // absent where it is the default
	AzureVersion string   `json:"azure_version,omitempty"`
	runrecord.Reading
	Repeats     int              `json:"repeats"`
	Attempts    int              `json:"attempts"`
	Temperature float64          `json:"temperature"`
	Seed        int64            `json:"seed"`
	ReplyTokens int              `json:"reply_tokens"`
	Lines       bool             `json:"lines"`
	Template    string           `json:"template"`             // id, and hash of its file
	Configured  map[string]Entry `json:"configured,omitempty"` // models with an entry
}

// Entry is a model with an entry of the configuration, in a Record. It holds no key, no header's value and no path.
type Entry struct {
	Model        string   `json:"model"`
	Endpoint     string   `json:"endpoint"`         // host
	Vendor       string   `json:"vendor,omitempty"` // absent where it is the default
	AzureVersion string   `json:"azure_version,omitempty"`
	Headers      []string `json:"headers,omitempty"` // names
	Temperature  float64  `json:"temperature"`
	Seed         int64    `json:"seed"`
	ReplyTokens  int      `json:"reply_tokens"`
	Lines        bool     `json:"lines"`
}

// Record says how the models are asked about rows, with a template.
func (o *Options) Record(rows runrecord.Reading, template string) Record {
	base := &o.Base
	rec := Record{
		Judge: o.Names(), Endpoint: base.Endpoint.Host(), Vendor: base.vendorName(),
		AzureVersion: base.Endpoint.AzureVersion, Reading: rows, Repeats: o.Repeats, Attempts: o.Attempts,
		Temperature: base.Temperature, Seed: base.Seed, ReplyTokens: base.ReplyTokens, Lines: base.Lines, Template: template,
	}
	for i := range o.Models {
		if s := &o.Models[i]; s.Configured() {
			if rec.Configured == nil {
				rec.Configured = map[string]Entry{}
			}
			rec.Configured[s.Name] = s.entry()
		}
	}
	if len(rec.Configured) == len(o.Models) {
		rec.Endpoint, rec.Vendor, rec.AzureVersion = "", "", "" // no call went there
	}
	return rec
}

func (s *Settings) entry() Entry {
	return Entry{
		Model: s.Model, Endpoint: s.Endpoint.Host(), Vendor: s.vendorName(), AzureVersion: s.Endpoint.AzureVersion,
		Headers: slices.Sorted(maps.Keys(s.Endpoint.Headers)), Temperature: s.Temperature, Seed: s.Seed,
		ReplyTokens: s.ReplyTokens, Lines: s.Lines,
	}
}

// vendorName is empty for the default: records from before there were others have none.
func (s *Settings) vendorName() string {
	if s.Vendor.Name == vendor.Default {
		return ""
	}
	return s.Vendor.Name
}
