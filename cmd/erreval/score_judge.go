package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/runrecord"
	"github.com/erreval/erreval/llm"
	"github.com/erreval/erreval/llm/journal"
	"github.com/erreval/erreval/llm/openai"
	"github.com/erreval/erreval/prompt"
	"github.com/erreval/erreval/scorer"
	"github.com/erreval/erreval/taxonomy"
)

// judgeOptions are the flags that concern language models.
type judgeOptions struct {
	Judges     []judgeSettings
	Base       judgeSettings // of a judge that erreval.yaml does not name
	Budget     journal.Budget
	Prices     string // file; "" is the built-in list
	Journal    string // file; "" is OUT.journal
	Template   string // built-in name or file; "" is the one that Joint asks for
	Joint      bool
	Panel      scorer.PanelOptions // of it, identify takes Repeats, Attempts and Workers
	DryRun     bool
	ShowPrompt string // id of a row
}

// names are those of the judges.
func (o *judgeOptions) names() []string {
	var names []string
	for i := range o.Judges {
		names = append(names, o.Judges[i].Name)
	}
	return names
}

// askFlags are those of every command that asks a language model.
func askFlags() []cli.Flag {
	limits, panel, endpoint := llm.DefaultLimitOptions(), scorer.DefaultPanelOptions(), openai.DefaultOptions()
	return []cli.Flag{
		&cli.StringFlag{Name: "judge", EnvVars: envName("judge"), Usage: "ask the language model `NAME`, or in score several: NAME,NAME; the key is in OPENAI_API_KEY"},
		&cli.StringFlag{Name: "config", EnvVars: envName("config"), Usage: "`FILE` with settings of judges by name (default: erreval.yaml, if it is there)"},
		&cli.StringFlag{Name: "base-url", Value: endpoint.BaseURL, EnvVars: []string{"OPENAI_BASE_URL"}, Usage: "`URL` of an OpenAI-compatible endpoint"},
		&cli.StringSliceFlag{Name: "header", Usage: "send this header with each call, `NAME=VALUE`; may be repeated"},
		&cli.StringFlag{Name: "azure-version", EnvVars: envName("azure-version"), Usage: "call in Azure's style, with this `API-VERSION`; --base-url is the resource, --judge the deployment"},
		&cli.IntFlag{Name: "repeats", Value: panel.Repeats, Usage: "ask everything `K` times, with --seed, --seed plus 1 and so on"},
		&cli.IntFlag{Name: "attempts", Value: panel.Attempts, Usage: "ask up to `N` times where a reply does not hold what was asked for"},
		&cli.Float64Flag{Name: "temperature", Usage: "`T` of the model, 0 to 2"},
		&cli.Int64Flag{Name: "seed", Usage: "`SEED` of the model; in score it also chooses what --plant and --audit take"},
		&cli.IntFlag{Name: "reply-tokens", Value: 1000, Usage: "`N` tokens at most in a reply; reasoning models need more"},
		&cli.BoolFlag{Name: "lines", Usage: "ask for lines of text instead of JSON"},
		&cli.StringFlag{Name: "template", Usage: "prompt `TEMPLATE`: a built-in name or a file"},
		&cli.StringFlag{Name: "journal", Usage: "`FILE` that keeps replies and what was spent (default: OUT.journal)"},
		&cli.Float64Flag{Name: "max-cost", Usage: "spend at most `COST` in all runs with this journal, in the price list's currency"},
		&cli.Int64Flag{Name: "max-tokens", Usage: "use at most `N` tokens in all runs with this journal"},
		&cli.Int64Flag{Name: "max-calls", Usage: "make at most `N` calls in all runs with this journal"},
		&cli.StringFlag{Name: "prices", Usage: "price `FILE` (default: a built-in list of a few models)"},
		&cli.IntFlag{Name: "rpm", Usage: "at most `N` calls a minute; 0 is no limit"},
		&cli.IntFlag{Name: "tpm", Usage: "at most `N` tokens a minute; 0 is no limit"},
		&cli.IntFlag{Name: "in-flight", Value: limits.InFlight, Usage: "`N` calls at the same time"},
		&cli.DurationFlag{Name: "timeout", Value: endpoint.Timeout, Usage: "`TIME` that one call may take"},
		&cli.BoolFlag{Name: "dry-run", Usage: "print calls, tokens and the highest cost, and call nothing"},
		&cli.StringFlag{Name: "show-prompt", Usage: "print what the model is asked about the row `ID` (ID* for what it begins with, * for the first), and call nothing"},
	}
}

