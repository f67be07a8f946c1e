// Package commandline adds to urfave/cli: flags after file names, completion, errors that say what is right, and the
// reference page.
package commandline

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/internal/spelling"
)

// Reorder moves a command's flags before its positional arguments: urfave/cli v2 silently treats a flag after a
// positional argument as positional. "--" ends the flags, a single "-" is positional, and a flag with a value keeps it.
func Reorder(app *cli.App, args []string) []string {
	if len(args) == 0 {
		return args
	}
	args = spellOut(args)
	below, flags := app.Commands, app.Flags
	path, moved, rest := args[:1:1], []string{}, []string{}
	for i := 1; i < len(args); i++ {
		arg := args[i]
		switch {
		case arg == "--help" || arg == "-h":
			return append(path, "--help") // whatever else stands there; urfave/cli takes arguments beside it for topics
		case arg == "--":
			rest = append(rest, args[i+1:]...)
			i = len(args)
		case strings.HasPrefix(arg, "-") && arg != "-":
			if joined := splitShort(flags, arg); joined != nil {
				moved = append(moved, joined...)
				continue
			}
			moved = append(moved, arg)
			if takesValue(flags, arg) && i+1 < len(args) {
				i++
				moved = append(moved, args[i])
			}
		default:
			if len(below) == 0 {
				rest = append(rest, arg)
				continue
			}
			sub := findCommand(below, arg)
			if sub == nil { // without a command, the flags after it cannot be recognised
				return append(append(append(path, moved...), "--"), args[i:]...)
			}
			path = append(append(path, moved...), arg)
			below, flags, moved = sub.Subcommands, sub.Flags, nil
		}
	}
	out := append(path, moved...)
	if len(rest) > 0 {
		out = append(append(out, "--"), rest...)
	}
	return out
}

// spellOut puts flags in the place of "help" and "version", which people write like commands.
func spellOut(args []string) []string {
	switch {
	case len(args) > 1 && args[1] == "help":
		return append(append(args[:1:1], args[2:]...), "--help")
	case len(args) == 2 && args[1] == "version":
		return []string{args[0], "--version"}
	}
	return args
}

// splitShort parts a flag of one letter from the value that stands right behind it, as in -oFILE; nil where it is none.
// What looks like a misspelt flag is left to the parser.
func splitShort(flags []cli.Flag, arg string) []string {
	if len(arg) < 3 || strings.HasPrefix(arg, "--") || strings.Contains(arg[:3], "=") || !takesValue(flags, arg[:2]) {
		return nil
	}
	name, _, _ := strings.Cut(arg[1:], "=")
	var names []string
	for _, f := range flags {
		names = append(names, f.Names()...)
	}
	if slices.Contains(names, name) || spelling.Meant(name, names) != "" {
		return nil
	}
	return []string{arg[:2], arg[2:]}
}

func findCommand(commands []*cli.Command, name string) *cli.Command {
	for _, c := range commands {
		if c.HasName(name) {
			return c
		}
	}
	return nil
}

// takesValue tells whether the argument after arg belongs to it.
func takesValue(flags []cli.Flag, arg string) bool {
	name := strings.TrimLeft(arg, "-")
	if strings.Contains(name, "=") {
		return false
	}
	for _, f := range flags {
		if slices.Contains(f.Names(), name) {
			doc, ok := f.(cli.DocGenerationFlag)
			return ok && doc.TakesValue()
		}
	}
	return false // an unknown flag: the parser will refuse it
}
