package parquetrows

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/erreval/erreval/dataset/internal/jsontext"
)

// Annotation is a node's logical type, or nil.
func Annotation(node parquet.Node) format.LogicalTypeValue {
	if l := node.Type().LogicalType(); l != nil {
		return l.Value
	}
	return nil
}

// TypeName names a node's type for a message.
func TypeName(node parquet.Node) string {
	if !node.Leaf() {
		return "nested"
	}
	name := node.Type().String()
	if node.Repeated() {
		name = "repeated " + name
	}
	return name
}

// IsKept tells whether values of the node's type can be written as they were read.
func IsKept(node parquet.Node) bool {
	if !node.Leaf() || node.Repeated() {
		return false
	}
	switch Annotation(node).(type) {
	case nil:
		k := node.Type().Kind()
		return k == parquet.Boolean || k == parquet.Int32 || k == parquet.Int64 || k == parquet.Float || k == parquet.Double
	case *format.StringType, *format.EnumType, *format.JsonType, *format.DateType, *format.TimestampType:
		return true
	case *format.IntType:
		return true
	}
	return false
}

// leafJSON is a value as JSON: texts, numbers and truth values as they are, dates and times in ISO 8601,
// bytes that are no text in base64. NaN and infinity have no JSON, and are refused.
func leafJSON(v parquet.Value, node parquet.Node) (json.RawMessage, error) {
	if v.IsNull() {
		return json.RawMessage("null"), nil
	}
	if raw, err, ok := logicalJSON(v, node); ok {
		return raw, err
	}
	switch v.Kind() {
	case parquet.Boolean:
		return strconv.AppendBool(nil, v.Boolean()), nil
	case parquet.Int32:
		return strconv.AppendInt(nil, int64(v.Int32()), 10), nil
	case parquet.Int64:
		return strconv.AppendInt(nil, v.Int64(), 10), nil
	case parquet.Float:
		return floatJSON(float64(v.Float()), 32)
	case parquet.Double:
		return floatJSON(v.Double(), 64)
	}
	if v.Kind() == parquet.ByteArray && utf8.Valid(v.ByteArray()) {
		return jsontext.Quote(string(v.ByteArray())), nil
	}
	return jsontext.Quote(base64.StdEncoding.EncodeToString(v.Bytes())), nil
}

// floatJSON always has a point or an exponent, so that the column's type can be told.
func floatJSON(f float64, bits int) (json.RawMessage, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, fmt.Errorf("%v is no number that JSON has; write null for unknown", f)
	}
	format := byte('f')
	if a := math.Abs(f); a != 0 && (a < 1e-6 || a >= 1e16) {
		format = 'e'
	}
	text := strconv.FormatFloat(f, format, -1, bits)
	if !strings.ContainsAny(text, ".e") {
		text += ".0"
	}
	return json.RawMessage(text), nil
}

// ISO 8601, of times with and without a zone.
const (
	isoDate  = "2006-01-02"
	isoLocal = "2006-01-02T15:04:05.999999999"
	isoZone  = "2006-01-02T15:04:05.999999999Z07:00"
)

// logicalJSON is a value of an annotated type as JSON; ok says that the annotation decides.
//
//nolint:revive // err in the middle reads as the pair it is
func logicalJSON(v parquet.Value, node parquet.Node) (raw json.RawMessage, err error, ok bool) {
	switch t := Annotation(node).(type) {
	case *format.JsonType:
		raw = json.RawMessage(strings.TrimSpace(string(v.ByteArray())))
		if !json.Valid(raw) {
			return nil, fmt.Errorf("%.40q is not JSON, as the column's type says", raw), true
		}
		return jsontext.OneLine(raw), jsontext.Check(raw), true
	case *format.StringType, *format.EnumType:
		if err := jsontext.Check(v.ByteArray()); err != nil && !strings.Contains(err.Error(), "surrogate") {
			return nil, errors.New("a text that is not UTF-8; write the file again from its source"), true
		}
		return jsontext.Quote(string(v.ByteArray())), nil, true
	case *format.DateType:
		return jsontext.Quote(time.Unix(int64(v.Int32())*86400, 0).UTC().Format(isoDate)), nil, true
	case *format.TimestampType:
		return jsontext.Quote(timestamp(v.Int64(), t).Format(layout(t))), nil, true
	case *format.DecimalType:
		return decimal(v, int(t.Scale)), nil, true
	case *format.UUIDType:
		b := v.ByteArray()
		if len(b) != 16 {
			return nil, errors.New("a UUID that has not 16 bytes"), true
		}
		return jsontext.Quote(fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])), nil, true
	case *format.IntType:
		if !t.IsSigned && v.Kind() == parquet.Int32 {
			return strconv.AppendUint(nil, uint64(v.Uint32()), 10), nil, true
		}
		if !t.IsSigned {
			return strconv.AppendUint(nil, v.Uint64(), 10), nil, true
		}
	}
	if v.Kind() == parquet.Int96 { // nanoseconds of the day and Julian day, of old Spark and Impala
		i := v.Int96()
		nanos := int64(uint64(i[0]) | uint64(i[1])<<32) // #nosec G115 -- any number makes some time
		return jsontext.Quote(time.Unix((int64(i[2])-2440588)*86400, nanos).UTC().Format(isoLocal)), nil, true
	}
	return nil, nil, false
}

