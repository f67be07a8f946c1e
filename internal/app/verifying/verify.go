// Package verifying compares outputs, models, journals and workspaces with their hashes.
package verifying

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/regularfile"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/internal/runrecord"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/llm/journal"
	"github.com/erreval/erreval/models"
	"github.com/erreval/erreval/training/refine"
)

// Verified is what came of the look at one output, model or journal.
type Verified struct {
	Path  string `json:"path"`
	What  string `json:"what"`            // "identify, 40 rows", or a model's name@version
	Fault string `json:"fault,omitempty"` // what differs; "" is nothing
}

// VerifiedList is what came of all.
type VerifiedList []Verified

// Faults is how many differ.
func (l VerifiedList) Faults() (n int) {
	for _, v := range l {
		if v.Fault != "" {
			n++
		}
	}
	return n
}

// Text prints a line each.
func (l VerifiedList) Text(w io.Writer) error {
	for _, v := range l {
		state := "ok"
		if v.Fault != "" {
			state = "FAULT"
		}
		if _, err := fmt.Fprintf(w, "%-5s  %s: %s\n", state, words.Printable(v.Path),
			words.Printable(cmp.Or(v.Fault, v.What))); err != nil {
			return err
		}
	}
	return nil
}

// Verify compares outputs with their run records, models with their manifests, journals with their checksums,
// and workspaces with the hashes in their logs. Of a folder, such as a workspace, it
// takes all that are in it. A path with nothing to compare is an error.
func Verify(paths []string) (VerifiedList, error) {
	var all VerifiedList
	for _, path := range paths {
		before := len(all)
		info, err := os.Stat(path)
		switch {
		case err != nil:
			return nil, err
		case info.IsDir():
			err = filepath.WalkDir(path, func(file string, entry fs.DirEntry, err error) error {
				if err == nil && !entry.IsDir() {
					all = all.verifyIn(file)
				}
				return err
			})
		case journal.Is(path):
			all = append(all, verifyJournal(path))
		default:
			all = append(all, verifyOutput(path))
		}
		if err != nil {
			return nil, err
		}
		if len(all) == before {
			return nil, fmt.Errorf("%s: there is no run record (OUT%s), no model (%s), no journal and no workspace in it", path,
				runrecord.Path(""), models.ManifestFile)
		}
	}
	return all, nil
}

// verifyIn verifies what file, one of a folder, is the record or the manifest of.
func (l VerifiedList) verifyIn(file string) VerifiedList {
	switch out, isRecord := strings.CutSuffix(file, runrecord.Path("")); {
	case isRecord && !strings.HasSuffix(out, dataset.PartialPath("")):
		return append(l, verifyOutput(out))
	case filepath.Base(file) == models.ManifestFile:
		v := Verified{Path: filepath.Dir(file)}
		m, err := models.VerifyFiles(v.Path)
		if m != nil {
			v.What = "model " + m.ID()
		}
		return append(l, v.withFault(err))
	case filepath.Base(file) == refine.LogFile && isFile(filepath.Join(filepath.Dir(file), refine.ConfigFile)):
		v := Verified{Path: filepath.Dir(file)}
		steps, err := refine.Verify(v.Path)
		v.What = "workspace, " + words.Plural(steps, "step", "steps")
		return append(l, v.withFault(err))
	case journal.Is(file):
		return append(l, verifyJournal(file))
	}
	return l
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

func verifyJournal(path string) Verified {
	v := Verified{Path: path}
	c, err := journal.Verify(path)
	if err == nil {
		v.What = fmt.Sprintf("journal, %s of %s", words.Plural(c.Replies, "reply", "replies"),
			words.Plural(int(c.Spent.Calls), "call", "calls"))
		if c.Prompts > 0 {
			v.What += ", " + words.Plural(c.Prompts, "prompt", "prompts")
		}
	}
	return v.withFault(err)
}

func verifyOutput(path string) Verified {
	v := Verified{Path: path}
	r, err := Output(path)
	if r != nil {
		v.What = fmt.Sprintf("%s, %s", r.Command, words.Plural(r.Counts[run.CountRows], "row", "rows"))
	}
	if errors.Is(err, fs.ErrNotExist) && r == nil {
		err = fmt.Errorf("there is no record of a run beside it (%s): nothing says what it was", runrecord.Path(path))
	}
	return v.withFault(err)
}

func (v Verified) withFault(err error) Verified {
	if err != nil {
		v.Fault = strings.Join(strings.Split(err.Error(), "\n"), "; ")
	}
	return v
}

// Output compares an output, its rejected lines and what stands beside it with its run record, which it returns. The
// error says what differs, or what is missing to compare.
func Output(path string) (*runrecord.Record, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, err
	}
	if _, err := os.Lstat(dataset.PartialPath(path)); err == nil {
		return nil, fmt.Errorf("%s is of a run that has not ended; finish it with --resume", dataset.PartialPath(path))
	}
	r, err := runrecord.Read(path)
	if err != nil {
		return nil, err
	}
	if r.Output == nil {
		return r, fmt.Errorf("%s: its run record is of an older program and has no hash of it; "+
			"make it again to have one", path)
	}
	err = errors.Join(r.Output.Differs(path), verifyRejected(path, r.Counts[run.CountRejected]))
	for _, suffix := range slices.Sorted(maps.Keys(r.Beside)) {
		content := r.Beside[suffix]
		err = errors.Join(err, content.Differs(path+suffix))
	}
	return r, err
}

// verifyRejected counts the rejected lines beside an output.
func verifyRejected(path string, want int) error {
	file := dataset.RejectedPath(path)
	f, err := regularfile.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		f, err = os.Open(os.DevNull)
	}
	if err != nil {
		return err
	}
	defer f.Close()
	n := 0
	for in := bufio.NewReader(f); ; {
		line, err := in.ReadSlice('\n')
		n += bytes.Count(line, []byte("\n"))
		switch {
		case err == nil || errors.Is(err, bufio.ErrBufferFull):
		case !errors.Is(err, io.EOF):
			return err
		case n != want:
			return fmt.Errorf("%s has %d lines, and its run rejected %d; it was changed since", file, n, want)
		default:
			return nil
		}
	}
}
