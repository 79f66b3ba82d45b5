package trial

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	discoveryv1 "k8s.io/api/discovery/v1"
)

// TestHealthCountsOneFamily counts endpoints of a slice's family alone, of which an old slice may hold others too.
func TestHealthCountsOneFamily(t *testing.T) {
	node := "node1"
	at := func(address string) discoveryv1.Endpoint {
		return discoveryv1.Endpoint{Addresses: []string{address}, NodeName: &node}
	}
	slice := &discoveryv1.EndpointSlice{AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints: []discoveryv1.Endpoint{at("10.244.1.2"), at("fd00::2")}}
	ready := map[netip.Addr]bool{}
	assert.True(t, addReady(ready, slice, node))
	assert.Equal(t, map[netip.Addr]bool{netip.MustParseAddr("10.244.1.2"): true}, ready)
}
