package commandline

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/spelling"
	"github.com/erreval/erreval/internal/words"
)

// nearestFlags is how many flags are shown in the place of one that there is not.
const nearestFlags = 3

// ExplainUsage turns a parser's message into one that names the command and what it accepts.
func ExplainUsage(ctx *cli.Context, err error, _ bool) error {
	path, flags := ctx.Command.HelpName, ctx.Command.VisibleFlags()
	names := make([]string, len(flags))
	for i, f := range flags {
		names[i] = f.Names()[0]
	}
	text := err.Error()
	unknown, isUnknown := strings.CutPrefix(text, "flag provided but not defined: -")
	if isUnknown {
		text = fmt.Sprintf("unknown flag --%s%s", unknown, didYouMean("--", unknown, names))
	}
	if ctx.Command.Name == ctx.App.Name && isUnknown {
		return exit.Usagef("%s; the flags of a command stand behind its name", text)
	}
	said := "its flags are"
	if isUnknown && len(names) > nearestFlags {
		said, names = "the nearest of its flags are", spelling.Nearest(unknown, names, nearestFlags)
	}
	return exit.Usagef("%s: %s\n%s --%s\nsee '%s --help'", path, text, said, strings.Join(names, ", --"), path)
}

// didYouMean suggests the one of names that is most similar to name, with prefix before it. "" if none is similar.
func didYouMean(prefix, name string, names []string) string {
	if meant := spelling.Meant(name, names); meant != "" {
		return "; did you mean " + prefix + meant + "?"
	}
	return ""
}

// NeedCommand is the error for a command line that names no command, or one that does not exist.
func NeedCommand(ctx *cli.Context) error {
	path, below := ctx.Command.HelpName, ctx.Command.VisibleCommands()
	names := make([]string, len(below))
	for i, c := range below {
		names[i] = c.Name
	}
	list := strings.Join(names, ", ")
	got := ctx.Args().First()
	if _, err := os.Stat(got); err == nil && slices.Contains(names, "identify") {
		return exit.Usagef("%s needs a command before the file, as in: %[1]s identify %s -o OUT", path, words.Quote(got))
	}
	if got != "" {
		return exit.Usagef("%s has no command %q%s\nits commands are %s", path, got, didYouMean("", got, names), list)
	}
	return exit.Usagef("%s needs a command: %s\nsee '%s --help'", path, list, path)
}
