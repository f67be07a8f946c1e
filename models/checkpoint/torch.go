package checkpoint

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// archive is a file of torch.save: a zip with data.pkl, which describes the tensors, and data/0, data/1, … with the
// numbers.
type archive struct {
	file    io.ReaderAt
	records map[string]span // by name below the archive's one folder
}

// storage is a run of numbers that tensors are views of.
type storage struct {
	dtype        DType // "" if the tensor names it
	offset, size int64 // in bytes, in the file
}

// readTorch lists the tensors of a state_dict that torch.save wrote as a zip (since torch 1.6).
func readTorch(f io.ReaderAt, size int64) ([]*tensor, error) {
	if err := checkKind(f, size); err != nil {
		return nil, err
	}
	a, err := openArchive(f, size)
	if err != nil {
		return nil, err
	}
	pickle, err := a.readEntry("data.pkl", maxPickle)
	if err != nil {
		return nil, err
	}
	u := &unpickler{data: pickle, globals: globals, load: a.storage}
	top, err := u.run()
	if err != nil {
		return nil, fmt.Errorf("its data.pkl %w", err)
	}
	return stateDict(top)
}

// checkKind refuses kinds of file that are often mistaken for such a zip, and names them.
func checkKind(f io.ReaderAt, size int64) error {
	head := make([]byte, min(size, 265))
	if err := readAt(f, head, 0); err != nil {
		return err
	}
	switch {
	case bytes.HasPrefix(head, []byte("PK\x03\x04")):
		return nil
	case head[0] == 0x80 || bytes.HasSuffix(head, []byte("ustar\x00\x30\x30")):
		return errors.New("has the format of torch before 1.6, which is not read; load it with torch.load(…, " +
			"weights_only=True) and save it as safetensors")
	}
	return errors.New("is no file of torch.save, or is damaged; download it again")
}

// openArchive finds the records, all of which torch stores uncompressed.
func openArchive(f io.ReaderAt, size int64) (*archive, error) {
	z, err := zip.NewReader(f, size)
	if err != nil {
		return nil, fmt.Errorf("is a zip without a right directory at its end (%w); it was cut, download it again", err)
	}
	root, err := rootOf(z.File)
	if err != nil {
		return nil, err
	}
	a, spans := &archive{f, map[string]span{}}, make([]span, 0, len(z.File))
	for _, e := range z.File {
		s, err := locateEntry(e, size)
		if err != nil {
			return nil, err
		}
		name := strings.TrimPrefix(e.Name, root)
		if _, twice := a.records[name]; twice {
			return nil, fmt.Errorf("has two records named %s; it is damaged or forged", quote(e.Name))
		}
		a.records[name], spans = s, append(spans, s)
	}
	if err := checkOverlap(spans); err != nil {
		return nil, err
	}
	return a, a.checkOrder()
}

// rootOf finds the folder that holds data.pkl.
func rootOf(files []*zip.File) (string, error) {
	for _, e := range files {
		if root, name, ok := strings.Cut(e.Name, "/"); ok && name == "data.pkl" {
			return root + "/", nil
		}
	}
	return "", errors.New("is a zip, but not of torch.save: it has no data.pkl")
}

// locateEntry returns the range of an entry's bytes, if the entry is not compressed.
func locateEntry(e *zip.File, size int64) (span, error) {
	if e.Method != zip.Store || e.CompressedSize64 != e.UncompressedSize64 {
		return span{}, fmt.Errorf("has the compressed record %s, which torch.save does not write; save it again with torch",
			quote(e.Name))
	}
	from, err := e.DataOffset()
	// #nosec G115 -- from is at most size
	if err != nil || from < 0 || from > size || e.UncompressedSize64 > uint64(size-from) {
		return span{}, fmt.Errorf("claims a record %s of %d bytes, which is not in the file; "+
			"it is damaged, download it again", quote(e.Name), e.UncompressedSize64)
	}
	return span{e.Name, from, from + int64(e.UncompressedSize64)}, nil // #nosec G115 -- it lies in the file
}

func (a *archive) readEntry(name string, limit int64) ([]byte, error) {
	r, ok := a.records[name]
	if size := r.to - r.from; !ok || size > limit {
		return nil, fmt.Errorf("has a record %s of %d bytes, and %d are the most; it is no state_dict", name, size, limit)
	}
	data := make([]byte, r.to-r.from)
	return data, readAt(a.file, data, r.from)
}

func (a *archive) checkOrder() error {
	if _, ok := a.records["byteorder"]; !ok { // before torch 2.1
		return nil
	}
	order, err := a.readEntry("byteorder", 16)
	if err == nil && string(order) != "little" {
		err = fmt.Errorf("has the byte order %s, and only little-endian numbers are read; save it again on this machine",
			quote(string(order)))
	}
	return err
}

// storage resolves ("storage", type, key, device, count). The device does not matter.
func (a *archive) storage(id any) (any, error) {
	args, ok := id.(tuple)
	dtype, ok1 := argument[storageType](args, 1)
	key, ok2 := argument[string](args, 2)
	count, ok3 := argument[int64](args, 4)
	if !ok || !ok1 || !ok2 || !ok3 || args[0] != "storage" {
		return nil, errForged
	}
	r, ok := a.records["data/"+key]
	if !ok {
		return nil, fmt.Errorf("refers to the record data/%s, which the file does not hold; download it again",
			strings.Trim(quote(key), `"`))
	}
	width := int64(1)
	if dtype != "" {
		width = bits[DType(dtype)] / 8
	}
	if size := r.to - r.from; size%width != 0 || count != size/width {
		return nil, fmt.Errorf("claims %d numbers in the record %s, which has %d bytes; it is damaged", count,
			quote(r.name), size)
	}
	return storage{DType(dtype), r.from, r.to - r.from}, nil
}

