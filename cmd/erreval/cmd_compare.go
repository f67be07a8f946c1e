package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/app/asking"
	"github.com/erreval/erreval/internal/app/comparing"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/gate"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/internal/wholefile"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/pairwise"
	"github.com/erreval/erreval/pairwise/leaderboard"
	"github.com/erreval/erreval/pairwise/verdicts"
	"github.com/erreval/erreval/prompt"
	"github.com/erreval/erreval/report/chart"
	"github.com/erreval/erreval/taxonomy"
)

const compareDescription = `INPUT holds outputs of two systems or more on the same inputs: a row an output, with the system's name in a
column, or a row a pair. By each error type and overall, the better text of each pair is found: offline by the labels
of tagged rows, or by language models. OUT has the pairs with a column "verdicts"; leaderboards, and what the judges
go by besides quality, are printed:
   erreval identify outputs.jsonl -o tagged.jsonl
   erreval compare tagged.jsonl -o compared.jsonl --system system
   erreval compare small.jsonl large.jsonl -o compared.jsonl --system file

By a language model, in both orders and three wordings; look at the prompts and the cost first:
   erreval compare outputs.jsonl --system system --judge gpt-4o-mini --prompts 3 --show-prompt '*'
   erreval compare outputs.jsonl --system system --judge gpt-4o-mini --prompts 3 --dry-run
   erreval compare outputs.jsonl -o compared.jsonl --system system --judge gpt-4o-mini --prompts 3 --max-cost 20

Pairs (columns response_a, response_b, system_a, system_b, instruction), only some types, a limit on bias:
   erreval compare pairs.jsonl -o compared.jsonl --taxonomy instruction-following --judge gpt-4o-mini \
      --types Factuality,Overall --fail-on 'order-changes>20%'

The leaderboards again, of these verdicts or of people's:
   erreval rank compared.jsonl
docs/compare.md says how each figure is computed.`

func compareCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:        "compare",
		Usage:       "find which system is better at what",
		ArgsUsage:   "INPUT...",
		Description: compareDescription,
		Flags:       compareFlags(),
		Action: withArgs(1, -1, "files of outputs, or one file of pairs",
			func(ctx *cli.Context) error { return runCompare(ctx, e) }),
	}
}

// compareJudge are the judge's flags of compare, which has a template for each wording.
var compareJudge = judgeFlags{without: []string{"template"}, instead: "compare offline",
	own:     []string{"template", "prompts", "orders", "joint", "mode", "reconcile", "until", "round", "bias-plot"},
	missing: scoreJudge.missing}

func compareFlags() []cli.Flag {
	own := map[string][]cli.Flag{"output": {recordedTaxonomyFlag("INPUT"),
		&cli.StringFlag{Name: "system", Usage: "INPUT has a row an output; `COLUMN` names its system, or file does"},
		&cli.StringFlag{Name: "pair-by", Usage: "outputs with the same text in `FIELD` or column are compared " +
			"(default: the taxonomy's group field, or where a system has several outputs for it all fields but the first)"},
		whereFlag("outputs"),
		&cli.StringFlag{Name: "design", Value: pairwise.All, Usage: "which pairs are made of outputs, `DESIGN`: all, " +
			"random (one an item) or baseline=SYSTEM"},
		&cli.IntFlag{Name: "pairs", Usage: "take `N` of these pairs, drawn; 0 takes all"},
		typesFlag("compare"),
		&cli.StringFlag{Name: "reconcile", Value: verdicts.Majority, Usage: "`HOW` several judgements become one: " +
			verdicts.Majority + ", or " + verdicts.Agree + ", where all have to say the same"},
		&cli.IntFlag{Name: "prompts", Value: 1, Usage: "ask in `K` wordings, 1 to 3"},
		&cli.StringFlag{Name: "orders", Value: "both", Usage: "show the texts of a pair in `ORDER`: both, ab or ba"},
		&cli.BoolFlag{Name: "joint", Usage: "ask about all types in one call: cheaper"},
		&cli.StringFlag{Name: "mode", Value: prompt.Vanilla, Usage: "`MODE`: error-aware shows the judge the errors found, " +
			"vanilla does not, both does each"},
		&cli.StringFlag{Name: "until", Usage: "`settled`: judge in rounds over drawn items, and stop asking once each two " +
			"neighbours of the leaderboard are told apart"},
		&cli.IntFlag{Name: "round", Value: 60, Usage: "with --until settled, look after each `N` pairs"},
		&cli.StringSliceFlag{Name: "template", Usage: "prompt template `FILE` of kind compare; may be repeated, in place " +
			"of --prompts"},
	}}
	return slices.Concat(runFlags(own), ratingFlags(), compareJudge.flags())
}

