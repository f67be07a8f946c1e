// Package review holds what passes between a batch of rows and the people who label it. These are the frozen items, the
// answers, and what they become when they are merged. It names no task: fields and labels are the taxonomy's.
//
// A batch is a folder: batch.json, items.jsonl, answers/*.jsonl. Its items never change once it is made.
package review

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/regularfile"
	"github.com/erreval/erreval/internal/runrecord"
	"github.com/erreval/erreval/internal/wholefile"
	"github.com/erreval/erreval/taxonomy"
)

// Why a row is in a batch: Item.Reason.
const (
	Uncertain    = "uncertain"    // eq. 3 of ErrEval: the identifier is unsure
	Inconsistent = "inconsistent" // eq. 4: identifier and verifier differ
	Conflicting  = "conflict"     // a judge's scores speak against the labels
	Rare         = "rare"         // it may hold a label of which there are few rows
	Mistake      = "mistake"      // a row of the training set whose labels are doubtful
	Random       = "random"       // of the slice that measures quality; never trained on
	Control      = "control"      // another item's row once more, to measure the reviewer's own consistency
)

var reasons = []string{Uncertain, Inconsistent, Conflicting, Rare, Mistake, Random, Control}

// Reasons are the values of Item.Reason.
func Reasons() []string { return slices.Clone(reasons) }

// Names of the files in a batch's folder.
const (
	BatchFile  = "batch.json"
	ItemsFile  = "items.jsonl"
	AutoFile   = "auto.jsonl" // items proposed for automatic addition
	AnswersDir = "answers"    // *.jsonl, of the review page
	ExportDir  = "export"
)

// Batch is the content of batch.json.
type Batch struct {
	ID             string          `json:"id"`              // "B001"
	Iteration      int             `json:"iteration"`       // whose model chose the rows, from 0
	Seed           int64           `json:"seed"`            // of the choice
	Taxonomy       string          `json:"taxonomy"`        // name@version
	TaxonomySHA256 string          `json:"taxonomy_sha256"` // taxonomy.Hash
	Items          int             `json:"items"`           // lines of items.jsonl
	ItemsSHA256    string          `json:"items_sha256"`    // of the bytes of items.jsonl, hex; Freeze sets both
	Counts         map[string]int  `json:"counts"`          // items per reason; Freeze sets it
	Config         json.RawMessage `json:"config,omitempty"`
	Made           time.Time       `json:"made"` // UTC
	Tool           runrecord.Build `json:"tool"`
}

// Item is one line of items.jsonl: a row to be labelled.
type Item struct {
	ItemID        string          `json:"item_id,omitempty"`       // "B001-0001"; unique in the batch; absent in AutoFile
	RowID         string          `json:"row_id"`                  // the row's own
	Reason        string          `json:"reason,omitempty"`        // one of Reasons; absent in AutoFile
	Why           string          `json:"why"`                     // a sentence with the numbers; not for reviewers
	Uncertainty   *float64        `json:"uncertainty,omitempty"`   // 0.5 to 1; absent where not known
	Inconsistency *float64        `json:"inconsistency,omitempty"` // 0 to 1; absent without a verifier
	Row           json.RawMessage `json:"row"`                     // the whole row as it stands in the pool
	Proposed      *Proposed       `json:"proposed,omitempty"`      // what the identifier found
	// the item that a control row repeats; reviewers never see it
	ControlOf  string `json:"control_of,omitempty"`
	TextSHA256 string `json:"text_sha256"` // dataset.TextSHA256 of the fields
}

// Proposed is what the identifier found in an item's row.
type Proposed struct {
	Labels        []string              `json:"labels"`
	Probabilities dataset.Probabilities `json:"probabilities,omitempty"` // in the taxonomy's order
}

func (it *Item) keys() keys {
	return keys{"item_id": &it.ItemID, "row_id": &it.RowID, "reason": &it.Reason, "why": &it.Why,
		"uncertainty":   &it.Uncertainty,
		"inconsistency": &it.Inconsistency, "row": &it.Row, "proposed": &it.Proposed, "control_of": &it.ControlOf,
		"text_sha256": &it.TextSHA256}
}

func (it *Item) check() error {
	switch {
	case it.ItemID == "" || it.RowID == "" || it.TextSHA256 == "" || it.Row == nil:
		return errors.New(`"item_id", "row_id", "row" and "text_sha256" must be there`)
	case !slices.Contains(reasons, it.Reason):
		return fmt.Errorf("unknown reason %q; there are %q", it.Reason, reasons)
	case (it.ControlOf != "") != (it.Reason == Control):
		return fmt.Errorf(`item %s: "control_of" belongs to the reason %q, and to no other`, it.ItemID, Control)
	}
	return nil
}

// Source is the item's row, with its fields in the taxonomy's order.
func (it *Item) Source(t *taxonomy.Taxonomy) (*dataset.Row, error) {
	rows := dataset.NewReader(bytes.NewReader(it.Row), "item "+it.ItemID, dataset.Options{Taxonomy: t})
	row, err := rows.Read()
	if err = errors.Join(err, rows.Close()); err != nil {
		return nil, fmt.Errorf("item %s: its row: %w", it.ItemID, err)
	}
	return row, nil
}

