// Package runrecord records how an output was made: build, model, taxonomy, options, inputs and results. A record names
// no machine, user or folder.
package runrecord

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/erreval/erreval/internal/plainjson"
	"github.com/erreval/erreval/internal/storage"
	"github.com/erreval/erreval/internal/wholefile"
)

// Record is the content of OUT.run.json.
type Record struct {
	Format   int               `json:"format"` // 1
	Tool     Build             `json:"tool"`
	Command  string            `json:"command"`            // as typed, without flags: "identify"
	Options  any               `json:"options"`            // the command's options struct, legal zeros included
	Shard    *Shard            `json:"shard,omitempty"`    // absent if the whole input was processed
	Model    *Artefact         `json:"model,omitempty"`    // absent if none was used
	Taxonomy *Artefact         `json:"taxonomy,omitempty"` // likewise
	Inputs   []Input           `json:"inputs"`             // in reading order
	Columns  map[string]string `json:"columns,omitempty"`  // fields read from a column of another name, given or guessed
	Sheet    string            `json:"sheet,omitempty"`    // of the workbook that the input is
	// columns of the id, where the options name none: as the run that made the input had them
	ID []string `json:"id,omitempty"`
	// rows of the inputs whose id is that of a row before them
	RepeatedIDs int            `json:"repeated_ids,omitempty"`
	Weak        []string       `json:"weak,omitempty"`  // what the model is not to be relied on for, a sentence each
	Notes       []string       `json:"notes,omitempty"` // which of them were guessed, such as the column of a field
	Counts      map[string]int `json:"counts"`          // rows, labels …; each command names its own
	Parts       []Part         `json:"parts,omitempty"` // outputs that were put together to this one
	Usage       any            `json:"usage,omitempty"` // what language models used; absent if none was asked
	// why the run ended before its input did: "budget"; such an output is partial
	Stopped string    `json:"stopped,omitempty"`
	Started time.Time `json:"started"`          // UTC
	Ended   time.Time `json:"ended"`            // UTC; set by Write
	Output  *Content  `json:"output,omitempty"` // absent while it is written, and in records of older programs
	// Beside are files that the run wrote beside the output, by what stands behind its name, as ".issues.json".
	Beside map[string]Content `json:"beside,omitempty"`
	// SHA-256 of the record as it is written, with zeros in the place of this; absent in records of older programs.
	Checksum string `json:"checksum,omitempty"`
}

// Content is what a file holds.
type Content struct {
	SHA256 string `json:"sha256"` // hex
	Size   int64  `json:"size"`   // bytes
}

// Changed says that a file is not as its run wrote it.
const Changed = "changed since erreval wrote it: what was found in texts that changed is old, until the command that " +
	"found it runs again, which replaces labels that somebody changed"

// Missing says that nothing tells whether a tagged file is as its run wrote it.
const Missing = "there is no run record beside it (OUT.run.json), so nothing tells which lines were rejected, or " +
	"whether texts changed since they were tagged: what was found in those is old"

// mostHashed is the largest file, in bytes, whose content is compared by commands that only look at it.
const mostHashed = 64 << 20

// IsOf tells whether the file at path is as the run wrote it, by its size and, where it was written later than the
// record and is not large, by its content; an older record does not say.
func (r *Record) IsOf(path string) bool {
	info, err := os.Stat(path)
	switch {
	case err != nil || r.Output == nil:
		return true
	case r.Output.Size == info.Size() && info.Size() <= mostHashed && info.ModTime().After(r.Ended.Add(time.Second)):
		return r.Output.Differs(path) == nil
	}
	return r.Output.Size == info.Size()
}

// Differs says how the file at path is not as c has it; nil where it is. A nil c is not compared.
func (c *Content) Differs(path string) error {
	if c == nil {
		return nil
	}
	now, err := HashFile(path)
	switch {
	case err != nil:
		return err
	case now.Size != c.Size:
		return fmt.Errorf("%s has %d bytes, and its run wrote %d; it was changed since", path, now.Size, c.Size)
	case now.SHA256 != c.SHA256:
		return fmt.Errorf("%s has the SHA-256 %.12s…, and its run wrote %.12s…; it was changed since", path, now.SHA256,
			c.SHA256)
	}
	return nil
}

// Artefact is something with a name and a content.
type Artefact struct {
	ID     string `json:"id"`     // name@version
	SHA256 string `json:"sha256"` // hex
}

// Shard is one part of an input: its rows Index, Index+Of, Index+2·Of and so on, counted from 1.
type Shard struct {
	Index int `json:"index"` // 1 to Of
	Of    int `json:"of"`    // shards in all, at least 1
}

// String is as --shard has it; "none" of nil.
func (s *Shard) String() string {
	if s == nil {
		return "none"
	}
	return fmt.Sprintf("%d/%d", s.Index, s.Of)
}

// Part is one output among those put together.
type Part struct {
	File  string `json:"file"`            // without its folder
	Shard *Shard `json:"shard,omitempty"` // absent for a whole output
	Tool  Build  `json:"tool"`            // that made it
	Usage any    `json:"usage,omitempty"` // its record's
}

