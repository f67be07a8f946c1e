package hub

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// lockPoll is how often a pull looks whether another's lock is gone.
const lockPoll = 100 * time.Millisecond

// makeCache makes the repository's folder in the cache and its parts, and opens it.
func (p *pull) makeCache() (err error) {
	if err := os.MkdirAll(p.dir, 0o777); err != nil {
		return p.diskError(err)
	}
	if p.root, err = os.OpenRoot(p.dir); err != nil {
		return err
	}
	if err := p.root.MkdirAll("blobs", 0o777); err != nil {
		return errors.Join(p.diskError(err), p.root.Close())
	}
	return nil
}

// lockRepo keeps other pulls out of the repository, in this process and in others. The lock ends with the process.
func (p *pull) lockRepo(ctx context.Context) (unlock func(), err error) {
	dir := filepath.Join(p.Cache, ".locks", filepath.Base(p.dir))
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, p.diskError(err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "erreval.lock"), os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o666)
	if err != nil {
		return nil, p.diskError(err)
	}
	for told := false; ; told = true {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			return func() { _ = f.Close() }, nil
		case !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR):
			return nil, errors.Join(fmt.Errorf("%s cannot be locked: %w; put the cache on a local disk with HF_HOME", f.Name(),
				err), f.Close())
		case !told:
			p.printNotice("another pull of %s is running; waiting for it", p.repo)
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(context.Cause(ctx), f.Close())
		case <-time.After(lockPoll):
		}
	}
}

// isComplete tells whether the cache already has everything; then a read-only cache is enough.
func (p *pull) isComplete(commit string, files []File) bool {
	if p.revision != commit && p.readRef() != commit {
		return false
	}
	for _, f := range files {
		name, target := snapshotLink(commit, f)
		if at, err := p.root.Readlink(name); err != nil || at != target || !p.isPresent(f) {
			return false
		}
	}
	return true
}

// snapshotLink is the name of a snapshot's file and the blob that it links to, relative to it.
func snapshotLink(commit string, f File) (name, target string) {
	up := strings.Repeat("../", 2+strings.Count(f.Name, "/"))
	return path.Join("snapshots", commit, f.Name), up + blobName(f.Sum)
}

// publishSnapshot makes the snapshot's links and the ref, each in one step.
func (p *pull) publishSnapshot(commit string, files []File) error {
	for _, f := range files {
		name, target := snapshotLink(commit, f)
		if err := p.root.MkdirAll(path.Dir(name), 0o777); err != nil {
			return err
		}
		if at, err := p.root.Readlink(name); err == nil && at == target {
			continue
		}
		err := p.replaceFile(name, func(temporary string) error { return p.root.Symlink(target, temporary) })
		if err != nil {
			return fmt.Errorf("%w; the file system of %s must know symbolic links: choose another with HF_HOME", err, p.Cache)
		}
	}
	if p.revision == commit || p.readRef() == commit {
		return nil
	}
	if err := p.root.MkdirAll(path.Dir(refName(p.revision)), 0o777); err != nil {
		return err
	}
	return p.replaceFile(refName(p.revision), func(temporary string) error {
		return p.root.WriteFile(temporary, []byte(commit), 0o666)
	})
}

// replaceFile makes a file or link under a temporary name and renames it. internal/wholefile makes no links, and writes
// by path, not below p.root.
func (p *pull) replaceFile(name string, create func(temporary string) error) error {
	temporary := name + "." + strconv.Itoa(os.Getpid()) + ".tmp"
	_ = p.root.Remove(temporary) // left by a process that died and had the same number
	if err := create(temporary); err != nil {
		return err
	}
	return p.root.Rename(temporary, name)
}

func refName(revision string) string { return path.Join("refs", revision) }

// readRef is the commit that the cache knows for the revision; "" if it knows none.
func (p *pull) readRef() string {
	data, err := p.root.ReadFile(refName(p.revision))
	if commit := strings.TrimSpace(string(data)); err == nil && isSHA1(commit) {
		return commit
	}
	return ""
}

// fromCache returns what the cache has. Each file is compared with the hash in its blob's name.
func (p *pull) fromCache() (s *Snapshot, err error) {
	if p.root, err = os.OpenRoot(p.dir); errors.Is(err, fs.ErrNotExist) {
		return nil, p.notCached("nothing of it")
	} else if err != nil {
		return nil, err
	}
	defer p.root.Close()
	commit := p.revision
	if !isSHA1(commit) {
		commit = p.readRef()
	}
	names, err := p.cachedNames(commit)
	if err != nil {
		return nil, err
	}
	selected, err := p.selectNames(names)
	if err != nil {
		return nil, p.notCached(fmt.Sprintf("only a part of commit %s: %v", commit, err))
	}
	files := make([]File, len(selected))
	for i, name := range selected {
		if files[i], err = p.cachedFile(commit, name); err != nil {
			return nil, p.notCached(fmt.Sprintf("commit %s, but not %s: %v", commit, name, err))
		}
	}
	return p.newSnapshot(commit, files), nil
}

func (p *pull) notCached(has string) error {
	return fmt.Errorf("%s at revision %q is not complete in %s, which has %s; pull it once without --offline", p.repo,
		p.revision, p.Cache, has)
}

func (p *pull) cachedNames(commit string) (names []string, err error) {
	top := path.Join("snapshots", commit)
	if _, err := p.root.Stat(top); commit == "" || err != nil {
		return nil, p.notCached("other revisions of it")
	}
	err = fs.WalkDir(p.root.FS(), top, func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, strings.TrimPrefix(name, top+"/"))
		}
		return err
	})
	return names, err
}

// cachedFile opens a snapshot's file; the name of the blob it links to is the hash of its content.
func (p *pull) cachedFile(commit, name string) (File, error) {
	if err := checkName(name); err != nil {
		return File{}, err
	}
	f := File{Name: name}
	at := path.Join("snapshots", commit, name)
	file, err := p.root.Open(at)
	if err != nil {
		return f, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return f, err
	}
	f.Size = info.Size()
	if blob, err := p.root.Readlink(at); err == nil {
		f.Sum = path.Base(blob)
	}
	if f.LFS = isSHA256(f.Sum); !f.LFS && !isSHA1(f.Sum) {
		f.Sum = ""
	} else if err := checkHash(file, f); err != nil {
		return f, err
	}
	p.reportProgress(f, f.Size)
	return f, nil
}
