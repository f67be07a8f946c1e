package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/app/asking"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/llm"
	"github.com/erreval/erreval/llm/journal"
)

// keptPrompts are the journals of files of rows, by file; nil without --prompts.
type keptPrompts map[string]*journal.Journal

// openKeptPrompts opens the journals of files, of which several may be one.
func openKeptPrompts(ctx *cli.Context, files []string) (keptPrompts, error) {
	name := ctx.String("journal")
	switch {
	case !ctx.Bool("prompts") && name != "":
		return nil, exit.Usagef("--journal is for --prompts, which prints what is in it")
	case !ctx.Bool("prompts"):
		return nil, nil
	case ctx.Bool("json"):
		return nil, exit.Usagef("--json prints rows as they are, and --prompts more than that; leave one of them out")
	}
	kept := keptPrompts{}
	for _, file := range files {
		path := name
		if path == "" {
			path = filepath.Clean(strings.TrimSuffix(file, dataset.PartialPath(""))) + ".journal"
		}
		if _, err := os.Stat(path); err != nil { // opening it would make one
			err = exit.With(exit.Usage, fmt.Errorf("%w; give the journal of %s with --journal FILE", err, file))
			return nil, errors.Join(err, kept.Close())
		}
		j, err := journal.Open(path)
		if err != nil {
			return nil, errors.Join(err, kept.Close())
		}
		kept[file] = j
	}
	return kept, nil
}

// Close closes the journals.
func (k keptPrompts) Close() error {
	var faults []error
	for _, j := range k {
		faults = append(faults, j.Close())
	}
	return errors.Join(faults...)
}

// print prints what was asked about a row, and what was replied.
func (k keptPrompts) print(e *env, row *dataset.Row) error {
	prompts, err := k[row.Source].Prompts(row.ID)
	if err != nil {
		return err
	}
	if len(prompts) == 0 {
		e.Warn("row %s: no prompt is kept; the run that asks about it needs --keep-prompts", row.ID)
	}
	w := run.Guard(run.Unguarded(e.Out))
	for _, p := range prompts {
		asking.PrintMessages(w, p.About, append(p.Messages, replies(p)...))
	}
	return nil
}

// replies are the replies to a prompt as messages.
func replies(p journal.Prompt) []llm.Message {
	var all []llm.Message
	for _, r := range p.Replies {
		title := "reply of " + r.Model
		if r.Finish != llm.FinishStop && r.Finish != "" {
			title += ", " + r.Finish
		}
		if r.Rejected {
			title += ", of no use"
		}
		all = append(all, llm.Message{Role: title, Content: r.Text})
	}
	return all
}