// judgeFlags are those of score.
func judgeFlags() []cli.Flag {
	panel := scorer.DefaultPanelOptions()
	return append(askFlags(),
		&cli.StringFlag{Name: "mode", Value: panel.Modes[0], Usage: "`MODE`: error-aware shows the judge the errors found, vanilla does not, both does each"},
		&cli.BoolFlag{Name: "joint", Usage: "ask about all dimensions in one call: cheaper"},
		&cli.StringFlag{Name: "aggregate", Value: panel.Aggregate, Usage: "`HOW` several judgements become one value: " + strings.Join(scorer.Aggregates(), ", ")},
		&cli.BoolFlag{Name: "paper-wording", Usage: "show No Error also where a row has errors none of which bears on the dimension, as the ErrEval paper does"},
		&cli.Float64Flag{Name: "plant", Usage: "judge this `SHARE` once more with a wrong label shown, and report how often the judge follows it"},
		&cli.Float64Flag{Name: "cascade", Usage: "score offline what the identifier is `P` sure of (0.5 to 1), ask the judge about the rest"},
		&cli.Float64Flag{Name: "audit", Value: 0.05, Usage: "with --cascade, ask the judge about this `SHARE` of the sure ones as well"})
}

// readJudgeOptions reads the flags of score; nil without a judge.
func readJudgeOptions(ctx *cli.Context, e *env) (*judgeOptions, error) {
	if ctx.String("judge") == "" {
		if e.typed([]string{"judge"}) { // as by an empty variable: offline is not what is wanted
			return nil, usagef("--judge is empty: name a judge, or leave it out to score offline")
		}
		return nil, onlyWith(ctx, e, judgeFlags(), "--%s is for judges; name one with --judge, as in --judge gpt-4o-mini")
	}
	o, err := readAskOptions(ctx, e)
	if err != nil {
		return nil, err
	}
	o.Joint = ctx.Bool("joint")
	if err := checkWays(ctx); err != nil {
		return nil, err
	}
	p := &o.Panel
	p.Modes, p.Aggregate = []string{ctx.String("mode")}, ctx.String("aggregate")
	if ctx.String("mode") == "both" {
		p.Modes = []string{dataset.ModeVanilla, dataset.ModeErrorAware}
	}
	p.PaperWording, p.Plant, p.PlantSeed = ctx.Bool("paper-wording"), ctx.Float64("plant"), uint64(o.Base.Seed)
	p.Cascade = scorer.Cascade{Sure: ctx.Float64("cascade"), Audit: ctx.Float64("audit"), Seed: uint64(o.Base.Seed)}
	return o, nil
}

// checkWays says of flags what the panel would say of options.
func checkWays(ctx *cli.Context) error {
	mode, plant, sure, audit := ctx.String("mode"), ctx.Float64("plant"), ctx.Float64("cascade"), ctx.Float64("audit")
	switch {
	case !slices.Contains([]string{dataset.ModeErrorAware, dataset.ModeVanilla, "both"}, mode):
		return usagef("--mode %q: it is %s, %s or both", mode, dataset.ModeErrorAware, dataset.ModeVanilla)
	case plant < 0 || plant > 1:
		return usagef("--plant %v: give a share of 0 to 1, as in 0.1", plant)
	case plant > 0 && ctx.Bool("joint"):
		return usagef("--plant: a planted label bears on one dimension; leave out --joint, which asks about all in one call")
	case plant > 0 && mode == dataset.ModeVanilla:
		return usagef("--plant: --mode %s shows no labels, so none can be planted; give another mode", mode)
	case sure != 0 && (sure < 0.5 || sure > 1):
		return usagef("--cascade %v: give a certainty of 0.5 to 1, as in 0.9", sure)
	case audit < 0 || audit > 1:
		return usagef("--audit %v: give a share of 0 to 1, as in 0.05", audit)
	}
	return nil
}

