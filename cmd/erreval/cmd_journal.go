package main

import (
	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/llm/journal"
	"github.com/erreval/erreval/report"
)

func journalCommand(e *env) *cli.Command {
	return &cli.Command{
		Name: "journal", Usage: "save what is whole in a damaged journal of replies",
		Description: `Copy the replies of a journal that is refused as damaged, and go on with the copy:
   erreval journal recover scored.jsonl.journal -o saved.journal
   erreval score tagged.jsonl -o scored.jsonl --judge NAME --journal saved.journal

Whether a journal is whole:
   erreval verify scored.jsonl.journal`,
		Subcommands: []*cli.Command{recoverJournalCommand(e)},
	}
}

func recoverJournalCommand(e *env) *cli.Command {
	return &cli.Command{
		Name: "recover", Usage: "copy what is whole in a journal into a new one", ArgsUsage: "FILE",
		Description: `Every reply that SQLite can read and whose checksum holds is copied, and no other; so are kept prompts and the
sums of what was spent. Where sums are lost, spending is counted anew of the tokens of the replies: what calls
without a reply used is not known any more. FILE stays as it is. The lost replies are
asked for, and paid for, again by the next run with --journal NEW:
   erreval journal recover scored.jsonl.journal -o saved.journal`,
		Flags: []cli.Flag{&cli.StringFlag{Name: "output", Aliases: []string{"o"},
			Usage: "write the new journal to `NEW`, where there must be no file"}, jsonFlag()},
		Action: withArgs(1, 1, "one journal", func(ctx *cli.Context) error {
			if ctx.String("output") == "" {
				return exit.Usagef("say with -o NEW where the new journal is written")
			}
			found, err := journal.Recover(ctx.Args().First(), ctx.String("output"))
			if err != nil {
				return err
			}
			return printData(ctx, e, found, describeRecovery(found))
		}),
	}
}

// describeRecovery says what was copied, what is lost, and what counts as spent.
func describeRecovery(r *journal.Recovery) *report.Lines {
	l := &report.Lines{}
	l.Add("copied", "%s (%d rejected), what was spent on %s", words.Plural(r.Replies, "reply", "replies"), r.Rejected,
		words.Plural(r.Sums, "model", "models"))
	if r.Fault == "" {
		l.Add("lost", "nothing: the journal is whole")
	} else {
		l.Add("damage", "%s", words.Printable(r.Fault))
		l.Add("lost", "%s, as far as the rest of the file shows", words.Plural(r.LostReplies, "reply", "replies"))
	}
	if r.Prompts > 0 {
		l.Add("copied", "%s", words.Plural(r.Prompts, "prompt", "prompts"))
	}
	if r.LostPrompts > 0 {
		l.Add("lost", "%s, as far as the rest of the file shows", words.Plural(r.LostPrompts, "prompt", "prompts"))
	}
	if r.MissingPages > 0 {
		l.Add("lost", "%s of 4 KiB at the end of the file", words.Plural(int(r.MissingPages), "page", "pages"))
	}
	if r.LostSums > 0 {
		l.Add("lost", "what was spent on %s", words.Plural(r.LostSums, "model", "models"))
	}
	if r.LostCurrency {
		l.Add("lost", "the currency: costs are counted anew of the tokens, at the prices of the next run")
	}
	s := r.Spent
	l.Add("spent", "%s, %d tokens in, %d out, %.4f %s", words.Plural(int(s.Calls), "call", "calls"), s.Input, s.Output,
		s.Cost, words.Printable(s.Currency))
	if a := r.Added; a.Calls > 0 || a.Input > 0 || a.Output > 0 {
		l.Add("", "of these %s, %d tokens in, %d out are counted anew, of the replies; they get a price from the next run",
			words.Plural(int(a.Calls), "call", "calls"), a.Input, a.Output)
	}
	return l
}
