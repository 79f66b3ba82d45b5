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

// Tracked is an entry of conntrack. Ports are 0 for protocols that have none.
type Tracked struct {
	Proto    string         // tcp, udp, sctp, icmp
	Src, Dst netip.AddrPort // as the client sent its packet
	// To is where the packet went, other than Dst if the destination was translated;
	// From is the source that the server saw, other than Src if that was.
	To, From netip.AddrPort
}

// String prints the entry as a TrackedPattern is read.
func (t Tracked) String() string {
	return fmt.Sprintf("%s %s > %s to %s from %s", t.Proto, endpoint(t.Src), endpoint(t.Dst), endpoint(t.To), endpoint(t.From))
}

// ConntrackCheck looks at the connections that nodes know.
type ConntrackCheck struct {
	document.Located
	Nodes    []string         `json:"nodes" doc:"The nodes to look at; all if not given."`
	Contains []TrackedPattern `json:"contains" doc:"Each of these is known: PROTO SRC > DST [to ENDPOINT] [from SOURCE], where SRC and DST are what the client sent, ENDPOINT is where it went and SOURCE what was seen there; * stands for any address or port."`
	Absent   []TrackedPattern `json:"absent" doc:"None of these is known."`
}

func (c *checker) conntrack(s *Step) {
	w := s.Conntrack
	c.nodes(w.Pos, w.Nodes)
	if len(w.Contains)+len(w.Absent) == 0 {
		c.errorf(w.Pos, "conntrack: nothing is looked for (want contains or absent)")
	}
}

func (r *runner) conntrack(ctx context.Context, s *Step) error {
	want := s.Conntrack
	for _, node := range r.orAll(want.Nodes) {
		entries, err := r.session.Conntrack(ctx, node)
		if err != nil {
			return err
		}
		wrong := want.wrong(entries)
		r.add(want.Pos, Check{
			Name: cmp.Or(s.Name, "conntrack") + " on " + node, Got: listOf(entries, Tracked.String),
			Passed: len(wrong) == 0, Wrong: strings.Join(wrong, "; "),
		})
	}
	return nil
}

// wrong compares a node's entries with what is looked for.
func (w *ConntrackCheck) wrong(entries []Tracked) (wrong []string) {
	for _, p := range w.Contains {
		if !slices.ContainsFunc(entries, p.matches) {
			wrong = append(wrong, fmt.Sprintf("no entry %s", p))
		}
	}
	for _, p := range w.Absent {
		if i := slices.IndexFunc(entries, p.matches); i >= 0 {
			wrong = append(wrong, fmt.Sprintf("an entry %s: %s", p, entries[i]))
		}
	}
	return wrong
}

// TrackedPattern says which entries of conntrack are meant.
type TrackedPattern struct {
	proto              string
	src, dst, to, from addrPattern
}

// addrPattern is an address and a port, each of which may be any. Its zero value is any of both.
type addrPattern struct {
	addr netip.Addr // invalid: any
	port uint16     // 0: any
}

// UnmarshalText reads "udp 10.244.1.100:40000 > 172.30.0.10:53 to *:53 from *".
func (p *TrackedPattern) UnmarshalText(text []byte) error {
	words := strings.Fields(string(text))
	if len(words) < 4 || words[2] != ">" || len(words)%2 != 0 || len(words) > 8 {
		return errors.New("want PROTO SRC > DST [to ENDPOINT] [from SOURCE], such as \"udp 10.244.1.100:40000 > 172.30.0.10:53 to *:53\"")
	}
	out := TrackedPattern{proto: words[0]}
	if out.proto != protoICMP {
		if err := checkProto(out.proto); err != nil {
			return err
		}
	}
	fields := []*addrPattern{&out.src, &out.dst}
	given := []string{words[1], words[3]}
	for i := 4; i < len(words); i += 2 {
		field := map[string]*addrPattern{"to": &out.to, "from": &out.from}[words[i]]
		if field == nil || slices.Contains(fields, field) {
			return fmt.Errorf("unexpected %q (want PROTO SRC > DST [to ENDPOINT] [from SOURCE])", words[i])
		}
		fields, given = append(fields, field), append(given, words[i+1])
	}
	for i, field := range fields {
		var err error
		if *field, err = parseAddrPattern(given[i]); err != nil {
			return err
		}
	}
	*p = out
	return nil
}

func parseAddrPattern(s string) (addrPattern, error) {
	if s == "*" {
		return addrPattern{}, nil
	}
	if addr, err := netip.ParseAddr(s); err == nil {
		return addrPattern{addr: addr}, nil
	}
	if ap, err := netip.ParseAddrPort(s); err == nil && ap.Port() > 0 {
		return addrPattern{ap.Addr(), ap.Port()}, nil
	}
	if port, err := strconv.ParseUint(strings.TrimPrefix(s, "*:"), 10, 16); err == nil && port > 0 && strings.HasPrefix(s, "*:") {
		return addrPattern{port: uint16(port)}, nil
	}
	return addrPattern{}, fmt.Errorf("%q is no address (want ADDRESS:PORT, ADDRESS, *:PORT or *)", s)
}

// matches reports whether an entry is meant.
func (p TrackedPattern) matches(t Tracked) bool {
	return p.proto == t.Proto && p.src.matches(t.Src) && p.dst.matches(t.Dst) && p.to.matches(t.To) && p.from.matches(t.From)
}

func (a addrPattern) matches(ap netip.AddrPort) bool {
	return (!a.addr.IsValid() || a.addr == ap.Addr()) && (a.port == 0 || a.port == ap.Port())
}

// String prints the pattern as it is read.
func (p TrackedPattern) String() string {
	out := fmt.Sprintf("%s %s > %s", p.proto, p.src, p.dst)
	if p.to != (addrPattern{}) {
		out += " to " + p.to.String()
	}
	if p.from != (addrPattern{}) {
		out += " from " + p.from.String()
	}
	return out
}

// MarshalText is the pattern as it is read.
func (p TrackedPattern) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// String prints the address as it is read.
func (a addrPattern) String() string {
	switch {
	case a.addr.IsValid() && a.port > 0:
		return netip.AddrPortFrom(a.addr, a.port).String()
	case a.addr.IsValid():
		return a.addr.String()
	case a.port > 0:
		return fmt.Sprintf("*:%d", a.port)
	}
	return "*"
}
