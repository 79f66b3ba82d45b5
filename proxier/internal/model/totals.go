package model

// NoLocal counts service ports that have endpoints, but none on this node for
// traffic that must stay there.
type NoLocal struct {
	Internal, External int
}

// NoLocalOf counts one service port.
func NoLocalOf(service *Service) NoLocal {
	var n NoLocal
	if service.Internal.Handling == Drop {
		n.Internal = 1
	}
	if service.External.Handling == Drop && externallyAccessible(service.Port) {
		n.External = 1
	}
	return n
}

// Totals sums up the decisions that a kernel holds rules for.
type Totals struct {
	// Endpoints are those in the API, also where no rule leads to them. One that
	// serves two ports counts twice.
	Endpoints int
	NoLocal   NoLocal
}

// Add adds the other totals so many times.
func (t *Totals) Add(other Totals, times int) {
	t.Endpoints += times * other.Endpoints
	t.NoLocal.Internal += times * other.NoLocal.Internal
	t.NoLocal.External += times * other.NoLocal.External
}
