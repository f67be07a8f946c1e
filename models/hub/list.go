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
	"slices"
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

// All these files of a tokenizer are fetched if the repository has them; it has a tokenizer if it has one of
// tokenizers. The vocabularies beside a tokenizer.json hold nothing that is not in it.
var (
	tokenizers     = []string{"tokenizer.json", "vocab.json", "vocab.txt"}
	tokenizerExtra = []string{"tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"}
)

// SelectModel picks what erreval needs to import a model: config.json (and erreval's manifest.json), the tokenizer, and
// one kind of weights, the first of: model.safetensors, its shards with their index, pytorch_model.bin, its shards,
// onnx/model.onnx or model.onnx with external data. A repository with a manifest.json is taken with its model.onnx. The
// error names all parts that are missing.
func SelectModel(names []string) ([]string, error) {
	n := make(nameSet, len(names))
	for _, name := range names {
		n[name] = true
	}
	exported := n["manifest.json"] && n["model.onnx"]
	picked := append(n.presentNames("manifest.json", "config.json"), n.tokenizerFiles()...)
	weights, lost := n.weightFiles(names, exported)
	var lacks []string
	if !exported && !n["config.json"] {
		lacks = append(lacks, "config.json")
	}
	if len(n.presentNames(tokenizers...)) == 0 {
		lacks = append(lacks, "a tokenizer (tokenizer.json, vocab.json with merges.txt, or vocab.txt)")
	}
	if len(weights) == 0 {
		lacks = append(lacks,
			"weights (model.safetensors, pytorch_model.bin, their shards with an index, or onnx/model.onnx)")
	}
	lacks = append(lacks, lost...)
	if len(lacks) > 0 {
		return nil, fmt.Errorf("%s missing; there are %s", strings.Join(lacks, ", "), someNames(names))
	}
	return append(picked, weights...), nil
}

// mostLost is how many missing shards an error names.
const mostLost = 3

type nameSet map[string]bool

func (n nameSet) presentNames(names ...string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !n[name] })
}

func (n nameSet) tokenizerFiles() []string {
	if n["tokenizer.json"] {
		return n.presentNames(append([]string{"tokenizer.json"}, tokenizerExtra...)...)
	}
	return n.presentNames(append([]string{"vocab.json", "merges.txt", "vocab.txt"}, tokenizerExtra...)...)
}

// weightFiles returns one kind of weights, and its shards that are missing.
func (n nameSet) weightFiles(names []string, exported bool) (found, lost []string) {
	switch {
	case exported:
		return graphFiles(names, "model.onnx"), nil
	case n["model.safetensors"]:
		return []string{"model.safetensors"}, nil
	case n["model.safetensors.index.json"]:
		return n.shardFiles(names, "model", "safetensors")
	case n["pytorch_model.bin"]:
		return []string{"pytorch_model.bin"}, nil
	case n["pytorch_model.bin.index.json"]:
		return n.shardFiles(names, "pytorch_model", "bin")
	case n["onnx/model.onnx"]:
		return graphFiles(names, "onnx/model.onnx"), nil
	case n["model.onnx"]:
		return graphFiles(names, "model.onnx"), nil
	}
	return nil, nil
}

// graphFiles returns a graph and its external data, named model.onnx.data (torch, erreval) or model.onnx_data
// (Optimum).
func graphFiles(names []string, graph string) []string {
	found := []string{graph}
	for _, name := range names {
		if strings.HasPrefix(name, graph+".data") || strings.HasPrefix(name, graph+"_data") {
			found = append(found, name)
		}
	}
	return found
}

// shardFiles returns the index and the shards, whose names transformers makes: model-00001-of-00003.safetensors.
func (n nameSet) shardFiles(names []string, stem, extension string) (found, lost []string) {
	pattern := regexp.MustCompile(`^` + stem + `-\d{5}-of-(\d{5})\.` + extension + `$`)
	for _, name := range names {
		if m := pattern.FindStringSubmatch(name); m != nil {
			count, _ := strconv.Atoi(m[1])
			for i := 1; i <= count && len(lost) <= mostLost; i++ {
				shard := fmt.Sprintf("%s-%05d-of-%s.%s", stem, i, m[1], extension)
				if n[shard] {
					found = append(found, shard)
				} else {
					lost = append(lost, shard)
				}
			}
			break
		}
	}
	if len(lost) > mostLost {
		lost[mostLost] = "and more shards"
	}
	if len(found) > 0 {
		found = append(found, stem+"."+extension+".index.json")
	}
	return found, lost
}

// someNames lists names for a message, at most a few lines of them.
func someNames(names []string) string {
	const most = 12
	switch {
	case len(names) == 0:
		return "no files at all"
	case len(names) > most:
		return fmt.Sprintf("%s and %d more files", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}
