package checkpoint

import (
	"encoding/binary"
	"errors"
	"fmt"
	"regexp"
	"unicode/utf8"
)

// maxProtocol is the newest pickle protocol; torch.save writes 2 unless told otherwise.
const maxProtocol = 5

// unpickler runs the few instructions that a saved state_dict consists of. It builds None, booleans, integers, strings,
// tuples and dictionaries with string keys; a pickle may import and call only what is in globals.
type unpickler struct {
	data    []byte
	pos     int
	stack   []any
	memo    map[uint32]any
	globals map[string]any            // by dotted name: a call can be called, anything else is a value
	load    func(id any) (any, error) // resolves a persistent id
	err     error                     // the first fault, which ends the run
}

type (
	mark  struct{}
	tuple []any
	dict  map[string]any
	call  func(tuple) (any, error)
)

// instructions by opcode. See pickletools.py of CPython for what each means.
var instructions = map[byte]func(*unpickler){
	0x80: (*unpickler).protocol,                                              // PROTO
	0x95: func(u *unpickler) { u.takeBytes(8) },                              // FRAME
	'(':  func(u *unpickler) { u.push(mark{}) },                              // MARK
	'N':  func(u *unpickler) { u.push(nil) },                                 // NONE
	0x88: func(u *unpickler) { u.push(true) },                                // NEWTRUE
	0x89: func(u *unpickler) { u.push(false) },                               // NEWFALSE
	'J':  func(u *unpickler) { u.push(int64(int32(u.uint(4)))) },             // BININT
	'K':  func(u *unpickler) { u.push(int64(u.uint(1))) },                    // BININT1
	'M':  func(u *unpickler) { u.push(int64(u.uint(2))) },                    // BININT2
	0x8a: func(u *unpickler) { u.push(u.long(u.takeBytes(u.uint(1)))) },      // LONG1
	'X':  func(u *unpickler) { u.text(u.uint(4)) },                           // BINUNICODE
	0x8c: func(u *unpickler) { u.text(u.uint(1)) },                           // SHORT_BINUNICODE
	')':  func(u *unpickler) { u.push(tuple{}) },                             // EMPTY_TUPLE
	0x85: func(u *unpickler) { u.tuple(1) },                                  // TUPLE1
	0x86: func(u *unpickler) { u.tuple(2) },                                  // TUPLE2
	0x87: func(u *unpickler) { u.tuple(3) },                                  // TUPLE3
	't':  func(u *unpickler) { u.push(tuple(u.popMark())) },                  // TUPLE
	'}':  func(u *unpickler) { u.push(dict{}) },                              // EMPTY_DICT
	's':  func(u *unpickler) { u.set(u.popN(2)) },                            // SETITEM
	'u':  func(u *unpickler) { u.set(u.popMark()) },                          // SETITEMS
	'q':  func(u *unpickler) { u.put(uint32(u.uint(1))) },                    // BINPUT
	'r':  func(u *unpickler) { u.put(uint32(u.uint(4))) },                    // LONG_BINPUT
	0x94: func(u *unpickler) { u.put(uint32(len(u.memo))) },                  // MEMOIZE
	'h':  func(u *unpickler) { u.get(uint32(u.uint(1))) },                    // BINGET
	'j':  func(u *unpickler) { u.get(uint32(u.uint(4))) },                    // LONG_BINGET
	'c':  func(u *unpickler) { u.global(u.line(), u.line()) },                // GLOBAL
	'i':  func(u *unpickler) { u.global(u.line(), u.line()); u.refuse('i') }, // INST: read only to name what it calls
	0x93: (*unpickler).stackGlobal,                                           // STACK_GLOBAL
	'Q':  func(u *unpickler) { u.result(u.load(u.pop())) },                   // BINPERSID
	'R':  (*unpickler).reduce,                                                // REDUCE
	'b':  (*unpickler).build,                                                 // BUILD
}

func (u *unpickler) run() (any, error) {
	u.memo = map[uint32]any{}
	for u.err == nil {
		op := u.uint(1)
		if op == '.' && u.err == nil { // STOP
			result := u.pop()
			return result, u.err
		}
		if do := instructions[byte(op)]; do != nil && u.err == nil { // #nosec G115 -- one byte was read
			do(u)
		} else {
			u.refuse(byte(op)) // #nosec G115 -- one byte was read
		}
	}
	return nil, u.err
}

var (
	errCut    = errors.New("breaks off; download the file again")
	errForged = errors.New("is no state_dict that torch.save wrote: its instructions do not fit together; convert it to " +
		"safetensors")
)

func (u *unpickler) fail(err error) {
	if u.err == nil {
		u.err = err
	}
}

func (u *unpickler) refuse(op byte) {
	u.fail(fmt.Errorf("uses the pickle instruction 0x%02x at byte %d, which no plain state_dict needs; convert it to "+
		"safetensors", op, u.pos-1))
}

// takeBytes returns the next n bytes, in place. After a fault it returns none.
func (u *unpickler) takeBytes(n uint64) []byte {
	if u.err != nil || n > uint64(len(u.data)-u.pos) { // #nosec G115 -- pos is never beyond the end
		u.fail(errCut)
		return nil
	}
	u.pos += int(n)                     // #nosec G115 -- it fits what is left
	return u.data[u.pos-int(n) : u.pos] // #nosec G115 -- it fits what is left
}

