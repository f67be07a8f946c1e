package refine

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/wholefile"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/taxonomy"
	"github.com/erreval/erreval/training/review"
	"github.com/erreval/erreval/training/selection"
)

// InitOptions say what a workspace is made of. Rows are read once, pool last.
type InitOptions struct {
	Taxonomy *taxonomy.Taxonomy
	YAML     []byte // of a taxonomy of one's own; nil where it is built in
	Group    string // a field or column that rows share; "" is each row by itself
	// Start is the model before the first iteration, as --model takes it; a relative path is from where the process runs.
	// StartNone is none, "" the one inside the program where it knows the taxonomy, else none.
	Start   string
	Encoder string // as in refine.yaml; "" is the default

	Pool  dataset.Source
	Train dataset.Source // nil: no labelled rows to begin with
	Dev   dataset.Source // nil: development rows are taken from Train
	// DevShare of Train's rows become development rows, by whole groups; over 0, below 1. Read only where Dev is nil.
	DevShare float64
	Seed     uint64

	Command string // for the log
	// Note is told what was assumed about each file that is read; nil is nobody.
	Note func(notes []string)
}

// Made counts what Init did.
type Made struct {
	Group  string `json:"group"` // "" is each row by itself
	Pool   int    `json:"pool"`
	Train  int    `json:"train"`
	Dev    int    `json:"dev"`
	Groups int    `json:"dev_groups"`
	Held   int    `json:"held"` // rows of pool and training that share their group with a development row
	// Rejected counts what went to *.rejected.jsonl: lines that are no rows, rows without usable labels, and duplicates.
	Rejected   int `json:"rejected"`
	Duplicates int `json:"duplicates"` // of the rejected ones: the same text as another
	// rows whose id a row of another file has, with another text: they became "train:ID" or "pool:ID"
	Renamed  int     `json:"renamed"`
	Examples []error `json:"-"` // of what was rejected and is no duplicate, the first ones

	Next          string `json:"-"` // the step of refine that Text says comes next; "" says none
	dir, taxonomy string
	duplicate     string // the first one, in a sentence
}

// DefaultGroup is what rows of a taxonomy share: the field it marks with "group", else the last of several fields,
// which is the context of the text under evaluation; "" where there is one field only.
func DefaultGroup(t *taxonomy.Taxonomy) string {
	if group := t.GroupField(); group != "" || len(t.Fields) < 2 {
		return group
	}
	return t.Fields[len(t.Fields)-1].Name
}

// ParseGroup is what rows share as a person names it: a field or column, "none" for each row by itself, or "" for
// DefaultGroup.
func ParseGroup(name string, t *taxonomy.Taxonomy) string {
	switch name {
	case "":
		return DefaultGroup(t)
	case "none":
		return ""
	}
	return name
}

//go:embed readme.md
var readme string

const gitignore = `# Weights and what can be made again; everything else is worth keeping.
iterations/*/model/
iterations/*/verifier/
iterations/*/checkpoint/
*.tagged.jsonl*
.tmp/
.commit/
.undo/
.undone/
.work/
.folds/
.lock
`

// ErrMade says that the same command has made the workspace already.
var ErrMade = errors.New("this very command made it")

// Init makes a workspace in dir, which must not exist or be empty. It appears whole or not at all. The error is ErrMade
// where the same command did so before.
func Init(ctx context.Context, dir string, o InitOptions) (made *Made, err error) {
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return nil, occupied(dir, o.Command)
	}
	to, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if o.Start, err = o.startFrom(to); err != nil {
		return nil, err
	}
	folder, err := wholefile.NewFolder(to, "."+filepath.Base(to)+".new-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, folder.Discard()) }()
	b := &builder{ctx: ctx, o: o, dir: folder.Dir,
		made: Made{Group: o.Group, dir: dir, taxonomy: o.Taxonomy.ID(), Next: "status"},
		seen: map[[16]byte]where{}, ids: map[[16]byte]bool{}, groups: map[[32]byte]bool{}}
	if made, err = b.build(); err == nil {
		err = folder.Publish(false)
	}
	return made, err
}

