package refine

import (
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/taxonomy"
	"github.com/erreval/erreval/training/review"
)

// InitOptions say what a workspace is made of. Rows are read once, pool last.
type InitOptions struct {
	Taxonomy *taxonomy.Taxonomy
	YAML     []byte // of a taxonomy of one's own; nil where it is built in
	Group    string // a field or column that rows share; "" is each row by itself
	Start    string // Config.Start; "" is the default's

	Pool  dataset.Source
	Train dataset.Source // nil: no labelled rows to begin with
	Dev   dataset.Source // nil: development rows are taken from Train
	// DevShare of Train's rows become development rows, by whole groups; over 0, below 1. Read only where Dev is nil.
	DevShare float64
	Seed     uint64

	Sections []string // of refine.yaml, as ConfigText takes them
	Command  string   // for the log
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
	Rejected   int     `json:"rejected"`
	Duplicates int     `json:"duplicates"` // of the rejected ones: the same id, or the same text
	Renamed    int     `json:"renamed"`    // rows whose id a row of another file has, with another text: they became "train:ID" or "pool:ID"
	Examples   []error `json:"-"`          // of what was rejected, the first ones
}

// DefaultGroup is what rows of a taxonomy share: the field it marks with "group", else the last of several fields, which is
// the context of the text under evaluation; "" where there is one field only.
func DefaultGroup(t *taxonomy.Taxonomy) string {
	if group := t.GroupField(); group != "" || len(t.Fields) < 2 {
		return group
	}
	return t.Fields[len(t.Fields)-1].Name
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
func Init(dir string, o InitOptions) (made *Made, err error) {
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return nil, occupied(dir, o.Command)
	}
	to, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
		return nil, err
	}
	begun := "." + filepath.Base(to) + ".new-"
	removeKilled(filepath.Dir(to), begun)
	temp, err := os.MkdirTemp(filepath.Dir(to), begun)
	if err != nil {
		return nil, err
	}
	lock, err := (&Workspace{Dir: temp}).lock(syscall.LOCK_NB) // says that a living process is at it
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	b := &builder{o: o, dir: temp, group: o.Group, seen: map[[16]byte]where{}, ids: map[[16]byte]bool{}, groups: map[[32]byte]bool{}}
	if made, err = b.build(); err == nil {
		err = errors.Join(os.Chmod(temp, 0o755), os.Rename(temp, to))
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(temp))
	}
	return made, nil
}

// removeKilled removes what killed processes began to make. What cannot be removed is in nobody's way.
func removeKilled(parent, begun string) {
	entries, _ := os.ReadDir(parent)
	for _, entry := range entries {
		if !strings.HasPrefix(entry.Name(), begun) {
			continue
		}
		path := filepath.Join(parent, entry.Name())
		lock, lockErr := (&Workspace{Dir: path}).lock(syscall.LOCK_NB)
		if lockErr != nil { // somebody is at it, or it is not ours
			continue
		}
		_ = errors.Join(os.RemoveAll(path), lock.Close())
	}
}

// occupied says why no workspace can be made in a folder that is not empty.
func occupied(dir, command string) error {
	if _, err := os.Stat(filepath.Join(dir, ConfigFile)); err != nil {
		return fmt.Errorf("%s holds other files; give a folder that does not exist yet", dir)
	}
	log, err := (&Workspace{Dir: dir}).Log()
	err = errors.Join(err, fmt.Errorf("%s is a workspace already; nothing was changed. See where it stands: erreval refine status %s", dir, shellWord(dir)))
	if len(log) > 0 && log[0].Command == command {
		return errors.Join(ErrMade, err)
	}
	return err
}

// where says where a text stood first.
type where struct{ file, line int32 }

// builder fills the folder of a new workspace.
type builder struct {
	o          InitOptions
	dir        string
	group      string
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
	b.made.Group = b.group
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
	c.Taxonomy, c.Group, c.Start = b.o.Taxonomy.Name, b.group, cmp.Or(b.o.Start, c.Start)
	files := map[string][]byte{".gitignore": []byte(gitignore), "README.md": []byte(readme)}
	if b.o.YAML != nil {
		c.Taxonomy, files[TaxonomyFile] = TaxonomyFile, b.o.YAML
	}
	files[ConfigFile] = []byte(ConfigText(c, b.o.Sections...))
	if _, err := ParseConfig(files[ConfigFile], ConfigFile); err != nil {
		return err
	}
	entry, err := review.Lines([]Entry{{Time: time.Now().UTC().Truncate(time.Second), Step: "init", Command: b.o.Command, Made: []string{"."}}})
	files[LogFile] = entry
	for name, data := range files {
		err = errors.Join(err, os.WriteFile(filepath.Join(b.dir, name), data, 0o666))
	}
	return err
}

