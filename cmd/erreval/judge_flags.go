package main

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/app/asking"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/trust"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/llm"
	"github.com/erreval/erreval/llm/judging"
	"github.com/erreval/erreval/llm/vendor"
	"github.com/erreval/erreval/scorer"
)

// noJudge is the --judge that asks no model, also where the environment names one.
const noJudge = "none"

// namesJudge tells whether --judge names a language model.
func namesJudge(ctx *cli.Context) bool {
	name := ctx.String("judge")
	return name != "" && name != noJudge
}

// judgeFlags are those of a command that asks language models: who is asked, how, and what may be spent.
type judgeFlags struct {
	without []string // the command does not have these, or has them with a meaning of its own
	own     []string // names of its other flags that do nothing without a judge
	instead string   // what it does without one, after "leave it out to"
	missing string   // what is said of a flag that needs one, with its name
}

// flags are those that every such command has in the same words.
func (j *judgeFlags) flags() []cli.Flag {
	return slices.DeleteFunc(append(endpointFlags(), boundFlags()...),
		func(f cli.Flag) bool { return slices.Contains(j.without, f.Names()[0]) })
}

// read reads who is asked, and how; nil without a judge.
func (j *judgeFlags) read(ctx *cli.Context, e *env) (*asking.Options, error) {
	if !namesJudge(ctx) {
		return nil, j.refuse(ctx, e)
	}
	return readAskOptions(ctx, e)
}

// refuse refuses the flags that do nothing where no model is asked.
func (j *judgeFlags) refuse(ctx *cli.Context, e *env) error {
	if ctx.String("judge") == "" && e.typed([]string{"judge"}) { // as by an empty variable: that is not what is wanted
		return exit.Usagef("--judge is empty: name a judge, or leave it out to %s", j.instead)
	}
	return onlyWith(ctx, e, j.names(ctx), j.missing)
}

// names are those of all flags that are about a judge; of --judge only where it names one.
func (j *judgeFlags) names(ctx *cli.Context) []string {
	names := slices.Concat(namesOf(j.flags()), j.own, []string{"judge"})
	return slices.DeleteFunc(names, func(name string) bool { return name == "judge" && !namesJudge(ctx) })
}

// endpointFlags say who is asked, and how.
func endpointFlags() []cli.Flag {
	model, panel := judging.DefaultSettings(), scorer.DefaultPanelOptions()
	return []cli.Flag{
		&cli.StringFlag{Name: "judge", EnvVars: envName("judge"),
			Usage: "ask the language model `NAME`, or in score several: NAME,NAME; none asks none; the key is in " +
				keyVariables()},
		&cli.StringFlag{Name: "config", EnvVars: envName("config"),
			Usage: "`FILE` with settings of judges by name (default: erreval.yaml, if it is there and " +
				"trusted: erreval trust)"},
		&cli.StringFlag{Name: "vendor", Value: vendor.Default, EnvVars: envName("vendor"),
			Usage: "`NAME` of the API that the endpoint speaks: " + strings.Join(vendor.Names(), ", ")},
		&cli.StringFlag{Name: "base-url", DefaultText: "the vendor's own", EnvVars: baseURLVariables(),
			Usage: "`URL` of an endpoint that speaks the vendor's API"},
		&cli.StringSliceFlag{Name: "header", Usage: "send this header with each call, `NAME=VALUE`; may be repeated"},
		&cli.BoolFlag{Name: "allow-plain-http",
			Usage: "send keys over http:// to other machines too, where others can read them"},
		&cli.StringFlag{Name: "azure-version", EnvVars: envName("azure-version"),
			Usage: "call in Azure's style, with this `API-VERSION`; --base-url is the resource, --judge the deployment"},
		&cli.IntFlag{Name: "repeats", Value: panel.Repeats,
			Usage: "ask everything `K` times, with --seed, --seed plus 1 and so on"},
		&cli.IntFlag{Name: "attempts", Value: panel.Attempts,
			Usage: "ask up to `N` times where a reply does not hold what was asked for"},
		&cli.Float64Flag{Name: "temperature", Usage: "`T` of the model, 0 to 2"},
		&cli.Int64Flag{Name: "seed", Usage: "`SEED` of the model; in score it also chooses what --plant and --audit take"},
		&cli.IntFlag{Name: "reply-tokens", Value: model.ReplyTokens,
			Usage: "`N` tokens at most in a reply; reasoning models need more"},
		&cli.BoolFlag{Name: "lines", Usage: "ask for lines of text instead of JSON"},
		&cli.StringFlag{Name: "template", Usage: "prompt `TEMPLATE`: a built-in name or a file"},
	}
}

