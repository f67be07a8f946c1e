package page

import (
	"crypto/subtle"
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// security is what the browser is told about every reply: run, load and call nothing but this server's own files, build
// no markup from text, show the page in no frame, keep nothing.
var security = map[string]string{
	"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src " +
		"'self'; " +
		"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; " +
		"trusted-types 'none'",
	"X-Content-Type-Options":       "nosniff",
	"X-Frame-Options":              "DENY",
	"Referrer-Policy":              "no-referrer",
	"Cross-Origin-Opener-Policy":   "same-origin",
	"Cross-Origin-Resource-Policy": "same-origin",
	"Cache-Control":                "no-store",
}

// guard lets through what this machine's own browser asks of this very page. The name in Host must be the loopback's:
// a foreign name that resolves to it (DNS rebinding) is refused; and so is what another site's page sends.
func (p *Page) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, value := range security {
			w.Header().Set(name, value)
		}
		switch {
		case !loopback(r.RemoteAddr):
			refuse(w, http.StatusForbidden, "only this machine may ask")
		case r.Host != p.host && r.Host != p.localhost:
			refuse(w, http.StatusMisdirectedRequest,
				"this is "+p.host+"; open the address that the terminal shows, and forward a port only to the same number")
		case foreign(r):
			refuse(w, http.StatusForbidden, "another site's page may not ask")
		default:
			next.ServeHTTP(w, r)
		}
	})
}

func loopback(address string) bool {
	a, err := netip.ParseAddrPort(address)
	return err == nil && a.Addr().Unmap().IsLoopback()
}

// foreign tells whether a browser says that a page of another origin asks. Origin comes with every request that changes
// something, Sec-Fetch-Site with all; programs that are no browsers send neither, and need the token like anyone.
func foreign(r *http.Request) bool {
	origin, site := r.Header["Origin"], r.Header["Sec-Fetch-Site"]
	if len(origin) > 1 || len(site) > 1 {
		return true
	}
	if len(origin) == 1 && origin[0] != "http://"+r.Host {
		return true
	}
	return len(site) == 1 && site[0] != "same-origin" && site[0] != "none" // none: a person opened the address
}

// withToken lets through what knows the token.
func (p *Page) withToken(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if !ok || subtle.ConstantTimeCompare([]byte(given), []byte(p.token)) != 1 {
			w.Header().Set("WWW-Authenticate", "Bearer")
			refuse(w, http.StatusUnauthorized,
				"open the address that the terminal shows, with its token; it is a new one at every start")
			return
		}
		next(w, r)
	}
}

// Listen opens a port of the loopback interface, 0 for any that is free.
func Listen(port int) (net.Listener, error) {
	return net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port})
}
