package importing

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/erreval/erreval/internal/regularfile"
)

// unknownLicence is in the manifest if the source names no licence.
const unknownLicence = "unknown"

// findLicence is the licence that a checkpoint's config.json or the front matter of its README.md names.
func findLicence(checkpoint fs.FS) string {
	var config struct{ License string }
	data, err := regularfile.ReadFS(checkpoint, "config.json", regularfile.MaxManifest)
	if err == nil && json.Unmarshal(data, &config) == nil && config.License != "" {
		return config.License
	}
	if data, err = regularfile.ReadFS(checkpoint, "README.md", regularfile.MaxManifest); err != nil {
		return unknownLicence
	}
	return frontMatterLicence(data)
}

// frontMatterLicence reads a model card as the hub wants it: YAML between two lines of ---, with a license, which is
// one name or a list, or "other" with a license_name.
func frontMatterLicence(card []byte) string {
	card = bytes.ReplaceAll(bytes.TrimPrefix(card, []byte("\ufeff")), []byte("\r\n"), []byte("\n"))
	rest, ok := bytes.CutPrefix(card, []byte("---\n"))
	matter, _, closed := bytes.Cut(rest, []byte("\n---"))
	var fields struct {
		License any    `yaml:"license"`
		Name    string `yaml:"license_name"`
	}
	if !ok || !closed || yaml.Unmarshal(matter, &fields) != nil {
		return unknownLicence
	}
	var names []string
	switch l := fields.License.(type) {
	case string:
		names = append(names, l)
	case []any:
		for _, one := range l {
			if name, ok := one.(string); ok {
				names = append(names, name)
			}
		}
	}
	if len(names) == 1 && names[0] == "other" && fields.Name != "" {
		names[0] = fields.Name
	}
	if len(names) == 0 {
		return unknownLicence
	}
	return strings.Join(names, " or ")
}
