package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/taxonomy"
)

const showDescription = `Read tagged rows with their errors:
   erreval show tagged.jsonl
   erreval show tagged.jsonl --color always | less -R

Rows with an error (by name or code), without one, of a system, of an id:
   erreval show tagged.jsonl --label "Factual Error" --label OffT --not Vague
   erreval show tagged.jsonl --label any --where system=small --limit 10
   erreval show tagged.jsonl --id rovers-3

Rows that could not be tagged; rows that the model was least sure of:
   erreval show tagged.jsonl --status untagged
   erreval show tagged.jsonl --top uncertain --limit 20

The rows themselves, as JSON Lines, for another program:
   erreval show tagged.jsonl --label Vague --json > vague.jsonl

In the field that rows share (the passage), what the other fields say word for word is highlighted.`

// Values of flags.
const (
	labelAny     = "any" // of --label: an error, whichever
	topUncertain = "uncertain"
	defaultTop   = 20 // rows of --top without --limit

	statusTagged    = "tagged"
	statusTruncated = "truncated"
)

// showOptions are the flags of show.
type showOptions struct {
	lookOptions
	labels, not []string // names; labelAny stands for every error
	ids         []string // whole, or the beginning before "…" or "*"
	status      string   // "" shows all
	top         string   // topUncertain, or "" for the file's order
	limit       int      // 0 shows all
	color       string   // auto, always or never
	json, quiet bool
}

func showCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:        "show",
		Usage:       "read tagged rows with their errors in the terminal",
		ArgsUsage:   "OUT...",
		Description: showDescription,
		Flags: append(lookFlags(),
			&cli.StringSliceFlag{Name: "label", Usage: "only rows with this `LABEL` (name, code, or any); may be repeated: one of them is enough"},
			&cli.StringSliceFlag{Name: "not", Usage: "no rows with this `LABEL`; may be repeated"},
			&cli.StringSliceFlag{Name: "id", Usage: "only the row with this `ID` (ID* for what it begins with); may be repeated"},
			&cli.StringFlag{Name: "status", Usage: "only rows of this `STATUS`: tagged, untagged or truncated"},
			&cli.StringFlag{Name: "top", Usage: "`uncertain`: the rows whose probabilities are closest to their thresholds first"},
			&cli.IntFlag{Name: "limit", Usage: fmt.Sprintf("stop after `N` rows; 0 shows all (with --top: %d)", defaultTop)},
			&cli.StringFlag{Name: "color", Value: "auto", Usage: "`WHEN` to use colours: auto, always or never"},
			&cli.BoolFlag{Name: "json", Usage: "print the rows as they are, one JSON object a line"},
			quietFlag()),
		Action: func(ctx *cli.Context) error {
			o, err := showOptionsFrom(ctx)
			if err != nil {
				return err
			}
			return runShow(ctx.Context, e, o)
		},
	}
}

func showOptionsFrom(ctx *cli.Context) (*showOptions, error) {
	if err := wantArgs(ctx, 1, -1, "one or more tagged files"); err != nil {
		return nil, err
	}
	look, err := lookOptionsFrom(ctx)
	if err != nil {
		return nil, err
	}
	o := &showOptions{lookOptions: *look, ids: ctx.StringSlice("id"), status: ctx.String("status"), top: ctx.String("top"),
		limit: ctx.Int("limit"), color: ctx.String("color"), json: ctx.Bool("json"), quiet: ctx.Bool("quiet")}
	if o.labels, err = labelNames("--label", ctx.StringSlice("label"), o.Taxonomy); err != nil {
		return nil, err
	}
	if o.not, err = labelNames("--not", ctx.StringSlice("not"), o.Taxonomy); err != nil {
		return nil, err
	}
	if o.top != "" && o.limit == 0 {
		o.limit = defaultTop
	}
	return o, o.validate()
}

func (o *showOptions) validate() error {
	oneOf := func(flag, value string, values ...string) error {
		if slices.Contains(values, value) {
			return nil
		}
		return exit.Usagef("%s %q: it is %s", flag, value, strings.Join(values, " or "))
	}
	var errs []error
	if o.status != "" {
		errs = append(errs, oneOf("--status", o.status, statusTagged, dataset.StatusUntagged, statusTruncated))
	}
	if o.top != "" {
		errs = append(errs, oneOf("--top", o.top, topUncertain))
	}
	if o.limit < 0 {
		errs = append(errs, exit.Usagef("--limit %d: give a number of rows, or 0 for all", o.limit))
	}
	return errors.Join(append(errs, oneOf("--color", o.color, "auto", "always", "never"))...)
}

