package run

import "runtime/debug"

// Memory of Go's own, in bytes, beyond which garbage is collected sooner than at twice of what is in use: rows that go
// through in order take a fraction of it, unless each is near recordSize. The model's memory is not among it.
const (
	softMemory = 250 << 20
	recordSize = 16 << 20
	perRecord  = 16 // times what a record may take beyond recordSize
)

// LimitMemory is Process's, for records as the files may have.
func (f *Files) LimitMemory(p *Process) (restore func()) { return p.LimitMemory(f.maxRecord) }

// LimitMemory keeps less garbage where rows are large, of up to so many bytes, until its result is called. It suits a
// run that holds a few rows at a time. GOMEMLIMIT wins.
func (p *Process) LimitMemory(maxRecord int) (restore func()) {
	if p.Getenv("GOMEMLIMIT") != "" {
		return func() {}
	}
	before := debug.SetMemoryLimit(softMemory + perRecord*max(int64(maxRecord)-recordSize, 0))
	return func() { debug.SetMemoryLimit(before) }
}
