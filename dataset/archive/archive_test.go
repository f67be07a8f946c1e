package archive

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/erreval/erreval/dataset"
)

func zipOf(t testing.TB, entries ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i < len(entries); i += 2 {
		w, err := z.Create(entries[i])
		if err == nil {
			_, err = w.Write([]byte(entries[i+1]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func open(data []byte) (*Archive, error) { return Open(bytes.NewReader(data), int64(len(data))) }

func TestArchive(t *testing.T) {
	inner := string(zipOf(t, "b.csv", "x,y\n1,2\n3,4\n", "folder/", ""))
	a, err := open(zipOf(t, "z.json", "{}", "a/inner.zip", inner))
	if err != nil {
		t.Fatal(err)
	}
	if got := a.Names(); !slices.Equal(got, []string{"a/inner.zip", "z.json"}) {
		t.Errorf("names %q", got)
	}
	if data, err := a.ReadAll("z.json", 2); err != nil || string(data) != "{}" {
		t.Errorf("%q %v", data, err)
	}
	const long = "the entry z.json has more than 1 bytes; it is not read"
	if _, err := a.ReadAll("z.json", 1); err == nil || err.Error() != long {
		t.Errorf("a long entry: %v", err)
	}
	if _, err := a.ReadAll("none", 1); err == nil || err.Error() != `the ZIP file has no entry "none"` {
		t.Errorf("no entry: %v", err)
	}
	b, err := a.Inside("a/inner.zip", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	rows, err := b.Rows("b.csv", "file.zip", dataset.Options{ID: []string{"x"}})
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, row.ID+row.Source)
	}
	if !slices.Equal(ids, []string{"1file.zip", "3file.zip"}) {
		t.Errorf("rows %q", ids)
	}
	if err := errors.Join(rows.Close(), b.Close(), a.Close()); err != nil {
		t.Error(err)
	}
}

// TestHostile: names that lead out, entries beyond number, bytes that are no ZIP file.
func TestHostile(t *testing.T) {
	many := make([]string, 0, 2*MaxEntries+2)
	for i := range MaxEntries + 1 {
		many = append(many, fmt.Sprint(i), "")
	}
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"parent":   {zipOf(t, "a/../../x", ""), "leads out of its folder"},
		"absolute": {zipOf(t, "/etc/x", ""), "leads out of its folder"},
		"drive":    {zipOf(t, "c:x", ""), "leads out of its folder"},
		"windows":  {zipOf(t, `..\x`, ""), "leads out of its folder"},
		"escape":   {zipOf(t, "a\x1b]0;x", ""), "whose name cannot be printed"},
		"twice":    {zipOf(t, "a", "", "a", ""), `the entry "a" twice`},
		"many":     {zipOf(t, many...), "10001 entries, more than 10000"},
		"cut":      {zipOf(t, "a", "b")[:40], "not a ZIP file, or cut"},
	} {
		if _, err := open(c.data); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v\nwant %s", name, err, c.want)
		}
	}
}

// FuzzArchive: whatever a file says, an entry gives no more than was asked for.
func FuzzArchive(f *testing.F) {
	f.Add(zipOf(f, "a.json", "{}", "b.zip", string(zipOf(f, "c.csv", "x\n1\n"))))
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := open(data)
		if err != nil {
			return
		}
		for _, name := range a.Names() {
			if data, err := a.ReadAll(name, 100); err == nil && len(data) > 100 {
				t.Fatalf("%q has %d bytes", name, len(data))
			}
			if inside, err := a.Inside(name, ""); err == nil {
				inside.Names()
				if err := inside.Close(); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}
