package judging

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/erreval/erreval/llm/vendor"
)

// ConfigFile is the configuration that is looked for in the current directory.
const ConfigFile = "erreval.yaml"

// Sources are what Read takes settings from. Flags win over the environment, which wins over the file, which wins
// over the defaults.
type Sources struct {
	Names string // of models, with commas between them: "small,local"
	File  string // configuration; "" is ConfigFile, if it is there
	// Base has the settings, from flags, environment and defaults, of a model that the file does not name; see
	// DefaultSettings. Read adds address and key. A Base without a vendor has vendor.Default.
	Base Settings
	// Given tells whether a flag, or its variable in the environment, has a value: the file's value is then checked but
	// not used. nil: no flag has one.
	Given func(flag string) bool
	// BaseURL is the address that flag or environment give for endpoints of a vendor; "" or a nil function: none.
	BaseURL func(*vendor.Vendor) string
	Getenv  func(name string) string         // reads the environment, for keys; nil: it is empty
	Warn    func(format string, args ...any) // is called with warnings for the user; may be nil
}

// fillDefaults replaces nil fields by defaults.
func (src *Sources) fillDefaults() (err error) {
	if src.Base.Vendor == nil {
		src.Base.Vendor, err = vendor.Find(vendor.Default)
	}
	if src.Given == nil {
		src.Given = func(string) bool { return false }
	}
	if src.BaseURL == nil {
		src.BaseURL = func(*vendor.Vendor) string { return "" }
	}
	if src.Getenv == nil {
		src.Getenv = func(string) string { return "" }
	}
	if src.Warn == nil {
		src.Warn = func(string, ...any) {}
	}
	return err
}

// Read gives the settings of the models that src names, and those of a model without an entry in the file. A name
// without an entry is a model of Base's vendor. Faults of the file are joined, each as "file:line: what".
func Read(src Sources) (models []Settings, base Settings, err error) {
	if err := src.fillDefaults(); err != nil {
		return nil, Settings{}, err
	}
	entries, err := src.readFile()
	if err != nil {
		return nil, Settings{}, err
	}
	base = src.base(src.Base.Vendor)
	for name := range strings.SplitSeq(src.Names, ",") {
		if name = strings.TrimSpace(name); name == "" {
			return nil, Settings{}, fmt.Errorf("--judge %q: a name is missing beside a comma", src.Names)
		}
		s, ok := entries[name]
		if !ok {
			s = base
			s.Name, s.Model = name, name
			s.others = slices.Sorted(maps.Keys(entries))
		}
		if s.KeyEnv != "" {
			s.Endpoint.Key = src.Getenv(s.KeyEnv)
		}
		if s.moved != "" {
			src.Warn("judge %s is asked %s in %s", name, s.moved, s.File)
		}
		models = append(models, s)
	}
	return models, base, nil
}

func (src *Sources) readFile() (map[string]Settings, error) {
	file := cmp.Or(src.File, ConfigFile)
	data, err := os.ReadFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist) && src.File == "":
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("configuration: %w", err)
	}
	return src.parseConfig(data, file)
}

// base gives the settings of a model of v without an entry in the file.
func (src *Sources) base(v *vendor.Vendor) Settings {
	s := src.Base
	s.Endpoint.BaseURL = cmp.Or(strings.TrimRight(src.BaseURL(v), "/"), v.BaseURL)
	s.Endpoint.Key = src.Getenv(v.KeyEnv)
	if v != s.Vendor {
		s.Vendor, s.Endpoint.AzureVersion = v, "" // the flags' address is for the flags' vendor
	}
	return s
}
