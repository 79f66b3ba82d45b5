package kind

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/chainwalk/chainwalk/scenarios"
)

// entry is a connection that a node's kernel remembers.
type entry struct {
	scenarios.Tracked // as the cluster has it
	timeout           time.Duration
}

// keptFlows are the connections that the scenario keeps, by name, and what nodes remember of them.
type keptFlows struct {
	*stage
	flows map[string]*flow
}

// tracked are the connections that a node remembers, of the families of the scenario.
func (k *keptFlows) tracked(ctx context.Context, node string) ([]entry, error) {
	var out []entry
	for _, v6 := range families(k.cluster.IPFamily) {
		text, err := run(ctx, k.relay(node), "", "conntrack", "-L", "-f", string(familyName(v6)))
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(text) {
			if e, ok := parseEntry(line); ok {
				out = append(out, e)
			}
		}
	}
	return out, nil
}

// parseEntry reads a line of conntrack -L: "udp 17 27 src=A dst=B sport=1 dport=2 [UNREPLIED] src=C dst=D sport=3 dport=4 mark=0 use=1".
func parseEntry(line string) (entry, bool) {
	words := strings.Fields(line)
	if len(words) < 6 {
		return entry{}, false
	}
	seconds, err := strconv.Atoi(words[2])
	if err != nil {
		return entry{}, false
	}
	e := entry{timeout: time.Duration(seconds) * time.Second}
	e.Proto = strings.TrimSuffix(words[0], "v6")
	var ends []netip.Addr
	var ports []uint16
	for _, word := range words[3:] {
		key, value, _ := strings.Cut(word, "=")
		switch key {
		case "src", "dst":
			a, err := netip.ParseAddr(value)
			if err != nil {
				return entry{}, false
			}
			ends = append(ends, a)
		case "sport", "dport":
			port, err := strconv.ParseUint(value, 10, 16)
			if err != nil {
				return entry{}, false
			}
			ports = append(ports, uint16(port))
		}
	}
	if len(ends) != 4 {
		return entry{}, false
	}
	for len(ports) < 4 {
		ports = append(ports, 0) // of protocols that have none
	}
	e.Src, e.Dst = netip.AddrPortFrom(ends[0], ports[0]), netip.AddrPortFrom(ends[1], ports[1])
	e.To, e.From = netip.AddrPortFrom(ends[2], ports[2]), netip.AddrPortFrom(ends[3], ports[3])
	return e, true
}

// is reports whether an entry is of a kept connection, on whichever node.
func (f *flow) is(e *entry) bool {
	mine := func(a netip.AddrPort) bool { return a.IsValid() && a.Port() > 0 && (a == f.from || a == f.saw) }
	return e.Proto == f.attempt.To.Proto && (mine(e.Src) || mine(e.From))
}

// Conntrack are the connections that a node knows, of those that the scenario keeps.
func (k *keptFlows) Conntrack(ctx context.Context, node string) ([]scenarios.Tracked, error) {
	entries, err := k.tracked(ctx, k.mapping.Node(node))
	if err != nil {
		return nil, err
	}
	var out []scenarios.Tracked
	for i := range entries {
		e := &entries[i]
		for _, f := range k.flows {
			if f.is(e) {
				out = append(out, k.mapping.tracked(e.Tracked))
				break
			}
		}
	}
	return out, nil
}

func (m *Mapping) tracked(t scenarios.Tracked) scenarios.Tracked {
	return scenarios.Tracked{Proto: t.Proto, Src: m.BackPort(t.Src), Dst: m.BackPort(t.Dst), To: m.BackPort(t.To), From: m.BackPort(t.From)}
}

// forgetConnection has the nodes of the scenario forget a kept connection.
func (k *keptFlows) forgetConnection(ctx context.Context, f *flow) error {
	return k.forget(ctx, f.attempt.To.Proto, f.from, f.to)
}

