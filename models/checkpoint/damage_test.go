package checkpoint

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// safe builds a safetensors file.
func safe(header, data string) []byte {
	return append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header+data...)
}

// record is a file in an archive of torch.save.
type record struct{ name, data string }

const four = "\x00\x00\x80\x3f\x00\x00\x00\x40\x00\x00\x40\x40\x00\x00\x80\x40" // 1, 2, 3, 4 as F32

// archived builds an archive of torch.save around a pickle.
func archived(pickle string, records ...record) []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, r := range append([]record{{"data.pkl", "\x80\x02" + pickle}}, records...) {
		w, err := z.CreateHeader(&zip.FileHeader{Name: "archive/" + r.name, Method: zip.Store})
		if err == nil {
			_, err = w.Write([]byte(r.data))
		}
		if err != nil {
			panic(err) // memory takes every byte
		}
	}
	if err := z.Close(); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// text pushes a string, number a 32-bit integer.
func text(s string) string {
	return "X" + string(binary.LittleEndian.AppendUint32(nil, uint32(len(s)))) + s
}
func number(n int32) string {
	return "J" + string(binary.LittleEndian.AppendUint32(nil, uint32(n)))
}

// stored pushes a storage of count floats in data/0.
func stored(count int32) string {
	return "(" + text("storage") + "ctorch\nFloatStorage\n" + text("0") + text("cpu") + number(count) + "tQ"
}

// rebuilt pushes a tensor of two dimensions.
func rebuilt(storage string, offset, rows, columns, stride int32) string {
	return "ctorch._utils\n_rebuild_tensor_v2\n(" + storage + number(offset) + number(rows) + number(columns) + "\x86" +
		number(stride) + number(1) + "\x86\x89}tR"
}

var onlyTensor = rebuilt(stored(4), 0, 2, 2, 2)

// state is a pickle with the one tensor w.
func state(tensor string) string { return "}(" + text("w") + tensor + "u." }

func TestHandmadeArchive(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "pytorch_model.bin", archived(state(onlyTensor), record{"data/0", four}))
	got, err := open(t, dir).Floats("w", nil)
	if err != nil || len(got) != 4 || got[0] != 1 || got[3] != 4 {
		t.Error(got, err) // so that what the tables below refuse is refused for its damage alone
	}
}

const entry = `{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]}`

