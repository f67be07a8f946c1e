package main

import (
	"io"

	"github.com/urfave/cli/v2"
)

func manCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:  "man",
		Usage: "print the manual page",
		Description: `For man erreval:
   erreval man > ~/.local/share/man/man1/erreval.1`,
		Action: withArgs(0, 0, "no arguments", func(ctx *cli.Context) error {
			page, err := ctx.App.ToManWithSection(1)
			if err != nil {
				return err
			}
			_, err = io.WriteString(e.Out, page)
			return err
		}),
	}
}
