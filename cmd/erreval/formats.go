package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/internal/storage"
	"github.com/erreval/erreval/taxonomy"
)

func fileFlags() []cli.Flag {
	return []cli.Flag{formatFlag(), sheetFlag(), delimiterFlag(), encodingFlag(), maxRecordFlag()}
}

func readFileOptions(ctx *cli.Context) run.FileOptions {
	return run.FileOptions{Format: ctx.String("format"), Inputs: inputsOfFormat(ctx), Sheet: ctx.String("sheet"),
		SheetOfOne: ctx.String("gold")+ctx.String("human-file") != "", Delimiter: ctx.String("delimiter"),
		Encoding: ctx.String("encoding"), MaxRecord: ctx.String("max-record")}
}

// inputsOfFormat are the inputs for which --format, where it was typed, goes before their names. Where the line has
// standard input or output, or a name that does not tell, the flag is for these alone.
func inputsOfFormat(ctx *cli.Context) []string {
	inputs := ctx.Args().Slice()
	for _, flag := range []string{"gold", "human-file"} {
		if file := ctx.String(flag); file != "" {
			inputs = append(inputs, file)
		}
	}
	paths, out := slices.Clone(inputs), ctx.String("output")
	if folder := ctx.NArg() > 1 || strings.HasSuffix(out, "/"); out != "" && !folder || out == run.Stdio {
		paths = append(paths, out)
	}
	silent := func(path string) bool { _, tells := dataset.FormatOf(storage.Base(path)); return !tells }
	typed, ok := ctx.App.Metadata[metaTyped].(func([]string) bool)
	if !ok || !typed([]string{"format"}) || slices.ContainsFunc(paths, silent) {
		return nil
	}
	return inputs
}

// rowFlags are those that openRowInput reads.
func rowFlags() []cli.Flag { return append(fileFlags(), mapFlag(), idFlag()) }

func openRowInput(ctx *cli.Context, t *taxonomy.Taxonomy) (in run.Rows, err error) {
	in = run.Rows{Taxonomy: t}
	flag := "id"
	if ctx.Command.Name == "show" {
		flag = idColumnFlag().Names()[0]
	}
	if in.ID, err = run.ReadID(ctx.String(flag)); err != nil {
		return in, err
	}
	if in.Files, err = readFileOptions(ctx).Open(); err != nil {
		if _, hasFlag := ctx.Value(ctx.String("format")).(bool); hasFlag {
			err = fmt.Errorf("%w; --%s prints that", err, ctx.String("format"))
		}
		return in, err
	}
	in.Columns, err = run.ReadMap(ctx.StringSlice("map"), t.FieldNames())
	return in, err
}

// openRows is openRowInput with the taxonomy of --taxonomy, or of the records of files, which open loads.
func openRows(ctx *cli.Context, files []string, open func(string) (*taxonomy.Taxonomy, error)) (run.Rows, error) {
	t, err := taxonomyOf(ctx.String("taxonomy"), files, open)
	if err != nil {
		return run.Rows{}, err
	}
	return openRowInput(ctx, t)
}

// expandGlobs replaces patterns that the shell left alone by the files they stand for, sorted.
func expandGlobs(inputs []string) ([]string, error) {
	var out []string
	for _, in := range inputs {
		if _, err := os.Lstat(in); err == nil || in == run.Stdio || storage.IsURL(in) || !strings.ContainsAny(in, "*?[") {
			out = append(out, in)
			continue
		}
		found, err := filepath.Glob(in)
		if err != nil || len(found) == 0 {
			return nil, exit.Usagef("input %s: no file has such a name", in)
		}
		out = append(out, found...)
	}
	return out, nil
}