func TestDamagedSafetensors(t *testing.T) {
	whole := safe(`{"w":`+entry+`}`, four)
	for _, c := range []struct {
		name string
		file []byte
		want string
	}{
		{"empty", nil, "is empty; download it again"},
		{"seven bytes", whole[:7], "has 7 bytes, too few for a safetensors file; download it again"},
		{"no header", make([]byte, 8), "has no JSON object where one should be; it is of another kind or damaged"},
		{"git lfs pointer", []byte("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n"),
			"is a Git LFS pointer, not the weights; run `git lfs pull`"},
		{"web page", []byte("<!DOCTYPE html><html></html>"),
			"is no safetensors file, or is damaged: it claims a header of 5789751444030890300 bytes"},
		{"torch file", archived(state(onlyTensor)), "is no safetensors file, or is damaged: it claims a header of"},
		{"huge header", append(bytes.Repeat([]byte{0xff}, 8), '{'),
			"it claims a header of 18446744073709551615 bytes, and 100000000 are the most"},
		{"header longer than the file", whole[:40],
			"claims a header of 57 bytes, but 32 follow; it was cut, download it again"},
		{"large header in a small file", append([]byte{0, 0xe0, 0xf5, 5, 0, 0, 0, 0}, '{'),
			"claims a header of 99999744 bytes, but 1 follow; it was cut, download it again"},
		{"cut numbers", whole[:len(whole)-3],
			`tensor "w" ends at byte 16, but 13 follow the header; the file was cut, download it again`},
		{"further bytes", append(whole[:len(whole):len(whole)], "more"...),
			"has 20 bytes after the header, of which the tensors fill 16; it is damaged"},
		{"no tensors", safe(`{"__metadata__":{}}`, ""), "holds no tensors"},
		{"JSON breaks off", safe(`{"w":{"dtype":"F32",`, four), "has JSON that breaks off at byte 5; it is damaged"},
		{"JSON not closed", safe(`{"w":`+entry, four), "has JSON that breaks off at byte 56; it is damaged"},
		{"JSON goes on", safe(`{"w":`+entry+`}{}`, four), "has something after its JSON"},
		{"list", safe(`[]`, ""), "has no JSON object where one should be"},
		{"not UTF-8", safe("{\"\xff\":"+entry+"}", four), "has a JSON part that is not UTF-8; it is damaged"},
		{"same name twice", safe(`{"w":`+entry+`,"w":`+entry+`}`, four),
			`has two entries named "w"; it is damaged or forged`},
		{"overlap", safe(`{"a":`+entry+`,"b":{"dtype":"F32","shape":[2],"data_offsets":[12,20]}}`, four+"1234"),
			`"a" and "b" overlap in the file; it is damaged or forged`},
		{"gap", safe(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[8,16]}}`, four), "of which the tensors fill 8"},
		{"out of the file", safe(`{"w":{"dtype":"F32","shape":[1],"data_offsets":[9223372036854775803,9223372036854775807]}}`,
			four), `tensor "w" ends at byte 9223372036854775807, but 16 follow`},
		{"negative offset", safe(`{"w":{"dtype":"F32","shape":[1],"data_offsets":[-4,0]}}`, four),
			"claims to lie from byte -4 to byte 0, which is no range"},
		{"backwards", safe(`{"w":{"dtype":"F32","shape":[1],"data_offsets":[8,4]}}`, four),
			"claims to lie from byte 8 to byte 4, which is no range"},
		{"three offsets", safe(`{"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4,8]}}`, four),
			`tensor "w" has no right dtype, shape and data_offsets`},
		{"no shape", safe(`{"w":{"dtype":"F32","data_offsets":[0,4]}}`, four),
			`tensor "w" has no right dtype, shape and data_offsets`},
		{"fractional shape", safe(`{"w":{"dtype":"F32","shape":[1.5],"data_offsets":[0,4]}}`, four),
			`tensor "w" has no right dtype, shape and data_offsets`},
		{"shape too small", safe(`{"w":{"dtype":"F32","shape":[3],"data_offsets":[0,16]}}`, four),
			`tensor "w" has the shape [3] of F32 but 16 bytes; the header is wrong`},
		{"shape too large", safe(`{"w":{"dtype":"F32","shape":[5],"data_offsets":[0,16]}}`, four),
			`tensor "w" claims the shape [5], more than the file holds`},
		{"product overflows", safe(`{"w":{"dtype":"F32","shape":[4294967296,4294967296,4],"data_offsets":[0,16]}}`, four),
			"more than the file holds"},
		{"negative dimension", safe(`{"w":{"dtype":"F32","shape":[-2,-2],"data_offsets":[0,16]}}`, four),
			"claims the shape [-2 -2], with a negative dimension"},
		{"too many dimensions", safe(`{"w":{"dtype":"F32","shape":[`+strings.Repeat("1,", 64)+`1],"data_offsets":[0,4]}}`,
			four[:4]), "claims 65 dimensions; 64 are the most"},
		{"unknown dtype", safe(`{"w":{"dtype":"F31","shape":[4],"data_offsets":[0,16]}}`, four),
			`has the dtype "F31", which this version does not know`},
		{"no name", safe(`{"":`+entry+`}`, four), `has a tensor with an unusable name, "" (0 bytes)`},
		{"endless name", safe(`{"`+strings.Repeat("n", 2000)+`":`+entry+`}`, four), `nnn"… (2000 bytes)`},
	} {
		t.Run(c.name, func(t *testing.T) { refuses(t, "model.safetensors", c.file, c.want) })
	}
}

