package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/identifier/local"
	"github.com/erreval/erreval/identifier/ort"
	"github.com/erreval/erreval/internal/app/tagging"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/loopback"
	"github.com/erreval/erreval/internal/regularfile"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/internal/runrecord"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/models"
	"github.com/erreval/erreval/service"
	"github.com/erreval/erreval/taxonomy"
)

func serveCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "serve",
		Usage:     "show files in the browser, and find errors for other programs, over HTTP",
		ArgsUsage: "[FILES|FOLDER...]",
		Description: `The page that erreval report writes, over files of any size:
   erreval serve tagged.jsonl scored.jsonl
   erreval serve results/
Rows can be marked there with their right labels; FILE.marks.jsonl keeps that beside a file, for erreval refine merge.

Programs of this machine send rows and get them back with a column "diagnosis", with files or without:
   erreval serve --listen 127.0.0.1:8321

The first line printed is the address, with a token that is new at every start. Keep one of your own in a file
instead, which other machines need in any case:
   erreval serve --listen 127.0.0.1:8321 --token-file token
   erreval serve --listen 0.0.0.0:8321 --token-file token --allow-host tags.example.org

Then, with that token:
   curl -H "Authorization: Bearer $(cat token)" -H 'Content-Type: application/x-ndjson' \
        --data-binary @questions.jsonl http://127.0.0.1:8321/v1/identify

POST /v1/identify and /v1/score take rows as JSON Lines or a JSON list; GET /v1/model, /v1/taxonomy, /healthz,
/metrics (Prometheus), /openapi.json and /docs say the rest. With --model default, ?taxonomy=NAME asks for the model of
another built-in taxonomy. Ctrl-C or SIGTERM ends it: what is under way is answered before (--drain).
docs/serve.md says more.`,
		Flags:  serveFlags(),
		Action: func(ctx *cli.Context) error { return runServe(ctx, e) },
	}
}

func serveFlags() []cli.Flag {
	b := service.DefaultBounds()
	return slices.Concat([]cli.Flag{
		&cli.StringFlag{Name: "listen", Value: "127.0.0.1:0",
			Usage: "`ADDRESS` to listen on, HOST:PORT; port 0 is any that is free. One that other machines reach needs " +
				"--token-file"},
		&cli.StringFlag{Name: "token-file",
			Usage: fmt.Sprintf("take the token from `FILE`: one line of at least %d characters", minToken)},
		&cli.StringSliceFlag{Name: "allow-host",
			Usage: "also answer to the name `HOST`, as browsers and clients write it; may be repeated"},
		&cli.BoolFlag{Name: "no-open", Usage: "with files: print the address, and open no browser"},
	}, viewFlags(), localFlags(), []cli.Flag{maxRecordFlag(),
		&cli.StringFlag{Name: "max-body", Value: "64MiB", Usage: "refuse a request of more than `SIZE`"},
		&cli.IntFlag{Name: "max-rows", Value: b.Rows, Usage: "refuse a request of more than `N` rows"},
		&cli.IntFlag{Name: "queue", Value: b.Queue,
			Usage: "let `N` requests wait or be answered at a time; more are told to come again (429)"},
		&cli.IntFlag{Name: "max-connections", Value: maxConnections,
			Usage: "keep `N` connections open at most; idle ones give way"},
		&cli.DurationFlag{Name: "timeout", Value: b.Time, Usage: "end a request after `TIME`"},
		&cli.DurationFlag{Name: "drain", Value: 30 * time.Second,
			Usage: "at the end, wait `TIME` for requests under way before they are cut off"},
	})
}

const (
	minToken       = 16
	maxToken       = 1000
	maxConnections = 1024
)

// serveOptions are the command's flags, those that are made of several or checked apart.
type serveOptions struct {
	*cli.Context
	TokenFile string
	Local     tagging.LocalOptions
	Bounds    service.Bounds
	Files     []string
}

func readServeOptions(ctx *cli.Context) (o *serveOptions, err error) {
	o = &serveOptions{Context: ctx, TokenFile: ctx.String("token-file"), Bounds: service.DefaultBounds()}
	if o.Files, err = expandGlobs(ctx.Args().Slice()); err != nil {
		return nil, err
	}
	if o.Local, err = readLocalOptions(ctx); err != nil {
		return nil, err
	}
	o.Bounds.Rows, o.Bounds.Queue, o.Bounds.Time = ctx.Int("max-rows"), ctx.Int("queue"), ctx.Duration("timeout")
	if o.Bounds.Body, err = words.ParseSize(ctx.String("max-body")); err != nil {
		return nil, exit.Usagef("--max-body %w", err)
	}
	return o, o.validate()
}

