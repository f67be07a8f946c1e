package main

import (
	"fmt"
	"go/build"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	architecturePage = "../../docs/architecture.md"
	roomsBegin       = "<!-- rooms:begin, made of the packages by make reference -->\n"
	roomsEnd         = "<!-- rooms:end -->\n"
	modulePath       = "github.com/erreval/erreval/"
)

// TestArchitecture: the table of rooms in docs/architecture.md is what the packages say of themselves.
func TestArchitecture(t *testing.T) {
	kept, err := os.ReadFile(architecturePage)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, begins := strings.Cut(string(kept), roomsBegin)
	_, tail, ends := strings.Cut(rest, roomsEnd)
	if !begins || !ends {
		t.Fatalf("%s has no place for the table: the lines %q and %q", architecturePage, roomsBegin, roomsEnd)
	}
	page := head + roomsBegin + makeRooms(t) + roomsEnd + tail
	if *update {
		if err := os.WriteFile(architecturePage, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if page != string(kept) {
		t.Errorf("the table in %s is not what the packages say of themselves; rewrite it: make reference", architecturePage)
	}
}

// makeRooms has a row for each package of the module: the first sentence of its document, and what it imports.
func makeRooms(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("| folder | what its package does | knows |\n|---|---|---|\n")
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
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", folder, cell(does), strings.Join(knownRooms(p.Imports, folder), ", "))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// knownRooms are the folders at the top of the module that imports lead to, but for the package's own and internal.
func knownRooms(imports []string, folder string) (rooms []string) {
	own, _, _ := strings.Cut(folder, "/")
	for _, name := range imports {
		room, ours := strings.CutPrefix(name, modulePath)
		if room, _, _ = strings.Cut(room, "/"); ours && room != own && room != "internal" {
			rooms = append(rooms, room)
		}
	}
	slices.Sort(rooms)
	return slices.Compact(rooms)
}
