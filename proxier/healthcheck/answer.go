package healthcheck

import (
	"net/http"
	"time"
)

const (
	// clientTimeout is how long a client may take to send its request and to
	// read the answer, both of which are a few hundred bytes.
	clientTimeout = 5 * time.Second
	// idleTimeout is how long a connection is kept for the client's next
	// question.
	idleTimeout = 2 * time.Minute
)

func newHTTPServer(handler http.Handler) *http.Server {
	return &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: clientTimeout,
		WriteTimeout:      clientTimeout,
		IdleTimeout:       idleTimeout,
	}
}

// statusOf returns the HTTP status by which health is told.
func statusOf(healthy bool) int {
	if healthy {
		return http.StatusOK
	}
	return http.StatusServiceUnavailable
}

func answer(response http.ResponseWriter, healthy bool, body []byte) {
	response.Header().Set("Content-Type", "application/json")
	response.Header().Set("X-Content-Type-Options", "nosniff")
	response.WriteHeader(statusOf(healthy))
	// The client may have gone away, and nobody else wants to know.
	_, _ = response.Write(body)
}
