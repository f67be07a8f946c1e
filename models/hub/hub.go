// Package hub fetches model repositories from the Hugging Face hub, or a mirror of it, into a cache on disk. The cache
// has the layout of Python's huggingface_hub, so each finds what the other fetched:
//
//	CACHE/models--ORG--NAME/refs/main                    the commit that main was at the last pull
//	CACHE/models--ORG--NAME/blobs/SUM                    contents, named by their hash
//	CACHE/models--ORG--NAME/snapshots/COMMIT/config.json a symbolic link to ../../blobs/SUM
//
// No content is used before its hash was compared with the one in the repository's listing: SHA-256 for a file that
// Git LFS holds, the git blob SHA-1 for the others.
package hub

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// defaultEndpoint is the hub that a Client without an Endpoint asks.
const defaultEndpoint = "https://huggingface.co"

// defaultRevision is the branch that Pull takes for the revision "".
const defaultRevision = "main"

// Client says where repositories come from and where they go. Several goroutines may use it, and several processes may
// pull the same repository into the same cache. Only Cache must be set.
type Client struct {
	// Endpoint is the hub's address, such as HF_ENDPOINT names a mirror; "" is https://huggingface.co.
	Endpoint string
	// Token (HF_TOKEN) goes to Endpoint only, never to another host that a redirect names. "" asks anonymously.
	Token string
	// Cache is huggingface_hub's cache folder, see CacheDir. It is made if it is not there.
	Cache string
	// Offline takes everything from the cache and opens no connection.
	Offline bool
	// HTTP makes the connections; nil is a client of its own on http.DefaultTransport. Its redirect policy is replaced.
	HTTP *http.Client
	// Select picks the files to fetch out of all names in the repository; nil is SelectModel.
	Select func(names []string) ([]string, error)
	// Progress, if set, is called from Pull's goroutine after each piece of a file arrived, often: done and total are in
	// bytes, total is -1 where the hub does not say. A file that was already there is reported once, complete.
	Progress func(file string, done, total int64)
	// Notice, if set, is called with a sentence that says why Pull waits: a retry, another process's lock.
	Notice func(message string)

	wait    func(context.Context, time.Duration) error // tests: instead of waiting for real
	stall   time.Duration                              // tests: instead of stallTimeout
	partial func(*os.Root, string) (partialFile, error)
}

// Snapshot is a repository at one commit, as far as its files were selected.
type Snapshot struct {
	// the snapshot's folder; its files are symbolic links into the cache, so open them by path, not by an os.Root here
	Dir    string
	Repo   string          // ORG/NAME
	Commit string          // 40 hexadecimal digits
	Files  map[string]File // by name in the repository
}

// File is one file of a snapshot.
type File struct {
	Name string // in the repository, with slashes
	Path string // on disk, below Snapshot.Dir
	Size int64  // bytes
	LFS  bool   // held by Git LFS: Sum is a SHA-256
	// Sum is the hexadecimal hash that the content was compared with: SHA-256 if LFS, else git's blob SHA-1. It is ""
	// for a file without a link to a blob, found offline: nothing says what it should be.
	Sum string
}

// partialFile is a download that is not complete: an *os.File, or a test's full disk.
type partialFile interface {
	io.ReadWriteSeeker
	io.Closer
	Truncate(size int64) error
	Sync() error
}

// CacheDir is the folder of huggingface_hub's cache: HF_HUB_CACHE, else hub below HF_HOME, else below the user's cache.
// getenv reads the environment.
func CacheDir(getenv func(name string) string) (string, error) {
	if dir := getenv("HF_HUB_CACHE"); dir != "" {
		return filepath.Abs(dir)
	}
	if dir := getenv("HF_HOME"); dir != "" {
		return filepath.Abs(filepath.Join(dir, "hub"))
	}
	if dir := getenv("XDG_CACHE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "huggingface", "hub"), nil
	}
	if home := getenv("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".cache", "huggingface", "hub"), nil
	}
	return "", errors.New("no cache folder: neither HF_HOME nor XDG_CACHE_HOME nor HOME holds an absolute path; set " +
		"HF_HOME")
}

type pull struct {
	*Client
	repo, revision string
	endpoint       *url.URL
	http           http.Client
	dir            string   // the repository's folder in the cache
	root           *os.Root // of dir: no name can lead out of it
	checked        map[string]bool
}

// Pull fetches the selected files of repo (ORG/NAME, or NAME for the few without an organisation) at revision (a
// branch, tag or commit; "" is main) into the cache and returns them. It does not fetch files that the cache has with
// the right hash, and it continues files that an earlier pull did not complete. If Pull fails or is cancelled, the
// cache holds no wrong file, and the next Pull can use the complete files and the parts.
func (c *Client) Pull(ctx context.Context, repo, revision string) (*Snapshot, error) {
	p, err := c.newPull(repo, revision)
	if err != nil {
		return nil, err
	}
	if c.Offline {
		return p.fromCache()
	}
	return p.fromHub(ctx)
}

