package ailments

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// Try is a connection to make.
type Try struct {
	// From is the machine that asks: a pod, a node, or outside. SourcePort is 0 if the kernel shall choose it.
	From       string
	SourcePort uint16
	// To is what it asks: "svc/NAME" or "svc/NAME:PORT" for a Service's cluster IP, "lb/NAME" for its load balancer, "pod/NAME" for a server
	// itself, "node1:PORT", or "ADDRESS:PORT".
	To  string
	UDP bool
	// Bytes is how much the server is to send back.
	Bytes int
	// Stray has the server send a segment out of the window before it answers.
	Stray bool
	// Keep leaves the connection open.
	Keep bool
	// Was is what becomes of it before anything is broken, and Is afterwards: a server's name, "web1 or web2", or one of the ends (silent,
	// refused, unreachable, not sent). A server's name with " seeing MACHINE" asks whose address the server saw as the client's. It is not
	// made before anything is broken if Was is empty.
	Was, Is string
}

func (t *Try) String() string {
	proto := "tcp"
	if t.UDP {
		proto = "udp"
	}
	return fmt.Sprintf("%s %s > %s", proto, t.From, t.To)
}

// target is the address that a Try asks, of a family.
func (t *Try) target(o Objects, v6 bool) (netip.AddrPort, error) {
	if at, err := netip.ParseAddrPort(t.To); err == nil {
		return at, nil
	}
	kind, rest, _ := strings.Cut(t.To, "/")
	name, portText, _ := strings.Cut(rest, ":")
	if rest == "" {
		name, portText, _ = strings.Cut(kind, ":")
	}
	port := 0
	if portText != "" {
		var err error
		if port, err = strconv.Atoi(portText); err != nil {
			return netip.AddrPort{}, fmt.Errorf("%s: %w", t.To, err)
		}
	}
	var a netip.Addr
	var err error
	switch {
	case kind == "svc":
		service := o.service(name)
		a, err = address(service.Spec.ClusterIPs, v6)
		if port == 0 {
			port = int(service.Spec.Ports[0].Port)
		}
	case kind == "lb":
		var ingress []string
		for _, i := range o.service(name).Status.LoadBalancer.Ingress {
			ingress = append(ingress, i.IP)
		}
		a, err = address(ingress, v6)
		if port == 0 {
			port = int(o.service(name).Spec.Ports[0].Port)
		}
	case kind == "pod":
		a, port = addressOf(name, v6), 8080
	case o.node(name) != nil:
		var own []string
		for _, one := range o.node(name).Status.Addresses {
			own = append(own, one.Address)
		}
		a, err = address(own, v6)
	default:
		err = fmt.Errorf("%q is no target", t.To)
	}
	return netip.AddrPortFrom(a, uint16(port)), err
}

// source is the address of who asks.
func (t *Try) source(v6 bool) netip.Addr { return addressOf(t.From, v6) }

// addressOf is the address of a machine.
func addressOf(name string, v6 bool) netip.Addr {
	for _, p := range places {
		if p.name == name {
			return netip.MustParseAddr(podAt(p.node, p.host).of(v6))
		}
	}
	for n := 1; n <= 2; n++ {
		if name == fmt.Sprintf("node%d", n) {
			return netip.MustParseAddr(nodeAt(n).of(v6))
		}
	}
	return netip.MustParseAddr(outsideAt.of(v6))
}

// matches reports whether an answer is what was expected.
func (a answer) matches(want string, v6 bool) bool {
	servers, seeing, _ := strings.Cut(want, " seeing ")
	if a.end != answered {
		return string(a.end) == want
	}
	for one := range strings.SplitSeq(servers, " or ") {
		if a.server == one && (seeing == "" || addressOf(seeing, v6).String() == a.client) {
			return true
		}
	}
	return false
}

// isLost reports whether what is expected is that nothing comes.
func isLost(want string) bool { return want == string(silent) }
