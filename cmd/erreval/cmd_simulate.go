package main

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/internal/app/asking"
	"github.com/erreval/erreval/internal/app/simulating"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/taxonomy"
	"github.com/erreval/erreval/training/llmsim"
	"github.com/erreval/erreval/training/simulate"
)

func simulateCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "simulate",
		Usage:     "make training rows with known errors: by rules, by language models, or wrong label sets for a verifier",
		ArgsUsage: "INPUT",
		Description: `INPUT holds right human questions: passage, question, answer, and if there is one their title. The
whole file is held in memory, since wrong answers are looked for in its other rows. Rows with labels other than
the one for no error are left out. Every example carries labels (codes), the mechanism that made it and the id
of its origin.

   erreval simulate questions.jsonl -o simulated.jsonl --copies 3 --mix OTA=40
   erreval simulate questions.jsonl -o facts.jsonl --mix "Factual Error=2,Vague=1" --only --total 600
   erreval simulate questions.jsonl -o each.jsonl --per-error 100 --combined 0.2

Errors that a taxonomy of your own plants by edits, as in "simulate: [cut]" at a type, for any text. There are
` + strings.Join(taxonomy.Edits(), ", ") + `:
   erreval simulate rows.jsonl -o planted.jsonl --taxonomy mine.yaml --per-error 100

Rows for a verifier, from rows with labels (and, for near misses, the diagnosis of an identifier); for any taxonomy:
   erreval simulate labelled.jsonl -o verifier.jsonl --verifier --negatives 0.5

Errors written by a language model, for any taxonomy: the first judge writes, shown an example; a text is kept where two
judges are at least 0.8 sure of the error, else it goes to OUT.rejected.jsonl. Look at prompt and cost first:
   erreval simulate rows.jsonl --judge gpt-4o,gpt-4o-mini --show-prompt '*'
   erreval simulate rows.jsonl --judge gpt-4o,gpt-4o-mini --dry-run
   erreval simulate rows.jsonl -o written.jsonl --judge gpt-4o,gpt-4o-mini --examples seeds.jsonl --max-cost 5

docs/simulate.md lists the mechanisms, and says what each edit does.`,
		Flags: slices.Concat(rowFlags(), []cli.Flag{rowsOutFlag(), overwriteFlag(), taxonomyFlag(),
			&cli.Uint64Flag{Name: "seed", Value: simulate.DefaultOptions().Seed, Usage: "the same seed gives the same file"},
			&cli.BoolFlag{Name: "json", Usage: "print the closing summary as JSON, on standard output"}},
			[]cli.Flag{limitFlag()}, ruleFlags(), verifierFlags(), simulateJudge.flags(), writerFlags()),
		Action: withArgs(1, 1, "one input file", func(ctx *cli.Context) error {
			if ctx.String("output") == "" && !namesJudge(ctx) {
				return exit.Usagef("erreval simulate needs -o OUT, the file to write")
			}
			t, err := openTaxonomy(ctx.String("taxonomy"))
			if err != nil {
				return err
			}
			s := &simulating.Simulate{Process: e.Process, Input: ctx.Args().First(), Output: ctx.String("output"),
				Overwrite: ctx.Bool("overwrite"), JSON: ctx.Bool("json")}
			if s.Rows, err = openRowInput(ctx, t); err != nil {
				return err
			}
			if s.Rows.Limit = ctx.Int("limit"); s.Rows.Limit < 0 {
				return exit.Usagef("--limit %d: give a number of rows, or 0 for all", s.Rows.Limit)
			}
			return runSimulate(ctx, e, s)
		}),
	}
}

// runSimulate chooses who makes the rows, and refuses the flags of others.
func runSimulate(ctx *cli.Context, e *env, s *simulating.Simulate) error {
	if ctx.Bool("verifier") {
		if err := onlyWith(ctx, e, append(namesOf(ruleFlags()), simulateJudge.names(ctx)...),
			"--%s plants errors; it does not go with --verifier"); err != nil {
			return err
		}
		return s.ForVerifier(ctx.Context,
			simulate.VerifierOptions{Seed: ctx.Uint64("seed"), Negatives: ctx.Float64("negatives")})
	}
	if err := onlyWith(ctx, e, namesOf(verifierFlags()), "--%s goes with --verifier"); err != nil {
		return err
	}
	ask, err := simulateJudge.read(ctx, e)
	if err != nil {
		return err
	}
	if ask != nil {
		return simulateByModels(ctx, e, s, ask)
	}
	o := simulate.Options{Seed: ctx.Uint64("seed"), Copies: ctx.Int("copies"), Total: ctx.Int("total"),
		PerError: ctx.Int("per-error"), Combined: ctx.Float64("combined"), Rules: ctx.Int("rules")}
	if o.Rules == 1 && !ctx.IsSet("combined") {
		o.Combined = 0
	}
	return s.ByRules(ctx.Context, o, readMix(ctx))
}

func readMix(ctx *cli.Context) simulating.MixOptions {
	return simulating.MixOptions{Weights: ctx.StringSlice("mix"), Only: ctx.Bool("only")}
}