func typesFlag(verb string) cli.Flag {
	return &cli.StringFlag{Name: "types", Usage: verb + " by these error types of the taxonomy, `NAME[,NAME]`, and " +
		verdicts.Overall + " (default: all, and " + verdicts.Overall + ")"}
}

// ratingFlags say how systems are rated.
func ratingFlags() []cli.Flag {
	o := leaderboard.DefaultOptions()
	return []cli.Flag{
		&cli.StringFlag{Name: "anchor", Usage: "`SYSTEM` whose ratings are 1000 (default: the mean is 1000)"},
		&cli.IntFlag{Name: "bootstrap", Value: o.Resamples, Usage: "`N` resamples of items for the intervals; 0: no resampling"},
		&cli.Uint64Flag{Name: "draw-seed", Value: o.Seed, Usage: "`SEED` of pairs, resamples and Elo's orders"},
		&cli.Float64Flag{Name: "elo-k", Value: o.Elo.K, Usage: "`K` of Elo"},
		&cli.StringFlag{Name: "inconsistent", Value: o.Inconsistent,
			Usage: "pairs on which judgements differ are `HOW`: tie (half a win of each) or out"},
		&cli.BoolFlag{Name: "audit", Value: true,
			Usage: "measure what judges go by besides quality: order, length, own texts; --audit=false does not"},
		&cli.StringSliceFlag{Name: "own", Usage: "`JUDGE=SYSTEM[,SYSTEM]`: systems that are the judge, or of its family, " +
			"for the audit; may be repeated"},
		&cli.StringFlag{Name: "report", Usage: "write the figures as Markdown to `FILE`, replacing it"},
		&cli.StringFlag{Name: "plot", Usage: "draw the ratings with their intervals to `FILE`, .svg, .png or .pdf"},
		&cli.StringFlag{Name: "matrix-plot", Usage: "draw how often each system wins against each other to `FILE`"},
		&cli.StringFlag{Name: "bias-plot", Usage: "draw the audit of the judges to `FILE`"},
		&cli.StringSliceFlag{Name: "fail-on", Usage: "end with code 6 if `LIMIT` holds, as in \"order-changes>20%\"; also " +
			strings.Join(comparing.RankLimits()[1:], ", ") + "; may be repeated"},
	}
}

func readRatings(ctx *cli.Context) (o comparing.RatingOptions, err error) {
	o = comparing.RatingOptions{Options: leaderboard.DefaultOptions(), Own: map[string][]string{},
		Report: ctx.String("report")}
	o.Anchor, o.Resamples, o.Seed = ctx.String("anchor"), ctx.Int("bootstrap"), ctx.Uint64("draw-seed")
	o.Elo.K, o.Elo.Seed, o.Inconsistent = ctx.Float64("elo-k"), ctx.Uint64("draw-seed"), ctx.String("inconsistent")
	if err := o.Validate(); err != nil {
		return o, exit.With(exit.Usage, err)
	}
	if o.Audit = ctx.Bool("audit"); !o.Audit && (ctx.IsSet("own") || ctx.IsSet("bias-plot")) {
		return o, exit.Usagef("--own and --bias-plot are about the audit; leave out --audit=false")
	}
	for _, pair := range ctx.StringSlice("own") {
		judge, systems, ok := strings.Cut(pair, "=")
		if !ok || judge == "" || systems == "" {
			return o, exit.Usagef("--own %q: write it as JUDGE=SYSTEM,SYSTEM", pair)
		}
		o.Own[judge] = append(o.Own[judge], strings.Split(systems, ",")...)
	}
	if o.Gates, err = readRankLimits(ctx.StringSlice("fail-on"), o.Audit); err != nil {
		return o, err
	}
	o.Plots, err = readRankPlots(ctx)
	return o, err
}

func readRankLimits(texts []string, audited bool) (limits []gate.Gate, err error) {
	isLimit := func(name string) bool { return slices.Contains(comparing.RankLimits(), name) }
	for _, text := range texts {
		limit, err := gate.Parse(text, func(name string) (string, bool) { return name, isLimit(name) })
		if err != nil || !isLimit(limit.Subject) {
			return nil, exit.Usagef("--fail-on %q: write it as NAME>LIMIT; names are %s", text,
				strings.Join(comparing.RankLimits(), ", "))
		}
		if !audited && limit.Subject != comparing.LimitUnjudged {
			return nil, exit.Usagef("--fail-on %q is about the audit; leave out --audit=false", text)
		}
		limits = append(limits, limit)
	}
	return limits, nil
}

