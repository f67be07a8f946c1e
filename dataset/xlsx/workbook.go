package xlsx

import (
	"archive/zip"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/erreval/erreval/dataset/internal/bounded"
)

// workbook is an opened .xlsx file.
type workbook struct {
	zip     *zip.Reader
	names   []string // of the sheets, in order
	parts   []string // their files
	hidden  []bool   // whether each is hidden
	texts   *textStore
	dates   map[int]bool // styles of dates
	formats map[int]form // of other styles
	d1904   bool
	said    []string
}

// What is held in memory: at most maxPart bytes of a part. Of the list of sheets it is less, as each takes more in
// memory than in the file.
const (
	maxPart       = 16 << 20
	maxSheetsPart = 8 << 20
)

func openWorkbook(r io.ReaderAt, size int64, tempDir string, limit int) (*workbook, error) {
	z, err := bounded.OpenZip(r, size)
	if err != nil {
		return nil, fmt.Errorf("not a workbook, or cut (%v); open and save it in Excel, or fetch it again",
			err) //nolint:errorlint // may be EOF
	}
	if err := checkParts(z); err != nil {
		return nil, err
	}
	b := &workbook{zip: z, dates: map[int]bool{}, formats: map[int]form{}}
	if err := errors.Join(b.readSheets(), b.readStyles()); err != nil {
		return nil, err
	}
	if b.findPart("xl/vbaProject.bin") != nil {
		b.said = append(b.said, "the workbook has macros; they are not run, and not kept in outputs")
	}
	return b, b.readTexts(tempDir, limit)
}

func (b *workbook) findPart(name string) *zip.File {
	for _, f := range b.zip.File {
		if strings.EqualFold(f.Name, name) {
			return f
		}
	}
	return nil
}

// checkParts refuses two parts of one name: other programs read the other one.
func checkParts(z *zip.Reader) error {
	seen := map[string]bool{}
	for _, f := range z.File {
		name := strings.ToLower(f.Name)
		if seen[name] {
			return fmt.Errorf("the workbook has two parts of the name %q; open and save it in Excel", f.Name)
		}
		seen[name] = true
	}
	return nil
}

// openPart opens a part, unless it unpacks to too much.
func (b *workbook) openPart(name string) (io.ReadCloser, error) {
	f := b.findPart(name)
	if f == nil {
		return nil, fmt.Errorf("the workbook has no part %s; it is damaged, or none of Excel (an OpenDocument file?): save "+
			"it as .xlsx", name)
	}
	in, err := bounded.OpenEntry(f)
	if err != nil {
		return nil, fmt.Errorf("the part %s %w", name, err)
	}
	return in, nil
}

// decode reads a small part.
func (b *workbook) decode(name string, limit int, v any) error {
	in, err := b.openPart(name)
	if err != nil {
		return err
	}
	defer in.Close()
	if err := xml.NewDecoder(newMeter(bounded.NewReader(in, limit), "", 0)).Decode(v); bounded.IsTooLong(err) {
		return fmt.Errorf("the part %s of the workbook is damaged: it has more than %d MiB", name, limit>>20)
	} else if err != nil {
		return fmt.Errorf("the part %s of the workbook is damaged: %v", name, err) //nolint:errorlint // may be EOF
	}
	return nil
}

func (b *workbook) readSheets() error {
	var book struct {
		Pr struct {
			Date1904 string `xml:"date1904,attr"`
		} `xml:"workbookPr"`
		Sheets []struct {
			Name  string     `xml:"name,attr"`
			State string     `xml:"state,attr"` // "", "visible", "hidden" or "veryHidden"
			Attr  []xml.Attr `xml:",any,attr"`
		} `xml:"sheets>sheet"`
	}
	var rels struct {
		Rel []struct {
			ID     string `xml:"Id,attr"`
			Target string `xml:"Target,attr"`
		} `xml:"Relationship"`
	}
	if err := errors.Join(b.decode("xl/workbook.xml", maxSheetsPart, &book),
		b.decode("xl/_rels/workbook.xml.rels", maxPart, &rels)); err != nil {
		return err
	}
	b.d1904 = book.Pr.Date1904 == "1" || book.Pr.Date1904 == "true"
	targets := map[string]string{}
	for _, r := range rels.Rel {
		target := r.Target
		if !strings.HasPrefix(target, "/") {
			target = path.Join("xl", target)
		}
		targets[r.ID] = strings.TrimPrefix(target, "/")
	}
	for _, s := range book.Sheets {
		for _, a := range s.Attr {
			if a.Name.Local == "id" && strings.Contains(targets[a.Value], "worksheets/") {
				b.names, b.parts = append(b.names, s.Name), append(b.parts, targets[a.Value])
				b.hidden = append(b.hidden, strings.HasSuffix(strings.ToLower(s.State), "hidden"))
			}
		}
	}
	if len(b.names) == 0 {
		return errors.New("the workbook has no sheet of cells")
	}
	return nil
}

// hiddenNotes say which sheets nobody sees who opens the workbook, where the one that is read is one of them, and which
// others are.
func (b *workbook) hiddenNotes(read int) (notes []string) {
	var others []string
	for i, name := range b.names {
		switch {
		case b.hidden[i] && i == read:
			notes = append(notes, fmt.Sprintf("the sheet %q is hidden; its rows are read all the same", name))
		case b.hidden[i]:
			others = append(others, name)
		}
	}
	if len(others) > 0 {
		notes = append(notes, fmt.Sprintf("the hidden sheets %q are not read (--sheet names one)", others))
	}
	return notes
}

// ErrNoSheet is the error of a workbook without the sheet that was named.
var ErrNoSheet = errors.New("there is no sheet")

// sheetIndex is the place of a sheet; "" is the first.
func (b *workbook) sheetIndex(name string) (int, error) {
	i := slices.Index(b.names, name)
	if i < 0 && name != "" {
		return 0, fmt.Errorf("%w %q; the sheets are %q", ErrNoSheet, name, b.names)
	}
	return max(i, 0), nil
}

func (b *workbook) readTexts(tempDir string, limit int) error {
	if b.findPart("xl/sharedStrings.xml") == nil {
		return nil
	}
	in, err := b.openPart("xl/sharedStrings.xml")
	if err != nil {
		return err
	}
	defer in.Close()
	t := &textStore{most: maxTexts, long: map[int64]bool{}}
	if t.data, err = bounded.TempFile(tempDir); err != nil {
		return err
	}
	if t.index, err = bounded.TempFile(tempDir); err != nil {
		return errors.Join(err, t.data.Close())
	}
	b.texts = t
	if err := t.readTexts(in, limit); err != nil {
		return errors.Join(err, t.close())
	}
	return nil
}

func (b *workbook) close() error { return b.texts.close() }