// boundFlags bound what is called and spent.
func boundFlags() []cli.Flag {
	model := judging.DefaultSettings()
	return []cli.Flag{
		&cli.StringFlag{Name: "journal", Usage: "`FILE` that keeps replies and what was spent (default: OUT.journal)"},
		&cli.BoolFlag{Name: "retry-unusable", Usage: "ask again where the replies in the journal could not be used"},
		&cli.BoolFlag{Name: "keep-prompts",
			Usage: "keep in the journal what is asked as well, for erreval show --prompts"},
		&cli.Float64Flag{Name: "max-cost",
			Usage: "spend at most `COST` in all runs with this journal, in the price list's currency"},
		&cli.Int64Flag{Name: "max-tokens", Usage: "use at most `N` tokens in all runs with this journal"},
		&cli.Int64Flag{Name: "max-calls", Usage: "make at most `N` calls in all runs with this journal"},
		&cli.StringFlag{Name: "prices", Usage: "price `FILE` (default: a built-in list of a few models)"},
		&cli.IntFlag{Name: "rpm", Usage: "at most `N` calls a minute; 0 is no limit"},
		&cli.IntFlag{Name: "tpm", Usage: "at most `N` tokens a minute; 0 is no limit"},
		&cli.IntFlag{Name: "in-flight", Value: model.Limits.InFlight, Usage: "`N` calls at the same time"},
		&cli.DurationFlag{Name: "timeout", Value: model.Endpoint.Timeout, Usage: "`TIME` that one call may take"},
		&cli.BoolFlag{Name: "dry-run", Usage: "print calls, tokens and the highest cost, and call nothing"},
		&cli.StringFlag{Name: "show-prompt",
			Usage: "print what the model is asked about the row `ID` (ID* for what it begins with, * for the first), " +
				"and call nothing"},
	}
}

// scoreJudge are the judge's flags of score.
var scoreJudge = judgeFlags{instead: "score offline",
	own:     []string{"mode", "joint", "aggregate", "paper-wording", "plant", "cascade", "audit"},
	missing: "--%s is for judges; name one with --judge, as in --judge gpt-4o-mini"}

// panelFlags say how the judges of score work together.
func panelFlags() []cli.Flag {
	panel := scorer.DefaultPanelOptions()
	return []cli.Flag{
		&cli.StringFlag{Name: "mode", Value: panel.Modes[0],
			Usage: "`MODE`: error-aware shows the judge the errors found, vanilla does not, both does each"},
		&cli.BoolFlag{Name: "joint", Usage: "ask about all dimensions in one call: cheaper"},
		&cli.StringFlag{Name: "aggregate", Value: panel.Aggregate,
			Usage: "`HOW` several judgements become one value: " + strings.Join(scorer.Aggregates(), ", ")},
		&cli.BoolFlag{Name: "paper-wording",
			Usage: "show No Error also where a row has errors none of which bears on the dimension, " +
				"as the ErrEval paper does"},
		&cli.Float64Flag{Name: "plant",
			Usage: "judge this `SHARE` once more with a wrong label shown, and report how often the judge follows it"},
		&cli.Float64Flag{Name: "cascade",
			Usage: "score offline what the identifier is `P` sure of (0.5 to 1), ask the judge about the rest"},
		&cli.Float64Flag{Name: "audit", Value: 0.05,
			Usage: "with --cascade, ask the judge about this `SHARE` of the sure ones as well"},
	}
}

