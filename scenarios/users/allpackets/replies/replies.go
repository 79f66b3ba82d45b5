// Package replies finds the replies that the rules of a host stop.
package replies

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/forall"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
)

// clientPorts are the ports to which replies are looked at: those that Linux gives to clients by default (ip_local_port_range). A firewall
// that stops packets to the port of a server also stops the replies to a client with this port, and no client has it.
var clientPorts = forall.Ports{First: 32768, Last: 60999}

// MostSets is how many sets of replies Stopped gives.
const MostSets = 1000

// Set is replies that fare alike: from the servers Src and SrcPorts of its space to the clients Dst and DstPorts, and to other clients.
type Set struct {
	forall.Space
	// Clients are all of them.
	Clients []forall.Addrs
	// Client is a likely one of the space.
	Client netip.Addr
	// Unknown says why it cannot be said whether they are stopped; empty: they are.
	Unknown string
}

// Stopped are all replies of a family that the rules of a host stop, in packets that come to it as answers of connections that NAT does not
// translate. bare is the host without rules: what it stops is left out. more says that there are more than MostSets.
func Stopped(h, bare *packetsim.Host, family netfilter.Family) (sets []Set, more bool, err error) {
	o := forall.Options{Families: []netfilter.Family{family}, Classes: []forall.Class{forall.Replying}, Ignore: forall.Detail}
	without, err := forall.Of(bare, o)
	if err != nil {
		return nil, false, err
	}
	o.Against = without
	with, err := forall.Of(h, o)
	if err != nil || with.Equal(without) {
		return nil, false, err
	}
	c := forall.Comparison{Family: family, Class: forall.Replying, DstPorts: clientPorts, ByDestination: true}
	for a := range with.Apart(without, &c) {
		set := Set{Space: a.Space, Clients: a.Dsts}
		likely, _ := a.Witness()
		set.Client = likely.Dst
		if !arrives(a.There) {
			continue
		}
		for i := range a.Here {
			if f := &a.Here[i].Fate; f.Unmodelled != "" {
				set.Unknown = f.Unmodelled
			}
		}
		if arrives(a.Here) {
			continue
		}
		if names := holding(&a.Space); len(names) > 0 && set.Unknown == "" {
			set.Unknown = fmt.Sprintf("replies are stopped only if [%s]", strings.Join(names, "] and ["))
		}
		if len(sets) == MostSets {
			return sets, true, nil
		}
		sets = append(sets, set)
	}
	return sets, false, nil
}

// arrives says whether packets get through, whatever happens by chance.
func arrives(d forall.Distribution) bool {
	return !slices.ContainsFunc(d, func(s forall.Share) bool { return !s.Fate.Arrives() })
}

// holding are the conditions that must hold.
func holding(s *forall.Space) (names []string) {
	for _, n := range s.Names {
		if n.Holds {
			names = append(names, n.String())
		}
	}
	return names
}

// To are those of the replies that are to some of the clients, with this one among them. It is false if none are to it.
func (s *Set) To(client netip.Addr) (forall.Space, bool) {
	i := slices.IndexFunc(s.Clients, func(of forall.Addrs) bool { return of.Has(client) })
	if i < 0 {
		return forall.Space{}, false
	}
	to := s.Space
	to.Dst = s.Clients[i]
	return to, true
}

// ClientPort is a port of a client to which the replies are, port if that is one.
func (s *Set) ClientPort(port uint16) uint16 {
	if s.DstPorts.Has(port) {
		return port
	}
	return max(s.DstPorts.First, clientPorts.First)
}
