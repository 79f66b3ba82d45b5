package oracle

import (
	"net/netip"

	corev1 "k8s.io/api/core/v1"
)

// Stray is a TCP packet that conntrack can place in no connection though it begins none: an answer whose question went another way. It is
// given to the underlay device of a node.
type Stray struct {
	Node string
	// from is a machine, To a pod of the node.
	from, To         string
	Source, Received netip.AddrPort
}

// strayFrom and strayTo are ports of no service.
const strayFrom, strayTo = 443, 5555

// Strays are one for each node and family.
func (s *Spec) Strays() []Stray {
	c := s.classes()
	var out []Stray
	for node := range s.views {
		if c.plain[node] == nil || len(c.machines) == 0 {
			continue
		}
		from, to := c.machines[0], c.plain[node]
		for _, v6 := range []bool{false, true} {
			if !from.address(v6).IsValid() || !to.address(v6).IsValid() {
				continue
			}
			out = append(out, Stray{
				Node: s.views[node].name, from: from.name, To: to.name,
				Source: netip.AddrPortFrom(from.address(v6), strayFrom), Received: netip.AddrPortFrom(to.address(v6), strayTo),
			})
		}
	}
	return out
}

// ExpectStray says what may become of a stray packet at its node.
func (s *Spec) ExpectStray(p Stray) Answer {
	node := s.place(p.Node)
	v := &s.views[node]
	a := Answer{Fate: Untouched, Host: p.To, End: Delivered, served: strayPasses, net: s.network, later: true}
	at := passing{node: node, protocol: corev1.ProtocolTCP, from: p.Source.Addr(), to: p.Received}
	switch {
	case v.filters:
		a.Open, a.odd = true, filteredByOthers
	case s.stops(&at):
		a.unaccepted = s.modeOn(node) == NFTables
		a.Fate, a.chosen = Drop, a.policy()
	case !v.liberal && s.modeOn(node) == IPTables:
		a.Open, a.odd = true, strayDropped
	}
	return a
}

// JudgeStray says what of the ways that a stray packet took is not allowed. They end at its node: what leaves that is delivered.
func (s *Spec) JudgeStray(p Stray, ways []Way) []Violation {
	answer := s.ExpectStray(p)
	if answer.Open {
		return nil
	}
	for i := range ways {
		w := &ways[i]
		switch {
		case answer.Fate == Drop && w.End == Dropped:
		case answer.Fate == Untouched && w.End == Delivered && w.Server == p.Received && w.Client == p.Source:
		default:
			return []Violation{{Clause: answer.because(), Want: answer.String(), Got: inWords(ways)}}
		}
	}
	return nil
}
