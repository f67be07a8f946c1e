package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/regularfile"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/internal/trust"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/llm/judging"
	"github.com/erreval/erreval/training/refine"
)

func trustCommand(e *env) *cli.Command {
	return &cli.Command{
		Name: "trust", Usage: "let the configuration in a folder say where keys go and which programs run", ArgsUsage: "DIR",
		Description: `What erreval.yaml and refine.yaml of a folder would do; from now on they may:
   erreval trust .
   erreval trust work

Read it first where somebody else made the folder. It holds until a file changes (of refine.yaml only python
and trainer count) or moves, and no longer with --remove:
   erreval trust --remove work

Configuration of your own needs none of this: $XDG_CONFIG_HOME/erreval/config.yaml (or ~/.config/erreval),
and what --config names.`,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "remove", Usage: "trust the folder's files no longer"},
			&cli.BoolFlag{Name: "list", Usage: "list the files that are trusted as they were once, and change nothing"},
		},
		Action: func(ctx *cli.Context) error { return runTrust(ctx, e) },
	}
}

func runTrust(ctx *cli.Context, e *env) error {
	store, out := trust.NewStore(e.Getenv), run.Guard(e.Out)
	if ctx.Bool("list") {
		if err := wantArgs(ctx, 0, 0, "no folder with --list"); err != nil {
			return err
		}
		files, err := store.Files()
		for _, file := range files {
			fmt.Fprintln(out, file)
		}
		return err
	}
	if err := wantArgs(ctx, 1, 1, "one folder"); err != nil {
		return err
	}
	if ctx.Bool("remove") {
		return removeTrust(out, store, ctx.Args().First())
	}
	return addTrust(out, store, ctx.Args().First())
}

// trustedFile is a configuration that a folder may have.
type trustedFile struct {
	name string
	// describe says what the configuration would do, and gives the part of it that trust depends on; nil is none.
	describe func(data []byte, file string) (lines []string, deciding []byte, err error)
}

var trustedFiles = []trustedFile{{judging.ConfigFile, describeJudges}, {refine.ConfigFile, describePrograms}}

func addTrust(out io.Writer, store *trust.Store, dir string) error {
	found := false
	for _, f := range trustedFiles {
		file := filepath.Join(dir, f.name)
		data, err := regularfile.Read(file, regularfile.Max)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
			continue
		}
		if err != nil {
			return err
		}
		lines, deciding, err := f.describe(data, file)
		if err != nil {
			return err
		}
		found = true
		for _, line := range lines {
			fmt.Fprintln(out, line)
		}
		if deciding == nil {
			continue
		}
		if err := store.Add(file, deciding); err != nil {
			return err
		}
		fmt.Fprintf(out, "trusted: %s\n", file)
	}
	if !found {
		return exit.Usagef("%s has neither %s nor %s", dir, judging.ConfigFile, refine.ConfigFile)
	}
	return nil
}

func removeTrust(out io.Writer, store *trust.Store, dir string) error {
	found := false
	for _, f := range trustedFiles {
		file := filepath.Join(dir, f.name)
		removed, err := store.Remove(file)
		if err != nil {
			return err
		}
		if removed {
			found = true
			fmt.Fprintf(out, "no longer trusted: %s\n", file)
		}
	}
	if !found {
		return exit.Usagef("nothing in %s is trusted; see erreval trust --list", dir)
	}
	return nil
}

func describeJudges(data []byte, file string) (lines []string, deciding []byte, err error) {
	judges, err := judging.ParseConfig(data, file)
	if err != nil {
		return nil, nil, err
	}
	for i := range judges {
		s := &judges[i]
		line := fmt.Sprintf("%s sends texts for judge %s to %s with ", file, s.Name, s.Endpoint.BaseURL)
		line += cmp.Or(s.KeyVariable(), "no key")
		if names := slices.Sorted(maps.Keys(s.Endpoint.Headers)); len(names) > 0 {
			line += " and headers " + strings.Join(names, ", ")
		}
		lines = append(lines, line)
	}
	return lines, data, nil
}

func describePrograms(data []byte, file string) (lines []string, deciding []byte, err error) {
	c, err := refine.ParseConfig(data, file)
	if err != nil {
		return nil, nil, err
	}
	if len(c.Trainer) > 0 {
		lines = append(lines, file+" runs as trainer: "+words.QuoteAll(c.Trainer))
	}
	if c.Python != "" {
		lines = append(lines, file+" runs as Python: "+words.Quote(c.Python))
	}
	if lines == nil {
		lines = []string{file + " runs no program of its own, and needs no trust"}
	}
	return lines, c.Programs(), nil
}
