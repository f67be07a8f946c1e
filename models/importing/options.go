package importing

import (
	"cmp"
	"errors"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/erreval/erreval/identifier/local"
	"github.com/erreval/erreval/models"
	"github.com/erreval/erreval/models/convert"
	"github.com/erreval/erreval/taxonomy"
)

// Options say what is imported, where it goes, and what its files do not say about it.
type Options struct {
	Machine  *local.Machine
	Taxonomy *taxonomy.Taxonomy // of the task

	Source     string   // folder with a checkpoint, a plain ONNX export or a model
	Origin     string   // name of Source in the manifest; "" is the folder's name
	Name       string   // "" is the source's own
	Output     string   // new folder; "" is one in the cache
	Overwrite  bool     // replace a model that is there
	Precision  string   // of the weights; "" is convert.FP32
	External   int64    // weights with more bytes go into a file beside the graph
	KeepFP32   bool     // keep the fp32 graph too
	Optimize   bool     // rewrite the graph of a plain export
	Labels     string   // as models.Choices has it, and so Join and Activation
	Join       string   //
	Activation string   //
	Segments   string   // token_type_ids, one number a field, with commas between; "" is all 0
	Window     string   // FIELD=WORDS or FIELD=WORDS,ENDS, the window that the model was trained with; "" is none
	Thresholds []string // as models.ParseThresholds reads them
	Verify     string   // file of recorded logits to compare with; "" is none
	Tolerance  float64  // largest difference of a logit that Verify accepts; 0 is the precision's own
	Library    string   // path of ONNX Runtime; "" looks for it

	Log func(format string, args ...any) // is called with a line for each step; nil is silent
}

// Validate finds the faults of o that are seen without the source: *models.OptionErrors.
func (o *Options) Validate() error {
	var errs []error
	require := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, models.OptionErrorf(format, args...))
		}
	}
	oneOf := func(flag, value string, known ...string) {
		require(value == "" || slices.Contains(known, value), "--%s %q: give %s", flag, value, strings.Join(known, " or "))
	}
	oneOf("precision", o.Precision, convert.FP32, convert.FP16, convert.INT8)
	oneOf("join", o.Join, models.JoinFields, models.JoinText)
	oneOf("activation", o.Activation, models.Sigmoid, models.Softmax)
	require(o.Tolerance >= 0, "--tolerance %v: give a difference of a logit, such as 1e-4", o.Tolerance)
	require(o.Tolerance == 0 || o.Verify != "", "--tolerance is for --verify; give it with --verify reference.json")
	require(!o.KeepFP32 || o.Precision == convert.FP16 || o.Precision == convert.INT8,
		"--keep-fp32 keeps fp32 beside int8 or fp16; give --precision int8")
	if err := (convert.Options{Precision: convert.FP32, ExternalAbove: o.External}).Validate(); err != nil {
		errs = append(errs, models.OptionErrorf("--external-above: %v", err))
	}
	if o.Name != "" {
		if err := models.CheckName(o.Name); err != nil {
			errs = append(errs, models.OptionErrorf("--name %v", err))
		}
	}
	return errors.Join(errs...)
}

func (r *importer) chooseName() error {
	o := &r.o
	name := cmp.Or(o.Name, path.Base(strings.Split(o.Origin, "@")[0]))
	if o.Name == "" && o.Output != "" {
		name = filepath.Base(o.Output)
	}
	if err := models.CheckName(name); err != nil {
		return models.OptionErrorf("%w; give one with --name", err)
	}
	r.choices.Name = name
	return nil
}

func (r *importer) readChoices() (err error) {
	o, c := &r.o, &r.choices
	c.Version, c.Labels, c.Join, c.Activation = "0", o.Labels, o.Join, o.Activation
	if c.Thresholds, err = models.ParseThresholds("--threshold", o.Thresholds, o.Taxonomy,
		o.Taxonomy.Labels(), nil); err != nil {
		return err
	}
	if c.Window, err = parseWindow(o.Window); err != nil || o.Segments == "" {
		return err
	}
	for part := range strings.SplitSeq(o.Segments, ",") {
		n, err := strconv.ParseInt(strings.TrimSpace(part), 10, 8)
		if err != nil || n < 0 {
			return models.OptionErrorf("--segments %q: give one small number a field, as in 0,1,1", o.Segments)
		}
		c.Segments = append(c.Segments, n)
	}
	if want := len(o.Taxonomy.Fields); len(c.Segments) != want {
		return models.OptionErrorf("--segments %q: give %d numbers, one for each of %s",
			o.Segments, want, strings.Join(o.Taxonomy.FieldNames(), ", "))
	}
	return nil
}

func parseWindow(text string) (*models.Window, error) {
	if text == "" {
		return nil, nil
	}
	field, counts, _ := strings.Cut(text, "=")
	count, outer, hasEnds := strings.Cut(counts, ",")
	w := &models.Window{Field: field}
	var err, endsErr error
	if w.Words, err = strconv.Atoi(count); hasEnds {
		w.Ends, endsErr = strconv.Atoi(outer)
	}
	if err != nil || endsErr != nil {
		return nil, models.OptionErrorf("--window %q: give a field and a number of words, as in passage=60, and perhaps "+
			"how many are read of its beginning and of its end in any case, as in response=300,60", text)
	}
	return w, nil
}
