package protobuf

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
)

func message(data string) Message {
	return Message{File: strings.NewReader(data), End: int64(len(data))}
}

// The bytes are those of the encoding guide's examples (protobuf.dev): 150, "testing", a message with 150, packed 3,
// 270, 86942.
func TestVisit(t *testing.T) {
	var numbers []int64
	text := ""
	err := message("\x08\x96\x01" + "\x12\x07testing" + "\x1a\x03\x08\x96\x01" +
		"\x32\x06\x03\x8e\x02\x9e\xa7\x05").Visit(func(f Field) (err error) {
		var more []int64
		switch f.Number {
		case 1, 6:
			more, err = f.Integers()
		case 2:
			text, err = f.Body.Text()
		case 3:
			return f.Body.Visit(func(f Field) error {
				numbers = append(numbers, int64(f.N))
				return nil
			})
		}
		numbers = append(numbers, more...)
		return err
	})
	if want := []int64{150, 150, 3, 270, 86942}; err != nil || text != "testing" || !reflect.DeepEqual(numbers, want) {
		t.Errorf("%q, %v, %v", text, numbers, err)
	}
}

func TestDamaged(t *testing.T) {
	for data, want := range map[string]string{
		"\x08": "ends too early", "\x12\x07test": "ends too early", "\x0f": "wire type 7 is not known",
		"\x32\x01\x80": "ends too early",
	} {
		err := message(data).Visit(func(f Field) error {
			_, err := f.Integers()
			return err
		})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; wanted %q", data, err, want)
		}
	}
	var buf [2]byte
	if m := message("abc"); m.Read(buf[:], 1) != nil || string(buf[:]) != "bc" || m.Read(buf[:], 2) == nil ||
		m.Read(buf[:], -1) == nil || (Message{}).Read(buf[:], 0) == nil {
		t.Error("reads past the end")
	}
}

func FuzzVisit(f *testing.F) {
	f.Add([]byte("\x1a\x03\x08\x96\x01\x32\x06\x03\x8e\x02\x9e\xa7\x05"))
	f.Fuzz(func(t *testing.T, data []byte) {
		m := Message{File: bytes.NewReader(data), End: int64(len(data))}
		total := int64(0)
		_ = m.Visit(func(f Field) error {
			total += f.Body.Size()
			_, err := f.Integers()
			return err
		})
		if total > m.Size() {
			t.Errorf("%d bytes of fields in %d", total, m.Size())
		}
	})
}
