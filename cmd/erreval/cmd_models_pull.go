package main

import (
	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/llm/vendor"
	"github.com/erreval/erreval/models/hub"
	"github.com/erreval/erreval/models/importing"
)

func pullCommand(e *env) *cli.Command {
	return &cli.Command{
		Name: "pull", Usage: "fetch a checkpoint from the Hugging Face hub, and import it", ArgsUsage: "ORG/NAME[@REVISION]",
		Flags: append(importFlags(), &cli.BoolFlag{Name: "offline", EnvVars: []string{"ERREVAL_OFFLINE", "HF_HUB_OFFLINE"},
			Usage: "take it from the cache of an earlier pull; open no connection"},
			&cli.BoolFlag{Name: "allow-plain-http",
				Usage: "send HF_TOKEN over http:// to another machine too, where others can read it"}),
		Description: `Fetches only the files that are needed, compares each with its hash, and goes on where an
earlier pull was cut:
   erreval models pull ORG/NAME --precision int8
   erreval identify rows.jsonl --model NAME -o tagged.jsonl

A branch, a tag or a commit; the commit is written into the manifest either way:
   erreval models pull ORG/NAME@v1.0 --name mine

HF_ENDPOINT names a mirror, HF_TOKEN opens private repositories, HF_HOME moves the cache
(shared with Python's huggingface_hub). All flags of 'erreval models import' hold.`,
		Action: withArgs(1, 1, "one repository, ORG/NAME or ORG/NAME@REVISION", func(ctx *cli.Context) error {
			o, err := readImportOptions(ctx, e)
			if err != nil {
				return err
			}
			show := run.NewFetching(e.Process)
			o.Log = show.Log
			client := hub.Client{Endpoint: e.Getenv("HF_ENDPOINT"), Token: e.Getenv("HF_TOKEN"), Offline: ctx.Bool("offline"),
				Progress: show.File, Notice: show.Notice}
			if client.Token != "" && !client.Offline && !ctx.Bool("allow-plain-http") && vendor.LeavesInPlain(client.Endpoint) {
				return exit.Usagef("HF_TOKEN would go to HF_ENDPOINT over plain http, where others can read it: give an https:// " +
					"address, pull without a token, or allow it with --allow-plain-http")
			}
			made, err := importing.Pull(ctx.Context, client, ctx.Args().First(), o)
			show.Clear()
			if err != nil {
				return err
			}
			return printData(ctx, e, made, made.Lines())
		}),
	}
}
