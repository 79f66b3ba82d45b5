package files

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// beginLink reads the first line of a device.
func (t *textReader) beginLink(m []string) {
	index, _ := strconv.Atoi(m[1]) // digits; too many are 0, which no device has
	t.link = &link{Index: index, Name: m[2], Flags: strings.Split(m[3], ",")}
	words := strings.Fields(m[4])
	for i := 0; i+1 < len(words); i += 2 {
		switch words[i] {
		case "mtu":
			t.link.MTU, _ = strconv.Atoi(words[i+1]) // ip prints a number
		case "master":
			t.link.Master = words[i+1]
		case "group":
			t.link.Group = words[i+1]
		}
	}
}

// indented reads a line about the device or route above it.
func (t *textReader) indented(words []string) {
	switch {
	case t.link == nil && words[0] == "nexthop" && len(t.routes) > 0:
		q := &t.routes[len(t.routes)-1]
		var h hop
		if !h.read(words[1:]) {
			h.Via = "?"
		}
		q.Hops = append(q.Hops, h)
	case t.link == nil:
		if routeOf(words) != nil {
			t.routes = append(t.routes, *routeOf(words))
		}
	case strings.HasPrefix(words[0], "link/"):
		t.link.linkLine(words)
	case words[0] == "inet" || words[0] == "inet6":
		if a, ok := addressOf(words[1:]); ok {
			t.link.Addresses = append(t.link.Addresses, a)
		} else {
			t.bad = append(t.bad, strings.Join(words, " "))
		}
	case t.link.Promiscuity != nil:
		t.link.detail(words)
	}
}

// linkLine reads the line of the link-layer address.
func (l *link) linkLine(words []string) {
	if len(words) > 1 && strings.Contains(words[1], ":") {
		l.MAC = words[1]
	}
	for i := 1; i+1 < len(words); i++ {
		switch n, err := strconv.Atoi(words[i+1]); {
		case err != nil:
		case words[i] == "link-netnsid":
			l.NetnsID = &n
		case words[i] == "promiscuity":
			l.Promiscuity = &n
		}
	}
}

// kinds are the words that begin the line about a kind of device, with -d.
var kinds = []string{
	"veth", "bridge", "dummy", "vxlan", "bond", "vlan", "macvlan", "macvtap", "ipvlan", "tun", "wireguard", "geneve", "gre", "gretap",
	"ip6gre",
	"ipip", "sit", "ip6tnl", "vrf", "ifb", "team", "nlmon", "xfrm", "vti", "vti6", "netkit",
}

// detail reads what -d adds about the device itself, and about its part as a port of a bridge.
func (l *link) detail(words []string) {
	switch {
	case words[0] == "bridge_slave":
		i := slices.Index(words, "hairpin")
		l.Info.SlaveData.Hairpin = i > 0 && i+1 < len(words) && words[i+1] == "on"
	case slices.Contains(kinds, words[0]) && l.Info.Kind == "":
		l.Info.Kind = words[0]
		l.tunnel(words)
	}
}

// tunnel reads the words of a VXLAN.
func (l *link) tunnel(words []string) {
	if l.Info.Kind != "vxlan" {
		return
	}
	data := &l.Info.Data
	data.External = slices.Contains(words, "external")
	for i := 1; i+1 < len(words); i++ {
		number, _ := strconv.ParseUint(words[i+1], 10, 32) // 0 where it is none
		switch words[i] {
		case "id":
			data.ID = uint32(number)
		case "dstport":
			data.Port = uint16(number)
		case "local":
			data.Local, _ = netip.ParseAddr(words[i+1]) // none where it is none
		}
	}
}

// addressOf reads "10.0.0.1/24 brd 10.0.0.255 scope global secondary eth0". Of a peer the local address is the first.
func addressOf(words []string) (address, bool) {
	a := address{}
	if len(words) == 0 {
		return a, false
	}
	prefix, err := netip.ParsePrefix(words[0])
	if err != nil {
		addr, err := netip.ParseAddr(words[0])
		if err != nil {
			return a, false
		}
		prefix = netip.PrefixFrom(addr, addr.BitLen())
	}
	a.Local, a.Bits = prefix.Addr(), prefix.Bits()
	for i := 1; i < len(words); i++ {
		next := ""
		if i+1 < len(words) {
			next = words[i+1]
		}
		switch words[i] {
		case "brd":
			a.Broadcast, _ = netip.ParseAddr(next) // none where it is none
		case "scope":
			a.Scope = next
		case "peer":
			if peer, err := netip.ParsePrefix(next); err == nil {
				a.Bits = peer.Bits()
			}
		case "secondary":
			a.Secondary = true
		case "deprecated":
			a.Deprecated = true
		case "tentative":
			a.Tentative = true
		case "dadfailed":
			a.DADFailed = true
		}
	}
	return a, true
}

func (t *textReader) endLink() error {
	l := t.link
	if t.link = nil; l == nil {
		return nil
	}
	return t.addLink(l)
}