// readRankPlots reads which pictures are drawn. One that is there gives way where the run is told to replace or to go
// on.
func readRankPlots(ctx *cli.Context) (comparing.RankPlots, error) {
	p := comparing.RankPlots{Ratings: readPlotOptions(ctx, "plot"), Matrix: readPlotOptions(ctx, "matrix-plot"),
		Bias: readPlotOptions(ctx, "bias-plot")}
	for _, f := range []*chart.File{&p.Ratings, &p.Matrix, &p.Bias} {
		f.Overwrite = f.Overwrite || ctx.Bool("resume")
	}
	return p, errors.Join(p.CheckPaths(), wholefile.RefuseIrregular(ctx.String("report")))
}

func runCompare(ctx *cli.Context, e *env) error {
	t, err := taxonomyOf(ctx.String("taxonomy"), ctx.Args().Slice(), openTask)
	if err != nil {
		return err
	}
	c := &comparing.Compare{Taxonomy: t, Reconcile: ctx.String("reconcile"), JSON: ctx.Bool("json")}
	if c.Ratings, err = readRatings(ctx); err != nil {
		return err
	}
	if c.Types, err = readTypes(ctx.String("types"), t); err != nil {
		return err
	}
	ask, err := readCompareJudge(ctx, e, c)
	if err != nil {
		return err
	}
	if err := checkTypes(t); err != nil && ask == nil { // labels decide
		return fmt.Errorf("%w; --judge NAME compares the rows Overall", err)
	}
	o := readRunOptions(ctx)
	if o.Output == "" && (ask == nil || ask.Asks()) || o.Output == run.Stdio {
		return exit.Usagef("give -o OUT, a file for the pairs with their verdicts")
	}
	if err := o.Validate(); err != nil {
		return err
	}
	if ctx.String("system") == "" && len(o.Inputs) > 1 {
		return exit.Usagef("several files hold outputs: name the column of the systems with --system COLUMN, or take each " +
			"file for one with --system file")
	}
	if ctx.String("system") == "" {
		if ctx.IsSet("where") {
			return exit.Usagef("--where is for rows of outputs, with --system")
		}
		return compareFiles(ctx, e, c, ask, o)
	}
	left, done, err := makePairs(ctx, e, t, &o)
	if err != nil {
		return err
	}
	defer done()
	return errors.Join(compareFiles(ctx, e, c, ask, o), left)
}

// compareFiles compares the pairs of files.
func compareFiles(ctx *cli.Context, e *env, c *comparing.Compare, ask *asking.Options, o run.Options) (err error) {
	if c.Run, err = run.New(e.Process, o); err != nil {
		return err
	}
	if err := namePairColumns(ctx, c.Run, c.Taxonomy); err != nil {
		if run.LacksColumns(err) && ctx.String("system") == "" {
			err = fmt.Errorf("%w\na file with a row an output needs --system COLUMN, which names the systems", err)
		}
		return err
	}
	if err := c.CheckSystems(ctx.Context); err != nil {
		return err
	}
	if ask == nil || slices.Contains(c.Modes, prompt.ErrorAware) { // by labels, or knowing them
		for _, file := range ctx.Args().Slice() {
			c.Weak = append(c.Weak, run.ReadMaker(file).Weak...)
		}
	}
	if ask == nil {
		return c.Offline(ctx.Context)
	}
	return c.Panel(ctx.Context, ask)
}

// namePairColumns names the columns of pairs. Where those of the taxonomy's names are missing, response_a, response_b
// and input are taken, as other programs write them.
func namePairColumns(ctx *cli.Context, r *run.Run, t *taxonomy.Taxonomy) error {
	pairs := pairwise.PairTask(t)
	err := r.NameColumns(ctx.Context, pairs)
	missing, ok := errors.AsType[*dataset.ColumnsError](err)
	if !ok || len(r.Map) > 0 {
		return err
	}
	text := t.Fields[0].Name
	usual := map[string]string{text + "_a": "response_a", text + "_b": "response_b"}
	if group := t.GroupField(); group != "" {
		usual[group] = "input"
	}
	var taken []string
	for _, field := range missing.Fields {
		column, ok := usual[field]
		if !ok || !slices.Contains(missing.First.Columns(), column) {
			return err
		}
		r.Map, taken = append(r.Map, field+"="+column), append(taken, field+" from "+column)
	}
	r.Say("%s", "reading "+strings.Join(taken, ", ")+"; --map says otherwise")
	return r.NameColumns(ctx.Context, pairs)
}

// readTypes are the names of the types that are compared, in the taxonomy's order, then Overall.
func readTypes(flag string, t *taxonomy.Taxonomy) ([]string, error) {
	all := comparing.RankTypes(t)
	if flag == "" {
		return all, nil
	}
	wanted := map[string]bool{}
	for name := range strings.SplitSeq(flag, ",") {
		name = strings.TrimSpace(name)
		if i, ok := t.Index(name); ok {
			name = t.Types[i].Name
		} else if strings.EqualFold(name, verdicts.Overall) {
			name = verdicts.Overall
		}
		if !slices.Contains(all, name) {
			return nil, exit.Usagef("--types: %s has no error type %q; there are %s", t.ID(), name, strings.Join(all, ", "))
		}
		wanted[name] = true
	}
	return slices.DeleteFunc(all, func(name string) bool { return !wanted[name] }), nil
}

