package nativelib

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// releaseBase is where the ONNX Runtime project publishes its release archives.
const releaseBase = "https://github.com/microsoft/onnxruntime/releases/download"

// waitDelay is the time that a cancelled pip or npm has to close its pipes.
const waitDelay = 5 * time.Second

// maxArchive bounds the download of a release archive, in bytes.
const maxArchive = 1 << 30

// fetchPin puts p's archive into dir and returns its path.
func (in *Installer) fetchPin(ctx context.Context, p pin, dir string) (string, error) {
	switch p.source {
	case PyPI:
		return in.fetchPyPI(ctx, p, dir)
	case NPM:
		return in.fetchNPM(ctx, p, dir)
	default:
		return in.fetchRelease(ctx, p, dir)
	}
}

// fetchPyPI downloads the wheel with pip. It names platform, Python and ABI, so that every Python gets the same file.
// The wheel is unzipped, never installed.
func (in *Installer) fetchPyPI(ctx context.Context, p pin, dir string) (string, error) {
	pip, err := findPip(ctx)
	if err != nil {
		return "", err
	}
	project := cmp.Or(p.project, "onnxruntime")
	in.log("fetching %s %s (%d MB) with %s", project, p.version, megabytes(p.download), strings.Join(pip, " "))
	args := append(pip[1:], "download", "--no-deps", "--only-binary=:all:", "--no-input",
		"--disable-pip-version-check", "--progress-bar=off", "--platform", p.platform,
		"--python-version", "3.12", "--implementation", "cp", "--abi", "cp312",
		"--dest", dir, project+"=="+p.version)
	if err := runCommand(ctx, dir, pip[0], args...); err != nil {
		hint := "check that pip reaches its index (proxy, 'pip config list')"
		if p.project == "" {
			hint += ", or try 'erreval setup --source npm'"
		}
		return "", fmt.Errorf("%w\n%s", err, hint)
	}
	return findOnly(dir, "*.whl")
}

// findPip returns the command line of the first pip that runs.
func findPip(ctx context.Context) ([]string, error) {
	for _, pip := range [][]string{{"python3", "-m", "pip"}, {"pip3"}, {"python", "-m", "pip"}, {"pip"}} {
		// #nosec G204 -- one of the four above
		if exec.CommandContext(ctx, pip[0], append(pip[1:], "--version")...).Run() == nil {
			return pip[:len(pip):len(pip)], nil
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return nil, errors.New("no pip: neither 'python3 -m pip' nor 'pip3' runs; install it (Debian, Ubuntu: 'apt-get " +
		"install python3-pip'; Fedora: 'dnf install python3-pip'), or try 'erreval setup --source npm'")
}

func (in *Installer) fetchNPM(ctx context.Context, p pin, dir string) (string, error) {
	if _, err := exec.LookPath("npm"); err != nil {
		return "", errors.New("no npm: it is not on PATH; install Node.js with npm, or use 'erreval setup --source pypi'")
	}
	in.log("fetching onnxruntime-node %s (%d MB) with npm", p.version, megabytes(p.download))
	if err := runCommand(ctx, dir, "npm", "pack", "--silent", "onnxruntime-node@"+p.version); err != nil {
		return "", fmt.Errorf("%w\ncheck that npm reaches its registry ('npm config list'), or use 'erreval setup "+
			"--source pypi'", err)
	}
	return findOnly(dir, "*.tgz")
}

// fetchRelease downloads the project's own archive. None is pinned, so the user must give its SHA-256: without one,
// nothing is unpacked.
func (in *Installer) fetchRelease(ctx context.Context, p pin, dir string) (string, error) {
	top, _, _ := strings.Cut(p.member, "/")
	url := fmt.Sprintf("%s/v%s/%s.tgz", cmp.Or(in.releaseBase, releaseBase), p.version, top)
	if in.SHA256 == "" {
		return "", fmt.Errorf("this version of erreval has no pin for %s; take its SHA-256 from the release page and give "+
			"it with --sha256", url)
	}
	in.log("fetching %s", url)
	archive := filepath.Join(dir, top+".tgz")
	if err := downloadFile(ctx, url, archive); err != nil {
		return "", fmt.Errorf("%w; check the network, or use 'erreval setup --source pypi'", err)
	}
	sum, err := fileSum(archive)
	if err != nil {
		return "", err
	}
	if !strings.EqualFold(sum, in.SHA256) {
		return "", fmt.Errorf("%s: %w", url, hashError(sum, in.SHA256))
	}
	return archive, nil
}

func downloadFile(ctx context.Context, url, path string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, resp.Status)
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	n, err := io.Copy(f, io.LimitReader(resp.Body, maxArchive+1))
	if n > maxArchive {
		err = fmt.Errorf("%s: larger than %d bytes; refused", url, maxArchive)
	}
	return errors.Join(err, f.Close())
}

// runCommand runs a package client. The end of its output is part of the error.
func runCommand(ctx context.Context, dir, name string, args ...string) error {
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, name, args...) // #nosec G204 -- pip or npm; no shell
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = dir, &out, &out, waitDelay
	err := cmd.Run()
	if ctx.Err() != nil {
		return fmt.Errorf("%s %s: %w", name, args[0], ctx.Err())
	}
	if err != nil {
		return fmt.Errorf("'%s %s' failed: %w%s", name, strings.Join(args, " "), err, indentTail(out.String(), 8))
	}
	return nil
}

// indentTail is the last n lines of text, indented, for the end of an error.
func indentTail(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if len(lines) > n {
		lines = lines[len(lines)-n:]
	}
	var b strings.Builder
	for _, line := range lines {
		b.WriteString("\n    " + strings.TrimRight(line, "\r "))
	}
	return b.String()
}

func findOnly(dir, pattern string) (string, error) {
	matches, _ := filepath.Glob(filepath.Join(dir, pattern))
	if len(matches) != 1 {
		return "", fmt.Errorf("expected one %s to arrive, got %d; try again, or another --source", pattern, len(matches))
	}
	return matches[0], nil
}

func megabytes(n int64) int64 { return (n + 500_000) / 1_000_000 }