// labelled writes development and training rows.
func (b *builder) labelled() error {
	dev, err := b.create(DevFile)
	if err != nil {
		return err
	}
	if b.o.Dev != nil {
		err = b.each(b.o.Dev, dev, func(row *dataset.Row) error { return b.addDev(dev, row) })
		if err == nil && dev.Rows() == 0 {
			err = b.nothing("--dev")
		}
	}
	var rows []*dataset.Row
	if err == nil {
		rows, err = b.start(dev)
	}
	if err != nil {
		return errors.Join(err, dev.Abort())
	}
	b.made.Groups = len(b.groups)
	return errors.Join(b.commit(dev, &b.made.Dev), b.keep(rows))
}

// start reads labelled rows and gives those that are to be trained on.
func (b *builder) start(dev *dataset.Output) (rows []*dataset.Row, err error) {
	if b.o.Train == nil {
		return nil, nil
	}
	if b.train, err = b.create(trainName); err != nil {
		return nil, err
	}
	if err := b.each(b.o.Train, b.train, func(row *dataset.Row) error { rows = append(rows, row); return nil }); err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, b.nothing("--train")
	}
	if b.o.Dev == nil {
		return b.split(dev, rows)
	}
	return rows, nil
}

// split moves whole groups to the development rows, in an order that the seed decides. Rows with planted errors measure
// little; they are taken only where there are no others.
func (b *builder) split(dev *dataset.Output, rows []*dataset.Row) ([]*dataset.Row, error) {
	real := slices.DeleteFunc(slices.Clone(rows), simulated)
	if len(real) == 0 {
		real = rows
	}
	size, order := map[[32]byte]int{}, [][32]byte(nil)
	for _, row := range real {
		g := b.groupSum(row)
		if size[g]++; size[g] == 1 {
			order = append(order, g)
		}
	}
	slices.SortFunc(order, func(x, y [32]byte) int { return slices.Compare(x[:], y[:]) })
	want := int(b.o.DevShare*float64(len(real)) + 0.5)
	taken := 0
	for i, g := range order[:max(len(order)-1, 0)] {
		if i > 0 && taken+size[g]/2 >= want { // a large group may be too much
			continue
		}
		b.groups[g] = true
		taken += size[g]
	}
	return b.takeDev(dev, rows, len(real) < len(rows))
}

func (b *builder) takeDev(dev *dataset.Output, rows []*dataset.Row, mixed bool) (rest []*dataset.Row, err error) {
	for _, row := range rows {
		if !b.groups[b.groupSum(row)] || mixed && simulated(row) {
			rest = append(rest, row)
			continue
		}
		if err := dev.Write(row); err != nil {
			return nil, err
		}
	}
	return rest, nil
}

func simulated(row *dataset.Row) bool {
	p, err := ProvenanceOf(row)
	return err == nil && p.Kind == KindSimulated
}

func (b *builder) addDev(dev *dataset.Output, row *dataset.Row) error {
	b.groups[b.groupSum(row)] = true
	return dev.Write(row)
}

// trainName is what the training rows are called while they are written, so that those rejected stand outside of TrainDir.
const trainName = "train.jsonl"

// keep writes the training rows; those of a development group are held back.
func (b *builder) keep(rows []*dataset.Row) error {
	if b.train == nil {
		return nil
	}
	for _, row := range rows {
		to := b.train
		if b.groups[b.groupSum(row)] {
			to = b.held
		}
		if err := to.Write(row); err != nil {
			return err
		}
	}
	if err := b.commit(b.train, &b.made.Train); err != nil {
		return err
	}
	return os.Rename(filepath.Join(b.dir, trainName), filepath.Join(b.dir, TrainDir, StartRows))
}

func (b *builder) pool() error {
	out, err := b.create(PoolFile)
	if err != nil {
		return err
	}
	err = b.each(b.o.Pool, out, func(row *dataset.Row) error {
		if b.groups[b.groupSum(row)] {
			return b.held.Write(row)
		}
		return out.Write(row)
	})
	if err != nil {
		return errors.Join(err, out.Abort())
	}
	return b.commit(out, &b.made.Pool)
}

func (b *builder) create(name string) (*dataset.Output, error) {
	return dataset.Create(filepath.Join(b.dir, name), false)
}

func (b *builder) commit(out *dataset.Output, rows *int) error {
	*rows = out.Rows()
	b.made.Rejected += out.Rejected()
	return out.Commit()
}

func (b *builder) groupSum(row *dataset.Row) [32]byte {
	return groupSum(b.o.Seed, groupOf(row, b.o.Taxonomy, b.group))
}

// groupSum is short whatever the group is; the seed decides the order of groups.
func groupSum(seed uint64, group string) [32]byte {
	h := sha256.New()
	h.Write(binary.BigEndian.AppendUint64(nil, seed))
	io.WriteString(h, group)
	return [32]byte(h.Sum(nil))
}

