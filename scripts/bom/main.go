// Command bom says what is linked into a program built here, and under which licences:
//
//	bom check PROGRAM   compares the modules in PROGRAM and their licences with docs/licences.md
//	bom write PROGRAM   writes docs/licences.md
//	bom notices PROGRAM prints the licences' texts, which go along with the program
//	bom sbom PROGRAM [VERSION]
//	                    prints a bill of materials (CycloneDX 1.6, JSON); VERSION is that of a program that
//	                    does not run on this machine
//
// It runs in the repository's root. A licence that is not known, or not on the list of licences.go, is a fault.
package main

import (
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
)

func main() {
	if n := len(os.Args); n != 3 && (n != 4 || os.Args[1] != "sbom") {
		fmt.Fprintln(os.Stderr, "usage: bom check|write|notices PROGRAM; bom sbom PROGRAM [VERSION]")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bom:", err)
		os.Exit(1)
	}
}

const pageFile = "docs/licences.md"

func run(verb, program string, more []string, out io.Writer) error {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return err
	}
	modules, err := linked(info)
	if err != nil {
		return err
	}
	switch verb {
	case "sbom":
		version := strings.Join(more, "")
		if version == "" {
			if version, err = askVersion(program); err != nil {
				return err
			}
		}
		return writeSBOM(out, program, version, info, modules)
	case "notices":
		return writeNotices(out, modules)
	case "write":
		return os.WriteFile(pageFile, []byte(page(modules)), 0o666)
	case "check":
		return check(out, modules)
	}
	return fmt.Errorf("no verb %q: check, write, sbom or notices", verb)
}

// module is a module linked into a program.
type module struct {
	path, version string
	sum           string // go.sum's
	licence       string // SPDX expression
	dir           string // in the module cache
}

// linked lists the program's modules by path.
func linked(info *buildinfo.BuildInfo) (modules []module, err error) {
	dirs, err := moduleDirs()
	if err != nil {
		return nil, err
	}
	for _, d := range info.Deps {
		if d.Replace != nil {
			return nil, fmt.Errorf("%s is replaced; a program that is given away has no replaced modules", d.Path)
		}
		modules = append(modules, module{path: d.Path, version: d.Version, sum: d.Sum})
	}
	slices.SortFunc(modules, func(a, b module) int { return strings.Compare(a.path, b.path) })
	var faults []error
	for i, m := range modules {
		switch at := dirs[m.path]; {
		case at.version != m.version:
			faults = append(faults, fmt.Errorf("%s %s is linked, go.mod has %q: build the program again", m.path,
				m.version, at.version))
		case at.dir == "":
			faults = append(faults, fmt.Errorf("%s %s is not in the module cache; run 'go mod download %s'", m.path,
				m.version, m.path))
		default:
			modules[i].dir = at.dir
			modules[i].licence, err = licenceOf(m.path, at.dir)
			faults = append(faults, err)
		}
	}
	return modules, errors.Join(faults...)
}

type place struct{ version, dir string }

// moduleDirs asks go for the modules of go.mod; dir is "" for those that are not in the module cache.
func moduleDirs() (map[string]place, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Path}}\t{{.Version}}\t{{.Dir}}", "all").Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return nil, fmt.Errorf("go list -m all: %w: %s", err, exit.Stderr)
	}
	if err != nil {
		return nil, err
	}
	dirs := map[string]place{}
	for line := range strings.Lines(string(out)) {
		if f := strings.Split(strings.TrimRight(line, "\n"), "\t"); len(f) == 3 {
			dirs[f[0]] = place{f[1], f[2]}
		}
	}
	return dirs, nil
}