// ReadItems reads items.jsonl strictly; file stands in messages. The error joins every fault found, each with
// file:line.
func ReadItems(data []byte, file string) ([]Item, error) {
	var items []Item
	seen := map[string]int{}
	err := eachLine(data, file, func(row *dataset.Row) (keys, func() error) {
		it := &Item{}
		return it.keys(), func() error {
			if err := it.check(); err != nil {
				return err
			}
			if first := seen[it.ItemID]; first > 0 {
				return fmt.Errorf("item %s is already on line %d", it.ItemID, first)
			}
			seen[it.ItemID] = row.Line
			items = append(items, *it)
			return nil
		}
	})
	return items, err
}

// Freeze writes a new batch's items.jsonl and batch.json into dir, which is there and will be renamed by the caller. It
// sets what batch.json says of the items.
func Freeze(dir string, b *Batch, items []Item) error {
	data, err := Lines(items)
	if err != nil {
		return err
	}
	b.Items, b.ItemsSHA256, b.Counts = len(items), fmt.Sprintf("%x", sha256.Sum256(data)), map[string]int{}
	for _, it := range items {
		b.Counts[it.Reason]++
	}
	if err := wholefile.Write(filepath.Join(dir, ItemsFile), data); err != nil {
		return err
	}
	return WriteJSON(filepath.Join(dir, BatchFile), b)
}

// WriteJSON writes v as JSON into a file, whole or not at all.
func WriteJSON(path string, v any) error {
	data, err := JSON(v)
	if err != nil {
		return err
	}
	return wholefile.Write(path, data)
}

// ReadJSON reads a JSON file of at most so many bytes.
func ReadJSON(path string, limit int64, v any) error {
	data, err := regularfile.Read(path, limit)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// Frozen is a batch with its items, checked against batch.json, the taxonomy and each other. It is not changed.
type Frozen struct {
	Batch
	Dir      string
	Taxonomy *taxonomy.Taxonomy
	All      []Item     // in the file's order
	Columns  []Column   // what reviewers read of an item
	Values   [][]string // the texts of each item, parallel to Columns
	Decides  bool       // an answer goes before those of other reviewers: see Differing
	Differ   []Conflict // what reviewers answered to each item, parallel to All; nil where Decides is false
	index    map[string]int

	nextMerge string // of differing rows: the file that the next merge of the batch makes; else ""
}

// Open reads a batch's folder.
func Open(dir string, t *taxonomy.Taxonomy) (*Frozen, error) {
	f := &Frozen{Dir: dir, Taxonomy: t, Columns: columnsOf(t), index: map[string]int{}}
	b, err := ReadBatch(dir)
	if err != nil {
		return nil, err
	}
	f.Batch = *b
	if err := f.checkBatch(filepath.Join(dir, BatchFile)); err != nil {
		return nil, err
	}
	file := filepath.Join(dir, ItemsFile)
	data, err := regularfile.Read(file, regularfile.MaxRows)
	if err != nil {
		return nil, err
	}
	if fmt.Sprintf("%x", sha256.Sum256(data)) != f.ItemsSHA256 {
		return nil, fmt.Errorf("%s was changed since the batch was made (its hash is not the one in %s); put it back, as "+
			"in: git checkout %[1]s", file, BatchFile)
	}
	if f.All, err = ReadItems(data, file); err != nil {
		return nil, err
	}
	return f, f.link(file)
}

// ReadBatch reads the batch.json of a batch's folder strictly. What it says is compared with nothing: Open does.
func ReadBatch(dir string) (*Batch, error) {
	file := filepath.Join(dir, BatchFile)
	data, err := regularfile.Read(file, regularfile.Max)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("no batch in %s: %w", dir, err)
	}
	if err != nil {
		return nil, err
	}
	b := &Batch{}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(b); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return b, nil
}

func (f *Frozen) checkBatch(file string) error {
	if f.ID == "" {
		return fmt.Errorf(`%s: no "id"`, file)
	}
	if f.TaxonomySHA256 != f.Taxonomy.Hash() {
		return fmt.Errorf("%s: the batch was made for %s, and the taxonomy is %s now, or its content was changed; labels "+
			"would not mean the same", file, f.Batch.Taxonomy, f.Taxonomy.ID())
	}
	return nil
}

// link finds the items by id, their fields, and what control rows repeat.
func (f *Frozen) link(file string) error {
	if len(f.All) != f.Items {
		return fmt.Errorf("%s has %d items; %s says %d", file, len(f.All), BatchFile, f.Items)
	}
	for i := range f.All {
		f.index[f.All[i].ItemID] = i
	}
	for i := range f.All {
		it := &f.All[i]
		row, err := it.Source(f.Taxonomy)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		if dataset.TextSHA256(row.Values) != it.TextSHA256 {
			return fmt.Errorf("%s: item %s: its text is not the one of text_sha256", file, it.ItemID)
		}
		if j, ok := f.index[it.ControlOf]; it.ControlOf != "" && (!ok || f.All[j].TextSHA256 != it.TextSHA256) {
			return fmt.Errorf("%s: item %s repeats %q, which is not in the batch with that text", file, it.ItemID, it.ControlOf)
		}
		texts := make([]string, len(f.Columns))
		for k := range texts {
			texts[k] = f.Columns[k].text(it, row)
		}
		f.Values = append(f.Values, texts)
	}
	return nil
}

// Find gives the position of an item in All, by its id.
func (f *Frozen) Find(itemID string) (int, bool) {
	i, ok := f.index[itemID]
	return i, ok
}
