package hub

import (
	"bytes"
	"context"
	"crypto/sha1" // #nosec G505 -- git's name for a blob: what the hub gives for files outside LFS
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"mime"
	"net/http"
	"os"
	"path"
	"regexp"
	"strconv"
	"syscall"
)

// partialSuffix ends the name of a blob that is not complete. huggingface_hub's end in .incomplete too, so its tools
// recognise leftovers; neither program continues a file of the other.
const partialSuffix = ".erreval.incomplete"

// lfsMagic begins a Git LFS pointer, which is always shorter than maxPointer bytes.
const (
	lfsMagic   = "version https://git-lfs.github.com/spec/"
	maxPointer = 1024
)

func blobName(sum string) string { return path.Join("blobs", sum) }

// fetchFile makes sure that f's blob is in the cache. The lock is held.
func (p *pull) fetchFile(ctx context.Context, commit string, f File) error {
	if p.isPresent(f) {
		return nil
	}
	name := blobName(f.Sum) + partialSuffix
	file, err := p.createPartial(name)
	if err != nil {
		return p.diskError(err)
	}
	err = p.download(ctx, commit, f, file)
	if err == nil {
		err = file.Sync()
	}
	size, _ := file.Seek(0, io.SeekEnd)
	err = errors.Join(err, file.Close())
	if err == nil {
		err = p.root.Rename(name, blobName(f.Sum))
	} else if size == 0 {
		err = errors.Join(err, p.root.Remove(name))
	}
	if err != nil {
		return p.diskError(err)
	}
	p.checked[f.Sum] = true
	return nil
}

func (p *pull) createPartial(name string) (partialFile, error) {
	if p.partial != nil {
		return p.partial(p.root, name)
	}
	return p.root.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o666)
}

// isPresent tells whether f's blob is there with the right content; a wrong one will be replaced.
func (p *pull) isPresent(f File) bool {
	if p.checked[f.Sum] {
		return true
	}
	blob, err := p.root.Open(blobName(f.Sum))
	if err != nil {
		return false
	}
	defer blob.Close()
	if checkHash(blob, f) != nil {
		return false
	}
	p.checked[f.Sum] = true
	p.reportProgress(f, f.Size)
	return true
}

// download continues the part in file, or begins it, and compares the whole with its hash. If a part of an earlier pull
// was wrong, download fetches the file again from its start, once.
func (p *pull) download(ctx context.Context, commit string, f File, file partialFile) error {
	start, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	furthest := start // a server that ignores ranges and always cuts makes no progress, however much it sends
	for {
		err := p.retryTransient(ctx, func() (int64, error) {
			err := p.fillFile(ctx, commit, f, file)
			size, _ := file.Seek(0, io.SeekEnd)
			before := furthest
			furthest = max(furthest, size)
			return furthest - before, err
		})
		if err != nil {
			return err
		}
		if err = checkHash(file, f); err == nil {
			return nil
		}
		if err := file.Truncate(0); err != nil {
			return err
		}
		if start == 0 {
			return err
		}
		start, furthest = 0, 0
		p.printNotice("%s: the part that an earlier pull left does not fit; fetching it from the start", f.Name)
	}
}

// fillFile makes one request for the missing rest of file, and appends it.
func (p *pull) fillFile(ctx context.Context, commit string, f File, file partialFile) error {
	offset, err := file.Seek(0, io.SeekEnd)
	if err == nil && f.Size >= 0 && offset > f.Size {
		offset, err = 0, file.Truncate(0)
	}
	if err != nil || offset == f.Size {
		return err
	}
	resp, err := p.sendRequest(ctx, http.MethodGet, p.resolveAddress(commit, f.Name), offset)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode == http.StatusOK:
		offset = 0
	case resp.StatusCode == http.StatusPartialContent && offset > 0 && isRangeFrom(resp.Header.Get("Content-Range"),
		offset, f.Size):
	case resp.StatusCode == http.StatusPartialContent, resp.StatusCode == http.StatusRequestedRangeNotSatisfiable:
		return errors.Join(&transient{err: fmt.Errorf("%s sends another range than bytes %d to %d", resp.Request.URL.Host,
			offset, f.Size)}, file.Truncate(0))
	default:
		return p.statusError(resp)
	}
	if err := file.Truncate(offset); err != nil {
		return err
	}
	if _, err := file.Seek(offset, io.SeekStart); err != nil {
		return err
	}
	if err := checkLength(resp, f, offset); err != nil {
		return err
	}
	return p.copyBody(file, resp.Body, f, offset)
}