// readJudgeOptions reads the flags of score; nil without a judge.
func readJudgeOptions(ctx *cli.Context, e *env) (*asking.Options, error) {
	o, err := scoreJudge.read(ctx, e)
	if o == nil || err != nil {
		return nil, err
	}
	o.Joint = ctx.Bool("joint")
	p := &o.Panel
	if p.Modes, err = readModes(ctx); err != nil {
		return nil, err
	}
	if err := checkPanelFlags(ctx); err != nil {
		return nil, err
	}
	p.Aggregate = ctx.String("aggregate")
	p.PaperWording, p.Plant, p.PlantSeed = ctx.Bool("paper-wording"), ctx.Float64("plant"), uint64(o.Base.Seed)
	p.Cascade = scorer.Cascade{Sure: ctx.Float64("cascade"), Audit: ctx.Float64("audit"), Seed: uint64(o.Base.Seed)}
	return o, nil
}

// readModes reads --mode.
func readModes(ctx *cli.Context) ([]string, error) {
	return oneOrBoth(ctx, "mode", dataset.ModeErrorAware+", "+dataset.ModeVanilla+" or both", dataset.ModeVanilla,
		dataset.ModeErrorAware)
}

// oneOrBoth reads a flag that is one of two values, or "both"; menu says so.
func oneOrBoth(ctx *cli.Context, flag, menu string, values ...string) ([]string, error) {
	switch value := ctx.String(flag); {
	case value == "both":
		return values, nil
	case slices.Contains(values, value):
		return []string{value}, nil
	default:
		return nil, exit.Usagef("--%s %q: it is %s", flag, value, menu)
	}
}

// checkPanelFlags says of flags what the panel would say of options.
func checkPanelFlags(ctx *cli.Context) error {
	mode, plant, sure, audit := ctx.String("mode"), ctx.Float64("plant"), ctx.Float64("cascade"), ctx.Float64("audit")
	switch {
	case plant < 0 || plant > 1:
		return exit.Usagef("--plant %v: give a share of 0 to 1, as in 0.1", plant)
	case plant > 0 && ctx.Bool("joint"):
		return exit.Usagef("--plant: a planted label bears on one dimension; leave out --joint, which asks about all in " +
			"one call")
	case plant > 0 && mode == dataset.ModeVanilla:
		return exit.Usagef("--plant: --mode %s shows no labels, so none can be planted; give another mode", mode)
	case sure != 0 && (sure < 0.5 || sure > 1):
		return exit.Usagef("--cascade %v: give a certainty of 0.5 to 1, as in 0.9", sure)
	case audit < 0 || audit > 1:
		return exit.Usagef("--audit %v: give a share of 0 to 1, as in 0.05", audit)
	}
	return nil
}