// readAskOptions reads the flags of every command that asks a language model.
func readAskOptions(ctx *cli.Context, e *env) (*judgeOptions, error) {
	o := &judgeOptions{Prices: ctx.String("prices"), Journal: ctx.String("journal"), Template: ctx.String("template"),
		DryRun: ctx.Bool("dry-run"), ShowPrompt: ctx.String("show-prompt"), Panel: scorer.DefaultPanelOptions()}
	var err error
	if o.Base, err = readBase(ctx, e); err != nil {
		return nil, err
	}
	if o.Judges, err = seats(ctx, e, o.Base); err != nil {
		return nil, err
	}
	o.Panel.Repeats, o.Panel.Attempts = ctx.Int("repeats"), ctx.Int("attempts")
	o.Panel.Workers = 2 * o.inFlight() // those that pause hold no place among the calls in flight
	o.readBudget(ctx)
	return o, o.validate()
}

// readBase reads what holds for judges without an entry in erreval.yaml.
func readBase(ctx *cli.Context, e *env) (judgeSettings, error) {
	headers, err := parseHeaders(ctx.StringSlice("header"))
	return judgeSettings{Endpoint: openai.Options{BaseURL: cmp.Or(strings.TrimRight(ctx.String("base-url"), "/"), openai.DefaultOptions().BaseURL), Key: e.getenv("OPENAI_API_KEY"),
		AzureVersion: ctx.String("azure-version"), Headers: headers, Timeout: ctx.Duration("timeout")},
		Limits: llm.LimitOptions{RPM: ctx.Int("rpm"), TPM: ctx.Int("tpm"), InFlight: ctx.Int("in-flight")},
		Lines:  ctx.Bool("lines"), Temperature: ctx.Float64("temperature"), Seed: ctx.Int64("seed"), ReplyTokens: ctx.Int("reply-tokens")}, err
}

// inFlight is how many calls all judges may have under way. Those without an entry share one limit.
func (o *judgeOptions) inFlight() int {
	n, shared := 0, 0
	for i := range o.Judges {
		if s := &o.Judges[i]; s.own() {
			n += s.Limits.InFlight
		} else {
			shared = s.Limits.InFlight
		}
	}
	return max(n+shared, 1)
}

// onlyWith refuses flags that would do nothing.
func onlyWith(ctx *cli.Context, e *env, flags []cli.Flag, why string) error {
	for _, f := range flags {
		if name := f.Names()[0]; ctx.IsSet(name) && e.typed(f.Names()) { // the environment may hold what another command needs
			return usagef(why, name)
		}
	}
	return nil
}

// readBudget takes only what was given: a limit of 0 allows nothing.
func (o *judgeOptions) readBudget(ctx *cli.Context) {
	if ctx.IsSet("max-cost") {
		o.Budget.MaxCost = new(ctx.Float64("max-cost"))
	}
	if ctx.IsSet("max-tokens") {
		o.Budget.MaxTokens = new(ctx.Int64("max-tokens"))
	}
	if ctx.IsSet("max-calls") {
		o.Budget.MaxCalls = new(ctx.Int64("max-calls"))
	}
}

func parseHeaders(pairs []string) (map[string]string, error) {
	headers := map[string]string{}
	for _, pair := range pairs {
		name, value, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			return nil, usagef("--header: write it as NAME=VALUE") // it may hold a secret, which is not repeated
		}
		headers[name] = value
	}
	return headers, nil
}

func (o *judgeOptions) validate() error {
	faults, seen := []error{o.Budget.Validate()}, false
	for i := range o.Judges {
		if s := &o.Judges[i]; s.own() || !seen { // those without an entry have the same faults
			faults, seen = append(faults, s.validate(o.calls())), seen || !s.own()
		}
	}
	faults = append(faults, sameCalls(o.Judges))
	if err := errors.Join(faults...); err != nil {
		return withCode(exitUsage, err)
	}
	return nil
}

// calls tells whether the run calls judges and writes an output.
func (o *judgeOptions) calls() bool { return o != nil && !o.DryRun && o.ShowPrompt == "" }

