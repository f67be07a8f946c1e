package dataset

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/erreval/erreval/taxonomy"
)

// resumeInput is three rows, one of which has a diagnosis already, and a line that is no row.
const resumeInput = `{"id":"a","question":"q <1>?","answer":"é","passage":"p","score":1.0}` + "\n" + `no row` + "\n" +
	`{"id":"b","diagnosis":null,"question":"q2","answer":"a","passage":"p"}` + "\n" +
	`{"question":"q3","answer":"a","passage":"p","x":{"y":[1, 2]}}` + "\n"

// tagAll does what a stage does: it recalls rows, and gives those that are new a diagnosis. It gives up after so many
// rows.
func tagAll(t *testing.T, o *Output, input string, rows int) error {
	t.Helper()
	tax, err := taxonomy.Builtin("question-generation")
	if err != nil {
		t.Fatal(err)
	}
	r := NewReader(strings.NewReader(input), "in", Options{Taxonomy: tax, Limit: rows})
	for {
		row, err := r.Read()
		var line *LineError
		if errors.As(err, &line) {
			if err := o.Reject(line); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err != nil {
			return nil
		}
		found, err := o.Recall(row, ColumnDiagnosis)
		if err != nil {
			return err
		}
		if found {
			if d, err := row.Diagnosis(); err != nil || d.Reason != "of "+row.Values[0] {
				t.Errorf("row %s came back with %+v, %v", row.ID, d, err)
			}
			continue
		}
		if err := errors.Join(row.SetDiagnosis(&Diagnosis{Status: StatusUntagged, Reason: "of " + row.Values[0]}),
			o.Write(row)); err != nil {
			t.Fatal(err)
		}
	}
}

func undisturbed(t *testing.T) (out, rejected string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "out")
	o, err := Create(path, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(tagAll(t, o, resumeInput, 0), o.Commit()); err != nil {
		t.Fatal(err)
	}
	return content(t, path), content(t, RejectedPath(path))
}

func content(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestResumeAfterAnyByte: wherever the writing of OUT.partial stopped, the run that goes on ends with the same files.
func TestResumeAfterAnyByte(t *testing.T) {
	want, wantRejected := undisturbed(t)
	for n := range len(want) + 1 {
		if n%17 > 0 && !strings.Contains(want[max(n-2, 0):min(n+1, len(want))], "\n") {
			continue // around the ends of lines every byte counts
		}
		dir := t.TempDir()
		path := filepath.Join(dir, "out")
		writeText(t, PartialPath(path), want[:n])
		writeText(t, PartialPath(RejectedPath(path)), "half a li")
		o, err := Resume(path, false)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(tagAll(t, o, resumeInput, 0), o.Commit()); err != nil {
			t.Fatalf("after %d bytes: %v", n, err)
		}
		wantFiles := "out=" + strings.TrimSpace(want) + "\nout.rejected.jsonl=" + strings.TrimSpace(wantRejected)
		if got := files(t, dir); got != wantFiles {
			t.Fatalf("after %d bytes: %s", n, got)
		}
		if o.Rows() != 3 || o.Rejected() != 1 {
			t.Fatalf("after %d bytes: %d rows, %d rejected", n, o.Rows(), o.Rejected())
		}
	}
}

// TestResumeDamagedTail: a tail that is no row is done again.
func TestResumeDamagedTail(t *testing.T) {
	want, _ := undisturbed(t)
	first := want[:strings.IndexByte(want, '\n')+1]
	for _, tail := range []string{"\x00\x00\x00\n", "{}\n", "\n", `{"id":"b","diagnosis":` + "\n"} {
		path := filepath.Join(t.TempDir(), "out")
		writeText(t, PartialPath(path), first+tail)
		o, err := Resume(path, false)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(tagAll(t, o, resumeInput, 0), o.Commit()); err != nil {
			t.Fatal(err)
		}
		if got := content(t, path); got != want {
			t.Errorf("%q: %s", tail, got)
		}
	}
}

func TestResumeOtherInput(t *testing.T) {
	whole, _ := undisturbed(t)
	for name, input := range map[string]string{
		"a value":    strings.Replace(resumeInput, "q <1>?", "q <2>?", 1),
		"a column":   strings.Replace(resumeInput, `,"score":1.0`, "", 1),
		"the order":  strings.Replace(resumeInput, `"id":"a","question":"q <1>?"`, `"question":"q <1>?","id":"a"`, 1),
		"a line off": resumeInput[strings.IndexByte(resumeInput, '\n')+1:],
		"fewer rows": resumeInput[:strings.IndexByte(resumeInput, '\n')+1],
	} {
		path := filepath.Join(t.TempDir(), "out")
		writeText(t, PartialPath(path), whole)
		o, err := Resume(path, false)
		if err != nil {
			t.Fatal(err)
		}
		err = tagAll(t, o, input, 0)
		if err == nil {
			err = o.Commit()
		} else {
			err = errors.Join(err, o.Abort())
		}
		if !errors.Is(err, ErrOtherRows) {
			t.Errorf("%s: %v", name, err)
		}
		if got := content(t, PartialPath(path)); got != whole {
			t.Errorf("%s: the partial file now holds %s", name, got)
		}
	}
}

// TestInterruptedTwice: what an earlier run kept survives an interruption before the first new row.
func TestInterruptedTwice(t *testing.T) {
	want, _ := undisturbed(t)
	path := filepath.Join(t.TempDir(), "out")
	writeText(t, PartialPath(path), want[:len(want)-5])
	for rows := range 3 { // 0 is all
		o, err := Resume(path, false)
		if err != nil {
			t.Fatal(err)
		}
		if rows == 0 {
			err = o.Abort()
		} else {
			err = errors.Join(tagAll(t, o, resumeInput, rows), o.Abort())
		}
		if got := content(t, PartialPath(path)); err != nil || !strings.HasPrefix(want, got) ||
			strings.Count(got, "\n") != 2 {
			t.Fatalf("%d rows: %v, %s", rows, err, got)
		}
	}
}

func TestCreateKeepsPartial(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out")
	writeText(t, PartialPath(path), "rows\n")
	_, err := Create(path, false)
	if err == nil || !strings.Contains(err.Error(),
		"holds the rows of an interrupted run; go on with --resume, or start again with --overwrite") {
		t.Errorf("got %v", err)
	}
	if got := content(t, PartialPath(path)); got != "rows\n" {
		t.Errorf("the partial file holds %q", got)
	}
	if o, err := Create(path, true); err != nil || o.Abort() != nil {
		t.Error(err)
	}
	if _, err := Resume(path, false); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("nothing to resume: %v", err)
	}
}

func writeText(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestConvert: the file in its own format appears at the end, and a failure keeps the rows.
func TestConvert(t *testing.T) {
	for _, c := range []struct {
		format Format
		cell   int // bytes; a workbook takes 32,767
		fails  bool
	}{{Format{Name: CSV}, 40_000, false}, {Format{Name: XLSX}, 40_000, true}} {
		dir := t.TempDir()
		path := filepath.Join(dir, "out")
		o, err := Create(path, false)
		if err != nil {
			t.Fatal(err)
		}
		o.Format = c.format
		row := oneRow(t)
		if err := errors.Join(row.Set("long", strings.Repeat("x", c.cell)), o.Write(row)); err != nil {
			t.Fatal(err)
		}
		err = o.Commit()
		left := regexp.MustCompile("x+").ReplaceAllString(files(t, dir), "x")
		want := "out=question,answer,passage,long\nq,a,p,x"
		if c.fails {
			want = "out.partial=" + strings.TrimSuffix(good, "}") + `,"long":"x"}`
		}
		if (err != nil) != c.fails || left != want {
			t.Errorf("%s: %v, left %s, want %s", c.format, err, left, want)
		}
	}
}
