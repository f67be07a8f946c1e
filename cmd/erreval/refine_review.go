package main

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/loopback"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/training/refine"
	"github.com/erreval/erreval/training/review"
	"github.com/erreval/erreval/training/review/page"
)

func refineReviewCommand(e *env) *cli.Command {
	return &cli.Command{
		Name: "review", Usage: "label a batch in the browser, by keyboard", ArgsUsage: "DIR [BATCH]",
		Description: `Opens a page that only this machine can reach. Every answer is saved at once; Ctrl-C ends the review, and the same
line goes on with it:
   erreval refine review work
   erreval refine review work B002 --reviewer anna

On a machine without a browser, through a tunnel made with: ssh -L 8123:127.0.0.1:8123 MACHINE
   erreval refine review work --port 8123 --no-open

Then: erreval refine merge work

What reviewers of a merged batch differ on, with what each of them said, to be decided, and what you decided of it, to
be corrected; the end merges it:
   erreval refine review work --conflicts`,
		Flags: []cli.Flag{batchFlag(),
			&cli.StringFlag{Name: "reviewer",
				Usage: "`NAME` of who answers; each has a file of answers (default: the name of the account)"},
			&cli.BoolFlag{Name: "conflicts", Usage: "only the rows of a merged batch on which reviewers differ; you decide, " +
				"or correct what you decided"},
			&cli.IntFlag{Name: "port", Usage: "`N` of the page's address (default: any that is free)"},
			&cli.BoolFlag{Name: "no-open", Usage: "print the address, and open no browser"}},
		Action: func(ctx *cli.Context) error { return runRefineReview(ctx, e) },
	}
}

func runRefineReview(ctx *cli.Context, e *env) error {
	port := ctx.Int("port")
	if port < 0 || port > 65535 {
		return exit.Usagef("--port %d: it is within 1 and 65535, or 0 for any that is free", port)
	}
	w, r, err := reviewOf(ctx)
	if err != nil {
		return err
	}
	others := ""
	if !r.Batch.Decides { // whoever decides need be none of them
		if others, err = w.Others(r.Batch.ID, r.Reviewer); err != nil {
			return err
		}
	}
	l, err := loopback.Listen(port)
	if err != nil {
		return fmt.Errorf("the page cannot be served: %w; choose another --port, or none", err)
	}
	p, err := page.New(*r, l.Addr())
	if err != nil {
		return errors.Join(err, l.Close())
	}
	fmt.Fprintf(run.Guard(e.Out), "batch %s, reviewer %s: %s\n%s\n", r.Batch.ID, r.Reviewer, p.Begun(), p.Address())
	if others != "" {
		e.Warn("%s", others)
	}
	e.Say("the address is a key: who has it can answer. Ctrl-C ends the review")
	if !ctx.Bool("no-open") {
		if err := loopback.OpenBrowser(ctx.Context, p.Address()); err != nil {
			e.Warn("no browser could be opened (%v); open the address above", err)
		}
	}
	if err := errors.Join(p.Serve(ctx.Context, l), p.Close()); err != nil {
		return err
	}
	fmt.Fprintln(run.Guard(e.Out), p.Ended())
	if r.Batch.Decides && p.Done() {
		return mergeBatch(ctx, e, w, refine.MergeOptions{Batch: r.Batch.ID})
	}
	return nil
}

// reviewOf is what the command line asks for.
func reviewOf(ctx *cli.Context) (w *refine.Workspace, r *page.Review, err error) {
	if err := wantArgs(ctx, 1, 2, "the folder of a workspace, and the batch's id"); err != nil {
		return nil, nil, err
	}
	if w, err = openWorkspaceAt(ctx.Args().First()); err != nil {
		return nil, nil, err
	}
	name, given := ctx.String("batch"), ctx.Args().Get(1)
	if name != "" && given != "" && name != given {
		return nil, nil, exit.Usagef("the batch is %s, or --batch %s? Give one", given, name)
	}
	r, err = w.Review(cmp.Or(given, name), cmp.Or(ctx.String("reviewer"), review.Account()), ctx.Bool("conflicts"))
	return w, r, err
}
