package main

import (
	"errors"
	"fmt"
	"go/build"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

// allowed are the licences that this project, itself under Apache-2.0, may be linked with and given away.
var allowed = []string{"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC-BY-4.0", "FTL", "ISC", "MIT",
	"OFL-1.1", "blessing"}

// signs are words of a licence's text by which it is known, in lower case with single spaces.
var signs = map[string][]string{
	"Apache-2.0":   {"apache license", "version 2.0", "limitations under the license."},
	"BSD-3-Clause": {"redistribution and use in source and binary forms", "endorse or promote products"},
	"CC-BY-4.0":    {"creative commons attribution 4.0 international public license"},
	"GPL":          {"gnu general public license"},
	"ISC":          {"permission to use, copy, modify, and/or distribute this software for any purpose"},
	"MIT":          {"permission is hereby granted, free of charge, to any person obtaining a copy of this software"},
	"MPL-2.0":      {"mozilla public license"},
	"OFL-1.1":      {"sil open font license", "version 1.1"},
	"blessing":     {"sqlite is public domain"}, // SPDX's name for SQLite's dedication
}

// decided are licences that a person read, where the text leaves a choice, or leaves out the words of signs.
var decided = map[string]string{
	"github.com/aws/smithy-go":   "Apache-2.0", // without its appendix
	"github.com/golang/freetype": "FTL",        // or GPL-2.0-or-later, as one likes
}

var (
	licenceFile = regexp.MustCompile(`^(LICEN[CS]E|COPYING|UNLICENSE)`)
	// Of a picture in memory's documentation; a link to the text beside it; notices of what is in the module, of which
	// sqlite's and libc's say themselves that what is linked is MIT, BSD-3-Clause or in the public domain.
	beside   = regexp.MustCompile(`-LOGO$|-link\.txt$|-3RD-PARTY\.md$`)
	notWords = regexp.MustCompile(`[\s>*#]+`)
)

// licenceOf reads the licence files in the module's folder.
func licenceOf(path, dir string) (string, error) {
	if licence, ok := decided[path]; ok {
		return licence, nil
	}
	texts, err := readLicences(dir, licenceFile)
	if err != nil {
		return "", err
	}
	var all []string
	for _, t := range texts {
		found := classify(t.text)
		if len(found) == 0 {
			return "", fmt.Errorf("%s: nobody knows the licence in %s; read it and add its words to scripts/bom", path, t.name)
		}
		all = append(all, found...)
	}
	slices.Sort(all)
	all = slices.Compact(all)
	if len(all) == 0 {
		return "", fmt.Errorf("%s: it has no licence file, so it may not be given away", path)
	}
	for _, l := range all {
		if !slices.Contains(allowed, l) {
			return "", fmt.Errorf("%s: its licence %s is not on the list of scripts/bom: replace the module, or decide "+
				"and add it", path, l)
		}
	}
	return strings.Join(all, " AND "), nil
}

type licenceText struct{ name, text string }

// readLicences reads the files of dir that are called as names says.
func readLicences(dir string, names *regexp.Regexp) (texts []licenceText, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if e.IsDir() || !names.MatchString(e.Name()) || beside.MatchString(e.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		texts = append(texts, licenceText{e.Name(), string(text)})
	}
	return texts, nil
}

// noticeFiles are what goes along with a program, by folder: licences, and notices that they ask to keep.
var noticeFiles = map[string]*regexp.Regexp{
	".":                    regexp.MustCompile(`^(LICEN[CS]E|COPYING|UNLICENSE|NOTICE|PATENTS)`),
	"licenses":             regexp.MustCompile(`^ftl\.txt$`), // freetype's; see decided
	"THIRD_PARTY_LICENSES": regexp.MustCompile(`LICENSE`),
}

// writeNotices prints the licences' texts of Go and of the modules in the program.
func writeNotices(out io.Writer, modules []module) error {
	all := append([]module{{path: "Go, runtime and standard library", version: runtime.Version(),
		dir: build.Default.GOROOT}},
		modules...)
	for _, m := range all {
		for _, folder := range slices.Sorted(maps.Keys(noticeFiles)) {
			texts, err := readLicences(filepath.Join(m.dir, folder), noticeFiles[folder])
			if err != nil && (folder == "." || !errors.Is(err, fs.ErrNotExist)) {
				return err
			}
			for _, t := range texts {
				fmt.Fprintf(out, "%s\n%s %s: %s\n\n%s\n", strings.Repeat("=", 80), m.path, m.version, t.name, t.text)
			}
		}
	}
	return nil
}

// classify names the licences whose words a text has.
func classify(text string) (found []string) {
	text = notWords.ReplaceAllString(strings.ToLower(text), " ")
	for name, words := range signs {
		if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) }) {
			found = append(found, name)
		}
	}
	if strings.Contains(text, signs["BSD-3-Clause"][0]) && !slices.Contains(found, "BSD-3-Clause") {
		found = append(found, "BSD-2-Clause")
	}
	return found
}

const pageHead = `# Licences of what is linked

The modules in the program, by ` + "`go run ./scripts/bom write bin/erreval`" + `; ` + "`make audit`" + ` compares. Each licence's
text is in its module (` + "`go mod download`" + `); whoever gives the program away gives the texts along.

Besides there are Go's runtime and standard library (BSD-3-Clause), the default model (Apache-2.0; what it learnt from
is in its [card](../models/embedded/default/CARD.md)) and ONNX Runtime (MIT), which is fetched and not included.

`

const pageTail = `
` + "`AND`" + `: parts of a module have different licences. freetype is used under FTL, not GPL. "blessing" is SPDX's name for
SQLite's public domain. Code that modules took from others is under licences of the same kind: see
` + "`THIRD_PARTY_LICENSES`" + ` in gonum, ` + "`LICENSE-3RD-PARTY.md`" + ` in modernc.org's. Portions of this software are copyright ©
The FreeType Project (www.freetype.org). SVGo (CC-BY-4.0) is by Anthony Starks and unchanged.

## The page of reports

The program, and each report file that it writes, has the page's script, and in it packages from npm: Preact,
markdown-to-jsx (MIT), Observable Plot, parts of D3, and isoformat (ISC). Versions and licences are in
[LICENCES.txt](../report/page/dist/LICENCES.txt), which the build of the page writes; it fails at a licence of another
kind. ` + "`report/page/package-lock.json`" + ` has the hashes.
`

func page(modules []module) string {
	var b strings.Builder
	b.WriteString(pageHead)
	for _, m := range modules {
		fmt.Fprintf(&b, "- %s %s: %s\n", m.path, m.version, m.licence)
	}
	b.WriteString(pageTail)
	return b.String()
}

func check(out io.Writer, modules []module) error {
	data, err := os.ReadFile(pageFile)
	if err != nil {
		return err
	}
	if string(data) != page(modules) {
		return errors.New(pageFile + " is not what is linked: 'go run ./scripts/bom write PROGRAM', and look at what changed")
	}
	fmt.Fprintf(out, "%d modules, each with a licence on the list; %s says so\n", len(modules), pageFile)
	return nil
}
