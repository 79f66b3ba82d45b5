package kind

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/chainwalk/chainwalk/kindtest/probe"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/world/tools"
)

// Save is what iptables-save -c prints on a node, as the scenario has it.
func (s *Session) Save(ctx context.Context, node string, family scenarios.IPFamily) (string, error) {
	text, err := run(ctx, s.relay(s.mapping.Node(node)), "", tools.Name(family, "-save"), "-c")
	if err != nil {
		return "", fmt.Errorf("%s: %w", node, err)
	}
	of := netfilter.IPv4
	if family == scenarios.FamilyIPv6 {
		of = netfilter.IPv6
	}
	if text, err = s.saves.back(text, of, s.cluster.Dialect); err != nil {
		return "", fmt.Errorf("%s: %w", node, err)
	}
	if own := s.local[node]; own != "" {
		text = strings.ReplaceAll(text, " "+own+" ", " "+s.cluster.Configs[node].DetectLocal.BridgeInterface+" ")
	}
	return text, nil
}

// List implements scenarios.NFTSession. The table has the scenario's addresses; the hashes in the names of endpoints' chains and sets are
// made of the cluster's.
func (s *Session) List(ctx context.Context, node string, family scenarios.IPFamily) (string, error) {
	word := "ip"
	if family == scenarios.FamilyIPv6 {
		word = "ip6"
	}
	text, err := run(ctx, s.relay(s.mapping.Node(node)), "", "nft", "list", "table", word, "kube-proxy")
	if err != nil && strings.Contains(err.Error(), "No such file or directory") {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", node, err)
	}
	return s.mapping.BackText(text), nil
}

// proxyStatus is what proxies say of services and of themselves.
type proxyStatus struct {
	*stage
	knows   *knowledge
	counted map[string]map[string]int // what the accounting objects had at the start, by node
}

// accounting are the proxies' metrics of the kernel's accounting objects.
var accounting = map[string]string{
	"kubeproxy_iptables_ct_state_invalid_dropped_packets_total":     "ct_state_invalid_dropped_pkts",
	"kubeproxy_iptables_localhost_nodeports_accepted_packets_total": "localhost_nps_accepted_pkts",
}

// counters are what a node's proxy says of the accounting objects.
func (p *proxyStatus) counters(ctx context.Context, node string) (map[string]int, error) {
	text, err := p.backend.hands.Metrics(ctx, node)
	if err != nil {
		return nil, err
	}
	return parseCounters(text), nil
}

func parseCounters(metrics []byte) map[string]int {
	out := map[string]int{}
	lines := bufio.NewScanner(bytes.NewReader(metrics))
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), " ")
		object, ok := accounting[name]
		if n, err := strconv.ParseFloat(value, 64); ok && err == nil {
			out[object] = int(n)
		}
	}
	return out
}

// countBefore remembers what the accounting objects had before the scenario.
func (p *proxyStatus) countBefore(ctx context.Context) error {
	var mu sync.Mutex
	return together(p.names(), func(name string) error {
		counted, err := p.counters(ctx, p.mapping.Node(name))
		mu.Lock()
		defer mu.Unlock()
		p.counted[name] = counted
		return err
	})
}

// Unseen says why a step looks at what is not seen here.
func (s *Session) Unseen(step *scenarios.Step) string { return overlooked(step, s.backend.facts.Mode) }

// overlooked says why a step looks at what cannot be seen on nodes whose proxies have a mode; empty if it can.
func overlooked(step *scenarios.Step, mode string) string {
	switch {
	case step.Needs() == scenarios.NeedWrites:
		return "the test does not see what a real proxy gives to iptables-restore"
	case step.Send != nil && step.Send.Packet.Mark != 0 && !step.Send.Packet.Local:
		return "a packet comes without its mark from another host"
	case step.Rules == nil:
		return ""
	case len(step.Rules.Counters) > 0:
		return "rules of a real node count other packets as well"
	case step.Rules.Mode == scenarios.ModeNFTables && mode == modeNFTables:
		return ""
	case step.Rules.Mode == scenarios.ModeNFTables:
		return "a proxy in mode iptables writes no rules of nftables"
	}
	return noRules(mode)
}

// noRules says why nothing can be told from rules of iptables in a mode; empty if something can.
func noRules(mode string) string {
	if mode != modeNFTables {
		return ""
	}
	return "a proxy in mode nftables writes no rules of iptables"
}

