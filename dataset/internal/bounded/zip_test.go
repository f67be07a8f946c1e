package bounded

import (
	"archive/zip"
	"strings"
	"testing"
)

func TestZip(t *testing.T) {
	list := &listReader{ReaderAt: strings.NewReader("x"), left: 10}
	if _, err := list.ReadAt(make([]byte, 11), 0); err == nil || IsTooLong(err) {
		t.Errorf("a long list of parts: %v", err)
	}
	bomb := &zip.File{FileHeader: zip.FileHeader{UncompressedSize64: 2 * MaxUnpacked, CompressedSize64: 1 << 20}}
	const want = "unpacks to 512 times its size: a ZIP bomb; it is not read"
	if _, err := OpenEntry(bomb); err == nil || err.Error() != want {
		t.Errorf("got %v, want a bomb", err)
	}
}
