package main

import (
	"errors"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/internal/app/tagging"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/gate"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/internal/wholefile"
	"github.com/erreval/erreval/taxonomy"
)

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

// parseGates reads the values of --fail-on, which may also name more than labels.
func parseGates(expressions []string, t *taxonomy.Taxonomy, more ...string) ([]gate.Gate, error) {
	return run.ParseGates(expressions, func(name string) (string, bool) {
		i, ok := t.Index(name)
		if !ok {
			return name, slices.Contains(more, name)
		}
		return t.Types[i].Name, true
	}, append(t.Labels(), more...))
}
