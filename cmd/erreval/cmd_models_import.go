package main

import (
	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/llm/vendor"
	"github.com/erreval/erreval/models/convert"
	"github.com/erreval/erreval/models/hub"
	"github.com/erreval/erreval/models/importing"
)

func importFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "name", Usage: "call the model `NAME` (default: as its folder or repository)"},
		&cli.StringFlag{Name: "output", Aliases: []string{"o"},
			Usage: "write it to the new folder `DIR` instead of the cache"},
		&cli.StringFlag{Name: "precision",
			Usage: "`PRECISION` of the weights: fp32 (default), fp16 (for CUDA), int8 (for CPUs)"},
		&cli.StringFlag{Name: "labels",
			Usage: "which error types the labels are: taxonomy (all, in its order), \"`NAME,NAME`\", or " +
				"\"LABEL_0=NAME,LABEL_3=NAME\""},
		taxonomyFlag(),
		&cli.StringFlag{Name: "join",
			Usage: "how fields become one input: `fields` (apart, default) or text (one string), as the model was trained"},
		&cli.StringFlag{Name: "activation", Usage: "`sigmoid` or softmax, where config.json has no problem_type"},
		&cli.StringFlag{Name: "segments", Usage: "token_type_ids, one a field, as in `0,1,1` (default: all 0)"},
		&cli.StringFlag{Name: "window",
			Usage: "the model reads of a long field the sentences that bear most on the others, `FIELD=WORDS`, as it was trained"},
		&cli.StringSliceFlag{Name: "threshold", Aliases: []string{"t"},
			Usage: "give an error from this probability on: `P`, or LABEL=P; may be repeated"},
		&cli.Int64Flag{Name: "external-above", Value: convert.DefaultOptions().ExternalAbove,
			Usage: "put weights of more than `BYTES` into a file beside the graph"},
		&cli.StringFlag{Name: "verify",
			Usage: "compare the logits with those in `REFERENCE`, which training/record_logits.py records in Python"},
		&cli.Float64Flag{Name: "tolerance",
			Usage: "largest `DIFFERENCE` of a logit that --verify lets pass (default: 1e-4 for fp32, 0.02 for fp16, 0.5 " +
				"for int8)"},
		&cli.BoolFlag{Name: "optimize",
			Usage: "rewrite the graph of a plain ONNX export as those of checkpoints are, if it is recognised"},
		&cli.BoolFlag{Name: "keep-fp32",
			Usage: "keep the fp32 graph too, for machines that compute the other one differently"},
		overwriteFlag(), libraryFlag(), jsonFlag(),
	}
}

// readImportOptions reads importFlags.
func readImportOptions(ctx *cli.Context, e *env) (o importing.Options, err error) {
	o = importing.Options{Machine: e.machine(), Name: ctx.String("name"), Output: ctx.String("output"),
		Overwrite: ctx.Bool("overwrite"), Precision: ctx.String("precision"), External: ctx.Int64("external-above"),
		KeepFP32: ctx.Bool("keep-fp32"), Optimize: ctx.Bool("optimize"), Labels: ctx.String("labels"),
		Join: ctx.String("join"), Activation: ctx.String("activation"),
		Segments: ctx.String("segments"), Window: ctx.String("window"),
		Thresholds: ctx.StringSlice("threshold"), Verify: ctx.String("verify"),
		Tolerance: ctx.Float64("tolerance"), Library: ctx.String("ort-lib"), Log: e.log()}
	if err := o.Validate(); err != nil {
		return o, err
	}
	o.Taxonomy, err = openTaxonomy(ctx.String("taxonomy"))
	return o, err
}

func importCommand(e *env) *cli.Command {
	return &cli.Command{
		Name: "import", Usage: "make a model of a checkpoint or a plain ONNX export", ArgsUsage: "DIR", Flags: importFlags(),
		Description: `A folder as transformers saves it (config.json, tokenizer.json, model.safetensors or
pytorch_model.bin) becomes an optimised graph; no Python is needed. Architectures: BERT,
DistilBERT, RoBERTa, XLM-R, DeBERTa-v2 and v3:
   erreval models import ./checkpoint --precision int8 --name mine
   erreval identify rows.jsonl --model mine -o tagged.jsonl

The checkpoints of the ErrEval paper, whose labels are LABEL_0 to LABEL_10 and whose fields
were joined as text:
   erreval models import ./roberta-base-ei --labels taxonomy --join text

Is it the same model? Compare with logits that transformers gave:
   erreval models import ./checkpoint --verify reference.json

A plain ONNX export (model.onnx, config.json, tokenizer.json) is taken as it is. --optimize
rewrites the graph that torch.onnx or Optimum made of a BERT, DistilBERT, RoBERTa or XLM-R
classifier; one that it does not recognise is taken as it is, with the reason:
   erreval models import ./export --optimize --precision int8`,
		Action: withArgs(1, 1, "one folder with a checkpoint or an ONNX export", func(ctx *cli.Context) error {
			o, err := readImportOptions(ctx, e)
			if err != nil {
				return err
			}
			o.Source = ctx.Args().First()
			made, err := importing.Import(ctx.Context, o)
			if err != nil {
				return err
			}
			return printData(ctx, e, made, made.Lines())
		}),
	}
}

func pullCommand(e *env) *cli.Command {
	return &cli.Command{
		Name: "pull", Usage: "fetch a checkpoint from the Hugging Face hub, and import it", ArgsUsage: "ORG/NAME[@REVISION]",
		Flags: append(importFlags(), &cli.BoolFlag{Name: "offline", EnvVars: []string{"ERREVAL_OFFLINE", "HF_HUB_OFFLINE"},
			Usage: "take it from the cache of an earlier pull; open no connection"},
			&cli.BoolFlag{Name: "allow-plain-http",
				Usage: "send HF_TOKEN over http:// to another machine too, where others can read it"}),
		Description: `Fetches only the files that are needed, compares each with its hash, and goes on where an
earlier pull was cut:
   erreval models pull ORG/NAME --precision int8
   erreval identify rows.jsonl --model NAME -o tagged.jsonl

A branch, a tag or a commit; the commit is written into the manifest either way:
   erreval models pull ORG/NAME@v1.0 --name mine

HF_ENDPOINT names a mirror, HF_TOKEN opens private repositories, HF_HOME moves the cache
(shared with Python's huggingface_hub). All flags of 'erreval models import' hold.`,
		Action: withArgs(1, 1, "one repository, ORG/NAME or ORG/NAME@REVISION", func(ctx *cli.Context) error {
			o, err := readImportOptions(ctx, e)
			if err != nil {
				return err
			}
			show := run.NewFetching(e.Process)
			o.Log = show.Log
			client := hub.Client{Endpoint: e.Getenv("HF_ENDPOINT"), Token: e.Getenv("HF_TOKEN"), Offline: ctx.Bool("offline"),
				Progress: show.File, Notice: show.Notice}
			if client.Token != "" && !client.Offline && !ctx.Bool("allow-plain-http") && vendor.LeavesInPlain(client.Endpoint) {
				return exit.Usagef("HF_TOKEN would go to HF_ENDPOINT over plain http, where others can read it: give an https:// " +
					"address, pull without a token, or allow it with --allow-plain-http")
			}
			made, err := importing.Pull(ctx.Context, client, ctx.Args().First(), o)
			show.Clear()
			if err != nil {
				return err
			}
			return printData(ctx, e, made, made.Lines())
		}),
	}
}
