package hub

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
)

const (
	maxTries     = 6                // one after the other without progress, as huggingface_hub
	firstWait    = time.Second      // doubled at each try
	longestWait  = 8 * time.Second  // between tries, where the server does not say
	patience     = 10 * time.Minute // a longer Retry-After is not waited for; the hub's windows are five minutes
	stallTimeout = time.Minute      // without a byte
	someProgress = 1 << 20          // bytes; a try that moved as much does not count as failed
	maxRedirects = 10
)

// transient is a failure after which another try may succeed.
type transient struct {
	err   error
	after time.Duration // the wait that the server asks for; 0 if it asks for none
}

func (t *transient) Error() string { return t.err.Error() }
func (t *transient) Unwrap() error { return t.err }

// retryTransient calls try until it succeeds, fails for good, or fails maxTries times in a row. try returns how many
// bytes it got beyond those of all earlier tries.
func (p *pull) retryTransient(ctx context.Context, try func() (int64, error)) error {
	for failed := 1; ; failed++ {
		moved, err := try()
		t, again := errors.AsType[*transient](err)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case !again:
			return err
		case moved >= someProgress:
			failed = 1
		case failed >= maxTries:
			return fmt.Errorf("%w; given up after %d tries, what arrived is kept for the next", err, failed)
		}
		wait := max(t.after, retryDelay(failed))
		if wait > patience {
			return fmt.Errorf("%w; it asks to wait %v: try again then", err, t.after)
		}
		p.printNotice("%v; trying again in %v", err, wait.Round(time.Second))
		if err := p.sleep(ctx, wait); err != nil {
			return err
		}
	}
}

// retryDelay is the wait after so many failures. It doubles, and is random, so that clients that failed together do not
// return together.
func retryDelay(failed int) time.Duration {
	d := min(firstWait<<(failed-1), longestWait)
	return d/2 + rand.N(d/2)
}