// readAskOptions reads the flags of every command that asks a language model.
func readAskOptions(ctx *cli.Context, e *env) (*asking.Options, error) {
	o := &asking.Options{Template: ctx.String("template"), ShowPrompt: ctx.String("show-prompt"),
		Panel: scorer.DefaultPanelOptions()}
	o.Prices, o.Journal, o.Calls = ctx.String("prices"), ctx.String("journal"), !ctx.Bool("dry-run") && o.ShowPrompt == ""
	o.KeepPrompts, o.ReplayRejected, o.Warn = ctx.Bool("keep-prompts"), !ctx.Bool("retry-unusable"), e.Warn
	o.Repeats, o.Attempts = ctx.Int("repeats"), ctx.Int("attempts")
	o.Budget.MaxCost = given(ctx, "max-cost", ctx.Float64) // a limit of 0 allows nothing
	o.Budget.MaxTokens, o.Budget.MaxCalls = given(ctx, "max-tokens", ctx.Int64), given(ctx, "max-calls", ctx.Int64)
	base, err := readBase(ctx)
	if err != nil {
		return nil, err
	}
	if e.typed([]string{"base-url"}) && ctx.String("base-url") == "" { // as by an empty variable of a shell
		return nil, exit.Usagef("--base-url is empty: give an endpoint's address, or leave it out for the vendor's own")
	}
	o.Models, o.Base, err = judging.Read(judging.Sources{Names: ctx.String("judge"),
		File: ctx.String("config"), UserFile: userConfig(e), Trusted: trust.NewStore(e.Getenv).Trusted, Base: base,
		Getenv: e.Getenv, Warn: e.Warn,
		Given: func(flag string) bool { return ctx.IsSet(flag) && ctx.Value(flag) != "" }, // an empty variable says nothing
		BaseURL: func(v *vendor.Vendor) string {
			if e.typed([]string{"base-url"}) {
				return ctx.String("base-url")
			}
			return e.Getenv(v.BaseURLEnv)
		}})
	if err == nil {
		err = o.Validate()
	}
	if err != nil {
		return nil, exit.With(exit.Usage, err)
	}
	o.Panel.Repeats, o.Panel.Attempts = o.Repeats, o.Attempts
	o.Panel.Workers = 2*o.InFlight() - 1 // those that pause are not among the calls in flight; one alone keeps the order
	return o, nil
}

// userConfig is the user's own configuration of judges; "" where there is no place for one.
func userConfig(e *env) string {
	dir, err := trust.UserDir(e.Getenv)
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "config.yaml")
}

// readBase reads what holds for models without an entry in erreval.yaml.
func readBase(ctx *cli.Context) (judging.Settings, error) {
	v, err := vendor.Find(ctx.String("vendor"))
	if err != nil {
		return judging.Settings{}, exit.Usagef("--vendor: %v", err)
	}
	headers, err := parseHeaders(ctx.StringSlice("header"))
	return judging.Settings{
		Vendor: v,
		Endpoint: vendor.Options{
			AzureVersion: ctx.String("azure-version"), Headers: headers, Timeout: ctx.Duration("timeout"),
			AllowPlainHTTP: ctx.Bool("allow-plain-http"),
		},
		Limits:      llm.LimitOptions{RPM: ctx.Int("rpm"), TPM: ctx.Int("tpm"), InFlight: ctx.Int("in-flight")},
		Temperature: ctx.Float64("temperature"), Seed: ctx.Int64("seed"),
		ReplyTokens: ctx.Int("reply-tokens"), Lines: ctx.Bool("lines"),
	}, err
}

// onlyWith refuses flags that would do nothing.
func onlyWith(ctx *cli.Context, e *env, names []string, why string) error {
	for _, f := range ctx.Command.Flags {
		// The environment may hold what another command needs.
		if name := f.Names()[0]; slices.Contains(names, name) && ctx.IsSet(name) && e.typed(f.Names()) {
			return exit.Usagef(why, name)
		}
	}
	return nil
}

// namesOf are the flags' names, without their aliases.
func namesOf(flags []cli.Flag) (names []string) {
	for _, f := range flags {
		names = append(names, f.Names()[0])
	}
	return names
}

// goesWith is a flag that does nothing unless another one has one of some values.
type goesWith struct {
	flag, other string
	values      []string
}

// checkTogether refuses the flags of the table that were given beside another value.
func checkTogether(ctx *cli.Context, table []goesWith) error {
	var faults []error
	for _, g := range table {
		if ctx.IsSet(g.flag) && !slices.Contains(g.values, ctx.String(g.other)) {
			faults = append(faults, exit.Usagef("--%s goes with --%s %s", g.flag, g.other, words.Or(g.values)))
		}
	}
	return errors.Join(faults...)
}

func parseHeaders(pairs []string) (map[string]string, error) {
	headers := map[string]string{}
	for _, pair := range pairs {
		name, value, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			return nil, exit.Usagef("--header: write it as NAME=VALUE") // it may hold a secret, which is not repeated
		}
		headers[name] = value
	}
	return headers, nil
}