var contentRange = regexp.MustCompile(`^bytes (\d{1,18})-\d+/(\d{1,18}|\*)$`)

// isRangeFrom tells whether a Content-Range header (bytes 5-9/10) begins at offset of a file of that size (-1: any).
func isRangeFrom(header string, offset, size int64) bool {
	m := contentRange.FindStringSubmatch(header)
	if m == nil {
		return false
	}
	first, _ := strconv.ParseInt(m[1], 10, 64)
	total, err := strconv.ParseInt(m[2], 10, 64)
	return first == offset && (err != nil || size < 0 || total == size)
}

// checkLength refuses an answer whose length shows that it is another content: an LFS pointer, a login page.
func checkLength(resp *http.Response, f File, offset int64) error {
	if f.Size < 0 || resp.ContentLength < 0 || offset+resp.ContentLength == f.Size {
		return nil
	}
	start, _ := io.ReadAll(io.LimitReader(resp.Body, maxPointer))
	if isPointer(start) {
		return errPointer
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return fmt.Errorf("%s sends %d bytes (%s), the listing says %d: check HF_ENDPOINT, and that no login page stands "+
		"before it",
		resp.Request.URL.Host, offset+resp.ContentLength, kind, f.Size)
}

var errPointer = errors.New("what arrives is the file's Git LFS pointer, not its content: the mirror, or the " +
	"repository itself, lacks the large file; try another HF_ENDPOINT or revision")

func isPointer(start []byte) bool { return bytes.HasPrefix(start, []byte(lfsMagic)) }

// copyBody appends body to file, which has done bytes.
func (p *pull) copyBody(file partialFile, body io.Reader, f File, done int64) error {
	buffer := make([]byte, 256<<10)
	p.reportProgress(f, done)
	for {
		n, err := body.Read(buffer)
		if f.Size >= 0 && done+int64(n) > f.Size {
			return errors.Join(fmt.Errorf("more than the %d bytes arrive that the listing says: check HF_ENDPOINT", f.Size),
				file.Truncate(0))
		}
		if _, err := file.Write(buffer[:n]); err != nil {
			return err
		}
		if done += int64(n); n > 0 {
			p.reportProgress(f, done)
		}
		switch {
		case err == io.EOF && done < f.Size:
			return &transient{err: fmt.Errorf("the connection ended after %d of %d bytes", done, f.Size)}
		case err == io.EOF:
			return nil
		case err != nil:
			return &transient{err: fmt.Errorf("the connection broke after %d bytes: %w", done, err)}
		}
	}
}

// checkHash compares the content of file with f's size and hash.
func checkHash(file io.ReadSeeker, f File) error {
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	h, kind := newHash(f.LFS, size)
	start := make([]byte, len(lfsMagic))
	n, err := io.ReadFull(file, start)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	h.Write(start[:n])
	if _, err := io.Copy(h, file); err != nil {
		return err
	}
	if isPointer(start[:n]) && size < maxPointer {
		return errPointer
	}
	if sum := hex.EncodeToString(h.Sum(nil)); sum != f.Sum || (f.Size >= 0 && size != f.Size) {
		return fmt.Errorf("the content was changed on its way or on disk: %s %s of %d bytes, it should be %s of %d; try "+
			"again, or another HF_ENDPOINT", kind, sum, size, f.Sum, f.Size)
	}
	return nil
}

// newHash is SHA-256, or git's SHA-1 of a blob of that size.
func newHash(lfs bool, size int64) (hash.Hash, string) {
	if lfs {
		return sha256.New(), "SHA-256"
	}
	h := sha1.New() // #nosec G401 -- git's name of a blob; the hub gives no other hash for small files
	fmt.Fprintf(h, "blob %d\x00", size)
	return h, "git blob SHA-1"
}

// diskError says what to do about a full disk and a cache that may not be written; other errors stay as they are.
func (p *pull) diskError(err error) error {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("no room left on the disk of %s: %w; make room, or put the cache elsewhere with HF_HOME; what "+
			"arrived is kept, and the next pull continues", p.Cache, err)
	case errors.Is(err, os.ErrPermission), errors.Is(err, syscall.EROFS):
		return fmt.Errorf("the cache %s cannot be written: %w; choose another with HF_HOME", p.Cache, err)
	}
	return err
}
