package refine

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/regularfile"
	"github.com/erreval/erreval/internal/runrecord"
	"github.com/erreval/erreval/internal/wholefile"
)

// foldsDir holds, under a name that stands for rows and settings, what OutOfFold found in each fold, and what the
// training at hand needs to go on.
const foldsDir = ".folds"

// How many folds OutOfFold takes.
const (
	MinFolds = 2
	MaxFolds = 20
)

// OutOfFold gives, by TextHash, what an identifier finds in each row of the training set that was not trained on the
// row's group: n identifiers are trained as Train does it, each without one of n folds of whole groups. They begin with
// the encoder whatever the settings say, since a checkpoint of an iteration has seen the rows. Stopped at any point, it
// goes on where it was; what it found stays as long as rows, settings and encoder do. Neither iterations nor the log
// change.
func (w *Workspace) OutOfFold(ctx context.Context, n int, o TrainOptions) (found map[string]*dataset.Diagnosis,
	err error) {
	t := &training{w: w, o: &o, groups: map[string]bool{}}
	if t.u, err = w.Begin("folds"); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, t.u.Discard()) }()
	if err := t.collect(); err != nil {
		return nil, err
	}
	rows := slices.Concat(t.train.rows, t.left)
	folds, err := w.divide(rows, n)
	if err != nil {
		return nil, err
	}
	encoder, err := hashFolder(o.Encoder)
	if err != nil {
		return nil, err
	}
	key, err := hashOf(n, w.Taxonomy.Hash(), w.Config.Train, w.Config.Group, o.Trainer, o.Encoder, encoder,
		rowsText(t.train.rows), rowsText(t.left), rowsText(t.choosing().rows))
	if err != nil {
		return nil, err
	}
	dir := w.Path(foldsDir, key[:16])
	if err := errors.Join(w.clear(foldsDir, dir), os.MkdirAll(dir, 0o777)); err != nil {
		return nil, err
	}
	found = map[string]*dataset.Diagnosis{}
	for k := range n {
		file := filepath.Join(dir, fmt.Sprintf("fold%02d.json", k+1))
		if err := t.fold(ctx, file, k, n, rows, folds); err != nil {
			return nil, err
		}
		// also where it was just written: the same figures, to the last digit, as the next time
		data, err := regularfile.Read(file, regularfile.MaxRows)
		if err == nil {
			err = json.Unmarshal(data, &found)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
	}
	return found, nil
}

// divide gives each row the number of its fold, from 0. Groups go one by one, the largest first, to the fold with the
// fewest rows; among equally large ones the seed decides.
func (w *Workspace) divide(rows []*dataset.Row, n int) ([]int, error) {
	size, of := map[[32]byte]int{}, make([][32]byte, len(rows))
	for i, row := range rows {
		of[i] = groupSum(uint64(w.Config.Train.Seed), w.GroupOf(row))
		size[of[i]]++
	}
	if len(size) < n {
		return nil, fmt.Errorf("the training set has %d groups, too few for %d folds; rows of one group stay together",
			len(size), n)
	}
	order := slices.SortedFunc(maps.Keys(size), func(a, b [32]byte) int {
		return cmp.Or(cmp.Compare(size[b], size[a]), slices.Compare(a[:], b[:]))
	})
	full, to := make([]int, n), map[[32]byte]int{}
	for _, g := range order {
		k := slices.Index(full, slices.Min(full))
		to[g] = k
		full[k] += size[g]
	}
	out := make([]int, len(rows))
	for i, g := range of {
		out[i] = to[g]
	}
	return out, nil
}

// fold writes to a file, if it is not there, what an identifier finds in the rows of fold k that was trained without
// them. The folder beside it, where that is trained, goes as soon as the file stands.
func (t *training) fold(ctx context.Context, file string, k, n int, rows []*dataset.Row, folds []int) error {
	f := &training{w: t.w, o: t.o, u: t.u, work: strings.TrimSuffix(file, ".json")}
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		t.o.Say("fold %d of %d: trained already", k+1, n)
		return errors.Join(err, os.RemoveAll(f.work))
	}
	var apart []*dataset.Row
	for i, row := range rows {
		if folds[i] == k {
			apart = append(apart, row)
		} else if i < len(t.train.rows) {
			f.train.rows = append(f.train.rows, row)
		}
	}
	if len(f.train.rows) == 0 {
		return fmt.Errorf("without fold %d of %d: %w", k+1, n, ErrNoRows)
	}
	t.o.Say("fold %d of %d: %d rows to train on, %d to look at", k+1, n, len(f.train.rows), len(apart))
	diagnoses, err := f.lookAt(ctx, apart, rowsText(t.choosing().rows))
	if err != nil {
		return err
	}
	found := map[string]*dataset.Diagnosis{}
	for i, row := range apart {
		found[row.TextHash()] = diagnoses[i]
	}
	data, err := json.Marshal(found)
	if err == nil {
		err = wholefile.Write(file, data)
	}
	if err != nil {
		return err
	}
	return os.RemoveAll(f.work)
}

// lookAt trains on t's rows and gives what the identifier finds in others.
func (t *training) lookAt(ctx context.Context, others []*dataset.Row, dev []byte) (found []*dataset.Diagnosis,
	err error) {
	if err := t.furnish(rowsText(t.train.rows), dev); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, t.log.Close()) }()
	job, err := t.job(TaskIdentifier, "", t.rowsFile("train"), t.rowsFile("dev"))
	if err != nil {
		return nil, err
	}
	name := filepath.Base(t.work)
	model, err := t.u.Path(name)
	if err != nil {
		return nil, err
	}
	if err := t.build(ctx, job, model, t.w.Taxonomy, name); err != nil {
		return nil, err
	}
	found, _, err = t.o.Identify(ctx, model, t.w.Taxonomy, others)
	return found, errors.Join(err, os.RemoveAll(model))
}

// hashFolder is "" where path is no folder, such as an encoder's name on the hub.
func hashFolder(path string) (string, error) {
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return "", nil //nolint:nilerror // the trainer says what it cannot find
	}
	h := sha256.New()
	err := filepath.WalkDir(path, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		in, err := runrecord.HashFile(file)
		fmt.Fprintf(h, "%s %s\n", file, in.SHA256)
		return err
	})
	return hex.EncodeToString(h.Sum(nil)), err
}
