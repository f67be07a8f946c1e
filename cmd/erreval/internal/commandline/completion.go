package commandline

import (
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/internal/exit"
)

// CompleteCommand is the hidden first argument with which the completion scripts ask for candidates.
const CompleteCommand = "__complete"

// completionScripts call the program for candidates; if there are none, the shell completes file names.
var completionScripts = map[string]string{
	"bash": `_erreval() {
  local cur="${COMP_WORDS[COMP_CWORD]}"
  COMPREPLY=($(compgen -W "$(erreval __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)" -- "$cur"))
}
complete -o default -o bashdefault -F _erreval erreval
`,
	"zsh": `#compdef erreval
_erreval() {
  local -a candidates
  candidates=("${(@f)$(erreval __complete "${words[@]:1:$((CURRENT-1))}" 2>/dev/null)}")
  if [[ -n "$candidates" ]]; then compadd -a candidates; else _files; fi
}
compdef _erreval erreval
if [[ "$funcstack[1]" == _erreval ]]; then _erreval; fi
`,
	"fish": `function __erreval_complete
  set -l words (commandline -opc) (commandline -ct)
  erreval __complete $words[2..-1] 2>/dev/null
end
complete -c erreval -a '(__erreval_complete)'
`,
}

// CompletionScript is the script for bash, zsh or fish.
func CompletionScript(shell string) (string, error) {
	script, ok := completionScripts[shell]
	if !ok {
		return "", exit.Usagef("no completion for the shell %q; there is one for bash, zsh and fish", shell)
	}
	return script, nil
}

// WriteCandidates writes the candidates for the last of words, one a line.
func WriteCandidates(w io.Writer, app *cli.App, words []string) {
	if len(words) == 0 {
		words = []string{""}
	}
	before, last := words[:len(words)-1], words[len(words)-1]
	below, flags := app.Commands, app.Flags
	for _, word := range before {
		if sub := findCommand(below, word); sub != nil {
			below, flags = sub.Subcommands, sub.Flags
		}
	}
	if n := len(before); n > 0 && takesValue(flags, before[n-1]) && strings.HasPrefix(before[n-1], "-") {
		return // a flag's value: file names
	}
	for _, name := range candidates(below, flags, strings.HasPrefix(last, "-")) {
		if strings.HasPrefix(name, last) {
			fmt.Fprintln(w, name)
		}
	}
}

func candidates(commands []*cli.Command, flags []cli.Flag, wantFlags bool) []string {
	var names []string
	if wantFlags {
		for _, f := range flags {
			names = append(names, "--"+f.Names()[0])
		}
		return append(names, "--help")
	}
	for _, c := range commands {
		if !c.Hidden {
			names = append(names, c.Name)
		}
	}
	return names
}
