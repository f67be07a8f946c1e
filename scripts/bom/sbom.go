package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/erreval/erreval/internal/nativelib"
	"github.com/erreval/erreval/internal/plainjson"
)

// The parts of CycloneDX 1.6 that are used here.
type sbom struct {
	BOMFormat    string      `json:"bomFormat"`    // CycloneDX
	SpecVersion  string      `json:"specVersion"`  // 1.6
	SerialNumber string      `json:"serialNumber"` // urn:uuid, made from the program's bytes
	Version      int         `json:"version"`
	Metadata     metadata    `json:"metadata"`
	Components   []component `json:"components"`
}

type metadata struct {
	Component component `json:"component"`
}

type component struct {
	Type       string     `json:"type"` // application or library
	Ref        string     `json:"bom-ref"`
	Name       string     `json:"name"`
	Version    string     `json:"version"`
	Scope      string     `json:"scope,omitempty"` // required or optional
	Hashes     []hashed   `json:"hashes,omitempty"`
	Licences   []licence  `json:"licenses"`
	PURL       string     `json:"purl"`
	Properties []property `json:"properties,omitempty"`
}

type hashed struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

// licence has one of both.
type licence struct {
	Licence    *licenceID `json:"license,omitempty"`
	Expression string     `json:"expression,omitempty"`
}

type licenceID struct {
	ID string `json:"id"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

func askVersion(program string) (string, error) {
	said, err := exec.Command(program, "--version").Output()
	version, ok := strings.CutPrefix(strings.TrimSpace(string(said)), "erreval version ")
	if err != nil || !ok {
		return "", errors.Join(fmt.Errorf("%s --version says %q", program, said), err)
	}
	return version, nil
}

// writeSBOM writes the bill of materials of a program. Of the same bytes it is the same.
func writeSBOM(out io.Writer, program, version string, info *buildinfo.BuildInfo, modules []module) error {
	data, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	return plainjson.Write(out, bill(info, modules, sha256.Sum256(data), version))
}

func bill(info *buildinfo.BuildInfo, modules []module, sum [sha256.Size]byte, version string) *sbom {
	u := sum
	u[6], u[8] = u[6]&0x0f|0x80, u[8]&0x3f|0x80 // UUID version 8: made as the maker likes
	b := &sbom{BOMFormat: "CycloneDX", SpecVersion: "1.6", Version: 1,
		SerialNumber: fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:16])}
	root := newComponent("golang", info.Main.Path, version, "Apache-2.0")
	root.Type, root.Hashes = "application", []hashed{{"SHA-256", hex.EncodeToString(sum[:])}}
	for _, s := range info.Settings {
		if s.Value != "" {
			root.Properties = append(root.Properties, property{"build:" + s.Key, s.Value})
		}
	}
	b.Metadata.Component = root
	b.Components = append(b.Components, newComponent("golang", "std", strings.TrimPrefix(info.GoVersion, "go"),
		"BSD-3-Clause"))
	for _, m := range modules {
		c := newComponent("golang", m.path, m.version, m.licence)
		c.Properties = []property{{"go.sum", m.sum}}
		b.Components = append(b.Components, c)
	}
	library := newComponent("pypi", "onnxruntime", nativelib.Version, "MIT")
	library.Scope = "optional" // fetched by 'erreval setup', not in the program
	b.Components = append(b.Components, library)
	return b
}

func newComponent(kind, name, version, licences string) component {
	c := component{Type: "library", Name: name, Version: version, Scope: "required"}
	c.PURL = "pkg:" + kind + "/" + strings.NewReplacer("~", "%7E").Replace(name) + "@" + strings.ReplaceAll(version, "+",
		"%2B")
	c.Ref = c.PURL
	if strings.Contains(licences, " ") {
		c.Licences = []licence{{Expression: licences}}
	} else {
		c.Licences = []licence{{Licence: &licenceID{licences}}}
	}
	return c
}
