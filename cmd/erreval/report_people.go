package main

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/evaluation"
	"github.com/erreval/erreval/internal/app/comparing"
	"github.com/erreval/erreval/internal/app/reporting"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/report/view"
	"github.com/erreval/erreval/taxonomy"
	"github.com/urfave/cli/v2"
)

// readHuman reads which columns hold what people say.
func readHuman(columns []string, t *taxonomy.Taxonomy, o *reporting.Options) error {
	o.Human = map[string]string{}
	for _, text := range columns {
		dimension, list, ofScores := strings.Cut(text, "=")
		if !ofScores {
			for name := range strings.SplitSeq(text, ",") {
				o.Verdicts = append(o.Verdicts, strings.TrimSpace(name))
			}
			continue
		}
		if dimension == dataset.ColumnLabels {
			o.Labels = list
			continue
		}
		var keys []string
		if t != nil {
			for _, d := range t.Dimensions {
				keys = append(keys, d.Key)
			}
		}
		if !slices.Contains(keys, dimension) || list == "" {
			return exit.Usagef("--human %q: write DIMENSION=COLUMN[,COLUMN] for scores, with one of the dimensions %s, or "+
				"COLUMN[,COLUMN] for verdicts on pairs", text, strings.Join(keys, ", "))
		}
		if o.Human[dimension] != "" {
			list = o.Human[dimension] + "," + list
		}
		o.Human[dimension] = list
	}
	if slices.Contains(o.Verdicts, "") {
		return exit.Usagef("--human: a name of a column is empty")
	}
	return nil
}

// readHumanFile reads what people say in the file that --human-file names; nil without one. Columns that rows get of a
// file with a row for each person take the place of those asked for.
func readHumanFile(ctx *cli.Context, e *env, o *view.Options, so *reporting.Options,
	t *taxonomy.Taxonomy) (joined *run.Joined, err error) {
	file := ctx.String("human-file")
	if file == "" {
		if so.Labels != "" {
			return nil, exit.Usagef("--human labels=%s: name its file with --human-file; labels of the rows themselves are "+
				"those in their column labels", so.Labels)
		}
		return nil, nil
	}
	files, err := run.FileOptions{}.Open()
	if err != nil {
		return nil, err
	}
	rows := run.Rows{Files: files, Taxonomy: cmp.Or(t, &taxonomy.Taxonomy{})}
	rows.ID, rows.Columns = o.ID, o.Columns
	var human []evaluation.HumanScores
	for _, dimension := range slices.Sorted(maps.Keys(so.Human)) {
		human = append(human, evaluation.HumanScores{Dimension: dimension, Columns: strings.Split(so.Human[dimension], ",")})
	}
	kinds := 0
	for _, isAny := range []bool{so.Labels != "", len(so.Verdicts) > 0, len(human) > 0} {
		if isAny {
			kinds++
		}
	}
	switch {
	case kinds > 1:
		return nil, exit.Usagef("--human-file %s has people's scores, their verdicts on pairs, or their labels: name with "+
			"--human one of these", file)
	case so.Labels != "":
		rows.JoinedForm = "the labels of a row stand in one cell, with \"; \" between their names"
		joined, err = rows.ReadJoined(ctx.Context, e.Process, file, []string{so.Labels})
		joined.Rename(so.Labels, dataset.ColumnLabels)
		return joined, err
	case len(so.Verdicts) > 0:
		rows.Taxonomy = run.WithoutFields(rows.Taxonomy)
		joined, so.Verdicts, err = comparing.ReadPeoplesFile(ctx.Context, e.Process, rows, file, so.Verdicts)
		return joined, err
	}
	if joined, human, err = readHumanScores(ctx.Context, e, rows, file, human); err == nil && len(human) == 0 {
		return nil, exit.Usagef("--human-file %s: name its columns with --human", file)
	}
	for _, h := range human {
		so.Human[h.Dimension] = strings.Join(h.Columns, ",")
	}
	return joined, err
}