func (o *serveOptions) validate() error {
	return errors.Join(validateLocal(&o.Local),
		exit.UsageIf(o.Bounds.Body < 1, "--max-body: give a size, as in 64MiB"),
		exit.UsageIf(o.Bounds.Rows < 1, "--max-rows %d: give at least 1", o.Bounds.Rows),
		exit.UsageIf(o.Bounds.Queue < 1, "--queue %d: give at least 1", o.Bounds.Queue),
		exit.UsageIf(o.Int("max-connections") < 1, "--max-connections %d: give at least 1", o.Int("max-connections")),
		exit.UsageIf(o.Bounds.Time <= 0, "--timeout %v: give a time, as in 10m", o.Bounds.Time),
		exit.UsageIf(o.Duration("drain") <= 0, "--drain %v: give a time, as in 30s", o.Duration("drain")))
}

func runServe(ctx *cli.Context, e *env) error {
	o, err := readServeOptions(ctx)
	if err != nil {
		return err
	}
	so, err := o.service(e)
	if err != nil {
		return err
	}
	defer e.LimitMemory(so.Reading.MaxRecord)()
	token, err := o.readToken(e)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", ctx.String("listen"))
	if err != nil {
		return fmt.Errorf("--listen %s: %w; choose another port, or 0 for any that is free", ctx.String("listen"), err)
	}
	if so.Guard, err = o.guard(l.Addr(), token); err != nil {
		return errors.Join(err, l.Close())
	}
	closeView, err := o.openView(e, so)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	return errors.Join(o.serve(e, so, l), closeView())
}

// serve serves until the context ends. The model of a server that shows files is opened once rows come.
func (o *serveOptions) serve(e *env, so *service.Options, l net.Listener) error {
	ctx := o.Context.Context
	s, err := service.New(*so)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	if so.View == nil {
		if _, err := s.OpenModel(ctx); err != nil {
			return errors.Join(err, l.Close(), s.Close())
		}
	}
	o.greet(e, so.Guard)
	if so.View != nil && !o.Bool("no-open") && o.TokenFile == "" {
		if err := loopback.OpenBrowser(ctx, so.Guard.Address()); err != nil {
			e.Warn("no browser could be opened (%v); open the address above", err)
		}
	}
	server := &loopback.Server{Handler: s, Drain: o.Duration("drain"), Draining: s.Drain,
		MaxConnections: loopback.BoundConnections(o.Int("max-connections"))}
	return errors.Join(server.Serve(ctx, l), s.Close())
}

// service is what the flags ask for, but for its guard.
func (o *serveOptions) service(e *env) (*service.Options, error) {
	open := openTaxonomy
	if len(o.Files) > 0 { // which may be rows of a task without error types
		open = openTask
	}
	t, err := open(cmp.Or(o.String("taxonomy"), taxonomy.Builtins()[0]))
	if err != nil {
		return nil, err
	}
	so := &service.Options{Task: service.Task{Taxonomy: t}, Bounds: o.Bounds, Build: runrecord.ReadBuild().String()}
	if so.Reading.Map, err = run.ReadMap(o.StringSlice("map"), t.FieldNames()); err != nil {
		return nil, err
	}
	if so.Reading.ID, err = run.ReadID(o.String("id")); err != nil {
		return nil, err
	}
	size, err := words.ParseSize(o.String("max-record"))
	if err != nil {
		return nil, exit.Usagef("--max-record %w", err)
	}
	so.Reading.MaxRecord = int(size)
	so.Open = func(ctx context.Context, ran func(rows int)) (*service.Model, error) {
		if err := checkTypes(t); err != nil {
			return nil, err
		}
		return openServed(ctx, e, o.Local, t, ran)
	}
	so.Others, err = o.others(e, so.Task)
	return so, err
}

// others are the tasks of the models inside the program that the server has besides its own.
func (o *serveOptions) others(e *env, own service.Task) (others []service.Task, err error) {
	if o.Local.Model != models.DefaultName {
		return nil, nil
	}
	tasks, err := e.machine().Tasks()
	lo := o.Local // but for what belongs to the fields, labels and model of the server's own taxonomy
	lo.Join, lo.Thresholds, lo.LabelsOnly, lo.ReadWords = "", nil, false, 0
	for _, t := range tasks {
		if t.Name == own.Taxonomy.Name {
			continue
		}
		reading := own.Reading
		reading.Map = nil
		others = append(others, service.Task{Taxonomy: t, Reading: reading,
			Open: func(ctx context.Context, ran func(rows int)) (*service.Model, error) {
				return openServed(ctx, e, lo, t, ran)
			}})
	}
	return others, err
}

