package changes

import "slices"

// equal compares every field.
func (p *ServicePort) equal(q *ServicePort) bool {
	return p.Name == q.Name &&
		p.ClusterIP == q.ClusterIP &&
		p.Port == q.Port &&
		p.NodePort == q.NodePort &&
		slices.Equal(p.ExternalIPs, q.ExternalIPs) &&
		slices.Equal(p.LoadBalancerVIPs, q.LoadBalancerVIPs) &&
		slices.Equal(p.SourceRanges, q.SourceRanges) &&
		p.HealthCheckNodePort == q.HealthCheckNodePort &&
		p.SessionAffinityClientIP == q.SessionAffinityClientIP &&
		p.StickyMaxAgeSeconds == q.StickyMaxAgeSeconds &&
		p.ExternalPolicyLocal == q.ExternalPolicyLocal &&
		p.InternalPolicyLocal == q.InternalPolicyLocal
}

// equal compares every field.
func (e Endpoint) equal(f Endpoint) bool {
	return e.IP == f.IP &&
		e.Port == f.Port &&
		e.Local == f.Local &&
		e.Unplaced == f.Unplaced &&
		e.Ready == f.Ready &&
		e.Serving == f.Serving &&
		e.Terminating == f.Terminating &&
		slices.Equal(e.ZoneHints, f.ZoneHints) &&
		slices.Equal(e.NodeHints, f.NodeHints)
}