// uint reads a little-endian number of so many bytes, at most eight.
func (u *unpickler) uint(width uint64) uint64 {
	var full [8]byte
	copy(full[:], u.takeBytes(width))
	return binary.LittleEndian.Uint64(full[:])
}

// line reads up to a line's end, for the names that GLOBAL carries.
func (u *unpickler) line() string {
	for i := u.pos; i < len(u.data); i++ {
		if u.data[i] == '\n' {
			line := u.takeBytes(uint64(i - u.pos)) // #nosec G115 -- i begins at pos
			u.takeBytes(1)
			return string(line)
		}
	}
	u.fail(errCut)
	return ""
}

// long is a two's complement number; the numbers here fit in eight bytes.
func (u *unpickler) long(b []byte) int64 {
	if len(b) > 8 {
		u.fail(errors.New("holds a number of more than 64 bits; it is damaged or forged"))
		return 0
	}
	var full [8]byte
	copy(full[8-len(b):], b)
	return int64(binary.LittleEndian.Uint64(full[:])) >> (8 * (8 - len(b)) & 63) // #nosec G115 -- two's complement
}

func (u *unpickler) push(v any) { u.stack = append(u.stack, v) }

// pop takes the last value, which must not be a mark.
func (u *unpickler) pop() any {
	if len(u.stack) > 0 {
		v := u.stack[len(u.stack)-1]
		if _, bad := v.(mark); !bad {
			u.stack = u.stack[:len(u.stack)-1]
			return v
		}
	}
	u.fail(errForged)
	return nil
}

func (u *unpickler) popN(n int) []any {
	values := make([]any, n)
	for i := range values {
		values[n-1-i] = u.pop()
	}
	return values
}

// popMark takes the values after the last mark, and the mark.
func (u *unpickler) popMark() []any {
	for i := len(u.stack) - 1; i >= 0; i-- {
		if _, ok := u.stack[i].(mark); ok {
			values := u.popN(len(u.stack) - 1 - i)
			u.stack = u.stack[:i]
			return values
		}
	}
	u.fail(errForged)
	return nil
}

func (u *unpickler) protocol() {
	if p := u.uint(1); p > maxProtocol {
		u.fail(fmt.Errorf("uses pickle protocol %d, and %d is the newest; it is damaged", p, maxProtocol))
	}
}

func (u *unpickler) tuple(n int) { u.push(tuple(u.popN(n))) }

func (u *unpickler) text(n uint64) {
	b := u.takeBytes(n)
	if !utf8.Valid(b) {
		u.fail(errors.New("holds text that is not UTF-8; it is damaged"))
	}
	u.push(string(b))
}

// set puts pairs into the dictionary below them on the stack.
func (u *unpickler) set(pairs []any) {
	d, ok := u.top().(dict)
	if !ok || len(pairs)%2 != 0 {
		u.fail(errForged)
		return
	}
	for i := 0; i < len(pairs); i += 2 {
		key, ok := pairs[i].(string)
		if !ok {
			u.fail(errors.New("has a dictionary with keys that are no strings, so it is more than a state_dict; save " +
				"model.state_dict() alone"))
			return
		}
		if _, twice := d[key]; twice {
			u.fail(fmt.Errorf("has two entries named %s; it is damaged or forged", quote(key)))
			return
		}
		d[key] = pairs[i+1]
	}
}

// top is the last value, which stays on the stack.
func (u *unpickler) top() any {
	v := u.pop()
	if u.err == nil {
		u.push(v)
	}
	return v
}

func (u *unpickler) put(at uint32) {
	if v := u.top(); u.err == nil {
		u.memo[at] = v
	}
}

func (u *unpickler) get(at uint32) {
	v, ok := u.memo[at]
	if !ok {
		u.fail(errForged)
	}
	u.push(v)
}

// dotted is a name as in Python code.
var dotted = regexp.MustCompile(`^[\w.]{1,200}$`)

// global pushes what a name stands for, and refuses every name but those of a state_dict.
func (u *unpickler) global(module, name string) {
	full := module + "." + name
	v, ok := u.globals[full]
	if !ok {
		if !dotted.MatchString(full) {
			full = quote(full)
		}
		u.fail(fmt.Errorf("calls %s; a checkpoint that runs code is not read; convert it to safetensors", full))
	}
	u.push(v)
}

func (u *unpickler) stackGlobal() {
	names := u.popN(2)
	module, ok := names[0].(string)
	name, ok2 := names[1].(string)
	if !ok || !ok2 {
		u.fail(errForged)
		return
	}
	u.global(module, name)
}

func (u *unpickler) result(v any, err error) {
	if err != nil {
		u.fail(err)
	}
	u.push(v)
}

func (u *unpickler) reduce() {
	args, ok := u.pop().(tuple)
	f, ok2 := u.pop().(call)
	if !ok || !ok2 {
		u.fail(errForged)
		return
	}
	u.result(f(args))
}

// build drops the attributes of an OrderedDict: state_dict keeps version numbers of layers in _metadata.
func (u *unpickler) build() {
	u.pop()
	if _, ok := u.top().(dict); !ok {
		u.fail(errForged)
	}
}