// Accounting are the packets that a node's accounting objects have counted since the scenario began.
func (p *proxyStatus) Accounting(ctx context.Context, node string) (map[string]int, error) {
	now, err := p.counters(ctx, p.mapping.Node(node))
	for name := range now {
		now[name] -= p.counted[node][name]
	}
	return now, err
}

// Health is what the proxy of a node says of the services that have a health check.
func (p *proxyStatus) Health(ctx context.Context, node string) (map[string]int, error) {
	out := map[string]int{}
	for _, service := range sorted(p.knows.checks) {
		_, body, err := p.get(ctx, node, int(p.knows.checks[service]), "/healthz")
		if errors.Is(err, errRefused) {
			continue
		}
		if err != nil {
			return nil, err
		}
		var said struct {
			Service        struct{ Namespace, Name string }
			LocalEndpoints int
		}
		if err := json.Unmarshal(body, &said); err != nil {
			return nil, fmt.Errorf("%s: the health check of %s: %w", node, service, err)
		}
		if said.Service.Namespace+"/"+said.Service.Name == service {
			out[service] = said.LocalEndpoints
		}
	}
	return out, nil
}

// lookForCheck is how soon to look again whether a proxy serves a health check, which it does soon after it has written the rules.
const lookForCheck = 10 * time.Millisecond

// awaitHealthChecks waits until all nodes serve the health checks of the services, or for a while: it may be that a proxy is not to serve
// one.
func (p *proxyStatus) awaitHealthChecks(ctx context.Context) error {
	checked := p.knows.checked()
	if len(checked) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, p.silence(Unforetold))
	defer cancel()
	return together(p.names(), func(node string) error {
		again := time.NewTicker(lookForCheck)
		defer again.Stop()
		for _, service := range checked {
			for !p.servesCheck(ctx, node, p.knows.checks[service]) {
				select {
				case <-ctx.Done():
					return nil
				case <-again.C:
				}
			}
		}
		return nil
	})
}

// servesCheck reports whether somebody listens on a node's port.
func (p *proxyStatus) servesCheck(ctx context.Context, node string, port int32) bool {
	host, ok := p.mapping.Host(node)
	if !ok {
		return true
	}
	at := netip.AddrPortFrom(p.checkedAt(node, host), uint16(port))
	if !at.IsValid() {
		return true
	}
	results, err := p.relay(host.Machine).Dial(ctx, host.Agent, probe.Dial{Proto: inet.TCP, To: at, Timeout: p.silence(Unforetold)})
	return err == nil && len(results) > 0 && results[0].End == probe.Answered
}

// checkedAt is an address of a node where its proxy serves health checks: on those that nodePortAddresses have, if they have any; invalid
// if it has none of them.
func (p *proxyStatus) checkedAt(node string, host Host) netip.Addr {
	config := p.cluster.Configs[node]
	first := ofFamily(host.Addresses, p.cluster.IPFamily == scenarios.FamilyIPv6)
	if len(config.NodePortAddresses) == 0 || slices.Contains(config.NodePortAddresses, primaryAddresses) {
		return first
	}
	served := prefixesOf(strings.Join(config.NodePortAddresses, ","))
	for _, a := range host.Addresses {
		if holds(served, p.mapping.Back(a)) {
			return a
		}
	}
	return netip.Addr{}
}

// defaultHealthz is where proxies say of themselves how they are.
const defaultHealthz = 10256

// Healthz is what the proxy of a node says of itself.
func (p *proxyStatus) Healthz(ctx context.Context, node string) (bool, error) {
	port := defaultHealthz
	if at, err := netip.ParseAddrPort(p.cluster.Configs[node].HealthzBindAddress); err == nil {
		port = int(at.Port())
	}
	status, _, err := p.get(ctx, node, port, "/healthz")
	return status == http.StatusOK, err
}

var errRefused = errors.New("nobody listens")

// get asks a node, on itself, by HTTP.
func (p *proxyStatus) get(ctx context.Context, node string, port int, path string) (status int, body []byte, err error) {
	host, ok := p.mapping.Host(node)
	if !ok {
		return 0, nil, fmt.Errorf("there is no node %s", node)
	}
	at := netip.AddrPortFrom(ofFamily(host.Addresses, p.cluster.IPFamily == scenarios.FamilyIPv6), uint16(port))
	got, err := p.relay(host.Machine).Fetch(ctx, "http://"+at.String()+path)
	switch {
	case err != nil:
		return 0, nil, fmt.Errorf("%s: port %d: %w", node, port, err)
	case got.Refused:
		return 0, nil, errRefused
	}
	return got.Status, []byte(got.Body), nil
}
