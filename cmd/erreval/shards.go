package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/cmd/erreval/internal/commandline"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/regularfile"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/internal/storage"
)

func shardFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "shards",
			Usage: "read the file that --index counts in `MANIFEST`: a file a line, and its output behind a tab, or in the " +
				"folder of -o"},
		&cli.IntFlag{Name: "index", Value: -1,
			Usage: "take line `N` of --shards, counted from 0, as in $JOB_COMPLETION_INDEX"},
	}
}

// shardOutput is the key of the output in the context of a line that names its file.
type shardOutput struct{}

// withShards makes of --shards and --index a line with a file and an output.
func (e *env) withShards(action cli.ActionFunc) cli.ActionFunc {
	return func(ctx *cli.Context) error {
		manifest := ctx.String("shards")
		if out, ok := ctx.Context.Value(shardOutput{}).(string); ok {
			return errors.Join(ctx.Set("output", out), action(ctx))
		}
		if manifest == "" && !ctx.IsSet("index") {
			return action(ctx)
		}
		switch {
		case manifest == "":
			return exit.Usagef("--index counts the lines of a file: name it with --shards")
		case ctx.Args().Present():
			return exit.Usagef("--shards names the file of rows; leave out %s", strings.Join(ctx.Args().Slice(), " "))
		}
		in, out, err := e.readShard(ctx.Context, manifest, ctx.Int("index"), ctx.String("output"))
		if err == nil && !storage.IsURL(out) {
			err = os.MkdirAll(filepath.Dir(out), 0o777)
		}
		if err != nil {
			return err
		}
		app := newApp(e)
		args, err := commandline.Reorder(app, append(slices.Clone(e.Args), in))
		if err != nil {
			return err
		}
		return app.RunContext(context.WithValue(ctx.Context, shardOutput{}, out), args)
	}
}

// readShard gives a line of a manifest. Lines that are empty or begin with # do not count.
func (e *env) readShard(ctx context.Context, manifest string, index int, output string) (in, out string, err error) {
	data, err := e.readShards(ctx, manifest)
	if err != nil {
		return "", "", err
	}
	n := 0
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimRight(line, "\r\n"); line != "" && !strings.HasPrefix(line, "#") {
			if n == index {
				return splitShard(manifest, line, output)
			}
			n++
		}
	}
	return "", "", exit.Usagef("--index %d: %s has %d files, counted from 0", index, manifest, n)
}

func (e *env) readShards(ctx context.Context, manifest string) ([]byte, error) {
	if manifest != run.Stdio {
		return storage.ReadPath(ctx, manifest, regularfile.Max)
	}
	in, _, err := run.OpenInput(ctx, e.Process, manifest)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return regularfile.ReadAll(in, manifest, regularfile.Max)
}

func splitShard(manifest, line, output string) (in, out string, err error) {
	in, out, found := strings.Cut(line, "\t")
	switch {
	case found && output != "":
		return "", "", exit.Usagef("%s names the output %s; leave out -o", manifest, out)
	case !found && output == "":
		return "", "", exit.Usagef("%s names no output of %s: give a folder with -o, or the output behind a tab", manifest,
			in)
	case !found:
		out = strings.TrimSuffix(output, "/") + "/" + storage.Base(in)
	}
	return in, out, nil
}
