package main

import (
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/identifier"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/nativelib"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/internal/runrecord"
	"github.com/erreval/erreval/models"
	"github.com/erreval/erreval/report"
)

// metaTyped is where an app's Metadata has env.typed.
const metaTyped = "typed"

// typed tells whether a flag, by one of its names, stands on the command line rather than in the environment.
func (e *env) typed(names []string) bool {
	for _, arg := range e.Args {
		if arg == "--" {
			return false
		}
		name, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		if strings.HasPrefix(arg, "-") && slices.Contains(names, name) {
			return true
		}
	}
	return false
}

// given is what read gives of a flag; nil where it was not given.
func given[T any](ctx *cli.Context, flag string, read func(string) T) *T {
	if !ctx.IsSet(flag) {
		return nil
	}
	return new(read(flag))
}

// runFlags are those of every row command, which readRunOptions reads. The command's own flags stand behind the one
// that is their key.
func runFlags(own map[string][]cli.Flag) (all []cli.Flag) {
	common := append([]cli.Flag{rowsOutFlag(), mapFlag(), idFlag(), limitFlag(), overwriteFlag(), resumeFlag(),
		&cli.BoolFlag{Name: "json", Usage: "print the closing summary as JSON, on standard output unless rows go there"},
	}, append(shardFlags(), fileFlags()...)...)
	for _, f := range common {
		all = append(append(all, f), own[f.Names()[0]]...)
	}
	return all
}

// readRunOptions reads the flags of row commands. That the summary is JSON is an option of the stage.
func readRunOptions(ctx *cli.Context) run.Options {
	return run.Options{Inputs: ctx.Args().Slice(), Output: ctx.String("output"), Files: readFileOptions(ctx),
		Map: ctx.StringSlice("map"), IDFlag: ctx.String("id"), Reading: runrecord.Reading{Limit: ctx.Int("limit")},
		Shard:     ctx.String("shard"),
		Overwrite: ctx.Bool("overwrite"), Resume: ctx.Bool("resume"), Flush: ctx.Bool("flush")}
}

// Flags that mean the same in every command. Precedence: the flag, then the environment variable, then the default.

func modelFlag() cli.Flag {
	return &cli.StringFlag{Name: "model", Value: "default", EnvVars: envName("model"),
		Usage: "`MODEL` to use: default, the name of an imported model, or a directory with a manifest.json or a plain " +
			"ONNX export"}
}

func taxonomyFlag() cli.Flag {
	return &cli.StringFlag{Name: "taxonomy", Value: "question-generation", EnvVars: envName("taxonomy"),
		Usage: "`TAXONOMY`: a built-in name or a YAML file"}
}

func deviceFlag() cli.Flag {
	return &cli.StringFlag{Name: "device", Value: "cpu", EnvVars: envName("device"),
		Usage: "`DEVICE` to run on: cpu, cuda, or cuda:N for the GPU of that number"}
}

func joinFlag() cli.Flag {
	return &cli.StringFlag{Name: "join",
		Usage: "how a plain export's fields become one input: `fields` (apart, default) or text (one string)"}
}

// libraryFlag names ONNX Runtime's shared library. The environment variable is read by local.Machine, which has to
// tell the two apart.
func libraryFlag() cli.Flag {
	return &cli.StringFlag{Name: "ort-lib",
		Usage: "`PATH` of ONNX Runtime's shared library [$" + nativelib.EnvVar + "] (default: the cache, then the system)"}
}

func gpuMemoryFlag() cli.Flag {
	return &cli.StringFlag{Name: "gpu-memory", EnvVars: envName("gpu-memory"),
		Usage: "let ONNX Runtime hold at most `SIZE` on the GPU, as in 8GB or 900MB; no limit where not given"}
}

func mapFlag() cli.Flag {
	return &cli.StringSliceFlag{Name: "map", KeepSpace: true,
		Usage: "read a task field from another column, `FIELD=COLUMN`; may be repeated"}
}

func idFlag() cli.Flag {
	return &cli.StringFlag{Name: "id",
		Usage: "read the id of rows from `COLUMN[,COLUMN]`; none makes ids of their texts (default: id, where there is one)"}
}

// idColumnFlag is idFlag in show, where --id names rows.
func idColumnFlag() cli.Flag {
	return &cli.StringFlag{Name: "id-column",
		Usage: "read the id of rows from `COLUMN[,COLUMN]`, as --id of the other commands does"}
}

func formatFlag() cli.Flag {
	return &cli.StringFlag{Name: "format", EnvVars: envName("format"),
		Usage: "`FORMAT` of standard input and output, and of files whose names do not tell; where there are none, of all " +
			"inputs: jsonl, json, csv, tsv, xlsx or parquet, each also with .gz or .zst"}
}

func sheetFlag() cli.Flag {
	return &cli.StringFlag{Name: "sheet",
		Usage: "read `SHEET` of a workbook instead of the first with rows, and call the sheet of an .xlsx output so"}
}