func (p *pull) sleep(ctx context.Context, d time.Duration) error {
	if p.wait != nil {
		return p.wait(ctx, d)
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

// address is a URL below the endpoint; the parts must be escaped.
func (p *pull) address(parts ...string) string {
	return p.endpoint.String() + "/" + strings.Join(parts, "/")
}

func (p *pull) token() string { return strings.TrimSpace(p.Token) }

// sendRequest sends one request. The answer's body ends with an error when nothing arrives for the stall time.
func (p *pull) sendRequest(ctx context.Context, method, address string, offset int64) (*http.Response, error) {
	limit := cmp.Or(p.stall, stallTimeout)
	guard := &stallGuard{limit: limit}
	ctx, guard.cancel = context.WithCancelCause(ctx)
	guard.timer = time.AfterFunc(limit, func() { guard.cancel(fmt.Errorf("nothing arrived for %v", limit)) })
	req, err := http.NewRequestWithContext(ctx, method, address, nil)
	if err != nil {
		_ = guard.Close()
		return nil, err
	}
	req.Header.Set("User-Agent", "erreval")
	req.Header.Set("Accept-Encoding", "identity") // sizes and ranges are of the content
	if token := p.token(); token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	if offset > 0 {
		// No If-Range: the hash of the whole is compared at the end. The storage behind a redirect has other etags than
		// the hub, and would send everything again.
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", offset))
	}
	resp, err := p.http.Do(req)
	if err != nil {
		cause := context.Cause(ctx)
		_ = guard.Close()
		return nil, p.connectError(err, cause)
	}
	guard.ctx, guard.body = ctx, resp.Body
	resp.Body = guard
	return resp, nil
}

type stallGuard struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer
	limit  time.Duration
	body   io.ReadCloser
}

func (g *stallGuard) Read(to []byte) (int, error) {
	n, err := g.body.Read(to)
	g.timer.Reset(g.limit)
	if err != nil && !errors.Is(err, io.EOF) && g.ctx.Err() != nil {
		err = context.Cause(g.ctx)
	}
	return n, err
}

func (g *stallGuard) Close() error {
	g.timer.Stop()
	g.cancel(nil)
	if g.body == nil {
		return nil
	}
	return g.body.Close()
}

var errRedirect = errors.New("redirect refused")

// checkRedirect removes the token from requests to any other origin than the endpoint, even if net/http considers it
// the same site (another port, a subdomain).
func (p *pull) checkRedirect(req *http.Request, via []*http.Request) error {
	last := via[len(via)-1].URL
	if len(via) >= maxRedirects {
		return fmt.Errorf("%w: more than %d in a row", errRedirect, maxRedirects)
	}
	if last.Scheme == "https" && req.URL.Scheme != "https" {
		return fmt.Errorf("%w: from %s to %s, which is not encrypted", errRedirect, last.Host, req.URL.Host)
	}
	if !p.isAtEndpoint(req.URL) {
		if req.Method == http.MethodHead { // the hub has said all; the storage's address may be signed for GET only
			return http.ErrUseLastResponse
		}
		req.Header.Del("Authorization")
		req.Header.Del("Referer")
	}
	return nil
}

func (p *pull) isAtEndpoint(u *url.URL) bool {
	return u.Scheme == p.endpoint.Scheme && strings.EqualFold(u.Host, p.endpoint.Host)
}

// connectError says what to try when no answer came. Signed URLs are secrets: it removes what follows the "?".
func (p *pull) connectError(err, cause error) error {
	if at, ok := errors.AsType[*url.Error](err); ok {
		at.URL, _, _ = strings.Cut(at.URL, "?")
	}
	_, badCertificate := errors.AsType[*tls.CertificateVerificationError](err)
	dns, noAddress := errors.AsType[*net.DNSError](err)
	switch {
	case errors.Is(err, errRedirect):
		return err
	case badCertificate:
		return fmt.Errorf("%w; a proxy in between needs its certificate installed (SSL_CERT_FILE)", err)
	case noAddress && dns.IsNotFound:
		return fmt.Errorf("%w; check the network and HF_ENDPOINT, or use --offline", err)
	case cause != nil && !errors.Is(err, cause):
		err = fmt.Errorf("%w: %w", err, cause)
	}
	return &transient{err: fmt.Errorf("%w; check the network and HF_ENDPOINT, or use --offline", err)}
}

// statusError says what the hub refused, and what to try. The hub's X-Error-Code distinguishes causes that have the
// same status. Without a token the hub answers 401 for a name that it does not know.
func (p *pull) statusError(resp *http.Response) error {
	if !p.isAtEndpoint(resp.Request.URL) { // the next try gets a new signed address
		return &transient{err: fmt.Errorf("the storage at %s answers %s", resp.Request.URL.Host, resp.Status),
			after: retryAfter(resp.Header)}
	}
	code, said := resp.Header.Get("X-Error-Code"), ""
	if message := resp.Header.Get("X-Error-Message"); message != "" {
		said = " (" + message + ")"
	}
	page, token := p.address(p.repo), p.token() != ""
	switch status := resp.StatusCode; {
	case code == "GatedRepo" && token:
		return fmt.Errorf("%s is gated%s: accept its conditions at %s with the account that HF_TOKEN belongs to, then "+
			"try again", p.repo, said, page)
	case code == "GatedRepo":
		return fmt.Errorf("%s is gated%s: accept its conditions at %s, then set HF_TOKEN to a token of that account",
			p.repo, said, page)
	case code == "RevisionNotFound":
		return fmt.Errorf("%s has no revision %q: give a branch, tag or commit listed at %s", p.repo, p.revision,
			p.address(p.repo, "commits/main"))
	case code == "EntryNotFound":
		return fmt.Errorf("it is listed but %s does not have it%s: try another HF_ENDPOINT", p.endpoint.Host, said)
	case status == http.StatusUnauthorized && token:
		return fmt.Errorf("%s refuses HF_TOKEN for %s%s: check the name, and that the token is valid and may read it (%s)",
			p.endpoint.Host, p.repo, said, p.address("settings/tokens"))
	case status == http.StatusUnauthorized:
		return fmt.Errorf("%s does not know %s, or it is private%s: check the name, or set HF_TOKEN to a token that may "+
			"read it (%s)", p.endpoint.Host, p.repo, said, p.address("settings/tokens"))
	case status == http.StatusForbidden:
		return fmt.Errorf("%s forbids access to %s%s: check that HF_TOKEN may read it, and that its conditions are "+
			"accepted at %s", p.endpoint.Host, p.repo, said, page)
	case status == http.StatusNotFound:
		return fmt.Errorf("%s has no %s at revision %q%s: check the name; for a private repository set HF_TOKEN",
			p.endpoint.Host, p.repo, p.revision, said)
	case status == http.StatusTooManyRequests:
		return &transient{err: fmt.Errorf("%s limits the rate of requests (429)%s; a token (HF_TOKEN) has a higher limit",
			p.endpoint.Host, said), after: retryAfter(resp.Header)}
	case status == http.StatusRequestTimeout || status >= 500:
		return &transient{err: fmt.Errorf("%s answers %s%s", p.endpoint.Host, resp.Status, said),
			after: retryAfter(resp.Header)}
	default:
		return fmt.Errorf("%s answers %s%s for %s: check HF_ENDPOINT", p.endpoint.Host, resp.Status, said,
			resp.Request.URL.Path)
	}
}

// rateLimit is the hub's header (draft-ietf-httpapi-ratelimit-headers): RateLimit: "api";r=0;t=55 has no request left
// for 55 seconds.
var rateLimit = regexp.MustCompile(`;\s*r=0\s*;\s*t=(\d{1,9})`)

// retryAfter is how long the server asks to wait: Retry-After in seconds or as a date, or RateLimit; 0 if it does not.
func retryAfter(h http.Header) time.Duration {
	seconds := h.Get("Retry-After")
	if m := rateLimit.FindStringSubmatch(h.Get("RateLimit")); m != nil && seconds == "" {
		seconds = m[1]
	}
	if n, err := strconv.ParseUint(seconds, 10, 31); err == nil {
		return time.Duration(n) * time.Second
	}
	if date, err := http.ParseTime(seconds); err == nil {
		return max(time.Until(date), 0)
	}
	return 0
}
