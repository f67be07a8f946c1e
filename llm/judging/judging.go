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
	"slices"
	"strings"

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
	// Warn is called once for each model in whose place another one answers; it may be nil.
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
