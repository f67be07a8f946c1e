package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/wholefile"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/training/refine"
	"github.com/erreval/erreval/training/review"
	"github.com/erreval/erreval/training/review/exchange"
)

func refineExportCommand(e *env) *cli.Command {
	return &cli.Command{
		Name: "export", Usage: "write a batch as a workbook, CSV, JSON Lines, or for Argilla or Label Studio", ArgsUsage: "DIR",
		Description: `A workbook with a drop-down per label, in the batch's folder export/:
   erreval refine export work

Other formats, a file for each reviewer, and with what the identifier proposed:
   erreval refine export work --format argilla --proposals labels
   erreval refine export work --reviewer anna -o for-anna

What is filled in comes back with: erreval refine merge work anna=FILE`,
		Flags: []cli.Flag{batchFlag(),
			&cli.StringFlag{Name: "format", Value: exchange.XLSX, Usage: "`FORMAT`: " + strings.Join(exchange.Formats(), ", ") + ", or all"},
			&cli.StringFlag{Name: "proposals", Usage: "what is shown of the identifier's: `WHAT` is " + strings.Join(review.Shows(), ", ") + " (default: review.proposals in refine.yaml)"},
			&cli.StringFlag{Name: "reviewer", Usage: "`NAME` of who will answer, to be written into the file"},
			&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "`FOLDER` to write to (default: export in the batch's folder, with --reviewer a folder of that name in it)"},
			overwriteFlag()},
		Action: func(ctx *cli.Context) error { return runRefineExport(ctx, e) },
	}
}

func batchFlag() cli.Flag {
	return &cli.StringFlag{Name: "batch", Usage: "`ID` of the batch, such as B001 (default: the first that is not merged, else the last)"}
}

func runRefineExport(ctx *cli.Context, e *env) error {
	w, err := openWorkspace(ctx)
	if err != nil {
		return err
	}
	f, err := openBatch(w, ctx.String("batch"))
	if err != nil {
		return err
	}
	o, err := exportOptions(ctx, w)
	if err != nil {
		return err
	}
	formats := []string{ctx.String("format")}
	if formats[0] == "all" {
		formats = exchange.Formats()
	} else if !slices.Contains(exchange.Formats(), formats[0]) {
		return exit.Usagef("--format %q: there are %s, and all", formats[0], strings.Join(exchange.Formats(), ", "))
	}
	dir := ctx.String("output")
	if dir == "" {
		dir = filepath.Join(f.Dir, review.ExportDir, o.Reviewer)
	}
	for _, format := range formats { // one that cannot hold the batch keeps no other back
		err = errors.Join(err, exportTo(e, f, dir, format, o, ctx.Bool("overwrite")))
	}
	return err
}

func exportOptions(ctx *cli.Context, w *refine.Workspace) (o exchange.Options, err error) {
	config, err := review.ReadConfig(w.Config.Review, w.Path(refine.ConfigFile))
	if err != nil {
		return o, exit.With(exit.Usage, err)
	}
	o = exchange.Options{Proposals: config.Proposals, Reviewer: ctx.String("reviewer")}
	if p := ctx.String("proposals"); p != "" {
		o.Proposals = p
	}
	if !slices.Contains(review.Shows(), o.Proposals) {
		return o, exit.Usagef("--proposals %q: there are %s", o.Proposals, strings.Join(review.Shows(), ", "))
	}
	if o.Reviewer != "" {
		if err := review.CheckReviewer(o.Reviewer); err != nil || strings.ContainsAny(o.Reviewer, `/\`) {
			return o, exit.Usagef("--reviewer %q is no name that a folder can have", o.Reviewer)
		}
	}
	return o, nil
}

// openBatch opens a batch by name; "" is the first that is not merged, else the last.
func openBatch(w *refine.Workspace, name string) (*review.Frozen, error) {
	numbers, err := w.Batches()
	if err != nil {
		return nil, err
	}
	if len(numbers) == 0 {
		return nil, fmt.Errorf("%s has no batch yet; choose one with: erreval refine select %[1]s", w.Dir)
	}
	var names []string
	for _, n := range numbers {
		names = append(names, refine.BatchName(n))
	}
	if name == "" {
		name = names[len(names)-1]
		for _, n := range slices.Backward(names) {
			if _, err := os.Stat(w.Path(refine.BatchesDir, n, review.MergeName(review.MergeStem, 1, ".json"))); errors.Is(err, fs.ErrNotExist) {
				name = n
			}
		}
	}
	if !slices.Contains(names, name) {
		return nil, exit.Usagef("--batch %q: %s has %s", name, w.Dir, strings.Join(names, ", "))
	}
	f, err := review.Open(w.Path(refine.BatchesDir, name), w.Taxonomy)
	if err != nil {
		return nil, exit.With(exit.Unfit, err)
	}
	return f, nil
}

// exportTo writes the files of a format. One that is there may be filled in already, and stays.
func exportTo(e *env, f *review.Frozen, dir, format string, o exchange.Options, overwrite bool) error {
	files, err := exchange.Export(f, format, o)
	if err != nil {
		return err
	}
	for _, file := range files {
		path := filepath.Join(dir, filepath.FromSlash(file.Name))
		old, err := os.ReadFile(path)
		switch {
		case err == nil && bytes.Equal(old, file.Data):
			fmt.Fprintf(e.Out, "%s is there already\n", path)
			continue
		case err == nil && !overwrite:
			return fmt.Errorf("%s is there already, and may have been filled in; replace it with --overwrite, or choose another folder with -o", path)
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return err
		}
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), wholefile.Write(path, file.Data)); err != nil {
			return err
		}
		fmt.Fprintf(e.Out, "%s: %s of %s\n", path, words.Plural(len(f.All), "item", "items"), f.ID)
	}
	return nil
}
