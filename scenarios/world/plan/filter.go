package plan

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/chainwalk/chainwalk/fakekernel"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/explain/provenance"
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
)

// filterOf says what rules of others let pass on a node, of one family. It is false if they drop packets, and it cannot tell which, or if
// they cannot be restored.
func filterOf(preloads []scenarios.Preload, node string, family scenarios.IPFamily) (oracle.Filter, bool) {
	var saves []string
	for i := range preloads {
		if p := &preloads[i]; p.IsFor(node) && (p.Family == family || p.Family == "" && family == scenarios.FamilyIPv4) {
			saves = append(saves, p.Save)
		}
	}
	if len(saves) == 0 {
		return oracle.Filter{}, true
	}
	of := netfilter.IPv4
	if family == scenarios.FamilyIPv6 {
		of = netfilter.IPv6
	}
	rules, err := fakekernel.RestoreSaves(saves, of)
	if err != nil {
		return oracle.Filter{}, false
	}
	if filter := rules.Table("filter"); filter != nil {
		return (&table{filter}).filter()
	}
	return oracle.Filter{}, true
}

// known is the rule for packets of known connections.
var known = oracle.Pass{Nothing: true}

// table is a table filter as rules of others leave it.
type table struct{ netfilter.Table }

// chain is a chain of the table; one without rules if it is not there.
func (t *table) chain(name string) *netfilter.Chain {
	if c, there := t.Chain(name); there {
		return &c
	}
	return nil
}

// filter is what the table lets pass.
func (t *table) filter() (f oracle.Filter, ok bool) {
	drops := func(hook string) bool { return t.chain(hook).Policy == netfilter.Drop }
	if drops("OUTPUT") {
		return f, false
	}
	for _, hook := range []string{"INPUT", "FORWARD", "OUTPUT"} {
		if !drops(hook) && t.stops(hook, map[string]bool{}) {
			return f, false
		}
	}
	if drops("INPUT") {
		if f.Input, ok = t.passes("INPUT"); !ok || !slices.Contains(f.Input, known) {
			return f, false
		}
	}
	if drops("FORWARD") {
		if f.Forward, ok = t.passes("FORWARD"); !ok {
			return f, false
		}
		f.Replies = slices.Contains(f.Forward, known)
		f.Forward = append(f.Forward, known) // not nil
	}
	return f, true
}

// stops says that a chain has a rule of others, or leads to one, that drops or rejects packets. Those chains that were looked through are
// seen.
func (t *table) stops(chain string, seen map[string]bool) bool {
	if seen[chain] {
		return false
	}
	seen[chain] = true
	for _, f := range t.chain(chain).Facts() {
		switch {
		case provenance.WriterOf(f.Jump).IsKubernetes(): // those drop only what they promise to
		case f.Verdict == netfilter.Drop, f.Reject != "", f.Jump != "" && t.stops(f.Jump, seen):
			return true
		}
	}
	return false
}

// passes are the rules of a chain, and of those that it leads to, that let packets pass. It is false if there are others.
func (t *table) passes(chain string) ([]oracle.Pass, bool) {
	var out []oracle.Pass
	for _, f := range t.chain(chain).Facts() {
		pass, plain := passOf(&f.Conditions)
		switch {
		case provenance.WriterOf(f.Jump).IsKubernetes(): // as all before it
		case !plain || f.Verdict != netfilter.Accept && pass != oracle.Pass{}:
			return nil, false
		case f.Verdict == netfilter.Accept:
			out = append(out, pass)
		case f.Verdict == netfilter.Return:
			return out, true
		case f.Jump == "" || f.Goto: // DROP, LOG and the like among them
			return nil, false
		default:
			inner, ok := t.passes(f.Jump)
			if !ok {
				return nil, false
			}
			out = append(out, inner...)
		}
	}
	return out, true
}

// passOf is what conditions of a few kinds ask of packets; false if there are others.
func passOf(c *netfilter.Conditions) (pass oracle.Pass, plain bool) {
	pass = oracle.Pass{From: c.Src, To: c.Dst, Loopback: c.In != "", Port: c.DstPorts.Min, Nothing: c.States != nil}
	if c.Protocol != 0 {
		pass.Protocol = protocolOf(inet.Proto(c.Protocol))
	}
	switch {
	case len(c.Others) > 0, c.Out != "", c.In != "" && c.In != "lo", c.DstPorts.Min != c.DstPorts.Max,
		c.States != nil && !slices.Equal(c.States, []string{"RELATED", "ESTABLISHED"}):
		return pass, false
	}
	return pass, true
}

// protocolOf is a protocol as the API calls it.
func protocolOf(p inet.Proto) corev1.Protocol {
	if p.IsICMP() {
		return oracle.ICMP
	}
	return corev1.Protocol(strings.ToUpper(p.String()))
}
