package clear

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/dataset/archive"
	"github.com/erreval/erreval/discover/issues"
	"github.com/erreval/erreval/internal/words"
)

// Program is CLEAR's name in a list's Source.
const Program = "clear"

// Limits of a file: of the ZIP files in it that are looked at, of its metadata in bytes, and of its issues, of which
// CLEAR makes 15.
const (
	maxInside   = 100
	maxMetadata = 16 << 20
	maxIssues   = 5000
)

// source is what the list of an imported file says besides.
type source struct {
	Program  string          `json:"program"` // Program
	Member   string          `json:"member,omitempty"`
	Numbers  map[string]int  `json:"numbers"` // of the issues, by id, from 1
	Metadata json.RawMessage `json:"metadata"`
}

// Results are an opened file of results.
type Results struct {
	file     string // for messages
	member   string // the ZIP file inside that holds the results, or ""
	opened   []*archive.Archive
	at       *archive.Archive // that of them which holds the results
	rows     string           // name of the entry
	metadata []byte
	meta     metadata
	said     []string
	options  dataset.Options
}

// Open opens a file of size bytes; file stands in messages. member is the ZIP file inside that holds the results; ""
// is the file itself or, where that holds none, the only one inside. Of o, the limits and the folder for temporary
// files hold. Close leaves r open.
func Open(r io.ReaderAt, size int64, file, member string, o dataset.Options) (*Results, error) {
	all := &Results{file: file, options: dataset.Options{RecordedID: []string{ColumnID}, TempDir: o.TempDir,
		MaxRecord: o.MaxRecord, Limit: o.Limit}}
	if err := all.open(r, size, member); err != nil {
		return nil, fmt.Errorf("%s: %w", file, errors.Join(err, all.Close()))
	}
	return all, nil
}

func (r *Results) open(in io.ReaderAt, size int64, member string) error {
	outer, err := archive.Open(in, size)
	if err != nil {
		return err
	}
	r.opened, r.at = []*archive.Archive{outer}, outer
	rows, metadata := entries(outer)
	if member != "" || rows == "" || metadata == "" {
		if r.at, err = r.openInside(outer, member); err != nil {
			return err
		}
		rows, metadata = entries(r.at)
	}
	r.rows = rows
	if r.metadata, err = r.at.ReadAll(metadata, maxMetadata); err != nil {
		return err
	}
	if r.meta, err = readMetadata(r.metadata); err != nil {
		return fmt.Errorf("the entry %s is no JSON object (%w); write or fetch the file again", metadata, err)
	}
	return nil
}

// entries are the names of the entries that hold rows and metadata, found as CLEAR's dashboard finds them, which takes
// CSV where there are both; "" where there is none.
func entries(a *archive.Archive) (rows, metadata string) {
	for _, name := range slices.Backward(a.Names()) {
		switch {
		case strings.HasPrefix(name, "results") && strings.HasSuffix(name, ".csv"):
			rows = name
		case strings.HasPrefix(name, "results") && strings.HasSuffix(name, ".parquet") && !strings.HasSuffix(rows, ".csv"):
			rows = name
		case strings.HasPrefix(name, "metadata") && strings.HasSuffix(name, ".json"):
			metadata = name
		}
	}
	return rows, metadata
}

// openInside opens the ZIP file inside of that name, or the only one that holds results.
func (r *Results) openInside(outer *archive.Archive, member string) (*archive.Archive, error) {
	var found *archive.Archive
	var names []string
	looked := 0
	for _, name := range outer.Names() {
		if !strings.HasSuffix(strings.ToLower(name), ".zip") || member != "" && name != member {
			continue
		}
		if looked++; looked > maxInside {
			return nil, fmt.Errorf("there are more than %d ZIP files inside; name one with --member", maxInside)
		}
		inside, err := outer.Inside(name, r.options.TempDir)
		if err != nil {
			return nil, err
		}
		r.opened = append(r.opened, inside)
		if rows, metadata := entries(inside); rows != "" && metadata != "" {
			found, r.member = inside, name
			names = append(names, name)
		}
	}
	switch {
	case len(names) == 1:
		return found, nil
	case len(names) > 1:
		return nil, fmt.Errorf("several ZIP files inside hold results; name one with --member: %s",
			words.QuoteAll(names))
	case member != "" && looked == 0:
		return nil, fmt.Errorf("there is no ZIP file %q inside", member)
	}
	return nil, errors.New("no results of CLEAR: these have an entry results*.parquet or results*.csv, and one " +
		"metadata*.json, at the top or in one ZIP file inside")
}

