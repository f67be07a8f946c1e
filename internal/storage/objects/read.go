package objects

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"slices"
	"sync"
)

// File is an object that is read, from its beginning or anywhere. Where the connection or the store fails, reading goes
// on behind the last byte. Read is not safe for concurrent use; ReadAt is.
type File struct {
	ctx   context.Context //nolint:containedctx // of io.Reader's and io.ReaderAt's calls
	store store
	name  string
	key   string
	info  *Info
	at    int64
	body  io.ReadCloser // from at on; nil before the first byte and after a failure

	mu     sync.Mutex
	blocks []block // read at random, the latest last
}

// block is a part of an object that Parquet files and workbooks are read by.
type block struct {
	number int64
	data   []byte
}

const (
	blockSize = 1 << 20
	maxBlocks = 16
)

// Open opens an object, whose bytes are fetched as they are read.
func Open(ctx context.Context, name string) (*File, error) {
	s, key, err := openKey(name)
	if err != nil {
		return nil, err
	}
	f := &File{ctx: ctx, store: s, name: name, key: key}
	if err := again(ctx, func() error { return f.openBody(0, -1, &f.body) }); err != nil {
		return nil, explain(name, err)
	}
	return f, nil
}

// Stat implements fs.File.
func (f *File) Stat() (fs.FileInfo, error) { return f.info, nil }

// Close implements io.Closer.
func (f *File) Close() error {
	if f.body == nil {
		return nil
	}
	return f.body.Close()
}

// openBody asks for a range of the object, and compares the object with what it was at first.
func (f *File) openBody(from, length int64, to *io.ReadCloser) error {
	body, info, err := f.store.read(f.ctx, f.key, from, length)
	if err != nil {
		return err
	}
	if f.info == nil {
		f.info = info
	}
	if info.size != f.info.size || !info.modTime.Equal(f.info.modTime) {
		_ = body.Close() // whatever it says
		return ErrReplaced
	}
	*to = body
	return nil
}

// ErrReplaced is the error of an object that was replaced while it was read.
var ErrReplaced error = &lastingError{errors.New("was replaced while it was read; run again once nothing writes it")}

// Read implements io.Reader.
func (f *File) Read(p []byte) (n int, err error) {
	if f.at >= f.info.size {
		return 0, io.EOF
	}
	err = f.again(func() error {
		if f.body == nil {
			if err := f.openBody(f.at, -1, &f.body); err != nil {
				return err
			}
		}
		if n, err = f.body.Read(p); n > 0 {
			return nil
		}
		_ = f.body.Close() // what it says was said by Read
		f.body = nil
		if err == nil || errors.Is(err, io.EOF) {
			return io.ErrUnexpectedEOF
		}
		return err
	})
	f.at += int64(n)
	return n, err
}

func (f *File) again(try func() error) error { return explain(f.name, again(f.ctx, try)) }

// ReadAt implements io.ReaderAt.
func (f *File) ReadAt(p []byte, off int64) (n int, err error) {
	for n < len(p) {
		if off >= f.info.size {
			return n, io.EOF
		}
		data, err := f.block(off / blockSize)
		if err != nil {
			return n, err
		}
		copied := copy(p[n:], data[off%blockSize:])
		n, off = n+copied, off+int64(copied)
	}
	return n, nil
}

// block gives a block of the object, fetched unless it is one of the latest.
func (f *File) block(number int64) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if i := slices.IndexFunc(f.blocks, func(b block) bool { return b.number == number }); i >= 0 {
		b := f.blocks[i]
		f.blocks = append(slices.Delete(f.blocks, i, i+1), b)
		return b.data, nil
	}
	data := make([]byte, min(blockSize, f.info.size-number*blockSize))
	err := f.again(func() error {
		var body io.ReadCloser
		if err := f.openBody(number*blockSize, int64(len(data)), &body); err != nil {
			return err
		}
		_, err := io.ReadFull(body, data)
		return errors.Join(err, body.Close())
	})
	if err != nil {
		return nil, err
	}
	if len(f.blocks) == maxBlocks {
		f.blocks = slices.Delete(f.blocks, 0, 1)
	}
	f.blocks = append(f.blocks, block{number, data})
	return data, nil
}
