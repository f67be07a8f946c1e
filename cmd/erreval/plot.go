package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/exit"
)

// plotOptions say where a flag wants a picture.
type plotOptions struct {
	flag, file string // no file: no picture
	overwrite  bool
}

func readPlotOptions(ctx *cli.Context, flag string) plotOptions {
	return plotOptions{flag: flag, file: ctx.String(flag), overwrite: ctx.Bool("overwrite")}
}

// check finds a file that cannot be drawn to before anything is read.
func (o *plotOptions) check() error {
	if o.file == "" {
		return nil
	}
	if !slices.Contains([]string{".svg", ".png"}, filepath.Ext(o.file)) {
		return exit.Usagef("--%s %s: the name ends with .svg or .png", o.flag, o.file)
	}
	if _, err := os.Lstat(o.file); !errors.Is(err, fs.ErrNotExist) && !o.overwrite {
		return fmt.Errorf("--%s: %s exists already; replace it with --overwrite, or choose another name", o.flag, o.file)
	}
	return nil
}

// write draws in the format that the file's name asks for, if there is one. The file appears whole or not at all.
func (o *plotOptions) write(draw func(format string) ([]byte, error)) error {
	if o.file == "" {
		return nil
	}
	data, err := draw(strings.TrimPrefix(filepath.Ext(o.file), "."))
	if err != nil {
		return fmt.Errorf("--%s %s: %w", o.flag, o.file, err)
	}
	partial := dataset.PartialPath(o.file)
	if err := os.WriteFile(partial, data, 0o666); err != nil {
		return fmt.Errorf("--%s: %w", o.flag, err)
	}
	if err := os.Rename(partial, o.file); err != nil {
		return fmt.Errorf("--%s: %w", o.flag, errors.Join(err, os.Remove(partial)))
	}
	return nil
}
