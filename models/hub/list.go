package hub

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// maxListing bounds the listing of a repository, in bytes. One of 100,000 files has about 20 MB.
const maxListing = 64 << 20

// Hashes in listings, etags and names of blobs: lower case, hexadecimal.
var (
	isSHA1   = regexp.MustCompile(`^[0-9a-f]{40}$`).MatchString
	isSHA256 = regexp.MustCompile(`^[0-9a-f]{64}$`).MatchString
)

// listFiles asks which commit the revision is and what files it has.
func (p *pull) listFiles(ctx context.Context) (commit string, files []File, err error) {
	address := p.address("api/models", p.repo, "revision", url.PathEscape(p.revision)) + "?blobs=true"
	err = p.retryTransient(ctx, func() (int64, error) {
		data, err := p.getBody(ctx, address)
		if err != nil {
			return 0, err
		}
		commit, files, err = parseListing(data)
		return 0, err
	})
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("pull %s: %w", p.repo, err)
	}
	return commit, files, err
}

func (p *pull) getBody(ctx context.Context, address string) ([]byte, error) {
	resp, err := p.sendRequest(ctx, http.MethodGet, address, 0)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, p.statusError(resp)
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxListing+1))
	if err != nil {
		return nil, &transient{err: fmt.Errorf("the listing was cut off: %w", err)}
	}
	if len(data) > maxListing {
		return nil, fmt.Errorf("the listing has more than %d bytes; it is refused", maxListing)
	}
	return data, nil
}

// parseListing reads the answer of /api/models/ORG/NAME/revision/REV?blobs=true.
func parseListing(data []byte) (commit string, files []File, err error) {
	var listing struct {
		SHA      string `json:"sha"`
		Siblings []struct {
			Name   string `json:"rfilename"`
			Size   *int64 `json:"size"`
			BlobID string `json:"blobId"`
			LFS    *struct {
				SHA256 string `json:"sha256"`
				Size   *int64 `json:"size"`
			} `json:"lfs"`
		} `json:"siblings"`
	}
	if err := json.Unmarshal(data, &listing); err != nil {
		return "", nil, fmt.Errorf("the listing is not what a hub sends (%w): check HF_ENDPOINT, and that no login page "+
			"stands before it", err)
	}
	if !isSHA1(listing.SHA) {
		return "", nil, fmt.Errorf("the listing names no commit (sha is %q): check HF_ENDPOINT", listing.SHA)
	}
	for _, s := range listing.Siblings {
		f := File{Name: s.Name, Size: -1}
		size := s.Size
		switch {
		case s.LFS != nil && isSHA256(s.LFS.SHA256):
			f.LFS, f.Sum, size = true, s.LFS.SHA256, s.LFS.Size
		case s.LFS == nil && isSHA1(s.BlobID):
			f.Sum = s.BlobID
		}
		if size != nil && *size >= 0 {
			f.Size = *size
		}
		files = append(files, f)
	}
	return listing.SHA, files, nil
}

// headFile asks for the hash of a file that the listing has none for (a mirror that does not know blobs=true): the
// hub's etag is the content's hash.
func (p *pull) headFile(ctx context.Context, commit string, f File) (File, error) {
	err := p.retryTransient(ctx, func() (int64, error) {
		resp, err := p.sendRequest(ctx, http.MethodHead, p.resolveAddress(commit, f.Name), 0)
		if err != nil {
			return 0, err
		}
		defer resp.Body.Close()
		if resp.StatusCode >= http.StatusBadRequest {
			return 0, p.statusError(resp)
		}
		return 0, f.fromHeader(resp)
	})
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("%s: %s: %w", p.repo, f.Name, err)
	}
	return f, err
}

// fromHeader reads hash and size from the hub's headers, which come before the redirect to the storage.
func (f *File) fromHeader(resp *http.Response) error {
	etag, size := resp.Header.Get("X-Linked-Etag"), resp.Header.Get("X-Linked-Size")
	if etag == "" {
		etag, size = resp.Header.Get("Etag"), resp.Header.Get("Content-Length")
	}
	f.Sum = strings.Trim(strings.TrimPrefix(etag, "W/"), `"`)
	f.LFS = isSHA256(f.Sum)
	if n, err := strconv.ParseInt(size, 10, 64); err == nil && n >= 0 {
		f.Size = n
	}
	if f.LFS || isSHA1(f.Sum) {
		return nil
	}
	return errors.New("neither the listing nor the file's etag has its hash, so nobody could say whether it arrives as " +
		"it is: use another HF_ENDPOINT")
}

func (p *pull) resolveAddress(commit, name string) string {
	parts := strings.Split(name, "/")
	for i, part := range parts {
		parts[i] = url.PathEscape(part)
	}
	return p.address(p.repo, "resolve", commit, strings.Join(parts, "/"))
}

// checkName refuses a name that could lead out of its folder on any system.
func checkName(name string) error {
	bad := strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\\' || r == ':' })
	if bad || name == "" || name == "." || path.Clean("/"+name) != "/"+name {
		return fmt.Errorf("%q leads out of its folder or is no file's name", name)
	}
	return nil
}
