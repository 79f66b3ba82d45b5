package scenarios

import (
	"context"

	"github.com/chainwalk/chainwalk/internal/document"
)

// HealthzCheck is what kube-proxy says of itself by /healthz.
type HealthzCheck struct {
	document.Located
	Nodes   []string `json:"nodes" doc:"The nodes to ask; all if not given."`
	Healthy *bool    `json:"healthy" required:"true" doc:"Whether it says that all is well: status 200, not 503."`
}

func (c *checker) healthz(s *Step) { c.nodes(s.Healthz.Pos, s.Healthz.Nodes) }

func (r *runner) healthz(ctx context.Context, s *Step) error {
	want := s.Healthz
	for _, node := range r.orAll(want.Nodes) {
		healthy, err := r.session.Healthz(ctx, node)
		if err != nil {
			return err
		}
		expected, got := healthzWord(*want.Healthy), healthzWord(healthy)
		r.add(want.Pos, Check{
			Name: "healthz on " + node, Passed: got == expected, Expected: expected, Got: got, Wrong: wrongIf(got != expected, got),
		})
	}
	return nil
}

func healthzWord(healthy bool) string {
	if healthy {
		return "healthy"
	}
	return "unhealthy"
}