// judges are the models that a run asks, with what stands behind them.
type judges struct {
	o        *judgeOptions
	panel    *scorer.Panel                    // in score
	labeller *scorer.Labeller                 // in identify
	use      func(*judges, []llm.Model) error // makes one of the two
	taxonomy *taxonomy.Taxonomy
	template *prompt.Template
	prices   *journal.Prices
	journal  *journal.Journal  // nil where nothing is called and there is none
	clients  []*journal.Client // by judge
	seats    []*seat           // by judge
	path     string            // of the journal
	first    bool              // a row was looked at
}

// newJudges makes the panel, and finds what is wrong with it while there is no journal yet.
func newJudges(o *judgeOptions, t *taxonomy.Taxonomy, output string) (*judges, error) {
	kind := prompt.Judge
	if o.Joint {
		kind = prompt.Joint
	}
	return newModels(o, t, kind, output, func(j *judges, members []llm.Model) (err error) {
		options := o.Panel
		options.Taxonomy, options.Template = j.taxonomy, j.template
		j.panel, err = scorer.NewPanel(members, options)
		return err
	})
}

// newModels makes models that are asked by a kind of templates; use puts them to work.
func newModels(o *judgeOptions, t *taxonomy.Taxonomy, kind, output string, use func(*judges, []llm.Model) error) (j *judges, err error) {
	j = &judges{o: o, use: use, taxonomy: t, path: o.Journal}
	if j.path == "" && output != stdio && output != "" {
		j.path = filepath.Clean(output) + ".journal"
	}
	if j.path == "" && o.calls() {
		return nil, usagef("the output is no file; say with --journal FILE where replies are kept")
	}
	if j.template, err = prompt.Open(cmp.Or(o.Template, kind)); err != nil {
		return nil, withCode(exitUsage, err)
	}
	if j.template.Kind != kind {
		return nil, usagef("--template %s is of kind %s; this run needs one of kind %s", o.Template, j.template.Kind, kind)
	}
	if err := j.readPrices(); err != nil {
		return nil, withCode(exitUsage, err)
	}
	return j, j.seat()
}

// checkPath refuses a journal that would be the input, or one of the files of the output.
func (j *judges) checkPath(input, output string) error {
	for _, other := range []string{input, output, dataset.PartialPath(output), runrecord.Path(output)} {
		if other != stdio && other != "" && dataset.SameFile(j.path, other) {
			return usagef("the journal %s would be the same file as %s; choose another name with --journal", j.path, other)
		}
	}
	return nil
}

// openJournal puts the journal between models and endpoints. Without calls, it is only looked into if it is there.
func (j *judges) openJournal() (err error) {
	if _, err := os.Stat(j.path); !j.o.calls() && err != nil {
		return nil
	}
	if j.journal, err = journal.Open(j.path); err != nil {
		return err
	}
	if err := j.seat(); err != nil {
		return errors.Join(err, j.close())
	}
	return nil
}

func (j *judges) close() error {
	if j.journal == nil {
		return nil
	}
	return j.journal.Close()
}

// openPrices reads a price list; path "" is the built-in one.
func openPrices(path string) (*journal.Prices, error) {
	if path == "" {
		return journal.DefaultPrices()
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("--prices: %w", err)
	}
	return journal.ParsePrices(data, path)
}

func (j *judges) readPrices() (err error) {
	if j.prices, err = openPrices(j.o.Prices); err != nil {
		return err
	}
	if j.o.Budget.MaxCost == nil {
		return nil
	}
	for i := range j.o.Judges {
		if model := j.o.Judges[i].Model; !j.priced(model) {
			return fmt.Errorf("--max-cost: the price of %s is not known; give it in a file with --prices", model)
		}
	}
	return nil
}

func (j *judges) priced(model string) bool { _, ok := j.prices.Models[model]; return ok }

// seat is what stands behind a judge.
type seat struct {
	endpoint *openai.Client
	client   llm.Client     // with budget, limits and retries around it
	meter    *journal.Meter // nil where nothing is called
}

