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
		if !slices.ContainsFunc(entries, p.Matches) {
			wrong = append(wrong, fmt.Sprintf("no entry %s", p))
		}
	}
	for _, p := range w.Absent {
		if i := slices.IndexFunc(entries, p.Matches); i >= 0 {
			wrong = append(wrong, fmt.Sprintf("an entry %s: %s", p, entries[i]))
		}
	}
	return wrong
}

// TrackedPattern says which entries of conntrack are meant.
type TrackedPattern struct {
	Proto              string
	Src, Dst, To, From AddrPattern
}

// AddrPattern is an address and a port, each of which may be any. Its zero value is any of both.
type AddrPattern struct {
	Addr netip.Addr // invalid: any
	Port uint16     // 0: any
}

// UnmarshalText reads "udp 10.244.1.100:40000 > 172.30.0.10:53 to *:53 from *".
func (p *TrackedPattern) UnmarshalText(text []byte) error {
	words := strings.Fields(string(text))
	if len(words) < 4 || words[2] != ">" || len(words)%2 != 0 || len(words) > 8 {
		return errors.New("want PROTO SRC > DST [to ENDPOINT] [from SOURCE], such as \"udp 10.244.1.100:40000 > 172.30.0.10:53 to *:53\"")
	}
	out := TrackedPattern{Proto: words[0]}
	if out.Proto != protoICMP {
		if err := checkProto(out.Proto); err != nil {
			return err
		}
	}
	fields := []*AddrPattern{&out.Src, &out.Dst}
	given := []string{words[1], words[3]}
	for i := 4; i < len(words); i += 2 {
		field := map[string]*AddrPattern{"to": &out.To, "from": &out.From}[words[i]]
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

func parseAddrPattern(s string) (AddrPattern, error) {
	if s == "*" {
		return AddrPattern{}, nil
	}
	if addr, err := netip.ParseAddr(s); err == nil {
		return AddrPattern{Addr: addr}, nil
	}
	if ap, err := netip.ParseAddrPort(s); err == nil && ap.Port() > 0 {
		return AddrPattern{ap.Addr(), ap.Port()}, nil
	}
	if port, err := strconv.ParseUint(strings.TrimPrefix(s, "*:"), 10, 16); err == nil && port > 0 && strings.HasPrefix(s, "*:") {
		return AddrPattern{Port: uint16(port)}, nil
	}
	return AddrPattern{}, fmt.Errorf("%q is no address (want ADDRESS:PORT, ADDRESS, *:PORT or *)", s)
}

// Matches reports whether an entry is meant.
func (p TrackedPattern) Matches(t Tracked) bool {
	return p.Proto == t.Proto && p.Src.matches(t.Src) && p.Dst.matches(t.Dst) && p.To.matches(t.To) && p.From.matches(t.From)
}

func (a AddrPattern) matches(ap netip.AddrPort) bool {
	return (!a.Addr.IsValid() || a.Addr == ap.Addr()) && (a.Port == 0 || a.Port == ap.Port())
}

// String prints the pattern as it is read.
func (p TrackedPattern) String() string {
	out := fmt.Sprintf("%s %s > %s", p.Proto, p.Src, p.Dst)
	if p.To != (AddrPattern{}) {
		out += " to " + p.To.String()
	}
	if p.From != (AddrPattern{}) {
		out += " from " + p.From.String()
	}
	return out
}

// MarshalText is the pattern as it is read.
func (p TrackedPattern) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// String prints the address as it is read.
func (a AddrPattern) String() string {
	switch {
	case a.Addr.IsValid() && a.Port > 0:
		return netip.AddrPortFrom(a.Addr, a.Port).String()
	case a.Addr.IsValid():
		return a.Addr.String()
	case a.Port > 0:
		return fmt.Sprintf("*:%d", a.Port)
	}
	return "*"
}