func simulateByModels(ctx *cli.Context, e *env, s *simulating.Simulate, ask *asking.Options) error {
	err := onlyWith(ctx, e, namesOf(onlyRuleFlags()), "--%s is for the rules; leave it out with --judge")
	if err != nil {
		return err
	}
	if s.Output == "" && ask.Asks() {
		return exit.Usagef("erreval simulate needs -o OUT, the file to write")
	}
	ask.Template, ask.Repeats = ctx.String("write-template"), 1
	o := simulating.WriteOptions{Options: llmsim.DefaultOptions(), Mix: readMix(ctx), WriterName: ctx.String("writer"),
		FieldName: ctx.String("field"), ExamplesFile: ctx.String("examples"), ConfirmTemplate: ctx.String("confirm-template"),
		Amount: llmsim.Mix{Copies: 1, PerError: ctx.Int("per-error"), Total: ctx.Int("total"), Seed: ctx.Uint64("seed")}}
	if ctx.IsSet("copies") {
		o.Amount.Copies = ctx.Int("copies")
	}
	o.Agree, o.Confidence, o.Seed = ctx.Int("agree"), ctx.Float64("confidence"), ctx.Uint64("seed")
	o.Attempts, o.Workers = ask.Panel.Attempts, max(1, min(ask.Panel.Workers, 64))
	return s.ByModels(ctx.Context, ask, o)
}

// ruleFlags are those of the rules.
func ruleFlags() []cli.Flag { return append(mixFlags(), onlyRuleFlags()...) }

// mixFlags say which errors are made, and how many, by rules or by language models.
func mixFlags() []cli.Flag {
	def := simulate.DefaultOptions()
	return []cli.Flag{
		&cli.IntFlag{Name: "copies", Value: def.Copies, Usage: "examples tried per row"},
		&cli.StringSliceFlag{Name: "mix", Usage: "relative weight of a label, by name or code, as `LABEL=WEIGHT,…`; " +
			"may be repeated (default " + simulate.FormatMix(def.Mix) + ")"},
		&cli.BoolFlag{Name: "only", Usage: "make no label but those that --mix names"},
		&cli.IntFlag{Name: "total",
			Usage: "make `N` examples in all, each label by its share of the mix, instead of --copies a row"},
		&cli.IntFlag{Name: "per-error",
			Usage: "make `N` examples of each error type with a weight in the mix, instead of --copies a row"},
	}
}

// onlyRuleFlags are those that language models do not take.
func onlyRuleFlags() []cli.Flag {
	def := simulate.DefaultOptions()
	return []cli.Flag{
		&cli.Float64Flag{Name: "combined", Value: def.Combined,
			Usage: "give this `SHARE` of the erroneous examples a second error"},
		&cli.IntFlag{Name: "rules", Value: def.Rules, Usage: "set of rules: `1` is what the default model's version 3 " +
			"was trained on (without combined errors), 2 has more mechanisms"},
	}
}

// verifierFlags are those of rows for a verifier.
func verifierFlags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "verifier",
			Usage: "from rows with labels, make rows with right and wrong label sets for a verifier"},
		&cli.Float64Flag{Name: "negatives", Value: 0.5,
			Usage: "with --verifier, `SHARE` of the rows whose label set is wrong"},
	}
}

// simulateJudge are the flags of language models that write errors, beside mixFlags. --judge and --seed are its own.
var simulateJudge = judgeFlags{without: []string{"judge", "seed", "repeats", "template"},
	own:     []string{"writer", "field", "examples", "agree", "confidence", "write-template", "confirm-template"},
	instead: "plant errors by rules", missing: "--%s is for language models that write; name them with --judge"}

func writerFlags() []cli.Flag {
	def := llmsim.DefaultOptions()
	return []cli.Flag{
		&cli.StringFlag{Name: "judge", // not in the environment, where it would spend money by itself
			Usage: "have errors written by language models, `NAME,NAME`; none asks none; the key is in " + keyVariables()},
		&cli.StringFlag{Name: "writer", Usage: "which `NAME` of --judge writes (default: the first); " +
			"all of them are asked whether the error is there"},
		&cli.StringFlag{Name: "field",
			Usage: "`FIELD` that is written (default: the taxonomy's first, the text under evaluation)"},
		&cli.StringFlag{Name: "examples", Usage: "labelled rows of `FILE`, one of which each prompt shows " +
			"(default: the rows with errors in INPUT)"},
		&cli.IntFlag{Name: "agree", Value: def.Agree, Usage: "keep a text of whose error at least `N` judges are sure"},
		&cli.Float64Flag{Name: "confidence", Value: def.Confidence, Usage: "`P` from which on a judge is sure, 0 to 1"},
		&cli.StringFlag{Name: "write-template", Usage: "prompt `TEMPLATE` that asks for texts, of kind simulate"},
		&cli.StringFlag{Name: "confirm-template",
			Usage: "prompt `TEMPLATE` that asks for confidence, of kind confirm"},
	}
}
