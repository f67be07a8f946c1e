package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/taxonomy"
	"github.com/erreval/erreval/training/refine"
)

func refineStatusCommand(e *env) *cli.Command {
	return &cli.Command{
		Name: "status", Usage: "say where a workspace stands, and what to do next", ArgsUsage: "DIR",
		Description: "   erreval refine status work\n   erreval refine status work --json",
		Flags:       []cli.Flag{jsonFlag()},
		Action: func(ctx *cli.Context) error {
			w, err := openWorkspace(ctx)
			if err != nil {
				return err
			}
			s, err := w.Status()
			if err != nil {
				return err
			}
			if ctx.Bool("json") {
				return writeJSON(e.Out, s)
			}
			return printStatus(e, s, w.Taxonomy)
		},
	}
}

func printStatus(e *env, s *refine.Status, t *taxonomy.Taxonomy) error {
	line, flush := namedLines(e.Out)
	line("workspace", "%s, %s, %s", s.Dir, s.Taxonomy, groupWords(s.Group))
	line("pool", "%s", words.Plural(s.Pool, "row", "rows"))
	line("training", "%s%s", words.Plural(s.Training.Rows, "row", "rows"), prefixed(": ", kindWords(s.Training.Kinds)))
	line("labels", "%s", labelWords(s.Training.Labels, t))
	line("development", "%s, %d of random slices, %d put aside", words.Plural(s.Dev, "row", "rows"), s.Random, s.Held)
	for _, b := range s.Batches {
		line("batch "+b.ID, "%s", batchWords(b))
	}
	for _, i := range s.Iterations {
		line("iteration "+refine.IterationName(i.Iteration), "%s", iterationWords(i))
	}
	line("in use", "%s", modelWords(s))
	line("last step", "%s", s.Last.Step)
	line("next", "%s", s.Why)
	if err := flush(); err != nil {
		return err
	}
	if s.Next != "" {
		fmt.Fprintf(e.Out, "\n%s\n", s.Next)
	}
	return nil
}

func kindWords(kinds map[string]int) string {
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		parts = append(parts, fmt.Sprintf("%d %s", kinds[kind], kind))
	}
	return strings.Join(parts, ", ")
}

// labelWords counts labels in the taxonomy's order, those without rows too: they are what is missing.
func labelWords(counts map[string]int, t *taxonomy.Taxonomy) string {
	var parts []string
	for _, y := range t.Types {
		parts = append(parts, fmt.Sprintf("%s %d", y.Code, counts[y.Name]))
	}
	return strings.Join(parts, ", ")
}

func batchWords(b refine.BatchStatus) string {
	words := words.Plural(b.Items, "item", "items")
	for _, who := range slices.Sorted(maps.Keys(b.Answers)) {
		words += fmt.Sprintf(", %s answered %d", who, b.Answers[who])
		if n := b.Skipped[who]; n > 0 {
			words += fmt.Sprintf(" and skipped %d", n)
		}
	}
	if b.Merged {
		words += ", merged"
	}
	var open []string
	if b.Missing > 0 {
		open = append(open, fmt.Sprintf("%d not answered", b.Missing))
	}
	if b.Conflicts > 0 {
		open = append(open, fmt.Sprintf("%d in conflict (to be decided in %s)", b.Conflicts, b.ConflictsFile))
	}
	if len(open) > 0 {
		words += " but for " + strings.Join(open, " and ")
	}
	return words
}

func iterationWords(i refine.IterationLine) string {
	var parts []string
	for _, f := range []struct{ key, name string }{{"micro_f1", "micro-F1"}, {"macro_f1", "macro-F1"}, {"exact_match", "exact match"}, {"over_prediction", "over-prediction"}} {
		if v, ok := i.Figures[f.key]; ok {
			parts = append(parts, fmt.Sprintf("%s %.3f", f.name, float64(v)))
		}
	}
	if i.Verifier != nil {
		parts = append(parts, fmt.Sprintf("verifier F1 %.3f", float64(*i.Verifier)))
	}
	if !i.Promoted {
		parts = append(parts, "not promoted")
	}
	return strings.Join(parts, ", ")
}

func modelWords(s *refine.Status) string {
	switch {
	case s.Model == "":
		return "no model yet"
	case s.Current < 0:
		return s.Model + ", the model to start from"
	}
	return s.Model
}