func TestDamagedTorch(t *testing.T) {
	data := record{"data/0", four}
	whole := archived(state(onlyTensor), data)
	for _, c := range []struct {
		name string
		file []byte
		want string
	}{
		{"empty", nil, "is empty; download it again"},
		{"git lfs pointer", []byte("version https://git-lfs.github.com/spec/v1\n"), "is a Git LFS pointer"},
		{"no torch file", []byte("weights"), "is no file of torch.save, or is damaged; download it again"},
		{"cut file", whole[:len(whole)-30],
			"is a zip without a right directory at its end (zip: not a valid zip file); it was cut, download it again"},
		{"no data.pkl", bytes.ReplaceAll(whole, []byte("data.pkl"), []byte("data.pkx")),
			"is a zip, but not of torch.save: it has no data.pkl"},
		{"record twice", archived(state(onlyTensor), data, data),
			`has two records named "archive/data/0"; it is damaged or forged`},
		{"compressed record", setEntry(whole, "data/0", 10, 8),
			`has the compressed record "archive/data/0", which torch.save does not write; save it again with torch`},
		{"sizes differ", setEntry(whole, "data/0", 20, 15), `has the compressed record "archive/data/0"`},
		{"record out of the file", setEntry(setEntry(whole, "data/0", 20, 0xfffffff0), "data/0", 24, 0xfffffff0),
			`claims a record "archive/data/0" of 4294967280 bytes, which is not in the file`},
		{"header out of the file", setEntry(whole, "data/0", 42, 0xfffffff0),
			`claims a record "archive/data/0" of 16 bytes, which is not in the file`},
		{"records overlap", setEntry(whole, "data/0", 42, 0), "overlap in the file; it is damaged or forged"},
		{"big-endian", archived(state(onlyTensor), data, record{"byteorder", "big"}),
			`has the byte order "big", and only little-endian numbers are read`},
		{"byte order too long", archived(state(onlyTensor), data, record{"byteorder", strings.Repeat("little", 9)}),
			"has a record byteorder of 54 bytes, and 16 are the most"},
		{"record missing", archived(state(onlyTensor)),
			"refers to the record data/0, which the file does not hold; download it again"},
		{"count lies", archived(state(rebuilt(stored(5), 0, 2, 2, 2)), data),
			`claims 5 numbers in the record "archive/data/0", which has 16 bytes; it is damaged`},
		{"negative count", archived(state(rebuilt(stored(-4), 0, 2, 2, 2)), data), `claims -4 numbers in the record`},
		{"half a number", archived(state(onlyTensor), record{"data/0", four[:15]}),
			`claims 4 numbers in the record "archive/data/0", which has 15 bytes`},
		{"offset too large", archived(state(rebuilt(stored(4), 1, 2, 2, 2)), data),
			`tensor "w" claims 4 numbers from number 1 on, of 4 in its record; it is damaged`},
		{"negative offset", archived(state(rebuilt(stored(4), -1, 2, 2, 2)), data),
			`tensor "w" claims 4 numbers from number -1 on`},
		{"shape too large", archived(state(rebuilt(stored(4), 0, 1<<30, 1<<30, 2)), data),
			`tensor "w" claims the shape [1073741824 1073741824], more than the file holds`},
		{"negative shape", archived(state(rebuilt(stored(4), 0, -2, -2, 2)), data),
			`tensor "w" claims the shape [-2 -2], with a negative dimension`},
		{"no tensors", archived("}."), "holds no tensors"},
		{"name twice", archived("}(" + text("w") + "N" + text("w") + "Nu."),
			`has two entries named "w"; it is damaged or forged`},
		{"no string as a name", archived("}(K\x01Nu."), "has a dictionary with keys that are no strings"},
		{"no dictionary", archived("K\x01."), "holds something else than a state_dict; save model.state_dict()"},
		{"no tensor", archived(state("K\x01")), `holds "w", which is no tensor, so it is more than a state_dict`},
		{"unusable name", archived("}("+text("")+onlyTensor+"u.", data), `has a tensor with an unusable name, "" (0 bytes)`},
		{"pickle breaks off", archived("}(" + text("w")), "its data.pkl breaks off; download the file again"},
		{"length lies", archived("X\xff\xff\xff\xff."), "its data.pkl breaks off"},
		{"newer protocol", archived("\x80\x06."), "uses pickle protocol 6, and 5 is the newest; it is damaged"},
		{"text not UTF-8", archived(text("\xff") + "."), "holds text that is not UTF-8; it is damaged"},
		{"long number", archived("\x8a\x09123456789."), "holds a number of more than 64 bits"},
		{"empty stack", archived("."),
			"is no state_dict that torch.save wrote: its instructions do not fit together; convert it to safetensors"},
		{"mark left", archived("(."), "its instructions do not fit together"},
		{"no mark", archived("t."), "its instructions do not fit together"},
		{"unset memo", archived("h\x05."), "its instructions do not fit together"},
		{"call of a number", archived("K\x01)R."), "its instructions do not fit together"},
		{"dictionary of a number", archived("ccollections\nOrderedDict\nK\x01\x85R."),
			"its instructions do not fit together"},
		{"parameter of a number", archived("ctorch._utils\n_rebuild_parameter\nK\x01NN\x87R."),
			"its instructions do not fit together"},
		{"parameter of nothing", archived("ctorch._utils\n_rebuild_parameter\n)R."), "its instructions do not fit together"},
		{"tensor of nothing", archived("ctorch._utils\n_rebuild_tensor_v2\n)R."), "its instructions do not fit together"},
		{"tensor of a number", archived(state(rebuilt("K\x01", 0, 2, 2, 2))), "its instructions do not fit together"},
		{"typed tensor of nothing", archived("ctorch._utils\n_rebuild_tensor_v3\n)R."),
			"its instructions do not fit together"},
		{"attributes of a number", archived("K\x01}b."), "its instructions do not fit together"},
		{"pair in a tuple", archived(")K\x01K\x01s."), "its instructions do not fit together"},
		{"half a pair", archived("}(K\x01u."), "its instructions do not fit together"},
		{"import of numbers", archived("K\x01K\x01\x93."), "its instructions do not fit together"},
		{"import breaks off", archived("ctorch\nFloat"), "its data.pkl breaks off"},
		{"foreign id", archived(text("model.bin") + "Q."), "its instructions do not fit together"},
		{"os.system", archived("cos\nsystem\n" + text("true") + "\x85R."),
			"its data.pkl calls os.system; a checkpoint that runs code is not read; convert it to safetensors"},
		{"eval, not called", archived("c__builtin__\neval\n0."),
			"calls __builtin__.eval; a checkpoint that runs code is not read"},
		{"getattr on a module", archived("ctorch\n_utils\n."), "calls torch._utils; a checkpoint that runs code is not read"},
		{"name with a dot", archived("\x8c\x05torch\x8c\x09os.system\x93."),
			"calls torch.os.system; a checkpoint that runs code is not read"},
		{"instance", archived("(ios\nsystem\n."), "calls os.system; a checkpoint that runs code is not read"},
		{"instance of a harmless class", archived("(icollections\nOrderedDict\n."), "uses the pickle instruction 0x69"},
		{"terminal codes", archived("c\x1b[2J\nx\n."), `calls "\x1b[2J.x"; a checkpoint that runs code is not read`},
		{"TorchScript", archived("c__torch__.torch.nn\nLinear\n)\x81."),
			"calls __torch__.torch.nn.Linear; a checkpoint that runs code is not read"},
		{"extension", archived("\x82\x01."),
			"uses the pickle instruction 0x82 at byte 2, which no plain state_dict needs; convert it to safetensors"},
	} {
		t.Run(c.name, func(t *testing.T) { refuses(t, "pytorch_model.bin", c.file, c.want) })
	}
}

