package judging

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/erreval/erreval/internal/regularfile"
	"github.com/erreval/erreval/llm/vendor"
)

// ConfigFile is the configuration that is looked for in the current directory.
const ConfigFile = "erreval.yaml"

// Sources are what Read takes settings from. Flags win over the environment, which wins over the file, which wins
// over the defaults.
type Sources struct {
	Names string // of models, with commas between them: "small,local"
	File  string // configuration that the user named; "" is ConfigFile, if it is there and trusted
	// UserFile is the user's own configuration, if it is there; "" is none. An entry of the other one takes the place of
	// its entry of that name as a whole: it gets no key that was meant for another address.
	UserFile string
	// Trusted tells whether the user has looked at ConfigFile as it is now: a stranger may have written it, and it says
	// where keys go. nil: no.
	Trusted func(file string, data []byte) (bool, error)
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
	if src.Trusted == nil {
		src.Trusted = func(string, []byte) (bool, error) { return false, nil }
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
	entries, err := src.readFiles()
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

// readFiles gives the entries of the user's own configuration, and over them those of another one.
func (src *Sources) readFiles() (map[string]Settings, error) {
	entries := map[string]Settings{}
	for _, file := range []string{src.UserFile, cmp.Or(src.File, ConfigFile)} {
		data, err := readConfig(file, file != src.File)
		if data == nil {
			if err != nil {
				return nil, err
			}
			continue
		}
		if file != src.UserFile && src.File == "" {
			if err := src.checkTrust(file, data); err != nil {
				return nil, err
			}
		}
		more, err := src.parseConfig(data, file)
		if err != nil {
			return nil, err
		}
		maps.Copy(entries, more)
	}
	return entries, nil
}

// readConfig reads a configuration; nil is none.
func readConfig(file string, optional bool) ([]byte, error) {
	if file == "" {
		return nil, nil
	}
	data, err := regularfile.Read(file, regularfile.Max)
	switch {
	case optional && errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("configuration: %w", err)
	}
	return data, nil
}

// checkTrust refuses a configuration that the user has not looked at.
func (src *Sources) checkTrust(file string, data []byte) error {
	ok, err := src.Trusted(file, data)
	if err == nil && !ok {
		err = fmt.Errorf("%s in this folder says where texts and keys are sent, and is not trusted as it is: read it, "+
			"then type: erreval trust .\nor name a configuration of your own with --config FILE", file)
	}
	return err
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
