package main

import (
	"io"

	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/cmd/erreval/internal/commandline"
)

func completionCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "completion",
		Usage:     "print the completion script of a shell",
		ArgsUsage: "bash|zsh|fish",
		Description: `For this shell:
   source <(erreval completion bash)

For every new one:
   erreval completion bash > ~/.local/share/bash-completion/completions/erreval
   erreval completion zsh > "${fpath[1]}/_erreval"
   erreval completion fish > ~/.config/fish/completions/erreval.fish`,
		Action: withArgs(1, 1, "the name of a shell", func(ctx *cli.Context) error {
			script, err := commandline.CompletionScript(ctx.Args().First())
			if err != nil {
				return err
			}
			_, err = io.WriteString(e.Out, script)
			return err
		}),
	}
}