// What torch itself writes and this package does not read.
func TestRefusedTorch(t *testing.T) {
	for name, want := range map[string]string{
		"legacy": "has the format of torch before 1.6, which is not read; load it with torch.load(…, weights_only=True) " +
			"and save it as safetensors",
		"code":      "calls posix.system; a checkpoint that runs code is not read; convert it to safetensors",
		"code4":     "calls posix.system; a checkpoint that runs code is not read; convert it to safetensors",
		"module":    "calls torch.nn.modules.linear.Linear; a checkpoint that runs code is not read",
		"sparse":    "calls torch._utils._rebuild_sparse_tensor; a checkpoint that runs code is not read",
		"training":  `holds "epoch", which is no tensor, so it is more than a state_dict; save model.state_dict() alone`,
		"optimizer": "has a dictionary with keys that are no strings",
		"list":      "uses the pickle instruction 0x5d",
		"tensor":    "holds something else than a state_dict; save model.state_dict()",
	} {
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join("testdata", "refused", name+".bin"))
			if err != nil {
				t.Fatal(err)
			}
			refuses(t, "pytorch_model.bin", data, want)
		})
	}
}

// setEntry overwrites a field of an entry in the zip's directory; fields of more than two bytes take four.
func setEntry(archive []byte, name string, at int, value uint32) []byte {
	out := bytes.Clone(archive)
	directory := bytes.Index(out, []byte("PK\x01\x02"))
	field := out[directory+bytes.Index(out[directory:], []byte("archive/"+name))-46+at:]
	if at == 10 {
		binary.LittleEndian.PutUint16(field, uint16(value))
	} else {
		binary.LittleEndian.PutUint32(field, value)
	}
	return out
}

