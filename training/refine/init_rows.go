package refine

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/erreval/erreval/dataset"
)

// labelled writes development and training rows.
func (b *builder) labelled() error {
	dev, err := b.create(DevFile)
	if err != nil {
		return err
	}
	if b.o.Dev != nil {
		err = b.each(b.o.Dev, dev, func(row *dataset.Row) error {
			b.groups[b.groupSum(row)] = true
			return dev.Write(row)
		})
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
	if err := b.each(b.o.Train, b.train, func(row *dataset.Row) error {
		rows = append(rows, row)
		return nil
	}); err != nil {
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

// trainName is what the training rows are called while they are written, so that those rejected stand outside of
// TrainDir.
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
	return groupSum(b.o.Seed, groupOf(row, b.o.Taxonomy, b.o.Group))
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
	noted := false
	read := func() (*dataset.Row, error) {
		row, err := from.Read()
		if err == nil && !noted || errors.Is(err, io.EOF) {
			noted = true
			b.note(from)
		}
		if err == nil {
			err = b.usable(row, from == b.o.Pool)
		}
		return row, err
	}
	return dataset.Each(b.ctx, read, func(fault *dataset.LineError) error { return b.reject(out, fault) }, f)
}

// note tells what was assumed about a source, which is known once its first row is read.
func (b *builder) note(from dataset.Source) {
	if of, ok := from.(interface{ Notes() []string }); ok && b.o.Note != nil {
		b.o.Note(of.Notes())
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
	if b.firstFault == nil {
		b.firstFault = fault
	}
	if _, ok := errors.AsType[errSameText](fault); ok {
		b.made.Duplicates++
		b.made.duplicate = cmp.Or(b.made.duplicate, fault.Error())
	} else if len(b.made.Examples) < 5 {
		b.made.Examples = append(b.made.Examples, fault)
	}
	return out.Reject(fault)
}

// usable puts id, fields and labels of a row where a workspace has them, or gives a *dataset.LineError that
// says why it is no use.
func (b *builder) usable(row *dataset.Row, pool bool) error {
	fault := b.fault(row, pool)
	if fault == nil {
		fault = b.again(row, pool)
	}
	if fault != nil {
		return &dataset.LineError{File: row.Source, Line: row.Line, Raw: row.JSON(), Err: fault}
	}
	b.ownID(row, pool)
	err := row.Set(dataset.ColumnID, row.ID)
	for i, field := range b.o.Taxonomy.FieldNames() {
		err = errors.Join(err, row.Set(field, row.Values[i]))
	}
	return err
}

func (b *builder) fault(row *dataset.Row, pool bool) error {
	if strings.TrimSpace(row.Values[0]) == "" {
		return fmt.Errorf("the %s is empty", b.o.Taxonomy.Fields[0].Name)
	}
	if _, ok := row.Get(b.o.Group); !ok && b.o.Group != "" && !slices.Contains(b.o.Taxonomy.FieldNames(), b.o.Group) {
		return fmt.Errorf("no column %q, which tells the groups; give another one with --group, or --group none", b.o.Group)
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

// ownID sees to it that an id means one row: files whose rows are numbered from 1 each are common. Rows of one file
// have their own ids already.
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
func (b *builder) again(row *dataset.Row, pool bool) error {
	key, labels := shortSum(row.TextHash()), [16]byte{}
	if raw, _ := row.FindAnyCase(dataset.ColumnLabels); !pool {
		labels = shortSum(string(raw))
	}
	if first, again := b.seen[key]; again {
		if !pool && first.labels != labels {
			return fmt.Errorf("the same text as in %s:%d with other labels: settle which are right, and give it once",
				b.files[first.file], first.line)
		}
		return errSameText{b.files[first.file], first.line}
	}
	if len(b.files) == 0 || b.files[len(b.files)-1] != row.Source {
		b.files = append(b.files, row.Source)
	}
	b.seen[key] = where{int32(len(b.files) - 1), int32(row.Line), labels}
	return nil
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