// seat makes the models' clients, and puts them to work.
func (j *judges) seat() error {
	var members []llm.Model
	var shared *seat
	j.seats, j.clients = nil, nil
	for i := range j.o.Judges {
		s := &j.o.Judges[i]
		at := shared
		if at == nil || s.own() {
			var err error
			if at, err = j.connect(s); err != nil {
				return withCode(exitUsage, err)
			}
		}
		if !s.own() {
			shared = at
		}
		j.seats = append(j.seats, at)
		judge := llm.Model{Name: s.Name, Model: s.Model, Client: at.client, Temperature: &s.Temperature, Seed: &s.Seed,
			MaxTokens: s.ReplyTokens, Lines: s.Lines}
		if j.journal != nil {
			c := j.journal.Client(at.client, s.Endpoint.BaseURL+" "+s.Endpoint.AzureVersion)
			j.clients, judge.Client = append(j.clients, c), c
		}
		members = append(members, judge)
	}
	if err := j.use(j, members); err != nil {
		return withCode(exitUsage, err)
	}
	return nil
}

// connect makes the client of a judge.
func (j *judges) connect(s *judgeSettings) (*seat, error) {
	endpoint, err := openai.New(s.Endpoint)
	if err != nil || j.journal == nil || !j.o.calls() {
		return &seat{endpoint: endpoint, client: endpoint}, err
	}
	limiter := llm.NewLimiter(s.Limits)
	meter, err := j.journal.Meter(limiter.Place(finishing(endpoint)), j.o.Budget, j.prices)
	if err != nil {
		return nil, err
	}
	return &seat{endpoint, llm.Retry(limiter.Pace(meter), llm.DefaultRetryOptions()), meter}, nil
}

// finishing makes a call to its end, whatever becomes of ctx: its reply is paid for. Its time-out bounds it.
func finishing(c llm.Client) llm.Client {
	return llm.ClientFunc(func(ctx context.Context, r *llm.Request) (*llm.Reply, error) {
		return c.Complete(context.WithoutCancel(ctx), r)
	})
}

// hostOf names an endpoint for records, without path or secret.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Host
}

// askRecord is what the options part of OUT.run.json says about the models asked. It holds no key, header's value or path.
// Endpoint, azure_version, temperature, reply_tokens and lines are those of models without an entry in erreval.yaml; so is seed,
// which in score also chooses what is planted and audited.
type askRecord struct {
	Judge        []string              `json:"judge"`
	Endpoint     string                `json:"endpoint,omitempty"` // host
	AzureVersion string                `json:"azure_version,omitempty"`
	Map          map[string]string     `json:"map"` // field to column
	Limit        int                   `json:"limit"`
	Repeats      int                   `json:"repeats"`
	Attempts     int                   `json:"attempts"`
	Temperature  float64               `json:"temperature"`
	Seed         int64                 `json:"seed"`
	ReplyTokens  int                   `json:"reply_tokens"`
	Lines        bool                  `json:"lines"`
	Template     string                `json:"template"`             // id, and hash of its file
	Configured   map[string]judgeEntry `json:"configured,omitempty"` // judges with an entry
}

// record is how rows read by columns are asked about.
func (j *judges) record(columns map[string]string, limit int) askRecord {
	o, p, base := j.o, j.o.Panel, j.o.Base
	rec := askRecord{Judge: o.names(), Endpoint: hostOf(base.Endpoint.BaseURL), AzureVersion: base.Endpoint.AzureVersion, Map: columns,
		Limit: limit, Repeats: p.Repeats, Attempts: p.Attempts, Temperature: base.Temperature, Seed: base.Seed,
		ReplyTokens: base.ReplyTokens, Lines: base.Lines, Template: j.template.ID() + " sha256:" + j.template.Hash()}
	for i := range o.Judges {
		if s := &o.Judges[i]; s.own() {
			if rec.Configured == nil {
				rec.Configured = map[string]judgeEntry{}
			}
			rec.Configured[s.Name] = s.entry()
		}
	}
	if len(rec.Configured) == len(o.Judges) {
		rec.Endpoint, rec.AzureVersion = "", "" // nobody was asked there
	}
	return rec
}

