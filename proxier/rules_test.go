package proxier_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/yaml"

	"github.com/chainwalk/chainwalk/proxier"
	"github.com/chainwalk/chainwalk/proxier/iptables"
)

// TestRules reads testdata/rules. Commands:
//
//	new [family=IPv6] [detect=(cidr,10.0.0.0/8)|(bridge,cbr0)|(prefix,veth)] [masquerade-all] [mark-bit=N]
//	    [node-ports=(RANGE,...)] [localhost] [addresses=(IP,...)] [liberal] [route-localnet] [counters] [no-random-fully]
//	    a new proxier on node "here" with address 192.168.0.2 or 2001:db8::1
//	zone NAME          puts node "here" into a zone
//	service            a Service, without apiVersion and kind; replaces one of that name
//	delete NAME        a Service and its endpoints
//	endpoints NAME PORT=NUMBER[/UDP]...
//	                   its endpoints for these ports ("unnamed" for one without name), one a line: ADDRESS [here] [starting|draining|gone]
//
// [zone=Z] [node=N]
//
//	sync               writes all rules and prints the restore input, without the lines that a cluster without Services has
//	sync all           prints all of it
//	sync changed       writes what has changed and prints that restore input
//	advance DURATION   moves the clock
func TestRules(t *testing.T) {
	datadriven.Walk(t, "testdata/rules", func(t *testing.T, path string) {
		var bench *bench
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "new":
				bench = newBench(t, d)
				return ""
			case "zone":
				bench.proxier.OnNodeAdd(&v1.Node{ObjectMeta: metav1.ObjectMeta{
					Name: "here", Labels: map[string]string{v1.LabelTopologyZone: d.CmdArgs[0].Key},
				}})
				return ""
			case "service":
				bench.putService(t, d.Input)
				return ""
			case "delete":
				bench.delete(d.CmdArgs[0].Key)
				return ""
			case "endpoints":
				bench.putEndpoints(t, d)
				return ""
			case "sync":
				if d.HasArg("changed") {
					return bench.syncChanged(t)
				}
				return bench.syncAll(t, d.HasArg("all"))
			case "advance":
				step, err := time.ParseDuration(d.CmdArgs[0].Key)
				require.NoError(t, err)
				bench.clock.Step(step)
				return ""
			}
			d.Fatalf(t, "unknown command")
			return ""
		})
	})
}

// bench is a proxier with what it stands on.
type bench struct {
	proxier  *proxier.Proxier
	iptables *recorder
	host     *host
	clock    *testclock.FakeClock
	family   v1.IPFamily
	base     []string
	services map[string]*v1.Service
	slices   map[string]*discovery.EndpointSlice
}

func newBench(t *testing.T, d *datadriven.TestData) *bench {
	config, h := testConfig(v1.IPv4Protocol)
	for _, arg := range d.CmdArgs {
		setOption(t, d, arg, &config, h)
	}
	r := recorderOf(config)
	fake := testclock.NewFakeClock(time.Unix(1000000, 0))
	config.Clock = fake
	p, err := proxier.New(config)
	require.NoError(t, err)
	b := &bench{
		proxier: p, iptables: r, host: h, clock: fake, family: config.Family,
		services: map[string]*v1.Service{}, slices: map[string]*discovery.EndpointSlice{},
	}
	p.OnServiceSynced()
	p.OnEndpointSlicesSynced()
	require.NoError(t, p.Sync())
	b.base = strings.SplitAfter(r.last(), "\n")
	return b
}

// testConfig returns a valid Config for node "here" and the host below it.
func testConfig(family v1.IPFamily) (proxier.Config, *host) {
	h := &host{sysctls: map[string]int{}}
	config := proxier.Config{
		Family:   family,
		NodeName: "here",
		NodeIP:   netip.MustParseAddr("192.168.0.2"),
		Rules:    proxier.IPTables{Tools: newRecorder(iptables.Protocol(family))},
		Sysctls:  h,
		Network:  h,

		MasqueradeBit: 14,
	}
	if family == v1.IPv6Protocol {
		config.NodeIP = netip.MustParseAddr("2001:db8::1")
	}
	return config, h
}

