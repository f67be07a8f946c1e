package jsonobject

import (
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"testing"
)

func TestDecode(t *testing.T) {
	v, n, err := Decode(`{"a": [1, {}], "a": null} rest`)
	want := Object{{"a", []any{json.Number("1"), Object{}}}, {"a", nil}}
	if err != nil || n != 25 || !reflect.DeepEqual(v, want) {
		t.Errorf("%#v, %d, %v", v, n, err)
	}
	if _, _, err := Decode(`{"a": [1`); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error(err)
	}
}
