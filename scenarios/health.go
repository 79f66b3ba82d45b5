package scenarios

import (
	"context"
	"fmt"

	"github.com/chainwalk/chainwalk/internal/document"
)

// HealthCheck is what kube-proxy says of a service with externalTrafficPolicy
// Local by its healthCheckNodePort.
type HealthCheck struct {
	document.Located
	Nodes          []string `json:"nodes" doc:"The nodes to ask; all if not given."`
	Service        string   `json:"service" required:"true" doc:"NAMESPACE/NAME."`
	LocalEndpoints *int     `json:"localEndpoints" doc:"How many ready endpoints the node has; if not given, no health check is served."`
}

func (c *checker) health(s *Step) { c.nodes(s.Health.Pos, s.Health.Nodes) }

func (r *runner) health(ctx context.Context, s *Step) error {
	want := s.Health
	for _, node := range r.orAll(want.Nodes) {
		all, err := r.session.Health(ctx, node)
		if err != nil {
			return err
		}
		expected, got := "no health check", "no health check"
		if want.LocalEndpoints != nil {
			expected = count(*want.LocalEndpoints, "local endpoint")
		}
		if n, served := all[want.Service]; served {
			got = count(n, "local endpoint")
		}
		r.add(want.Pos, Check{Name: fmt.Sprintf("health of %s on %s", want.Service, node), Passed: got == expected,
			Expected: expected, Got: got, Wrong: wrongIf(got != expected, got)})
	}
	return nil
}

func wrongIf(wrong bool, text string) string {
	if wrong {
		return text
	}
	return ""
}
