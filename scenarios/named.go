package scenarios

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// Named is an address of a check, with its port if that tells more than the address alone, and the object behind it.
type Named struct {
	Address string `json:"address"`
	// Name is "service shop/web:http", "pod shop/web-1" or "node node1".
	Name string `json:"name"`
}

// name gives the addresses of a failed check their names. Objects are the objects that the scenario has at some time.
func (r *runner) name(c *Check) {
	if c.Passed || c.Packet == "" {
		return
	}
	book := r.names()
	word, _, _ := strings.Cut(c.Packet, " ")
	var proto inet.Proto
	if err := proto.UnmarshalText([]byte(word)); err != nil {
		proto = inet.TCP // a packet of a connection that has a name of its own
	}
	for _, address := range addressesIn(c.Packet + " " + c.Expected + " " + c.Got) {
		name := ""
		if at, err := netip.ParseAddrPort(address); err == nil {
			if name = book.Destination(proto, at); name == book.Address(at.Addr()) {
				address = at.Addr().String() // whatever the port
			}
		} else if a, err := netip.ParseAddr(address); err == nil {
			name = book.Address(a)
		}
		if strings.HasPrefix(name, "endpoint of ") {
			continue // the check itself says as much
		}
		if named := (Named{address, name}); name != "" && !slices.Contains(c.Names, named) {
			c.Names = append(c.Names, named)
		}
	}
}

// addressesIn are the words of a text that look like addresses.
func addressesIn(text string) []string {
	var out []string
	for _, word := range strings.FieldsFunc(text, func(c rune) bool { return !strings.ContainsRune("0123456789abcdefABCDEF.:[]", c) }) {
		if word = strings.TrimRight(word, ":."); strings.ContainsAny(word, ".:") {
			out = append(out, word)
		}
	}
	return out
}

// namesText is what a text report says of the names.
func namesText(list []Named) string {
	var out []string
	for _, n := range list {
		out = append(out, n.Address+" is "+n.Name)
	}
	return strings.Join(out, ", ")
}
