package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/identifier"
	"github.com/erreval/erreval/identifier/local"
	"github.com/erreval/erreval/identifier/ort"
	"github.com/erreval/erreval/internal/app/asking"
	"github.com/erreval/erreval/internal/app/tagging"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/gate"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/internal/wholefile"
	"github.com/erreval/erreval/report/rows"
	"github.com/erreval/erreval/scorer"
	"github.com/erreval/erreval/taxonomy"
)

func identifyCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "identify",
		Usage:     "find the errors in each row of a file",
		ArgsUsage: "INPUT...",
		Description: `Rows are JSON Lines, a JSON list, CSV, TSV, XLSX or Parquet, by the file's name or --format, also with
.gz or .zst. Each gets a column "diagnosis": the errors found, and each type's probability; other columns stay.
   erreval identify questions.jsonl -o tagged.jsonl

Read the result as a table instead:
   erreval identify questions.jsonl --table

Columns with other names, several files (each to a file of its name in a folder), a pipe:
   erreval identify rows.jsonl --map question=prediction -o tagged.jsonl
   erreval identify a.jsonl b.jsonl -o tagged/
   zcat rows.jsonl.gz | erreval identify - -o - > tagged.jsonl

Work for another program, which writes rows and reads their diagnoses as they come (docs/worker.md):
   erreval identify - -o - --flush --quiet

Find fewer errors, or more: the model's own thresholds with their odds times 2 or 0.5; or one for all, or for a type:
   erreval identify rows.jsonl --threshold x2 -o tagged.jsonl
   erreval identify rows.jsonl --threshold 0.4 --threshold "Vague=0.3" -o tagged.jsonl

Go on after an interruption; tag one part of five; fail where there is too much:
   erreval identify rows.jsonl -o tagged.jsonl --resume
   erreval identify rows.jsonl -o part2.jsonl --shard 2/5
   erreval identify rows.jsonl -o tagged.jsonl --fail-on "Factual Error>5%" --fail-on "untagged>0"

Let a language model find the errors, by the taxonomy's definitions and, if you like, labelled examples (` + usualKey() + `
holds the key); look at prompt and cost first, bound what is spent, and compare it with the local model:
   erreval identify rows.jsonl --identifier llm --judge gpt-4o-mini --show-prompt q1
   erreval identify rows.jsonl --identifier llm --judge gpt-4o-mini --dry-run
   erreval identify rows.jsonl -o llm.jsonl --identifier llm --judge gpt-4o-mini --max-cost 5
   erreval identify rows.jsonl -o few.jsonl --identifier llm --judge gpt-4o-mini --examples labelled.jsonl
   erreval meta labels --gold gold.jsonl tagged.jsonl llm.jsonl

Beside OUT stand OUT.run.json (model, taxonomy, options, counts) and, if lines were no rows,
OUT.rejected.jsonl. Exit code 3 says that some rows are untagged or some lines rejected. docs/evaluation.md says
more about language models.`,
		Flags: slices.Concat(runFlags(map[string][]cli.Flag{
			"output": {&cli.BoolFlag{Name: "table", Usage: "print the rows and their errors as a table"}, modelFlag(),
				&cli.StringFlag{Name: "verifier", Usage: "also ask this `MODEL` (one that refine train made) whether the labels " +
					"found are right; its answer goes to the column verification"},
				joinFlag(), taxonomyFlag(), deviceFlag(), gpuMemoryFlag(), libraryFlag()},
			"limit": {workersFlag(), rowTimeoutFlag(), windowFlag(), anyLanguageFlag(), thresholdFlag(), labelsOnlyFlag()},
			"resume": {&cli.StringFlag{Name: "shard",
				Usage: "tag only part `I/N`: rows I, I+N, I+2N and so on; erreval merge puts the parts together"}, flushFlag()},
			"json": {&cli.StringFlag{Name: "identifier", Value: identifierLocal,
				Usage: "`WHO` finds the errors: local, or llm, the language model that --judge names"}},
		}), gateFlags(), []cli.Flag{&cli.StringFlag{Name: "examples",
			Usage: fmt.Sprintf("show the labelled rows of `FILE` in each prompt, %d at most", scorer.MaxExamples)}},
			identifyJudge.flags()),
		Action: func(ctx *cli.Context) error {
			o, err := readIdentifyOptions(ctx, e)
			if err != nil {
				return err
			}
			return runIdentify(ctx.Context, e, o)
		},
	}
}

// identifyOptions are the command's flags and arguments.
type identifyOptions struct {
	run.Options
	Local    tagging.LocalOptions
	Taxonomy string
	Table    bool
	Gates    gateOptions
	JSON     bool
	Judge    *asking.Options // nil is the local model
	Examples string          // file, or ""; only with Judge
}

