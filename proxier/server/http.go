package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/component-base/logs"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
	// The requests to the API server are counted too.
	_ "k8s.io/component-base/metrics/prometheus/restclient"
)

// registry holds the metrics of one server.
type registry = metrics.KubeRegistry

func newRegistry() registry { return metrics.NewKubeRegistry() }

// metricsHandler serves what kube-proxy serves at its metrics address.
func (s *server) metricsHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "ok") })
	mux.HandleFunc("/proxyMode", s.serveMode)
	mux.HandleFunc("/configz", s.serveConfiguration)
	// Besides our own metrics there are metrics of the process and of client-go.
	mux.Handle("/metrics", metrics.HandlerFor(prometheus.Gatherers{s.registry, legacyregistry.DefaultGatherer}, metrics.HandlerOpts{}))
	if s.configuration.EnableProfiling {
		mux.HandleFunc("/debug/pprof/", pprof.Index)
		mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
		mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
		mux.HandleFunc("PUT /debug/flags/v", setVerbosity)
	}
	return mux
}

func (s *server) serveMode(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	fmt.Fprint(w, s.configuration.Mode)
}

// serveConfiguration shows the configuration with defaults.
func (s *server) serveConfiguration(w http.ResponseWriter, _ *http.Request) {
	body, err := json.Marshal(map[string]any{"kubeproxy.config.k8s.io": s.configuration})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(body) // the client is gone if it fails
}

// setVerbosity sets the level of the log.
func setVerbosity(w http.ResponseWriter, r *http.Request) {
	const longest = 16
	level, err := io.ReadAll(io.LimitReader(r.Body, longest))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	answer, err := logs.GlogSetter(string(level))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	fmt.Fprint(w, answer)
}

// serve serves at the address until the context is done. Where it cannot listen it
// tries again, or ends the server if that was asked for.
func (s *server) serve(ctx context.Context, name, address string, handler http.Handler) {
	s.run(func() {
		for ctx.Err() == nil {
			err := listenAndServe(ctx, address, handler)
			if err == nil {
				return
			}
			err = fmt.Errorf("serving %s at %s: %w", name, address, err)
			if s.configuration.BindAddressHardFail {
				s.stop(err)
				return
			}
			s.Logger.Error(err, "Will try again", "after", bindInterval)
			s.pause(ctx, bindInterval)
		}
	})
}

// These bounds keep a broken client from holding a connection, or the stop, for
// ever.
const (
	headerTimeout   = 10 * time.Second
	idleTimeout     = 2 * time.Minute
	shutdownTimeout = 5 * time.Second
)

// listenAndServe serves until the context is done, answers the requests that have
// begun by then, and returns nil. An error says why it cannot listen or had to
// stop earlier.

func listenAndServe(ctx context.Context, address string, handler http.Handler) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	if err := server.Shutdown(limited); err != nil {
		_ = server.Close() // a client did not end in time
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
