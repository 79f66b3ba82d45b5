package model

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/chainwalk/chainwalk/proxier/internal/changes"
)

// endpointsOf reads a list such as "1:ready,local 2:draining,zone=a". The
// number is the last byte of the address. The words:
//
//	ready             takes new connections
//	starting          not ready, not terminating
//	draining          terminating, still serves
//	gone              terminating, serves no more
//	local             on this node
//	zone=Z, node=N    hint
func endpointsOf(text string) []changes.Endpoint {
	var list []changes.Endpoint
	for _, field := range strings.Fields(text) {
		var number uint8
		var words string
		if _, err := fmt.Sscanf(field, "%d:%s", &number, &words); err != nil {
			panic(err)
		}
		endpoint := changes.Endpoint{IP: netip.AddrFrom4([4]byte{10, 0, 0, number}), Port: 80}
		for word := range strings.SplitSeq(words, ",") {
			setWord(&endpoint, word)
		}
		list = append(list, endpoint)
	}
	return list
}

func setWord(endpoint *changes.Endpoint, word string) {
	key, value, _ := strings.Cut(word, "=")
	switch key {
	case "ready":
		endpoint.Ready, endpoint.Serving = true, true
	case "starting":
	case "draining":
		endpoint.Serving, endpoint.Terminating = true, true
	case "gone":
		endpoint.Terminating = true
	case "local":
		endpoint.Local = true
	case "zone":
		endpoint.ZoneHints = append(endpoint.ZoneHints, value)
	case "node":
		endpoint.NodeHints = append(endpoint.NodeHints, value)
	default:
		panic("unknown word " + word)
	}
}

// numbersOf is the reverse: the last bytes, "-" for none.
func numbersOf(list []changes.Endpoint) string {
	if len(list) == 0 {
		return "-"
	}
	var numbers []string
	for _, endpoint := range list {
		numbers = append(numbers, fmt.Sprint(endpoint.IP.As4()[3]))
	}
	return strings.Join(numbers, " ")
}

