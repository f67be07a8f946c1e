// Package loopback serves pages and APIs to the users of one machine: the review of a batch, and erreval serve. It
// listens on the loopback interface unless it is told otherwise, refuses what other sites and machines ask, wants a
// token, bounds time and connections, and ends in good order.
package loopback

import (
	"bytes"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/erreval/erreval/internal/plainjson"
)

// Policy is the Content-Security-Policy of pages that need nothing but their server's own files: run, load and call
// nothing else, build no markup from text, show the page in no frame.
const Policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; " +
	"trusted-types 'none'"

// security is what the browser is told about every reply, besides the policy.
var security = map[string]string{
	"X-Content-Type-Options":       "nosniff",
	"X-Frame-Options":              "DENY",
	"Referrer-Policy":              "no-referrer",
	"Cross-Origin-Opener-Policy":   "same-origin",
	"Cross-Origin-Resource-Policy": "same-origin",
	"Cache-Control":                "no-store",
}

// Guard lets through what a server's own users ask. NewGuard makes one for this machine alone.
type Guard struct {
	Hosts   []string // what the header Host may be; the first stands in Address
	Remote  bool     // other machines may ask, too
	Proxied bool     // what is in front may speak TLS: pages of https://HOST are the server's own
	Policy  string   // Content-Security-Policy
	Token   string
	Hint    string // what a refusal says to who has no token
}

// NewGuard is a guard with a random token for who asks the address of a listener from this machine.
func NewGuard(address net.Addr) (*Guard, error) {
	host, port, err := net.SplitHostPort(address.String())
	if err != nil {
		return nil, err
	}
	return &Guard{Hosts: []string{net.JoinHostPort(host, port), "localhost:" + port}, Policy: Policy, Token: rand.Text(),
		Hint: "open the address that the terminal shows, with its token; it is a new one at every start"}, nil
}

// Base is the server's address.
func (g *Guard) Base() string { return "http://" + g.Hosts[0] + "/" }

// Address is what to open in a browser, with the token. Its part behind the # is never sent in a request's line.
func (g *Guard) Address() string { return g.Base() + "#token=" + g.Token }

// Protect lets through what users of this very server ask. The name in Host must be one of its own: a foreign name that
// resolves to it (DNS rebinding) is refused; and so is what another site's page sends.
func (g *Guard) Protect(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, value := range security {
			w.Header().Set(name, value)
		}
		w.Header().Set("Content-Security-Policy", g.Policy)
		switch {
		case !g.Remote && !IsLoopback(r.RemoteAddr):
			Refuse(w, http.StatusForbidden, "only this machine may ask")
		case !slices.Contains(g.Hosts, r.Host):
			Refuse(w, http.StatusMisdirectedRequest, g.otherHost())
		case g.foreign(r):
			Refuse(w, http.StatusForbidden, "another site's page may not ask")
		default:
			next.ServeHTTP(w, r)
		}
	})
}

func (g *Guard) otherHost() string {
	if g.Remote || g.Proxied {
		return "this server does not go by that name; ask it by a name that it was started with"
	}
	return "this is " + g.Hosts[0] + "; open the address that the terminal shows, and forward a port only to the same " +
		"number"
}

// IsLoopback tells whether address, with its port, is the loopback's.
func IsLoopback(address string) bool {
	a, err := netip.ParseAddrPort(address)
	return err == nil && a.Addr().Unmap().IsLoopback()
}

// foreign tells whether a browser says that a page of another origin asks. Origin comes with every request that changes
// something, Sec-Fetch-Site with all; programs that are no browsers send neither, and need the token like anyone.
func (g *Guard) foreign(r *http.Request) bool {
	origin, site := r.Header["Origin"], r.Header["Sec-Fetch-Site"]
	if len(origin) > 1 || len(site) > 1 {
		return true
	}
	own := len(origin) == 0 || origin[0] == "http://"+r.Host || g.Proxied && origin[0] == "https://"+r.Host
	if !own {
		return true
	}
	return len(site) == 1 && site[0] != "same-origin" && site[0] != "none" // none: a person opened the address
}

// WithToken lets through what knows the token.
func (g *Guard) WithToken(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		scheme, given, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		ok := strings.EqualFold(scheme, "Bearer")
		if !ok || subtle.ConstantTimeCompare([]byte(given), []byte(g.Token)) != 1 {
			w.Header().Set("WWW-Authenticate", "Bearer")
			Refuse(w, http.StatusUnauthorized, g.Hint)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// Reply replies with v as JSON.
func Reply(w http.ResponseWriter, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		Refuse(w, http.StatusInternalServerError, err.Error())
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(data) // nobody is there to be told
}

// RefuseMethod refuses all methods but the allowed one, which has a handler of its own; that of GET answers HEAD, too.
func RefuseMethod(allowed string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		all := allowed
		if allowed == http.MethodGet {
			all += ", " + http.MethodHead
		}
		w.Header().Set("Allow", all)
		Refuse(w, http.StatusMethodNotAllowed, r.URL.Path+" takes "+allowed)
	}
}

// Refuse replies with a sentence for a person, as {"error": "…"}.
func Refuse(w http.ResponseWriter, status int, text string) {
	data, _ := plainjson.Marshal(map[string]string{"error": text}, "") // a string always marshals
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(bytes.TrimSpace(data))
}