func delimiterFlag() cli.Flag {
	return &cli.StringFlag{Name: "delimiter",
		Usage: "`CHARACTER` between the cells of CSV, or tab; looked for in the header where not given"}
}

func encodingFlag() cli.Flag {
	return &cli.StringFlag{Name: "encoding",
		Usage: "read text in the encoding `NAME`, such as windows-1252 (default: UTF-8, or what the file shows)"}
}

func maxRecordFlag() cli.Flag {
	return &cli.StringFlag{Name: "max-record", Value: "16MiB",
		Usage: "reject a line, row or item that takes more than `SIZE`, with the texts that its cells share"}
}

func limitFlag() cli.Flag {
	return &cli.IntFlag{Name: "limit", Usage: "stop after `N` rows; 0 reads all"}
}

func workersFlag() cli.Flag {
	return &cli.IntFlag{Name: "workers", EnvVars: envName("workers"), Usage: "run `N` rows at a time; 0 is one a core"}
}

// windowFlag is that of commands that tag rows with the local model.
func windowFlag() cli.Flag {
	return &cli.StringFlag{Name: "window",
		Usage: "read so many `WORDS` of a long passage, the sentences that bear most on the rest; off reads from its " +
			"beginning on (default: the model's)"}
}

// readWindow gives identifier.Options.ReadWords.
func readWindow(text string) (int, error) {
	switch text {
	case "":
		return 0, nil
	case "off":
		return identifier.WholeField, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < models.MinWindow || n > models.MaxWindow {
		return 0, exit.Usagef("--window %q: give a number of words from %d to %d, or off", text, models.MinWindow,
			models.MaxWindow)
	}
	return n, nil
}

func rowTimeoutFlag() cli.Flag {
	return &cli.DurationFlag{Name: "row-timeout", Value: identifier.DefaultOptions().RowTimeout,
		Usage: "leave a row untagged on which the model takes longer than `TIME`; 0 is no limit"}
}

func outFlag() cli.Flag {
	return &cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "write to `OUT`"}
}

// rowsOutFlag is that of commands which write rows.
func rowsOutFlag() cli.Flag {
	return &cli.StringFlag{Name: "output", Aliases: []string{"o"},
		Usage: "write to `OUT`, in the format of its name; for Excel, end it with .xlsx: what a .csv holds depends there on " +
			"the country"}
}

// recordedTaxonomyFlag is that of commands that read a file (of that name in their usage) which a run has written.
func recordedTaxonomyFlag(file string) cli.Flag {
	return &cli.StringFlag{Name: "taxonomy", EnvVars: envName("taxonomy"),
		Usage: "`TAXONOMY`: a built-in name or a YAML file (default: the one in " + file + ".run.json, " +
			"else question-generation)"}
}

func whereFlag(rows string) cli.Flag {
	return &cli.StringSliceFlag{Name: "where", KeepSpace: true,
		Usage: "only " + rows + " with this value, `COLUMN=VALUE`; may be repeated"}
}

func groupFlag() cli.Flag {
	return &cli.StringFlag{Name: "group",
		Usage: "rows with the same `FIELD`, a field or a column, stand and fall together in intervals; none: each by " +
			"itself (default: the taxonomy's group field)"}
}

func bootstrapFlag() cli.Flag {
	return &cli.IntFlag{Name: "bootstrap", Value: report.DefaultIntervals().Resamples,
		Usage: "`N` resamples for the intervals; 0: no intervals"}
}

func seedFlag() cli.Flag {
	return &cli.Uint64Flag{Name: "seed", Value: report.DefaultIntervals().Seed, Usage: "`SEED` of the resampling"}
}

func jsonFlag() cli.Flag {
	return &cli.BoolFlag{Name: "json", Usage: "print JSON instead of a table"}
}

func latexFlag() cli.Flag {
	return &cli.BoolFlag{Name: "latex", Usage: "print LaTeX tables, with the rules of the package booktabs"}
}

func markdownFlag() cli.Flag {
	return &cli.BoolFlag{Name: "markdown", Usage: "print Markdown instead of a table"}
}

func quietFlag() cli.Flag {
	return &cli.BoolFlag{Name: "quiet", Aliases: []string{"q"}, EnvVars: envName("quiet"),
		Usage: "no progress and no summary; what is left out or assumed is said all the same"}
}

func overwriteFlag() cli.Flag {
	return &cli.BoolFlag{Name: "overwrite", Usage: "replace OUT if it exists"}
}

func resumeFlag() cli.Flag {
	return &cli.BoolFlag{Name: "resume",
		Usage: "go on where an earlier run of the same line stopped; a finished OUT is left alone"}
}

func flushFlag() cli.Flag {
	return &cli.BoolFlag{Name: "flush",
		Usage: "work for another program (- -o -): answer each line as soon as it and those before it are done, rejected " +
			"lines in their place"}
}

// envName is the environment variable that sets a flag's default: model is ERREVAL_MODEL.
func envName(flag string) []string {
	return []string{"ERREVAL_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))}
}
