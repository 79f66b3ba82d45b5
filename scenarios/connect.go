package scenarios

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/chainwalk/chainwalk/internal/document"
)

// Connect is one connection: a first packet, and the answer to it.
type Connect struct {
	document.Located
	Name   string         `json:"name" doc:"What the connection is for."`
	From   string         `json:"from" required:"true" doc:"The client: a pod, a node, a machine outside, or an address."`
	Bind   Bind           `json:"bind" doc:"The client's own address and port: ADDRESS, ADDRESS:PORT or :PORT. Chosen as a client would if not given."`
	To     Target         `json:"to" required:"true" doc:"Where it connects to: tcp|udp|sctp ADDRESS:PORT, or icmp ADDRESS for an echo request."`
	Via    string         `json:"via" doc:"The node that the router hands the packet to, for addresses that no node has. The first node if not given."`
	As     string         `json:"as" doc:"Keeps the connection under this name, with what it left behind on the way. Without it nothing is left behind."`
	Pick   netip.AddrPort `json:"pick" doc:"With \"as\", the endpoint of the connection to keep, where there are several."`
	Expect Expect         `json:"expect" required:"true" doc:"What must come of it."`
}

// protoICMP is an echo request of either family.
const protoICMP = "icmp"

// Target is a protocol, an address and a port, which is 0 for icmp.
type Target struct {
	Proto string
	netip.AddrPort
}

// UnmarshalText reads "tcp 172.30.0.41:80", "icmp 172.30.0.41".
func (t *Target) UnmarshalText(text []byte) error {
	proto, rest, _ := strings.Cut(string(text), " ")
	if proto == protoICMP {
		addr, err := netip.ParseAddr(rest)
		t.Proto, t.AddrPort = proto, netip.AddrPortFrom(addr, 0)
		return err
	}
	if err := checkProto(proto); err != nil {
		return err
	}
	ap, err := netip.ParseAddrPort(rest)
	if err != nil || ap.Port() == 0 {
		return errors.New("want PROTOCOL ADDRESS:PORT, such as \"tcp 172.30.0.41:80\" (an IPv6 address in brackets)")
	}
	t.Proto, t.AddrPort = proto, ap
	return nil
}

// String prints the target as it is read.
func (t Target) String() string {
	if t.Proto == protoICMP {
		return t.Proto + " " + t.Addr().String()
	}
	return t.Proto + " " + t.AddrPort.String()
}

// MarshalText is the target as it is read.
func (t Target) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// Bind is the client's side of a connection, as far as it is chosen.
type Bind struct {
	Addr netip.Addr // invalid: chosen by routing
	Port uint16     // 0: any
}

// UnmarshalText reads ADDRESS, ADDRESS:PORT or :PORT.
func (b *Bind) UnmarshalText(text []byte) error {
	s := string(text)
	if addr, err := netip.ParseAddr(s); err == nil {
		b.Addr = addr
		return nil
	}
	if ap, err := netip.ParseAddrPort(s); err == nil && ap.Port() > 0 {
		b.Addr, b.Port = ap.Addr(), ap.Port()
		return nil
	}
	if port, err := strconv.ParseUint(strings.TrimPrefix(s, ":"), 10, 16); err == nil && port > 0 && s[0] == ':' {
		b.Port = uint16(port)
		return nil
	}
	return errors.New("want ADDRESS, ADDRESS:PORT or :PORT")
}

// String prints the bind as it is read.
func (b Bind) String() string {
	switch {
	case !b.Addr.IsValid():
		return fmt.Sprintf(":%d", b.Port)
	case b.Port == 0:
		return b.Addr.String()
	}
	return netip.AddrPortFrom(b.Addr, b.Port).String()
}

// MarshalText is the bind as it is read.
func (b Bind) MarshalText() ([]byte, error) { return []byte(b.String()), nil }

// connections are the connections of a connect or cases step.
func (s *Step) connections() []*Connect {
	var out []*Connect
	if s.Connect != nil {
		out = append(out, s.Connect)
	}
	for i := range s.Cases {
		out = append(out, &s.Cases[i])
	}
	return out
}

// allConnections are the connections of a step, and of the looks within its sync.
func (s *Step) allConnections() []*Connect {
	out := s.connections()
	for i := range s.During {
		for j := range s.During[i].Steps {
			out = append(out, s.During[i].Steps[j].connections()...)
		}
	}
	return out
}

// caseName is the name of a connection of the step: "step: case" where both have one, since a table can be used in several steps.
func (s *Step) caseName(c *Connect, packet string) string {
	if s.Name != "" && c.Name != "" {
		return s.Name + ": " + c.Name
	}
	return cmp.Or(c.Name, s.Name, packet)
}

