package main

import (
	"fmt"
	"go/build"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

const (
	architecturePage = "../../docs/architecture.md"
	packagesBegin    = "<!-- packages:begin, made of the packages by make reference -->\n\n"
	packagesEnd      = "\n<!-- packages:end -->\n"
)

// TestArchitecture: the list of packages in docs/architecture.md is what the packages say of themselves.
func TestArchitecture(t *testing.T) {
	kept, err := os.ReadFile(architecturePage)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, begins := strings.Cut(string(kept), packagesBegin)
	_, tail, ends := strings.Cut(rest, packagesEnd)
	if !begins || !ends {
		t.Fatalf("%s has no place for the list: the lines %q and %q", architecturePage, packagesBegin, packagesEnd)
	}
	page := head + packagesBegin + makePackages(t) + packagesEnd + tail
	if *update {
		if err := os.WriteFile(architecturePage, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if page != string(kept) {
		t.Errorf("the list in %s is not what the packages say of themselves; rewrite it: make reference", architecturePage)
	}
}

// makePackages lists the packages of the module, with the first sentence of each document.
func makePackages(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	machine := build.Default
	machine.GOOS, machine.GOARCH, machine.CgoEnabled = "linux", "amd64", true
	err := filepath.WalkDir("../..", func(dir string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		folder := filepath.ToSlash(strings.TrimPrefix(dir, "../../"))
		_, notOurs := os.Stat(filepath.Join(dir, "go.mod"))
		if strings.HasPrefix(folder, ".") && dir != "../.." || folder == "node_modules" || dir != "../.." && notOurs == nil {
			return fs.SkipDir
		}
		p, err := machine.ImportDir(dir, 0)
		if err != nil || len(p.GoFiles)+len(p.CgoFiles) == 0 {
			return nil //nolint:nilerror // a folder of something else
		}
		if p.Doc == "" {
			t.Errorf("%s: the package has no document", folder)
		}
		does := strings.TrimPrefix(strings.TrimPrefix(p.Doc, "Command "), "Package ")
		does = strings.TrimRight(strings.TrimPrefix(does, path.Base(folder)+" "), ".:")
		fmt.Fprintf(&b, "- `%s` %s\n", folder, cell(does))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}