// openServed opens the model that tags rows of t.
func openServed(ctx context.Context, e *env, lo tagging.LocalOptions, t *taxonomy.Taxonomy,
	ran func(rows int)) (*service.Model, error) {
	lo.Ran = ran
	if ort.IsCUDA(lo.On.Device) && lo.Workers == 0 {
		lo.Workers = 1 // of each of two batches
	}
	l, err := tagging.OpenLocal(ctx, e.machine(), lo, t, e.Warn)
	if err != nil {
		return nil, err
	}
	schedule := local.Schedule(lo.On.Device, lo.Workers)
	m := &service.Model{Identifier: l.Identifier, Manifest: &l.Model.Manifest, SHA256: l.Model.SHA256,
		Device: lo.On.Device, Workers: schedule.Workers, LabelsOnly: lo.LabelsOnly, Close: l.Close}
	if schedule.BatchTokens > 0 {
		m.Batch = schedule.Window / 2
	}
	return m, nil
}

// readToken gives the token of --token-file; "" where there is none.
func (o *serveOptions) readToken(e *env) (string, error) {
	if o.TokenFile == "" {
		return "", nil
	}
	f, err := regularfile.Open(o.TokenFile)
	if err != nil {
		return "", fmt.Errorf("--token-file: %w", err)
	}
	defer f.Close()
	info, statErr := f.Stat()
	text, err := io.ReadAll(io.LimitReader(f, maxToken+1))
	if err := errors.Join(err, statErr); err != nil {
		return "", fmt.Errorf("--token-file: %w", err)
	}
	token := strings.TrimRight(string(text), "\r\n")
	if len(token) < minToken || len(token) > maxToken ||
		strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", exit.Usagef("--token-file %s: want one line of %d to %d visible ASCII characters; make one in a "+
			"new file with: head -c 24 /dev/urandom | base64 > NEWFILE", o.TokenFile, minToken, maxToken)
	}
	if info.Mode().Perm()&0o044 != 0 {
		e.Say("others on this machine can read %s; chmod 600 keeps the token to you", o.TokenFile)
	}
	return token, nil
}

// guard says who may ask a server at an address; token "" makes one.
func (o *serveOptions) guard(address net.Addr, token string) (*loopback.Guard, error) {
	g, err := loopback.NewGuard(address)
	if err != nil {
		return nil, err
	}
	tcp, ok := address.(*net.TCPAddr)
	if !ok {
		return nil, fmt.Errorf("%s is no TCP address", address)
	}
	port, hosts := fmt.Sprint(tcp.Port), o.StringSlice("allow-host")
	if !tcp.IP.IsLoopback() {
		if token == "" {
			return nil, exit.Usagef("--listen %s: other machines reach that; give --token-file FILE, with a token that they "+
				"have, too", o.String("listen"))
		}
		g.Remote = true
	}
	if tcp.IP.IsUnspecified() {
		if len(hosts) == 0 {
			return nil, exit.Usagef("--listen %s: name what this machine is called, as in --allow-host %s",
				o.String("listen"), "tags.example.org")
		}
		g.Hosts = []string{"localhost:" + port, "127.0.0.1:" + port}
	}
	if tcp.Port == 80 { // which nobody writes
		for _, host := range slices.Clone(g.Hosts) {
			g.Hosts = append(g.Hosts, strings.TrimSuffix(host, ":80"))
		}
	}
	for _, host := range hosts {
		if host == "" || strings.ContainsAny(host, "/@ ") {
			return nil, exit.Usagef("--allow-host %q: give a name or an address, as in tags.example.org", host)
		}
		g.Hosts = append(g.Hosts, host, net.JoinHostPort(strings.Trim(host, "[]"), port))
	}
	g.Proxied = len(hosts) > 0
	if token != "" {
		g.Token, g.Hint = token, "give the server's token, as in: Authorization: Bearer TOKEN"
	}
	return g, nil
}

// greet prints the address. A token of a file is not printed: logs keep what services print.
func (o *serveOptions) greet(e *env, g *loopback.Guard) {
	if o.TokenFile == "" {
		fmt.Fprintln(run.Guard(e.Out), g.Address())
		e.Say("the address is a key: what stands behind #token= is the token of the API. Ctrl-C ends the server")
	} else {
		fmt.Fprintln(run.Guard(e.Out), g.Base())
		e.Say("the token is that of %s. Ctrl-C ends the server", o.TokenFile)
	}
	if g.Remote {
		e.Say("token and rows go over the network as they are; put a proxy with TLS before the server " +
			"(docs/serve.md)")
	}
}
