package snapshot

import (
	"fmt"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
)

// nativeTables are the native chains that the packet came to, that it was not walked through, and that can change what becomes of it.
func (d *doubter) nativeTables() {
	for i := range d.NFTables {
		t := &d.NFTables[i]
		name := t.Family + " " + t.Name
		for j := range t.Chains {
			c := &t.Chains[j]
			if t.walks(c) {
				continue
			}
			if does := d.effects(t, c); does != "" {
				d.doubt(packetsim.DoubtNFTables, "nft list table "+name, "table %s %s it (%s)", name, does, c)
			}
		}
	}
}

// effects is what a chain can do to this packet, in words; empty if that is nothing.
func (d *doubter) effects(t *NFTable, c *NFChain) string {
	comes, goesOn := d.comes(t, c)
	if !comes || d.missesAll(c) {
		return ""
	}
	may := c.May
	if len(may) == 0 {
		may = []NFEffect{EffectUnknown}
	}
	var words []string
	for _, effect := range may {
		if word := effectWords[effect]; word != "" && (goesOn || !effect.stops()) && !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	if slices.Contains(words, effectWords[EffectUnknown]) {
		return effectWords[EffectUnknown]
	}
	return strings.Join(words, " or ")
}

// stops says whether the effect is the packet's end: it changes nothing for a packet that ends without it.
func (e NFEffect) stops() bool { return e == EffectDrop || e == EffectReject || e == EffectQueue }

var effectWords = map[NFEffect]string{
	EffectDrop: "drops", EffectReject: "rejects", EffectQueue: "queues", EffectTranslate: "translates", EffectChange: "changes",
	EffectUnknown: "stops or changes",
}

// comes says whether the packet came to a chain, and whether it went on in one of the ways that came there.
func (d *doubter) comes(t *NFTable, c *NFChain) (comes, goesOn bool) {
	for i := range d.outcomes {
		if o := &d.outcomes[i]; d.came(t, c, o) {
			comes, goesOn = true, goesOn || o.Verdict == packetsim.Accept || o.Verdict == packetsim.Unknown
		}
	}
	return comes, goesOn
}

// came says whether the packet came to a chain in one way.
func (d *doubter) came(t *NFTable, c *NFChain, o *packetsim.Outcome) bool {
	if c.Type == "nat" && !isFirst(o) {
		return false
	}
	hook := strings.ToUpper(c.Hook)
	switch {
	case t.Family == "arp":
		return false
	case t.Family == "bridge":
		return d.isPort(d.in.In) || o.Port != "" || d.isBridge(o.Out)
	case c.Hook == "ingress":
		return !d.in.Local && (c.Device == "" || c.Device == d.in.In)
	case c.Hook == "egress":
		return o.Out != "" && (c.Device == "" || c.Device == o.Out)
	}
	return t.Family != "ip6" && o.Passed.Has(netfilter.IPv4, hook) || t.Family != "ip" && o.Passed.Has(netfilter.IPv6, hook)
}

// isFirst says whether conntrack took the packet for the first one of a connection, or was not asked.
func isFirst(o *packetsim.Outcome) bool {
	for i := range o.Events {
		if o.Events[i].Kind == packetsim.EventConntrack {
			return o.Events[i].State == "NEW"
		}
	}
	return true
}

// isPort says whether a device is a port of a bridge.
func (s *NodeSnapshot) isPort(device string) bool {
	return slices.ContainsFunc(s.Devices, func(d Device) bool { return d.Name == device && d.Master != "" })
}

func (s *NodeSnapshot) isBridge(device string) bool {
	return slices.ContainsFunc(s.Devices, func(d Device) bool { return d.Name == device && d.Kind == "bridge" })
}

// String is the chain and its hook in words.
func (c NFChain) String() string {
	return fmt.Sprintf("chain %s in %s, priority %d", c.Name, c.Hook, c.Priority)
}