func layout(t *format.TimestampType) string {
	if t.IsAdjustedToUTC {
		return isoZone
	}
	return isoLocal
}

func timestamp(n int64, t *format.TimestampType) time.Time {
	switch t.Unit.Value.(type) {
	case *format.MilliSeconds:
		return time.UnixMilli(n).UTC()
	case *format.MicroSeconds:
		return time.UnixMicro(n).UTC()
	}
	return time.Unix(0, n).UTC()
}

// decimal writes an unscaled number with its point.
func decimal(v parquet.Value, scale int) json.RawMessage {
	var n big.Int
	switch v.Kind() {
	case parquet.Int32:
		n.SetInt64(int64(v.Int32()))
	case parquet.Int64:
		n.SetInt64(v.Int64())
	default: // two's complement, big-endian
		b := v.ByteArray()
		n.SetBytes(b)
		if len(b) > 0 && b[0]&0x80 != 0 {
			n.Sub(&n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
		}
	}
	digits := new(big.Int).Abs(&n).String()
	if scale > 0 {
		digits = strings.Repeat("0", max(0, scale+1-len(digits))) + digits
		digits = digits[:len(digits)-scale] + "." + digits[len(digits)-scale:]
	}
	if n.Sign() < 0 {
		digits = "-" + digits
	}
	return json.RawMessage(digits)
}

// ValueOf is a value of JSON for a column of the node's type.
func ValueOf(raw json.RawMessage, node parquet.Node) (parquet.Value, error) {
	text, isText := jsontext.Unquote(raw)
	switch t := Annotation(node).(type) {
	case *format.JsonType:
		return parquet.ByteArrayValue(raw), nil
	case *format.DateType:
		at, err := time.Parse(isoDate, text)
		return parquet.Int32Value(int32(at.Unix() / 86400)), err // #nosec G115 -- years have four digits
	case *format.TimestampType:
		at, err := time.Parse(layout(t), text)
		return parquet.Int64Value(ticks(at, t)), err
	case *format.IntType:
		if !t.IsSigned {
			n, err := strconv.ParseUint(string(raw), 10, int(t.BitWidth))
			if node.Type().Kind() == parquet.Int32 {
				// #nosec G115 -- the column's type has the same bits without a sign
				return parquet.Int32Value(int32(uint32(n))), err
			}
			return parquet.Int64Value(int64(n)), err // #nosec G115 -- the column's type has the same bits without a sign
		}
	}
	switch node.Type().Kind() {
	case parquet.Boolean:
		return parquet.BooleanValue(raw[0] == 't'), nil
	case parquet.Int32:
		n, err := strconv.ParseInt(string(raw), 10, 32)
		return parquet.Int32Value(int32(n)), err
	case parquet.Int64:
		n, err := strconv.ParseInt(string(raw), 10, 64)
		return parquet.Int64Value(n), err
	case parquet.Float:
		f, err := strconv.ParseFloat(string(raw), 32)
		return parquet.FloatValue(float32(f)), err
	case parquet.Double:
		f, err := strconv.ParseFloat(string(raw), 64)
		return parquet.DoubleValue(f), err
	}
	if !isText {
		return parquet.Value{}, fmt.Errorf("%s is no text", jsontext.Kind(raw))
	}
	return parquet.ByteArrayValue([]byte(text)), nil
}

func ticks(at time.Time, t *format.TimestampType) int64 {
	switch t.Unit.Value.(type) {
	case *format.MilliSeconds:
		return at.UnixMilli()
	case *format.MicroSeconds:
		return at.UnixMicro()
	}
	return at.UnixNano()
}