// storageType is the class of a storage; "" is that of plain bytes.
type storageType DType

// globals are all names that the pickle of a state_dict may use.
var globals = map[string]any{
	"collections.OrderedDict":         call(newDict),
	"torch._utils._rebuild_tensor_v2": call(rebuildTensor),
	"torch._utils._rebuild_tensor_v3": call(rebuildTyped),
	"torch._utils._rebuild_parameter": call(rebuildParameter),

	"torch.FloatStorage": storageType(F32), "torch.HalfStorage": storageType(F16),
	"torch.BFloat16Storage": storageType(BF16),
	"torch.DoubleStorage":   storageType("F64"), "torch.LongStorage": storageType(I64),
	"torch.IntStorage":   storageType("I32"),
	"torch.ShortStorage": storageType("I16"), "torch.CharStorage": storageType("I8"),
	"torch.ByteStorage": storageType("U8"),
	"torch.BoolStorage": storageType("BOOL"), "torch.ComplexFloatStorage": storageType("C64"),
	"torch.storage.UntypedStorage": storageType(""), "torch.storage.TypedStorage": storageType(""),

	"torch.uint16": DType("U16"), "torch.uint32": DType("U32"), "torch.uint64": DType("U64"),
	"torch.float8_e4m3fn": DType("F8_E4M3"), "torch.float8_e5m2": DType("F8_E5M2"),
}

func newDict(args tuple) (any, error) {
	if len(args) != 0 {
		return nil, errForged
	}
	return dict{}, nil
}

// rebuildParameter takes (tensor, requires_grad, hooks).
func rebuildParameter(args tuple) (any, error) {
	t, ok := argument[*tensor](args, 0)
	if !ok || len(args) != 3 {
		return nil, errForged
	}
	return t, nil
}

// rebuildTensor takes (storage, offset, shape, strides, requires_grad, hooks), and perhaps metadata.
func rebuildTensor(args tuple) (any, error) {
	s, ok := argument[storage](args, 0)
	if !ok || len(args) < 6 || s.dtype == "" {
		return nil, errForged
	}
	return viewStorage(s, args)
}

// rebuildTyped takes the same, and then the type of the numbers, since the storage is of plain bytes.
func rebuildTyped(args tuple) (any, error) {
	s, ok := argument[storage](args, 0)
	dtype, ok2 := argument[DType](args, 6)
	if !ok || !ok2 || s.dtype != "" {
		return nil, errForged
	}
	s.dtype = dtype
	return viewStorage(s, args)
}

// argument is the one at that place, if it is there and a T.
func argument[T any](args tuple, at int) (value T, ok bool) {
	if at < len(args) {
		value, ok = args[at].(T)
	}
	return value, ok
}

// viewStorage checks that a tensor lies within its storage.
func viewStorage(s storage, args tuple) (any, error) {
	offset, ok := args[1].(int64)
	shape, ok2 := numbers(args[2])
	strides, ok3 := numbers(args[3])
	if !ok || !ok2 || !ok3 || len(shape) != len(strides) {
		return nil, errForged
	}
	width := bits[s.dtype] / 8
	count := s.size / width
	n, err := countElements(shape, count)
	if err == nil && (offset < 0 || offset > count-n) {
		err = fmt.Errorf("claims %d numbers from number %d on, of %d in its record; it is damaged", n, offset, count)
	}
	if err != nil { // the error follows once the tensor has its name
		return &tensor{fault: err}, nil
	}
	if n == 0 || isRowMajor(shape, strides) {
		strides = nil
	}
	return &tensor{Info: Info{DType: s.dtype, Shape: shape}, offset: s.offset + offset*width, strides: strides}, nil
}

// numbers are the integers of a tuple. Long tuples are refused: a file could use one again and again.
func numbers(v any) ([]int64, bool) {
	t, ok := v.(tuple)
	if len(t) > maxRank {
		return nil, false
	}
	list := make([]int64, len(t))
	for i := range t {
		n, isInt := t[i].(int64)
		list[i], ok = n, ok && isInt
	}
	return list, ok
}

// stateDict lists the tensors of the state_dict.
func stateDict(top any) ([]*tensor, error) {
	d, ok := top.(dict)
	if !ok {
		return nil, errors.New("holds something else than a state_dict; save model.state_dict()")
	}
	var tensors []*tensor
	for _, name := range slices.Sorted(maps.Keys(d)) {
		t, ok := d[name].(*tensor)
		if !ok {
			return nil, fmt.Errorf("holds %s, which is no tensor, so it is more than a state_dict; "+
				"save model.state_dict() alone", quote(name))
		}
		if err := checkName(name); err != nil {
			return nil, err
		}
		if t.fault != nil {
			return nil, fmt.Errorf("tensor %q %w", name, t.fault)
		}
		named := *t // one tensor may have several names
		named.Name = name
		tensors = append(tensors, &named)
	}
	return tensors, nil
}