func refuses(t *testing.T, name string, file []byte, want string) {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, name, file)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	w, err := Open(dir)
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 1<<20 {
		t.Errorf("%d bytes were allocated for a file of %d", got, len(file))
	}
	if err == nil {
		defer w.Close()
		t.Fatalf("was read; want %q", want)
	}
	oneSentence(t, err)
	if !strings.HasPrefix(err.Error(), filepath.Join(dir, name)+": ") || !strings.Contains(err.Error(), want) {
		t.Errorf("%v\nwant %q", err, want)
	}
}

func oneSentence(t *testing.T, err error) {
	t.Helper()
	if s := err.Error(); strings.ContainsAny(s, "\n\r\x1b\x00") || len(s) > 3000 {
		t.Errorf("not one sentence: %.300q", s)
	}
}

func TestDamagedIndex(t *testing.T) {
	shard := safe(`{"w":`+entry+`}`, four)
	for _, c := range []struct{ name, index, want string }{
		{"empty", ``, "has no JSON object where one should be"},
		{"no map", `{"metadata":{}}`, "has no weight_map, or an empty one; download it again"},
		{"empty map", `{"weight_map":{}}`, "has no weight_map, or an empty one"},
		{"map is a list", `{"weight_map":["a"]}`, "has no JSON object where one should be"},
		{"file is a number", `{"weight_map":{"w":1}}`, `does not name the file of tensor "w"`},
		{"breaks off", `{"weight_map":{"w":"a"`, "has JSON that breaks off"},
		{"same tensor twice", `{"weight_map":{"w":"a","w":"b"}}`, `has two entries named "w"; it is damaged or forged`},
		{"parent folder", `{"weight_map":{"w":"../a"}}`,
			`puts tensor "w" in "../a", outside of the checkpoint's directory; it is forged`},
		{"hidden parent folder", `{"weight_map":{"w":"b/../../a"}}`, `outside of the checkpoint's directory`},
		{"absolute", `{"weight_map":{"w":"/etc/hosts"}}`,
			`puts tensor "w" in "/etc/hosts", outside of the checkpoint's directory`},
		{"Windows path", `{"weight_map":{"w":"..\\a"}}`, `outside of the checkpoint's directory`},
		{"no name", `{"weight_map":{"w":""}}`, `outside of the checkpoint's directory`},
		{"folder", `{"weight_map":{"w":"."}}`, "is not a regular file (named by model.safetensors.index.json)"},
		{"missing shard", `{"weight_map":{"w":"c"}}`, "no such file or directory (named by model.safetensors.index.json)"},
		{"missing tensor", `{"weight_map":{"w":"a","v":"a"}}`,
			`puts tensor "v" in "a", which does not hold it; download the checkpoint again`},
		{"tensor elsewhere", `{"weight_map":{"w":"d","x":"a"}}`, `puts tensor "w" in "d", which does not hold it`},
		{"tensor in two shards", `{"weight_map":{"w":"a","v":"b"}}`, `tensor "w" is in a as well`},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "model.safetensors.index.json", []byte(c.index))
			write(t, dir, "a", shard)
			write(t, dir, "b", shard)
			write(t, dir, "d", safe(`{"x":`+entry+`}`, four))
			_, err := Open(dir)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(strings.TrimPrefix(err.Error(),
				"stat "), dir) {
				t.Fatalf("%v\nwant %q", err, c.want)
			}
			oneSentence(t, err)
		})
	}
}

func TestFileCutWhileOpen(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "model.safetensors", safe(`{"w":`+entry+`}`, four))
	w := open(t, dir)
	if err := os.Truncate(filepath.Join(dir, "model.safetensors"), 70); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Floats("w", nil); err == nil || !strings.Contains(err.Error(),
		`tensor "w" cannot be read: the file became shorter`) {
		t.Error(err)
	}
}