// forgetAll has the nodes of the scenario forget the kept connections, and what else was sent to and from the scenario's addresses and
// the sentinel: a snapshot has it, and the next scenario has nothing to do with it.
func (k *keptFlows) forgetAll(ctx context.Context) error {
	used := slices.Concat(k.backend.facts.Outside.Addresses, k.backend.sentinel.ips, k.mapping.givenAddresses())
	rest := slices.DeleteFunc(k.allFlows(), func(f *flow) bool {
		return slices.ContainsFunc([]netip.AddrPort{f.from, f.to, f.at, f.saw},
			func(a netip.AddrPort) bool { return slices.Contains(used, a.Addr()) })
	})
	return inParallel(
		func() error {
			return together(k.used(), func(node string) error { return k.relay(node).Forget(ctx, used) })
		},
		func() error { return together(rest, func(f *flow) error { return k.forgetConnection(ctx, f) }) },
	)
}

// forget has the nodes of the scenario forget a connection by what its client has sent. A node that does not remember it says so by its
// status.
func (k *keptFlows) forget(ctx context.Context, proto string, from, to netip.AddrPort) error {
	argv := []string{"conntrack", "-D", "-f", string(familyName(to.Addr().Is6())), "-p", protoName(proto, to.Addr()), "-d", to.Addr().String()}
	if from.Addr().IsValid() && !from.Addr().IsUnspecified() {
		argv = append(argv, "-s", from.Addr().String())
	}
	if from.Port() > 0 && proto != protoICMP {
		argv = append(argv, "--sport", strconv.Itoa(int(from.Port())))
	}
	if to.Port() > 0 {
		argv = append(argv, "--dport", strconv.Itoa(int(to.Port())))
	}
	return together(k.used(), func(node string) error { return k.change(ctx, node, argv) })
}

// change has a node change what it remembers. That there was nothing to change it says by status 1.
func (k *keptFlows) change(ctx context.Context, node string, argv []string) error {
	exited, err := k.relay(node).Exec(ctx, command(argv...))
	if err == nil && exited.Status > 1 {
		err = fmt.Errorf("%s: %q: %s", node, argv, exited.Stderr)
	}
	return err
}

// protoName is a protocol as conntrack calls it.
func protoName(proto string, a netip.Addr) string {
	if proto == protoICMP && a.Is6() {
		return "icmpv6"
	}
	return proto
}

// forgetOldFlows has the nodes forget the kept connections whose time ends within what has passed. Those that stay have what is left of it.
func (k *keptFlows) forgetOldFlows(ctx context.Context, passed time.Duration) error {
	if len(k.flows) == 0 {
		return nil
	}
	var errs []error
	for _, node := range k.names() {
		entries, err := k.tracked(ctx, k.mapping.Node(node))
		if err != nil {
			return err
		}
		for i := range entries {
			e := &entries[i]
			if !slices.ContainsFunc(k.allFlows(), func(f *flow) bool { return f.is(e) }) {
				continue
			}
			errs = append(errs, k.age(ctx, k.mapping.Node(node), e, passed))
		}
	}
	return errors.Join(errs...)
}

func (k *keptFlows) allFlows() []*flow {
	var out []*flow
	for _, name := range sorted(k.flows) {
		out = append(out, k.flows[name])
	}
	return out
}

// age shortens the time of an entry, or takes it away.
func (k *keptFlows) age(ctx context.Context, node string, e *entry, passed time.Duration) error {
	argv := []string{
		"conntrack", "-D", "-f", string(familyName(e.Src.Addr().Is6())), "-p", protoName(e.Proto, e.Src.Addr()),
		"-s", e.Src.Addr().String(), "-d", e.Dst.Addr().String(),
	}
	if e.Src.Port() > 0 {
		argv = append(argv, "--sport", strconv.Itoa(int(e.Src.Port())), "--dport", strconv.Itoa(int(e.Dst.Port())))
	}
	if left := e.timeout - passed; left > 0 {
		argv[1] = "-U"
		argv = append(argv, "-t", strconv.Itoa(int(left/time.Second)))
	}
	return k.change(ctx, node, argv)
}
