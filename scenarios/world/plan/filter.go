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
	var saves, natives []string
	for i := range preloads {
		switch p := &preloads[i]; {
		case !p.IsFor(node):
		case p.NFT != "":
			natives = append(natives, p.NFT)
		case p.Family == family || p.Family == "" && family == scenarios.FamilyIPv4:
			saves = append(saves, p.Save)
		}
	}
	of := netfilter.IPv4
	if family == scenarios.FamilyIPv6 {
		of = netfilter.IPv6
	}
	f, ok := filterOfSaves(saves, of)
	if !ok || len(natives) == 0 {
		return f, ok
	}
	native, ok := filterOfNatives(natives, of)
	if !native.Stops() {
		return f, ok
	}
	return native, ok && !f.Stops()
}

// filterOfSaves is that of what iptables-save prints.
func filterOfSaves(saves []string, family netfilter.Family) (oracle.Filter, bool) {
	if len(saves) == 0 {
		return oracle.Filter{}, true
	}
	rules, err := fakekernel.RestoreSaves(saves, family)
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

// table is a table filter of iptables as rules of others leave it.
type table struct{ netfilter.Table }

// facts are what the rules of a chain mean.
func (t *table) facts(name string) (facts []netfilter.Fact) {
	if c, there := t.Chain(name); there {
		for _, f := range c.Facts() {
			facts = append(facts, f)
		}
	}
	return facts
}

func (t *table) filter() (oracle.Filter, bool) {
	drops := func(hook string) bool {
		c, there := t.Chain(hook)
		return there && c.Policy == netfilter.Drop
	}
	return filterBy(chains{t.facts}, drops)
}

// filterBy is what chains named after the hooks that lead to them let pass. drops says whether what they do not accept is dropped.
func filterBy(t chains, drops func(hook string) bool) (f oracle.Filter, ok bool) {
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

// chains are those of a table, by what their rules mean.
type chains struct {
	facts func(chain string) []netfilter.Fact
}

// stops says that a chain has a rule of others, or leads to one, that drops or rejects packets. Those chains that were looked through are
// seen.
func (t chains) stops(chain string, seen map[string]bool) bool {
	if seen[chain] {
		return false
	}
	seen[chain] = true
	for _, f := range t.facts(chain) {
		switch {
		case provenance.WriterOf(f.Jump).IsKubernetes(): // those drop only what they promise to
		case f.Verdict == netfilter.Drop, f.Reject != "", f.Jump != "" && t.stops(f.Jump, seen):
			return true
		}
	}
	return false
}

// passes are the rules of a chain, and of those that it leads to, that let packets pass. It is false if there are others.
func (t chains) passes(chain string) ([]oracle.Pass, bool) {
	var out []oracle.Pass
	for _, f := range t.facts(chain) {
		pass, plain := passOf(&f.Conditions)
		switch {
		case provenance.WriterOf(f.Jump).IsKubernetes(): // as all before it
		case !plain || f.Verdict != netfilter.Accept && pass != oracle.Pass{}:
			return nil, false
		case f.Verdict == netfilter.Accept:
			out = append(out, pass)
			if pass.Translated && len(f.Conditions.States) > 1 {
				out = append(out, known)
			}
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
	established, translated := statesOf(c)
	if translated {
		pass.Translated, pass.Nothing = true, false
	}
	if c.Protocol != 0 {
		pass.Protocol = protocolOf(inet.Proto(c.Protocol))
	}
	switch {
	case len(c.Others) > 0, c.Out != "", c.In != "" && c.In != "lo", c.DstPorts.Min != c.DstPorts.Max,
		c.States != nil && !established && (!translated || len(c.States) > 1),
		translated && established && pass != oracle.Pass{Translated: true}:
		return pass, false
	}
	return pass, true
}

// statesOf says whether conditions hold for the packets of known connections, and for those of connections that the node has translated.
func statesOf(c *netfilter.Conditions) (established, translated bool) {
	states := slices.Sorted(slices.Values(c.States))
	if i := slices.Index(states, "DNAT"); i >= 0 {
		states, translated = slices.Delete(states, i, i+1), true
	}
	return slices.Equal(states, []string{"ESTABLISHED", "RELATED"}), translated
}

// protocolOf is a protocol as the API calls it.
func protocolOf(p inet.Proto) corev1.Protocol {
	if p.IsICMP() {
		return oracle.ICMP
	}
	return corev1.Protocol(strings.ToUpper(p.String()))
}
