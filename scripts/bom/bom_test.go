package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
)

// TestPageIsOfGoMod: whoever changes a version in go.mod is told to look at licences again.
func TestPageIsOfGoMod(t *testing.T) {
	data, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	required := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^\t(\S+) (v\S+)`).FindAllStringSubmatch(string(data), -1) {
		required[m[1]] = m[2]
	}
	page, err := os.ReadFile("../../" + pageFile)
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile(`(?m)^- (\S+\.\S+) (v\S+): (.+)$`).FindAllStringSubmatch(string(page), -1)
	if len(rows) < 30 {
		t.Fatalf("%d rows", len(rows))
	}
	for _, row := range rows {
		if required[row[1]] != row[2] {
			t.Errorf("%s lists %s %s, go.mod has %q: make audit says what to do", pageFile, row[1], row[2], required[row[1]])
		}
		for licence := range strings.SplitSeq(row[3], " AND ") {
			if !slices.Contains(allowed, licence) {
				t.Errorf("%s: licence %s is not on the list", row[1], licence)
			}
		}
	}
}

func TestLicenceOf(t *testing.T) {
	const (
		mit    = "Permission is hereby granted,\n  free of charge, to any person obtaining a copy\nof this software"
		bsd2   = "> Redistribution and use in source and\n> binary forms"
		apache = "Licensed under the Apache License, Version 2.0\nlimitations under the License.\n"
	)
	for name, c := range map[string]struct {
		files map[string]string
		want  string // or words of the error
	}{
		"mit":  {map[string]string{"LICENSE.md": mit, "LICENSE-LOGO": "?"}, "MIT"},
		"bsd2": {map[string]string{"COPYING": bsd2}, "BSD-2-Clause"},
		"bsd3": {map[string]string{"LICENCE": bsd2 + " endorse or promote products"}, "BSD-3-Clause"},
		"two": {map[string]string{"LICENSE": mit + apache, "LICENSE-SIL": "SIL Open Font License, Version 1.1"},
			"Apache-2.0 AND MIT AND OFL-1.1"},
		"none":     {map[string]string{"README": mit}, "it has no licence file"},
		"unknown":  {map[string]string{"LICENSE": "All rights reserved."}, "nobody knows the licence in LICENSE"},
		"copyleft": {map[string]string{"LICENSE": "GNU General Public License"}, "its licence GPL is not on the list"},
	} {
		dir := t.TempDir()
		for file, text := range c.files {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		got, err := licenceOf("m", dir)
		if err != nil {
			if got = err.Error(); strings.Contains(got, c.want) {
				continue
			}
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestBill checks what CycloneDX 1.6 requires, and that equal programs have equal bills.
func TestBill(t *testing.T) {
	info := &buildinfo.BuildInfo{GoVersion: "go1.26.8", Main: debug.Module{Path: "example.org/main"},
		Settings: []debug.BuildSetting{{Key: "-tags", Value: "x"}, {Key: "CGO_CFLAGS"}}}
	modules := []module{
		{path: "example.org/~a", version: "v1.0.0+incompatible", sum: "h1:x", licence: "MIT AND ISC"},
		{path: "example.org/b", version: "v1", sum: "h1:y", licence: "MIT"}}
	b := bill(info, modules, sha256.Sum256(nil), "v1.2.3")
	if b.BOMFormat != "CycloneDX" || b.SpecVersion != "1.6" || b.Version != 1 {
		t.Errorf("head: %+v", b)
	}
	if !regexp.MustCompile(`^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`).MatchString(b.SerialNumber) {
		t.Error(b.SerialNumber)
	}
	refs := map[string]bool{}
	for _, c := range append(b.Components, b.Metadata.Component) {
		if c.Type == "" || c.Name == "" || c.Version == "" || len(c.Licences) != 1 || refs[c.Ref] ||
			!regexp.MustCompile(`^pkg:(golang|pypi)/[\w./%-]+@[\w.%-]+$`).MatchString(c.PURL) {
			t.Errorf("%+v", c)
		}
		if l := c.Licences[0]; (l.Licence == nil) == (l.Expression == "") {
			t.Errorf("%s: %+v", c.Name, l)
		}
		refs[c.Ref] = true
	}
	if len(refs) != 5 {
		t.Errorf("components: %v", refs)
	}
	one, err := json.Marshal(b)
	two, again := json.Marshal(bill(info, modules, sha256.Sum256(nil), "v1.2.3"))
	if err != nil || again != nil || string(one) != string(two) {
		t.Error("the same program has two bills")
	}
}

func TestWriteNotices(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"LICENSE": "see licenses", "licenses/ftl.txt": "FreeType",
		"licenses/gpl.txt": "GNU",
		"README":           "hello", "LICENSE-LOGO": "a picture"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	var out strings.Builder
	if err := writeNotices(&out, []module{{path: "example.org/a", version: "v1", dir: dir}}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"example.org/a v1: LICENSE\n\nsee licenses\n", "example.org/a v1: ftl.txt\n\nFreeType\n",
		"standard library go1."} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q", want)
		}
	}
	if strings.Contains(out.String(), "GNU GENERAL") || strings.Contains(out.String(), "hello") ||
		strings.Contains(out.String(), "picture") {
		t.Error("what is no licence of the program is there")
	}
}