// labelNames are the names of labels given by name or code.
func labelNames(flag string, given []string, t *taxonomy.Taxonomy) ([]string, error) {
	var names []string
	for _, g := range given {
		if g == labelAny {
			for _, l := range scheme(t).Labels {
				names = append(names, l.Name)
			}
			continue
		}
		i, ok := t.Index(strings.TrimSpace(g))
		if !ok {
			return nil, exit.Usagef("%s %q: %s has no such label; it has %s, and any stands for every error", flag, g, t.ID(), strings.Join(t.Labels(), ", "))
		}
		names = append(names, t.Types[i].Name)
	}
	return names, nil
}

// matches tells whether to show the row.
func (o *showOptions) matches(row *dataset.Row, d *dataset.Diagnosis) bool {
	if len(o.ids) > 0 && !slices.ContainsFunc(o.ids, func(id string) bool { return sameID(id, row.ID) }) {
		return false
	}
	tagged := d != nil && d.Status == ""
	switch o.status {
	case statusTagged:
		if !tagged {
			return false
		}
	case dataset.StatusUntagged:
		if tagged {
			return false
		}
	case statusTruncated:
		if d == nil || len(d.Truncated) == 0 {
			return false
		}
	}
	if len(o.labels) > 0 && !hasOne(d, o.labels) {
		return false
	}
	return !hasOne(d, o.not)
}

// sameID compares with an id that may be cut, as reports print long ones.
func sameID(given, id string) bool {
	for _, end := range []string{"…", "*"} {
		if start, cut := strings.CutSuffix(given, end); cut && strings.HasPrefix(id, start) {
			return true
		}
	}
	return given == id
}

func hasOne(d *dataset.Diagnosis, labels []string) bool {
	return d != nil && slices.ContainsFunc(d.Labels, func(l string) bool { return slices.Contains(labels, l) })
}

// errEnough ends the reading at --limit.
var errEnough = errors.New("enough rows")

// shown is one row on its way to the terminal.
type shown struct {
	row        *dataset.Row
	d          *dataset.Diagnosis    // nil if there is none
	thresholds dataset.Probabilities // nil if they are not known
	closest    closest               // only with --top
}

// closest is the error type whose probability is nearest to its threshold.
type closest struct {
	label    string
	distance float64
}

func runShow(ctx context.Context, e *env, o *showOptions) error {
	p := newShowPrinter(e, o)
	top := &topRows{limit: o.limit}
	var faults []error
	rows := 0
	for _, file := range o.paths {
		var thresholds dataset.Probabilities
		if made := run.ReadMade(file); made != nil {
			thresholds = made.Options.Thresholds
		}
		if o.top != "" {
			p.sayTop(file, thresholds)
		}
		found, err := o.each(ctx, e, file, func(row *dataset.Row, d *dataset.Diagnosis) error {
			rows++
			if !o.matches(row, d) {
				return nil
			}
			s := &shown{row: row, d: d, thresholds: thresholds}
			if o.top != "" {
				top.add(s, o.Taxonomy)
				return nil
			}
			if err := p.print(s); err != nil {
				return err
			}
			if p.n == o.limit {
				return errEnough
			}
			return nil
		})
		faults = append(faults, found...)
		if errors.Is(err, errEnough) {
			break
		}
		if err != nil {
			return err
		}
	}
	if rows == 0 {
		return o.noRows(0, faults)
	}
	for _, s := range top.rows {
		if err := p.print(s); err != nil {
			return err
		}
	}
	p.close(rows, top.without)
	return warnFaults(e, faults)
}

// topRows keeps the most uncertain rows, closest to a threshold first, equally close ones in the file's order.
type topRows struct {
	limit   int
	rows    []*shown
	without int // rows that have no probabilities to judge by
}

func (t *topRows) add(s *shown, x *taxonomy.Taxonomy) {
	if s.closest = uncertainty(s.d, s.thresholds, x); s.closest.label == "" {
		t.without++
		return
	}
	at, _ := slices.BinarySearchFunc(t.rows, s, func(a, b *shown) int {
		if a.closest.distance <= b.closest.distance {
			return -1
		}
		return 1
	})
	if at == t.limit {
		return
	}
	t.rows = slices.Insert(t.rows, at, s)
	t.rows = t.rows[:min(len(t.rows), t.limit)]
}

// unknownThreshold stands for one that is not known: closest to it is where 1 − |p − 0.5| is largest.
const unknownThreshold = 0.5

// uncertainty finds the closest error type; none (label "") without probabilities.
func uncertainty(d *dataset.Diagnosis, thresholds dataset.Probabilities, t *taxonomy.Taxonomy) closest {
	best := closest{distance: math.Inf(1)}
	if d == nil {
		return best
	}
	for _, q := range d.Probabilities {
		if i, ok := t.Index(q.Label); !ok || t.Types[i].NoError {
			continue
		}
		if dist := math.Abs(q.P - thresholdOf(q.Label, thresholds)); dist < best.distance {
			best = closest{q.Label, dist}
		}
	}
	return best
}

func thresholdOf(label string, thresholds dataset.Probabilities) float64 {
	if p, ok := thresholds.Get(label); ok {
		return p
	}
	return unknownThreshold
}