// connections checks a connect or cases step.
func (c *checker) connections(s *Step) {
	for _, f := range s.connections() {
		if f != s.Connect && f.As != "" {
			c.errorf(f.Pos, "as: the connections of a table leave nothing behind (write a connect step of its own)")
		}
		c.connect(f)
	}
}

func (c *checker) connect(f *Connect) {
	c.client(f)
	if to := f.To.Addr(); !c.cluster.IPFamily.has(to) {
		c.errorf(f.Pos, "to: %s is not of the cluster's family %s", to, c.cluster.IPFamily)
	}
	if f.Bind.Addr.IsValid() && f.Bind.Addr.Is6() != f.To.Addr().Is6() {
		c.errorf(f.Pos, "bind: %s and the destination %s are of different families", f.Bind.Addr, f.To.Addr())
	}
	if f.Via != "" {
		c.nodes(f.Pos, []string{f.Via})
	}
	if f.Pick.IsValid() && f.As == "" {
		c.errorf(f.Pos, "pick says nothing without as")
	}
	c.expect(&f.Expect, ofConnection)
	if f.As != "" {
		if slices.Contains(c.kept, f.As) {
			c.errorf(f.Pos, "as: the name %q is taken", f.As)
		}
		c.kept = append(c.kept, f.As)
	}
}

// client checks that the client is there and has an address of the family.
func (c *checker) client(f *Connect) {
	if a, err := netip.ParseAddr(f.From); err == nil {
		if c.cluster.Owner(a) == "" {
			c.errorf(f.Pos, "from: %s is not of the cluster's family %s", a, c.cluster.IPFamily)
		}
		if f.Bind.Addr.IsValid() {
			c.errorf(f.Pos, "from and bind both give the client's address (want bind: \":PORT\", or a name in from)")
		}
		if a.Is6() != f.To.Addr().Is6() {
			c.errorf(f.Pos, "from: %s and the destination %s are of different families", a, f.To.Addr())
		}
		return
	}
	if !c.cluster.has(f.From) {
		c.errorf(f.Pos, "from: there is no node, pod or machine %q (name it in the topology, or give an address)", f.From)
	}
}

// connections makes the connections of a connect or cases step.
func (r *runner) connections(ctx context.Context, s *Step) error {
	all := s.connections()
	if t, ok := r.session.(TableSession); ok && s.Cases != nil {
		return r.table(ctx, t, s, all)
	}
	for i, c := range all {
		if len(all) > 1 {
			r.nth = fmt.Sprintf(", at connection %d of %d", i+1, len(all))
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		seen, err := r.session.Connect(ctx, r.unkept(r.attempt(c)))
		if err != nil {
			return err
		}
		r.connected(s, c, seen)
	}
	r.nth = ""
	return nil
}

// table makes the connections of a table together.
func (r *runner) table(ctx context.Context, t TableSession, s *Step, all []*Connect) error {
	attempts := make([]Attempt, len(all))
	for i, c := range all {
		attempts[i] = r.unkept(r.attempt(c))
	}
	seen, err := t.ConnectAll(ctx, attempts)
	if err != nil {
		return err
	}
	for i, c := range all {
		r.connected(s, c, seen[i])
	}
	return nil
}

// attempt is a connection as a session is asked for it.
func (r *runner) attempt(c *Connect) Attempt {
	attempt := Attempt{From: c.From, Bind: c.Bind, To: c.To, Via: c.Via, Keep: c.As, Pick: c.Pick}
	if a, err := netip.ParseAddr(c.From); err == nil {
		attempt.From, attempt.Bind.Addr = r.cluster.Owner(a), a
	}
	if attempt.Via == "" {
		attempt.Via = r.cluster.Nodes[0].Name
	}
	return attempt
}

// connected judges what became of a connection.
func (r *runner) connected(s *Step, c *Connect, seen *Observed) {
	packet := fmt.Sprintf("%s from %s", c.To, c.From)
	attempt := r.attempt(c)
	j := judge{
		expect: &c.Expect, called: c.To.AddrPort, kept: r.kept, seen: seen, first: true,
		documented: func() *Documented { return r.documented(attempt, seen.Ways) },
	}
	r.judge(c.Expect.Pos, s.caseName(c, packet), packet, j)
	if c.As != "" && r.play.other() && (r.unkept(attempt).Keep == "" || c.Expect.NFTables != nil && !c.Expect.NFTables.arrives()) {
		r.unmade[c.As] = true
		return
	}
	if c.As != "" && seen.Kept >= 0 && seen.Kept < len(seen.Ways) {
		r.kept[c.As] = keptConnection{called: c.To.AddrPort, endpoint: seen.Ways[seen.Kept].Server, attempt: &attempt}
	}
}
