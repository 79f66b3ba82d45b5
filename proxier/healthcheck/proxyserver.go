package healthcheck

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
)

// toBeDeletedTaint is put on a node by the cluster autoscaler before it takes
// the node away.
const toBeDeletedTaint = "ToBeDeletedByClusterAutoscaler"

// NodeSource knows this node.
type NodeSource interface {
	// Node returns the node as last seen, nil if it is not there. The
	// ProxyServer does not modify it.
	Node() *v1.Node
}

// Metrics counts answers by their HTTP status.
type Metrics interface {
	CountHealthz(code int)
	CountLivez(code int)
}

// ProxyOptions is what a ProxyServer is told. All fields are required.
type ProxyOptions struct {
	// Timeout is how long an update may be queued before its family is
	// unhealthy; kube-proxy takes twice its sync period.
	Timeout time.Duration
	Clock   clock.PassiveClock
	Node    NodeSource
	Metrics Metrics
}

// ProxyServer tells the health of the proxiers of this node. Its methods may
// be called from several goroutines.
type ProxyServer struct {
	options ProxyOptions
	updates *updates
}

// NewProxyServer returns a server for proxiers that are all healthy so far.
func NewProxyServer(options ProxyOptions) *ProxyServer {
	return &ProxyServer{options: options, updates: newUpdates(options.Clock, options.Timeout)}
}

// QueuedUpdate notes that the family has changes that its rules do not follow
// yet.
func (s *ProxyServer) QueuedUpdate(family v1.IPFamily) { s.updates.queue(family) }

// Updated notes that the rules of the family follow all changes. It heals this
// family only.
func (s *ProxyServer) Updated(family v1.IPFamily) { s.updates.finish(family) }

// health returns the health as it is, without the node.
func (s *ProxyServer) health() ProxyHealth { return s.updates.health() }

// Healthy says whether all families are healthy.
func (s *ProxyServer) Healthy() bool { return s.health().Healthy }

// NodeEligible says whether the node may get traffic: it is there, is not being
// deleted, and the cluster autoscaler is not about to take it away.
func (s *ProxyServer) NodeEligible() bool {
	node := s.options.Node.Node()
	if node == nil || !node.DeletionTimestamp.IsZero() {
		return false
	}
	for _, taint := range node.Spec.Taints {
		if taint.Key == toBeDeletedTaint {
			return false
		}
	}
	return true
}

// Handler serves /healthz and /livez. Where it is served is the caller's
// business.
func (s *ProxyServer) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", s.serveHealthz)
	mux.HandleFunc("/livez", s.serveLivez)
	return mux
}

func (s *ProxyServer) serveHealthz(response http.ResponseWriter, _ *http.Request) {
	health, eligible := s.health(), s.NodeEligible()
	health.NodeEligible = &eligible
	well := health.Healthy && eligible
	s.options.Metrics.CountHealthz(statusOf(well))
	answerHealth(response, health, well)
}

func (s *ProxyServer) serveLivez(response http.ResponseWriter, _ *http.Request) {
	health := s.health()
	s.options.Metrics.CountLivez(statusOf(health.Healthy))
	answerHealth(response, health, health.Healthy)
}

func answerHealth(response http.ResponseWriter, health ProxyHealth, well bool) {
	if well {
		health.LastUpdated = health.CurrentTime
	}
	body, err := json.Marshal(health)
	if err != nil {
		panic(fmt.Sprintf("health %+v has no JSON form: %v", health, err))
	}
	answer(response, well, body)
}