// each gives the usable rows of a source to f; the others are rejected to out.
func (b *builder) each(from dataset.Source, out *dataset.Output, f func(*dataset.Row) error) error {
	b.firstFault = nil
	for {
		row, err := from.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		fault := (*dataset.LineError)(nil)
		if err == nil {
			fault, err = b.usable(row, from == b.o.Pool)
		} else if errors.As(err, &fault) {
			err = nil
		}
		switch {
		case err != nil:
			return err
		case fault == nil:
			err = f(row)
		default:
			err = b.reject(out, fault)
		}
		if err != nil {
			return err
		}
	}
}

// errSameText marks a row that is there already.
type errSameText struct {
	file string
	line int32
}

func (e errSameText) Error() string {
	return fmt.Sprintf("the same text as in %s:%d; one of them is enough", e.file, e.line)
}

func (b *builder) reject(out *dataset.Output, fault *dataset.LineError) error {
	var id *dataset.DuplicateIDError
	var text errSameText
	if errors.As(fault, &id) || errors.As(fault, &text) {
		b.made.Duplicates++
	}
	if b.firstFault == nil {
		b.firstFault = fault
	}
	if len(b.made.Examples) < 5 {
		b.made.Examples = append(b.made.Examples, fault)
	}
	return out.Reject(fault)
}

// usable puts id, fields and labels of a row where a workspace has them, or says why it is no use.
func (b *builder) usable(row *dataset.Row, pool bool) (*dataset.LineError, error) {
	fault := b.fault(row, pool)
	if fault == nil {
		fault = b.again(row)
	}
	if fault != nil {
		raw, err := marshalRow(row)
		return &dataset.LineError{File: row.Source, Line: row.Line, Raw: raw, Err: fault}, err
	}
	b.ownID(row, pool)
	err := row.Set(dataset.ColumnID, row.ID)
	for i, field := range b.o.Taxonomy.FieldNames() {
		err = errors.Join(err, row.Set(field, row.Values[i]))
	}
	return nil, err
}

func (b *builder) fault(row *dataset.Row, pool bool) error {
	if strings.TrimSpace(row.Values[0]) == "" {
		return fmt.Errorf("the %s is empty", b.o.Taxonomy.Fields[0].Name)
	}
	if _, ok := row.Get(b.group); !ok && b.group != "" && !slices.Contains(b.o.Taxonomy.FieldNames(), b.group) {
		return fmt.Errorf("no column %q, which tells the groups; give another one with --group, or --group none", b.group)
	}
	if !pool {
		return b.label(row)
	}
	if raw, ok := row.Get(dataset.ColumnLabels); ok && !slices.Contains(noLabels, string(raw)) {
		return fmt.Errorf("a row of the pool with labels; give labelled rows with --train, or call the column otherwise")
	}
	return nil
}

// noLabels is what stands in the column of a row that nobody has labelled.
var noLabels = []string{"null", `""`, "[]"}

// ownID sees to it that an id means one row: files whose rows are numbered from 1 each are common. Rows of one file have
// their own ids, or are rejected.
func (b *builder) ownID(row *dataset.Row, pool bool) {
	given, of := row.ID, "train:"
	if pool {
		of = "pool:"
	}
	for b.ids[shortSum(row.ID)] {
		row.ID = of + row.ID
	}
	b.ids[shortSum(row.ID)] = true
	if row.ID != given {
		b.made.Renamed++
	}
}

func shortSum(text string) [16]byte {
	sum := sha256.Sum256([]byte(text))
	return [16]byte(sum[:16])
}

// again notes a row's text, or says where it came before.
func (b *builder) again(row *dataset.Row) error {
	key := shortSum(row.TextHash())
	if first, again := b.seen[key]; again {
		return errSameText{b.files[first.file], first.line}
	}
	if len(b.files) == 0 || b.files[len(b.files)-1] != row.Source {
		b.files = append(b.files, row.Source)
	}
	b.seen[key] = where{int32(len(b.files) - 1), int32(row.Line)}
	return nil
}

func marshalRow(row *dataset.Row) ([]byte, error) {
	var b strings.Builder
	out := dataset.NewWriter(&b)
	err := errors.Join(out.Write(row), out.Flush())
	return []byte(strings.TrimSuffix(b.String(), "\n")), err
}

// label checks a labelled row, and writes its labels as names and where they come from.
func (b *builder) label(row *dataset.Row) error {
	labels, err := row.Labels(b.o.Taxonomy)
	if err != nil {
		return err
	}
	p, err := ProvenanceOf(row)
	if raw, planted := row.Get("mechanism"); planted && p.Kind == KindStart { // a row of erreval simulate
		p.Kind = KindSimulated
		var by string
		if len(p.By) == 0 && json.Unmarshal(raw, &by) == nil && by != "" {
			p.By = []string{by}
		}
	}
	return errors.Join(err, row.Set(dataset.ColumnLabels, labels), row.Set(ColumnProvenance, p))
}
