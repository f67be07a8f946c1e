package judging

import (
	"maps"
	"slices"

	"github.com/erreval/erreval/internal/runrecord"
	"github.com/erreval/erreval/llm/vendor"
)

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