func setOption(t *testing.T, d *datadriven.TestData, arg datadriven.CmdArg, config *proxier.Config, h *host) {
	switch arg.Key {
	case "family":
		*config, *h = testConfigOf(v1.IPFamily(arg.Vals[0]))
		config.Sysctls, config.Network = h, h
	case "detect":
		config.LocalDetector = detectorOf(arg.Vals)
	case "masquerade-all":
		config.MasqueradeAll = true
	case "mark-bit":
		arg.Scan(t, 0, &config.MasqueradeBit)
	case "node-ports":
		for _, text := range arg.Vals {
			config.NodePortAddresses = append(config.NodePortAddresses, netip.MustParsePrefix(text))
		}
	case "localhost":
		config.LocalhostNodePorts = true
	case "addresses":
		for _, text := range arg.Vals {
			h.addresses = append(h.addresses, netip.MustParseAddr(text))
		}
	case "liberal":
		h.sysctls["net/netfilter/nf_conntrack_tcp_be_liberal"] = 1
	case "route-localnet":
		h.sysctls["net/ipv4/conf/all/route_localnet"] = 1
	case "counters":
		countWith(config, h)
	case "no-random-fully":
		recorderOf(*config).randomFully = false
	default:
		d.Fatalf(t, "unknown option %s", arg.Key)
	}
}

func testConfigOf(family v1.IPFamily) (proxier.Config, host) {
	config, h := testConfig(family)
	return config, *h
}

func detectorOf(words []string) proxier.LocalDetector {
	switch words[0] {
	case "cidr":
		return proxier.DetectLocalByCIDR(netip.MustParsePrefix(words[1]))
	case "bridge":
		return proxier.DetectLocalByBridgeInterface(words[1])
	default:
		return proxier.DetectLocalByInterfaceNamePrefix(words[1])
	}
}

func (b *bench) putService(t *testing.T, text string) {
	service := &v1.Service{}
	require.NoError(t, yaml.UnmarshalStrict([]byte(text), service))
	service.Namespace = "ns"
	b.proxier.OnServiceUpdate(b.services[service.Name], service)
	b.services[service.Name] = service
}

func (b *bench) delete(name string) {
	b.proxier.OnServiceDelete(b.services[name])
	delete(b.services, name)
	if slice := b.slices[name]; slice != nil {
		b.proxier.OnEndpointSliceDelete(slice)
		delete(b.slices, name)
	}
}

func (b *bench) putEndpoints(t *testing.T, d *datadriven.TestData) {
	name := d.CmdArgs[0].Key
	slice := &discovery.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Namespace: "ns", Name: name + "-1", Labels: map[string]string{discovery.LabelServiceName: name}},
		AddressType: discovery.AddressType(b.family),
	}
	for _, arg := range d.CmdArgs[1:] {
		number, protocol, _ := strings.Cut(arg.Vals[0], "/")
		name := strings.TrimPrefix(arg.Key, "unnamed")
		port := discovery.EndpointPort{Name: &name, Port: new(int32), Protocol: (*v1.Protocol)(&protocol)}
		if protocol == "" {
			*port.Protocol = v1.ProtocolTCP
		}
		_, err := fmt.Sscan(number, port.Port)
		require.NoError(t, err)
		slice.Ports = append(slice.Ports, port)
	}
	for line := range strings.Lines(d.Input) {
		slice.Endpoints = append(slice.Endpoints, endpointOf(strings.Fields(line)))
	}
	b.slices[name] = slice
	b.proxier.OnEndpointSliceUpdate(nil, slice)
}

func endpointOf(words []string) discovery.Endpoint {
	yes, no, elsewhere, here := true, false, "elsewhere", "here"
	endpoint := discovery.Endpoint{
		Addresses: words[:1], NodeName: &elsewhere,
		Conditions: discovery.EndpointConditions{Ready: &yes, Serving: &yes, Terminating: &no},
		Hints:      &discovery.EndpointHints{},
	}
	for _, word := range words[1:] {
		key, value, _ := strings.Cut(word, "=")
		switch key {
		case "here":
			endpoint.NodeName = &here
		case "starting":
			endpoint.Conditions = discovery.EndpointConditions{Ready: &no, Serving: &no, Terminating: &no}
		case "draining":
			endpoint.Conditions = discovery.EndpointConditions{Ready: &no, Serving: &yes, Terminating: &yes}
		case "gone":
			endpoint.Conditions = discovery.EndpointConditions{Ready: &no, Serving: &no, Terminating: &yes}
		case "zone":
			endpoint.Hints.ForZones = append(endpoint.Hints.ForZones, discovery.ForZone{Name: value})
		case "node":
			endpoint.Hints.ForNodes = append(endpoint.Hints.ForNodes, discovery.ForNode{Name: value})
		default:
			panic("unknown word " + word)
		}
	}
	return endpoint
}

// syncChanged prints the input of the sync, "nothing" where there was none.
func (b *bench) syncChanged(t *testing.T) string {
	inputs := len(b.iptables.restored)
	require.NoError(t, b.proxier.Sync())
	if len(b.iptables.restored) == inputs {
		return "nothing\n"
	}
	return b.iptables.last()
}

func (b *bench) syncAll(t *testing.T, all bool) string {
	require.NoError(t, b.proxier.SyncAll())
	text := b.iptables.last()
	if all {
		return text
	}
	var lines []string
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "*") || !slices.Contains(b.base, line) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}
