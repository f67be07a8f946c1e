package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"

	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/words"
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

Then: erreval refine merge work`,
		Flags: []cli.Flag{batchFlag(),
			&cli.StringFlag{Name: "reviewer", Usage: "`NAME` of who answers; each has a file of answers (default: the name of the account)"},
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
	r, merge, err := reviewOf(ctx)
	if err != nil {
		return err
	}
	l, err := page.Listen(port)
	if err != nil {
		return fmt.Errorf("the page cannot be served: %w; choose another --port, or none", err)
	}
	p, err := page.New(*r, l.Addr())
	if err != nil {
		return errors.Join(err, l.Close())
	}
	printWhere(e, r, p)
	if !ctx.Bool("no-open") {
		openBrowser(ctx.Context, e, p.Address())
	}
	if err := errors.Join(p.Serve(ctx.Context, l), p.Close()); err != nil {
		return err
	}
	answered, skipped, total := p.Progress()
	fmt.Fprintf(e.Out, "%d of %d answered, %d skipped; all saved in %s\n", answered, total, skipped, review.AnswersPath(r.Batch.Dir, r.Reviewer))
	if answered+skipped < total {
		fmt.Fprintf(e.Out, "the same line goes on; or take what is there with: %s --partial\n", merge)
		return nil
	}
	fmt.Fprintf(e.Out, "next: %s\n", merge)
	return nil
}

// reviewOf is what the command line asks for, and the command that takes the answers.
func reviewOf(ctx *cli.Context) (*page.Review, string, error) {
	if err := wantArgs(ctx, 1, 2, "the folder of a workspace, and the batch's id"); err != nil {
		return nil, "", err
	}
	w, err := openWorkspaceAt(ctx.Args().First())
	if err != nil {
		return nil, "", err
	}
	name := ctx.String("batch")
	if given := ctx.Args().Get(1); given != "" {
		if name != "" && name != given {
			return nil, "", exit.Usagef("the batch is %s, or --batch %s? Give one", given, name)
		}
		name = given
	}
	f, err := openBatch(w, name)
	if err != nil {
		return nil, "", err
	}
	config, err := review.ReadConfig(w.Config.Review, w.Path(refine.ConfigFile))
	if err != nil {
		return nil, "", exit.With(exit.Usage, err)
	}
	reviewer := ctx.String("reviewer")
	if reviewer == "" {
		reviewer = account()
	}
	if err := review.CheckReviewer(reviewer); err != nil {
		return nil, "", exit.Usagef("--reviewer: %w", err)
	}
	if name == "" {
		if err := wantOpen(w, f); err != nil {
			return nil, "", err
		}
	}
	merge := "erreval refine merge " + words.Quote(w.Dir)
	if name != "" {
		merge += " --batch " + f.ID
	}
	return &page.Review{Batch: f, Reviewer: reviewer, Next: merge,
		ShowLabels: config.Proposals != review.ShowNothing, ShowProbabilities: config.Proposals == review.ShowProbabilities}, merge, nil
}

// wantOpen refuses a batch that nobody asked for and in which nothing is left to do.
func wantOpen(w *refine.Workspace, f *review.Frozen) error {
	earlier, err := f.Earlier()
	if err != nil || earlier.Number == 0 || earlier.Open > 0 {
		return err
	}
	return fmt.Errorf("every batch is merged; choose the next with: erreval refine select %s\nto go through %s all the same, name it: erreval refine review %[1]s %[2]s", words.Quote(w.Dir), f.ID)
}

// account is the name of the user's account, or "".
func account() string {
	u, err := user.Current()
	if err != nil {
		return ""
	}
	return filepath.Base(u.Username) // Windows puts a domain in front
}

func printWhere(e *env, r *page.Review, p *page.Page) {
	answered, skipped, total := p.Progress()
	fmt.Fprintf(e.Out, "batch %s, reviewer %s: %s, %d answered, %d skipped\n", r.Batch.ID, r.Reviewer, words.Plural(total, "row", "rows"), answered, skipped)
	fmt.Fprintf(e.Out, "%s\n", p.Address())
	fmt.Fprintln(e.Err, "The address is a key: who has it can answer. Ctrl-C ends the review.")
}

// openBrowser opens the address where the system knows how; the address is printed anyway.
func openBrowser(ctx context.Context, e *env, address string) {
	program := map[string]string{"darwin": "open", "linux": "xdg-open"}[runtime.GOOS]
	if program == "" {
		return
	}
	cmd := exec.CommandContext(context.WithoutCancel(ctx), program, address)
	if err := cmd.Start(); err != nil {
		e.Warn("no browser could be opened (%v); open the address above", err)
		return
	}
	go func() { _ = cmd.Wait() }() // the browser is the user's
}