func TestSelectEndpoints(t *testing.T) {
	const internalOnly, nodePort = uint16(0), uint16(30000)
	var (
		cluster  = changes.ServicePort{NodePort: internalOnly}
		external = changes.ServicePort{NodePort: nodePort}
		eTPLocal = changes.ServicePort{NodePort: nodePort, ExternalPolicyLocal: true}
		iTPLocal = changes.ServicePort{NodePort: internalOnly, InternalPolicyLocal: true}
		iTPOnly  = changes.ServicePort{NodePort: nodePort, InternalPolicyLocal: true}
		both     = changes.ServicePort{NodePort: nodePort, InternalPolicyLocal: true, ExternalPolicyLocal: true}
		unused   = changes.ServicePort{NodePort: internalOnly, ExternalPolicyLocal: true}
	)
	here := Node{Name: "here", Zone: "a"}
	tests := []struct {
		name      string
		port      changes.ServicePort
		node      Node
		endpoints string
		// want is Cluster / Local / Reachable / Any.
		want string
	}{
		{"no endpoints at all", cluster, here, "", "- / - / - / false"},
		{"hints of all endpoints and one for this zone: only that zone", cluster, here,
			"1:ready,zone=a 2:ready,zone=b 3:ready,zone=a", "1 3 / - / 1 3 / true"},
		{"external policy Local ignores hints for local endpoints", eTPLocal, here,
			"1:ready,zone=a 2:ready,zone=b,local 3:ready,zone=c", "1 / 2 / 1 2 / true"},
		{"internal policy Local ignores hints", iTPLocal, here,
			"1:ready,zone=a 2:ready,zone=b,local 3:ready,zone=c,local", "- / 2 3 / 2 3 / true"},
		{"node without labels uses all endpoints", cluster, Node{Name: "here"},
			"1:ready,zone=a 2:ready,zone=b", "1 2 / - / 1 2 / true"},
		{"node in a zone without endpoints uses all endpoints", cluster, Node{Name: "here", Zone: "z"},
			"1:ready,zone=a 2:ready,zone=b", "1 2 / - / 1 2 / true"},
		{"endpoint of the zone that is not ready is left out", cluster, here,
			"1:ready,zone=a 2:starting,zone=a 3:ready,zone=b", "1 / - / 1 / true"},
		{"only endpoints that are not ready in this zone: no filtering", cluster, here,
			"1:starting,zone=a 2:ready,zone=b 3:ready,zone=c", "2 3 / - / 2 3 / true"},
		{"one ready endpoint without a hint: no filtering", cluster, here,
			"1:ready,zone=a 2:ready 3:ready,zone=b", "1 2 3 / - / 1 2 3 / true"},
		{"missing hint of an endpoint that is not ready does not matter", cluster, here,
			"1:ready,zone=a 2:starting 3:ready,zone=b", "1 / - / 1 / true"},
		{"several hints of one endpoint: any of them counts", cluster, here,
			"1:ready,zone=a,zone=b 2:ready,zone=b,zone=c 3:ready,zone=c,zone=a", "1 3 / - / 1 3 / true"},
		{"hints and locality disagree: reachable is the union", eTPLocal, here,
			"1:ready,zone=a 2:ready,zone=b,local 3:ready,zone=a,local 4:ready,zone=b", "1 3 / 2 3 / 1 2 3 / true"},

		{"node hints win over zone hints", cluster, here,
			"1:ready,zone=a,node=here 2:ready,zone=a,node=there", "1 / - / 1 / true"},
		{"no node hint for this node: zone hints count", cluster, here,
			"1:ready,zone=a,node=there 2:ready,zone=b,node=there", "1 / - / 1 / true"},
		{"one endpoint without a node hint: zone hints count", cluster, here,
			"1:ready,zone=a,node=here 2:ready,zone=a", "1 2 / - / 1 2 / true"},
		{"node hints only, none for this node: no filtering", cluster, here,
			"1:ready,node=there 2:ready,node=elsewhere", "1 2 / - / 1 2 / true"},
		{"node hint for this node on an endpoint that is not ready: no filtering", cluster, here,
			"1:starting,node=here 2:ready,node=there", "2 / - / 2 / true"},

		{"internal policy Local, no endpoints", iTPLocal, here, "", "- / - / - / false"},
		{"internal policy Local, all endpoints elsewhere", iTPLocal, here, "1:ready 2:ready", "- / - / - / true"},
		{"internal policy Local, all endpoints here", iTPLocal, here, "1:ready,local 2:ready,local", "- / 1 2 / 1 2 / true"},
		{"internal policy Local, some endpoints here", iTPLocal, here, "1:ready,local 2:ready", "- / 1 / 1 / true"},

		{"no endpoint ready yet", cluster, here, "1:starting 2:starting", "- / - / - / false"},
		{"some endpoints ready", cluster, here, "1:ready 2:starting", "1 / - / 1 / true"},
		{"all endpoints draining: they are used", cluster, here, "1:draining 2:draining", "1 2 / - / 1 2 / true"},
		{"ready endpoint next to draining ones: only it is used", cluster, here, "1:draining 2:ready", "2 / - / 2 / true"},
		{"terminating and not serving is never used", cluster, here, "1:gone 2:draining", "2 / - / 2 / true"},
		{"only endpoints that serve no more", cluster, here, "1:gone 2:gone", "- / - / - / false"},
		{"fallback to draining ignores hints", cluster, here,
			"1:draining,zone=a 2:draining,zone=b", "1 2 / - / 1 2 / true"},

		{"internal Local and external Cluster, some endpoints here", iTPOnly, here,
			"1:ready,local 2:ready", "1 2 / 1 / 1 2 / true"},
		{"internal Cluster and external Local", eTPLocal, here, "1:ready,local 2:ready", "1 2 / 1 / 1 2 / true"},
		{"both Local, some endpoints here", both, here, "1:ready,local 2:ready", "1 2 / 1 / 1 2 / true"},
		{"both Local, all endpoints elsewhere", both, here, "1:ready 2:ready", "1 2 / - / 1 2 / true"},
		{"both Local, all endpoints elsewhere and draining", both, here, "1:draining 2:draining", "1 2 / - / 1 2 / true"},
		{"external Local, local endpoint draining, ready elsewhere: each policy falls back alone", eTPLocal, here,
			"1:ready 2:draining,local 3:draining", "1 / 2 / 1 2 / true"},
		{"external Local, all draining", eTPLocal, here, "1:draining,local 2:draining", "1 2 / 1 / 1 2 / true"},
		{"external policy Local means nothing on an internal service", unused, here,
			"1:ready,local 2:ready", "1 2 / - / 1 2 / true"},
		{"external Cluster", external, here, "1:ready,local 2:ready", "1 2 / - / 1 2 / true"},
		{"internal Local on an internal service has no cluster endpoints", iTPLocal, here,
			"1:ready 2:draining,local", "- / 2 / 2 / true"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			sets := selectEndpoints(endpointsOf(test.endpoints), &test.port, test.node)
			got := fmt.Sprintf("%s / %s / %s / %t", numbersOf(sets.Cluster), numbersOf(sets.Local), numbersOf(sets.Reachable), sets.Any)
			assert.Equal(t, test.want, got)
		})
	}
}