func readIdentifyOptions(ctx *cli.Context, e *env) (o *identifyOptions, err error) {
	o = &identifyOptions{Options: readRunOptions(ctx), Taxonomy: ctx.String("taxonomy"), Table: ctx.Bool("table"),
		Gates: readGateOptions(ctx), JSON: ctx.Bool("json"), Examples: ctx.String("examples")}
	if o.Local, err = readLocalOptions(ctx); err != nil {
		return nil, err
	}
	if o.Inputs, err = expandGlobs(ctx.Args().Slice()); err != nil {
		return nil, err
	}
	if o.Judge, err = readIdentifier(ctx, e); err != nil {
		return nil, err
	}
	return o, o.validate()
}

// readLocalOptions reads the flags of the local model.
func readLocalOptions(ctx *cli.Context) (o tagging.LocalOptions, err error) {
	o = tagging.LocalOptions{Model: ctx.String("model"), Verifier: ctx.String("verifier"), Join: ctx.String("join"),
		Thresholds: ctx.StringSlice("threshold"), Workers: ctx.Int("workers"), LabelsOnly: ctx.Bool("labels-only"),
		RowTimeout: ctx.Duration("row-timeout"), Prompt: ctx.Bool("flush"), AnyLanguage: ctx.Bool("any-language"),
		On: ort.Options{Device: ctx.String("device"), Library: ctx.String("ort-lib")}}
	if o.ReadWords, err = readWindow(ctx.String("window")); err != nil {
		return o, err
	}
	o.On.GPUMemory, err = local.ParseSize(ctx.String("gpu-memory"))
	return o, err
}

func (o *identifyOptions) validate() error {
	writes := o.Judge == nil || o.Judge.Asks()
	return errors.Join(o.Options.Validate(),
		exit.UsageIf(o.Output == "" && !o.Table && writes, "no output; give -o OUT, -o - for standard output, or --table"),
		exit.UsageIf(o.Output == run.Stdio && o.Table, "--table and -o - both print to standard output; give one of them"),
		exit.UsageIf(o.Local.Verifier != "" && o.Judge != nil,
			"--verifier follows the local model; leave it out with --identifier llm"),
		validateLocal(&o.Local))
}

func validateLocal(o *tagging.LocalOptions) error {
	return errors.Join(exit.UsageIf(o.Workers < 0 || o.Workers > identifier.MaxWorkers,
		"--workers %d: give a number of rows to compute at a time, %d at most, or 0 for one a core", o.Workers,
		identifier.MaxWorkers),
		exit.UsageIf(o.RowTimeout < 0, "--row-timeout %v: give a time, as in 30s, or 0 for no limit", o.RowTimeout))
}

func runIdentify(ctx context.Context, e *env, o *identifyOptions) error {
	r, err := run.New(e.Process, o.Options)
	if err != nil {
		return err
	}
	faults := []error{o.Gates.check(e), run.CheckInputs(o.Inputs)}
	if o.Judge == nil {
		defer r.Rows().Files.LimitMemory(r.Process)()
		faults = append(faults, r.CheckOutputs()) // before the model is loaded
	}
	if err := errors.Join(faults...); err != nil {
		return err
	}
	i := &tagging.Identify{Run: r, JSON: o.JSON, Publish: o.Gates.publish(e)}
	if i.Taxonomy, err = openTaxonomy(o.Taxonomy); err != nil {
		return err
	}
	if i.Gates, err = parseGates(o.Gates.FailOn, i.Taxonomy); err != nil {
		return err
	}
	if err := r.NameColumns(ctx, i.Taxonomy); err != nil {
		return err
	}
	table := rows.NewTable(run.Guard(e.Out), e.Width(), i.Taxonomy)
	if o.Table {
		i.Table = table.WriteRow
	}
	if o.Judge != nil {
		return i.LLM(ctx, o.Judge, o.Examples)
	}
	l, err := tagging.OpenLocal(ctx, e.machine(), o.Local, i.Taxonomy, e.Warn)
	if err != nil {
		return err
	}
	if l.Model.Plain {
		r.Say("%s has no manifest: its fields are joined as %q (--join), its thresholds are 0.5 (--threshold)",
			l.Model.Source,
			l.Model.Manifest.Join)
	}
	table.Thresholds = l.Identifier.Thresholds()
	return errors.Join(i.Local(ctx, l), l.Close())
}

// Who finds the errors, beside tagging.IdentifierLLM.
const identifierLocal = "local"

// identifyJudge are the flags of a language model as identifier.
var identifyJudge = judgeFlags{own: []string{"examples"}, instead: "ask the local model",
	missing: "--%s is for a language model as identifier; choose one with --identifier llm --judge NAME"}

