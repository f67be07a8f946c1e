// Package vendor finds clients of language models by the name of the vendor whose API an endpoint speaks.
//
// A vendor's package, such as llm/openai, registers itself when it is imported. A program imports those that it offers:
//
//	import _ "github.com/erreval/erreval/llm/openai"
//
// [Find] then gives a [Vendor] by name, and [Vendor.New] makes a client of [Options].
package vendor

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/erreval/erreval/llm"
)

// Default is the name of the vendor whose API most endpoints speak. An empty name means it.
const Default = "openai"

// DefaultTimeout is the time-out of one call by default.
const DefaultTimeout = 2 * time.Minute

// Vendor is an API of language models, with its usual address and key.
type Vendor struct {
	Name       string // in settings; lower case
	BaseURL    string // of the vendor's own endpoint
	KeyEnv     string // environment variable that usually holds the key
	BaseURLEnv string // environment variable that usually holds another address
	// Validate joins all faults of options, including those of the address. It calls nothing and repeats no secret.
	Validate func(Options) error
	// New checks options and makes a client; it calls nothing. A client may have the method Rejected(model string)
	// []string: the names of the options that calls of a model leave out.
	New func(Options) (llm.Client, error)
}

// DefaultOptions are the vendor's own address and DefaultTimeout. The key is missing.
func (v *Vendor) DefaultOptions() Options {
	return Options{BaseURL: v.BaseURL, Timeout: DefaultTimeout}
}

// vendors are complete before a program's main begins.
var vendors = map[string]*Vendor{}

// Register adds v. It is for init functions of vendors' packages, and panics if v is incomplete or its name is used
// already.
func Register(v Vendor) {
	if v.Name == "" || v.BaseURL == "" || v.KeyEnv == "" || v.BaseURLEnv == "" || v.Validate == nil || v.New == nil {
		panic(fmt.Sprintf("vendor %q is incomplete", v.Name))
	}
	if vendors[v.Name] != nil {
		panic(fmt.Sprintf("vendor %q is registered twice", v.Name))
	}
	vendors[v.Name] = &v
}

// Find gives the vendor of that name; "" is Default. The error names the registered vendors.
func Find(name string) (*Vendor, error) {
	if name == "" {
		name = Default
	}
	v := vendors[name]
	if v == nil {
		return nil, fmt.Errorf("vendor %q is not known; there are: %s", name, strings.Join(Names(), ", "))
	}
	return v, nil
}

// Names are those of the registered vendors: Default first, the others in alphabetical order.
func Names() []string {
	names := slices.Sorted(maps.Keys(vendors))
	if i := slices.Index(names, Default); i > 0 {
		names = slices.Insert(slices.Delete(names, i, i+1), 0, Default)
	}
	return names
}