// repoName is huggingface_hub's rule; "--" and ".." are refused beside it.
var repoName = regexp.MustCompile(`^(?:[A-Za-z0-9_][\w.-]{0,95}/)?[A-Za-z0-9_][\w.-]{0,95}$`)

func (c *Client) newPull(repo, revision string) (*pull, error) {
	if !repoName.MatchString(repo) || strings.Contains(repo, "--") || strings.Contains(repo, "..") {
		return nil, fmt.Errorf("%q is no repository's name; give ORG/NAME as in its address on the hub", repo)
	}
	revision = cmp.Or(revision, defaultRevision)
	if err := checkName(revision); err != nil {
		return nil, fmt.Errorf("revision %w; give a branch, a tag or a commit", err)
	}
	if c.Cache == "" {
		return nil, errors.New("hub: no cache folder given")
	}
	endpoint, err := url.Parse(strings.TrimRight(cmp.Or(c.Endpoint, defaultEndpoint), "/"))
	if err != nil || endpoint.Host == "" || (endpoint.Scheme != "https" && endpoint.Scheme != "http") {
		return nil, fmt.Errorf("HF_ENDPOINT %q is no address; give one like %s", c.Endpoint, defaultEndpoint)
	}
	p := &pull{Client: c, repo: repo, revision: revision, endpoint: endpoint, checked: map[string]bool{},
		dir: filepath.Join(c.Cache, "models--"+strings.ReplaceAll(repo, "/", "--"))}
	if c.HTTP != nil {
		p.http = *c.HTTP
	}
	p.http.CheckRedirect = p.checkRedirect
	return p, nil
}

// fromHub asks the hub for the list of files, and fetches what the cache lacks. It makes links and the ref last, so a
// visible snapshot is complete.
func (p *pull) fromHub(ctx context.Context) (*Snapshot, error) {
	commit, listed, err := p.listFiles(ctx)
	if err != nil {
		return nil, err
	}
	files, err := p.chooseFiles(ctx, commit, listed)
	if err != nil {
		return nil, err
	}
	if err := p.makeCache(); err != nil {
		return nil, err
	}
	defer p.root.Close()
	if p.isComplete(commit, files) {
		return p.newSnapshot(commit, files), nil
	}
	unlock, err := p.lockRepo(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	for _, f := range files {
		if err := p.fetchFile(ctx, commit, f); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", p.repo, f.Name, err)
		}
	}
	if err := p.publishSnapshot(commit, files); err != nil {
		return nil, p.diskError(err)
	}
	return p.newSnapshot(commit, files), nil
}

// chooseFiles returns the selected files, each with a valid name and a hash.
func (p *pull) chooseFiles(ctx context.Context, commit string, listed []File) ([]File, error) {
	byName := make(map[string]File, len(listed))
	names := make([]string, len(listed))
	for i, f := range listed {
		names[i], byName[f.Name] = f.Name, f
	}
	selected, err := p.selectNames(names)
	if err != nil {
		return nil, fmt.Errorf("%s at %s: %w", p.repo, commit, err)
	}
	files := make([]File, len(selected))
	for i, name := range selected {
		f, ok := byName[name]
		if !ok {
			return nil, fmt.Errorf("%s at %s has no file %q", p.repo, commit, name)
		}
		if err := checkName(name); err != nil {
			return nil, fmt.Errorf("%s: file name %w; it is refused", p.repo, err)
		}
		if f.Sum == "" {
			if f, err = p.headFile(ctx, commit, f); err != nil {
				return nil, err
			}
		}
		files[i] = f
	}
	return files, nil
}

func (p *pull) selectNames(names []string) ([]string, error) {
	if p.Select == nil {
		return SelectModel(names)
	}
	return p.Select(names)
}

func (p *pull) newSnapshot(commit string, files []File) *Snapshot {
	s := &Snapshot{Dir: filepath.Join(p.dir, "snapshots", commit), Repo: p.repo, Commit: commit,
		Files: make(map[string]File, len(files))}
	for _, f := range files {
		f.Path = filepath.Join(s.Dir, filepath.FromSlash(f.Name))
		s.Files[f.Name] = f
	}
	return s
}

func (p *pull) reportProgress(f File, done int64) {
	if p.Progress != nil {
		p.Progress(f.Name, done, f.Size)
	}
}

func (p *pull) printNotice(format string, args ...any) {
	if p.Notice != nil {
		p.Notice(fmt.Sprintf(format, args...))
	}
}
