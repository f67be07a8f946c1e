package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/models/hub"
)

func pullCommand(e *env) *cli.Command {
	return &cli.Command{
		Name: "pull", Usage: "fetch a checkpoint from the Hugging Face hub, and import it", ArgsUsage: "ORG/NAME[@REVISION]",
		Flags: append(importFlags(), &cli.BoolFlag{Name: "offline", EnvVars: []string{"ERREVAL_OFFLINE", "HF_HUB_OFFLINE"},
			Usage: "take it from the cache of an earlier pull; open no connection"}),
		Description: `Fetches only the files that are needed, compares each with its hash, and goes on where an
earlier pull was cut:
   erreval models pull ORG/NAME --precision int8
   erreval identify rows.jsonl --model NAME -o tagged.jsonl

A branch, a tag or a commit; the commit is written into the manifest either way:
   erreval models pull ORG/NAME@v1.0 --name mine

HF_ENDPOINT names a mirror, HF_TOKEN opens private repositories, HF_HOME moves the cache
(shared with Python's huggingface_hub). All flags of 'erreval models import' hold.`,
		Action: func(ctx *cli.Context) error {
			if err := wantArgs(ctx, 1, 1, "one repository, ORG/NAME or ORG/NAME@REVISION"); err != nil {
				return err
			}
			o := readImportOptions(ctx)
			if err := o.validate(); err != nil {
				return err
			}
			return runPull(ctx.Context, e, o, ctx.Args().First(), ctx.Bool("offline"))
		},
	}
}

func runPull(ctx context.Context, e *env, o *importOptions, what string, offline bool) error {
	// A pull may be long: what the import would miss at its end is asked first.
	if _, err := e.locateLibrary(o.Library); err != nil {
		return err
	}
	cache, err := e.hubCache()
	if err != nil {
		return err
	}
	repo, revision, _ := strings.Cut(what, "@")
	show := newPullProgress(e, o.Quiet)
	client := &hub.Client{Endpoint: e.Getenv("HF_ENDPOINT"), Token: e.Getenv("HF_TOKEN"), Cache: cache, Offline: offline,
		Select: selectWithCard, Progress: show.file, Notice: show.notice}
	snapshot, err := client.Pull(ctx, repo, revision)
	show.Clear()
	if err != nil {
		return err
	}
	o.Source, o.Origin = snapshot.Dir, snapshot.Repo+"@"+snapshot.Commit
	return runImport(ctx, e, o)
}

// selectWithCard fetches the model card too, which names the licence.
func selectWithCard(names []string) ([]string, error) {
	picked, err := hub.SelectModel(names)
	if err == nil && slices.Contains(names, "README.md") {
		picked = append(picked, "README.md")
	}
	return picked, err
}

// hubCache is huggingface_hub's cache: HF_HUB_CACHE, else hub below HF_HOME, else below the user's cache.
func (e *env) hubCache() (string, error) {
	if dir := e.Getenv("HF_HUB_CACHE"); dir != "" {
		return filepath.Abs(dir)
	}
	if dir := e.Getenv("HF_HOME"); dir != "" {
		return filepath.Abs(filepath.Join(dir, "hub"))
	}
	if dir := e.Getenv("XDG_CACHE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "huggingface", "hub"), nil
	}
	if home := e.Getenv("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".cache", "huggingface", "hub"), nil
	}
	return "", errors.New("no cache folder: neither HF_HOME nor XDG_CACHE_HOME nor HOME holds an absolute path; set HF_HOME")
}

// pullProgress shows a line a file; on a terminal it moves.
type pullProgress struct {
	*run.Progress
	e     *env
	quiet bool
	name  string
	begun time.Time
	at    int64 // bytes of the file that were there at first
	known map[string]bool
}

func newPullProgress(e *env, quiet bool) *pullProgress {
	return &pullProgress{Progress: run.NewProgress(e.Process, quiet), e: e, quiet: quiet, known: map[string]bool{}}
}

func (p *pullProgress) file(name string, done, total int64) {
	if name != p.name {
		p.name, p.begun, p.at = name, time.Now(), done
	}
	if done == total {
		p.done(name, total)
		return
	}
	p.ShowText(func(now time.Time) string {
		line := fmt.Sprintf("%s: %.1f MB", name, float64(done)/1e6)
		if total > 0 {
			line += fmt.Sprintf(" of %.1f, %d %%", float64(total)/1e6, 100*done/total)
		}
		if seconds := now.Sub(p.begun).Seconds(); seconds > 0 {
			line += fmt.Sprintf(", %.1f MB/s", float64(done-p.at)/1e6/seconds)
		}
		return line
	})
}

// done says once of each file that it is there.
func (p *pullProgress) done(name string, size int64) {
	if p.quiet || p.known[name] {
		return
	}
	p.known[name] = true
	p.Clear()
	fmt.Fprintf(p.e.Err, "erreval: %s, %.1f MB, is in the cache\n", name, float64(size)/1e6)
}

func (p *pullProgress) notice(message string) {
	if !p.quiet {
		p.Clear()
		fmt.Fprintf(p.e.Err, "erreval: %s\n", message)
	}
}
