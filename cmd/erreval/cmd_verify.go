package main

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/internal/app/verifying"
	"github.com/erreval/erreval/internal/words"
)

func verifyCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "verify",
		Usage:     "compare outputs, models, journals and workspaces with their hashes",
		ArgsUsage: "FILE|FOLDER...",
		Description: `An output is compared with its run record (OUT.run.json), a model's files with its manifest.json, all of a
journal with the checksums in it, and what the steps of a workspace made with its log.jsonl. Of a folder,
everything in it is compared that is any of these:
   erreval verify tagged.jsonl scored.jsonl scored.jsonl.journal
   erreval verify work/

Exit code 1 says that something differs, or that nothing is there to compare with.`,
		Flags: []cli.Flag{jsonFlag()},
		Action: withArgs(1, -1, "outputs or folders", func(ctx *cli.Context) error {
			all, err := verifying.Verify(ctx.Args().Slice())
			if err != nil {
				return err
			}
			if err := printData(ctx, e, all, all); err != nil {
				return err
			}
			if n := all.Faults(); n > 0 {
				return fmt.Errorf("%s of %d cannot be relied on", words.Plural(n, "file or folder", "files or folders"), len(all))
			}
			return nil
		}),
	}
}