// readCompareJudge reads how models judge; nil without a judge.
func readCompareJudge(ctx *cli.Context, e *env, c *comparing.Compare) (*asking.Options, error) {
	ask, err := compareJudge.read(ctx, e)
	if ask == nil || err != nil {
		return nil, err
	}
	ask.Joint, ask.Template = ctx.Bool("joint"), ""
	if c.Modes, err = readModes(ctx); err != nil {
		return nil, err
	}
	c.Orders, err = oneOrBoth(ctx, "orders", "both, ab or ba", verdicts.OrderAB, verdicts.OrderBA)
	if err != nil {
		return nil, err
	}
	if err := checkTogether(ctx, []goesWith{{"round", "until", []string{"settled"}}}); err != nil {
		return nil, err
	}
	switch until := ctx.String("until"); {
	case until != "" && until != "settled":
		return nil, exit.Usagef("--until %q: there is only --until settled", until)
	case until == "settled" && ctx.Int("round") < 1:
		return nil, exit.Usagef("--round %d: give a number of pairs", ctx.Int("round"))
	case until == "settled":
		c.Round = ctx.Int("round")
	}
	k, wordings := ctx.Int("prompts"), prompt.CompareWordings()
	if ctx.Bool("joint") && (ctx.IsSet("prompts") || ctx.IsSet("template")) {
		return nil, exit.Usagef("--joint has one wording, a built-in one: leave --prompts and --template out")
	}
	if k < 1 || k > len(wordings) {
		return nil, exit.Usagef("--prompts %d: there are %d wordings", k, len(wordings))
	}
	if c.Wordings = wordings[:k]; len(ctx.StringSlice("template")) > 0 {
		c.Wordings = ctx.StringSlice("template")
	}
	return ask, nil
}

// makePairs writes the pairs of a file of outputs beside OUT, and makes them the input. For a look at prompts and costs
// they are in a temporary file, which done removes. left is the error that some of the file's lines are no rows.
func makePairs(ctx *cli.Context, e *env, t *taxonomy.Taxonomy, o *run.Options) (left error, done func(), err error) {
	m := &comparing.MakePairs{Process: e.Process, Inputs: o.Inputs, Output: o.Output + ".pairs.jsonl",
		System: ctx.String("system"), By: ctx.String("pair-by"),
		Design: pairwise.DesignOptions{Design: ctx.String("design"), Pairs: ctx.Int("pairs"), Seed: ctx.Uint64("draw-seed"),
			Shuffle: ctx.IsSet("until")}}
	switch d := m.Design.Design; {
	case d != pairwise.All && d != pairwise.Random && !strings.HasPrefix(d, pairwise.Baseline):
		return nil, nil, exit.Usagef("--design %q: it is all, random or baseline=SYSTEM", d)
	case cmp.Or(m.By, t.GroupField()) == "":
		return nil, nil, exit.Usagef("%s does not say what outputs are written for; name the field or column "+
			"with --pair-by", t.ID())
	case m.Design.Pairs < 0:
		return nil, nil, exit.Usagef("--pairs %d: give a number of pairs, or 0 for all", m.Design.Pairs)
	}
	if m.Where, err = parseWhere(ctx.StringSlice("where")); err != nil {
		return nil, nil, err
	}
	if o.Output != "" {
		if err := dataset.CheckInputs(m.Output, o.Inputs...); err != nil {
			return nil, nil, err
		}
	}
	if o.Output != "" && !o.Overwrite && !o.Resume { // the pairs of an output that stays are left alone as well
		err = run.CheckNew(o.Output)
	}
	if err == nil {
		m.Rows, err = openRowInput(ctx, t)
	}
	if err != nil {
		return nil, nil, err
	}
	done = func() {}
	if o.Output == "" {
		dir, err := os.MkdirTemp("", "erreval")
		if err != nil {
			return nil, nil, err
		}
		m.Output = filepath.Join(dir, "pairs.jsonl")
		done = func() { _ = os.RemoveAll(dir) } // nothing is lost with it
	}
	n, left, err := m.Run(ctx.Context)
	if err != nil {
		done()
		return nil, nil, err
	}
	o.Inputs, o.Map, o.IDFlag = []string{m.Output}, nil, ""
	if o.Output != "" {
		e.Say("%s in %s", words.Plural(n, "pair", "pairs"), m.Output)
	}
	return left, done, nil
}