// Close frees what opening took.
func (r *Results) Close() error {
	var errs []error
	for _, a := range r.opened {
		errs = append(errs, a.Close())
	}
	r.opened = nil
	return errors.Join(errs...)
}

// Notes say what was assumed; they are complete after Read.
func (r *Results) Notes() []string { return r.said }

// Columns are those that hold the fields of the task "response", as far as the row has texts in them. The reference may
// be missing.
func Columns(row *dataset.Row) map[string]string {
	columns := issues.TextColumns(row, map[string][]string{"input": {columnInput, "question"},
		"reference": {columnReference}})
	if raw, there := row.Get(columnReference); there && string(raw) == "null" {
		columns["reference"] = columnReference
	}
	return columns
}

// About is what a file says of the run.
type About struct {
	Name, Generator, Judge string // "" is not said
}

// About says whose outputs were evaluated, and by whom.
func (r *Results) About() About { return About{r.meta.name, r.meta.generator, r.meta.judge} }

// Read gives each row with its finding, which stands in its column too, and what is no row. It returns the list,
// without Task. The rows are read twice.
func (r *Results) Read(ctx context.Context, visit func(*dataset.Row, *issues.Finding) error,
	reject func(*dataset.LineError) error) (*issues.List, error) {
	k, numbers, err := r.readCatalogue(ctx)
	if err != nil {
		return nil, err
	}
	list := &issues.List{Format: issues.Format, Analysis: Program}
	s := source{Program: Program, Member: r.member, Numbers: map[string]int{}, Metadata: r.metadata}
	for _, n := range slices.Sorted(maps.Keys(numbers)) {
		name := numbers[n]
		id := issues.NewID(name, func(id string) bool { _, taken := s.Numbers[id]; return taken })
		s.Numbers[id], k.idOf[name] = n, id
		list.Issues = append(list.Issues, issues.Issue{ID: id, Name: name})
	}
	if err := list.Validate(); err != nil {
		return nil, fmt.Errorf("%s: %w; rename one of them there", r.file, err)
	}
	if list.Source, err = json.Marshal(s); err != nil {
		return nil, err
	}
	tally, silent := issues.NewTally(list), 0
	err = r.each(ctx, func(row *dataset.Row) error {
		c := readCells(row)
		f := k.finding(c)
		if f.Status == issues.None && *c.score < k.highScore {
			silent++
		}
		tally.Add(row.ID, f)
		return errors.Join(f.Set(row), visit(row, f))
	}, reject)
	if err != nil {
		return nil, err
	}
	tally.Finish()
	if silent > 0 {
		r.said = append(r.said, fmt.Sprintf("%s: %s no issue but a score below %v: CLEAR writes the same where it could "+
			"not read a reply", r.file, words.Plural(silent, "row has", "rows have"), k.highScore))
	}
	return list, nil
}

// readCatalogue finds the names of all issues in the rows, with their numbers: the first row that has both says which
// number a name has; a name without one gets the next that is free.
func (r *Results) readCatalogue(ctx context.Context) (*catalogue, map[int]string, error) {
	k := &catalogue{idOf: map[string]string{}, byNumber: map[int]string{}, highScore: r.meta.highScore,
		fullText: r.meta.fullText}
	numbered, rest := map[string]bool{}, map[string]bool{}
	err := r.each(ctx, func(row *dataset.Row) error {
		if _, there := row.Get(columnNames); !there {
			return fmt.Errorf("%s: no results of CLEAR: %s has no column %s", r.file, r.rows, columnNames)
		}
		c := readCells(row)
		for i, name := range c.names {
			if len(c.numbers) != len(c.names) || k.byNumber[c.numbers[i]] != "" || numbered[name] {
				rest[name] = true
				continue
			}
			k.byNumber[c.numbers[i]], numbered[name] = name, true
		}
		if max(len(rest), len(numbered)) > maxIssues {
			return fmt.Errorf("%s: there are more than %d issues; CLEAR makes 15", r.file, maxIssues)
		}
		return nil
	}, dataset.Skip)
	if err != nil {
		return nil, nil, err
	}
	numbers := maps.Clone(k.byNumber)
	next := 1
	for _, name := range slices.Sorted(maps.Keys(rest)) {
		if numbered[name] {
			continue
		}
		for numbers[next] != "" {
			next++
		}
		numbers[next] = name
	}
	return k, numbers, nil
}

func (r *Results) each(ctx context.Context, visit func(*dataset.Row) error,
	reject func(*dataset.LineError) error) error {
	in, err := r.at.Rows(r.rows, r.file, r.options)
	if err != nil {
		return err
	}
	defer in.Close()
	return dataset.Each(ctx, in.Read, reject, visit)
}