// startFrom is Config.Start of a workspace in dir.
func (o *InitOptions) startFrom(dir string) (string, error) {
	switch {
	case o.Start == "" && o.Taxonomy.Name != taxonomy.Builtins()[0]:
		return StartNone, nil // the model inside the program knows the first one's errors
	case !strings.ContainsRune(o.Start, filepath.Separator) || filepath.IsAbs(o.Start):
		return o.Start, nil
	}
	start, err := filepath.Abs(o.Start)
	if err != nil {
		return "", err
	}
	rel, err := filepath.Rel(dir, start)
	if err != nil {
		return start, nil //nolint:nilerror // it is on another drive
	}
	return asFolder(rel), nil
}

// occupied says why no workspace can be made in a folder that is not empty.
func occupied(dir, command string) error {
	if !fileThere(filepath.Join(dir, ConfigFile)) {
		return fmt.Errorf("%s holds other files; give a folder that does not exist yet", dir)
	}
	log, err := (&Workspace{Dir: dir}).Log()
	again := ""
	if !slices.ContainsFunc(log, func(e Entry) bool { return strings.HasPrefix(e.Step, StepMerge) }) {
		again = "; as long as nobody has answered, remove the folder to begin anew, as with other columns"
	}
	err = errors.Join(err, fmt.Errorf("%s is a workspace already; nothing was changed. "+
		"See where it stands: erreval refine status %s%s", dir, words.Quote(dir), again))
	if len(log) > 0 && log[0].Command == command {
		return errors.Join(ErrMade, err)
	}
	return err
}

// where says where a text stood first, and with which labels.
type where struct {
	file, line int32
	labels     [16]byte // of a labelled row
}

// builder fills the folder of a new workspace.
type builder struct {
	ctx        context.Context // of Init
	o          InitOptions
	dir        string
	seen       map[[16]byte]where // every text
	ids        map[[16]byte]bool
	groups     map[[32]byte]bool // of development rows
	held       *dataset.Output
	train      *dataset.Output // nil without Train
	files      []string        // that where speaks of
	firstFault error           // the first one of the source that is read, or nil
	made       Made
}

func (b *builder) build() (*Made, error) {
	var err error
	for _, folder := range []string{TrainDir, RandomDir, BatchesDir, IterationDir} {
		err = errors.Join(err, os.Mkdir(filepath.Join(b.dir, folder), 0o777))
	}
	if err != nil {
		return nil, err
	}
	if b.held, err = dataset.Create(filepath.Join(b.dir, HeldFile), false); err != nil {
		return nil, err
	}
	if err := b.labelled(); err != nil {
		return nil, err
	}
	if err := b.pool(); err != nil {
		return nil, err
	}
	b.made.Held = b.held.Rows()
	if b.made.Pool+b.made.Held == 0 {
		return nil, b.nothing("the pool")
	}
	if err := b.commitHeld(); err != nil {
		return nil, err
	}
	if b.made.Train == 0 && b.o.Start != StartNone { // there is one thing to do
		b.made.Next = "select"
	}
	return &b.made, b.texts()
}

// nothing says why a file gave no row.
func (b *builder) nothing(of string) error {
	if b.firstFault == nil {
		return fmt.Errorf("there are no rows in %s", of)
	}
	return fmt.Errorf("no row of %s can be used; the first fault: %w", of, b.firstFault)
}

func (b *builder) commitHeld() error {
	if b.made.Held == 0 {
		return errors.Join(b.held.Abort(), os.RemoveAll(dataset.PartialPath(filepath.Join(b.dir, HeldFile))))
	}
	return b.held.Commit()
}

func (b *builder) texts() error {
	c := DefaultConfig()
	c.Taxonomy, c.Group, c.Start = b.o.Taxonomy.Name, b.o.Group, cmp.Or(b.o.Start, c.Start)
	c.Train.Encoder = cmp.Or(b.o.Encoder, c.Train.Encoder)
	files := map[string][]byte{".gitignore": []byte(gitignore), "README.md": []byte(readme)}
	if b.o.YAML != nil {
		c.Taxonomy, files[TaxonomyFile] = TaxonomyFile, b.o.YAML
	}
	files[ConfigFile] = []byte(ConfigText(c, selection.ConfigText, review.ConfigText))
	if _, err := ParseConfig(files[ConfigFile], ConfigFile); err != nil {
		return err
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(b.dir, name), data, 0o666); err != nil {
			return err
		}
	}
	return b.log()
}

// log writes the first entry of the log.
func (b *builder) log() error {
	entry, err := newEntry("init", b.o.Command, b.dir, []string{"."})
	if err != nil {
		return err
	}
	return (&Workspace{Dir: b.dir}).writeLog([]Entry{entry})
}
