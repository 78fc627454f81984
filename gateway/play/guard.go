package play

import (
	"net"
	"net/http"
	"net/url"
	"strings"
)

// guard is the self mode of design §9: the server listens on loopback and talks to nobody else. A page of another origin,
// a name that was bent to loopback, and a proxy in between are refused.
func (s *server) guard(next http.Handler) http.Handler {
	if s.AnyHost {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !loopbackHost(r.Host) {
			s.fail(w, http.StatusForbidden, problem("host_not_allowed", "this server answers on loopback only; the Host header names another machine"))
			return
		}
		for name := range r.Header {
			if name == "Forwarded" || strings.HasPrefix(name, "X-Forwarded-") {
				s.fail(w, http.StatusForbidden, problem("host_not_allowed", "this server does not answer through a proxy"))
				return
			}
		}
		if origin := r.Header.Get("Origin"); origin != "" && !sameOrigin(origin, r.Host) {
			s.fail(w, http.StatusForbidden, problem("origin_not_allowed", "requests from another origin are refused"))
			return
		}
		next.ServeHTTP(w, r)
	})
}

func loopbackHost(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.Trim(name, "[]")
	if strings.EqualFold(name, "localhost") {
		return true
	}
	ip := net.ParseIP(name)
	return ip != nil && ip.IsLoopback()
}

func sameOrigin(origin, host string) bool {
	u, err := url.Parse(origin)
	return err == nil && u.Scheme == "http" && strings.EqualFold(u.Host, host)
}