// localFlags are those of the local model alone.
func localFlags() []cli.Flag {
	return []cli.Flag{modelFlag(), joinFlag(), deviceFlag(), gpuMemoryFlag(), libraryFlag(), workersFlag(),
		rowTimeoutFlag(), windowFlag(), anyLanguageFlag(), thresholdFlag(), labelsOnlyFlag(), flushFlag()}
}

func thresholdFlag() cli.Flag {
	return &cli.StringSliceFlag{Name: "threshold", Aliases: []string{"t"},
		Usage: "give an error from this probability on: `P`, or LABEL=P; x2 finds fewer of each kind, x0.5 more; may be repeated"}
}

func labelsOnlyFlag() cli.Flag {
	return &cli.BoolFlag{Name: "labels-only", Usage: "leave the probabilities out of diagnoses"}
}

func anyLanguageFlag() cli.Flag {
	return &cli.BoolFlag{Name: "any-language",
		Usage: "also tag rows in languages that the model does not read, instead of leaving them untagged"}
}

// readIdentifier reads who finds the errors, and refuses the flags of the other one.
func readIdentifier(ctx *cli.Context, e *env) (*asking.Options, error) {
	switch who := ctx.String("identifier"); who {
	case identifierLocal:
		return nil, identifyJudge.refuse(ctx, e)
	case tagging.IdentifierLLM:
	default:
		return nil, exit.Usagef("--identifier %q: give local, or llm and a model with --judge", who)
	}
	if err := onlyWith(ctx, e, namesOf(localFlags()),
		"--%s is for the local model; leave it out with --identifier llm"); err != nil {
		return nil, err
	}
	o, err := identifyJudge.read(ctx, e)
	if o == nil && err == nil {
		err = exit.Usagef("--identifier llm: name the language model with --judge, as in --judge gpt-4o-mini")
	}
	if err != nil {
		return nil, err
	}
	if names := o.Names(); len(names) > 1 {
		return nil, exit.Usagef("--judge %s: one model finds errors; tag once with each, and compare the files with "+
			"erreval meta labels", strings.Join(names, ","))
	}
	return o, nil
}

// githubSummary is the variable in which GitHub's runners name the page of a step.
const githubSummary = "GITHUB_STEP_SUMMARY"

// gateOptions are the flags that make a run say more than its rows do.
type gateOptions struct {
	FailOn  []string // expressions
	Summary string   // Markdown file, or ""
	GitHub  bool     // append to the page named in the environment
	JUnit   string   // XML file, or ""
}

func failOnFlag(of string) cli.Flag {
	return &cli.StringSliceFlag{Name: "fail-on",
		Usage: of + "end with code 6 if `LIMIT` holds, as in \"Factual Error>5%\", \"any>20%\" or \"untagged>0\"; may be repeated"}
}

func gateFlags() []cli.Flag {
	return []cli.Flag{failOnFlag(""),
		&cli.StringFlag{Name: "summary", Usage: "write the closing summary as Markdown to `FILE`, replacing it"},
		&cli.BoolFlag{Name: "github-summary",
			Usage: "append the closing summary to the page of a GitHub step, $" + githubSummary},
		&cli.StringFlag{Name: "junit", Usage: "write limits and error types as JUnit XML to `FILE`, replacing it"}}
}

func readGateOptions(ctx *cli.Context) gateOptions {
	return gateOptions{FailOn: ctx.StringSlice("fail-on"), Summary: ctx.String("summary"),
		GitHub: ctx.Bool("github-summary"), JUnit: ctx.String("junit")}
}

// publish says where the summary goes.
func (o *gateOptions) publish(e *env) tagging.Publish {
	p := tagging.Publish{Markdown: o.Summary, JUnit: o.JUnit}
	if o.GitHub {
		p.Append = e.Getenv(githubSummary)
	}
	return p
}

// check finds what cannot be written before anything is computed.
func (o *gateOptions) check(e *env) error {
	var errs []error
	if o.GitHub && e.Getenv(githubSummary) == "" {
		errs = append(errs, exit.Usagef("--github-summary: $%s is not set; it is on GitHub's runners, elsewhere give "+
			"--summary FILE", githubSummary))
	}
	return errors.Join(append(errs, wholefile.RefuseIrregular(o.Summary), wholefile.RefuseIrregular(o.JUnit))...)
}

// parseGates reads the values of --fail-on.
func parseGates(expressions []string, t *taxonomy.Taxonomy) ([]gate.Gate, error) {
	return run.ParseGates(expressions, func(name string) (string, bool) { return findLabel(t, name) }, t.Labels())
}

// findLabel gives a label's name by its name or code.
func findLabel(t *taxonomy.Taxonomy, name string) (string, bool) {
	i, ok := t.Index(name)
	if !ok {
		return "", false
	}
	return t.Types[i].Name, true
}
