package parquetcheck

import (
	"testing"

	"github.com/parquet-go/parquet-go/encoding/delta"
	"github.com/parquet-go/parquet-go/encoding/rle"
)

// FuzzDeltas: where the library makes texts of lengths, the check knew how many bytes they have.
func FuzzDeltas(f *testing.F) {
	for _, values := range [][]int32{{0}, {3, 4, 5}, {0, 7, 7, 7, 1 << 20}, make([]int32, 300)} {
		data, err := new(delta.BinaryPackedEncoding).EncodeInt32(nil, values)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(append(data, data...))
	}
	texts, err := new(delta.ByteArrayEncoding).EncodeByteArray(nil, []byte("abcabdabe"), []uint32{0, 3, 6, 9})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(texts)
	f.Add([]byte("\x80\x01\x04\xff\xff\xff\xff\x07\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		const n = 1000
		begun, rest, err := sumDeltas(data, n)
		if err != nil {
			return
		}
		ended, _, err := sumDeltas(rest, n)
		if err != nil || begun+ended > 1<<20 {
			return
		}
		out, _, err := new(delta.ByteArrayEncoding).DecodeByteArray(nil, data, nil)
		if err == nil && int64(len(out)) > begun+ended {
			t.Fatalf("%d bytes, where %d were seen", len(out), begun+ended)
		}
	})
}

// FuzzRuns: what the check lets through has about as many values as it should.
func FuzzRuns(f *testing.F) {
	f.Add([]byte("\x08\x01\x03\xff"), 1)
	f.Add([]byte("\x00\xf000"), 1)
	f.Add([]byte("\xfe\xff\xff\xff\x0f\x00"), 1)
	f.Fuzz(func(t *testing.T, data []byte, width int) {
		const n = 1000
		if width < 1 || width > 8 || checkRuns(data, width, n) != nil {
			return
		}
		out, err := (&rle.Encoding{BitWidth: width}).DecodeLevels(nil, data)
		if err == nil && uint64(len(out)) > most(n) {
			t.Fatalf("%d values", len(out))
		}
	})
}