// Input is one file read.
type Input struct {
	File   string `json:"file"`             // without its folder
	SHA256 string `json:"sha256,omitempty"` // hex, of the bytes read; absent in the record of a run that has not ended
	// bytes read; in the record of a run that has not ended, of the file, or -1 if not known
	Size int64 `json:"size"`
	// Partial says that reading ended before the file did, for instance at --limit.
	Partial bool `json:"partial,omitempty"`
	// Changed says how the file changed while it was read: "went from 120 to 180 bytes". Absent: it did not.
	Changed string `json:"changed,omitempty"`
}

// Differs says how one input differs from another, which is not equal.
func (in Input) Differs(now Input) string {
	switch {
	case in.File != now.File:
		return fmt.Sprintf("%s, now %s", in.File, now.File)
	case in.Size != now.Size:
		return fmt.Sprintf("%s of %d bytes, now %d", in.File, in.Size, now.Size)
	}
	return fmt.Sprintf("%s with SHA-256 %.12s…, now %.12s…", in.File, in.SHA256, now.SHA256)
}

// Build says which program this is.
type Build struct {
	// Version is "make build"'s, of git's tags or of commit and date; else the module's, as Go knows it; else "(devel)".
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`   // absent if Go did not record it
	Modified bool   `json:"modified,omitempty"` // built from changed sources
}

// stamped is set by the linker: "make build" does, with what scripts/version.sh prints.
var stamped string

// ReadBuild gives the build of the running program.
func ReadBuild() Build {
	info, _ := debug.ReadBuildInfo()
	return readBuild(stamped, info)
}

func readBuild(stamp string, info *debug.BuildInfo) Build {
	if info == nil {
		info = &debug.BuildInfo{}
	}
	b := Build{Version: cmp.Or(stamp, info.Main.Version, "(devel)")}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

// String is the version and, where that does not hold it, the commit.
func (b Build) String() string {
	if b.Commit == "" || strings.Contains(b.Version, fmt.Sprintf("%.12s", b.Commit)) {
		return b.Version
	}
	suffix := ""
	if b.Modified {
		suffix = ", modified"
	}
	return fmt.Sprintf("%s (%.12s%s)", b.Version, b.Commit, suffix)
}

// New starts a record now.
func New(command string, options any) *Record {
	return &Record{Format: 1, Tool: ReadBuild(), Command: command, Options: options, Inputs: []Input{},
		Counts: map[string]int{}, Started: time.Now().UTC().Truncate(time.Millisecond)}
}

// Path is the path of the record of an output.
func Path(out string) string { return storage.Beside(out, ".run.json") }

// Write sets the end time and writes the record beside out, whole or not at all.
func (r *Record) Write(out string) error {
	r.Ended, r.Checksum = time.Now().UTC().Truncate(time.Millisecond), noChecksum
	data, err := plainjson.Marshal(r, plainjson.Indent)
	if err != nil {
		return fmt.Errorf("run record: %w", err)
	}
	r.Checksum = sum(data)
	if err := wholefile.Write(Path(out), setChecksum(data, r.Checksum)); err != nil {
		return fmt.Errorf("run record: %w", err)
	}
	return nil
}

// noChecksum stands in the place of a record's checksum while it is computed.
var noChecksum = strings.Repeat("0", sha256.Size*2)

const checksumKey = `"checksum": "`

func sum(data []byte) string { return fmt.Sprintf("%x", sha256.Sum256(data)) }

// setChecksum replaces the checksum in a record's bytes.
func setChecksum(data []byte, checksum string) []byte {
	at := bytes.LastIndex(data, []byte(checksumKey)) + len(checksumKey)
	if at < len(checksumKey) || at+len(checksum) > len(data) {
		return data
	}
	return slices.Concat(data[:at], []byte(checksum), data[at+len(checksum):])
}

var errChanged = errors.New("it was changed since it was written: its checksum is another; " +
	"make the output again with --overwrite")

// checkSum compares a record with its checksum. Records of older programs have none.
func (r *Record) checkSum(data []byte) error {
	if r.Checksum == "" && r.Output == nil || r.Checksum != "" && sum(setChecksum(data, noChecksum)) == r.Checksum {
		return nil
	}
	return errChanged
}

// InputReader hashes what is read through it, so that a file is read once.
type InputReader struct {
	in    io.Reader
	hash  hash.Hash
	input Input
	size  atomic.Int64
	ended bool
}

// NewInputReader reads from r; the record keeps the last element of path.
func NewInputReader(path string, r io.Reader) *InputReader {
	return &InputReader{in: r, hash: sha256.New(), input: Input{File: storage.Base(path)}}
}

// HashFile reads a file for its size and hash alone.
func HashFile(path string) (Input, error) {
	f, err := storage.OpenPath(context.Background(), path)
	if err != nil {
		return Input{}, err
	}
	defer f.Close()
	in := NewInputReader(path, f)
	_, err = io.Copy(io.Discard, in)
	return in.Input(), err
}

// Read implements io.Reader.
func (r *InputReader) Read(p []byte) (int, error) {
	n, err := r.in.Read(p)
	r.hash.Write(p[:n])
	r.size.Add(int64(n))
	r.ended = r.ended || errors.Is(err, io.EOF)
	return n, err
}

// Size is how many bytes were read so far; it may be asked for while others read.
func (r *InputReader) Size() int64 { return r.size.Load() }

// Input describes what was read so far.
func (r *InputReader) Input() Input {
	in := r.input
	in.Size, in.Partial = r.size.Load(), !r.ended
	in.SHA256 = hex.EncodeToString(r.hash.Sum(nil))
	return in
}
