// Package commandline completes urfave/cli. It adds flags after file names, completion, errors that say what is right,
// and the reference page.
package commandline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/spelling"
	"github.com/erreval/erreval/internal/words"
)

// Reorder moves a command's flags before its positional arguments: urfave/cli v2 silently treats a flag after a
// positional argument as positional. "--" ends the flags, a single "-" is positional, and a flag with a value keeps it:
// the error is that of a flag without one, or of one that has two, of which urfave/cli silently takes the last.
func Reorder(app *cli.App, args []string) ([]string, error) {
	if len(args) == 0 {
		return args, nil
	}
	args = spellOut(args)
	below, flags, name := app.Commands, app.Flags, app.Name
	path, moved, rest := args[:1:1], []string{}, []string{}
	for i := 1; i < len(args); i++ {
		arg := args[i]
		switch {
		case arg == "--help" || arg == "-h":
			return append(path, "--help"), nil // whatever else stands there; urfave/cli takes arguments beside it for topics
		case arg == "--":
			rest = append(rest, args[i+1:]...)
			i = len(args)
		case strings.HasPrefix(arg, "-") && arg != "-":
			if joined := splitShort(flags, arg); joined != nil {
				moved = append(moved, joined...)
				continue
			}
			moved = append(moved, arg)
			if takesValue(flags, arg) {
				i++
				if err := checkValue(name, flags, arg, args[i:]); err != nil {
					return nil, err
				}
				moved = append(moved, args[i])
			}
		default:
			if len(below) == 0 {
				rest = append(rest, arg)
				continue
			}
			sub := findCommand(below, arg)
			if sub == nil { // without a command, the flags after it cannot be recognised
				return append(append(append(path, moved...), "--"), args[i:]...), nil
			}
			path = append(append(path, moved...), arg)
			below, flags, name, moved = sub.Subcommands, sub.Flags, name+" "+sub.Name, nil
		}
	}
	if err := checkRepeated(name, flags, moved); err != nil {
		return nil, err
	}
	out := append(path, moved...)
	if len(rest) > 0 {
		out = append(append(out, "--"), rest...)
	}
	return out, nil
}

// checkValue refuses what follows a flag of a command if it cannot be meant as the flag's value.
func checkValue(command string, flags []cli.Flag, flag string, following []string) error {
	needs := ""
	switch {
	case len(following) == 0 || following[0] == "--":
	case isFlag(flags, following[0]):
		needs = fmt.Sprintf(", and %[2]s behind it is a flag; where it is meant as the value, write %[1]s=%[2]s "+
			"(a file of that name: %[1]s ./%[2]s)", flag, following[0])
	default:
		return nil
	}
	return exit.Usagef("%s: flag %s needs a value%s\nsee '%[1]s --help'", command, flag, needs)
}

// checkRepeated refuses two values for a flag of a command that takes one.
func checkRepeated(command string, flags []cli.Flag, args []string) error {
	values := map[cli.Flag]string{}
	for i := 0; i < len(args); i++ {
		name, value, joined := strings.Cut(strings.TrimLeft(args[i], "-"), "=")
		flag := findFlag(flags, name)
		doc, ok := flag.(cli.DocGenerationFlag)
		if !ok || !doc.TakesValue() {
			continue
		}
		if !joined {
			i++
			value = args[i]
		}
		if slice, ok := flag.(cli.DocGenerationSliceFlag); ok && slice.IsSliceFlag() {
			continue
		}
		if before, twice := values[flag]; twice && before != value {
			return exit.Usagef("%s: flag --%s is given twice, with %s and %s; it takes one value", command, flag.Names()[0],
				words.Quote(before), words.Quote(value))
		}
		values[flag] = value
	}
	return nil
}

// isFlag tells whether an argument is a flag of the command, with a value behind "=" or without.
func isFlag(flags []cli.Flag, arg string) bool {
	name, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
	return strings.HasPrefix(arg, "-") && (name == "help" || name == "h" || findFlag(flags, name) != nil)
}

func findFlag(flags []cli.Flag, name string) cli.Flag {
	for _, f := range flags {
		if slices.Contains(f.Names(), name) {
			return f
		}
	}
	return nil
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
	doc, ok := findFlag(flags, name).(cli.DocGenerationFlag)
	return ok && doc.TakesValue() // of an unknown flag neither: the parser will refuse it
}
