// Command selectrows chooses rows as `erreval refine select` does, without a workspace, for training/experiment.py:
//
//	selectrows TAGGED.jsonl USED.jsonl THRESHOLDS.json SIZE SEED
//
// It prints the ids of SIZE rows of TAGGED and why each was chosen, one JSON object a line. Rows of USED, which are
// those with labels, are not chosen again. There is no random slice and there are no repeated rows: all that is
// reviewed is trained on.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/taxonomy"
	"github.com/erreval/erreval/training/selection"
)

func main() {
	if len(os.Args) != 6 {
		fmt.Fprintln(os.Stderr, "usage: selectrows TAGGED.jsonl USED.jsonl THRESHOLDS.json SIZE SEED")
		os.Exit(2)
	}
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "selectrows:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	t, err := taxonomy.Builtin("question-generation")
	if err != nil {
		return err
	}
	in := selection.Input{Options: selection.DefaultOptions(), Used: selection.NewUsed(), Counts: map[string]int{}}
	in.Group = t.GroupField()
	in.Shares.Random, in.Shares.Control, in.Shares.Mistake = 0, 0, 0
	var sizeErr, seedErr error
	in.Size, sizeErr = strconv.Atoi(args[3])
	in.Seed, seedErr = strconv.ParseInt(args[4], 10, 64)
	var thresholds dataset.Probabilities
	data, readErr := os.ReadFile(args[2])
	if err := errors.Join(sizeErr, seedErr, readErr); err != nil {
		return err
	}
	if err := json.Unmarshal(data, &thresholds); err != nil {
		return fmt.Errorf("%s: %w", args[2], err)
	}
	if in.Meter, err = selection.NewMeter(t, thresholds); err != nil {
		return err
	}
	err = each(args[1], t, func(row *dataset.Row) error {
		in.Used.Add(row, args[1])
		return count(in.Counts, row)
	})
	if err != nil {
		return err
	}
	in.Pool = func(f func(*dataset.Row) error) error { return each(args[0], t, f) }
	return choose(in, out)
}

// count counts the labels of a row.
func count(counts map[string]int, row *dataset.Row) error {
	raw, _ := row.Get("labels")
	var labels []string
	err := json.Unmarshal(raw, &labels)
	for _, l := range labels {
		counts[l]++
	}
	return err
}

func choose(in selection.Input, out io.Writer) error {
	batch, err := selection.Select(in)
	if err != nil {
		return err
	}
	e := json.NewEncoder(out)
	for _, p := range batch.Items {
		if err := e.Encode(map[string]string{"id": p.ID, "reason": p.Reason}); err != nil {
			return err
		}
	}
	return nil
}

func each(path string, t *taxonomy.Taxonomy, f func(*dataset.Row) error) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // only read
	rows := dataset.NewReader(file, path, dataset.Options{Taxonomy: t})
	return errors.Join(dataset.Each(context.Background(), rows.Read, nil, f), rows.Close())
}
