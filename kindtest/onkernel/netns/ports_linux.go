package netns

import (
	"slices"
	"strings"

	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
	"github.com/chainwalk/chainwalk/scenarios/world/plan"
)

// endpointPorts are the ports that endpoints have had.
type endpointPorts map[inet.Proto][]uint16

func (e *endpointPorts) note(objects []manifest.Object) {
	if *e == nil {
		*e = endpointPorts{}
	}
	for _, o := range objects {
		slice, ok := o.Object.(*discoveryv1.EndpointSlice)
		if !ok {
			continue
		}
		for _, p := range slice.Ports {
			if p.Port == nil || p.Protocol == nil {
				continue
			}
			proto := plan.Proto(strings.ToLower(string(*p.Protocol)), false)
			if port := uint16(*p.Port); !slices.Contains((*e)[proto], port) {
				(*e)[proto] = append((*e)[proto], port)
			}
		}
	}
}

// of returns a list that the caller may append to.
func (e endpointPorts) of(proto inet.Proto) []uint16 { return slices.Clip(e[proto]) }