// judgeRecord is the options part of OUT.run.json for a run of score with judges.
type judgeRecord struct {
	askRecord
	Modes        []string `json:"modes"`
	Joint        bool     `json:"joint"`
	Aggregate    string   `json:"aggregate"`
	PaperWording bool     `json:"paper_wording"`
	Plant        float64  `json:"plant"`
	Cascade      float64  `json:"cascade"`
	Audit        float64  `json:"audit"`
}

func (r *scoreRun) judgeRecord() judgeRecord {
	o, p := r.judges.o, r.judges.o.Panel
	return judgeRecord{askRecord: r.judges.record(r.rows.columns, r.o.Limit), Modes: p.Modes, Joint: o.Joint, Aggregate: p.Aggregate,
		PaperWording: p.PaperWording, Plant: p.Plant, Cascade: p.Cascade.Sure, Audit: p.Cascade.Audit}
}

// judgeUsage is what judges used, for the run record.
type judgeUsage struct {
	ThisRun   used              `json:"this_run"`
	ByJudge   map[string]used   `json:"by_judge"`
	Journal   used              `json:"journal"` // by all runs with this journal
	Budget    journal.Budget    `json:"budget"`
	Currency  string            `json:"currency,omitempty"`
	PriceDate string            `json:"price_date,omitempty"`
	Prices    map[string]*price `json:"prices"`             // by model, per million tokens; null is not known
	Rejected  map[string]string `json:"rejected,omitempty"` // what a judge's endpoint did not take
}

type price struct {
	Input  float64 `json:"input"`
	Output float64 `json:"output"`
}

type used struct {
	Calls  int64   `json:"calls"` // requests sent, those that failed included
	Input  int64   `json:"input_tokens"`
	Output int64   `json:"output_tokens"`
	Cost   float64 `json:"cost"` // of models with a price
}

func usedOf(s journal.Spent) used { return used{s.Calls, s.Input, s.Output, s.Cost} }

// thisRun is what the judges used: of a seat that they share, each another model.
func (j *judges) thisRun() used {
	var sum used
	for i := range j.o.Judges {
		u := j.seats[i].meter.Used(j.o.Judges[i].Model)
		sum = used{sum.Calls + u.Calls, sum.Input + u.Input, sum.Output + u.Output, sum.Cost + u.Cost}
	}
	return sum
}

// usage reads the journal.
func (j *judges) usage() (*judgeUsage, error) {
	now, err := j.journal.Spent()
	if err != nil {
		return nil, err
	}
	u := &judgeUsage{Budget: j.o.Budget, Currency: now.Currency, PriceDate: j.prices.Date.Format(time.DateOnly), Prices: map[string]*price{},
		Rejected: map[string]string{}, Journal: usedOf(now), ByJudge: map[string]used{}, ThisRun: j.thisRun()}
	for i := range j.o.Judges {
		s := &j.o.Judges[i]
		u.ByJudge[s.Name] = usedOf(j.seats[i].meter.Used(s.Model))
		u.Prices[s.Model] = nil
		if p, ok := j.prices.Models[s.Model]; ok {
			u.Prices[s.Model] = &price{p.Input, p.Output}
		}
		if names := j.seats[i].endpoint.Rejected(s.Model); len(names) > 0 {
			u.Rejected[s.Name] = strings.Join(names, ", ")
		}
	}
	return u, nil
}

// text is what was spent, in words.
func (j *judges) text(u used) string {
	priced := slices.ContainsFunc(j.o.Judges, func(s judgeSettings) bool { return j.priced(s.Model) })
	text := fmt.Sprintf("%s, %d tokens in, %d out", plural(int(u.Calls), "call", "calls"), u.Input, u.Output)
	if priced {
		text += fmt.Sprintf(", %.4f %s", u.Cost, j.prices.Currency)
	}
	return text
}

// startOver removes what an earlier run like this one left of its output: every reply in it is in the journal, so the rows are
// made again at once, and those that had no reply are asked about again.
func startOver(out string, like func(*runrecord.Record) bool) error {
	if out == stdio || out == "" {
		return nil
	}
	partial := dataset.PartialPath(out)
	old, err := runrecord.Read(partial)
	if err != nil || !like(old) {
		return nil // not ours to remove: whoever creates the output says what to do
	}
	return errors.Join(removeIfThere(partial), removeIfThere(runrecord.Path(partial)))
}
