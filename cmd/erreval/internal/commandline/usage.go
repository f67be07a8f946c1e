package commandline

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"unicode"

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
		said, names = "the nearest of its flags are", nearest(unknown, flags, names)
	}
	return exit.Usagef("%s: %s\n%s --%s\nsee '%s --help'", path, text, said, strings.Join(names, ", --"), path)
}

// nearest are the names of a few flags: those first whose usage has a placeholder that begins as unknown does, such as
// HOST:PORT, then those spelled most like it.
func nearest(unknown string, flags []cli.Flag, names []string) []string {
	var near []string
	for i, f := range flags {
		doc, ok := f.(cli.DocGenerationFlag)
		if ok && len(unknown) > 2 && slices.ContainsFunc(placeholders(doc.GetUsage()), func(word string) bool {
			return strings.HasPrefix(word, strings.ToUpper(unknown))
		}) {
			near = append(near, names[i])
		}
	}
	for _, name := range spelling.Nearest(unknown, names, nearestFlags) {
		if !slices.Contains(near, name) {
			near = append(near, name)
		}
	}
	return near[:min(nearestFlags, len(near))]
}

// placeholders are the words of a usage in capitals.
func placeholders(usage string) []string {
	all := strings.FieldsFunc(usage, func(r rune) bool { return !unicode.IsLetter(r) })
	return slices.DeleteFunc(all, func(word string) bool { return word != strings.ToUpper(word) })
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