func TestExternallyAccessible(t *testing.T) {
	address := []netip.Addr{netip.MustParseAddr("192.0.2.1")}
	assert.False(t, externallyAccessible(&changes.ServicePort{}))
	assert.True(t, externallyAccessible(&changes.ServicePort{NodePort: 30000}))
	assert.True(t, externallyAccessible(&changes.ServicePort{ExternalIPs: address}))
	assert.True(t, externallyAccessible(&changes.ServicePort{LoadBalancerVIPs: address}))
}

// Laws that hold for every list of endpoints.
func TestSelectEndpointsLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := drawEndpoints(t)
		before := slices.Clone(all)
		port := changes.ServicePort{
			NodePort:            uint16(rapid.IntRange(0, 1).Draw(t, "nodePort")),
			ExternalPolicyLocal: rapid.Bool().Draw(t, "eTPLocal"),
			InternalPolicyLocal: rapid.Bool().Draw(t, "iTPLocal"),
		}
		sets := selectEndpoints(all, &port, Node{Name: "here", Zone: "a"})

		contains := func(list []changes.Endpoint, e changes.Endpoint) bool {
			return slices.ContainsFunc(list, func(f changes.Endpoint) bool { return e.IP == f.IP })
		}
		for _, e := range all {
			in := contains(sets.Cluster, e) || contains(sets.Local, e)
			assert.Equal(t, in, contains(sets.Reachable, e), "reachable is the union")
			assert.False(t, in && !e.Ready && !(e.Serving && e.Terminating), "used endpoint is ready or drains")
		}
		for _, e := range sets.Local {
			assert.True(t, e.Local)
		}
		if usesClusterPolicy(&port) {
			assert.Equal(t, sets.Any, len(sets.Cluster) > 0, "any usable endpoint serves policy Cluster")
		}
		assert.Equal(t, before, all, "input is not modified")
		assert.True(t, slices.IsSortedFunc(sets.Reachable, func(a, b changes.Endpoint) int { return a.IP.Compare(b.IP) }))
	})
}

func drawEndpoints(t *rapid.T) []changes.Endpoint {
	state := rapid.SampledFrom([]string{"ready", "starting", "draining", "gone"})
	hint := rapid.SampledFrom([]string{"", ",zone=a", ",zone=b", ",node=here", ",node=there", ",zone=a,node=here"})
	var text strings.Builder
	for i := range rapid.IntRange(0, 6).Draw(t, "endpoints") {
		local := rapid.SampledFrom([]string{"", ",local"}).Draw(t, "local")
		fmt.Fprintf(&text, "%d:%s%s%s ", i+1, state.Draw(t, "state"), local, hint.Draw(t, "hint"))
	}
	return endpointsOf(text.String())
}

// An odd number of endpoints, the unready first: hints are and-ed over all that are ready.
func TestHintsOfOneEndpoint(t *testing.T) {
	port := &changes.ServicePort{}
	node := Node{Name: "n1", Zone: "z1"}
	for _, test := range []struct{ endpoints, want string }{
		{"1:ready,node=n1", "1"},
		{"1:starting 2:ready,node=n1 3:ready,node=n2 4:ready,node=n2", "2"},
		{"1:starting,zone=z2 2:ready,zone=z1 3:ready,zone=z2 4:ready,zone=z2", "2"},
		{"1:ready,zone=z1 2:starting 3:ready", "1 3"},
		{"1:starting 2:ready", "2"},
	} {
		assert.Equal(t, test.want, numbersOf(DecideService(port, endpointsOf(test.endpoints), node).Endpoints.Cluster), test.endpoints)
	}
}

// Where nothing is left out nothing is copied, and nothing is held for no endpoint.
func TestEndpointsAreNotCopied(t *testing.T) {
	all := endpointsOf("1:ready 2:ready")
	sets := DecideService(&changes.ServicePort{}, all, Node{}).Endpoints
	assert.Same(t, &all[0], &sets.Cluster[0])
	assert.Same(t, &all[0], &sets.Reachable[0])
	assert.Nil(t, sets.Local)
}
